package db

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// RunRow is a run as lists show it: its messages are cut to their beginnings.
type RunRow struct {
	ID                     int64
	JobGroup               int64
	JobID                  int64
	ExecutorAddress        Text
	ExecutorHandler        Text
	ExecutorParam          Text
	ExecutorShardingParam  Text
	ExecutorFailRetryCount int64
	TriggerTime            sql.NullTime
	TriggerCode            int64
	HandleTime             sql.NullTime
	HandleCode             int64
	PlannedAt              int64
	PlannedFor             int64 // 0: PlannedAt
	OwnerNode              int64
	TriggerType            jobspec.TriggerType
	OriginLogID            int64
	SentAt                 int64
	FinishedAt             int64
	Outcome                event.Outcome
	KillAskedAt            int64  // epoch ms; 0: nobody wants it ended
	Events                 string // see event.Parse; at most listedEvents bytes of them
	TriggerNote            string
	HandleNote             string
}

// listedEvents is how many bytes of a run's events lists and history bars read: all that there are but in the oddest cases.
const listedEvents = "8000"

const runRowColumns = `id, job_group, job_id, executor_address, executor_handler, executor_param, executor_sharding_param,
 executor_fail_retry_count, trigger_time, trigger_code, handle_time, handle_code,
 planned_at, planned_for, owner_node, trigger_type, origin_log_id, sent_at, finished_at,
 outcome, kill_asked_at, SUBSTRING(COALESCE(events, ''), 1, ` + listedEvents + `) AS events,
 SUBSTRING(COALESCE(trigger_msg, ''), 1, 2000) AS trigger_note, SUBSTRING(COALESCE(handle_msg, ''), 1, 300) AS handle_note`

func (r *RunRow) fields() []any {
	return []any{&r.ID, &r.JobGroup, &r.JobID, &r.ExecutorAddress, &r.ExecutorHandler, &r.ExecutorParam, &r.ExecutorShardingParam,
		&r.ExecutorFailRetryCount, &r.TriggerTime, &r.TriggerCode, &r.HandleTime, &r.HandleCode,
		&r.PlannedAt, &r.PlannedFor, &r.OwnerNode, &r.TriggerType, &r.OriginLogID, &r.SentAt, &r.FinishedAt,
		&r.Outcome, &r.KillAskedAt, &r.Events, &r.TriggerNote, &r.HandleNote}
}

// RunFilter says which runs are looked for. The zero value is all of them.
//
// sqlc cannot write these statements: the conditions that are not asked for must not stand there (a LIKE of everything costs
// as much as one of something), and each group and each code gets a branch of its own, which reads an index from its end and
// stops at the limit. Asked for several at once, the databases would rather sort all there are.
type RunFilter struct {
	IDs      []int64 // empty: any
	Job      int64
	Groups   []int64 // empty: any
	Codes    []int64 // results that were recorded; empty: any
	Failed   bool    // none that was left out on purpose, and with the code 0: those that nobody took, which will have no result
	Final    bool    // with Failed: none that was tried again
	Open     bool    // with the code 0: those that may still have one
	Waiting  bool    // none that was sent
	Sent     bool    // only those that were
	Since    time.Time
	Until    time.Time // wall clock, like Since; both zero: of any time
	FromMs   int64     // planned for this moment or later, as far as it is known; 0: any
	ToMs     int64     // and for this one or earlier
	Trigger  jobspec.TriggerType
	Fires    bool            // none that is a trial of a script
	Outcomes []event.Outcome // empty: any; rows of an XXL-JOB admin have event.Open whatever became of them
	LongerMs int64           // ended so long after their sending, or later; 0: any
	Executor string          // LIKE patterns, in which ! escapes the wildcards; empty: any
	Text     string          // in the address, the parameter and the messages
	TextID   int64           // or the id itself
	Except   int64           // not the run of this id; 0: any
}

// maxBranches bounds a statement. Who may see more groups finds some of theirs among the newest runs of all.
const maxBranches = 16

// FindRuns reads runs with ids from one on and below another, newest first, at most so many.
func FindRuns(ctx context.Context, tx DBTX, f RunFilter, from, before int64, limit int) ([]RunRow, error) {
	query, args := f.statement(runRowColumns, from, before, limit, true)
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("find runs: %w", err)
	}
	defer rows.Close()
	var list []RunRow
	for rows.Next() {
		var r RunRow
		if err := rows.Scan(r.fields()...); err != nil {
			return nil, fmt.Errorf("read run: %w", err)
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b RunRow) int { return int(b.ID - a.ID) })
	return list[:min(len(list), limit)], rows.Err()
}

// RunTimes are when a run was planned, sent and over.
type RunTimes struct {
	ID                            int64
	PlannedAt, SentAt, FinishedAt int64
	TriggerTime, HandleTime       sql.NullTime
	TriggerCode, HandleCode       int64
}

// FindRunTimes is FindRuns for times alone, in no order.
func FindRunTimes(ctx context.Context, tx DBTX, f RunFilter, from, before int64, limit int) ([]RunTimes, error) {
	query, args := f.statement("id, planned_at, sent_at, finished_at, trigger_time, handle_time, trigger_code, handle_code", from, before, limit, true)
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("find the times of runs: %w", err)
	}
	defer rows.Close()
	var list []RunTimes
	for rows.Next() {
		var r RunTimes
		if err := rows.Scan(&r.ID, &r.PlannedAt, &r.SentAt, &r.FinishedAt, &r.TriggerTime, &r.HandleTime, &r.TriggerCode, &r.HandleCode); err != nil {
			return nil, fmt.Errorf("read the times of a run: %w", err)
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// FindRunIDs is FindRuns for the ids alone, newest first (down) or oldest first.
func FindRunIDs(ctx context.Context, tx DBTX, f RunFilter, from, before int64, limit int, down bool) ([]int64, error) {
	query, args := f.statement("id", from, before, limit, down)
	ids, err := findIDs(ctx, tx, "runs", query, args)
	slices.Sort(ids)
	if down {
		slices.Reverse(ids)
	}
	return ids[:min(len(ids), limit)], err
}

func findIDs(ctx context.Context, tx DBTX, of, query string, args []any) (ids []int64, err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", of, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("read the ids of %s: %w", of, err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// branches are the groups that are read each along its own index.
func (f *RunFilter) branches() []int64 {
	if f.Job != 0 || len(f.Groups)*max(1, len(f.Codes)) > maxBranches {
		return nil
	}
	return f.Groups
}

// Branches is in how many parts the groups are read, each up to the limit.
func (f *RunFilter) Branches() int { return max(1, len(f.branches())) }

// statement joins the branches. Rows of several come in no order.
func (f *RunFilter) statement(columns string, from, before int64, limit int, down bool) (query string, args []any) {
	parts, args := f.parts(columns, from, before, limit, down)
	return unionAll(parts), args
}

// parts are the branches, each a statement, and the arguments of them all.
func (f *RunFilter) parts(columns string, from, before int64, limit int, down bool) (parts []string, args []any) {
	groups, codes := f.branches(), f.Codes
	for i := range max(1, len(groups)) {
		for j := range max(1, len(codes)) {
			var w where
			if len(f.IDs) > 0 {
				w.in("id", f.IDs)
			}
			if f.Job != 0 {
				w.and("job_id = ?", f.Job)
			}
			switch {
			case len(groups) > 0:
				w.and("job_group = ?", groups[i])
			case len(f.Groups) > 0:
				w.in("job_group", f.Groups)
			}
			if len(codes) > 0 {
				w.and("handle_code = ?", codes[j])
				switch {
				case codes[j] != 0:
				case f.Failed:
					w.and("trigger_code NOT IN (0, 200)")
				case f.Open:
					w.and("trigger_code IN (0, 200)")
				}
			}
			// Both bounds of the id stand there bare: with one of them SQLite goes by the index of times instead.
			w.and("id >= ?", from)
			w.and("id < ?", before)
			f.rest(&w)
			order := " ORDER BY id LIMIT ?"
			if down {
				order = " ORDER BY id DESC LIMIT ?"
			}
			parts = append(parts, "SELECT "+columns+" FROM xxl_job_log"+f.hint(len(groups) > 0)+w.String()+order)
			args = append(append(args, w.args...), limit)
		}
	}
	return parts, args
}

// unionAll puts statements together that each have an order and a limit of their own. They are in parentheses, not tables: MariaDB makes a table
// of each of those first, on disk where there are texts, which took two thirds of the time of a list's histories.
func unionAll(parts []string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	return "(" + strings.Join(parts, ") UNION ALL (") + ")"
}

// hint names the indexes that a branch is read along ([withoutHints] says why).
func (f *RunFilter) hint(byGroup bool) string {
	switch {
	case len(f.IDs) > 0:
		return ""
	case f.Job != 0:
		return " FORCE INDEX (i_job_outcome)"
	case byGroup && len(f.Codes) > 0:
		return " FORCE INDEX (I_jobgroup, I_handle_code)"
	case byGroup:
		return " FORCE INDEX (I_jobgroup)"
	case len(f.Codes) > 0:
		return " FORCE INDEX (I_handle_code)"
	}
	return ""
}

// rest adds the conditions that no index helps with.
func (f *RunFilter) rest(w *where) {
	if !f.Since.IsZero() {
		w.and("trigger_time >= ?", f.Since)
	}
	if !f.Until.IsZero() {
		w.and("trigger_time <= ?", f.Until)
	}
	if f.FromMs != 0 {
		w.and("(planned_at = 0 OR planned_at >= ?)", f.FromMs)
	}
	if f.ToMs != 0 {
		w.and("(planned_at = 0 OR planned_at <= ?)", f.ToMs)
	}
	if f.Except != 0 {
		w.and("id <> ?", f.Except)
	}
	if f.Trigger != "" {
		w.and("trigger_type = ?", string(f.Trigger))
	}
	if f.Fires {
		w.and("trigger_type <> ?", string(jobspec.TriggerTrial))
	}
	if f.Waiting {
		w.and("trigger_code = 0")
	}
	if f.Sent {
		w.and("trigger_code = ?", wire.CodeSuccess)
	}
	if len(f.Outcomes) > 0 {
		outcomes := make([]int64, len(f.Outcomes))
		for i, o := range f.Outcomes {
			outcomes[i] = int64(o)
		}
		w.in("outcome", outcomes)
	}
	if f.Failed {
		for _, o := range event.AllOutcomes() {
			if o.Passed() {
				w.and("outcome <> ?", int64(o))
			}
		}
	}
	if f.Final {
		again := make([]int64, 0, 6)
		for _, o := range event.AllOutcomes() {
			if o.Retried() {
				again = append(again, int64(o))
			}
		}
		w.and("NOT (executor_fail_retry_count > 0 AND outcome IN (" + numbers(again) + "))")
	}
	if f.LongerMs > 0 {
		w.and("sent_at > 0")
		w.and("finished_at - sent_at >= ?", f.LongerMs)
	}
	if f.Executor != "" {
		w.and("executor_address LIKE ? ESCAPE '!'", f.Executor)
	}
	if f.Text != "" {
		const either = `(executor_address LIKE ? ESCAPE '!' OR executor_param LIKE ? ESCAPE '!' OR trigger_msg LIKE ? ESCAPE '!' OR handle_msg LIKE ? ESCAPE '!' OR id = ?)`
		w.and(either, f.Text, f.Text, f.Text, f.Text, f.TextID)
	}
}

// maxResultCodes bounds how many results are told apart; executors know a handful.
const maxResultCodes = 10

// ListResultCodes are the results that runs have had, the smallest first: one seek in the index on handle_code for each, where
// DISTINCT would read all of it.
func ListResultCodes(ctx context.Context, tx DBTX) ([]int64, error) {
	var codes []int64
	above := int64(-1) << 31
	for len(codes) < maxResultCodes {
		code := above
		err := tx.QueryRowContext(ctx, "SELECT handle_code FROM xxl_job_log WHERE handle_code > ? ORDER BY handle_code LIMIT 1", above).Scan(&code)
		if err == sql.ErrNoRows {
			return codes, nil
		}
		if err != nil {
			return nil, fmt.Errorf("find result codes: %w", err)
		}
		codes = append(codes, code)
		above = code
	}
	return codes, nil
}

// where gathers conditions and their arguments.
type where struct {
	text strings.Builder
	args []any
}

func (w *where) and(condition string, args ...any) {
	if w.text.Len() == 0 {
		w.text.WriteString(" WHERE ")
	} else {
		w.text.WriteString(" AND ")
	}
	w.text.WriteString(condition)
	w.args = append(w.args, args...)
}

func (w *where) in(column string, values []int64) {
	if len(values) > maxPlaceholders {
		w.and(column + " IN (" + numbers(values) + ")")
		return
	}
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	w.and(column+" IN (?"+strings.Repeat(",?", len(values)-1)+")", args...)
}

// numbers are values as a list of a statement has them.
func numbers(values []int64) string {
	text := make([]byte, 0, 8*len(values))
	for _, v := range values {
		text = strconv.AppendInt(append(text, ','), v, 10)
	}
	return string(text[1:])
}

// maxPlaceholders is far below what a statement may have, 65,535; of more numbers the text itself is made.
const maxPlaceholders = 10_000

func (w *where) String() string { return w.text.String() }
