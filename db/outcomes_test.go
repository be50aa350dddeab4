package db_test

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/event"
)

func TestOutcomesAreTheNewestOfEachJob(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		var runs []db.NewRun
		for i := range int64(40) {
			runs = append(runs, db.NewRun{JobGroup: 1, JobID: 1 + i%2, TriggerTime: seedTime, TriggerCode: i})
		}
		if _, err := db.InsertRuns(t.Context(), pool, runs); err != nil {
			t.Fatal(err)
		}
		var jobs []int64
		for i := range int64(50) { // as many as a page shows; most have never run
			jobs = append(jobs, i+1)
		}
		list, err := db.ListOutcomes(t.Context(), pool, jobs, nil, 3)
		if err != nil {
			t.Fatal(err)
		}
		codes := make(map[int64][]int64)
		for _, o := range list {
			codes[o.JobID] = append(codes[o.JobID], o.TriggerCode)
		}
		if len(codes) != 2 || len(codes[1]) != 3 || codes[1][0] != 38 || codes[2][2] != 35 {
			t.Errorf("got %v", codes)
		}
		if list, err := db.ListOutcomes(t.Context(), pool, nil, nil, 3); err != nil || list != nil {
			t.Errorf("of no jobs: %v, %v", list, err)
		}
	})
}

func TestAnOutcomeTellsSkippedFromFailed(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		var runs []db.NewRun
		for _, o := range []event.Outcome{event.Skipped, event.NotSent, event.Stopped, event.Killed} {
			runs = append(runs, db.NewRun{JobGroup: 1, JobID: 7, TriggerTime: seedTime, PlannedAt: 5, TriggerCode: 500, Type: "MISFIRE",
				Outcome: o, Message: "result: killed by ann", Events: event.List{event.New(seedTime, event.NoExecutor)}.Stored()})
		}
		runs = append(runs, db.NewRun{JobGroup: 1, JobID: 7, TriggerTime: seedTime, TriggerCode: 200}, db.NewRun{JobGroup: 1, JobID: 7, TriggerTime: seedTime, TriggerCode: 200})
		first, err := db.InsertRuns(t.Context(), pool, runs)
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.FinishRuns(t.Context(), pool, seedTime, 1, []db.Finish{
			{ID: first + 4, Code: 500, Outcome: event.Failed, Message: "killed by ann: ok"}, {ID: first + 5, Code: 200, Outcome: event.Killed},
		})
		if err != nil {
			t.Fatal(err)
		}
		list, err := db.ListOutcomes(t.Context(), pool, []int64{7}, nil, 30)
		if err != nil || len(list) != 6 {
			t.Fatalf("%+v, %v", list, err)
		}
		for i, want := range []event.Outcome{event.Killed, event.Failed, event.Killed, event.Stopped, event.NotSent, event.Skipped} {
			if list[i].Outcome != want || list[i].ID != first+int64(5-i) {
				t.Errorf("%d: got %+v, want %s", i, list[i], want)
			}
		}
		if o := list[5]; o.PlannedAt != 5 || !o.TriggerTime.Time.Equal(seedTime) || event.Parse(o.Events)[0].Key != event.NoExecutor || list[1].Note != "killed by ann: ok" {
			t.Errorf("got %+v", list)
		}
	})
}

// TestOutcomesOfSomeGroupsAreLookedForAmongTheNewest: a job that was moved lately may have a million runs of before.
func TestOutcomesOfSomeGroupsAreLookedForAmongTheNewest(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		runs := func(n int, group int64) {
			t.Helper()
			list := make([]db.NewRun, n)
			for i := range list {
				list[i] = db.NewRun{JobGroup: group, JobID: 3, PlannedAt: bulkTime.UnixMilli()}
			}
			bulkRuns(t, pool, list...)
		}
		see := func(group int64, want int) {
			t.Helper()
			got, err := db.ListOutcomes(t.Context(), pool, []int64{3, 4}, []int64{group}, 30)
			if err != nil || len(got) != want {
				t.Errorf("%d runs of group %d are told, %v, want %d", len(got), group, err, want)
			}
		}
		runs(40, 1)
		runs(480, 2)
		see(1, 20)
		see(2, 30)
		runs(20, 2)
		see(1, 0)
		runs(2, 1)
		see(1, 2)
	})
}

// between calls something before each query.
type between struct {
	db.DBTX

	do func(query string)
}

func (b between) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	b.do(query)
	return b.DBTX.QueryContext(ctx, query, args...)
}

// TestARunOfAnotherGroupThatIsDeletedMeanwhileIsNotTold: what is not confirmed is not theirs to see.
func TestARunOfAnotherGroupThatIsDeletedMeanwhileIsNotTold(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ids := bulkRuns(t, pool, db.NewRun{JobGroup: 1, JobID: 3, PlannedAt: 1}, db.NewRun{JobGroup: 2, JobID: 3, PlannedAt: 1})
		deleted := false
		tx := between{pool, func(query string) {
			if !deleted && strings.HasPrefix(query, "SELECT log_id FROM punctual_trial") {
				deleted = true
				if _, err := pool.ExecContext(t.Context(), "DELETE FROM xxl_job_log WHERE id = ?", ids[1]); err != nil {
					t.Error(err)
				}
			}
		}}
		if got, err := db.ListOutcomes(t.Context(), tx, []int64{3}, []int64{1}, 30); err != nil || len(got) != 1 || got[0].ID != ids[0] || !deleted {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestRunsOfSomeGroupsAreLookedForAmongTheNearest: whoever sees one group of a job that was moved reads no more than a part of its runs, wherever they look.
func TestRunsOfSomeGroupsAreLookedForAmongTheNearest(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ctx := t.Context()
		runs := func(n int, group int64) []int64 {
			list := make([]db.NewRun, n)
			for i := range list {
				list[i] = db.NewRun{JobGroup: group, JobID: 3, PlannedAt: bulkTime.UnixMilli()}
			}
			return bulkRuns(t, pool, list...)
		}
		old := runs(20, 1)
		for range 10 {
			runs(500, 2)
		}
		last := runs(20, 1)
		const far, looked = math.MaxInt64, 500
		f := db.RunFilter{Job: 3, Groups: []int64{1}, Fires: true}
		for _, c := range []struct {
			name         string
			from, before int64
			down         bool
			want         int
		}{
			{"the newest", 0, far, true, 20},
			{"below these", 0, last[0], true, 0},
			{"after the oldest", old[0] + 1, far, false, 19},
			{"where there are few", old[10], last[0] - 4700, true, 10},
		} {
			tx, err := pool.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			before := 0
			if pool.Dialect() == db.MySQL {
				before = rowsRead(t, tx)
			}
			from, to, err := db.NearRuns(ctx, tx, 3, c.from, c.before, c.down)
			if err != nil {
				t.Fatal(err)
			}
			found, err := db.FindRuns(ctx, tx, f, from, to, 30)
			if err != nil || len(found) != c.want {
				t.Errorf("%s: %d runs from %d to %d, %v, want %d", c.name, len(found), from, to, err, c.want)
			}
			times, err := db.New().ListRunTimesOfJob(ctx, tx, db.ListRunTimesOfJobParams{JobID: 3, FromID: from, BeforeID: to, GroupIds: f.Groups, Limit: 200})
			if err != nil || len(times) != c.want {
				t.Errorf("%s: the times of %d runs, %v, want %d", c.name, len(times), err, c.want)
			}
			var looks int
			if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM xxl_job_log WHERE job_id = 3 AND id >= ? AND id < ?", from, to).Scan(&looks); err != nil || looks > looked {
				t.Errorf("%s: it is looked for among %d runs, %v", c.name, looks, err)
			}
			if pool.Dialect() == db.MySQL {
				if n := rowsRead(t, tx) - before; n > 5*looked {
					t.Errorf("%s: %d rows were read", c.name, n)
				}
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestOutcomesAreThoseOfEachJobAlone compares a list of jobs with what reading every run says: trials, runs of other groups and both among the newest,
// of few jobs and of as many as a page has, whatever the others are like.
func TestOutcomesAreThoseOfEachJobAlone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		const jobs, each, n = 200, 7, 3
		var runs []db.NewRun
		for i := range int64(jobs * each) {
			job, nth := i%jobs+1, i/jobs
			if nth >= job%(each+1) { // so many has a job
				continue
			}
			code, group := int64(200), 1+job/8%3*(nth%2) // some jobs have every other run of group 2 or 3
			runs = append(runs, db.NewRun{JobGroup: group, JobID: job, TriggerTime: seedTime, TriggerCode: code})
		}
		first, err := db.InsertRuns(t.Context(), pool, runs)
		if err != nil {
			t.Fatal(err)
		}
		trial := func(i int) bool { return runs[i].JobID%5 == 0 && i%3 != 0 }
		for i := range runs {
			if !trial(i) {
				continue
			}
			if _, err := pool.ExecContext(t.Context(), "INSERT INTO punctual_trial (log_id, source) VALUES (?, 'echo')", first+int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		all := make([]int64, jobs)
		for i := range all {
			all[i] = int64(i + 1)
		}
		for _, groups := range [][]int64{nil, {1}, {2, 3}, {1, 2, 3}, {4}} {
			want := make(map[int64][]int64)
			for i := len(runs) - 1; i >= 0; i-- {
				r := runs[i]
				if !trial(i) && (groups == nil || slices.Contains(groups, r.JobGroup)) && len(want[r.JobID]) < n {
					want[r.JobID] = append(want[r.JobID], first+int64(i))
				}
			}
			for _, of := range [][]int64{all, all[:1], all[4:5], all[14:16]} {
				list, err := db.ListOutcomes(t.Context(), pool, of, groups, n)
				if err != nil {
					t.Fatal(err)
				}
				got := make(map[int64][]int64)
				for _, o := range list {
					if got[o.JobID] = append(got[o.JobID], o.ID); o.TriggerCode != 200 {
						t.Fatalf("run %d of job %d: its row was not read: %+v", o.ID, o.JobID, o)
					}
				}
				for _, job := range of {
					if !slices.Equal(got[job], want[job]) {
						t.Errorf("job %d of %d for groups %v: runs %v, want %v", job, len(of), groups, got[job], want[job])
					}
				}
			}
		}
	})
}
