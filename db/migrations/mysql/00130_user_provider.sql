-- Who vouches for a user: empty for one whose password is kept here, else a provider or a directory, with a key that names the
-- person there for ever. break_glass marks an administrator who may use a password when others may not. XXL-JOB's admin writes
-- none of them.

-- +goose Up
ALTER TABLE xxl_job_user
    ADD COLUMN provider VARCHAR(32) NOT NULL DEFAULT '',
    ADD COLUMN identity_key VARCHAR(64) NOT NULL DEFAULT '',
    ADD COLUMN break_glass TINYINT NOT NULL DEFAULT 0,
    ADD KEY i_user_identity (identity_key);
