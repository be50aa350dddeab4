-- +goose Up
-- Who is in which team. ruled marks those whom a rule of the sign-in file put there: each of their sign-ins decides anew.
CREATE TABLE punctual_team_member (
    team_id BIGINT  NOT NULL,
    user_id INT     NOT NULL,
    ruled   TINYINT NOT NULL DEFAULT 0,
    PRIMARY KEY (team_id, user_id)
);
CREATE INDEX i_team_member_user ON punctual_team_member (user_id);
