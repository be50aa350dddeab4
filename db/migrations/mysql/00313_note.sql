-- +goose Up
-- What people wrote down at a run, at a job, or at all jobs of an executor group, such as a deployment. See app/manage/notes.go.
CREATE TABLE IF NOT EXISTS punctual_note (
  id BIGINT NOT NULL AUTO_INCREMENT,
  job_group INT NOT NULL,                -- to which the job belonged then: who may see it may read the note
  job_id INT NOT NULL DEFAULT 0,         -- 0: it is about all jobs of the group
  run_id BIGINT NOT NULL DEFAULT 0,      -- 0: it is about no run
  at BIGINT NOT NULL,                    -- Unix ms: where it stands in a picture
  made_at BIGINT NOT NULL,               -- Unix ms
  made_by VARCHAR(64) NOT NULL DEFAULT '',
  note VARCHAR(500) NOT NULL,
  PRIMARY KEY (id),
  KEY i_note_job (job_id, at),
  KEY i_note_group (job_group, job_id, at),
  KEY i_note_run (run_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci ROW_FORMAT=DYNAMIC;
