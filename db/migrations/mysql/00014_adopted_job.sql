-- Jobs whose times are not what they were under XXL-JOB, as they were found when the database was adopted. A job with another
-- schedule than that has been seen to.

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_adopted_job (
    job_id        INT          NOT NULL,
    finding       VARCHAR(16)  NOT NULL DEFAULT '',
    schedule_type VARCHAR(50)  NOT NULL DEFAULT '',
    schedule_conf VARCHAR(128) NOT NULL DEFAULT '',
    PRIMARY KEY (job_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
