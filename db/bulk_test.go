package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

var bulkTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bulkJobs makes started jobs, due at 1000 + their number, and returns their ids.
func bulkJobs(t *testing.T, pool *db.Pool, n int) []int64 {
	t.Helper()
	ids := make([]int64, n)
	for i := range ids {
		id, err := db.New().InsertJob(t.Context(), pool, db.InsertJobParams{JobGroup: 1, JobDesc: "job", ScheduleType: jobspec.ScheduleFixRate, MisfireStrategy: jobspec.MisfireDoNothing, GlueType: "BEAN"})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := db.New().StartJob(t.Context(), pool, db.StartJobParams{ID: id, NextTime: 1000 + int64(i)}); err != nil || n != 1 {
			t.Fatalf("start: %d, %v", n, err)
		}
		ids[i] = id
	}
	return ids
}

func bulkRuns(t *testing.T, pool *db.Pool, runs ...db.NewRun) []int64 {
	t.Helper()
	for i := range runs {
		runs[i].TriggerTime = bulkTime
	}
	ids, err := pool.Numbered(t.Context(), pool, len(runs), func() (int64, error) { return db.InsertRuns(t.Context(), pool, runs) })
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func bulkRun(t *testing.T, pool *db.Pool, id int64) db.Run {
	t.Helper()
	run, err := db.New().GetRun(t.Context(), pool, id)
	if err != nil {
		t.Fatalf("run %d: %v", id, err)
	}
	return run
}

func TestInsertRuns(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		bulkRuns(t, pool, db.NewRun{JobID: 1})
		runs := make([]db.NewRun, db.MaxBatch)
		for i := range runs {
			runs[i] = db.NewRun{JobGroup: 2, JobID: int64(100 + i), Handler: "h", Param: fmt.Sprintf("第%d个", i), PlannedAt: int64(5000 + i), Type: jobspec.TriggerCron}
		}
		for i, id := range bulkRuns(t, pool, runs...) {
			if r := bulkRun(t, pool, id); r.JobID != int64(100+i) || string(r.ExecutorParam) != fmt.Sprintf("第%d个", i) || r.PlannedAt != int64(5000+i) {
				t.Fatalf("run %d is not the one inserted as number %d: %+v", id, i, r)
			}
		}
		full := db.NewRun{JobGroup: 3, JobID: 4, Address: "http://a/", Handler: "h", Param: "", Sharding: "1/2", Retries: 5, PlannedAt: 7, Owner: 8,
			Type: jobspec.TriggerRetry, Origin: 9, TriggerCode: 500, Message: "no; it's \\ 'quoted' \"twice\" ?", AlarmStatus: 1}
		id := bulkRuns(t, pool, full)[0]
		got := bulkRun(t, pool, id)
		got.TriggerTime.Time = got.TriggerTime.Time.UTC()
		want := db.Run{ID: id, JobGroup: 3, JobID: 4, ExecutorAddress: "http://a/", ExecutorHandler: "h", ExecutorShardingParam: "1/2",
			ExecutorFailRetryCount: 5, TriggerCode: 500, TriggerMsg: db.Text(full.Message), AlarmStatus: 1, PlannedAt: 7, OwnerNode: 8,
			TriggerType: jobspec.TriggerRetry, OriginLogID: 9}
		want.TriggerTime.Time, want.TriggerTime.Valid = bulkTime, true
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		bare := bulkRuns(t, pool, db.NewRun{JobID: 1})[0]
		for column, want := range map[string]bool{"executor_address": true, "executor_sharding_param": true, "trigger_msg": true,
			"handle_time": true, "handle_msg": true, "executor_handler": false, "executor_param": false} {
			var null bool
			if err := pool.QueryRowContext(t.Context(), "SELECT "+column+" IS NULL FROM xxl_job_log WHERE id = ?", bare).Scan(&null); err != nil || null != want {
				t.Errorf("%s is NULL: %t (%v), want %t", column, null, err, want)
			}
		}
	})
}

func TestAdvanceJobs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		prepare string // done to the second job
		change  func(*db.Advance)
		count   int64
		next    int64 // of the second job
		status  int64
	}{
		{"all are moved", "", nil, 3, 2001, 1},
		{"one that was moved meanwhile stays", "UPDATE xxl_job_info SET trigger_next_time = 7 WHERE id = ?", nil, 2, 7, 1},
		{"one that was stopped stays", "UPDATE xxl_job_info SET trigger_status = 0 WHERE id = ?", nil, 2, 1001, 0},
		{"one that was deleted is missed", "DELETE FROM xxl_job_info WHERE id = ?", nil, 2, 0, 0},
		{"one that was read wrongly stays", "", func(a *db.Advance) { a.OldNext = 1000 }, 2, 1001, 1},
		{"a flow is hidden from XXL-JOB admins", "UPDATE xxl_job_info SET glue_type = 'FLOW' WHERE id = ?", func(a *db.Advance) { a.Flow = true }, 3, 2001, 2},
		{"one that is hidden is moved", "UPDATE xxl_job_info SET trigger_status = 2 WHERE id = ?", nil, 3, 2001, 2},
		{"a flow that ended is stopped", "", func(a *db.Advance) { a.Next, a.Stop, a.Flow = 0, true, true }, 3, 0, 0},
		{"one that ended is stopped", "", func(a *db.Advance) { a.Next, a.Stop = 0, true }, 3, 0, 0},
	}
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		for _, tt := range tests {
			ids := bulkJobs(t, pool, 3)
			if tt.prepare != "" {
				if _, err := pool.ExecContext(t.Context(), tt.prepare, ids[1]); err != nil {
					t.Fatal(err)
				}
			}
			advances := make([]db.Advance, 3)
			for i, id := range ids {
				advances[i] = db.Advance{ID: id, OldNext: 1000 + int64(i), Last: 1000 + int64(i), Next: 2000 + int64(i)}
			}
			if tt.change != nil {
				tt.change(&advances[1])
			}
			n, err := db.AdvanceJobs(t.Context(), pool, advances)
			if err != nil || n != tt.count {
				t.Errorf("%s: count %d (%v), want %d", tt.name, n, err, tt.count)
			}
			for i, id := range ids {
				job, err := db.New().GetJob(t.Context(), pool, id)
				if i != 1 {
					if err != nil || job.TriggerNextTime != 2000+int64(i) || job.TriggerLastTime != 1000+int64(i) || job.TriggerStatus != 1 {
						t.Errorf("%s: job %d of the batch: %+v, %v", tt.name, i, job, err)
					}
				} else if err == nil && (job.TriggerNextTime != tt.next || job.TriggerStatus != tt.status) {
					t.Errorf("%s: next %d and status %d, want %d and %d", tt.name, job.TriggerNextTime, job.TriggerStatus, tt.next, tt.status)
				}
			}
		}
		ids := bulkJobs(t, pool, db.MaxBatch)
		advances := make([]db.Advance, len(ids))
		for i, id := range ids {
			advances[i] = db.Advance{ID: id, OldNext: 1000 + int64(i), Last: 1, Next: 9000 + int64(i), Stop: i%3 == 0}
		}
		if n, err := db.AdvanceJobs(t.Context(), pool, advances); err != nil || n != db.MaxBatch {
			t.Errorf("a whole batch: %d, %v", n, err)
		}
		if n, err := db.AdvanceJobs(t.Context(), pool, advances); err != nil || n != 0 {
			t.Errorf("the same batch again: %d, %v", n, err)
		}
	})
}

func TestRecordSent(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ids := bulkRuns(t, pool, db.NewRun{Owner: 1}, db.NewRun{Owner: 1, Address: "http://planned/"}, db.NewRun{Owner: 2}, db.NewRun{Owner: 1, TriggerCode: 500}, db.NewRun{Owner: 1})
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET handle_code = 200 WHERE id = ?", ids[4]); err != nil {
			t.Fatal(err)
		}
		sent := make([]db.Sent, len(ids))
		for i, id := range ids {
			sent[i] = db.Sent{ID: id, Address: fmt.Sprintf("http://%d/", i), Code: 200 + int64(i), Message: fmt.Sprint("message ", i), At: 70 + int64(i), Alarm: int64(i % 2)}
		}
		n, err := db.RecordSent(t.Context(), pool, 1, true, sent)
		if err != nil || n != 2 {
			t.Errorf("open ones of the owner: %d (%v), want 2", n, err)
		}
		if n, err = db.RecordSent(t.Context(), pool, 1, false, sent); err != nil || n != 1 {
			t.Errorf("then those with a result: %d (%v), want 1", n, err)
		}
		if n, err = db.RecordSent(t.Context(), pool, 1, false, sent); err != nil || n != 0 {
			t.Errorf("again: %d (%v), want none", n, err)
		}
		for i, id := range ids {
			r := bulkRun(t, pool, id)
			want := i != 2 && i != 3
			if got := r.TriggerCode == sent[i].Code && string(r.ExecutorAddress) == sent[i].Address && string(r.TriggerMsg) == sent[i].Message &&
				r.SentAt == sent[i].At && r.AlarmStatus == sent[i].Alarm; got != want {
				t.Errorf("run %d written: %t, want %t: %+v", i, got, want, r)
			}
		}
		// Values that all rows share are written another way.
		ids = bulkRuns(t, pool, db.NewRun{Owner: 3}, db.NewRun{Owner: 3})
		same := []db.Sent{{ID: ids[0], Code: 200, Message: "same", At: 5}, {ID: ids[1], Code: 200, Message: "same", At: 5}}
		if n, err := db.RecordSent(t.Context(), pool, 3, false, same); err != nil || n != 2 {
			t.Errorf("equal outcomes: %d, %v", n, err)
		}
		if r := bulkRun(t, pool, ids[1]); r.TriggerCode != 200 || r.TriggerMsg != "same" || r.SentAt != 5 || r.AlarmStatus != 0 {
			t.Errorf("%+v", r)
		}
	})
}

func TestFinishRuns(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ids := bulkRuns(t, pool, make([]db.NewRun, 4)...)
		at := bulkTime.Add(time.Hour)
		finish := func(finishes ...db.Finish) int64 {
			n, err := db.FinishRuns(t.Context(), pool, at, 99, finishes)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := finish(db.Finish{ID: ids[0], Code: 200}, db.Finish{ID: ids[1], Code: 500, Message: "无", Alarm: 1}); n != 2 {
			t.Errorf("two open runs: %d", n)
		}
		if n := finish(db.Finish{ID: ids[1], Code: 200, Message: "late"}, db.Finish{ID: ids[2], Code: 200, Message: "in time"}); n != 1 {
			t.Errorf("one of which is done: %d", n)
		}
		if n := finish(db.Finish{ID: ids[3], Code: 200}); n != 1 {
			t.Errorf("one without a message: %d", n)
		}
		want := []struct {
			code, alarm int64
			message     db.Text
		}{{200, 0, ""}, {500, 1, "无"}, {200, 0, "in time"}, {200, 0, ""}}
		for i, id := range ids {
			r := bulkRun(t, pool, id)
			if r.HandleCode != want[i].code || r.AlarmStatus != want[i].alarm || r.HandleMsg != want[i].message || r.FinishedAt != 99 || !r.HandleTime.Time.Equal(at) {
				t.Errorf("run %d: %+v, want %+v", i, r, want[i])
			}
		}
		for _, i := range []int{0, 3} {
			var null bool
			if err := pool.QueryRowContext(t.Context(), "SELECT handle_msg IS NULL FROM xxl_job_log WHERE id = ?", ids[i]).Scan(&null); err != nil || !null {
				t.Errorf("run %d has a message although there was none (%v)", i, err)
			}
		}
		ids = bulkRuns(t, pool, make([]db.NewRun, db.MaxBatch)...)
		finishes := make([]db.Finish, len(ids))
		for i, id := range ids {
			finishes[i] = db.Finish{ID: id, Code: 200 + int64(i%4), Message: strings.Repeat("x", i), Alarm: int64(i % 2)}
		}
		if n := finish(finishes...); n != db.MaxBatch {
			t.Errorf("a whole batch: %d", n)
		}
		for _, i := range []int{0, 1, 77, db.MaxBatch - 1} {
			if r := bulkRun(t, pool, ids[i]); r.HandleCode != finishes[i].Code || string(r.HandleMsg) != finishes[i].Message || r.AlarmStatus != finishes[i].Alarm {
				t.Errorf("run %d: %+v", i, r)
			}
		}
	})
}

// TestNeighboursShareAValue: each row gets its own, in whatever order and stretches the values come, and what a server reads of a batch grows
// with the values and not with the rows.
func TestNeighboursShareAValue(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		for _, long := range []int{1, 2, 7, 40, 300} { // rows of a stretch
			ids := bulkRuns(t, pool, make([]db.NewRun, db.MaxBatch)...)
			sent := make([]db.Sent, len(ids))
			for i, id := range ids {
				sent[(i*77)%len(ids)] = db.Sent{ID: id, Stays: true, Code: 200, At: int64(1 + i/long%13)}
			}
			args := 0
			if n, err := db.RecordSent(t.Context(), counted{pool, &args}, 0, false, sent); err != nil || n != int64(len(ids)) {
				t.Fatalf("stretches of %d: %d, %v", long, n, err)
			}
			if most := len(ids) + 2*(len(ids)/long+1)*17/16 + 10; args > most {
				t.Errorf("stretches of %d: %d values are sent, want at most %d", long, args, most)
			}
			for i, id := range ids {
				if r := bulkRun(t, pool, id); r.SentAt != int64(1+i/long%13) {
					t.Fatalf("stretches of %d: run %d of %d was sent at %d", long, i, len(ids), r.SentAt)
				}
			}
		}
	})
}

// TestAnInsertNamesNoColumnInVain: what a usual run says nothing in is not read by the server for each row.
func TestAnInsertNamesNoColumnInVain(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		args := 0
		usual := db.NewRun{JobGroup: 1, JobID: 2, TriggerTime: bulkTime, Handler: "h", PlannedAt: 5, Owner: 1, Type: jobspec.TriggerCron, Message: "m", Events: "e", Address: "a"}
		if _, err := db.InsertRuns(t.Context(), counted{pool, &args}, []db.NewRun{usual, usual}); err != nil {
			t.Fatal(err)
		}
		if args != 2*13 {
			t.Errorf("%d values of two runs, want 26", args)
		}
	})
}

// counted counts the values of statements.
type counted struct {
	db.DBTX
	args *int
}

func (c counted) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	*c.args += len(args)
	return c.DBTX.ExecContext(ctx, query, args...)
}

// TestTheIdsOfAnInsertAreKnownWhateverTheirDistance: as all sessions of a pool said, where they differ, and where the cluster sets it.
func TestTheIdsOfAnInsertAreKnownWhateverTheirDistance(t *testing.T) {
	t.Parallel()
	dsn := dbtest.Migrated(t)
	plain, mixed, galera := dbtest.Open(t, db.Config{URL: dsn}), dbtest.Open(t, db.Config{URL: dsn}), dbtest.Open(t, db.Config{URL: dsn})
	mixed.MixDistances()
	galera.SetGalera(true)
	check := func(name string, pool *db.Pool, step int, set bool) {
		t.Helper()
		tries := 0
		var ids []int64
		err := pool.Tx(t.Context(), func(tx *sql.Tx) error {
			tries++
			if set {
				if _, err := tx.ExecContext(t.Context(), fmt.Sprintf("SET SESSION auto_increment_increment = %d", step)); err != nil {
					return err
				}
			}
			var err error
			ids, err = pool.Numbered(t.Context(), tx, 3, func() (int64, error) {
				return db.InsertRuns(t.Context(), tx, []db.NewRun{{JobID: 1, TriggerTime: bulkTime}, {JobID: 2, TriggerTime: bulkTime}, {JobID: 3, TriggerTime: bulkTime}})
			})
			if set { // the connection is lent
				_, reset := tx.ExecContext(t.Context(), "SET SESSION auto_increment_increment = 1")
				err = errors.Join(err, reset)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		// On Galera the first to see another distance cannot know which of the two its rows have.
		if want := 1; tries != want && !(pool == galera && tries == 2) {
			t.Errorf("%s, distance %d: %d tries", name, step, tries)
		}
		for i, id := range ids {
			if r := bulkRun(t, pool, id); r.JobID != int64(i+1) {
				t.Errorf("%s, distance %d: run %d is of job %d, want %d", name, step, id, r.JobID, i+1)
			}
		}
	}
	for _, step := range []int{1, 3, 2} {
		url := dsn + map[bool]string{true: "&", false: "?"}[strings.Contains(dsn, "?")] + "auto_increment_increment=" + strconv.Itoa(step)
		check("from the beginning", dbtest.Open(t, db.Config{URL: url}), step, false)
		check("mixed", mixed, step, true)
		check("galera", galera, step, true)
	}
	check("as it is", plain, 1, false)
}

func TestCatchUpLeavesTheConnectionAsItWas(t *testing.T) {
	t.Parallel()
	pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t), MaxConns: 1})
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(pool.Product(), "MariaDB") {
		t.Skip("only MariaDB can be a node of Galera's")
	}
	if err := pool.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	var wait int
	if err := pool.QueryRowContext(t.Context(), "SELECT @@wsrep_sync_wait").Scan(&wait); err != nil || wait != 0 {
		t.Errorf("wsrep_sync_wait is %d, %v", wait, err)
	}
}

// TestIDsWhileTheDistanceChanges: a node of a Galera cluster goes between an INSERT and the question how far apart its ids are, and another
// transaction has asked meanwhile. Rows of one run with the ids of another's were steps that ran twice, and others that never did.
func TestIDsWhileTheDistanceChanges(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	pool.SetGalera(true)
	set := func(on db.DBTX, distance int) {
		t.Helper()
		if _, err := on.ExecContext(t.Context(), fmt.Sprintf("SET SESSION auto_increment_increment = %d", distance)); err != nil {
			t.Fatal(err)
		}
	}
	insert := func(tx *sql.Tx, after func()) (ids []int64, err error) {
		return pool.Numbered(t.Context(), tx, 3, func() (int64, error) {
			first, err := db.InsertRuns(t.Context(), tx, []db.NewRun{{JobID: 1, TriggerTime: bulkTime}, {JobID: 2, TriggerTime: bulkTime}, {JobID: 3, TriggerTime: bulkTime}})
			after()
			return first, err
		})
	}
	var ids []int64
	tries := 0
	err := pool.Tx(t.Context(), func(tx *sql.Tx) (err error) {
		if tries++; tries > 1 {
			set(tx, 2)
			ids, err = insert(tx, func() {})
			set(tx, 1)
			return err
		}
		dbtest.Hold(t, pool, tx)
		set(tx, 3)
		ids, err = insert(tx, func() {
			err := pool.Tx(t.Context(), func(other *sql.Tx) error {
				set(other, 2)
				_, err := insert(other, func() {})
				set(other, 1)
				return err
			})
			if err != nil {
				t.Error(err)
			}
			set(tx, 2) // as the cluster does for the next statement
		})
		set(tx, 1)
		return err
	})
	if err != nil || tries != 2 {
		t.Errorf("%d tries: %v", tries, err)
	}
	for i, id := range ids {
		if r := bulkRun(t, pool, id); r.JobID != int64(i+1) {
			t.Errorf("run %d is of job %d, want %d", id, r.JobID, i+1)
		}
	}
}
