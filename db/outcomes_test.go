package db_test

import (
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
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
		list, err := db.ListOutcomes(t.Context(), pool, jobs, 3)
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
		if list, err := db.ListOutcomes(t.Context(), pool, nil, 3); err != nil || list != nil {
			t.Errorf("of no jobs: %v, %v", list, err)
		}
	})
}

func TestAnOutcomeTellsSkippedFromFailed(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		messages := []string{"trigger type: MISFIRE\nresult: skipped: 3 fires passed", "trigger type: MISFIRE\nresult: no executor is registered", "trigger type: CRON\nresult: job stopped: no more times", "trigger type: RETRY\nresult: killed by ann before it was sent"}
		var runs []db.NewRun
		for _, m := range messages {
			runs = append(runs, db.NewRun{JobGroup: 1, JobID: 7, TriggerTime: seedTime, PlannedAt: 5, TriggerCode: 500, Type: "MISFIRE", Message: m})
		}
		runs = append(runs, db.NewRun{JobGroup: 1, JobID: 7, TriggerTime: seedTime, TriggerCode: 200})
		first, err := db.InsertRuns(t.Context(), pool, runs)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_log SET handle_code = 500, handle_msg = 'killed by ann: ok' WHERE id = ?", first+4); err != nil {
			t.Fatal(err)
		}
		list, err := db.ListOutcomes(t.Context(), pool, []int64{7}, 30)
		if err != nil || len(list) != 5 {
			t.Fatalf("%+v, %v", list, err)
		}
		if list[0].Note != "killed by ann: ok" || list[0].Skipped || !list[1].Killed || !list[2].Skipped || list[3].Skipped || list[3].Killed || !list[4].Skipped || list[4].PlannedAt != 5 || !list[4].TriggerTime.Time.Equal(seedTime) {
			t.Errorf("got %+v", list)
		}
	})
}
