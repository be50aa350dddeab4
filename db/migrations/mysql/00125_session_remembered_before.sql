-- Sessions from before the column: those that end later than 12 hours after their last use were to be remembered.

-- +goose Up
UPDATE punctual_session SET remembered = 1 WHERE expires_at - seen_at > 43200000;
