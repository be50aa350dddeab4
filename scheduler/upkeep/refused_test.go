package upkeep

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// refuse has the database delete no row of a table for which a condition holds.
func refuse(t *testing.T, pool *db.Pool, table, condition string) {
	t.Helper()
	statement := fmt.Sprintf("CREATE TRIGGER refuse_%[1]s BEFORE DELETE ON %[1]s FOR EACH ROW WHEN %[2]s BEGIN SELECT RAISE(ABORT, 'refused'); END", table, condition)
	if pool.Dialect() == db.MySQL {
		statement = fmt.Sprintf("CREATE TRIGGER refuse_%[1]s BEFORE DELETE ON %[1]s FOR EACH ROW IF %[2]s THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF", table, condition)
	}
	if _, err := pool.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// TestWhatOutlivedItsUseGoesBesideWhatCannot: each kind for itself.
func TestWhatOutlivedItsUseGoesBesideWhatCannot(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := newService(t, pool, nil)
		ctx := t.Context()
		job := addJob(t, pool, 0)
		old := time.Now().AddDate(-1, 0, 0)
		if err := db.InsertGates(ctx, pool, []int64{job, job + 1}); err != nil {
			t.Fatal(err)
		}
		if err := s.queries.AddToHour(ctx, pool, db.AddToHourParams{GroupID: 1, HourAt: old.Unix(), SucCount: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(ctx, "INSERT INTO punctual_clearing (user_name, state, updated_at) VALUES ('ann', 1, 1)"); err != nil {
			t.Fatal(err)
		}
		refuse(t, pool, "punctual_clearing", "OLD.state = 1")
		if err := s.forgetOld(ctx); err == nil {
			t.Error("nothing was refused")
		}
		hours, err := s.queries.ListHours(ctx, pool, db.ListHoursParams{FromHour: old.Unix() - 1, ToHour: old.Unix() + 1})
		if err != nil || len(hours) != 0 {
			t.Errorf("the hours %+v are left, %v", hours, err)
		}
		if n, err := s.queries.TouchGates(ctx, pool, []int64{job, job + 1}); err != nil || n != 1 {
			t.Errorf("%d rows for the slots of one job, %v", n, err)
		}
	})
}

// TestARunThatCannotBeDeletedKeepsNoOther: neither of its job, nor of others, and it is tried again.
func TestARunThatCannotBeDeletedKeepsNoOther(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := newService(t, pool, nil)
		own := addJob(t, pool, 5)
		at := func(days int) time.Time { return s.today().AddDate(0, 0, -days).Add(12 * time.Hour) }
		rows := make([]aRun, 3*pageStart)
		for i := range rows {
			rows[i] = aRun{at: at(40), handle: 200, job: 999}
		}
		ids := addRuns(t, pool, append(rows, aRun{at: at(10), handle: 200, job: own}, aRun{at: at(1), handle: 200, job: own})...)
		refuse(t, pool, "xxl_job_log", fmt.Sprintf("OLD.id = %d", ids[0]))
		for range 2 {
			if err := s.retain(t.Context()); err == nil {
				t.Error("nothing was refused")
			}
		}
		if diff := cmp.Diff(append(slices.Clone(ids[:pageStart]), ids[len(ids)-1]), runIDs(t, pool)); diff != "" {
			t.Errorf("runs (-want +got):\n%s", diff)
		}
	})
}

// TestAPartitionThatIsNotDroppedKeepsNoOther: neither one of which a run stays for ever, nor one that cannot be.
func TestAPartitionThatIsNotDroppedKeepsNoOther(t *testing.T) {
	t.Parallel()
	s, pool := partitioned(t, nil)
	ever := addJob(t, pool, -1)
	old := s.today().AddDate(0, 0, -31).Add(12 * time.Hour)
	addAt(t, pool, 1, aRun{at: old, handle: 200, job: ever})
	addAt(t, pool, 12, aRun{at: old, handle: 200, job: 999})
	addAt(t, pool, 22, aRun{at: old, handle: 200, job: 999})
	addAt(t, pool, 33, aRun{at: s.today(), handle: 200, job: 999})
	if _, err := pool.ExecContext(t.Context(), "INSERT INTO punctual_output (log_id, state) VALUES (12, 2), (22, 2)"); err != nil {
		t.Fatal(err)
	}
	refuse(t, pool, "punctual_output", "OLD.log_id = 12")
	if err := s.retain(t.Context()); err == nil {
		t.Error("nothing was refused")
	}
	if diff := cmp.Diff([]string{"p10", "p20", "p40", "pmax"}, partitionNames(t, pool)); diff != "" {
		t.Errorf("partitions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{1, 12, 33}, runIDs(t, pool)); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

// TestWhatWasWrittenWithoutAnAnswerIsCountedOnce: the commit is done, and its answer is lost; or it is not done.
func TestWhatWasWrittenWithoutAnAnswerIsCountedOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := newService(t, pool, nil)
		ctx, day := t.Context(), s.today()
		ended := func(run int64) Change {
			return Change{Hour: day.Unix(), Group: 1, To: StateSucceeded, Job: 7, Run: run, Took: 2 * time.Second}
		}
		lost := errors.New("the answer is lost")
		for i, done := range []bool{true, false, true, true} {
			s.Count(ended(int64(2*i + 1)))
			b, wrote := s.counts.take()
			err := pool.Together(ctx, func(ctx context.Context) error {
				err := pool.Tx(ctx, func(tx *sql.Tx) error { return s.write(ctx, tx, b, wrote) })
				if err == nil && !done {
					err = lost
				}
				return err
			})
			if done != (err == nil) {
				t.Fatal(err)
			}
			s.counts.put(b)
			s.Count(ended(int64(2*i + 2)))
			if err := s.Flush(ctx); err != nil {
				t.Fatal(err)
			}
			if got, want := reported(t, s, day), (Day{Date: day, Succeeded: int64(2*i + 2)}); got != want {
				t.Errorf("try %d: %+v, want %+v", i, got, want)
			}
		}
		long, err := s.queries.ListLongRunsOfJobs(ctx, pool, db.ListLongRunsOfJobsParams{JobIds: []int64{7}, AllGroups: 1})
		if err != nil || len(long) != 1 || long[0].Runs != 8 {
			t.Errorf("long runs %+v, %v", long, err)
		}
		marks := 0
		if err := pool.QueryRowContext(ctx, "SELECT COUNT(*) FROM punctual_idempotency").Scan(&marks); err != nil || marks != 1 {
			t.Errorf("%d marks are left, %v", marks, err)
		}
	})
}
