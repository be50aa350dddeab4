package upkeep

import (
	"slices"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestNotesGo: those of runs with these, those of jobs with these, and the others when they are old.
func TestNotesGo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := newService(t, pool, nil)
		ctx := t.Context()
		run, err := db.InsertRuns(ctx, pool, []db.NewRun{{JobID: 1, Type: jobspec.TriggerManual, TriggerTime: pool.Wall(s.cfg.Now())}})
		if err != nil {
			t.Fatal(err)
		}
		now := s.cfg.Now()
		note := func(runID int64, at time.Time) int64 {
			id, err := s.queries.InsertNote(ctx, pool, db.InsertNoteParams{JobGroup: 1, RunID: runID, At: at.UnixMilli(), Note: "x"})
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		ofGone, err := s.queries.InsertNote(ctx, pool, db.InsertNoteParams{JobGroup: 1, JobID: 77, At: now.UnixMilli(), Note: "x"})
		if err != nil {
			t.Fatal(err)
		}
		want := []int64{note(run, now.Add(-2*keepNotes)), note(0, now.Add(time.Hour-keepNotes))}
		gone := []int64{note(run+1, now), note(0, now.Add(-time.Hour-keepNotes)), ofGone}
		if err := s.forgetOld(ctx); err != nil {
			t.Fatal(err)
		}
		var left []int64
		for _, id := range slices.Concat(want, gone) {
			if _, err := s.queries.GetNote(ctx, pool, id); err == nil {
				left = append(left, id)
			}
		}
		if !slices.Equal(left, want) {
			t.Errorf("left are %v, want %v", left, want)
		}
	})
}
