-- What touches punctual_chain_job.

-- name: ListChainJobs :many
SELECT * FROM punctual_chain_job WHERE flow_id = ? ORDER BY job_id;

-- name: InsertChainJob :exec
INSERT INTO punctual_chain_job (flow_id, job_id, children, started, version) VALUES (?, ?, ?, ?, ?);

-- name: DeleteChainJobs :exec
-- With their flow.
DELETE FROM punctual_chain_job WHERE flow_id = ?;
