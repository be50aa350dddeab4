-- +goose Up
-- The steps of runs of flows, and the items of those that run once for each item of a list. Times are epoch ms.
--   item       -1 for the step itself
--   state      a flow.State; attempt: how often it was started; ending: its end was asked for (1), because it took too long (2)
--   run_id     its run, the newest attempt; of a broadcast the first shard
--   going      its runs, or its items, that go on; succeeded, failed and cancelled count those that ended, total is the items in all
--   due_at     when it is decided without anybody: the end of a wait, or of the time it may take; 0: never
--   param      what its run got, items the list as JSON, output what it gave as JSON
--   decided_by who approved, rejected, skipped it or set it to success, with a remark; by_hand: 1 of the last two
CREATE TABLE IF NOT EXISTS punctual_flow_step (
    id          BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
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
    output      MEDIUMTEXT   NULL,
    UNIQUE KEY i_flow_step (flow_log_id, item, step),
    KEY i_flow_step_run (run_id),
    KEY i_flow_step_state (state, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin ROW_FORMAT = DYNAMIC;
