-- +goose Up
-- A team is a named set of users that has rights as they have; see punctual_team_member and punctual_team_permission.
CREATE TABLE IF NOT EXISTS punctual_team (
    id         BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name       VARCHAR(50) NOT NULL,
    created_at BIGINT      NOT NULL DEFAULT 0,
    UNIQUE KEY i_team_name (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
