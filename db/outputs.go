package db

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// The states of a copy of a run's output, as its row has them.
const (
	OutputDue  int64 = iota // the run has ended, and its output could not be copied yet
	OutputLive              // the run goes on, and this is what it has written so far
	OutputWhole
	OutputPart // the end is missing
	OutputLost // nothing could be kept
)

// LateOutput is a run whose output could not be copied at once.
type LateOutput struct {
	LogID, JobGroup, JobID int64
	Node                   int64 // the admin that copies it
	EndedAt, NextAt        int64 // epoch ms; NextAt: when it is tried again
}

// laterEnd is the end of a row's run, should that have ended again: one that was lost may report after all. It comes last among what is
// assigned: MySQL goes by what was assigned before, from left to right.
const laterEnd = "ended_at = CASE WHEN pushed = 0 AND ended_at < VALUES(ended_at) THEN VALUES(ended_at) ELSE ended_at END"

// PutOffOutputs notes runs whose output is to be copied later. What was kept before the end stays until then, what an executor pushed stays
// for good, and one that another admin is to copy stays that one's.
func PutOffOutputs(ctx context.Context, tx DBTX, late []LateOutput) error {
	const (
		ended = "(pushed = 0 AND (state = 1 OR state > 1 AND ended_at < VALUES(ended_at)))"
		again = "(state = 0 AND node = VALUES(node))"
	)
	return bulkInsert[LateOutput]{
		what: "put off %d outputs",
		into: "INSERT INTO punctual_output (log_id, job_group, job_id, node, ended_at, next_at, tries)",
		row:  func(o *LateOutput) []any { return []any{o.LogID, o.JobGroup, o.JobID, o.Node, o.EndedAt, o.NextAt, 1} },
		there: " ON DUPLICATE KEY UPDATE tries = CASE WHEN " + ended + " THEN 1 WHEN " + again + " THEN tries + 1 ELSE tries END," +
			" next_at = CASE WHEN " + ended + " OR " + again + " THEN VALUES(next_at) ELSE next_at END," +
			" reason = CASE WHEN " + ended + " THEN '' ELSE reason END," +
			" node = CASE WHEN " + ended + " THEN VALUES(node) ELSE node END," +
			" state = CASE WHEN " + ended + " THEN 0 WHEN state = 1 THEN 2 ELSE state END, " + laterEnd,
		atOnce: MaxBatch,
	}.exec(ctx, tx, late)
}

// LostOutput is a run whose output, or the end of it, will not be copied.
type LostOutput struct {
	LogID, JobGroup, JobID int64
	Node                   int64 // the admin that says so
	EndedAt, KeptAt        int64 // epoch ms
	Reason                 string
}

// LoseOutputs notes runs whose output will not be copied. What was kept while a run went on stays as what it is: a part. One that another
// admin is to copy stays that one's.
func LoseOutputs(ctx context.Context, tx DBTX, lost []LostOutput) error {
	const lose = "(pushed = 0 AND (state = 1 OR state = 0 AND node = VALUES(node) OR state > 1 AND ended_at < VALUES(ended_at)))"
	return bulkInsert[LostOutput]{
		what: "give up %d outputs",
		into: "INSERT INTO punctual_output (log_id, job_group, job_id, node, ended_at, kept_at, reason, state)",
		row: func(o *LostOutput) []any {
			return []any{o.LogID, o.JobGroup, o.JobID, o.Node, o.EndedAt, o.KeptAt, o.Reason, OutputLost}
		},
		there: " ON DUPLICATE KEY UPDATE kept_at = CASE WHEN " + lose + " THEN VALUES(kept_at) ELSE kept_at END," +
			" reason = CASE WHEN " + lose + " THEN VALUES(reason) ELSE reason END," +
			" state = CASE WHEN NOT " + lose + " THEN state WHEN object_id > 0 THEN 3 ELSE 4 END, " + laterEnd,
		atOnce: MaxBatch,
	}.exec(ctx, tx, lost)
}

// InsertOutputs writes what copies are and where, of runs that have no row. [ErrDuplicate] says that one has one by now, and nothing of
// its part was written.
func InsertOutputs(ctx context.Context, tx DBTX, outputs []Output) error {
	return writeOutputs(ctx, tx, outputs, "")
}

// KeepOutputs writes what copies are and where. The caller has read and locked the rows of these runs.
func KeepOutputs(ctx context.Context, tx DBTX, outputs []Output) error {
	return writeOutputs(ctx, tx, outputs, " ON DUPLICATE KEY UPDATE state = VALUES(state), reason = VALUES(reason), ended_at = VALUES(ended_at), kept_at = VALUES(kept_at), object_id = VALUES(object_id),"+
		" pos = VALUES(pos), size = VALUES(size), text_at = VALUES(text_at), text_size = VALUES(text_size), head_size = VALUES(head_size),"+
		" head_lines = VALUES(head_lines), left_lines = VALUES(left_lines), tail_lines = VALUES(tail_lines), faults = VALUES(faults), pushed = VALUES(pushed)")
}

func writeOutputs(ctx context.Context, tx DBTX, outputs []Output, there string) error {
	for part := range slices.Chunk(outputs, MaxBatch) {
		q := make([]byte, 0, 300+150*len(part))
		q = append(q, "INSERT INTO punctual_output (log_id, job_group, job_id, state, node, ended_at, kept_at, object_id, pos, size,"+
			" text_at, text_size, head_size, head_lines, left_lines, tail_lines, faults, pushed, reason) VALUES "...)
		var args []any
		for i := range part {
			o := &part[i]
			// Numbers stand in the statement: to hand over some nine thousand by themselves costs this program four times as much.
			for j, n := range [...]int64{o.LogID, o.JobGroup, o.JobID, o.State, o.Node, o.EndedAt, o.KeptAt, o.ObjectID, o.Pos, o.Size,
				o.TextAt, o.TextSize, o.HeadSize, o.HeadLines, o.LeftLines, o.TailLines, o.Faults, o.Pushed} {
				q = strconv.AppendInt(append(q, "(,"[min(j, 1)]), n, 10)
			}
			if o.Reason == "" {
				q = append(q, ",''),"...)
				continue
			}
			q = append(q, ",?),"...)
			args = append(args, o.Reason)
		}
		if _, err := tx.ExecContext(ctx, string(q[:len(q)-1])+there, args...); err != nil {
			return fmt.Errorf("note %d kept outputs: %w", len(part), Error(err))
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
		if err := LeaveOutputObjects(ctx, tx, IDs(rows, func(r *LockOutputsRow) int64 { return r.ObjectID })); err != nil {
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
