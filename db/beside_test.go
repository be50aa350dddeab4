package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// besideEra lends a database of a release that Punctual has begun to work beside.
func besideEra(t *testing.T, name string) (pool *db.Pool, e era, url string) {
	t.Helper()
	url = dbtest.MariaDB(t)
	pool = dbtest.Open(t, db.Config{URL: url})
	e = eraNamed(name)
	e.create(t, pool.DB)
	e.fill(t, pool.DB)
	if err := pool.BeginBeside(t.Context(), "admin", time.Millisecond); err != nil {
		t.Fatal(err)
	}
	return pool, e, url
}

func addStarted(t *testing.T, pool *db.Pool, id int64, columns string, status int) {
	t.Helper()
	mustExec(t, pool.DB, fmt.Sprintf("INSERT INTO xxl_job_info (id, job_group, job_desc, glue_type, executor_route_strategy, schedule_type, schedule_conf, trigger_status, trigger_next_time, misfire_strategy) VALUES (%d, 7, 'job %[1]d', 'BEAN', 'FIRST', %s, %d, %d, 'DO_NOTHING')",
		id, columns, status, time.Now().Add(time.Minute).UnixMilli()))
}

func statusOf(t *testing.T, pool *db.Pool, id int64) (status int) {
	t.Helper()
	if err := pool.QueryRowContext(context.WithoutCancel(t.Context()), "SELECT trigger_status FROM xxl_job_info WHERE id = ?", id).Scan(&status); err != nil {
		t.Fatal(err)
	}
	return status
}

// TestBeginBeside: the database is adopted with all groups theirs, and old admins go on writing.
func TestBeginBeside(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"2.3.0", "2.5.0", "3.2.0", "3.4.2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, e, url := besideEra(t, name)
			if !pool.Beside() {
				t.Error("the mode is not on")
			}
			for _, s := range e.oldStatements() {
				mustExec(t, pool.DB, s)
			}
			if moved, err := pool.MovedGroups(t.Context()); err != nil || len(moved) > 0 {
				t.Errorf("moved at the beginning: %v, %v", moved, err)
			}
			again := dbtest.Open(t, db.Config{URL: url})
			if err := again.Migrate(t.Context()); err != nil || !again.Beside() {
				t.Errorf("a start finds the mode %v, %v", again.Beside(), err)
			}
		})
	}
}

func TestBeginBesideRefuses(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"2.2.0", "3.5"} {
		pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t)})
		e := eraNamed(name)
		e.create(t, pool.DB)
		e.fill(t, pool.DB)
		if err := pool.BeginBeside(t.Context(), "admin", time.Millisecond); !errors.Is(err, db.ErrBesideRelease) {
			t.Errorf("%s: %v", name, err)
		}
		if n := len(queryText(t, pool.DB, "SELECT table_name AS i FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE 'punctual%'")); n > 0 {
			t.Errorf("%s: %d tables were made all the same", name, n)
		}
	}
	ours := dbtest.New(t, db.MySQL)
	if err := ours.BeginBeside(t.Context(), "admin", time.Millisecond); !errors.Is(err, db.ErrNeverAdopted) {
		t.Errorf("a database that never was XXL-JOB's: %v", err)
	}
	if _, err := ours.HandOver(t.Context(), db.Hand{Groups: []int64{1}}); !errors.Is(err, db.ErrNotBeside) {
		t.Errorf("a move without the mode: %v", err)
	}
	ours.SetGalera(true)
	if err := ours.BeginBeside(t.Context(), "admin", time.Millisecond); !errors.Is(err, db.ErrBesideGalera) {
		t.Errorf("a cluster whose nodes do not see each other's locks: %v", err)
	}
	ours.SetGalera(false)
	mustExec(t, ours.DB, "INSERT INTO punctual_adoption (id, release_line, finished_at) VALUES (1, '2.3', 5)")
	if err := ours.BeginBeside(t.Context(), "admin", time.Millisecond); !errors.Is(err, db.ErrFinished) {
		t.Errorf("without a way back: %v", err)
	}
	if err := dbtest.New(t, db.SQLite).BeginBeside(t.Context(), "admin", time.Millisecond); !errors.Is(err, db.ErrBesideRelease) {
		t.Errorf("the embedded database: %v", err)
	}
}

// TestHandOver: a group's started jobs go to Punctual and back; the stopped ones and those of other groups stay.
func TestHandOver(t *testing.T) {
	t.Parallel()
	pool, _, _ := besideEra(t, "3.4.2")
	addStarted(t, pool, 50, "'CRON', '0 0 0 * * ?'", 1)
	addStarted(t, pool, 51, "'FIX_RATE', '30'", 0)
	mustExec(t, pool.DB, "UPDATE xxl_job_info SET claimed_until = 9000000000000 WHERE id = 50") // of a stay before
	mustExec(t, pool.DB, "UPDATE xxl_job_info SET trigger_next_time = (UNIX_TIMESTAMP() + 60) * 1000 WHERE trigger_status = 1")
	var noted []int64
	hand := db.Hand{Groups: []int64{7}, By: "admin", Note: func(_ *sql.Tx, group, jobs int64) error {
		noted = append(noted, group, jobs)
		return nil
	}}
	before := queryText(t, pool.DB, "SELECT id AS i, trigger_next_time AS next FROM xxl_job_info WHERE job_group = 7 AND trigger_status = 1 ORDER BY id")
	n, err := pool.HandOver(t.Context(), hand)
	if err != nil || int(n) != len(before) || n == 0 {
		t.Fatalf("moved %d of %d jobs: %v", n, len(before), err)
	}
	after := queryText(t, pool.DB, "SELECT id AS i, trigger_next_time AS next FROM xxl_job_info WHERE trigger_status = 2 AND claimed_until = 0 ORDER BY id")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("jobs (-theirs +ours):\n%s", diff)
	}
	history := func() string {
		t.Helper()
		rows := queryText(t, pool.DB, "SELECT cause AS c, started AS s, claimed_to > 0 AS claimed FROM punctual_schedule WHERE job_id = 50 ORDER BY id")
		return strings.ReplaceAll(fmt.Sprint(rows), "map", "")
	}
	if got, want := history(), "[[c:started claimed:0 s:1]]"; got != want {
		t.Errorf("history %s, want %s", got, want)
	}
	if n, err := db.NewSchedules(pool, pool.Zone(), time.Now).Notice(t.Context(), pool, 0, func(time.Duration) error { return nil }); err != nil {
		t.Error(err)
	} else if got, want := history(), "[[c:started claimed:0 s:1]]"; got != want {
		t.Errorf("after a look at all (%d noticed): %s, want %s", n, got, want)
	}
	if moved, err := pool.MovedGroups(t.Context()); err != nil || !moved[7] || len(moved) != 1 {
		t.Errorf("moved %v, %v", moved, err)
	}
	hand.Back = true
	if n, err := pool.HandOver(t.Context(), hand); err != nil || int(n) != len(before) {
		t.Errorf("gave %d jobs back: %v", n, err)
	}
	if got, want := history(), "[[c:started claimed:1 s:1] [c:stopped claimed:0 s:0]]"; got != want {
		t.Errorf("history %s, want %s", got, want)
	}
	if statusOf(t, pool, 50) != 1 || statusOf(t, pool, 51) != 0 {
		t.Error("the jobs are not as they were")
	}
	if diff := cmp.Diff([]int64{7, n, 7, n}, noted); diff != "" {
		t.Errorf("noted (-want +got):\n%s", diff)
	}
}

// TestHandOverRefuses what would be lost or done otherwise, and changes nothing then.
func TestHandOverRefuses(t *testing.T) {
	t.Parallel()
	pool, _, _ := besideEra(t, "2.3.0")
	mustExec(t, pool.DB, "UPDATE xxl_job_info SET trigger_status = 0")
	addStarted(t, pool, 60, "'CRON', 'every day'", 1)
	addStarted(t, pool, 61, "'CRON', '0 0 0 * * ?'", 1)
	_, err := pool.HandOver(t.Context(), db.Hand{Groups: []int64{7}})
	if kept, ok := errors.AsType[*db.KeptError](err); !ok || kept.Back || len(kept.Jobs) != 1 || kept.Jobs[0].ID != 60 {
		t.Errorf("a text that nobody can read: %v", err)
	}
	if statusOf(t, pool, 61) != 1 {
		t.Error("its neighbour was moved all the same")
	}
	mustExec(t, pool.DB, "DELETE FROM xxl_job_info WHERE id = 60")
	if _, err := pool.HandOver(t.Context(), db.Hand{Groups: []int64{7}}); err != nil {
		t.Fatal(err)
	}
	back := db.Hand{Groups: []int64{7}, Back: true}
	for why, change := range map[string]string{
		"ONCE":      "schedule_type = 'ONCE', schedule_conf = '2030-01-01 00:00:00'",
		"FIX_DELAY": "schedule_type = 'FIX_DELAY', schedule_conf = '5'",
		"zone":      "time_zone = 'Asia/Tokyo'",
		"bounds":    "end_at = 5",
		"GLUE_RUBY": "glue_type = 'GLUE_RUBY'",
	} {
		mustExec(t, pool.DB, "UPDATE xxl_job_info SET "+change+" WHERE id = 61")
		_, err := pool.HandOver(t.Context(), back)
		if kept, ok := errors.AsType[*db.KeptError](err); !ok || !kept.Back || len(kept.Jobs) != 1 || kept.Jobs[0].Why != why {
			t.Errorf("%s: %v", why, err)
		}
		mustExec(t, pool.DB, "UPDATE xxl_job_info SET schedule_type = 'CRON', schedule_conf = '0 0 0 * * ?', time_zone = '', end_at = 0, glue_type = 'BEAN' WHERE id = 61")
	}
	now := time.Now()
	for what, change := range map[string]string{
		"soon due": "trigger_next_time = " + fmt.Sprint(now.Add(3*time.Second).UnixMilli()),
		"put back": "claimed_until = trigger_next_time + 1",
	} {
		mustExec(t, pool.DB, "UPDATE xxl_job_info SET claimed_until = 0, trigger_next_time = "+fmt.Sprint(now.Add(time.Minute).UnixMilli())+" WHERE id = 61")
		mustExec(t, pool.DB, "UPDATE xxl_job_info SET "+change+" WHERE id = 61")
		// It waits for what is not so yet; whoever asks leaves when it looks for the second time.
		asking, leave := context.WithCancel(t.Context())
		looks := 0
		_, err := pool.HandOver(asking, db.Hand{Groups: []int64{7}, Back: true, Now: func() time.Time {
			if looks++; looks == 2 {
				leave()
			}
			return now
		}})
		leave()
		if err == nil || looks != 2 || statusOf(t, pool, 61) != 2 {
			t.Errorf("a job that is %s was given back at look %d: %v", what, looks, err)
		}
	}
	if moved, err := pool.MovedGroups(t.Context()); err != nil || !moved[7] {
		t.Errorf("after refusals: %v, %v", moved, err)
	}
	mustExec(t, pool.DB, "DELETE FROM xxl_job_lock")
	if _, err := pool.HandOver(t.Context(), db.Hand{Groups: []int64{7}}); !errors.Is(err, db.ErrNoLock) {
		t.Errorf("without the lock's row: %v", err)
	}
}

// TestHandOverCutShort: whoever dies in the middle leaves everything as it was, and the lock free.
func TestHandOverCutShort(t *testing.T) {
	t.Parallel()
	pool, _, url := besideEra(t, "2.3.0")
	addStarted(t, pool, 61, "'CRON', '0 0 0 * * ?'", 1)
	dying := dbtest.Open(t, db.Config{URL: url})
	if err := dying.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := dying.HandOver(t.Context(), db.Hand{Groups: []int64{7, 8}, Note: func(tx *sql.Tx, group, _ int64) error {
		if group == 8 { // the first is moved in this transaction
			var id int64
			if err := tx.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
				return err
			}
			mustExec(t, pool.DB, fmt.Sprintf("KILL %d", id))
			_, err := tx.ExecContext(t.Context(), "SELECT 1")
			return fmt.Errorf("%w: %w", errKilled, err)
		}
		return nil
	}})
	if !errors.Is(err, errKilled) {
		t.Errorf("the end was %v", err)
	}
	if statusOf(t, pool, 61) != 1 {
		t.Error("a job was moved all the same")
	}
	if moved, err := pool.MovedGroups(t.Context()); err != nil || len(moved) > 0 {
		t.Errorf("moved %v, %v", moved, err)
	}
	if n, err := pool.HandOver(t.Context(), db.Hand{Groups: []int64{7}}); err != nil || n == 0 {
		t.Errorf("the next hand-over: %d, %v", n, err)
	}
}

var errKilled = errors.New("killed")

// TestEndBeside: with all of it here, every started job has the status that a normal start schedules; and the way back undoes it too.
func TestEndBeside(t *testing.T) {
	t.Parallel()
	for _, back := range []bool{false, true} {
		pool, _, url := besideEra(t, "2.3.0")
		mustExec(t, pool.DB, "UPDATE xxl_job_info SET trigger_status = 0")
		addStarted(t, pool, 61, "'CRON', '0 0 0 * * ?'", 1)
		if _, err := pool.HandOver(t.Context(), db.Hand{Groups: []int64{7}}); err != nil {
			t.Fatal(err)
		}
		addStarted(t, pool, 62, "'CRON', '0 0 0 * * ?'", 1) // started at theirs since
		addStarted(t, pool, 63, "'CRON', '0 0 0 * * ?'", 1)
		mustExec(t, pool.DB, "UPDATE xxl_job_info SET trigger_status = 2, glue_type = 'FLOW' WHERE id = 63")
		if due, err := db.ListDue(t.Context(), pool, db.ListDueJobsParams{UntilMs: 1 << 60, Limit: 9}); err != nil || len(due) != 2 || due[0].ID != 61 || due[1].ID != 63 {
			t.Errorf("ours to schedule are %+v, %v", due, err)
		}
		if _, err := pool.HandOver(t.Context(), db.Hand{Groups: []int64{7}, Back: true}); err == nil || !strings.Contains(err.Error(), "FLOW") {
			t.Errorf("a flow was given back: %v", err)
		}
		if back {
			if _, err := pool.HandBack(t.Context(), time.Millisecond, false); err != nil {
				t.Error(err)
			}
		} else if theirs, err := pool.EndBeside(t.Context(), time.Millisecond); err != nil || theirs != 1 {
			t.Errorf("ended with %d of theirs, %v", theirs, err)
		}
		if statusOf(t, pool, 61) != 1 || statusOf(t, pool, 62) != 1 {
			t.Errorf("back %v: a started job is not", back)
		}
		if statusOf(t, pool, 63) != 2 {
			t.Errorf("back %v: an XXL-JOB admin would schedule a flow", back)
		}
		again := dbtest.Open(t, db.Config{URL: url})
		if err := again.Migrate(t.Context()); err != nil || again.Beside() {
			t.Errorf("back %v: a start finds the mode %v, %v", back, again.Beside(), err)
		}
		if err := again.BeginBeside(t.Context(), "admin", time.Millisecond); err != nil || !again.Beside() {
			t.Errorf("back %v: it may not begin again: %v", back, err)
		}
	}
}
