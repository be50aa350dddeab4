package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// load is many jobs of every second that end by themselves, and a real executor that counts what reaches it. Because
// every planned fire is known beforehand, every one can be accounted for afterwards.
type load struct {
	database *database
	executor *executortest.Executor
	ports    []string // of the admins, in the order of their start
	jobs     map[int64]time.Time
	begin    time.Time // of the first fire
	fires    int       // of each job

	mu       sync.Mutex
	calls    map[int64]int             // of the handler, by log id
	hold     chan struct{}             // if not nil, runs end when it is closed
	writes   bool                      // what runs do, see keepAll
	fails    func(*executor.Run) error // nil: none does
	late     []time.Duration           // of each run, planned to received
	received map[int64]time.Time       // by log id
	nodes    map[int64]string          // ports of the admins, by the ids of their nodes; see portOf

	unsent int // how many of a hundred fires may say that they were not sent
	stalls *executortest.Stalls
}

const every = time.Second

// newLoad prepares the database and starts the executor; admins are to be started on l.settings.
func newLoad(t *testing.T, dialect db.Dialect, admins, jobs, fires int) *load {
	t.Helper()
	return newLoadOn(t, newDatabase(t, dialect), admins, jobs, fires)
}

func newLoadOn(t *testing.T, d *database, admins, jobs, fires int, options ...func(*executor.Config)) *load {
	t.Helper()
	l := newLoadWithoutJobs(t, d, admins, fires, options...)
	preparing := time.Now()
	d.seed(t, func(ctx context.Context, pool *db.Pool) error {
		// What is still to come, more jobs and the start of the admins, takes longer where making the tables did.
		l.begin = time.Now().Add(3*time.Second + 3*time.Since(preparing)).Truncate(time.Second)
		group, err := addGroup(ctx, pool, executortest.AppName, l.executor.URL)
		if err != nil {
			return err
		}
		for i := range jobs {
			first, last := l.span(i, jobs)
			id, err := addJob(ctx, pool, group, func(p *db.InsertJobParams) {
				p.JobDesc, p.ScheduleConf, p.EndAt = fmt.Sprintf("load %d", i), "1", last.UnixMilli()
			})
			if err != nil {
				return err
			}
			if err := startJob(ctx, pool, id, first); err != nil {
				return err
			}
			l.jobs[id] = first
		}
		return nil
	})
	return l
}

// span is the first and the last fire of one of some jobs.
func (l *load) span(i, jobs int) (first, last time.Time) {
	first = l.begin.Add(time.Duration(i) * every / time.Duration(jobs)).Truncate(time.Millisecond)
	return first, first.Add(time.Duration(l.fires-1) * every)
}

// newLoadWithoutJobs starts the executor, and chooses where the admins are to be.
func newLoadWithoutJobs(t *testing.T, d *database, admins, fires int, options ...func(*executor.Config)) *load {
	t.Helper()
	l := &load{database: d, jobs: make(map[int64]time.Time), fires: fires, calls: make(map[int64]int), received: make(map[int64]time.Time), unsent: 5, stalls: executortest.NoteStalls()}
	t.Cleanup(l.stalls.End)
	var urls []string
	for range admins {
		port := executortest.FreePort(t)
		l.ports = append(l.ports, port)
		urls = append(urls, "http://127.0.0.1:"+port)
	}
	l.executor = executortest.New(t, "", executortest.Handlers{"count": l.handle}, append([]func(*executor.Config){func(c *executor.Config) {
		c.Token, c.Admins = testToken, urls
	}}, options...)...)
	program(t, "punctual") // so that building it is not part of the time until the first fire
	return l
}

func (l *load) handle(_ context.Context, run *executor.Run) error {
	if l.writes {
		run.Logf("run %d", run.LogID)
	}
	l.mu.Lock()
	l.calls[run.LogID]++
	l.late = append(l.late, run.Received.Sub(run.Planned))
	l.received[run.LogID] = run.Received
	hold := l.hold
	var err error
	if l.fails != nil {
		err = l.fails(run)
	}
	l.mu.Unlock()
	if hold != nil {
		<-hold
	}
	return err
}

// holdRuns makes runs that begin from now on last until release is called.
func (l *load) holdRuns() (release func()) {
	hold := make(chan struct{})
	l.mu.Lock()
	l.hold = hold
	l.mu.Unlock()
	return func() {
		l.mu.Lock()
		l.hold = nil
		l.mu.Unlock()
		close(hold)
	}
}

// start starts the i-th admin, again if it was started before.
func (l *load) start(t testing.TB, i int) *admin {
	t.Helper()
	s := l.database.settings()
	s.port = l.ports[i]
	return startAdmin(t, s)
}

// receives waits until the executor has begun so many runs: a run that it has accepted has not begun yet.
func (l *load) receives(t testing.TB, want int) {
	t.Helper()
	eventually(t, "the executor's runs", func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if n := len(l.late); n < want {
			return fmt.Errorf("%d of %d", n, want)
		}
		return nil
	})
}

// startCalm starts the only admin of a load, and calls then before the first fire is due, however long the start takes.
func (l *load) startCalm(t testing.TB, s adminSettings, then func(*admin)) *admin {
	t.Helper()
	s.port = l.ports[0]
	l.shift(t, time.Hour)
	a := startAdmin(t, s)
	then(a)
	l.shift(t, (3*time.Second - time.Until(l.begin)).Truncate(time.Millisecond))
	return a
}

// shift moves the whole load in time.
func (l *load) shift(t testing.TB, by time.Duration) {
	t.Helper()
	if _, err := l.database.connect(t).ExecContext(t.Context(), "UPDATE xxl_job_info SET trigger_next_time = trigger_next_time + ?, end_at = end_at + ? WHERE trigger_status = 1", by.Milliseconds(), by.Milliseconds()); err != nil {
		t.Fatal(err)
	}
	l.begin = l.begin.Add(by)
	for id, first := range l.jobs {
		l.jobs[id] = first.Add(by)
	}
}

// at waits for a moment of the load, in seconds after its first fire.
func (l *load) at(t testing.TB, seconds float64) {
	t.Helper()
	until(t, l.begin.Add(time.Duration(seconds*float64(time.Second))))
}

// delivers waits until the executor has no result left. What it has of a report is the answer, which follows what is on record.
func (l *load) delivers(t *testing.T) {
	t.Helper()
	eventually(t, "every result is delivered", func() error {
		if n := l.executor.Stats().Undelivered; n != 0 {
			return fmt.Errorf("%d are not", n)
		}
		return nil
	})
}

// account waits for the end of the load and compares what was planned with what the database and the executor say:
// every planned fire is in exactly one row, and every row that says it was sent reached the executor exactly once.
func (l *load) account(t *testing.T) {
	t.Helper()
	l.at(t, float64(l.fires))
	t.Cleanup(func() {
		if t.Failed() {
			l.dumpOpen(t)
		}
	})
	l.database.settled(t)
	// What an admin sent and could not record is noted by another when the result has come.
	eventually(t, "record of what was sent", func() error {
		if n := l.database.count(t, "SELECT COUNT(*) FROM xxl_job_log WHERE trigger_code = 0"); n > 0 {
			return fmt.Errorf("%d runs have no outcome of their sending", n)
		}
		return nil
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	covered := make(map[int64]map[int64]int, len(l.jobs))
	why := make(map[string]int)
	var skipped, failed, takenOver, repeated, reported, late int
	for _, r := range l.database.runs(t) {
		if covered[r.job] == nil {
			covered[r.job] = make(map[int64]int, l.fires)
		}
		calls := l.calls[r.id]
		delete(l.calls, r.id)
		takenOver += len(r.events.All(event.TakenOver))
		for _, known := range r.events.All(event.Known) {
			if known.Text(1) == event.KnownReported {
				reported++
			} else {
				repeated++
			}
		}
		late += len(r.events.All(event.Late))
		switch fires, passed := r.events.Last(event.SkippedFires); {
		case passed:
			for at := fires.Number(2); at <= fires.Number(3); at += every.Milliseconds() {
				covered[r.job][at]++
				skipped++
			}
			if r.outcome != event.Skipped {
				t.Errorf("run %d was skipped, and its outcome is %v", r.id, r.outcome)
			}
			if calls != 0 || r.kind != jobspec.TriggerMisfire || r.code == wire.CodeSuccess {
				t.Errorf("run %d was skipped, and the executor was called %d times: %+v", r.id, calls, r)
			}
			continue
		case r.kind != jobspec.TriggerCron:
			t.Errorf("run %d: nothing but the schedule makes runs here: %+v", r.id, r)
			continue
		}
		covered[r.job][r.planned]++
		switch {
		case calls > 1:
			t.Errorf("run %d was executed %d times: %+v", r.id, calls, r)
		case r.code == wire.CodeSuccess && (calls != 1 || r.handled != wire.CodeSuccess):
			t.Errorf("run %d was sent and executed %d times, result %d %q: %s", r.id, calls, r.handled, r.result, r.message)
		case r.code != wire.CodeSuccess:
			failed++
			if reason, ok := r.events.Reason(r.outcome); ok {
				why[string(reason.Key)]++
			}
			switch doubted := len(r.events.All(event.MayHave))+len(r.events.All(event.Unanswered)) > 0; {
			case doubted && r.outcome == event.Succeeded: // its result came after nobody had been able to say whether it had arrived
				if calls != 1 || r.handled != wire.CodeSuccess {
					t.Errorf("run %d is a success, and was executed %d times, result %d %q: %s", r.id, calls, r.handled, r.result, r.message)
				}
			case calls != 0 && r.outcome != event.Unconfirmed:
				t.Errorf("run %d says it was not sent, but was executed, and is %v: %s", r.id, r.outcome, r.message)
			}
			if !strings.Contains(r.message, "\nresult: ") {
				t.Errorf("run %d was not sent and does not say why: %q", r.id, r.message)
			}
		}
	}
	for id, n := range l.calls {
		t.Errorf("the executor ran %d, %d times, of which there is no row", id, n)
	}
	for job, first := range l.jobs {
		for k := range l.fires {
			at := first.UnixMilli() + int64(k)*every.Milliseconds()
			if n := covered[job][at]; n != 1 {
				t.Errorf("job %d has %d rows for its fire %d at %s", job, n, k, time.UnixMilli(at).UTC().Format("15:04:05.000"))
			}
			delete(covered[job], at)
		}
		for at := range covered[job] {
			t.Errorf("job %d has a row for %s, when it was not due", job, time.UnixMilli(at).UTC().Format("15:04:05.000"))
		}
	}
	t.Logf("%d fires planned: %d skipped, %d not sent, %d late, %d taken over, of which %d had been sent already and %d reported; the executor refused %d",
		len(l.jobs)*l.fires, skipped, failed, late, takenOver, repeated, reported, l.executor.Stats().Refused)
	if failed > 0 {
		t.Logf("not sent, by reason: %v", why)
	}
	if failed > len(l.jobs)*l.fires*l.unsent/100 {
		t.Errorf("%d runs were not sent, which is too many for what happened here", failed)
	}
}

// dumpOpen shows some of the runs that have no end.
func (l *load) dumpOpen(t *testing.T) {
	t.Helper()
	t.Logf("executor: %+v", l.executor.Stats())
	shown := 0
	for _, r := range l.database.runs(t) {
		if r.handled == 0 && (r.code == 0 || r.code == wire.CodeSuccess) && shown < 5 {
			shown++
			t.Logf("open, executed %d times: %+v", l.calls[r.id], r)
		}
	}
}

// lateness is how long after its time a run came to the executor, but for stalls. l.mu is held.
func (l *load) lateness(r run) time.Duration {
	planned, received := time.UnixMilli(r.planned), l.received[r.id]
	return received.Sub(planned) - l.stalls.Between(planned, received)
}

// takeovers logs how long after each kill the first run that was taken over left.
func (l *load) takeovers(t *testing.T, kills []time.Time) {
	t.Helper()
	var sent []int64
	for _, r := range l.database.runs(t) {
		if _, taken := r.events.Last(event.TakenOver); taken && r.sent > 0 {
			sent = append(sent, r.sent)
		}
	}
	slices.Sort(sent)
	for i, kill := range kills {
		at, _ := slices.BinarySearch(sent, kill.UnixMilli())
		if at == len(sent) {
			t.Logf("kill %d: nothing was left to take over", i+1)
			continue
		}
		t.Logf("kill %d: the first run that was taken over left %v later", i+1, time.UnixMilli(sent[at]).Sub(kill).Round(time.Millisecond))
	}
}
