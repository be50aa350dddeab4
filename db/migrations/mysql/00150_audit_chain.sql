-- Entries of the audit log are chained (package auditlog): seq is an entry's place, 0 until it has one, and hash covers the entry
-- and the hash before it. group_id is the executor group that an entry is about, 0 for none.

-- +goose Up
ALTER TABLE punctual_audit ADD COLUMN group_id BIGINT NOT NULL DEFAULT 0, ADD COLUMN seq BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN hash VARCHAR(64) NOT NULL DEFAULT '', ADD KEY i_audit_seq (seq, id);
