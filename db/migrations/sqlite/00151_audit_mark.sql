-- Places in the chain of the audit log; explained in the MySQL file of the same name.

-- +goose Up
CREATE TABLE punctual_audit_mark (
    name       VARCHAR(80) NOT NULL PRIMARY KEY,
    seq        BIGINT      NOT NULL DEFAULT 0,
    hash       VARCHAR(64) NOT NULL DEFAULT '',
    owner      VARCHAR(64) NOT NULL DEFAULT '',
    until_ms   BIGINT      NOT NULL DEFAULT 0
);
