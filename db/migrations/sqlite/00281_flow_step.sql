-- +goose Up
-- The steps of runs of flows; the columns are explained in the MySQL file of the same name.
CREATE TABLE punctual_flow_step (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    flow_log_id BIGINT       NOT NULL DEFAULT 0,
    step        VARCHAR(64)  NOT NULL DEFAULT '',
    item        INT          NOT NULL DEFAULT -1,
    state       TINYINT      NOT NULL DEFAULT 0,
    job_id      BIGINT       NOT NULL DEFAULT 0,
    run_id      BIGINT       NOT NULL DEFAULT 0,
    going       INT          NOT NULL DEFAULT 0,
    failed      INT          NOT NULL DEFAULT 0,
    total       INT          NOT NULL DEFAULT 0,
    succeeded   INT          NOT NULL DEFAULT 0,
    cancelled   INT          NOT NULL DEFAULT 0,
    attempt     INT          NOT NULL DEFAULT 0,
    ending      TINYINT      NOT NULL DEFAULT 0,
    code        INT          NOT NULL DEFAULT 0,
    by_hand     TINYINT      NOT NULL DEFAULT 0,
    due_at      BIGINT       NOT NULL DEFAULT 0,
    began_at    BIGINT       NOT NULL DEFAULT 0,
    ended_at    BIGINT       NOT NULL DEFAULT 0,
    decided_by  VARCHAR(64)  NOT NULL DEFAULT '',
    remark      VARCHAR(500) NOT NULL DEFAULT '',
    message     TEXT         NULL,
    param       MEDIUMTEXT   NULL,
    items       MEDIUMTEXT   NULL,
    output      MEDIUMTEXT   NULL
);
CREATE UNIQUE INDEX i_flow_step ON punctual_flow_step (flow_log_id, item, step);
CREATE INDEX i_flow_step_run ON punctual_flow_step (run_id);
CREATE INDEX i_flow_step_state ON punctual_flow_step (state, id);
