-- +goose Up
-- What is to be kept of runs (package scheduler/archive): a row for what ended in one commit and is in no row of punctual_output yet.
--   node      the admin that copies them
--   ended_at  when they ended, epoch ms
--   runs      how many they were; ids: which, separated by commas
CREATE TABLE punctual_output_ended (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    node     BIGINT NOT NULL DEFAULT 0,
    ended_at BIGINT NOT NULL DEFAULT 0,
    runs     BIGINT NOT NULL DEFAULT 0,
    ids      TEXT NOT NULL
);
CREATE INDEX i_output_ended_node ON punctual_output_ended (node, id);
