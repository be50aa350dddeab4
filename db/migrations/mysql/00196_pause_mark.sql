-- +goose Up
-- One row, whose revision each change of a pause raises, so that admins see by one number whether they know all.
CREATE TABLE IF NOT EXISTS punctual_pause_mark (
    id       INT    NOT NULL PRIMARY KEY,
    revision BIGINT NOT NULL DEFAULT 0
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
