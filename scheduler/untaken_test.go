package scheduler

import (
	"errors"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/runtimes"
)

// TestALateResultDoesNotLengthenItsRun: each run ends five seconds after it was sent, and its result is taken ten minutes later.
func TestALateResultDoesNotLengthenItsRun(t *testing.T) {
	t.Parallel()
	const ended, late = 5 * time.Second, 10 * time.Minute
	result := func(waited time.Duration) func(id int64) []wire.Callback {
		return func(id int64) []wire.Callback {
			return []wire.Callback{{LogID: id, HandleCode: 200, Waited: waited.Milliseconds()}}
		}
	}
	for _, tt := range []struct {
		name      string
		result    func(id int64) []wire.Callback
		meanwhile func(b *bundle, clock *handClock, id int64)
		took      time.Duration // as the run's row has it
		told      event.Key
		from      time.Duration // since when it may have ended, after it was sent
		timed     int           // how many runs the usual duration is made of
	}{
		{"an executor of ours says for how long it waited", result(late), nil, ended, event.EndLate, 0, 1},
		{"it says what cannot be", result(time.Hour), nil, ended + late, event.EndUnsure, 0, 0},
		{"it could not be written when it came first", result(0), func(b *bundle, clock *handClock, id int64) {
			b.engine.untaken.met([]finishing{{id: id, received: clock.now()}}, errors.New("the database is away"))
			clock.pass(late)
		}, ended, event.EndLate, 0, 1},
		{"no admin was there", result(0), func(b *bundle, clock *handClock, _ int64) {
			b.addBeat(addressA)
			if err := b.engine.Stop(b.t.Context()); err != nil {
				b.t.Fatal(err)
			}
			clock.pass(late)
			b.engine = newEngine(b.t, b.pool, b.executors, clock.rule)
			b.startEngine(b.engine)
		}, ended + late, event.EndUnsure, ended, 0},
		{"this admin stood still", result(0), func(b *bundle, clock *handClock, _ int64) {
			m := membership{b.engine}
			m.Beaten(nil)
			clock.pass(late)
			m.Beaten(nil)
		}, ended + late, event.EndUnsure, ended, 0},
		{"nothing is known that kept it", result(0), nil, ended + late, "", 0, 1},
		{"it came at once, by an executor of ours", result(time.Millisecond), func(*bundle, *handClock, int64) {}, ended, "", 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				clock := newHandClock()
				b := setup(t, pool, clock.rule, addressA)
				job := b.addJob(nil)
				id := b.trigger(job)
				b.await("the run is recorded as sent", func() bool { return b.run(id).TriggerCode == 200 })
				if sent := b.run(id).SentAt; sent != clock.now().UnixMilli() {
					t.Fatalf("sent at %d", sent)
				}
				clock.pass(ended)
				if tt.meanwhile != nil {
					tt.meanwhile(b, clock, id)
				} else {
					clock.pass(late)
				}
				if err := b.engine.Complete(t.Context(), tt.result(id)); err != nil {
					t.Fatal(err)
				}
				r := b.run(id)
				if took := time.Duration(r.FinishedAt-r.SentAt) * time.Millisecond; took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
				if wall := pool.FromWall(r.HandleTime.Time); wall.Unix() != r.FinishedAt/1000 {
					t.Errorf("handled at %v, finished at %d", wall, r.FinishedAt)
				}
				for _, key := range []event.Key{event.EndLate, event.EndUnsure} {
					if b.has(id, key) != (key == tt.told) {
						t.Errorf("%s: %v; events %v", key, b.has(id, key), b.events(id))
					}
				}
				if e, ok := b.events(id).Last(event.EndUnsure); ok && (e.Number(0) != r.SentAt+tt.from.Milliseconds() || e.Number(1) != r.FinishedAt) {
					t.Errorf("it ended from %d to %d; sent at %d, finished at %d", e.Number(0), e.Number(1), r.SentAt, r.FinishedAt)
				}
				if e, ok := b.events(id).Last(event.EndLate); ok && e.Duration(0) != late {
					t.Errorf("late by %v", e.Duration(0))
				}
				d, err := runtimes.Of(t.Context(), b.engine.queries, pool, job)
				if err != nil || d.Runs != tt.timed || d.LastGood != id || d.Runs > 0 && d.P50 != tt.took {
					t.Errorf("usually %+v, %v", d, err)
				}
			})
		})
	}
}

// addBeat has an executor register anew.
func (b *bundle) addBeat(address string) {
	b.t.Helper()
	if err := b.engine.Register(b.t.Context(), wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "orders", RegistryValue: address}); err != nil {
		b.t.Fatal(err)
	}
}

// TestALostRunsLateResultHasNoEndOfItsOwn unless its executor says when that was.
func TestALostRunsLateResultHasNoEndOfItsOwn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock()
		b := setup(t, pool, clock.rule, addressA)
		for _, waited := range []time.Duration{0, time.Minute} {
			id := b.trigger(b.addJob(nil))
			b.await("the run is recorded as sent", func() bool { return b.run(id).TriggerCode == 200 })
			clock.pass(2 * time.Minute)
			if err := b.engine.complete(t.Context(), []finishing{{id: id, code: 500, given: event.Lost, mute: true}}); err != nil {
				t.Fatal(err)
			}
			clock.pass(time.Minute)
			if err := b.engine.Complete(t.Context(), []wire.Callback{{LogID: id, HandleCode: 200, Waited: waited.Milliseconds()}}); err != nil {
				t.Fatal(err)
			}
			r := b.run(id)
			if took := time.Duration(r.FinishedAt-r.SentAt) * time.Millisecond; took != 3*time.Minute-waited || r.Outcome != event.Succeeded || b.has(id, event.EndUnsure) != (waited == 0) {
				t.Errorf("waited %v: took %v, %v", waited, took, b.events(id))
			}
		}
	})
}

// TestWhatWasNotTakenIsRememberedWithBounds: of results that another admin took in the end, and of spans that are over.
func TestWhatWasNotTakenIsRememberedWithBounds(t *testing.T) {
	t.Parallel()
	var u untaken
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	after := func(d time.Duration) time.Time { return at.Add(d) }
	away := errors.New("the database is away")
	u.met([]finishing{{id: 1, received: at}, {id: 2, received: at}, {id: 3}}, away)
	u.met([]finishing{{id: 1, received: after(time.Minute)}}, away)
	if got := u.cameFirst(1); !got.Equal(at) {
		t.Errorf("came first at %v", got)
	}
	if !u.cameFirst(3).IsZero() {
		t.Error("what the engine made up is kept")
	}
	u.met([]finishing{{id: 1}}, nil)
	if !u.cameFirst(1).IsZero() || u.waiting.Load() != 1 {
		t.Errorf("%d wait", u.waiting.Load())
	}
	for d := time.Duration(0); d < 2*forgetFirst; d += standstill / 2 {
		u.beat(after(d), time.Minute)
	}
	if u.waiting.Load() != 0 || !u.until.IsZero() {
		t.Errorf("%d wait, a span until %v", u.waiting.Load(), u.until)
	}
	many := make([]finishing, maxFirst+10)
	for i := range many {
		many[i] = finishing{id: int64(i + 1), received: at}
	}
	if u.met(many, away); u.waiting.Load() != maxFirst {
		t.Errorf("%d wait", u.waiting.Load())
	}

	u.note(after(0), after(10*time.Minute), time.Minute)
	for _, tt := range []struct {
		name           string
		sent, received time.Duration
		want           time.Duration
		ok             bool
	}{
		{"sent before the span", -time.Hour, 10*time.Minute + time.Second, 0, true},
		{"sent within", 5 * time.Minute, 11 * time.Minute, 5 * time.Minute, true},
		{"sent after", 10 * time.Minute, 10*time.Minute + time.Second, 0, false},
		{"reported when all that was kept has come", -time.Hour, 11*time.Minute + time.Millisecond, 0, false},
	} {
		if since, ok := u.span(after(tt.sent), after(tt.received)); ok != tt.ok || ok && !since.Equal(after(tt.want)) {
			t.Errorf("%s: %v since %v", tt.name, ok, since.Sub(at))
		}
	}
	u.note(after(10*time.Minute+30*time.Second), after(12*time.Minute), time.Minute)
	if since, ok := u.span(after(-time.Hour), after(12*time.Minute)); !ok || !since.Equal(at) {
		t.Errorf("a span that goes on: %v, %v", since, ok)
	}
	u.note(after(time.Hour), after(2*time.Hour), time.Minute)
	if since, ok := u.span(after(-time.Hour), after(2*time.Hour)); !ok || !since.Equal(after(time.Hour)) {
		t.Errorf("a new span: %v, %v", since, ok)
	}
}
