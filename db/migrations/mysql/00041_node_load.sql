-- What an admin has in hand, as JSON: written with each beat of its lease, read by the page of the cluster alone.

-- +goose Up
ALTER TABLE punctual_node ADD COLUMN load_figures VARCHAR(1000) NOT NULL DEFAULT '';
