-- The chain of the audit log; the columns are explained in the MySQL file of the same name.

-- +goose Up
ALTER TABLE punctual_audit ADD COLUMN group_id BIGINT NOT NULL DEFAULT 0;
ALTER TABLE punctual_audit ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;
ALTER TABLE punctual_audit ADD COLUMN hash VARCHAR(64) NOT NULL DEFAULT '';
CREATE INDEX i_audit_seq ON punctual_audit (seq, id);
