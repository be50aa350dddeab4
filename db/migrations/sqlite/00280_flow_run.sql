-- +goose Up
-- The runs of flows; the columns are explained in the MySQL file of the same name.
CREATE TABLE punctual_flow_run (
    log_id      INTEGER      NOT NULL PRIMARY KEY,
    job_id      BIGINT       NOT NULL DEFAULT 0,
    job_group   BIGINT       NOT NULL DEFAULT 0,
    text_id     BIGINT       NOT NULL DEFAULT 0,
    revision    BIGINT       NOT NULL DEFAULT 0,
    state       TINYINT      NOT NULL DEFAULT 0,
    ends        TINYINT      NOT NULL DEFAULT 0,
    asked       TINYINT      NOT NULL DEFAULT 0,
    failed_step VARCHAR(64)  NOT NULL DEFAULT '',
    wake_at     BIGINT       NOT NULL DEFAULT 0,
    deadline    BIGINT       NOT NULL DEFAULT 0,
    from_log_id BIGINT       NOT NULL DEFAULT 0,
    stopped_by  VARCHAR(64)  NOT NULL DEFAULT '',
    zone        VARCHAR(64)  NOT NULL DEFAULT '',
    began_at    BIGINT       NOT NULL DEFAULT 0,
    ended_at    BIGINT       NOT NULL DEFAULT 0
);
CREATE INDEX i_flow_run_wake ON punctual_flow_run (state, wake_at);
CREATE INDEX i_flow_run_job ON punctual_flow_run (job_id, log_id);
