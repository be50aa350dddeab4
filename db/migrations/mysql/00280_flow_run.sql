-- +goose Up
-- The runs of flows, beside their rows in xxl_job_log. Each decision about one raises its revision, which guards it. Times are epoch ms.
--   text_id     the definition that it began with
--   state       0 its steps go on, 1 decided and not written into xxl_job_log yet, 2 over, 3 to begin with steps that are given already
--   ends        the flow.State that it ended in
--   asked       the flow.Asked that says that it is to end; stopped_by: who did
--   wake_at     when something is to be decided although nothing ends; 0: never
--   deadline    when it has taken too long; 0: never
--   zone        that of its job, by which times in the definition are read
--   from_log_id the run of the flow that it repeats a part of; 0: none
CREATE TABLE IF NOT EXISTS punctual_flow_run (
    log_id      BIGINT       NOT NULL PRIMARY KEY,
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
    ended_at    BIGINT       NOT NULL DEFAULT 0,
    KEY i_flow_run_wake (state, wake_at),
    KEY i_flow_run_job (job_id, log_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
