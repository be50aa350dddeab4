-- Each user's own language and theme (empty: as the browser says), and the filters of lists that people keep under a name. A view
-- belongs to who saved it and is theirs alone unless shared is 1; params is the query of the list's address. XXL-JOB's admin
-- writes none of it. The table comes first: the statement that cannot be done twice is the last.

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_view (
    id         BIGINT        NOT NULL AUTO_INCREMENT,
    user_id    INT           NOT NULL DEFAULT 0,
    page       VARCHAR(16)   NOT NULL DEFAULT '',
    name       VARCHAR(64)   NOT NULL DEFAULT '',
    params     VARCHAR(2000) NOT NULL DEFAULT '',
    shared     TINYINT       NOT NULL DEFAULT 0,
    created_at BIGINT        NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    UNIQUE KEY i_view_name (user_id, page, name),
    KEY i_view_shared (shared)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
ALTER TABLE xxl_job_user
    ADD COLUMN lang VARCHAR(16) NOT NULL DEFAULT '',
    ADD COLUMN theme VARCHAR(16) NOT NULL DEFAULT '';
