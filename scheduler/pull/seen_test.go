package pull_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/pull"
)

// handClock is a clock of all admins that only a test moves.
type handClock struct{ ahead atomic.Int64 }

var handStart = time.Now()

func (c *handClock) now() time.Time { return handStart.Add(time.Duration(c.ahead.Load())) }

func (c *handClock) use(cfg *pull.Config) { cfg.Now = c.now }

// pass moves the clock as time does for admins that are well: they write down whom they see on the way.
func (c *handClock) pass(t *testing.T, by time.Duration, admins ...*admin) {
	t.Helper()
	look := func() {
		for _, a := range admins {
			if err := a.WriteSeen(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	look()
	for ; by > 0; by -= pull.SeenEvery {
		c.ahead.Add(int64(min(by, pull.SeenEvery)))
		look()
	}
}

// asks has an executor ask once, for a moment.
func asks(t *testing.T, a *admin, name string) {
	t.Helper()
	req := ask(name)
	req.Wait = 1
	if r, err := a.Pull(t.Context(), req); err != nil || len(r.Calls) != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
}

// refusal is the error of a call to the executor that is refused at once; nil when it waits for it.
func refusal(t *testing.T, a *admin, to wire.Target) *wire.SilentError {
	t.Helper()
	ctx, cancel := context.WithCancel(limited(t))
	defer cancel()
	if _, is := a.Silent(ctx, to); !is { // it would wait: for a moment is enough to see
		ctx, cancel = context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
	}
	_, err := a.client.Beat(ctx, to)
	silent, is := errors.AsType[*wire.SilentError](err)
	switch {
	case err == nil:
		t.Error("somebody answered")
	case is && (wire.Delivered(err) || wire.FaultOf(err) != wire.FaultSilent):
		t.Errorf("%v: delivered %v, fault %s", err, wire.Delivered(err), wire.FaultOf(err))
	case !is && wire.FaultOf(err) != wire.FaultNotFetched && wire.FaultOf(err) != wire.FaultLate:
		t.Errorf("%v: fault %s", err, wire.FaultOf(err))
	}
	return silent
}

// TestACallToASilentExecutorIsRefusedAtOnce: no admin has heard of it for longer than it may take, and each says since when.
func TestACallToASilentExecutorIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := new(handClock)
		one, two := newAdmin(t, pool, true, clock.use), newAdmin(t, pool, true, clock.use)
		clock.pass(t, wire.MaxPullWait+pull.Grace+time.Second, one, two)
		before := clock.now()
		asks(t, one, "p-1")
		after := clock.now()
		clock.pass(t, pull.Grace-time.Second, one, two)
		for _, a := range []*admin{one, two} {
			if err := refusal(t, a, target); err != nil {
				t.Errorf("it may be between two pulls: %v", err)
			}
		}
		clock.pass(t, 2*time.Second, one, two)
		for _, a := range []*admin{one, two} {
			var err *wire.SilentError
			eventually(t, "a call to an executor that has not asked is refused", func() bool { // a database that is slow to say so lets it wait
				had := rows(t, pool)
				if err = refusal(t, a, target); err == nil {
					clock.pass(t, time.Second, one, two)
					return false
				}
				if n := rows(t, pool); n > had { // one that waited before has left its row
					t.Errorf("%d rows were written", n-had)
				}
				return true
			})
			if err.Since.Before(before.Add(-time.Millisecond)) || err.Since.After(after) {
				t.Errorf("since %s, asked between %s and %s", err.Since, before, after)
			}
		}
		// It is back, and asks one admin only.
		_, b := startExecutor(t, balance(t, one))
		eventually(t, "both call again", func() bool {
			first, err1 := one.client.Beat(limited(t), target)
			second, err2 := two.client.Beat(limited(t), target)
			return err1 == nil && first.OK() && err2 == nil && second.OK()
		})
		everything(t, two, 1, b, one.of)
	})
}

// TestAloneAnAdminGoesByWhatItSees: nothing is written where there is one.
func TestAloneAnAdminGoesByWhatItSees(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.SQLite)
	clock := new(handClock)
	a := newAdmin(t, pool, false, clock.use)
	started := clock.now()
	clock.pass(t, wire.MaxPullWait+pull.Grace-time.Second, a)
	if err := refusal(t, a, target); err != nil {
		t.Errorf("the admin has just started: %v", err)
	}
	clock.pass(t, 2*time.Second, a)
	if err := refusal(t, a, target); err == nil || err.Since.Before(started.Add(-time.Second)) || err.Since.After(started.Add(2*pull.SeenEvery)) {
		t.Errorf("it has never asked: %v, started at %s", err, started)
	}
	// One that waits is there, however long it does.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error, 1)
	go func() {
		req := ask("p-1")
		req.RegistryValue = "pull://box-2"
		_, err := a.Pull(ctx, req)
		result <- err
	}()
	second := wire.Target{Address: "pull://box-2", AppName: "orders"}
	eventually(t, "it asks", func() bool { return a.Open() == 1 })
	clock.pass(t, time.Hour, a)
	if since, silent := a.Silent(t.Context(), second); silent {
		t.Errorf("one that waits is silent since %s", since)
	}
	cancel()
	<-result
	if since, silent := a.Silent(t.Context(), second); silent {
		t.Errorf("one that waited just now is silent since %s", since)
	}
	clock.pass(t, 20*time.Second+pull.Grace+time.Second, a)
	if _, silent := a.Silent(t.Context(), second); !silent {
		t.Error("one that is gone is not silent")
	}
	var n int
	if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_pull_seen").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rows were written, %v", n, err)
	}
}

// TestWhoCouldNotLookRefusesNothing: an admin was frozen, or the database was away, and executors may have asked others meanwhile, or have not
// been able to.
func TestWhoCouldNotLookRefusesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := new(handClock)
		one, two := newAdmin(t, pool, true, clock.use), newAdmin(t, pool, true, clock.use)
		both := []*admin{one, two}
		long := wire.MaxPullWait + pull.Grace + time.Second
		clock.pass(t, long, both...)
		asks(t, one, "p-1")
		clock.pass(t, pull.SeenEvery, both...)
		clock.ahead.Add(int64(time.Minute)) // a freeze of both
		for _, a := range both {
			if err := a.WriteSeen(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := refusal(t, a, target); err != nil {
				t.Errorf("after a freeze: %v", err)
			}
		}
		clock.pass(t, long, both...)
		for _, a := range both {
			if err := refusal(t, a, target); err == nil {
				t.Error("it has had time to ask since")
			}
		}
		rename := func(from, to string) {
			t.Helper()
			if _, err := pool.ExecContext(context.WithoutCancel(t.Context()), fmt.Sprintf("ALTER TABLE %s RENAME TO %s", from, to)); err != nil {
				t.Fatal(err)
			}
		}
		rename("punctual_pull_seen", "punctual_pull_seen_away")
		if err := refusal(t, one, target); err != nil {
			t.Errorf("the database is away: %v", err)
		}
		for range 5 {
			clock.ahead.Add(int64(pull.SeenEvery))
			for _, a := range both {
				if err := a.WriteSeen(t.Context()); err == nil {
					t.Error("written without a table")
				}
			}
		}
		rename("punctual_pull_seen_away", "punctual_pull_seen")
		for _, a := range both {
			if err := a.WriteSeen(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := refusal(t, a, target); err != nil {
				t.Errorf("the database has just come back: %v", err)
			}
		}
	})
}

// TestNamesAreBounded: who has a token may ask under any number of names.
func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	clock := new(handClock)
	a := newAdmin(t, dbtest.New(t, db.SQLite), false, clock.use)
	knock := func(name string) error {
		_, err := a.Pull(t.Context(), wire.PullRequest{RegistryKey: "orders", RegistryValue: "pull://" + name})
		return err
	}
	for i := range pull.MaxPulls {
		if err := knock(fmt.Sprint("n-", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := knock("one-more"); !errors.Is(err, pull.ErrTooMany) {
		t.Errorf("one name more: %v", err)
	}
	if err := knock("n-1"); err != nil {
		t.Errorf("a known name: %v", err)
	}
	clock.pass(t, wire.MaxPullWait+pull.Grace+time.Second, a)
	if err := knock("one-more"); err != nil {
		t.Errorf("when the others do not come any more: %v", err)
	}
}
