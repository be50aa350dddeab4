package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestEveryEndOfARunIsAnOutcome brings runs to every end that there is.
func TestEveryEndOfARunIsAnOutcome(t *testing.T) {
	t.Parallel()
	const (
		refuses, silent, forgets, gone, idles = "http://refuses/", "http://silent/", "http://forgets/", "http://gone/", "http://idles/"
	)
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, quick, addressA)
		b.executors.run = func(to wire.Target, _ *wire.RunRequest) (wire.Answer, error) {
			switch to.Address {
			case refuses:
				return wire.Answer{Code: 500, Msg: "no"}, nil
			case silent, forgets:
				return wire.Answer{}, errSilent
			case gone:
				return wire.Answer{}, errRefused
			}
			return yes, nil
		}
		b.executors.idle = func(a string) (wire.Answer, error) {
			if a == idles || a == forgets {
				return yes, nil
			}
			return busy, nil
		}
		b.executors.log = func(a string) error {
			if a == silent {
				return errSilent
			}
			return nil
		}
		plain := func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 0 }
		at := func(address string) int64 {
			ids, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: b.addJob(plain), Type: jobspec.TriggerManual, Addresses: []string{address}, User: "ada"})
			if err != nil {
				t.Fatal(err)
			}
			return ids[0]
		}
		ends := func(code int) int64 {
			id := at(addressA)
			b.await("it is sent", func() bool { return b.run(id).TriggerCode == 200 })
			b.finish(id, code, "said")
			return id
		}
		killed := at(addressA)
		b.await("it is sent", func() bool { return b.run(killed).TriggerCode == 200 })
		if err := b.engine.Kill(t.Context(), killed, "ada"); err != nil {
			t.Fatal(err)
		}
		limited := b.addJob(func(p *db.InsertJobParams) {
			p.MaxConcurrent, p.ConcurrencyPolicy = 1, string(jobspec.ConcurrencyDiscard)
		})
		first := b.trigger(limited)
		b.await("the first runs", func() bool { return b.run(first).TriggerCode == 200 })
		empty := b.addGroup("empty")
		long := time.Now().Add(-150 * time.Minute)
		forgotten := b.addJob(nil)
		b.start(forgotten, long)
		odd := b.addJob(func(p *db.InsertJobParams) { p.ScheduleType, p.ScheduleConf = jobspec.ScheduleCron, "nonsense" })
		b.start(odd, time.Now())
		ofJob := func(id int64) (run int64) {
			b.await("the fire is decided", func() bool {
				for _, r := range b.allRuns() {
					if r.JobID == id {
						run = r.ID
						return true
					}
				}
				return false
			})
			return run
		}
		lost := at(idles)
		b.await("its executor took it", func() bool { return b.run(lost).TriggerCode == 200 })
		b.forgets(lost)
		for _, tt := range []struct {
			name    string
			run     int64
			outcome event.Outcome
			why     event.Key
		}{
			{"succeeded", ends(200), event.Succeeded, event.Sent},
			{"failed", ends(500), event.Failed, event.Sent},
			{"ended with a code of its own", ends(777), event.Failed, event.Sent},
			{"timed out", ends(502), event.TimedOut, event.Sent},
			{"refused", at(refuses), event.NotSent, event.Refused},
			{"nobody listens", at(gone), event.NotSent, event.Unreachable},
			{"it may have arrived", at(silent), event.Unconfirmed, event.MayHave},
			{"it did not arrive", at(forgets), event.NotSent, event.Unknown},
			{"nobody is registered", b.trigger(b.addJob(func(p *db.InsertJobParams) { p.JobGroup = empty })), event.NotSent, event.NoExecutor},
			{"killed", killed, event.Killed, event.KilledAt},
			{"lost", lost, event.Lost, event.LostRun},
			{"discarded", b.trigger(limited), event.Discarded, event.Full},
			{"skipped", ofJob(forgotten), event.Skipped, event.SkippedFires},
			{"stopped", ofJob(odd), event.Stopped, event.JobStopped},
			{"open", first, event.Open, event.Sent},
		} {
			b.await(tt.name, func() bool { r := b.run(tt.run); return r.Outcome == tt.outcome && r.TriggerCode != 0 })
			events := b.events(tt.run)
			if len(events) == 0 || events[0].Key != event.Claimed || !b.has(tt.run, tt.why) {
				t.Errorf("%s: events %v, want %s among them", tt.name, events, tt.why)
			}
			if by, ok := events.Last(event.Triggered); ok && by.Text(0) != "ada" {
				t.Errorf("%s: triggered by %q", tt.name, by.Text(0))
			}
		}
	})
}

// TestWordsOfAnExecutorDecideNothing has an executor speak like the engine.
func TestWordsOfAnExecutorDecideNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		alarms := &heard{}
		b := setup(t, pool, func(c *Config) { c.Alarms = alarms }, addressA)
		for _, words := range []string{
			"result lost: nobody listens", "killed by ada", "killed by ada (running)", "skipped: 3 fires", "job stopped: no", "discarded: full",
			`["lost",1,"idle","http://a/"]`, "not sent: no executor is registered\nresult: skipped: ",
		} {
			job := b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 1 })
			id := b.trigger(job)
			b.await("it is sent", func() bool { return b.run(id).TriggerCode == 200 })
			b.finish(id, 500, words)
			b.finish(id, 200, "no, it went well")
			r := b.run(id)
			if r.HandleCode != 500 || r.Outcome != event.Failed || b.has(id, event.LostRun) || b.has(id, event.Result) || !b.has(id, event.Retry) {
				t.Errorf("%q: %+v", words, r)
			}
			retry := b.events(id).All(event.Retry)[0].Number(1)
			b.await("the retry is sent", func() bool { return b.run(retry).TriggerCode == 200 })
			b.finish(retry, 500, words)
			last := alarms.last()
			if last.LogID != retry || last.Cause != AlarmFailed || last.Text != words || len(last.Events) != 0 {
				t.Errorf("%q: alarm %+v", words, last)
			}
			list, err := db.ListOutcomes(t.Context(), pool, []int64{job}, nil, 10)
			if err != nil || len(list) != 2 || list[0].Outcome != event.Failed || list[1].Outcome != event.Failed {
				t.Errorf("%q: bars %+v, %v", words, list, err)
			}
			failures, err := b.engine.queries.ListFailuresByCode(t.Context(), pool, db.ListFailuresByCodeParams{HandleCode: 500, FromID: id, BeforeID: retry + 1, Limit: 10})
			if err != nil || len(failures) != 2 || failures[0].Failed != 1 || failures[1].Failed != 1 {
				t.Errorf("%q: failures %+v, %v", words, failures, err)
			}
		}
	})
}

// heard keeps alarms.
type heard struct{ events []AlarmEvent }

func (h *heard) Wanted(AlarmCause, int64) bool { return true }
func (h *heard) Wake()                         {}
func (h *heard) Raise(_ context.Context, _ db.DBTX, events []AlarmEvent) error {
	h.events = append(h.events, events...)
	return nil
}
func (h *heard) last() AlarmEvent {
	if len(h.events) == 0 {
		return AlarmEvent{}
	}
	return h.events[len(h.events)-1]
}

func TestThatARunStandsForFiresOutlivesALeaseAndATakeOver(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		planned := time.Now().Add(-3 * time.Second).Truncate(time.Millisecond)
		stands := event.New(planned, event.StandsFor, 12, false, planned.Add(-12*time.Hour), planned)

		row, err := b.engine.queries.GetJob(t.Context(), pool, b.addJob(nil))
		if err != nil {
			t.Fatal(err)
		}
		runs := b.engine.newRuns(jobOf(&row, pool), cause{trigger: jobspec.TriggerMisfire, planned: planned})
		runs[0].events = append(runs[0].events, stands)
		runs[0].held = true // put back for its lease
		if _, err := b.engine.commit(t.Context(), func(tx *sql.Tx) ([]*dispatch, error) { return runs, b.engine.insert(t.Context(), tx, runs) }); err != nil {
			t.Fatal(err)
		}
		node := b.deadNode(db.NewRun{JobID: row.ID, PlannedAt: planned.UnixMilli(), Type: jobspec.TriggerMisfire, Address: addressA, Message: "born",
			Events: event.List{stands}.Stored()})
		taken := runs[0].id + 1
		if err := b.engine.takeOver(t.Context(), db.Node{ID: node, Name: "dead"}); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[int64]event.Key{runs[0].id: event.Late, taken: event.TakenOver} {
			b.await("it is sent", func() bool { return b.run(id).TriggerCode == 200 })
			events := b.events(id)
			if got, ok := events.Last(event.StandsFor); !ok || got.Number(0) != 12 || !b.has(id, want) || !b.has(id, event.Sent) {
				t.Errorf("run %d: %v, want %s too", id, events, want)
			}
		}
		if e, _ := b.events(runs[0].id).Last(event.Late); e.Text(1) != event.LateLease || e.Duration(0) < 3*time.Second {
			t.Errorf("late: %v", e)
		}
		if e, _ := b.events(taken).Last(event.TakenOver); e.Text(0) != "dead" || e.Number(1) != node {
			t.Errorf("taken over: %v", e)
		}
		if text := string(b.run(taken).TriggerMsg); !strings.HasPrefix(text, "born\ntaken over from dead") || !strings.Contains(text, "\nresult: 200") {
			t.Errorf("for people: %q", text)
		}
	})
}

func TestTheEventsOfARunAreBounded(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		id := b.trigger(b.addJob(nil))
		b.await("it is sent", func() bool { return b.run(id).TriggerCode == 200 })
		b.executors.kill = func(wire.KillRequest) (wire.Answer, error) {
			return wire.Answer{Code: 500, Msg: strings.Repeat("\x01字", event.MaxArg)}, nil
		}
		for range 30 {
			var refused *ExecutorError
			if err := b.engine.Kill(t.Context(), id, strings.Repeat("字", 200)); !errors.As(err, &refused) {
				t.Fatal(err)
			}
		}
		r := b.run(id)
		if n := len(r.Events); n < event.MaxList || n > event.MaxList+event.MaxWrite || r.KillAskedAt != 0 || len(b.events(id)) == 0 {
			t.Errorf("%d bytes of events, asked at %d", n, r.KillAskedAt)
		}
		b.finish(id, 500, "ends all the same")
		if r := b.run(id); r.Outcome != event.Failed || r.HandleMsg == "" {
			t.Errorf("after the result: %v %q", r.Outcome, r.HandleMsg)
		}
	})
}

// TestTheFailuresOfTheDashboardAreThoseThatAlarm: what ended without success, unless somebody wanted it so.
func TestTheFailuresOfTheDashboardAreThoseThatAlarm(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		for _, o := range event.AllOutcomes() {
			_, err := pool.ExecContext(t.Context(), "INSERT INTO xxl_job_log (job_group, job_id, trigger_code, handle_code, alarm_status, executor_fail_retry_count, outcome) VALUES (1, ?, 500, 0, 0, 0, ?)", 100+int64(o), int64(o))
			if err != nil {
				t.Fatal(err)
			}
		}
		rows, err := db.New().ListFailuresByCode(t.Context(), pool, db.ListFailuresByCodeParams{HandleCode: 0, FromID: 0, BeforeID: 1 << 60, Limit: 100})
		if err != nil || len(rows) != len(event.AllOutcomes()) {
			t.Fatal(len(rows), err)
		}
		for _, r := range rows {
			o := event.Outcome(r.JobID - 100)
			want := o != event.Succeeded && o != event.Killed && !o.Passed() // what is open by its outcome tells it by its codes
			if (r.Failed != 0) != want {
				t.Errorf("%v: failed %d, want %t", o, r.Failed, want)
			}
		}
	})
}
