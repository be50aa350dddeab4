package scheduler

import (
	"context"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

func TestRatesAreOfTheLastBeats(t *testing.T) {
	t.Parallel()
	var r rates
	if c, s := r.read(); c != 0 || s != 0 {
		t.Errorf("%v and %v before the first beat", c, s)
	}
	at := time.Unix(1000, 0)
	for range 3 * rateBeats {
		r.mark(at)
		r.claimed.Add(7)
		r.sent.Add(4)
		at = at.Add(2 * time.Second)
	}
	for range rateBeats { // quiet since
		r.mark(at)
		at = at.Add(2 * time.Second)
	}
	if c, s := r.read(); c != 0.35 || s != 0.2 { // one busy beat of ten is left
		t.Errorf("%v claimed and %v sent in a second", c, s)
	}
	r.mark(at)
	if c, s := r.read(); c != 0 || s != 0 {
		t.Errorf("%v and %v when nothing happened for long", c, s)
	}
}

func TestABeatTellsWhatTheAdminHasInHand(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		e := idle(t, pool, nil)
		if err := e.node.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = e.node.Stop(context.WithoutCancel(t.Context())) }()
		for range 5 {
			e.pulse.add(e.now(), 80*time.Millisecond)
			e.rates.sent.Add(1)
		}
		e.draining.Store(true)
		e.node.BeatSoon()
		var nodes []db.Node
		(&bundle{t: t, pool: pool, engine: e}).await("a beat tells that it drains", func() (told bool) {
			var err error
			if nodes, err = e.queries.ListNodes(t.Context(), pool); err != nil || len(nodes) != 1 {
				t.Fatalf("%+v, %v", nodes, err)
			}
			f, _ := ParseFigures(nodes[0].LoadFigures)
			return f.Draining
		})
		f, ok := ParseFigures(nodes[0].LoadFigures)
		if !ok || !f.Draining || f.Held || f.Memory <= 0 || f.Late < 80*time.Millisecond || f.Late > 100*time.Millisecond {
			t.Errorf("the row says %q", nodes[0].LoadFigures)
		}
	})
}

func TestFiguresOfAnOlderAdminAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", "7"} {
		if f, ok := ParseFigures(text); ok {
			t.Errorf("%q is read as %+v", text, f)
		}
	}
}
