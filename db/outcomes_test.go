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
