package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
)

func TestMigrateTwice(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		if err := pool.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := count(t, pool.DB, "xxl_job_lock"); n != 1 {
			t.Errorf("rows in xxl_job_lock = %d, want 1", n)
		}
	})
}

// TestMigrateTogether starts several admins at once on an empty database and on one to be adopted.
func TestMigrateTogether(t *testing.T) {
	t.Parallel()
	fresh := schemaOf(t, dbtest.New(t, db.MySQL).DB)
	for _, adopted := range []bool{false, true} {
		t.Run(fmt.Sprintf("adopted=%v", adopted), func(t *testing.T) {
			t.Parallel()
			url := dbtest.MariaDB(t)
			first := dbtest.Open(t, db.Config{URL: url})
			if adopted {
				eras[0].create(t, first.DB)
				eras[0].fill(t, first.DB)
			}
			var admins sync.WaitGroup
			for range 6 {
				pool := dbtest.Open(t, db.Config{URL: url, MaxConns: 2})
				admins.Go(func() {
					if err := pool.Migrate(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			admins.Wait()
			if diff := cmp.Diff(fresh, schemaOf(t, first.DB)); diff != "" {
				t.Errorf("(-fresh +migrated):\n%s", diff)
			}
			if n := count(t, first.DB, db.TestVersionTable); n != len(versions(t))+1 {
				t.Errorf("noted versions = %d, want %d: each once and the zero", n, len(versions(t))+1)
			}
		})
	}
}

// TestMigrateNotNoted takes back the note of each migration by itself, the state that a crash leaves between doing it and noting it,
// and those of all, in which each must stand what the others have done.
func TestMigrateNotNoted(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	want := schemaOf(t, pool.DB)
	again := func(which string, args ...any) {
		t.Helper()
		if _, err := pool.ExecContext(t.Context(), "DELETE FROM "+db.TestVersionTable+" WHERE "+which, args...); err != nil {
			t.Fatal(err)
		}
		if err := pool.Migrate(t.Context()); err != nil {
			t.Errorf("%s %v not noted: %v", which, args, err)
		}
		if diff := cmp.Diff(want, schemaOf(t, pool.DB)); diff != "" {
			t.Errorf("%s %v not noted (-want +got):\n%s", which, args, diff)
		}
	}
	for _, version := range versions(t) {
		again("version_id = ?", version)
	}
	again("version_id > 0")
}

// TestMigrateOutOfOrder opens a database of a program that lacked one of the earlier migrations.
func TestMigrateOutOfOrder(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		mustExec(t, pool.DB, "DROP TABLE punctual_audit")
		mustExec(t, pool.DB, "DELETE FROM "+db.TestVersionTable+" WHERE version_id = 31")
		if err := pool.CheckCurrent(t.Context()); !errors.Is(err, db.ErrOutdated) {
			t.Errorf("with all migrations but one: %v", err)
		}
		if err := pool.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := pool.CheckCurrent(t.Context()); err != nil {
			t.Error(err)
		}
		if n := count(t, pool.DB, "punctual_audit"); n != 0 {
			t.Errorf("%d rows", n)
		}
	})
}

// TestMigrateHalfBaseline stops inside the first file, whose tables commit one by one.
func TestMigrateHalfBaseline(t *testing.T) {
	t.Parallel()
	fresh := schemaOf(t, dbtest.New(t, db.MySQL).DB)
	text, err := db.MigrationText("00001_baseline.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ = strings.Cut(text, "-- +goose Up\n")
	statements := strings.Split(strings.TrimSpace(text), ";")
	for n := range statements {
		pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t)})
		for _, s := range statements[:n] {
			mustExec(t, pool.DB, s)
		}
		if err := pool.Migrate(t.Context()); err != nil {
			t.Fatalf("after %d statements: %v", n, err)
		}
		if diff := cmp.Diff(fresh, schemaOf(t, pool.DB)); diff != "" {
			t.Errorf("after %d statements (-fresh +got):\n%s", n, diff)
		}
		if form, err := pool.WayBack(t.Context()); form != "" || err != nil {
			t.Errorf("after %d statements, passwords are kept for an XXL-JOB admin that never was: %q, %v", n, form, err)
		}
	}
}

// TestMigrateAfterDeadHolder leaves the lock of a process that died, with a lease that is about to end.
func TestMigrateAfterDeadHolder(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	mustExec(t, pool.DB, fmt.Sprintf("DELETE FROM %s WHERE version_id = %d", db.TestVersionTable, slices.Max(versions(t))))
	mustExec(t, pool.DB, "UPDATE "+db.TestLockTable+" SET locked = true, locked_by = 'dead', lease_expires_at = NOW(6) + INTERVAL 1 SECOND")
	var ends string // by the server's clock, which has gone on since the statement
	if err := pool.QueryRowContext(t.Context(), "SELECT CAST(lease_expires_at AS CHAR) FROM "+db.TestLockTable).Scan(&ends); err != nil {
		t.Fatal(err)
	}
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(t, pool.DB, "(SELECT 1) AS a WHERE NOW(6) < '"+ends+"'"); n != 0 {
		t.Errorf("migrated before %s, while the lock was held by another", ends)
	}
}

// TestAStartWithNothingToMigrateWaitsForNobody, also where a newer program has migrated, or what is left to do is not for a start.
func TestAStartWithNothingToMigrateWaitsForNobody(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	pool.DeferAbove(-1)
	mustExec(t, pool.DB, "UPDATE "+db.TestLockTable+" SET locked = true, locked_by = 'another', lease_expires_at = NOW(6) + INTERVAL 1 DAY")
	for _, change := range []string{
		"DO 1",
		"INSERT INTO " + db.TestVersionTable + " (version_id, is_applied) VALUES (1000000, true)",
		"DELETE FROM " + db.TestVersionTable + " WHERE version_id = 77", // deferred
	} {
		mustExec(t, pool.DB, change)
		ctx, cancel := context.WithTimeout(t.Context(), executortest.Patience)
		if err := pool.Migrate(ctx); err != nil {
			t.Errorf("after %s: %v", change, err)
		}
		cancel()
	}
	if _, building := pool.Building(); !building {
		t.Error("nothing is left to be built")
	}
}

// versions are the numbers of the migration files, ascending.
func versions(t *testing.T) []int {
	t.Helper()
	files, err := os.ReadDir("migrations/mysql")
	if err != nil {
		t.Fatal(err)
	}
	numbers := make([]int, len(files))
	for i, f := range files {
		if _, err := fmt.Sscanf(f.Name(), "%d_", &numbers[i]); err != nil {
			t.Fatal(err)
		}
	}
	return numbers
}

func count(t *testing.T, pool *sql.DB, table string) int {
	t.Helper()
	var n int
	if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestGroupsThatHadATokenGoOnManagingTheirJobs migrates an installation of before the decision was there.
func TestGroupsThatHadATokenGoOnManagingTheirJobs(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ctx, q := t.Context(), db.New()
		for _, appName := range []string{"", "orders", "stock"} {
			if err := q.SetToken(ctx, pool, db.SetTokenParams{AppName: appName, Token: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := q.SetGroupOptions(ctx, pool, db.SetGroupOptionsParams{AppName: "Stock", IdleIsLost: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(ctx, "DELETE FROM "+db.TestVersionTable+" WHERE version_id = 144"); err != nil {
			t.Fatal(err)
		}
		if err := pool.Migrate(ctx); err != nil {
			t.Fatal(err)
		}
		all, err := q.ListGroupOptions(ctx, pool)
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[string]int64)
		for _, o := range all {
			got[strings.ToLower(o.AppName)] = o.IdleIsLost*10 + o.TokenManages
		}
		if diff := cmp.Diff(map[string]int64{"orders": 1, "stock": 11}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestThereIsRoomForAWiderColumn: people have widened executor_param, and all columns of a row that are no TEXT may have 65,535 bytes together
// on MySQL. What we add must leave room for it, or the start of such an installation ends in the migration.
func TestThereIsRoomForAWiderColumn(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	if _, err := pool.ExecContext(t.Context(), "ALTER TABLE xxl_job_info MODIFY executor_param VARCHAR(11000)"); err != nil {
		t.Error(err)
	}
}

// TestGivingCountersTheirGroupsLocksNoJob: other admins claim jobs and end runs while the first of a new program migrates.
func TestGivingCountersTheirGroupsLocksNoJob(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL) // the embedded database has no other admins
	ctx := t.Context()
	job, run := bulkJobs(t, pool, 1)[0], int64(7)
	mustExec(t, pool.DB, fmt.Sprintf("UPDATE xxl_job_info SET job_group = 5 WHERE id = %d", job))
	mustExec(t, pool.DB, fmt.Sprintf("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code) VALUES (%d, 6, %d, 200, 200)", run, job))
	mustExec(t, pool.DB, fmt.Sprintf("INSERT INTO punctual_job_day (day_at, job_id, runs, total_ms, longest_id, longest_ms) VALUES (1, %d, 1, 1, %d, 1), (2, %[1]d, 1, 1, 99, 1)", job, run))
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	dbtest.Hold(t, pool, tx)
	if _, err := tx.ExecContext(ctx, "UPDATE xxl_job_info SET trigger_last_time = 1 WHERE id = ?", job); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(ctx, "UPDATE xxl_job_log SET alarm_status = 1 WHERE id = ?", run); err != nil {
		t.Fatal(err)
	}
	mustExec(t, pool.DB, "DELETE FROM "+db.TestVersionTable+" WHERE version_id = 358")
	if err := pool.Migrate(ctx); err != nil {
		t.Fatalf("while a claim writes the job and a result the run: %v", err)
	}
	if n := count(t, pool.DB, "punctual_job_day WHERE day_at = 1 AND job_group = 6 OR day_at = 2 AND job_group = 5"); n != 2 {
		t.Errorf("%d of two days have the group of their longest run, or of the job", n)
	}
}
