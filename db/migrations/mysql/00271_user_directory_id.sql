-- What a directory (LDAP) calls a user for ever, so that it can be asked again about them; see package directory. Empty for everybody else,
-- and for those who signed in last before there was this column.

-- +goose Up
ALTER TABLE xxl_job_user ADD COLUMN directory_id VARCHAR(500) NOT NULL DEFAULT '';
