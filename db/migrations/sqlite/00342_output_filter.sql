-- +goose Up
-- The filters of objects of outputs (package scheduler/archive, filter.go), by which a search leaves out objects that cannot have its
-- text. Objects of before have none.
CREATE TABLE punctual_output_filter (
    object_id BIGINT NOT NULL PRIMARY KEY,
    bits      BLOB NOT NULL
);
