-- Places in the chain of the audit log: "head", the last entry that was chained, "tail", the last one that retention took away, and
-- up to where each target of the shipping has it. The owner of a target ships to it until a moment (epoch ms).

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_audit_mark (
    name       VARCHAR(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    seq        BIGINT      NOT NULL DEFAULT 0,
    hash       VARCHAR(64) NOT NULL DEFAULT '',
    owner      VARCHAR(64) NOT NULL DEFAULT '',
    until_ms   BIGINT      NOT NULL DEFAULT 0,
    PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
