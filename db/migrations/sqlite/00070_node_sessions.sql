-- The sessions that an admin has open on the database, by server: written with each beat of its lease, so that another
-- admin can end those of one that stopped in the middle of a transaction. See Pool.EndSessions.

-- +goose Up
ALTER TABLE punctual_node ADD COLUMN sessions VARCHAR(4000) NOT NULL DEFAULT '';
