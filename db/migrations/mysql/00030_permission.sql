-- What a normal user may do in a group, where that is less than everything. A group named in xxl_job_user.permission stays what
-- XXL-JOB means by it: all rights. rights is a sum: 1 see, 2 run, 4 edit, 8 scripts.

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_permission (
    user_id  INT     NOT NULL,
    group_id INT     NOT NULL,
    rights   TINYINT NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, group_id),
    KEY i_permission_group (group_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci;
