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
