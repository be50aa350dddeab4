package scheduler

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// sweeping is a bundle whose sweeps the test makes.
func sweeping(t *testing.T, pool *db.Pool, configure func(*Config), addresses ...string) (*bundle, func()) {
	b := setup(t, pool, func(c *Config) {
		c.SweepEvery, c.AskAfter, c.LostAfter = time.Hour, time.Nanosecond, time.Nanosecond
		if configure != nil {
			configure(c)
		}
	}, addresses...)
	s := &sweeper{}
	return b, func() {
		t.Helper()
		if err := b.engine.sweep(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheSweepDoesNotForgetRunsThatAreSentLate: ids below the sweep's low mark are never read again, and a run with a low
// id may be sent long after others with higher ones are over.
func TestTheSweepDoesNotForgetRunsThatAreSentLate(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, sweep := sweeping(t, pool, nil)
		release, open := b.latch()
		b.executors.run = func(_ wire.Target, req *wire.RunRequest) (wire.Answer, error) {
			if req.ExecutorParams == "late" {
				<-release
			}
			return yes, nil
		}
		b.executors.idle = func(string) (wire.Answer, error) {
			return wire.Answer{}, &wire.CallError{Stage: wire.StageDial, Err: errors.New("refused")}
		}
		trigger := func(param string) int64 {
			ids, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: b.addJob(nil), Type: jobspec.TriggerManual, Addresses: []string{addressA}, Param: &param})
			if err != nil {
				t.Fatal(err)
			}
			return ids[0]
		}
		late := trigger("late")
		for range 3 {
			id := trigger("early")
			b.await("it is sent", func() bool { return b.run(id).TriggerCode == 200 })
			b.finish(id, 200, "")
			sweep()
		}
		open()
		b.await("it is sent", func() bool { return b.run(late).TriggerCode == 200 })
		sweep()
		sweep()
		if r := b.run(late); r.HandleCode != 500 {
			t.Errorf("the run that was sent late is not given up: %+v", r)
		}
	})
}

func TestTheSweepForgetsOldRegistrations(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b, sweep := sweeping(t, pool, nil, addressA)
		old := nullTime(b.engine.wall(time.Now().Add(-25 * time.Hour)))
		for value, at := range map[string]any{"http://old/": old, "http://dead/": nullTime(b.engine.wall(time.Now().Add(-time.Hour)))} {
			if _, err := pool.ExecContext(t.Context(), "INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time) VALUES ('EXECUTOR', 'orders', ?, ?)", value, at); err != nil {
				t.Fatal(err)
			}
		}
		sweep()
		rows, err := b.engine.queries.ListRegistry(t.Context(), pool)
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, r := range rows {
			left = append(left, r.RegistryValue)
		}
		if got := strings.Join(left, " "); got != addressA+" http://dead/" && got != "http://dead/ "+addressA {
			t.Errorf("left: %s", got)
		}
	})
}
