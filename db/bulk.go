package db

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

const (
	// MaxBatch is how many rows one bulk statement is about at most: beyond it the CASE lists cost more than they save.
	MaxBatch = 500
	// rowsAtOnce is how many rows one INSERT has at most. A large batch is then mostly statements of the same text, which the server has
	// prepared ([kept]): on MariaDB a row costs 13 µs so, and 22 where the server reads it.
	rowsAtOnce = 100
)

// NewRun is a run's row as it is inserted.
type NewRun struct {
	JobGroup, JobID int64
	Address         string // planned executor, or "" when it is chosen at sending
	Handler, Param  string
	Sharding        string // "index/total" of a broadcast, else ""
	Retries         int64
	TriggerTime     time.Time // wall clock, see [Pool.Wall]
	PlannedAt       int64     // epoch ms
	PlannedFor      int64     // epoch ms of the time of the schedule that it is for; 0: PlannedAt
	FlowStep        int64     // the row of punctual_flow_step that it carries out; 0: none
	Owner           int64
	Type            jobspec.TriggerType
	Origin          int64 // the run this one retries or was started by
	TriggerCode     int64 // 0, or the code of a run that is inserted decided (a skipped misfire)
	Message         string
	AlarmStatus     int64
	Outcome         event.Outcome // of a run that is inserted decided
	Events          string        // encoded, see package event
}

// newRunColumns are the columns of a run's row, with what a run that does not name them has in them.
var newRunColumns = []struct {
	name      string
	value     func(*NewRun) any
	otherwise any
}{
	{"job_group", func(r *NewRun) any { return r.JobGroup }, always},
	{"job_id", func(r *NewRun) any { return r.JobID }, always},
	{"executor_address", func(r *NewRun) any { return null(r.Address) }, nil},
	{"executor_handler", func(r *NewRun) any { return r.Handler }, always},
	{"executor_param", func(r *NewRun) any { return r.Param }, always},
	{"executor_sharding_param", func(r *NewRun) any { return null(r.Sharding) }, nil},
	{"executor_fail_retry_count", func(r *NewRun) any { return r.Retries }, int64(0)},
	{"trigger_time", func(r *NewRun) any { return r.TriggerTime }, always},
	{"trigger_code", func(r *NewRun) any { return r.TriggerCode }, always},
	{"trigger_msg", func(r *NewRun) any { return null(r.Message) }, nil},
	{"handle_code", func(r *NewRun) any { return 0 }, always},
	{"alarm_status", func(r *NewRun) any { return r.AlarmStatus }, int64(0)},
	{"planned_at", func(r *NewRun) any { return r.PlannedAt }, always},
	{"owner_node", func(r *NewRun) any { return r.Owner }, always},
	{"trigger_type", func(r *NewRun) any { return string(r.Type) }, always},
	{"origin_log_id", func(r *NewRun) any { return r.Origin }, int64(0)},
	{"events", func(r *NewRun) any { return null(r.Events) }, nil},
	{"outcome", func(r *NewRun) any { return int64(r.Outcome) }, int64(event.Open)},
	{"planned_for", func(r *NewRun) any { return r.PlannedFor }, int64(0)},
	{"flow_step", func(r *NewRun) any { return r.FlowStep }, int64(0)},
}

// always is no value of a column.
var always any = new(int)

// InsertRuns inserts runs in one statement and returns the id of the first; [Pool.Numbered] knows those of the others. It names no column in
// which all of them have what one that is not named has: a third of what a server reads of a row.
func InsertRuns(ctx context.Context, tx DBTX, runs []NewRun) (first int64, err error) {
	var names []string
	var values []func(*NewRun) any
	for _, c := range newRunColumns {
		for i := range runs {
			if c.value(&runs[i]) != c.otherwise {
				names, values = append(names, c.name), append(values, c.value)
				break
			}
		}
	}
	row := "(" + marks(len(names)) + ")"
	q := "INSERT INTO xxl_job_log (" + strings.Join(names, ", ") + ") VALUES " + row + strings.Repeat(","+row, len(runs)-1)
	args := make([]any, 0, len(names)*len(runs))
	for i := range runs {
		for _, of := range values {
			args = append(args, of(&runs[i]))
		}
	}
	res, err := tx.ExecContext(ctx, q, args...)
	if err != nil {
		return 0, fmt.Errorf("insert %d runs: %w", len(runs), err)
	}
	return res.LastInsertId()
}

// InsertAllRuns inserts runs, [rowsAtOnce] in a statement, and gives all their ids.
func InsertAllRuns(ctx context.Context, pool *Pool, tx DBTX, runs []NewRun) (ids []int64, err error) {
	for part := range slices.Chunk(runs, rowsAtOnce) {
		of, err := pool.Numbered(ctx, tx, len(part), func() (int64, error) { return InsertRuns(ctx, tx, part) })
		if err != nil {
			return nil, err
		}
		ids = append(ids, of...)
	}
	return ids, nil
}

// SkipNumbers undoes an insert of runs in its transaction and has the next one give numbers that lie [runGap] above what is known.
func SkipNumbers(ctx context.Context, tx DBTX, inserted []int64, known int64) error {
	remove := func(ids ...int64) error {
		args := make([]any, len(ids))
		for i, id := range ids {
			args[i] = id
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM xxl_job_log WHERE id IN (?"+strings.Repeat(",?", len(ids)-1)+")", args...)
		return err
	}
	last := known + runGap
	err := remove(inserted...)
	if err == nil { // both databases go on from the highest number that was ever there, also after a roll-back on a server
		_, err = tx.ExecContext(ctx, "INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code) VALUES (?, 0, 0, 0, 0)", last)
	}
	if err == nil {
		err = remove(last)
	}
	if err != nil {
		return fmt.Errorf("skip the numbers of runs up to %d: %w", last, err)
	}
	return nil
}

// Advance moves a job from one due time to the next.
type Advance struct {
	ID         int64
	OldNext    int64 // trigger_next_time as it was read: the guard
	OldClaimed int64 // claimed_until as it was read: beyond OldNext where somebody has put OldNext back
	Last       int64
	Next       int64 // 0 with Stop
	Claimed    int64 // claimed_until: all fires planned before it are decided
	Stop       bool  // the schedule has ended
	// Unreadable says that it is stopped because its text cannot be read.
	Unreadable bool
	Hold       int64 // the first fire that a pause holds back until Next; 0: none
	Pauses     int64 // with Hold, the revision of the pauses
	Beside     bool  // XXL-JOB admins work on the database, and have the jobs with status 1; all of a statement or none
	Flow       bool  // no XXL-JOB admin is to schedule it, even if somebody has started it in one
}

// AdvanceJobs moves jobs in one statement, each guarded by the times that were read and by still being started.
// The caller must compare the count with len(advances) and roll back when it differs: somebody else moved one of them.
func AdvanceJobs(ctx context.Context, tx DBTX, advances []Advance) (affected int64, err error) {
	n := len(advances)
	var q strings.Builder
	q.Grow(400 + 48*n)
	u := caseUpdate{q: &q, n: n, id: func(i int) int64 { return advances[i].ID }}
	has := func(is func(*Advance) bool) bool {
		return slices.ContainsFunc(advances, func(a Advance) bool { return is(&a) })
	}
	number := func(value func(*Advance) int64) func(int) any {
		return func(i int) any { return value(&advances[i]) }
	}
	// Nearly always the one fire at the old next time is decided. It is read before it is assigned: from then on MySQL sees
	// the new value, and SQLite the old one.
	// Without the index named, MySQL reads a small table as a whole, and waits for locked rows of jobs that are not asked for.
	q.WriteString("UPDATE xxl_job_info FORCE INDEX (PRIMARY) SET ")
	if has(func(a *Advance) bool { return a.Claimed != a.OldNext+1 }) {
		u.set("claimed_until", number(func(a *Advance) int64 { return a.Claimed }))
	} else {
		q.WriteString("claimed_until = trigger_next_time + 1")
	}
	q.WriteString(", ")
	if has(func(a *Advance) bool { return a.Last != a.OldNext }) {
		u.set("trigger_last_time", number(func(a *Advance) int64 { return a.Last }))
	} else {
		q.WriteString("trigger_last_time = trigger_next_time")
	}
	q.WriteString(", ")
	u.set("trigger_next_time", number(func(a *Advance) int64 { return a.Next }))
	if has(func(a *Advance) bool { return a.Hold > 0 }) {
		q.WriteString(", ")
		u.set("paused_at", number(func(a *Advance) int64 { return a.Hold }))
		q.WriteString(", ")
		u.set("paused_rev", number(func(a *Advance) int64 { return a.Pauses }))
		q.WriteString(", ")
		u.set("paused_next", number(func(a *Advance) int64 { return min(a.Hold, 1) * a.Next }))
	}
	if has(func(a *Advance) bool { return a.Stop || a.Flow }) {
		q.WriteString(", trigger_status = CASE ")
		u.value(number(func(a *Advance) int64 {
			switch {
			case a.Stop:
				return 0
			case a.Flow:
				return 2
			}
			return -1
		}))
		q.WriteString(" WHEN 0 THEN 0 WHEN 2 THEN 2 ELSE trigger_status END")
	}
	u.where()
	if n > 0 && advances[0].Beside {
		q.WriteString(" AND trigger_status > 1 AND ")
	} else {
		q.WriteString(" AND trigger_status > 0 AND ")
	}
	u.set("trigger_next_time", number(func(a *Advance) int64 { return a.OldNext }))
	q.WriteString(" AND ")
	if has(func(a *Advance) bool { return a.OldClaimed > a.OldNext }) {
		u.set("claimed_until", number(func(a *Advance) int64 { return a.OldClaimed }))
	} else {
		q.WriteString("claimed_until <= trigger_next_time") // or it was claimed meanwhile, and put back
	}
	res, err := tx.ExecContext(ctx, q.String(), u.args...)
	if err != nil {
		return 0, fmt.Errorf("advance %d jobs: %w", n, err)
	}
	return res.RowsAffected()
}

// Sent is the outcome of sending a run.
type Sent struct {
	ID      int64
	Address string
	Stays   bool // the row has the address already
	Code    int64
	Outcome event.Outcome // of a run that ends with this; written with openOnly alone
	Message string        // lines that are added to the column
	Events  string        // encoded, added to the column
	At      int64         // epoch ms when the request left; 0 when it never did
	Alarm   int64         // alarm_status: 1 where a retry follows, so that nobody alarms for it; else 0, which it is from the insert on
}

// RecordSent writes the outcomes of one owner's runs. A row that another node took over meanwhile is left alone, and with
// openOnly one that already has a result, so the count may be below len(sent).
func RecordSent(ctx context.Context, tx DBTX, owner int64, openOnly bool, sent []Sent) (affected int64, err error) {
	return recordSent(ctx, tx, owner, owner, openOnly, sent)
}

// RecordBegun is [RecordSent] with openOnly for runs of flows that begin, which become an owner's by it.
func RecordBegun(ctx context.Context, tx DBTX, from, to int64, begun []Sent) (affected int64, err error) {
	return recordSent(ctx, tx, from, to, true, begun)
}

func recordSent(ctx context.Context, tx DBTX, owner, to int64, openOnly bool, sent []Sent) (affected int64, err error) {
	var q strings.Builder
	q.Grow(300 + 64*len(sent))
	u := caseUpdate{q: &q, n: len(sent), id: func(i int) int64 { return sent[i].ID }}
	q.WriteString("UPDATE xxl_job_log SET ")
	if to != owner {
		q.WriteString("owner_node = ?, ")
		u.args = append(u.args, to)
	}
	u.set("trigger_code", func(i int) any { return sent[i].Code })
	if slices.ContainsFunc(sent, func(s Sent) bool { return !s.Stays }) {
		q.WriteString(", ")
		u.set("executor_address", func(i int) any { return sent[i].Address })
	}
	q.WriteString(", ")
	u.set("sent_at", func(i int) any { return sent[i].At })
	if slices.ContainsFunc(sent, func(s Sent) bool { return s.Alarm != 0 }) {
		q.WriteString(", ")
		u.set("alarm_status", func(i int) any { return sent[i].Alarm })
	}
	if openOnly && slices.ContainsFunc(sent, func(s Sent) bool { return s.Outcome != event.Open }) {
		q.WriteString(", ")
		u.set("outcome", func(i int) any { return int64(sent[i].Outcome) })
	}
	q.WriteString(", ")
	u.add("trigger_msg", maxTriggerText, func(i int) string { return sent[i].Message })
	q.WriteString(", ")
	u.add("events", event.MaxList, func(i int) string { return sent[i].Events })
	u.where()
	q.WriteString(" AND owner_node = ? AND trigger_code = 0")
	u.args = append(u.args, owner)
	if openOnly {
		q.WriteString(" AND handle_code = 0")
	}
	res, err := tx.ExecContext(ctx, q.String(), u.args...)
	if err != nil {
		return 0, fmt.Errorf("record %d sent runs: %w", len(sent), err)
	}
	return res.RowsAffected()
}

// Told is what more there is to tell of a run.
type Told struct {
	ID      int64
	Events  string // encoded, added to the column
	Message string // lines that are added to trigger_msg
}

// AddEvents adds to what is told of runs, whatever has become of them.
func AddEvents(ctx context.Context, tx DBTX, told []Told) error {
	for part := range slices.Chunk(told, MaxBatch) {
		var q strings.Builder
		u := caseUpdate{q: &q, n: len(part), id: func(i int) int64 { return part[i].ID }}
		q.WriteString("UPDATE xxl_job_log SET ")
		u.add("events", event.MaxList, func(i int) string { return part[i].Events })
		q.WriteString(", ")
		u.add("trigger_msg", maxTriggerText, func(i int) string { return part[i].Message })
		u.where()
		if _, err := tx.ExecContext(ctx, q.String(), u.args...); err != nil {
			return fmt.Errorf("tell more of %d runs: %w", len(part), err)
		}
	}
	return nil
}

// AdmitRuns makes runs that have their slots an owner's to send. One that is nobody's any more, or has ended, is left alone, so the count
// may be below len(runs).
func AdmitRuns(ctx context.Context, tx DBTX, owner int64, runs []Told) (affected int64, err error) {
	var q strings.Builder
	u := caseUpdate{q: &q, n: len(runs), id: func(i int) int64 { return runs[i].ID }}
	q.WriteString("UPDATE xxl_job_log SET owner_node = ?")
	u.args = append(u.args, owner)
	if slices.ContainsFunc(runs, func(r Told) bool { return r.Events != "" }) {
		q.WriteString(", ")
		u.add("events", event.MaxList, func(i int) string { return runs[i].Events })
	}
	u.where()
	q.WriteString(" AND owner_node = -1 AND trigger_code = 0 AND handle_code = 0")
	res, err := tx.ExecContext(ctx, q.String(), u.args...)
	if err != nil {
		return 0, fmt.Errorf("give %d runs to their owner: %w", len(runs), err)
	}
	return res.RowsAffected()
}

// Finish is the result of a run.
type Finish struct {
	ID      int64
	Sent    *Sent // the outcome of its sending, where that is not written yet; its ID and Outcome do not count
	Owner   int64 // with Sent, the owner of the row
	Unread  bool  // with Sent, the row was not read: it must be as it was inserted, and nobody have wanted the run ended
	Code    int64
	Outcome event.Outcome
	Message string // replaces the column
	Events  string // encoded, added to the column
	Alarm   int64

	HandleTime time.Time // of one that ended before all others of its batch; zero: as they
	FinishedAt int64     // the same
}

// FinishRuns writes results, each guarded by the run being open, and one with Sent as [RecordSent] guards it too. The caller must compare
// the count with len(finishes) and roll back when it differs: somebody else finished one of them.
func FinishRuns(ctx context.Context, tx DBTX, handleTime time.Time, finishedAt int64, finishes []Finish) (affected int64, err error) {
	parts := make(map[finishGuard][]Finish, 2)
	for _, f := range finishes {
		var guard finishGuard
		if f.Sent != nil {
			guard = finishGuard{f.Owner, f.Unread}
		}
		parts[guard] = append(parts[guard], f)
	}
	// In one order, or two admins with the same runs would wait for each other.
	for _, guard := range slices.SortedFunc(maps.Keys(parts), func(a, b finishGuard) int { return cmp.Compare(a.order(), b.order()) }) {
		n, err := finishRuns(ctx, tx, handleTime, finishedAt, guard, parts[guard])
		if err != nil {
			return 0, err
		}
		affected += n
	}
	return affected, nil
}

// finishGuard is what a row must be for a result to be written. The zero value: open.
type finishGuard struct {
	owner  int64 // and not recorded as sent
	unread bool
}

func (g finishGuard) order() int64 {
	if g.unread {
		return 2*g.owner + 1
	}
	return 2 * g.owner
}

func finishRuns(ctx context.Context, tx DBTX, handleTime time.Time, finishedAt int64, guard finishGuard, finishes []Finish) (affected int64, err error) {
	var q strings.Builder
	q.Grow(300 + 48*len(finishes))
	u := caseUpdate{q: &q, n: len(finishes), id: func(i int) int64 { return finishes[i].ID }}
	q.WriteString("UPDATE xxl_job_log SET ")
	if slices.ContainsFunc(finishes, func(f Finish) bool { return f.FinishedAt != 0 }) {
		u.set("handle_time", func(i int) any {
			if finishes[i].FinishedAt != 0 {
				return finishes[i].HandleTime
			}
			return handleTime
		})
		q.WriteString(", ")
		u.set("finished_at", func(i int) any { return cmp.Or(finishes[i].FinishedAt, finishedAt) })
	} else {
		q.WriteString("handle_time = ?, finished_at = ?")
		u.args = append(u.args, handleTime, finishedAt)
	}
	q.WriteString(", ")
	events := func(i int) string { return finishes[i].Events }
	if guard.owner != 0 {
		u.set("trigger_code", func(i int) any { return finishes[i].Sent.Code })
		if slices.ContainsFunc(finishes, func(f Finish) bool { return !f.Sent.Stays }) {
			q.WriteString(", ")
			u.set("executor_address", func(i int) any { return finishes[i].Sent.Address })
		}
		q.WriteString(", ")
		u.set("sent_at", func(i int) any { return finishes[i].Sent.At })
		q.WriteString(", ")
		u.add("trigger_msg", maxTriggerText, func(i int) string { return finishes[i].Sent.Message })
		q.WriteString(", ")
		events = func(i int) string { return finishes[i].Sent.Events + finishes[i].Events }
	}
	u.set("handle_code", func(i int) any { return finishes[i].Code })
	q.WriteString(", ")
	u.set("outcome", func(i int) any { return int64(finishes[i].Outcome) })
	if guard.owner != 0 || slices.ContainsFunc(finishes, func(f Finish) bool { return f.Events != "" }) {
		q.WriteString(", ")
		u.add("events", event.MaxList, events)
	}
	if slices.ContainsFunc(finishes, func(f Finish) bool { return f.Alarm != 0 }) {
		q.WriteString(", ")
		u.set("alarm_status", func(i int) any { return finishes[i].Alarm })
	}
	for i := range finishes {
		if finishes[i].Message != "" {
			q.WriteString(", ")
			u.set("handle_msg", func(i int) any { return null(finishes[i].Message) })
			break
		}
	}
	u.where()
	q.WriteString(" AND handle_code = 0")
	if guard.owner != 0 {
		q.WriteString(" AND owner_node = ? AND trigger_code = 0")
		u.args = append(u.args, guard.owner)
	}
	if guard.unread {
		q.WriteString(" AND outcome = 0 AND kill_asked_at = 0")
	}
	res, err := tx.ExecContext(ctx, q.String(), u.args...)
	if err != nil {
		return 0, fmt.Errorf("finish %d runs: %w", len(finishes), err)
	}
	return res.RowsAffected()
}

// caseUpdate writes "column = CASE WHEN id < … END" lists, in which neighbours with the same value share an entry, and plain assignments where
// all rows do: many runs are sent within one millisecond, and many jobs are due in one. A server looks through a list from its beginning for
// each row, so long ones are parted first.
type caseUpdate struct {
	q     *strings.Builder
	n     int
	id    func(int) int64
	order []int  // of the rows, by their ids, see sorted
	ids   []any  // in that order
	key   string // the column of the ids; empty: id
	args  []any
}

// caseList is how many entries one list holds where there are several.
const caseList = 16

// maxTriggerText is how many bytes trigger_msg may have for more to be added.
const maxTriggerText = 30_000

// add appends a text to a column that has not grown to limit bytes.
func (u *caseUpdate) add(column string, limit int, text func(int) string) {
	u.q.WriteString(column + " = CASE WHEN LENGTH(" + column + ") > " + strconv.Itoa(limit) + " THEN " + column +
		" ELSE CONCAT(COALESCE(" + column + ", ''), ")
	u.value(func(i int) any { return text(i) })
	u.q.WriteString(") END")
}

func (u *caseUpdate) set(column string, value func(int) any) {
	u.q.WriteString(column + " = ")
	u.value(value)
}

// value writes what each row gets.
func (u *caseUpdate) value(value func(int) any) {
	var entries []caseEntry
	for i, row := range u.sorted() {
		if v := value(row); i == 0 || v != entries[len(entries)-1].value {
			entries = append(entries, caseEntry{u.ids[i], v})
		}
	}
	if len(entries) <= 2*caseList {
		u.list(entries)
		return
	}
	u.q.WriteString("CASE")
	for len(entries) > caseList {
		u.below(entries[caseList].from)
		u.list(entries[:caseList])
		entries = entries[caseList:]
	}
	u.q.WriteString(" ELSE ")
	u.list(entries)
	u.q.WriteString(" END")
}

// caseEntry is a value that rows have from an id on, until the next entry.
type caseEntry struct{ from, value any }

// list writes the values of neighbouring rows.
func (u *caseUpdate) list(entries []caseEntry) {
	last := len(entries) - 1
	if last > 0 {
		u.q.WriteString("CASE")
		for i, e := range entries[:last] {
			u.below(entries[i+1].from)
			u.q.WriteByte('?')
			u.args = append(u.args, e.value)
		}
		u.q.WriteString(" ELSE ")
	}
	u.q.WriteByte('?')
	u.args = append(u.args, entries[last].value)
	if last > 0 {
		u.q.WriteString(" END")
	}
}

// below begins what rows before an id get.
func (u *caseUpdate) below(id any) {
	u.q.WriteString(" WHEN " + cmp.Or(u.key, "id") + " < ? THEN ")
	u.args = append(u.args, id)
}

// sorted are the rows in the order of their ids, which are boxed as arguments once for all columns.
func (u *caseUpdate) sorted() []int {
	if u.order == nil {
		u.order, u.ids = make([]int, u.n), make([]any, u.n)
		for i := range u.order {
			u.order[i] = i
		}
		slices.SortFunc(u.order, func(a, b int) int { return cmp.Compare(u.id(a), u.id(b)) })
		for i, row := range u.order {
			u.ids[i] = u.id(row)
		}
	}
	return u.order
}

func (u *caseUpdate) where() {
	u.sorted()
	u.q.WriteString(" WHERE " + cmp.Or(u.key, "id") + " IN (" + marks(u.n) + ")")
	u.args = append(u.args, u.ids...)
}

// bulkInsert inserts rows, some in one statement.
type bulkInsert[T any] struct {
	what   string // it does, of %d rows, as an error says it
	into   string // the statement up to its VALUES
	row    func(*T) []any
	there  string // what follows the VALUES: what becomes of rows that are there already
	atOnce int    // rows of a statement; 0: rowsAtOnce. More where each is a commit of its own
}

func (b bulkInsert[T]) exec(ctx context.Context, tx DBTX, rows []T) error {
	for part := range slices.Chunk(rows, cmp.Or(b.atOnce, rowsAtOnce)) {
		q, args := b.statement(part)
		if _, err := tx.ExecContext(ctx, q, args...); err != nil {
			return fmt.Errorf(b.what+": %w", len(part), err)
		}
	}
	return nil
}

func (b bulkInsert[T]) statement(rows []T) (q string, args []any) {
	for i := range rows {
		row := b.row(&rows[i])
		if args == nil {
			args = make([]any, 0, len(rows)*len(row))
		}
		args = append(args, row...)
	}
	one := "(" + marks(len(args)/len(rows)) + ")"
	return b.into + " VALUES " + one + strings.Repeat(","+one, len(rows)-1) + b.there, args
}

func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

// null passes "" as NULL, for nullable columns where upstream tells the two apart.
func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// InsertGates gives jobs their rows of punctual_gate, as far as they have none.
func InsertGates(ctx context.Context, tx DBTX, jobs []int64) error {
	return insertGates(ctx, tx, "punctual_gate (job_id, turn)", jobs)
}

// InsertGroupGates gives groups their rows of punctual_group_gate, as far as they have none.
func InsertGroupGates(ctx context.Context, tx DBTX, groups []int64) error {
	return insertGates(ctx, tx, "punctual_group_gate (group_id, turn)", groups)
}

func insertGates(ctx context.Context, tx DBTX, into string, ids []int64) error {
	return bulkInsert[int64]{
		what: "make %d gates",
		into: "INSERT IGNORE INTO " + into,
		row:  func(id *int64) []any { return []any{*id, 1} },
	}.exec(ctx, tx, ids)
}

// InsertSlots notes runs that wait for a slot of their job's limit.
func InsertSlots(ctx context.Context, tx DBTX, slots []Slot) error {
	return bulkInsert[Slot]{
		what: "insert %d slots",
		into: "INSERT INTO punctual_slot (job_id, log_id, running, planned_at, group_id, line)",
		row:  func(s *Slot) []any { return []any{s.JobID, s.LogID, 0, s.PlannedAt, s.GroupID, s.Line} },
	}.exec(ctx, tx, slots)
}

// SlotCount is how many runs of a job have a slot, and how many wait for one.
type SlotCount struct{ JobID, Running, Waiting int64 }

// slotCounts is how many jobs are counted in one statement: SQLite joins no more than 500 selects.
const slotCounts = 100

// CountSlots counts the slots of jobs, and their runs that wait for one up to so many: all slots are few, and all that waits may be the steps of many
// flows. A job that has neither is left out.
func CountSlots(ctx context.Context, tx DBTX, jobs []int64, most int64) ([]SlotCount, error) {
	var counts []SlotCount
	for part := range slices.Chunk(jobs, slotCounts) {
		const one = "SELECT ?, (SELECT COUNT(*) FROM punctual_slot WHERE job_id = ? AND running = 1)," +
			" (SELECT COUNT(*) FROM (SELECT 1 FROM punctual_slot WHERE job_id = ? AND running = 0 LIMIT ?) AS w)"
		query := "-- name: CountSlots :many\n" + strings.Repeat(one+" UNION ALL ", len(part)-1) + one
		args := make([]any, 0, 4*len(part))
		for _, id := range part {
			args = append(args, id, id, id, most)
		}
		if err := readSlots(ctx, tx, &counts, query, args); err != nil {
			return nil, fmt.Errorf("count the slots of %d jobs: %w", len(jobs), err)
		}
	}
	return counts, nil
}

func readSlots(ctx context.Context, tx DBTX, counts *[]SlotCount, query string, args []any) error {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var c SlotCount
		if err := rows.Scan(&c.JobID, &c.Running, &c.Waiting); err != nil {
			return err
		}
		if c.Running > 0 || c.Waiting > 0 {
			*counts = append(*counts, c)
		}
	}
	return rows.Err()
}

// InsertBackfillRuns inserts the planned times of a backfill.
func InsertBackfillRuns(ctx context.Context, tx DBTX, runs []BackfillRun) error {
	return bulkInsert[BackfillRun]{
		what: "insert %d planned times of a backfill",
		into: "INSERT INTO punctual_backfill_run (backfill_id, no, planned_for, like_log_id)",
		row:  func(r *BackfillRun) []any { return []any{r.BackfillID, r.No, r.PlannedFor, r.LikeLogID} },
	}.exec(ctx, tx, runs)
}

// SaveFileJobs notes where jobs are kept, as SaveFileJob does of one.
func SaveFileJobs(ctx context.Context, tx DBTX, jobs []SaveFileJobParams) error {
	return bulkInsert[SaveFileJobParams]{
		what:   "note where %d jobs are kept",
		into:   "INSERT INTO punctual_file_job (job_id, source, revision, version, applied_at)",
		row:    func(j *SaveFileJobParams) []any { return []any{j.JobID, j.Source, j.Revision, j.Version, j.AppliedAt} },
		there:  " ON DUPLICATE KEY UPDATE source = VALUES(source), revision = VALUES(revision), version = VALUES(version), applied_at = VALUES(applied_at)",
		atOnce: MaxBatch,
	}.exec(ctx, tx, jobs)
}
