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

// TestForgettingNotesAndTrialsLocksNoRun: results write the runs all the time, and neither waits for the other.
func TestForgettingNotesAndTrialsLocksNoRun(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL) // the embedded database lets writers in one after the other
	s := newService(t, pool, nil)
	ctx := t.Context()
	run, err := db.InsertRuns(ctx, pool, []db.NewRun{{JobID: 1, Type: jobspec.TriggerTrial, TriggerTime: pool.Wall(s.cfg.Now())}})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{run, run + 1} {
		if err := s.queries.InsertTrial(ctx, pool, db.InsertTrialParams{LogID: id, JobID: 1, MadeAt: 1, Source: "x"}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.queries.InsertNote(ctx, pool, db.InsertNoteParams{JobGroup: 1, RunID: id, At: 1, Note: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, "UPDATE xxl_job_log SET handle_code = 200 WHERE id = ?", run); err != nil {
		t.Fatal(err)
	}
	if err := s.forgetTrials(ctx); err != nil {
		t.Errorf("trials, while a result is written: %v", err)
	}
	if err := s.forgetNotes(ctx); err != nil {
		t.Errorf("notes, while a result is written: %v", err)
	}
	for id, want := range map[int64]int{run: 1, run + 1: 0} {
		notes, err := s.queries.ListNotesOfRun(ctx, pool, db.ListNotesOfRunParams{RunID: id, Limit: 10})
		if err != nil || len(notes) != want {
			t.Errorf("run %d has %d notes, %v, want %d", id, len(notes), err, want)
		}
		if _, err := s.queries.GetTrial(ctx, pool, id); (err == nil) != (want == 1) {
			t.Errorf("the trial of run %d: %v", id, err)
		}
	}
}
