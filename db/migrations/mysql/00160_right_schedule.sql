-- +goose Up
-- Starting and stopping schedules (16) has become a right of its own. Whoever had the right to run (2), of which it was part, keeps it.
UPDATE punctual_permission SET rights = rights | 16 WHERE (rights & 2) = 2;
