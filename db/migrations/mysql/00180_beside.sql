-- +goose Up
-- That Punctual works beside the XXL-JOB admins of this database, and for which groups: a row with group_id 0 says that it does,
-- each other that the group's started jobs are Punctual's, which have trigger_status 2 then. See db/beside.go, which makes the table
-- before anything else of an adoption.
CREATE TABLE IF NOT EXISTS punctual_beside (
    group_id INT          NOT NULL PRIMARY KEY,
    moved_at BIGINT       NOT NULL DEFAULT 0,
    moved_by VARCHAR(100) NOT NULL DEFAULT ''
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
