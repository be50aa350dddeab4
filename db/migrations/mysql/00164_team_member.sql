-- +goose Up
-- Who is in which team. ruled marks those whom a rule of the sign-in file put there: each of their sign-ins decides anew.
CREATE TABLE IF NOT EXISTS punctual_team_member (
    team_id BIGINT  NOT NULL,
    user_id INT     NOT NULL,
    ruled   TINYINT NOT NULL DEFAULT 0,
    PRIMARY KEY (team_id, user_id),
    KEY i_team_member_user (user_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
