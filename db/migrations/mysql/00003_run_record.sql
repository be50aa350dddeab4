-- What a planned fire needs to be accounted for. Every column has a default, so the old admin's inserts still work.
--   planned_at     epoch ms of the planned fire
--   owner_node     punctual_node.id of the admin that sends it; 0 = nobody of ours
--   trigger_type   what caused it (cron, manual, retry, parent, api, misfire …)
--   origin_log_id  the run that this one retries or was started by
--   sent_at, finished_at  epoch ms, 0 = not yet
-- One statement, because each ALTER commits on its own.

-- +goose Up
ALTER TABLE xxl_job_log
    ADD COLUMN planned_at    BIGINT      NOT NULL DEFAULT 0,
    ADD COLUMN owner_node    BIGINT      NOT NULL DEFAULT 0,
    ADD COLUMN trigger_type  VARCHAR(16) NOT NULL DEFAULT '',
    ADD COLUMN origin_log_id BIGINT      NOT NULL DEFAULT 0,
    ADD COLUMN sent_at       BIGINT      NOT NULL DEFAULT 0,
    ADD COLUMN finished_at   BIGINT      NOT NULL DEFAULT 0;
