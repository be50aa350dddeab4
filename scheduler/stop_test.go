package scheduler

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

// TestAStopEndsAlthoughTheNetworkSwallowsEverything stops an engine whose database has vanished without a word while there
// were outcomes and results to write.
func TestAStopEndsAlthoughTheNetworkSwallowsEverything(t *testing.T) {
	t.Parallel()
	cfg, err := mysql.ParseDSN(dbtest.MariaDB(t))
	if err != nil {
		t.Fatal(err)
	}
	network := dbtest.NewProxy(t, cfg.Net, cfg.Addr)
	pool := dbtest.Open(t, db.Config{URL: "mysql://root@" + network.Addr() + "/" + cfg.DBName})
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	log := new(executortest.Output)
	b := setup(t, pool, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) }, addressA)
	reached, answers := make(chan struct{}), make(chan struct{})
	b.executors.run = func(wire.Target, *wire.RunRequest) (wire.Answer, error) {
		close(reached)
		<-answers
		return yes, nil
	}
	id := b.trigger(b.addJob(nil))
	<-reached
	network.Swallow()
	close(answers)
	result := make(chan error, 1)
	go func() {
		result <- b.engine.Complete(context.WithoutCancel(t.Context()), []wire.Callback{{LogID: id, HandleCode: 200}})
	}()
	const limit = 4 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	began := time.Now()
	err = b.engine.Stop(ctx)
	took := time.Since(began)
	t.Logf("stopped after %v: %v", took.Round(10*time.Millisecond), err)
	if err == nil || took > limit+StopsWithin+5*time.Second { // a busy machine's share
		t.Errorf("the stop took %v: %v", took, err)
	}
	if err := <-result; !errors.Is(err, ErrStopping) {
		t.Errorf("the executor that reported is told %v", err)
	}
	if s := log.String(); !strings.Contains(s, "stopped without having recorded what became of some runs") || !strings.Contains(s, "runs=1") {
		t.Errorf("the log does not say what was given up:\n%s", s)
	}
}

// TestLastWritesAreGivenTime: what they need at least when the stop's time is over, and more while it is not.
func TestLastWritesAreGivenTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for left, want := range map[time.Duration]time.Duration{-time.Second: time.Second, 0: time.Second, 100 * time.Millisecond: time.Second, 3 * time.Second: 3 * time.Second, time.Minute: 5 * time.Second} {
			given, cancel := context.WithTimeout(t.Context(), left)
			ctx, done := unhurried(given, time.Second, 5*time.Second)
			if end, _ := ctx.Deadline(); time.Until(end) != want {
				t.Errorf("with %v left: %v, want %v", left, time.Until(end), want)
			}
			done()
			cancel()
			if ctx, done = unhurried(given, time.Second, 5*time.Second); ctx.Err() != nil {
				t.Errorf("with %v left, cancelled: %v", left, ctx.Err())
			}
			if end, _ := ctx.Deadline(); time.Until(end) != time.Second {
				t.Errorf("with %v left, cancelled: %v", left, time.Until(end))
			}
			done()
		}
		ctx, done := unhurried(t.Context(), time.Second, 5*time.Second)
		defer done()
		if end, _ := ctx.Deadline(); time.Until(end) != 5*time.Second {
			t.Errorf("without an end: %v", time.Until(end))
		}
	})
}
