-- +goose Up
-- The jobs that somebody has marked with the star; the columns are explained in the MySQL file of the same name.
CREATE TABLE IF NOT EXISTS punctual_favourite (
  user_id INT NOT NULL,
  job_id INT NOT NULL,
  made_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (user_id, job_id)
);
