-- +goose Up
-- A sealed token is longer than what it says.
ALTER TABLE punctual_token MODIFY token VARCHAR(1024) NOT NULL, MODIFY previous VARCHAR(1024) NOT NULL DEFAULT '';
