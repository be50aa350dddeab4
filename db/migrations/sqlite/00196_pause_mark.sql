-- +goose Up
-- One row, whose revision each change of a pause raises, so that admins see by one number whether they know all.
CREATE TABLE punctual_pause_mark (
    id       INT    NOT NULL PRIMARY KEY,
    revision BIGINT NOT NULL DEFAULT 0
);
