-- Who changed what; the columns are explained in the MySQL file of the same name.

-- +goose Up
CREATE TABLE punctual_audit (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    made_at     BIGINT       NOT NULL DEFAULT 0,
    user_id     INT          NOT NULL DEFAULT 0,
    user_name   VARCHAR(64)  NOT NULL DEFAULT '' COLLATE NOCASE,
    address     VARCHAR(64)  NOT NULL DEFAULT '',
    action      VARCHAR(32)  NOT NULL DEFAULT '',
    object_kind VARCHAR(16)  NOT NULL DEFAULT '',
    object_id   BIGINT       NOT NULL DEFAULT 0,
    object_name VARCHAR(255) NOT NULL DEFAULT '' COLLATE NOCASE,
    before_json MEDIUMTEXT,
    after_json  MEDIUMTEXT
);
CREATE INDEX i_audit_made ON punctual_audit (made_at);
CREATE INDEX i_audit_user ON punctual_audit (user_name, id);
CREATE INDEX i_audit_object ON punctual_audit (object_kind, object_id, id);
