package upkeep

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

func TestWhatIsDeletedOnPurposeIsWrittenDown(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := newService(t, pool, func(c *Config) { c.RetentionDays = 5 })
		id := addJob(t, pool, 3)
		if err := s.retain(t.Context()); err != nil {
			t.Fatal(err)
		}
		planned := time.Now().Truncate(time.Second)
		addRuns(t, pool, aRun{at: pool.Wall(planned), job: id, handle: 200})
		if _, err := s.Clear(t.Context(), ClearRequest{JobID: id}, "ann"); err != nil {
			t.Fatal(err)
		}
		rows, err := s.queries.ListDeletions(t.Context(), pool)
		if err != nil || len(rows) != 3 {
			t.Fatalf("deletions %+v, %v", rows, err)
		}
		today := s.today()
		type deletion struct {
			What   string
			Job    int64
			By     string
			Before time.Time
		}
		want := []deletion{
			{"clearing", id, "ann", planned.Add(s.cfg.Ahead + time.Second)},
			{"retention", 0, "", pool.FromWall(today.AddDate(0, 0, -5))},
			{"retention", id, "", pool.FromWall(today.AddDate(0, 0, -3))},
		}
		for i, r := range rows {
			got := deletion{r.What, r.JobID, r.MadeBy, time.UnixMilli(r.BeforeAt)}
			if diff := cmp.Diff(want[i], got); diff != "" {
				t.Errorf("deletion %d (-want +got):\n%s", i, diff)
			}
		}
	})
}

func TestTheHistoryOfSchedulesGoesWithTheRunsItTellsOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		days int
		own  []int64 // retentions of jobs
		left []int   // ages in days of the ended definitions that stay
	}{
		{"of the installation", 30, nil, []int{20, 30}},
		{"a job's own is longer", 30, []int64{60, 5}, []int{20, 30, 45}},
		{"a job's own is shorter", 30, []int64{5}, []int{20, 30}},
		{"a job's runs stay for ever", 30, []int64{-1}, []int{20, 30, 45, 400}},
		{"all runs stay for ever", 0, []int64{5}, []int{20, 30, 45, 400}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				ctx, now := t.Context(), time.Now()
				s := newService(t, pool, func(c *Config) {
					c.Now = func() time.Time { return now }
					c.Retention = func(context.Context) (Retention, error) { return Retention{Days: tt.days}, nil }
				})
				for _, days := range tt.own {
					addJob(t, pool, days)
				}
				var all []any
				add := func(job, until int64) { all = append(all, job, until) }
				add(1, 0) // true since long ago
				for _, age := range []int{20, 30, 45, 400} {
					add(int64(age), now.AddDate(0, 0, -age).UnixMilli())
				}
				for range 2300 { // more than two rounds
					add(5, now.AddDate(0, 0, -1000).UnixMilli())
				}
				for part := range slices.Chunk(all, 1000) {
					if _, err := pool.ExecContext(ctx, "INSERT INTO punctual_schedule (job_id, until_at) VALUES (?, ?)"+strings.Repeat(", (?, ?)", len(part)/2-1), part...); err != nil {
						t.Fatal(err)
					}
				}
				if err := s.forgetSchedules(ctx); err != nil {
					t.Fatal(err)
				}
				want := map[int64]bool{1: true}
				for _, age := range tt.left {
					want[int64(age)] = true
				}
				if len(tt.left) == 4 {
					want[5] = true
				}
				got := make(map[int64]bool)
				rows, err := pool.QueryContext(ctx, "SELECT DISTINCT job_id FROM punctual_schedule")
				if err != nil {
					t.Fatal(err)
				}
				defer rows.Close()
				for rows.Next() {
					var job int64
					if err := rows.Scan(&job); err != nil {
						t.Fatal(err)
					}
					got[job] = true
				}
				if diff := cmp.Diff(want, got); diff != "" || rows.Err() != nil {
					t.Error(diff, rows.Err())
				}
			})
		})
	}
}
