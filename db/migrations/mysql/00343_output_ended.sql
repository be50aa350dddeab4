-- +goose Up
-- What is to be kept of runs (package scheduler/archive): a row for what ended in one commit and is in no row of punctual_output yet.
--   node      the admin that copies them
--   ended_at  when they ended, epoch ms
--   runs      how many they were; ids: which, separated by commas
CREATE TABLE IF NOT EXISTS punctual_output_ended (
    id       BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    node     BIGINT NOT NULL DEFAULT 0,
    ended_at BIGINT NOT NULL DEFAULT 0,
    runs     BIGINT NOT NULL DEFAULT 0,
    ids      MEDIUMTEXT NOT NULL,
    KEY i_output_ended_node (node, id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
