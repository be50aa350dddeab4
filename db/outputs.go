package db

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The states of a copy of a run's output, as its row has them.
const (
	OutputDue  int64 = iota // the run has ended, and its output is to be copied
	OutputLive              // the run goes on, and this is what it has written so far
	OutputWhole
	OutputPart // the end is missing
	OutputLost // nothing could be kept
)

// DueOutput is a run whose output is to be copied.
type DueOutput struct {
	LogID, JobGroup, JobID int64
	Node                   int64 // the admin that copies it
	EndedAt, NextAt        int64 // epoch ms; NextAt: from when on it may be looked for in the table
}

// InsertDueOutputs notes runs whose output is to be copied. What was kept of one that went on stays until then,
// and what its executor pushed stays for good.
func InsertDueOutputs(ctx context.Context, tx DBTX, due []DueOutput) error {
	for part := range slices.Chunk(due, MaxBatch) {
		args := make([]any, 0, 6*len(part))
		for i := range part {
			d := &part[i]
			args = append(args, d.LogID, d.JobGroup, d.JobID, d.Node, d.EndedAt, d.NextAt)
		}
		q := "INSERT INTO punctual_output (log_id, job_group, job_id, node, ended_at, next_at) VALUES " +
			strings.TrimSuffix(strings.Repeat("(?,?,?,?,?,?),", len(part)), ",") +
			" ON DUPLICATE KEY UPDATE state = CASE WHEN pushed = 1 THEN 2 ELSE 0 END, tries = 0, reason = '', node = VALUES(node), ended_at = VALUES(ended_at), next_at = VALUES(next_at)"
		if _, err := tx.ExecContext(ctx, q, args...); err != nil {
			return fmt.Errorf("note %d outputs to be copied: %w", len(part), err)
		}
	}
	return nil
}

// KeepOutputs writes what copies are and where. The caller has read and locked the rows that there are of these runs.
func KeepOutputs(ctx context.Context, tx DBTX, outputs []Output) error {
	for part := range slices.Chunk(outputs, MaxBatch) {
		args := make([]any, 0, 21*len(part))
		for i := range part {
			o := &part[i]
			args = append(args, o.LogID, o.JobGroup, o.JobID, o.State, o.Reason, o.Node, o.Tries, o.NextAt, o.EndedAt, o.KeptAt, o.ObjectID, o.Pos, o.Size,
				o.TextAt, o.TextSize, o.HeadSize, o.HeadLines, o.LeftLines, o.TailLines, o.Faults, o.Pushed)
		}
		q := "INSERT INTO punctual_output (log_id, job_group, job_id, state, reason, node, tries, next_at, ended_at, kept_at, object_id, pos, size," +
			" text_at, text_size, head_size, head_lines, left_lines, tail_lines, faults, pushed) VALUES " +
			strings.TrimSuffix(strings.Repeat("(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?),", len(part)), ",") +
			" ON DUPLICATE KEY UPDATE state = VALUES(state), reason = VALUES(reason), kept_at = VALUES(kept_at), object_id = VALUES(object_id)," +
			" pos = VALUES(pos), size = VALUES(size), text_at = VALUES(text_at), text_size = VALUES(text_size), head_size = VALUES(head_size)," +
			" head_lines = VALUES(head_lines), left_lines = VALUES(left_lines), tail_lines = VALUES(tail_lines), faults = VALUES(faults), pushed = VALUES(pushed)"
		if _, err := tx.ExecContext(ctx, q, args...); err != nil {
			return fmt.Errorf("note %d kept outputs: %w", len(part), err)
		}
	}
	return nil
}

// ForgetOutputs deletes the copies of runs that go, in the transaction that deletes the runs. Objects in which nothing is left are
// deleted from their store later.
func ForgetOutputs(ctx context.Context, tx DBTX, ids []int64) error {
	q := New()
	for part := range slices.Chunk(ids, MaxBatch) {
		there, err := q.ListOutputIDs(ctx, tx, part)
		if err != nil {
			return fmt.Errorf("find the outputs of %d runs: %w", len(part), err)
		}
		if len(there) == 0 {
			continue
		}
		rows, err := q.LockOutputs(ctx, tx, there)
		if err != nil {
			return fmt.Errorf("lock the outputs of %d runs: %w", len(there), err)
		}
		if _, err := q.DeleteOutputs(ctx, tx, there); err != nil {
			return fmt.Errorf("delete the outputs of %d runs: %w", len(there), err)
		}
		objects := make([]int64, len(rows))
		for i := range rows {
			objects[i] = rows[i].ObjectID
		}
		if err := LeaveOutputObjects(ctx, tx, objects); err != nil {
			return err
		}
	}
	return nil
}

// LeaveOutputObjects notes that rows are in objects no longer: an item for each row, 0 for one that was in none.
func LeaveOutputObjects(ctx context.Context, tx DBTX, objects []int64) error {
	n := make(map[int64]int64)
	for _, id := range objects {
		if id > 0 {
			n[id]++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(n)) { // in one order, so that two who do this do not wait for each other
		if err := New().LeaveOutputObject(ctx, tx, LeaveOutputObjectParams{ID: id, N: n[id]}); err != nil {
			return fmt.Errorf("leave an object of outputs: %w", err)
		}
	}
	return nil
}
