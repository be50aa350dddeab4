package backfill

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/event"
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

// TestWhatBecomesOfAPlannedTime that was sent: its runs are followed through their retries, also those of a broadcast, until all have ended.
func TestWhatBecomesOfAPlannedTime(t *testing.T) {
	t.Parallel()
	type run struct {
		sent, result int64
		outcome      event.Outcome
		retries      []int64 // that came in its place
	}
	good, bad, goesOn := run{200, 200, event.Succeeded, nil}, run{200, 500, event.Failed, nil}, run{200, 0, event.Open, nil}
	again := func(retries ...int64) run { return run{200, 500, event.Failed, retries} }
	tests := []struct {
		name              string
		runs              map[int64]run
		ids               []int64
		succeeded, failed int64
		open              []int64 // the runs that are looked at the next time
	}{
		{"it succeeds", map[int64]run{1: good}, []int64{1}, 1, 0, nil},
		{"it fails", map[int64]run{1: bad}, []int64{1}, 0, 1, nil},
		{"it goes on", map[int64]run{1: goesOn}, []int64{1}, 0, 0, []int64{1}},
		{"its record is gone, and nobody can say that it succeeded", nil, []int64{1}, 0, 1, nil},
		{"the record of one of its shards is gone, and the others go on", map[int64]run{2: goesOn}, []int64{1, 2}, 0, 0, []int64{1, 2}},
		{"one of its shards fails", map[int64]run{1: bad, 2: good}, []int64{1, 2}, 0, 1, nil},
		{"its retry goes on, and is what is looked at from now on", map[int64]run{1: again(2), 2: goesOn}, []int64{1}, 0, 0, []int64{2}},
		{"its second retry succeeds", map[int64]run{1: again(2), 2: again(3), 3: good}, []int64{1}, 1, 0, nil},
		{"one of the shards of its retry fails", map[int64]run{1: again(2, 3), 2: good, 3: bad}, []int64{1}, 0, 1, nil},
		{"one of the shards of its retry goes on", map[int64]run{1: again(2, 3), 2: good, 3: goesOn}, []int64{1}, 0, 0, []int64{2, 3}},
	}
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s, err := New(Config{Pool: pool, Logger: slog.New(slog.DiscardHandler), Send: func(context.Context, Request) error { t.Error("sent"); return nil }})
		if err != nil {
			t.Fatal(err)
		}
		q, now := db.New(), time.UnixMilli(1_000_000)
		made, open := make([]int64, len(tests)), 0
		from := func(i int, ids []int64) (moved []int64) { // ids of its own for each case
			for _, id := range ids {
				moved = append(moved, int64(10*i)+id)
			}
			return moved
		}
		for i, tt := range tests {
			for id, r := range tt.runs {
				events := event.List{event.New(now, event.Asked, "", 1_000_000)} // a number that is no retry's
				for n, retry := range from(i, r.retries) {
					events = append(events, event.New(now, event.Retry, n+1, retry))
				}
				if _, err := pool.ExecContext(t.Context(), "INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code, outcome, events) VALUES (?, 1, 1, ?, ?, ?, ?)",
					int64(10*i)+id, r.sent, r.result, int64(r.outcome), events.Stored()); err != nil {
					t.Fatal(err)
				}
			}
			id, err := q.InsertBackfill(t.Context(), pool, db.InsertBackfillParams{JobID: 1, Kind: OfSchedule, AtOnce: 1, State: Running, Total: 1, MadeBy: "ann"})
			if err != nil {
				t.Fatal(err)
			}
			made[i] = id
			if err := db.InsertBackfillRuns(t.Context(), pool, []db.BackfillRun{{BackfillID: id, PlannedFor: 1}}); err != nil {
				t.Fatal(err)
			}
			if n, err := q.MoveBackfill(t.Context(), pool, db.MoveBackfillParams{ID: id, State: Running}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			if n, err := q.SendBackfillRun(t.Context(), pool, db.SendBackfillRunParams{BackfillID: id, LogIds: db.Text(db.IDList(from(i, tt.ids)))}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			if tt.open != nil {
				open++
			}
		}
		for range 2 { // the second finds no more to count
			if n, err := s.Round(t.Context()); n != open || err != nil {
				t.Errorf("%d are open, %v, want %d", n, err, open)
			}
		}
		for i, tt := range tests {
			b, err := q.GetBackfill(t.Context(), pool, made[i])
			if err != nil {
				t.Fatal(err)
			}
			if b.Succeeded != tt.succeeded || b.Failed != tt.failed || (b.State == Done) != (tt.open == nil) || (b.EndedAt > 0) != (tt.open == nil) {
				t.Errorf("%s: %+v", tt.name, b)
			}
			r, err := q.GetBackfillRun(t.Context(), pool, db.GetBackfillRunParams{BackfillID: made[i]})
			if err != nil {
				t.Fatal(err)
			}
			if ids := db.ReadIDs(string(r.LogIds)); tt.open != nil && !slices.Equal(ids, from(i, tt.open)) {
				t.Errorf("%s: %v are looked at, want %v", tt.name, ids, from(i, tt.open))
			}
		}
	})
}
