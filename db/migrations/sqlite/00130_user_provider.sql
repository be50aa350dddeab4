-- Who vouches for a user; see the MySQL file of the same name.

-- +goose Up
ALTER TABLE xxl_job_user ADD COLUMN provider VARCHAR(32) NOT NULL DEFAULT '';
ALTER TABLE xxl_job_user ADD COLUMN identity_key VARCHAR(64) NOT NULL DEFAULT '';
ALTER TABLE xxl_job_user ADD COLUMN break_glass TINYINT NOT NULL DEFAULT 0;
CREATE INDEX i_user_identity ON xxl_job_user (identity_key);
