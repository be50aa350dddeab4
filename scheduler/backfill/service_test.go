package backfill

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestWhatAServiceIsMadeOf: three things it cannot do without, and for the rest there are defaults.
func TestWhatAServiceIsMadeOf(t *testing.T) {
	t.Parallel()
	pool, log, send := new(db.Pool), slog.New(slog.DiscardHandler), func(context.Context, Request) error { return nil }
	for name, cfg := range map[string]Config{"nothing": {}, "no database": {Logger: log, Send: send}, "no log": {Pool: pool, Send: send}, "nobody who sends": {Pool: pool, Logger: log}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%s is enough", name)
		}
	}
	s, err := New(Config{Pool: pool, Logger: log, Send: send})
	if err != nil {
		t.Fatal(err)
	}
	if c := s.cfg; !c.Leads() || c.Every != time.Second || c.IdleEvery != 5*time.Second || c.KeepFor != 90*24*time.Hour || time.Since(c.Now()) > time.Hour {
		t.Errorf("the defaults are %+v", c)
	}
	if changes, cancel := s.cfg.Changes(); changes != nil {
		t.Error("there are changes to hear of")
	} else {
		cancel()
	}
	if s, err = New(Config{Pool: pool, Logger: log, Send: send, Leads: func() bool { return false }, Every: 1, IdleEvery: 2, KeepFor: 3}); err != nil || s.cfg.Leads() || s.cfg.Every != 1 || s.cfg.IdleEvery != 2 || s.cfg.KeepFor != 3 {
		t.Errorf("what was asked for became %+v, %v", s.cfg, err)
	}
}

// over makes a backfill that ended at a time.
func over(t *testing.T, pool *db.Pool, at time.Time) int64 {
	t.Helper()
	q := db.New()
	id, err := q.InsertBackfill(t.Context(), pool, db.InsertBackfillParams{JobID: 1, Kind: OfSchedule, AtOnce: 1, State: Running, Total: 1, MadeBy: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.InsertBackfillRuns(t.Context(), pool, []db.BackfillRun{{BackfillID: id, PlannedFor: 1}}); err != nil {
		t.Fatal(err)
	}
	if n, err := q.EndBackfill(t.Context(), pool, db.EndBackfillParams{ID: id, OldState: Running, NewState: Done, EndedAt: at.UnixMilli()}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	return id
}

// TestBackfillsThatHaveBeenOverForLongAreDeleted, with their planned times, by the admin that leads, and looked for once an hour.
func TestBackfillsThatHaveBeenOverForLongAreDeleted(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		looks, leads := make(chan struct{}), make(chan bool)
		s, err := New(Config{
			Pool: pool, Logger: slog.New(slog.DiscardHandler), Send: func(context.Context, Request) error { return nil },
			Now: func() time.Time { return now }, Leads: func() bool { looks <- struct{}{}; return <-leads },
		})
		if err != nil {
			t.Fatal(err)
		}
		const day = 24 * time.Hour
		gone := []int64{over(t, pool, now.Add(-91*day)), over(t, pool, now.Add(-1000*day))}
		kept := over(t, pool, now.Add(-90*day))
		there := func() (ids []int64) {
			t.Helper()
			rows, err := pool.QueryContext(t.Context(), "SELECT b.id FROM punctual_backfill b JOIN punctual_backfill_run r ON r.backfill_id = b.id ORDER BY b.id")
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			for rows.Next() {
				var id int64
				if err := rows.Scan(&id); err != nil {
					t.Fatal(err)
				}
				ids = append(ids, id)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			return ids
		}
		s.Start()
		s.Start() // of which the second is none
		<-looks
		is := func(what string, want ...int64) {
			t.Helper()
			if got := there(); !slices.Equal(got, want) {
				t.Errorf("%s: %v are there, want %v", what, got, want)
			}
		}
		// round has the service look, and waits until it has.
		round := func(lead bool) {
			leads <- lead
			s.Wake()
			<-looks
		}
		round(false)
		is("by one that does not lead", gone[0], gone[1], kept)
		round(true)
		is("by one that leads", kept)
		late := over(t, pool, now.Add(-91*day))
		now = now.Add(time.Hour)
		round(true)
		is("an hour later", kept, late)
		now = now.Add(time.Millisecond)
		round(true)
		is("and a bit")
		var left int
		if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_backfill_run").Scan(&left); err != nil || left != 0 {
			t.Errorf("%d planned times are left, %v", left, err)
		}
		stopped := make(chan error)
		go func() { stopped <- s.Stop(t.Context()) }()
		leads <- false
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if err := s.Stop(t.Context()); err != nil {
			t.Errorf("stopped twice: %v", err)
		}
		s.Start()
		<-looks
		go func() { leads <- false }()
		if err := s.Stop(t.Context()); err != nil {
			t.Errorf("started and stopped once more: %v", err)
		}
	})
}
