-- +goose Up
-- As in ../mysql.
CREATE TABLE punctual_file_job (
    job_id     INTEGER      PRIMARY KEY,
    source     VARCHAR(255) NOT NULL,
    revision   VARCHAR(255) NOT NULL DEFAULT '',
    version    VARCHAR(64)  NOT NULL DEFAULT '',
    applied_at BIGINT       NOT NULL DEFAULT 0
);
CREATE INDEX i_file_source ON punctual_file_job (source);
