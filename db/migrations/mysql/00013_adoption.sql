-- One row in a database that was XXL-JOB's: which releases its tables were of, and whether there is still a way back. It is
-- written before the adoption changes anything (adopt.go); a database that has no row was never adopted, or long ago.
--   release_line  the line of releases, such as 2.3 for 2.3.0 to 2.4.2; see db.Release
--   checked_at    epoch ms, when its jobs had been looked through; 0 = not yet
--   tokens_at     epoch ms, when the tokens of its groups had been taken over; 0 = not yet
--   finished_at   epoch ms, when somebody said that there is no way back any more; 0 = there is one

-- +goose Up
CREATE TABLE IF NOT EXISTS punctual_adoption (
    id           TINYINT      NOT NULL,
    release_line VARCHAR(8)   NOT NULL DEFAULT '',
    adopted_at   BIGINT       NOT NULL DEFAULT 0,
    checked_at   BIGINT       NOT NULL DEFAULT 0,
    tokens_at    BIGINT       NOT NULL DEFAULT 0,
    backoffs     INT          NOT NULL DEFAULT 0,
    finished_at  BIGINT       NOT NULL DEFAULT 0,
    finished_by  VARCHAR(100) NOT NULL DEFAULT '',
    PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_unicode_ci ROW_FORMAT = DYNAMIC;
