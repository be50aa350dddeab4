-- Each user's own language and theme, and saved filters; see the MySQL file of the same name.

-- +goose Up
CREATE TABLE punctual_view (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id    INT           NOT NULL DEFAULT 0,
    page       VARCHAR(16)   NOT NULL DEFAULT '',
    name       VARCHAR(64)   NOT NULL DEFAULT '' COLLATE NOCASE,
    params     VARCHAR(2000) NOT NULL DEFAULT '',
    shared     TINYINT       NOT NULL DEFAULT 0,
    created_at BIGINT        NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX i_view_name ON punctual_view (user_id, page, name);
CREATE INDEX i_view_shared ON punctual_view (shared);
ALTER TABLE xxl_job_user ADD COLUMN lang VARCHAR(16) NOT NULL DEFAULT '';
ALTER TABLE xxl_job_user ADD COLUMN theme VARCHAR(16) NOT NULL DEFAULT '';
