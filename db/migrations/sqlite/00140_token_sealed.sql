-- +goose Up
-- A sealed token is longer than what it says, which matters on MySQL.
SELECT 1;
