package upkeep

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// partitioned is a service on a log in partitions of ten ids.
func partitioned(t *testing.T, configure func(*Config)) (*Service, *db.Pool) {
	t.Helper()
	pool := dbtest.Open(t, db.Config{URL: dbtest.MigratedInFiles(t)})
	if err := pool.PartitionLog(t.Context(), db.LogPlan{Width: 10, Bound: 10}, true, 0); err != nil {
		t.Fatal(err)
	}
	return newService(t, pool, configure), pool
}

// addAt adds runs whose ids begin there.
func addAt(t *testing.T, pool *db.Pool, id int, rows ...aRun) {
	t.Helper()
	if _, err := pool.ExecContext(t.Context(), fmt.Sprintf("ALTER TABLE xxl_job_log AUTO_INCREMENT = %d", id)); err != nil {
		t.Fatal(err)
	}
	addRuns(t, pool, rows...)
}

func partitionNames(t *testing.T, pool *db.Pool) (names []string) {
	t.Helper()
	list, err := pool.LogPartitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range list {
		names = append(names, l.Name)
	}
	return names
}

// TestPartitionsOfOldRunsAreDropped, the oldest first, and none in which a run is to stay; what is too old in the others goes all the same.
func TestPartitionsOfOldRunsAreDropped(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		second  aRun // beside an old one in the second partition
		dropped bool
	}{
		{"all are too old", aRun{}, true},
		{"one is not", aRun{handle: 200, job: 999}, false},
		{"one has not ended", aRun{job: 999}, false},
		{"one is of a job that keeps its runs for longer", aRun{handle: 200, job: 1}, false},
		{"one is of a job that keeps them for ever", aRun{handle: 200, job: 2}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, pool := partitioned(t, nil)
			at := func(days int) time.Time { return s.today().AddDate(0, 0, -days).Add(12 * time.Hour) }
			longer, ever, shorter := addJob(t, pool, 90), addJob(t, pool, -1), addJob(t, pool, 5)
			old := aRun{at: at(31), handle: 200, job: 999}
			addAt(t, pool, 1, old, old, aRun{at: at(91), handle: 200, job: longer})
			second := []aRun{old, {at: at(20), handle: 200, job: shorter}}
			second[1].at = at(31)
			if tt.second != (aRun{}) {
				r := tt.second
				r.at = at(31)
				switch {
				case r.job == 1:
					r.job = longer
				case r.job == 2:
					r.job = ever
				case r.handle != 0:
					r.at = at(29)
				}
				second = append(second, r)
			}
			addAt(t, pool, 12, second...)
			addAt(t, pool, 25, aRun{at: at(31), handle: 200, job: 999}, aRun{at: at(0), handle: 200, job: 999})
			if _, err := pool.ExecContext(t.Context(), "INSERT INTO punctual_output (log_id, state) VALUES (2, 2), (13, 2), (26, 2)"); err != nil {
				t.Fatal(err)
			}
			if err := s.retain(t.Context()); err != nil {
				t.Fatal(err)
			}
			want, outputs := []string{"p30", "p40", "pmax"}, []int64{26}
			runs := []int64{26}
			if !tt.dropped {
				want = append([]string{"p20"}, want...)
				runs = append([]int64{14}, runs...)
			}
			if diff := cmp.Diff(want, partitionNames(t, pool)); diff != "" {
				t.Errorf("partitions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(runs, runIDs(t, pool)); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
			left, err := db.New().ListOutputsAfter(t.Context(), pool, db.ListOutputsAfterParams{Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(outputs, left); diff != "" {
				t.Errorf("copies of outputs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestThePartitionOfTheNewestRunStays, however old that is, and all of them where runs are kept for ever.
func TestThePartitionOfTheNewestRunStays(t *testing.T) {
	t.Parallel()
	for _, days := range []int{30, 0} {
		t.Run(fmt.Sprintf("%d days", days), func(t *testing.T) {
			t.Parallel()
			s, pool := partitioned(t, func(c *Config) {
				c.Retention = func(context.Context) (Retention, error) { return Retention{Days: days}, nil }
			})
			old := aRun{at: s.today().AddDate(-1, 0, 0), handle: 200}
			addAt(t, pool, 1, old)
			addAt(t, pool, 12, old)
			if err := s.retain(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := []string{"p20", "p30", "p40", "pmax"}
			if days == 0 {
				want = append([]string{"p10"}, want...)
			}
			if diff := cmp.Diff(want, partitionNames(t, pool)); diff != "" {
				t.Errorf("partitions (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPartitionsAreAddedAhead of the runs, and wait for nobody who reads the log for long.
func TestPartitionsAreAddedAhead(t *testing.T) {
	t.Parallel()
	s, pool := partitioned(t, nil)
	addAt(t, pool, 33, aRun{handle: 200})
	reader, err := pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Hold(t, pool, reader)
	var n int
	if err := reader.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_log").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if err := s.extendLog(t.Context()); err != nil {
		t.Errorf("while somebody reads: %v", err)
	}
	if got := partitionNames(t, pool); len(got) != 5 {
		t.Errorf("partitions while somebody reads: %v", got)
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := s.extendLog(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"p10", "p20", "p30", "p40", "p50", "p60", "p70", "pmax"}, partitionNames(t, pool)); diff != "" {
		t.Errorf("partitions (-want +got):\n%s", diff)
	}
}
