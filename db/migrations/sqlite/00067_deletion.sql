-- What was deleted from the log on purpose; the table is explained in the MySQL file of the same name.

-- +goose Up
CREATE TABLE punctual_deletion (
    what      TEXT    NOT NULL,
    job_group INTEGER NOT NULL DEFAULT 0,
    job_id    BIGINT  NOT NULL DEFAULT 0,
    before_at BIGINT  NOT NULL DEFAULT 0,
    made_by   TEXT    NOT NULL DEFAULT '',
    made_at   BIGINT  NOT NULL DEFAULT 0,
    PRIMARY KEY (what, job_group, job_id)
);
