-- What a planned fire needs to be accounted for; the columns are explained in the MySQL file of the same name.

-- +goose Up
ALTER TABLE xxl_job_log ADD COLUMN planned_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE xxl_job_log ADD COLUMN owner_node BIGINT NOT NULL DEFAULT 0;
ALTER TABLE xxl_job_log ADD COLUMN trigger_type VARCHAR(16) NOT NULL DEFAULT '';
ALTER TABLE xxl_job_log ADD COLUMN origin_log_id BIGINT NOT NULL DEFAULT 0;
ALTER TABLE xxl_job_log ADD COLUMN sent_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE xxl_job_log ADD COLUMN finished_at BIGINT NOT NULL DEFAULT 0;
