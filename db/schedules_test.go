package db_test

import (
	"database/sql"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// scheduleWriters are the statements that change when jobs are due, with the files that may call them. Whoever adds one writes
// the history in the same transaction, and adds it here.
var scheduleWriters = map[string][]string{
	"InsertJob":   {"db/schedules.go"},
	"UpdateJob":   {"db/schedules.go"},
	"StartJob":    {"db/schedules.go"},
	"StopJob":     {"db/schedules.go"},
	"DeleteJob":   {"db/schedules.go"},
	"ReplanJob":   {"db/schedules.go"},
	"AdvanceJobs": {"scheduler/claiming.go"}, // with Schedules.Stopped in the same transaction
	"TakeJobs":    {"db/beside.go"}, "GiveJobsBack": {"db/beside.go"},
	"StopMovedJobs": {"db/adopted.go"},       // at an adoption, before any history: the start notices what there is
	"MendStatuses":  {"db/schedules.go"},     // in the transaction in which what was noticed is written
	"TakeAllJobs":   {"db/beside.go"},        // what is ours stays so, and the next start notices the others
	"ResumeJobs":    {"scheduler/pauses.go"}, // gives back what a pause held, which the history goes by
	"RearmJob":      {"scheduler/rearm.go"},  // FIX_DELAY: its times follow from its runs, which are on record
}

// TestNoScheduleChangesWithoutItsHistory reads the program's sources: every statement that writes a column that says when a job
// is due is known, and is called from nowhere but where the history is written too.
func TestNoScheduleChangesWithoutItsHistory(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`(?m)^-- name: (\w+)`)
	queries, err := filepath.Glob("../queries/*.sql")
	if err != nil || len(queries) == 0 {
		t.Fatalf("no queries: %v", err)
	}
	var found []string
	for _, file := range queries {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		at := name.FindAllStringSubmatchIndex(text, -1)
		for i, m := range at {
			end := len(text)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			if changesSchedules(text[m[0]:end]) {
				found = append(found, text[m[2]:m[3]])
			}
		}
	}
	for _, want := range found {
		if scheduleWriters[want] == nil {
			t.Errorf("%s changes when jobs are due and is not known to", want)
		}
	}
	if len(found) != len(scheduleWriters)-1 { // AdvanceJobs is not in queries
		t.Errorf("found only %v", found)
	}
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path = filepath.ToSlash(strings.TrimPrefix(filepath.ToSlash(path), "../"))
		if d.IsDir() && (d.Name() == "node_modules" || path == "app/cmd/punctual/bench") { // the benchmarks fill databases that nobody audits
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".sql.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), "../"+path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if where := scheduleWriters[n.Sel.Name]; where != nil && !slices.Contains(where, path) {
					t.Errorf("%s calls %s, which only %v may", path, n.Sel.Name, where)
				}
			case *ast.BasicLit:
				// Adoption comes before any history, and what an old admin has put into job_cron is noticed as any change of others.
				if changesSchedules(n.Value) && !slices.Contains([]string{"db/bulk.go", "db/adopt.go", "db/jobcron.go"}, path) {
					t.Errorf("%s has a statement that changes when jobs are due: %.80s", path, n.Value)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	writesJobs     = regexp.MustCompile(`(?is)(?:INSERT\s+INTO|DELETE\s+FROM)\s+xxl_job_info|UPDATE\s+xxl_job_info\s+SET(.*?)(?:WHERE|$)`)
	scheduleColumn = regexp.MustCompile(`(?i)\b(?:trigger_status|trigger_next_time|schedule_type|schedule_conf|misfire_strategy|time_zone|start_at|end_at|job_group)\s*=`)
)

func changesSchedules(statement string) bool {
	for _, m := range writesJobs.FindAllStringSubmatch(statement, -1) {
		if m[1] == "" || scheduleColumn.MatchString(m[1]) {
			return true
		}
	}
	return false
}

// historyBundle is a database with a job.
type historyBundle struct {
	t         *testing.T
	pool      *db.Pool
	schedules *db.Schedules
	now       time.Time
	job       int64
}

func setupHistory(t *testing.T, pool *db.Pool) *historyBundle {
	b := &historyBundle{t: t, pool: pool, now: time.UnixMilli(1_000_000)}
	b.schedules = db.NewSchedules(pool, pool.Zone(), func() time.Time { return b.now })
	b.tx(func(tx *sql.Tx) (err error) {
		b.job, err = b.schedules.Create(t.Context(), tx, db.InsertJobParams{
			JobGroup: 1, JobDesc: "job", ScheduleType: jobspec.ScheduleFixRate, ScheduleConf: "60", MisfireStrategy: jobspec.MisfireDoNothing, GlueType: "BEAN",
		})
		return err
	})
	return b
}

func (b *historyBundle) tx(do func(tx *sql.Tx) error) {
	b.t.Helper()
	if err := b.pool.Tx(b.t.Context(), do); err != nil {
		b.t.Fatal(err)
	}
	b.now = b.now.Add(time.Second)
}

func (b *historyBundle) exec(query string) {
	b.t.Helper()
	if _, err := b.pool.ExecContext(b.t.Context(), query); err != nil {
		b.t.Fatal(err)
	}
}

func (b *historyBundle) notice(since int64) int {
	b.t.Helper()
	n, err := b.schedules.Notice(b.t.Context(), b.pool, since, func(time.Duration) error { return nil })
	if err != nil {
		b.t.Fatal(err)
	}
	b.now = b.now.Add(time.Second)
	return n
}

func (b *historyBundle) history() []db.JobSchedule {
	b.t.Helper()
	rows, err := db.New().ListSchedules(b.t.Context(), b.pool, db.ListSchedulesParams{JobIds: []int64{b.job}, FromMs: -1})
	if err != nil {
		b.t.Fatal(err)
	}
	return rows
}

var shapeOnly = cmpopts.IgnoreFields(db.JobSchedule{}, "ID", "JobID", "JobGroup", "JobDesc", "ScheduleType", "ScheduleConf", "MisfireStrategy", "TimeZone", "StartAt", "EndAt")

func TestEveryChangeOfAScheduleIsInItsHistory(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setupHistory(t, pool)
		ctx, updated := t.Context(), sql.NullTime{Time: time.Unix(0, 0).UTC(), Valid: true}
		b.tx(func(tx *sql.Tx) error {
			ok, err := b.schedules.Start(ctx, tx, db.StartJobParams{ID: b.job, NextTime: 2_000_000, UpdateTime: updated})
			if !ok {
				t.Error("the job was not started")
			}
			return err
		})
		b.tx(func(tx *sql.Tx) error {
			return b.schedules.Edit(ctx, tx, db.UpdateJobParams{ID: b.job, JobGroup: 1, JobDesc: "job", ScheduleType: "CRON", ScheduleConf: "0 0 2 * * ?",
				TimeZone: "Asia/Tokyo", MisfireStrategy: "DO_NOTHING", OldNextTime: 2_000_000, OldStatus: 1, NewNextTime: 3_000_000, UpdateTime: updated})
		})
		err := pool.Tx(ctx, func(tx *sql.Tx) error {
			return b.schedules.Edit(ctx, tx, db.UpdateJobParams{ID: b.job, OldNextTime: 2_000_000, OldStatus: 1})
		})
		if !errors.Is(err, db.ErrMoved) {
			t.Errorf("an edit of what a claim has moved: %v", err)
		}
		b.tx(func(tx *sql.Tx) error { // the fire at 3,000,000 is claimed
			if n, err := db.AdvanceJobs(ctx, tx, []db.Advance{{ID: b.job, OldNext: 3_000_000, Last: 3_000_000, Next: 4_000_000}}); err != nil || n != 1 {
				t.Errorf("advanced %d jobs: %v", n, err)
			}
			return b.schedules.Stopped(ctx, tx, []db.Advance{{ID: b.job, OldNext: 3_000_000, Last: 3_000_000, Next: 4_000_000}})
		})
		b.tx(func(tx *sql.Tx) error { _, err := b.schedules.Stop(ctx, tx, b.job, updated); return err })
		b.tx(func(tx *sql.Tx) error { // is stopped already
			ok, err := b.schedules.Stop(ctx, tx, b.job, updated)
			if ok {
				t.Error("the job was stopped twice")
			}
			return err
		})
		b.tx(func(tx *sql.Tx) error {
			_, err := b.schedules.Start(ctx, tx, db.StartJobParams{ID: b.job, NextTime: 5_000_000})
			return err
		})
		b.tx(func(tx *sql.Tx) error { // the last fire of its window
			advances := []db.Advance{{ID: b.job, OldNext: 5_000_000, Last: 5_000_000, Stop: true}}
			if _, err := db.AdvanceJobs(ctx, tx, advances); err != nil {
				return err
			}
			return b.schedules.Stopped(ctx, tx, advances)
		})
		b.tx(func(tx *sql.Tx) error { return b.schedules.Delete(ctx, tx, b.job, 1) })
		want := []db.JobSchedule{
			{Cause: "created", SinceAt: 1_000_000, MadeAt: 1_000_000, UntilAt: 1_001_000},
			{Cause: "started", SinceAt: 1_001_000, MadeAt: 1_001_000, UntilAt: 1_002_000, ClaimedTo: 2_000_000, Started: 1, NextAt: 2_000_000},
			{Cause: "edited", SinceAt: 1_002_000, MadeAt: 1_002_000, UntilAt: 1_004_000, ClaimedTo: 4_000_000, Started: 1, NextAt: 3_000_000},
			{Cause: "stopped", SinceAt: 1_004_000, MadeAt: 1_004_000, UntilAt: 1_006_000},
			{Cause: "started", SinceAt: 1_006_000, MadeAt: 1_006_000, UntilAt: 1_007_000, ClaimedTo: 5_000_001, Started: 1, NextAt: 5_000_000},
			{Cause: "ended", SinceAt: 1_007_000, MadeAt: 1_007_000, UntilAt: 1_008_000},
			{Cause: "deleted", SinceAt: 1_008_000, MadeAt: 1_008_000, UntilAt: 1_008_000},
		}
		got := b.history()
		if diff := cmp.Diff(want, got, shapeOnly); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		if h := got[2]; h.ScheduleType != "CRON" || h.ScheduleConf != "0 0 2 * * ?" || h.TimeZone != "Asia/Tokyo" || got[1].TimeZone != dbtest.Zone.String() {
			t.Errorf("the definitions are %+v and %+v", got[1], h)
		}
		if n := b.notice(0); n != 0 {
			t.Errorf("%d changes are noticed where there were none", n)
		}
	})
}

func TestWhatSomebodyElseChangesIsNoticed(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setupHistory(t, pool)
		newest := func() db.JobSchedule {
			rows := b.history()
			return rows[len(rows)-1]
		}
		b.exec("DELETE FROM punctual_schedule") // as in an adopted database
		if n := b.notice(0); n != 1 || newest().Cause != db.ScheduleNoticed || newest().SinceAt != 0 {
			t.Errorf("adoption: %d, %+v", n, newest())
		}
		steps := []struct{ name, change string }{
			{"start it", "UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = 5000"},
			{"start it anew, off the beat", "UPDATE xxl_job_info SET trigger_next_time = 65100"},
			{"another type", "UPDATE xxl_job_info SET schedule_type = 'CRON', schedule_conf = '0 0 2 ? * mon'"},
			{"the case of a letter", "UPDATE xxl_job_info SET schedule_conf = '0 0 2 ? * MON'"},
			{"another zone", "UPDATE xxl_job_info SET time_zone = 'UTC'"},
			{"another end", "UPDATE xxl_job_info SET end_at = 9"},
			{"a status that there is not", "UPDATE xxl_job_info SET trigger_status = 7"},
			{"start it again", "UPDATE xxl_job_info SET trigger_status = 1"},
			{"stop it", "UPDATE xxl_job_info SET trigger_status = 0, trigger_next_time = 0"},
			{"delete it", "DELETE FROM xxl_job_info"},
		}
		for _, s := range steps {
			b.exec(s.change)
			if n := b.notice(77); n != 1 {
				t.Errorf("%s: %d changes are noticed, want 1", s.name, n)
			}
			if h := newest(); h.SinceAt != 77 || h.MadeAt != b.now.UnixMilli()-1000 {
				t.Errorf("%s: %+v", s.name, h)
			}
			if n := b.notice(78); n != 0 {
				t.Errorf("%s: noticed again", s.name)
			}
		}
		if h := newest(); h.Cause != db.ScheduleGone || h.UntilAt == 0 {
			t.Errorf("the last row is %+v", h)
		}
	})
}

// TestAStatusThatThereIsNotBecomesThatOfAStoppedJob, as which XXL-JOB takes it: no list would agree with another on it.
func TestAStatusThatThereIsNotBecomesThatOfAStoppedJob(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setupHistory(t, pool)
		b.exec("DELETE FROM punctual_schedule")
		b.notice(0)
		for status, want := range map[int]int{7: 0, -1: 0, 127: 0, 0: 0, 1: 1, 2: 2} {
			b.exec("UPDATE xxl_job_info SET trigger_status = " + strconv.Itoa(status))
			b.notice(77)
			var got int
			if err := pool.QueryRowContext(t.Context(), "SELECT trigger_status FROM xxl_job_info").Scan(&got); err != nil || got != want {
				t.Errorf("%d has become %d, want %d (%v)", status, got, want, err)
			}
		}
	})
}

func TestTheNextTimeOfARunningJobIsNoChange(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setupHistory(t, pool)
		b.tx(func(tx *sql.Tx) error {
			_, err := b.schedules.Start(t.Context(), tx, db.StartJobParams{ID: b.job, NextTime: 61_000})
			return err
		})
		b.exec("UPDATE xxl_job_info SET trigger_next_time = 61000 + 7 * 60000")
		if n := b.notice(0); n != 0 {
			t.Errorf("%d changes are noticed", n)
		}
	})
}
