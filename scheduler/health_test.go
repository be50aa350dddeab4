package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// stands reports whether a condition stands.
func (b *bundle) stands(key ConditionKey) bool {
	return slices.ContainsFunc(b.engine.Conditions(), func(c Condition) bool { return c.Key == key })
}

// ready checks what probes get: for a condition that keeps the engine from scheduling that one, else nothing. A busy machine may keep the
// engine from something else first, such as its beat.
func (b *bundle) ready(want ConditionKey) {
	b.t.Helper()
	b.await("ready says "+strconv.Quote(string(want)), func() bool {
		c, _ := errors.AsType[Condition](b.engine.Ready())
		return c.Key == want
	})
}

// soon waits for what the engine says within five seconds of its looks: who looks as often sees it by then, and what stops the one stops the
// other.
func (b *bundle) soon(what string, ok func() bool) {
	b.t.Helper()
	look := time.NewTicker(healthEvery)
	defer look.Stop()
	for range 5*time.Second/healthEvery + 1 {
		if ok() {
			return
		}
		<-look.C
	}
	b.t.Errorf("not within five seconds: %s", what)
	b.await(what, ok)
}

func TestReadyMeansThatWhatIsDueIsClaimed(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := &bundle{t: t, pool: pool, executors: &fakeExecutors{has: make(map[int64]string)}}
		release, open := b.latch()
		b.engine = newEngine(t, pool, b.executors, nil)
		b.engine.claimer.hang(func(int64) bool { return true }, release)
		b.group = b.addGroup("orders", addressA)
		b.startEngine(b.engine)
		t.Cleanup(open)
		b.ready("")
		b.start(b.addJob(nil), time.Now())
		b.soon("it says that a fire is due and not claimed", func() bool { return b.stands(ConditionDue) })
		b.ready(ConditionDue)
		if f := b.engine.Load(); !f.MayAct || !slices.ContainsFunc(f.Conditions, func(c Condition) bool { return c.Key == ConditionDue && c.Late >= lateBound }) {
			t.Errorf("the page of the nodes hears %+v", f.Conditions)
		}
		open()
		b.await("it is over", func() bool { return !b.stands(ConditionDue) })
		b.ready("")
	})
}

// TestReadyAnswersWhileTheDatabaseHangs has every write of the server wait.
func TestReadyAnswersWhileTheDatabaseHangs(t *testing.T) {
	t.Parallel()
	server := dbtest.NewServer(t)
	url := server.Database(t)
	pool := dbtest.Open(t, db.Config{URL: url})
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := setup(t, pool, nil, addressA)
	sent := b.trigger(b.addJob(nil))
	b.await("a run is sent", func() bool { return b.run(sent).TriggerCode == 200 })
	somebody, err := sql.Open("mysql", url)
	if err != nil {
		t.Fatal(err)
	}
	defer somebody.Close()
	conn, err := somebody.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	b.ready("")
	if _, err := conn.ExecContext(t.Context(), "FLUSH TABLES WITH READ LOCK"); err != nil {
		t.Fatal(err)
	}
	b.soon("it says that the database does not answer", func() bool { return b.stands(ConditionDatabase) })
	quickest := time.Hour // a machine that stops for a second does not do so each time
	for range 5 {
		asked := time.Now()
		if err := b.engine.Ready(); err == nil {
			t.Error("ready says that all is well")
		}
		quickest = min(quickest, time.Since(asked))
	}
	if quickest > time.Second {
		t.Errorf("ready answers after %s", quickest)
	}
	if _, err := conn.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
		t.Fatal(err)
	}
	b.await("it is over", func() bool { return b.engine.Ready() == nil })
}

// TestWhyTheDatabaseTakesNothingIsSaid to whoever asks: a full disk is another thing than a network that is gone.
func TestWhyTheDatabaseTakesNothingIsSaid(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	for number, want := range map[uint16]string{1021: "database full", 1290: "database read_only", 1053: "database"} {
		b.await(want, func() bool {
			b.engine.setErr(&mysql.MySQLError{Number: number})
			return slices.ContainsFunc(b.engine.Conditions(), func(c Condition) bool {
				c.Late = 0
				return c.String() == want
			})
		})
	}
}

// TestResultsThatWaitAreSaidAlthoughEachWriteIsQuick has more results come than are written, some milliseconds each.
func TestResultsThatWaitAreSaidAlthoughEachWriteIsQuick(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := &bundle{t: t, pool: pool, executors: &fakeExecutors{has: make(map[int64]string)}}
		b.engine = newEngine(t, pool, b.executors, nil)
		step := make(chan struct{}) // lets one write begin
		write := b.engine.finisher.write
		b.engine.finisher.max = 1
		b.engine.finisher.write = func(ctx context.Context, batch []finishing) {
			<-step
			write(ctx, batch)
		}
		b.group = b.addGroup("orders", addressA)
		b.startEngine(b.engine)
		const results = 400
		var handed sync.WaitGroup
		for range results {
			handed.Go(func() {
				if err := b.engine.Complete(t.Context(), []wire.Callback{{LogID: 1, HandleCode: 200}}); err != nil {
					t.Error(err)
				}
			})
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			tick := time.NewTicker(30 * time.Millisecond)
			defer tick.Stop()
			for began := time.Now(); !b.stands(ConditionResults) && time.Since(began) < executortest.Patience; {
				select {
				case step <- struct{}{}: // the writes go on
				case <-tick.C:
				}
				<-tick.C
			}
		}()
		b.soon("it says that results wait", func() bool { return b.stands(ConditionResults) })
		<-done
		b.ready(ConditionResults)
		if f := b.engine.Load(); !slices.ContainsFunc(f.Conditions, func(c Condition) bool { return c.Key == ConditionResults && c.Late >= lateBound && c.Count > 0 }) {
			t.Errorf("the page of the nodes hears %+v", f.Conditions)
		}
		if n := testutil.ToFloat64(b.engine.metrics.conditions.WithLabelValues(string(ConditionResults))); n != 1 {
			t.Errorf("the metric says %v", n)
		}
		close(step)
		handed.Wait()
		b.await("it is over", func() bool { return !b.stands(ConditionResults) })
		b.ready("")
	})
}

func TestWhatSomebodyShouldLookAtDoesNotStopTheWork(t *testing.T) {
	t.Parallel()
	var odd setClock
	odd.set(time.Hour)
	b := setup(t, dbtest.New(t, db.MySQL), func(c *Config) { c.Now = odd.now }, addressA)
	b.engine.noteForeign(signPutBack, 1, "job_id", 1)
	for _, key := range []ConditionKey{ConditionClock, ConditionForeign} {
		b.await(string(key), func() bool { return b.stands(key) })
	}
	b.ready("")
}

func TestConditionsBeginAndEndAtTheSecondLook(t *testing.T) {
	t.Parallel()
	b := &bundle{t: t, pool: dbtest.New(t, db.SQLite), executors: &fakeExecutors{has: make(map[int64]string)}}
	b.engine = newEngine(t, b.pool, b.executors, nil)
	stands := func() bool {
		b.engine.lookAtHealth()
		return slices.ContainsFunc(b.engine.standing(), func(c Condition) bool { return c.Key == ConditionForeign })
	}
	var got []bool
	got = append(got, stands())
	b.engine.noteForeign(signRun, 1, "log_id", 1)
	got = append(got, stands(), stands(), stands())
	b.engine.foreign.seen = time.Time{}
	got = append(got, stands(), stands())
	if want := []bool{false, false, true, true, true, false}; !slices.Equal(got, want) {
		t.Errorf("stands %v, want %v", got, want)
	}
}

// Ready reports why the engine does not schedule right now, or nil.
func (e *Engine) Ready() error {
	for _, c := range e.Conditions() {
		if c.Stops() {
			return c
		}
	}
	return nil
}

// Error implements error, for [Engine.Ready].
func (c Condition) Error() string { return c.String() }
