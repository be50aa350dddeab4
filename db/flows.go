package db

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// InsertFlowTexts puts definitions on record, as far as their jobs have them not yet. Their ids are not given: some may be another admin's.
func InsertFlowTexts(ctx context.Context, tx DBTX, texts []FlowText) error {
	return bulkInsert[FlowText]{
		what:   "put %d definitions of flows on record",
		into:   "INSERT IGNORE INTO punctual_flow_text (job_id, digest, made_at, source)",
		row:    func(t *FlowText) []any { return []any{t.JobID, t.Digest, t.MadeAt, t.Source} },
		atOnce: 20, // some are long
	}.exec(ctx, tx, texts)
}

// InsertFlowRuns inserts the rows beside runs of flows that begin. Those that are there already, with steps that were given, stay.
func InsertFlowRuns(ctx context.Context, tx DBTX, runs []FlowRun) error {
	return bulkInsert[FlowRun]{
		what: "insert %d runs of flows",
		into: "INSERT INTO punctual_flow_run (log_id, job_id, job_group, text_id, state, ends, failed_step, wake_at, deadline, from_log_id, zone, began_at)",
		row: func(r *FlowRun) []any {
			return []any{r.LogID, r.JobID, r.JobGroup, r.TextID, r.State, r.Ends, r.FailedStep, r.WakeAt, r.Deadline, r.FromLogID, r.Zone, r.BeganAt}
		},
	}.exec(ctx, tx, runs)
}

// InsertFlowSteps inserts steps, or items of them, and gives the rows their ids.
func InsertFlowSteps(ctx context.Context, pool *Pool, tx DBTX, steps []*FlowStep) error {
	insert := bulkInsert[*FlowStep]{
		into: `INSERT INTO punctual_flow_step (flow_log_id, step, item, state, job_id, run_id, going, succeeded, failed,
 cancelled, total, attempt, ending, by_hand, code, due_at, began_at, ended_at, decided_by, remark, next_item, message, param, items, output)`,
		row: func(p **FlowStep) []any {
			s := *p
			return []any{s.FlowLogID, s.Step, s.Item, s.State, s.JobID, s.RunID, s.Going, s.Succeeded, s.Failed, s.Cancelled, s.Total,
				s.Attempt, s.Ending, s.ByHand, s.Code, s.DueAt,
				s.BeganAt, s.EndedAt, s.DecidedBy, s.Remark, s.NextItem, null(string(s.Message)), null(string(s.Param)), null(string(s.Items)), null(string(s.Output))}
		},
	}
	for part := range slices.Chunk(steps, rowsAtOnce) {
		q, args := insert.statement(part)
		ids, err := pool.Numbered(ctx, tx, len(part), func() (int64, error) {
			res, err := tx.ExecContext(ctx, q, args...)
			if err != nil {
				return 0, err
			}
			return res.LastInsertId()
		})
		if err != nil {
			return fmt.Errorf("insert %d steps of flows: %w", len(part), err)
		}
		for i, s := range part {
			s.ID = ids[i]
		}
	}
	return nil
}

// MoveFlowRuns writes decisions about runs of flows, each guarded by the revision that was read. The caller must compare the count with
// len(runs) and roll back when it differs: somebody else has decided about one of them.
func MoveFlowRuns(ctx context.Context, tx DBTX, runs []*FlowRun) (affected int64, err error) {
	for part := range slices.Chunk(runs, MaxBatch) {
		var q strings.Builder
		u := caseUpdate{q: &q, n: len(part), id: func(i int) int64 { return part[i].LogID }, key: "log_id"}
		q.WriteString("UPDATE punctual_flow_run SET ")
		u.set("state", func(i int) any { return part[i].State })
		q.WriteString(", ")
		u.set("ends", func(i int) any { return part[i].Ends })
		q.WriteString(", ")
		u.set("asked", func(i int) any { return part[i].Asked })
		q.WriteString(", ")
		u.set("failed_step", func(i int) any { return part[i].FailedStep })
		q.WriteString(", ")
		u.set("wake_at", func(i int) any { return part[i].WakeAt })
		q.WriteString(", ")
		u.set("stopped_by", func(i int) any { return part[i].StoppedBy })
		q.WriteString(", revision = revision + 1")
		u.where()
		q.WriteString(" AND state IN (0, 3) AND ")
		u.set("revision", func(i int) any { return part[i].Revision })
		res, err := tx.ExecContext(ctx, q.String(), u.args...)
		if err != nil {
			return 0, fmt.Errorf("decide about %d runs of flows: %w", len(part), err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return 0, err
		}
		affected += n
	}
	return affected, nil
}

// StepMove is what became of a step. Was is its row as it is stored; nil: nobody knows.
type StepMove struct{ Now, Was *FlowStep }

// stepNumbers are the columns of a step that are no long texts.
var stepNumbers = []struct {
	name  string
	value func(*FlowStep) any
}{
	{"state", func(s *FlowStep) any { return s.State }},
	{"job_id", func(s *FlowStep) any { return s.JobID }},
	{"run_id", func(s *FlowStep) any { return s.RunID }},
	{"going", func(s *FlowStep) any { return s.Going }},
	{"succeeded", func(s *FlowStep) any { return s.Succeeded }},
	{"failed", func(s *FlowStep) any { return s.Failed }},
	{"cancelled", func(s *FlowStep) any { return s.Cancelled }},
	{"total", func(s *FlowStep) any { return s.Total }},
	{"attempt", func(s *FlowStep) any { return s.Attempt }},
	{"ending", func(s *FlowStep) any { return s.Ending }},
	{"by_hand", func(s *FlowStep) any { return s.ByHand }},
	{"code", func(s *FlowStep) any { return s.Code }},
	{"due_at", func(s *FlowStep) any { return s.DueAt }},
	{"began_at", func(s *FlowStep) any { return s.BeganAt }},
	{"ended_at", func(s *FlowStep) any { return s.EndedAt }},
	{"decided_by", func(s *FlowStep) any { return s.DecidedBy }},
	{"remark", func(s *FlowStep) any { return s.Remark }},
	{"next_item", func(s *FlowStep) any { return s.NextItem }},
}

// stepTexts are the others. They are not read by those that decide, so that of most steps nothing new is known of them: "" is as they are.
var stepTexts = []struct {
	name  string
	value func(*FlowStep) string
}{
	{"message", func(s *FlowStep) string { return string(s.Message) }},
	{"param", func(s *FlowStep) string { return string(s.Param) }},
	{"items", func(s *FlowStep) string { return string(s.Items) }},
	{"output", func(s *FlowStep) string { return string(s.Output) }},
}

// MoveFlowSteps writes what became of steps, which belong to runs whose revision the transaction has raised: the columns that are not as they were.
func MoveFlowSteps(ctx context.Context, tx DBTX, steps []StepMove) error {
	for part := range slices.Chunk(steps, MaxBatch) {
		var q strings.Builder
		u := caseUpdate{q: &q, n: len(part), id: func(i int) int64 { return part[i].Now.ID }}
		next := "UPDATE punctual_flow_step SET "
		for _, c := range stepNumbers {
			if slices.ContainsFunc(part, func(s StepMove) bool { return s.Was == nil || c.value(s.Now) != c.value(s.Was) }) {
				q.WriteString(next)
				u.set(c.name, func(i int) any { return c.value(part[i].Now) })
				next = ", "
			}
		}
		for _, c := range stepTexts {
			if !slices.ContainsFunc(part, func(s StepMove) bool { return c.value(s.Now) != "" }) {
				continue
			}
			q.WriteString(next + c.name + " = CASE id")
			for _, s := range part {
				if v := c.value(s.Now); v != "" {
					q.WriteString(" WHEN ? THEN ?")
					u.args = append(u.args, s.Now.ID, v)
				}
			}
			q.WriteString(" ELSE " + c.name + " END")
			next = ", "
		}
		if q.Len() == 0 {
			continue
		}
		u.where()
		if _, err := tx.ExecContext(ctx, q.String(), u.args...); err != nil {
			return fmt.Errorf("change %d steps of flows: %w", len(part), err)
		}
	}
	return nil
}

// InsertKills notes that runs are to end. The first who asked is the one who is named. Nobody waits for these wishes, so they are old from
// the beginning.
func InsertKills(ctx context.Context, tx DBTX, by string, at int64, runs []int64) error {
	return bulkInsert[int64]{
		what: "ask for the end of %d runs",
		into: "INSERT IGNORE INTO punctual_kill (log_id, asked_by, asked_at)",
		row:  func(id *int64) []any { return []any{*id, by, at} },
	}.exec(ctx, tx, runs)
}
