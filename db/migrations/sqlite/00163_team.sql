-- +goose Up
-- A team is a named set of users that has rights as they have; see punctual_team_member and punctual_team_permission.
CREATE TABLE punctual_team (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       VARCHAR(50) NOT NULL COLLATE NOCASE,
    created_at BIGINT      NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX i_team_name ON punctual_team (name);
