package db_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
)

// logged is a log with runs, of which the newest has been deleted again.
func logged(t *testing.T, pool *db.Pool, runs int) (rows []string, next int64) {
	t.Helper()
	for i := range runs + 1 {
		res, err := pool.ExecContext(t.Context(), "INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code, handle_msg) VALUES (1, ?, '2026-03-31 10:00:00', 200, 200, '第一')", i)
		if err != nil {
			t.Fatal(err)
		}
		if next, err = res.LastInsertId(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pool.ExecContext(t.Context(), "DELETE FROM xxl_job_log WHERE id = ?", next); err != nil {
		t.Fatal(err)
	}
	return logRows(t, pool), next + 1
}

func logRows(t *testing.T, pool *db.Pool) (list []string) {
	t.Helper()
	rows, err := pool.QueryContext(t.Context(), "SELECT CONCAT_WS('|', id, job_id, trigger_time, handle_msg, planned_at, outcome) FROM xxl_job_log ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// partition does so as the server can.
func partition(t *testing.T, pool *db.Pool, plan db.LogPlan) {
	t.Helper()
	err := pool.PartitionLog(t.Context(), plan, false, 0)
	if errors.Is(err, db.ErrMustCopy) { // as MySQL says of a table with columns that were added without writing rows
		t.Log(err)
		err = pool.PartitionLog(t.Context(), plan, true, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func partitionsOf(t *testing.T, pool *db.Pool) (list []string) {
	t.Helper()
	parts, err := pool.LogPartitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range parts {
		list = append(list, fmt.Sprintf("%s %d-%d", l.Name, l.From, l.Below))
	}
	return list
}

// TestTheLogInPartitions: the runs there are stay as they are, ids are not used again, partitions are added ahead of them and taken away
// behind them, and all of it can be undone.
func TestTheLogInPartitions(t *testing.T) {
	t.Parallel()
	for _, copying := range []bool{false, true} {
		t.Run(fmt.Sprintf("copying %v", copying), func(t *testing.T) {
			t.Parallel()
			pool := dbtest.Open(t, db.Config{URL: dbtest.MigratedInFiles(t)})
			rows, next := logged(t, pool, 20)
			plan := db.LogPlan{Last: next - 1, Width: 50, Bound: 50}
			if copying {
				if err := pool.PartitionLog(t.Context(), plan, true, 0); err != nil {
					t.Fatal(err)
				}
			} else {
				partition(t, pool, plan)
			}
			if diff := cmp.Diff(rows, logRows(t, pool)); diff != "" {
				t.Errorf("the log (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"p50 0-50", "p100 50-100", "p150 100-150", "p200 150-200", "pmax 200-0"}, partitionsOf(t, pool)); diff != "" {
				t.Errorf("partitions (-want +got):\n%s", diff)
			}
			if _, got := logged(t, pool, 0); got != next+1 {
				t.Errorf("the next run has id %d, want %d", got-1, next)
			}
			if _, err := pool.PlanLog(t.Context(), 0, time.Now()); !errors.Is(err, db.ErrPartitioned) {
				t.Errorf("a plan for what is done: %v, want %v", err, db.ErrPartitioned)
			}
			for _, want := range []int{0, 0} {
				if n, err := pool.ExtendLog(t.Context()); err != nil || n != want {
					t.Fatalf("ExtendLog with empty ones ahead = %d, %v", n, err)
				}
			}
			mustExec(t, pool.DB, "ALTER TABLE xxl_job_log AUTO_INCREMENT = 120")
			added := logRows(t, pool)
			logged(t, pool, 1)
			if n, err := pool.ExtendLog(t.Context()); err != nil || n != 2 {
				t.Fatalf("ExtendLog = %d, %v; want 2", n, err)
			}
			if err := pool.DropLogPartition(t.Context(), "p50"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"p100 0-100", "p150 100-150", "p200 150-200", "p250 200-250", "p300 250-300", "pmax 300-0"}, partitionsOf(t, pool)); diff != "" {
				t.Errorf("partitions later (-want +got):\n%s", diff)
			}
			if got := logRows(t, pool); len(got) != 1 || len(added) != 20 {
				t.Errorf("%d runs before and %d after the first partition is dropped, want 20 and 1", len(added), len(got))
			}
			// Nobody has looked after it for long.
			mustExec(t, pool.DB, "ALTER TABLE xxl_job_log AUTO_INCREMENT = 200000")
			left, _ := logged(t, pool, 1)
			if n, err := pool.ExtendLog(t.Context()); !errors.Is(err, db.ErrLastPartition) || n != 0 {
				t.Errorf("ExtendLog with many runs in the last = %d, %v; want %v", n, err, db.ErrLastPartition)
			}
			gap := "ALTER TABLE xxl_job_log REORGANIZE PARTITION pmax INTO (PARTITION p199950 VALUES LESS THAN (199950), PARTITION pmax VALUES LESS THAN MAXVALUE)"
			mustExec(t, pool.DB, gap) // 4,000 partitions would be too many
			if n, err := pool.ExtendStoppedLog(t.Context(), 0); err != nil || n != 5 {
				t.Errorf("ExtendStoppedLog = %d, %v; want 5", n, err)
			}
			if err := pool.JoinLog(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(left, logRows(t, pool)); diff != "" || len(partitionsOf(t, pool)) != 0 {
				t.Errorf("joined again: %v; runs (-want +got):\n%s", partitionsOf(t, pool), diff)
			}
			if err := pool.JoinLog(t.Context(), 0); !errors.Is(err, db.ErrNotPartitioned) {
				t.Errorf("joined twice: %v, want %v", err, db.ErrNotPartitioned)
			}
		})
	}
}

func TestThePlanOfPartitions(t *testing.T) {
	t.Parallel()
	pool := dbtest.Open(t, db.Config{URL: dbtest.MigratedInFiles(t)})
	now := pool.FromWall(time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC))
	for _, width := range []int64{0, 3_000_000} {
		plan, err := pool.PlanLog(t.Context(), width, now)
		want := max(width, db.MinLogWidth)
		if err != nil || plan.Width != want || plan.Bound != want || plan.PerDay != 0 {
			t.Errorf("of an empty log %+v, %v; want %d", plan, err, want)
		}
	}
	mustExec(t, pool.DB, "ALTER TABLE xxl_job_log AUTO_INCREMENT = 100000")
	logged(t, pool, 1)
	mustExec(t, pool.DB, "ALTER TABLE xxl_job_log AUTO_INCREMENT = 19000000")
	logged(t, pool, 1)
	plan, err := pool.PlanLog(t.Context(), 0, now)
	if err != nil || plan.Last != 19_000_000 || plan.PerDay != 18_900_001/7 || plan.Width != 3_000_000 || plan.Bound != 21_000_000 {
		t.Errorf("plan %+v, %v; want those of 2,700,000 runs a day", plan, err)
	}
	mustExec(t, pool.DB, "ALTER TABLE xxl_job_log AUTO_INCREMENT = 119000000")
	logged(t, pool, 1)
	for width, narrow := range map[int64]bool{999_999: true, 1_000_000: true, 1_700_000: false} { // a tenth of a day is 1,698,571
		if _, err := pool.PlanLog(t.Context(), width, now); errors.Is(err, db.ErrNarrow) != narrow {
			t.Errorf("partitions of %d runs: %v", width, err)
		}
	}
	mustExec(t, pool.DB, "ALTER TABLE xxl_job_log PARTITION BY HASH (id) PARTITIONS 2")
	if _, err := pool.PlanLog(t.Context(), 0, now); !errors.Is(err, db.ErrForeignPartitions) {
		t.Errorf("somebody's own partitions: %v, want %v", err, db.ErrForeignPartitions)
	}
	mustExec(t, pool.DB, "ALTER TABLE xxl_job_log PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (1000000000))")
	if _, err := pool.ExtendLog(t.Context()); !errors.Is(err, db.ErrForeignPartitions) {
		t.Errorf("partitions with an end: %v, want %v", err, db.ErrForeignPartitions)
	}
	embedded := dbtest.New(t, db.SQLite)
	_, plans := embedded.PlanLog(t.Context(), 0, now)
	if joins := embedded.JoinLog(t.Context(), 0); !errors.Is(plans, db.ErrEmbedded) || !errors.Is(joins, db.ErrEmbedded) {
		t.Errorf("the embedded database: %v, %v; want %v", plans, joins, db.ErrEmbedded)
	}
	if n, err := embedded.ExtendLog(t.Context()); n != 0 || err != nil {
		t.Errorf("ExtendLog of the embedded database = %d, %v", n, err)
	}
}

// TestPartitionsAreMadeWhileNobodyWorks on the database.
func TestPartitionsAreMadeWhileNobodyWorks(t *testing.T) {
	t.Parallel()
	pool := dbtest.Open(t, db.Config{URL: dbtest.MigratedInFiles(t)})
	mustExec(t, pool.DB, "INSERT INTO punctual_node (name, address, state, beat) VALUES ('a', 'http://a', 1, 1)")
	stop := make(chan struct{})
	beaten := make(chan struct{})
	go func() {
		defer close(beaten)
		for beat := 2; ; beat++ {
			select {
			case <-stop:
				return
			case <-time.After(15 * time.Millisecond):
				_, _ = pool.ExecContext(t.Context(), "UPDATE punctual_node SET beat = ?", beat)
			}
		}
	}()
	plan := db.LogPlan{Last: 1, Width: 50, Bound: 50}
	if err := pool.PartitionLog(t.Context(), plan, false, executortest.Patience); !errors.Is(err, db.ErrStillRunning) {
		t.Errorf("beside an admin: %v, want %v", err, db.ErrStillRunning)
	}
	close(stop)
	<-beaten
	if got := partitionsOf(t, pool); len(got) != 0 {
		t.Errorf("partitions %v", got)
	}
}

// TestAPartitioningThatWasCutShortIsMended by the next start, wherever it was: before the log became a partition, and after.
func TestAPartitioningThatWasCutShortIsMended(t *testing.T) {
	t.Parallel()
	for _, exchanged := range []bool{false, true} {
		t.Run(fmt.Sprintf("exchanged %v", exchanged), func(t *testing.T) {
			t.Parallel()
			pool := dbtest.Open(t, db.Config{URL: dbtest.MigratedInFiles(t)})
			rows, next := logged(t, pool, 20)
			mustExec(t, pool.DB, "CREATE TABLE punctual_log_empty LIKE xxl_job_log")
			if exchanged {
				partition(t, pool, db.LogPlan{Last: next - 1, Width: 50, Bound: 50})
				mustExec(t, pool.DB, "RENAME TABLE xxl_job_log TO punctual_log_new, punctual_log_empty TO punctual_log_old")
			} else {
				mustExec(t, pool.DB, "RENAME TABLE xxl_job_log TO punctual_log_old, punctual_log_empty TO punctual_log_new")
			}
			if err := pool.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(rows, logRows(t, pool)); diff != "" {
				t.Errorf("the log (-want +got):\n%s", diff)
			}
			if got := partitionsOf(t, pool); (len(got) > 0) != exchanged {
				t.Errorf("partitions %v", got)
			}
			var left int
			if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE 'punctual!_log!_%' ESCAPE '!'").Scan(&left); err != nil || left != 0 {
				t.Errorf("%d tables are left, %v", left, err)
			}
		})
	}
}

// TestATableWithRowsIsNotDropped by a partitioning, whoever left it there.
func TestATableWithRowsIsNotDropped(t *testing.T) {
	t.Parallel()
	pool := dbtest.Open(t, db.Config{URL: dbtest.MigratedInFiles(t)})
	rows, next := logged(t, pool, 3)
	mustExec(t, pool.DB, "CREATE TABLE punctual_log_new LIKE xxl_job_log")
	mustExec(t, pool.DB, "INSERT INTO punctual_log_new SELECT * FROM xxl_job_log")
	if err := pool.PartitionLog(t.Context(), db.LogPlan{Last: next - 1, Width: 50, Bound: 50}, false, 0); err == nil {
		t.Error("a partitioning began over a table with rows")
	}
	var left int
	if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_log_new").Scan(&left); err != nil || left != len(rows) {
		t.Errorf("%d rows are left of %d, %v", left, len(rows), err)
	}
	if diff := cmp.Diff(rows, logRows(t, pool)); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
}
