-- +goose Up
-- The definitions that runs of flows began with, each once, whatever becomes of the job's own (scheduler/flows.go).
CREATE TABLE IF NOT EXISTS punctual_flow_text (
    id      BIGINT      NOT NULL AUTO_INCREMENT PRIMARY KEY,
    job_id  BIGINT      NOT NULL DEFAULT 0,
    digest  VARCHAR(64) NOT NULL DEFAULT '',
    made_at BIGINT      NOT NULL DEFAULT 0,
    source  MEDIUMTEXT  NOT NULL,
    UNIQUE KEY i_flow_text_digest (job_id, digest)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
