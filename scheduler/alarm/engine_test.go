package alarm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// fakeExecutors takes every run, unless told that nobody listens.
type fakeExecutors struct {
	mu     sync.Mutex
	deaf   bool
	sent   chan int64
	onKill func(logID int64)
}

func (f *fakeExecutors) away() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.deaf {
		return errors.New("connection refused")
	}
	return nil
}

func (f *fakeExecutors) setDeaf(deaf bool) { f.mu.Lock(); f.deaf = deaf; f.mu.Unlock() }

var yes = wire.Answer{Code: wire.CodeSuccess}

func (f *fakeExecutors) Beat(context.Context, wire.Target) (wire.Answer, error) { return yes, f.away() }

func (f *fakeExecutors) IdleBeat(context.Context, wire.Target, wire.IdleBeatRequest) (wire.Answer, error) {
	return yes, f.away()
}

func (f *fakeExecutors) Takes(wire.Target) bool { return false }

func (f *fakeExecutors) RunAll(_ context.Context, _ wire.Target, reqs []*wire.RunRequest) []wire.Told {
	if err := f.away(); err != nil {
		return []wire.Told{{Err: err}}
	}
	f.sent <- reqs[0].LogID
	return []wire.Told{{Answer: yes}}
}

func (f *fakeExecutors) Kill(_ context.Context, _ wire.Target, req wire.KillRequest) (wire.Answer, error) {
	if f.onKill != nil {
		f.onKill(req.LogID)
	}
	return yes, nil
}

func (f *fakeExecutors) Log(context.Context, wire.Target, wire.LogRequest) (wire.LogResult, wire.Answer, error) {
	return wire.LogResult{}, yes, nil
}

// system is an engine and an alarmer that run, on the clock on the wall.
type system struct {
	*bundle
	engine    *scheduler.Engine
	executors *fakeExecutors
	mails     *mailServer
}

func start(t *testing.T, pool *db.Pool) *system {
	t.Helper()
	return startLooking(t, pool, 0)
}

// startLooking is start with an alarmer that looks what there is to do by itself every so often, as it is told to besides.
func startLooking(t *testing.T, pool *db.Pool, tick time.Duration) *system {
	t.Helper()
	b := setup(t, pool, func(c *Config) { c.Now, c.Tick = nil, tick })
	b.clock.set(time.Now())
	s := &system{bundle: b, executors: &fakeExecutors{sent: make(chan int64, 1000)}, mails: newMailServer(t, mailServerOptions{})}
	b.addChannel(b.mailChannel(s.mails, "a@example.com"), Causes()...)
	engine, err := scheduler.New(scheduler.Config{
		Pool: pool, Executors: s.executors, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Alarms: b.a,
		ClaimEvery: 20 * time.Millisecond, SweepEvery: 50 * time.Millisecond, RetryBackoff: 10 * time.Millisecond,
		AskAfter: time.Millisecond, LostAfter: 200 * time.Millisecond, IdleAfter: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.engine = engine
	if err := engine.Register(t.Context(), wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "orders", RegistryValue: "http://10.0.0.1:9999/"}); err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); b.a.Run(ctx) }()
	t.Cleanup(func() {
		stop, end := context.WithTimeout(context.Background(), executortest.Patience)
		defer end()
		_ = engine.Stop(stop)
		cancel()
		<-done
	})
	return s
}

func (s *system) trigger(jobID int64) int64 {
	s.t.Helper()
	ids, err := s.engine.Trigger(s.t.Context(), scheduler.TriggerRequest{JobID: jobID, Type: jobspec.TriggerManual, User: "me"})
	if err != nil || len(ids) != 1 {
		s.t.Fatalf("trigger: %v, %v", ids, err)
	}
	return ids[0]
}

func (s *system) sent() int64 {
	s.t.Helper()
	select {
	case id := <-s.executors.sent:
		return id
	case <-time.After(executortest.Patience):
		s.t.Fatal("nothing is sent")
		return 0
	}
}

func (s *system) finish(id int64, code int, msg string) {
	s.t.Helper()
	if err := s.engine.Complete(s.t.Context(), []wire.Callback{{LogID: id, HandleCode: code, HandleMsg: msg}}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *system) mail(want string) letter {
	s.t.Helper()
	select {
	case m := <-s.mails.arrived:
		if m.subject != want {
			s.t.Fatalf("mail %q, want %q\n%s", m.subject, want, m.text)
		}
		return m
	case <-time.After(executortest.Patience):
		s.t.Fatalf("no mail %q", want)
		return letter{}
	}
}

// status waits for what becomes of a run's alarm.
func (s *system) status(id, want int64) {
	s.t.Helper()
	deadline := time.Now().Add(executortest.Patience)
	for s.alarmStatus(id) != want {
		if time.Now().After(deadline) {
			s.t.Fatalf("alarm_status of run %d = %d, want %d", id, s.alarmStatus(id), want)
		}
	}
}

// TestAMailLeavesWithItsFailure, and not only when the alarmer looks by itself what there is to do.
func TestAMailLeavesWithItsFailure(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := startLooking(t, pool, time.Hour)
		job := s.addJob("job", "")
		s.trigger(job)
		s.finish(s.sent(), 500, "boom")
		s.mail("[Punctual] Failed: job")
	})
}

func TestTheEngineRaisesWhatPeopleHear(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := start(t, pool)
		job := s.addJob("job", "")
		s.exec("UPDATE xxl_job_info SET executor_fail_retry_count = 1 WHERE id = ?", job)

		// The first failure is retried, so it is no alarm; the second is the last.
		first := s.trigger(job)
		s.finish(s.sent(), 500, "first try")
		second := s.sent()
		if st := s.alarmStatus(first); st != runNobody {
			t.Errorf("alarm_status of a run that is retried = %d", st)
		}
		s.finish(second, 500, "second try")
		m := s.mail("[Punctual] Failed: job")
		if !strings.Contains(m.text, "second try") || strings.Contains(m.text, "first try") {
			t.Errorf("mail:\n%s", m.text)
		}
		s.status(second, runTold)

		ok := s.trigger(job)
		s.finish(s.sent(), 200, "")
		s.mail("[Punctual] Recovered: job")
		if st := s.alarmStatus(ok); st != 0 {
			t.Errorf("alarm_status of a success = %d", st)
		}

		slow := s.addJob("timeout", "")
		s.trigger(slow)
		s.finish(s.sent(), 502, "took too long")
		s.mail("[Punctual] Timed out: timeout")

		gone := s.addJob("lost", "")
		s.trigger(gone)
		lost := s.sent()
		s.executors.setDeaf(true)
		m = s.mail("[Punctual] Result lost: lost")
		if !strings.Contains(m.text, "does not answer") && !strings.Contains(m.text, "nobody listens") {
			t.Errorf("mail:\n%s", m.text)
		}
		unsent := s.addJob("unsent", "")
		failed := s.trigger(unsent)
		s.mail("[Punctual] Not sent: unsent")
		s.status(failed, runTold)

		// The result comes after all.
		s.executors.setDeaf(false)
		s.finish(lost, 200, "it was busy")
		s.mail("[Punctual] Recovered: lost")

		broken := s.addJob("broken", "")
		s.exec("UPDATE xxl_job_info SET schedule_type = 'CRON', schedule_conf = 'nonsense', trigger_status = 1, trigger_next_time = ? WHERE id = ?", time.Now().UnixMilli(), broken)
		m = s.mail("[Punctual] Not sent: broken")
		if !strings.Contains(m.text, "The job was stopped: ") {
			t.Errorf("mail:\n%s", m.text)
		}

		late := s.addJob("late", "")
		s.exec("UPDATE xxl_job_info SET schedule_type = 'FIX_RATE', schedule_conf = '3600', trigger_status = 1, trigger_next_time = ? WHERE id = ?",
			time.Now().Add(-time.Hour+time.Minute).UnixMilli(), late)
		m = s.mail("[Punctual] Fires skipped: late")
		if !strings.Contains(m.text, "Skipped: ") {
			t.Errorf("mail:\n%s", m.text)
		}
	})
}

// TestHowALongRunEndsIsToldToo: that somebody was told of it while it went on is no reason to keep its end from them.
func TestHowALongRunEndsIsToldToo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := start(t, pool)
		job := s.addJob("job", "")
		s.exec("UPDATE xxl_job_info SET warn_after_seconds = 60 WHERE id = ?", job)
		id := s.trigger(job)
		s.sent()
		s.untilSent(id)
		if err := s.a.watchOnce(t.Context(), time.Now().Add(2*time.Minute)); err != nil {
			t.Fatal(err)
		}
		s.mail("[Punctual] Running long: job")
		settled := time.Now().Add(executortest.Patience)
		for left := 1; left > 0; {
			if err := s.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_alarm_notice WHERE state <> 2").Scan(&left); err != nil || time.Now().After(settled) {
				t.Fatalf("%d notices are not settled, %v", left, err)
			}
		}
		s.finish(id, 502, "took too long")
		s.mail("[Punctual] Timed out: job")
		s.status(id, runTold)
	})
}

func TestARunSomebodyKilledIsNoAlarm(t *testing.T) {
	t.Parallel()
	s := start(t, dbtest.New(t, db.SQLite))
	for i, reports := range []bool{false, true} { // whether the executor's own report is here first
		job := s.addJob(fmt.Sprint("job ", i), "")
		s.executors.onKill = nil
		if reports {
			s.executors.onKill = func(id int64) { s.finish(id, 500, "killed, said the executor") }
		}
		s.trigger(job)
		id := s.sent()
		s.untilSent(id)
		if err := s.engine.Kill(t.Context(), id, "me"); err != nil {
			t.Fatal(err)
		}
		if st := s.alarmStatus(id); st != runNobody {
			t.Errorf("alarm_status of a killed run = %d, want %d", st, runNobody)
		}
	}
	var n int
	if err := s.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_alarm_event").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d events, %v", n, err)
	}
}

// untilSent waits until a run is recorded as sent.
func (s *system) untilSent(id int64) {
	s.t.Helper()
	changes, cancel := s.engine.Subscribe()
	defer cancel()
	deadline := time.After(executortest.Patience)
	for {
		run, err := db.New().GetRun(s.t.Context(), s.pool, id)
		if err != nil {
			s.t.Fatal(err)
		}
		if run.TriggerCode == 200 {
			return
		}
		select {
		case <-changes:
		case <-time.After(50 * time.Millisecond):
		case <-deadline:
			s.t.Fatal("the run is not recorded as sent")
		}
	}
}

func TestWithoutAChannelNothingIsWritten(t *testing.T) {
	t.Parallel()
	s := start(t, dbtest.New(t, db.SQLite))
	list, err := s.a.Channels(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if err := s.a.DeleteChannel(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
	}
	id := s.trigger(s.job)
	s.finish(s.sent(), 500, "boom")
	if st := s.alarmStatus(id); st != runNobody {
		t.Errorf("alarm_status = %d, want %d: an old admin that is put back must not alarm for it", st, runNobody)
	}
	var n int
	if err := s.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_alarm_event").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d events, %v", n, err)
	}
}
