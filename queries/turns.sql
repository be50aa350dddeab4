-- What touches punctual_turn.

-- name: TakeTurn :exec
-- The first statement of a transaction that changes something of a kind: two of them wait for each other here.
INSERT INTO punctual_turn (kind, taken) VALUES (?, 1) ON DUPLICATE KEY UPDATE taken = taken + 1;
