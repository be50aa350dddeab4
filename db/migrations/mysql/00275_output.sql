-- +goose Up
-- The copies of runs' outputs (package scheduler/archive), one row a run whose output is kept or is to be.
--   state      0 to be copied, 1 of a run that goes on, 2 whole, 3 its end is missing, 4 nothing could be kept
--   reason     of 3 and 4: executor, missing, size or store
--   node       the admin that copies it; tries, and when the next is (epoch ms)
--   object_id  where the copy is, 0 for nowhere: the block of size bytes at pos, and in what that holds the text from text_at on
--   head_size  bytes of the text before the gap; head_lines, left_lines (in the gap) and tail_lines are its lines
--   faults     lines that tell of an error
--   object     what one write to the store made, under a name there: live says how many rows are in it; 0 for what is to be deleted
--   blob       objects in the database, in parts
CREATE TABLE IF NOT EXISTS punctual_output (
    log_id     BIGINT NOT NULL PRIMARY KEY,
    job_group  BIGINT NOT NULL DEFAULT 0,
    job_id     BIGINT NOT NULL DEFAULT 0,
    state      TINYINT NOT NULL DEFAULT 0,
    reason     VARCHAR(16) NOT NULL DEFAULT '',
    node       BIGINT NOT NULL DEFAULT 0,
    tries      INT NOT NULL DEFAULT 0,
    next_at    BIGINT NOT NULL DEFAULT 0,
    ended_at   BIGINT NOT NULL DEFAULT 0,
    kept_at    BIGINT NOT NULL DEFAULT 0,
    object_id  BIGINT NOT NULL DEFAULT 0,
    pos        BIGINT NOT NULL DEFAULT 0,
    size       BIGINT NOT NULL DEFAULT 0,
    text_at    BIGINT NOT NULL DEFAULT 0,
    text_size  BIGINT NOT NULL DEFAULT 0,
    head_size  BIGINT NOT NULL DEFAULT 0,
    head_lines BIGINT NOT NULL DEFAULT 0,
    left_lines BIGINT NOT NULL DEFAULT 0,
    tail_lines BIGINT NOT NULL DEFAULT 0,
    faults     BIGINT NOT NULL DEFAULT 0,
    KEY i_output_due (state, node, next_at, log_id),
    KEY i_output_object (object_id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS punctual_output_object (
    id         BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    store      VARCHAR(16) NOT NULL DEFAULT '',
    name       VARCHAR(64) NOT NULL DEFAULT '',
    size       BIGINT NOT NULL DEFAULT 0,
    live       BIGINT NOT NULL DEFAULT 0,
    made       BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL DEFAULT 0,
    KEY i_output_object_live (live, created_at)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS punctual_output_blob (
    object_id BIGINT NOT NULL,
    part      BIGINT NOT NULL,
    data      MEDIUMBLOB NOT NULL,
    PRIMARY KEY (object_id, part)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
