-- The indexes of the log are there already; only in databases of XXL-JOB they are made later.

-- +goose Up
SELECT 1;
