-- +goose Up
-- What the members of a team may do in a group: sums as in punctual_permission.
CREATE TABLE IF NOT EXISTS punctual_team_permission (
    team_id  BIGINT NOT NULL,
    group_id INT    NOT NULL,
    rights   INT    NOT NULL DEFAULT 0,
    PRIMARY KEY (team_id, group_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
