-- What each job's definition has said about when it is due, and since when: a row for each change, written in the transaction
-- that makes it (db/schedules.go). next_at is the first fire under the row. The row is true until until_at (0: still), and the
-- fires before claimed_to had been claimed by then. since_at is earlier than made_at where somebody else made the change, which
-- was noticed later: the row before it was true until since_at at least. time_zone is the zone that counts, the installation's
-- where the job names none.

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_schedule (
    id               BIGINT       NOT NULL AUTO_INCREMENT,
    job_id           BIGINT       NOT NULL,
    job_group        INT          NOT NULL DEFAULT 0,
    job_desc         VARCHAR(255) NOT NULL DEFAULT '',
    cause            VARCHAR(16)  NOT NULL DEFAULT '',
    since_at         BIGINT       NOT NULL DEFAULT 0,
    made_at          BIGINT       NOT NULL DEFAULT 0,
    until_at         BIGINT       NOT NULL DEFAULT 0,
    claimed_to       BIGINT       NOT NULL DEFAULT 0,
    started          TINYINT      NOT NULL DEFAULT 0,
    next_at          BIGINT       NOT NULL DEFAULT 0,
    schedule_type    VARCHAR(50)  NOT NULL DEFAULT '',
    schedule_conf    VARCHAR(128) NOT NULL DEFAULT '',
    misfire_strategy VARCHAR(50)  NOT NULL DEFAULT '',
    time_zone        VARCHAR(64)  NOT NULL DEFAULT '',
    start_at         BIGINT       NOT NULL DEFAULT 0,
    end_at           BIGINT       NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    KEY i_schedule_job (job_id, until_at),
    KEY i_schedule_until (until_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci;
