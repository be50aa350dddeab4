-- +goose Up
-- A row for each kind of thing whose changes are made one after another: whoever changes one writes the row first.
CREATE TABLE IF NOT EXISTS punctual_turn (
  kind VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  taken BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (kind)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci ROW_FORMAT=DYNAMIC;
