-- What each job's definition has said about when it is due; the table is explained in the MySQL file of the same name.

-- +goose Up
CREATE TABLE punctual_schedule (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id           BIGINT  NOT NULL,
    job_group        INTEGER NOT NULL DEFAULT 0,
    job_desc         TEXT    NOT NULL DEFAULT '',
    cause            TEXT    NOT NULL DEFAULT '',
    since_at         BIGINT  NOT NULL DEFAULT 0,
    made_at          BIGINT  NOT NULL DEFAULT 0,
    until_at         BIGINT  NOT NULL DEFAULT 0,
    claimed_to       BIGINT  NOT NULL DEFAULT 0,
    started          INTEGER NOT NULL DEFAULT 0,
    next_at          BIGINT  NOT NULL DEFAULT 0,
    schedule_type    TEXT    NOT NULL DEFAULT '',
    schedule_conf    TEXT    NOT NULL DEFAULT '',
    misfire_strategy TEXT    NOT NULL DEFAULT '',
    time_zone        TEXT    NOT NULL DEFAULT '',
    start_at         BIGINT  NOT NULL DEFAULT 0,
    end_at           BIGINT  NOT NULL DEFAULT 0
);
CREATE INDEX i_schedule_job ON punctual_schedule (job_id, until_at);
CREATE INDEX i_schedule_until ON punctual_schedule (until_at);
