-- +goose Up
-- Which second factor a session began with, by its number in package auth; 0: none that is known of.
ALTER TABLE punctual_session ADD COLUMN strong TINYINT NOT NULL DEFAULT 0;
