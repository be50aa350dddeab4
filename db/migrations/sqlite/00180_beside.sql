-- +goose Up
-- That Punctual works beside the XXL-JOB admins of this database, and for which groups: never, on the embedded database. See the
-- migration of the same number for MySQL.
CREATE TABLE punctual_beside (
    group_id INT          NOT NULL PRIMARY KEY,
    moved_at BIGINT       NOT NULL DEFAULT 0,
    moved_by VARCHAR(100) NOT NULL DEFAULT ''
);
