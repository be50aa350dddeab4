-- What touches punctual_node: the admins of the cluster and their leases. See scheduler/cluster/node.go for the protocol.

-- name: InsertNode :execlastid
INSERT INTO punctual_node (name, address, version, started_at, beat, beat_at, low_log_id, state) VALUES (?, ?, ?, ?, 1, ?, ?, 1);

-- name: BeatNode :execrows
-- Renews a lease. 0 rows: another node has declared this one gone, and it must not send anything any more. The server counts:
-- a number that a renewal wrote whose answer was lost must not be written again, or the others would not see the next one.
UPDATE punctual_node SET beat = beat + 1, beat_at = sqlc.arg(beat_at), low_log_id = sqlc.arg(low_log_id),
    load_figures = sqlc.arg(load_figures), sessions = sqlc.arg(sessions)
WHERE id = sqlc.arg(id) AND state = 1;

-- name: NoteSessions :execrows
-- Lists a node's database sessions as soon as there is a new one: the node may stop before its next beat.
UPDATE punctual_node SET sessions = sqlc.arg(sessions) WHERE id = sqlc.arg(id) AND state = 1;

-- name: LowerNodeMark :execrows
-- Brings a node's low mark down to a run that it makes its own although it is an old one, in the same transaction: should the
-- node die before its next beat, the run must be found.
UPDATE punctual_node SET low_log_id = sqlc.arg(low_log_id) WHERE id = sqlc.arg(id) AND low_log_id > sqlc.arg(low_log_id);

-- name: ListNodes :many
SELECT id, name, address, version, started_at, beat, beat_at, low_log_id, state, load_figures, sessions FROM punctual_node ORDER BY id;

-- name: RetireNode :execrows
-- Declares a node gone. Guarded by the beat that was seen last, so that a node which has just beaten stays alive. State 2 is that of a
-- node that is gone and may have sent what it did not record: whoever leads looks for that, also when who declared it gone is gone too.
UPDATE punctual_node SET state = 2 WHERE id = sqlc.arg(id) AND beat = sqlc.arg(beat) AND state = 1;

-- name: LeaveNode :execrows
-- A node's farewell. Its time may have been over before all was recorded.
UPDATE punctual_node SET state = 2 WHERE id = ? AND state = 1;

-- name: NoteReportedOfNode :execrows
-- What a node that is gone sent is recorded, as far as there are results.
UPDATE punctual_node SET state = 0 WHERE id = ? AND state = 2;

-- name: DeleteNode :execrows
-- Forgets a gone node once nothing of it can be left.
DELETE FROM punctual_node WHERE id = ? AND state <> 1;
