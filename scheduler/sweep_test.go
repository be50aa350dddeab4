package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
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
		b.sweep(s)
	}
}

// sweep makes one, again where a busy machine's database was too slow for it.
func (b *bundle) sweep(s *sweeper) {
	b.t.Helper()
	executortest.Eventually(b.t, "sweep", func() error {
		err := b.engine.sweep(b.t.Context(), s)
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			b.t.Fatal(err)
		}
		return err
	})
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

// TestWhatOneSweepCannotDo keeps it from nothing else: a row that the database refuses to have changed, or that somebody has locked for hours.
func TestWhatOneSweepCannotDo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		one := b.addJob(nil)
		begin := func(steps ...flow.Step) int64 {
			run := b.trigger(b.addFlow(flow.Definition{Steps: steps}, nil))
			b.runOf(run, "first")
			return run
		}
		stuck, settled := begin(step("first", one), step("second", one, "first")), begin(step("first", one), step("second", one, "first"))
		refused, over := begin(step("first", one)), begin(step("first", one))
		late := b.trigger(b.addJob(func(p *db.InsertJobParams) { p.ExecutorHandler = httpcall.Handler }))
		b.await("it is sent", func() bool { return b.run(late).TriggerCode == wire.CodeSuccess })
		if err := b.engine.callbacks.HandOut(t.Context(), Callback{LogID: late, Token: "one", Expires: b.engine.Now().Add(-time.Hour)}); err != nil {
			t.Fatal(err)
		}
		if err := b.engine.callbacks.Await(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		locked := b.addJob(func(p *db.InsertJobParams) { p.ScheduleType, p.ScheduleConf = jobspec.ScheduleFixDelay, "600" })
		delayed := b.addJob(func(p *db.InsertJobParams) { p.ScheduleType, p.ScheduleConf = jobspec.ScheduleFixDelay, "600" })
		b.start(locked, jobspec.Waiting)
		b.start(delayed, jobspec.Waiting)
		b.exec("UPDATE punctual_flow_run SET state = 1, ends = ? WHERE log_id IN (?, ?)", int(flow.Success), refused, over)
		b.exec("UPDATE xxl_job_log SET handle_code = 200 WHERE id IN (?, ?)", b.runOf(stuck, "first"), b.runOf(settled, "first"))
		b.refuse("xxl_job_log", "BEFORE UPDATE", fmt.Sprintf("NEW.id IN (%d, %d)", refused, late))
		b.refuse("xxl_job_info", "BEFORE UPDATE", fmt.Sprintf("NEW.id = %d", locked))
		b.refuse("punctual_flow_run", "BEFORE UPDATE", fmt.Sprintf("NEW.log_id = %d", stuck))
		err := b.engine.sweep(t.Context(), &sweeper{})
		if err == nil {
			t.Error("nothing is said of what could not be done")
		}
		if r := b.run(over); r.Outcome != event.Succeeded {
			t.Errorf("a decided run of a flow is %v", r.Outcome)
		}
		if got := b.states(settled); got != "first success, second running" {
			t.Errorf("a flow whose step ended without it: %s", got)
		}
		if b.job(delayed).TriggerNextTime == jobspec.Waiting.UnixMilli() {
			t.Error("a job that waits for a run that is over waits still")
		}
		if r := b.run(late); r.Outcome != event.Open || b.states(stuck) != "first running, second waiting" || b.run(refused).Outcome != event.Open {
			t.Errorf("what the database refuses: %v, %s, %v", r.Outcome, b.states(stuck), b.run(refused).Outcome)
		}
	})
}
