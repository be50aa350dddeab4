-- +goose Up
-- Runs of a job for planned times that are over, of its schedule or of runs that failed; see scheduler/backfill. sent is the cursor: the
-- number of the next of its rows in punctual_backfill_run. It is moved in the transaction that inserts the run. Times are epoch ms.
CREATE TABLE punctual_backfill (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id     INT          NOT NULL DEFAULT 0,
    kind       VARCHAR(10)  NOT NULL DEFAULT '',
    from_at    BIGINT       NOT NULL DEFAULT 0,
    until_at   BIGINT       NOT NULL DEFAULT 0,
    newest     TINYINT      NOT NULL DEFAULT 0,
    at_once    INT          NOT NULL DEFAULT 1,
    state      VARCHAR(10)  NOT NULL DEFAULT '',
    total      INT          NOT NULL DEFAULT 0,
    sent       INT          NOT NULL DEFAULT 0,
    succeeded  INT          NOT NULL DEFAULT 0,
    failed     INT          NOT NULL DEFAULT 0,
    made_at    BIGINT       NOT NULL DEFAULT 0,
    made_by    VARCHAR(64)  NOT NULL DEFAULT '',
    ended_at   BIGINT       NOT NULL DEFAULT 0
);
CREATE INDEX i_backfill_ended ON punctual_backfill (ended_at);
CREATE INDEX i_backfill_job ON punctual_backfill (job_id);
