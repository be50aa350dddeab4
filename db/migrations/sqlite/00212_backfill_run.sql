-- +goose Up
-- The planned times of a backfill in the order in which they are sent, each of which is sent once. log_ids are the attempts that it
-- stands with, comma-separated: one, or as many as shards. state: 0 not sent, 1 sent, 2 succeeded, 3 did not. like_log_id is the run
-- whose parameter it takes; 0: the job's.
CREATE TABLE punctual_backfill_run (
    backfill_id BIGINT     NOT NULL DEFAULT 0,
    no          INT        NOT NULL DEFAULT 0,
    planned_for BIGINT     NOT NULL DEFAULT 0,
    like_log_id BIGINT     NOT NULL DEFAULT 0,
    state       TINYINT    NOT NULL DEFAULT 0,
    log_ids     MEDIUMTEXT NULL,
    PRIMARY KEY (backfill_id, no)
);
CREATE INDEX i_backfill_run_state ON punctual_backfill_run (backfill_id, state, no);
