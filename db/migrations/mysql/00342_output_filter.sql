-- +goose Up
-- The filters of objects of outputs (package scheduler/archive, filter.go), by which a search leaves out objects that cannot have its
-- text. Objects of before have none.
CREATE TABLE IF NOT EXISTS punctual_output_filter (
    object_id BIGINT NOT NULL PRIMARY KEY,
    bits      MEDIUMBLOB NOT NULL
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
