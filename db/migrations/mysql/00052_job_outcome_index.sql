-- The index of how the last runs of a job ended is made by migration 77.

-- +goose Up
SELECT 1;
