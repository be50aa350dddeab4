-- +goose Up
-- Whose turn it is to change something; explained in the MySQL file of the same name.
CREATE TABLE IF NOT EXISTS punctual_turn (
  kind VARCHAR(32) NOT NULL,
  taken BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (kind)
);
