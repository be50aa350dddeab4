-- +goose Up
-- The jobs that somebody has marked with the star. See app/manage/favourites.go.
CREATE TABLE IF NOT EXISTS punctual_favourite (
  user_id INT NOT NULL,
  job_id INT NOT NULL,
  made_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (user_id, job_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci ROW_FORMAT=DYNAMIC;
