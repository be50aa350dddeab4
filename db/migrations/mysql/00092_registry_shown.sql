-- Which access token an executor showed when it registered, as its fingerprint: only that one is ever sent to it. Empty: another
-- admin took the registration, and did not say.

-- +goose Up
ALTER TABLE xxl_job_registry ADD COLUMN token_shown VARCHAR(32) NOT NULL DEFAULT '';
