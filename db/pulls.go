package db

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// InsertPulls writes calls that wait for their executor. Those that are there already stay as they are: who does not know whether a
// statement was carried out repeats it.
func InsertPulls(ctx context.Context, tx DBTX, calls []Pull) error {
	for part := range slices.Chunk(calls, MaxBatch) {
		args := make([]any, 0, 9*len(part))
		for i := range part {
			c := &part[i]
			args = append(args, c.ID, c.AppName, c.Address, c.Path, c.TraceParent, c.Body, len(c.Body), c.ExpiresAt, c.TakenBy)
		}
		q := "INSERT IGNORE INTO punctual_pull (id, app_name, address, path, trace_parent, body, size, expires_at, taken_by) VALUES " +
			strings.TrimSuffix(strings.Repeat("(?,?,?,?,?,?,?,?,?),", len(part)), ",")
		if _, err := tx.ExecContext(ctx, q, args...); err != nil {
			return fmt.Errorf("write down %d calls: %w", len(part), err)
		}
	}
	return nil
}

// InsertPullAnswers writes answers for the admins that wait for them. Of several to one call the first counts.
func InsertPullAnswers(ctx context.Context, tx DBTX, answers []PullAnswer) error {
	for part := range slices.Chunk(answers, MaxBatch) {
		args := make([]any, 0, 7*len(part))
		for i := range part {
			a := &part[i]
			args = append(args, a.ID, a.Asker, a.AppName, a.Address, a.Body, len(a.Body), a.ExpiresAt)
		}
		q := "INSERT IGNORE INTO punctual_pull_answer (id, asker, app_name, address, body, size, expires_at) VALUES " +
			strings.TrimSuffix(strings.Repeat("(?,?,?,?,?,?,?),", len(part)), ",")
		if _, err := tx.ExecContext(ctx, q, args...); err != nil {
			return fmt.Errorf("write down %d answers: %w", len(part), err)
		}
	}
	return nil
}

// UpsertPullSeen writes down when executors asked for calls last. What another admin has seen later stays. The rows must be in the order
// of the primary key, so that two admins wait for each other and do not lock each other out.
func UpsertPullSeen(ctx context.Context, tx DBTX, seen []PullSeen) error {
	for part := range slices.Chunk(seen, MaxBatch) {
		args := make([]any, 0, 4*len(part))
		for i := range part {
			s := &part[i]
			args = append(args, s.AppName, s.Address, s.SeenAt, s.WaitMs)
		}
		q := "INSERT INTO punctual_pull_seen (app_name, address, seen_at, wait_ms) VALUES " +
			strings.TrimSuffix(strings.Repeat("(?,?,?,?),", len(part)), ",") +
			" ON DUPLICATE KEY UPDATE seen_at = CASE WHEN VALUES(seen_at) > seen_at THEN VALUES(seen_at) ELSE seen_at END, wait_ms = VALUES(wait_ms)"
		if _, err := tx.ExecContext(ctx, q, args...); err != nil {
			return fmt.Errorf("write down that %d executors asked: %w", len(part), err)
		}
	}
	return nil
}
