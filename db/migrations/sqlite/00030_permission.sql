-- What a normal user may do in a group, where that is less than everything; see the MySQL file of the same name.

-- +goose Up
CREATE TABLE punctual_permission (
    user_id  INT     NOT NULL,
    group_id INT     NOT NULL,
    rights   TINYINT NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, group_id)
);
CREATE INDEX i_permission_group ON punctual_permission (group_id);
