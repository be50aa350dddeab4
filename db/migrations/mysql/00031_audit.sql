-- Who changed what. before_json and after_json hold the fields that the change touched, without secrets; made_at is epoch ms.
-- The name of the user and of the object stand here too, so that an entry outlives both.

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_audit (
    id          BIGINT       NOT NULL AUTO_INCREMENT,
    made_at     BIGINT       NOT NULL DEFAULT 0,
    user_id     INT          NOT NULL DEFAULT 0,
    user_name   VARCHAR(64)  NOT NULL DEFAULT '',
    address     VARCHAR(64)  NOT NULL DEFAULT '',
    action      VARCHAR(32)  NOT NULL DEFAULT '',
    object_kind VARCHAR(16)  NOT NULL DEFAULT '',
    object_id   BIGINT       NOT NULL DEFAULT 0,
    object_name VARCHAR(255) NOT NULL DEFAULT '',
    before_json MEDIUMTEXT,
    after_json  MEDIUMTEXT,
    PRIMARY KEY (id),
    KEY i_audit_made (made_at),
    KEY i_audit_user (user_name, id),
    KEY i_audit_object (object_kind, object_id, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
