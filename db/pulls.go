package db

import "context"

// InsertPulls writes calls that wait for their executor. Those that are there already stay as they are: who does not know whether a
// statement was carried out repeats it.
func InsertPulls(ctx context.Context, tx DBTX, calls []Pull) error {
	return bulkInsert[Pull]{
		what: "write down %d calls",
		into: "INSERT IGNORE INTO punctual_pull (id, app_name, address, path, trace_parent, body, size, expires_at, taken_by)",
		row: func(c *Pull) []any {
			return []any{c.ID, c.AppName, c.Address, c.Path, c.TraceParent, c.Body, len(c.Body), c.ExpiresAt, c.TakenBy}
		},
		atOnce: MaxBatch,
	}.exec(ctx, tx, calls)
}

// InsertPullAnswers writes answers for the admins that wait for them. Of several to one call the first counts.
func InsertPullAnswers(ctx context.Context, tx DBTX, answers []PullAnswer) error {
	return bulkInsert[PullAnswer]{
		what: "write down %d answers",
		into: "INSERT IGNORE INTO punctual_pull_answer (id, asker, app_name, address, body, size, expires_at)",
		row: func(a *PullAnswer) []any {
			return []any{a.ID, a.Asker, a.AppName, a.Address, a.Body, len(a.Body), a.ExpiresAt}
		},
		atOnce: MaxBatch,
	}.exec(ctx, tx, answers)
}

// UpsertPullSeen writes down when executors asked for calls last. What another admin has seen later stays. The rows must be in the order
// of the primary key, so that two admins wait for each other and do not lock each other out.
func UpsertPullSeen(ctx context.Context, tx DBTX, seen []PullSeen) error {
	return bulkInsert[PullSeen]{
		what:   "write down that %d executors asked",
		into:   "INSERT INTO punctual_pull_seen (app_name, address, seen_at, wait_ms)",
		row:    func(s *PullSeen) []any { return []any{s.AppName, s.Address, s.SeenAt, s.WaitMs} },
		there:  " ON DUPLICATE KEY UPDATE seen_at = CASE WHEN VALUES(seen_at) > seen_at THEN VALUES(seen_at) ELSE seen_at END, wait_ms = VALUES(wait_ms)",
		atOnce: MaxBatch,
	}.exec(ctx, tx, seen)
}
