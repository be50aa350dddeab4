package scheduler

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// sentLongAgo inserts so many runs of a job that went to as many addresses and have no result.
func (b *bundle) sentLongAgo(job int64, n int) (ids []int64) {
	b.t.Helper()
	at := time.Now().Add(-time.Hour)
	for left := n; left > 0; left -= db.MaxBatch {
		rows := make([]db.NewRun, min(left, db.MaxBatch))
		for i := range rows {
			rows[i] = db.NewRun{
				JobID: job, JobGroup: b.group, PlannedAt: at.UnixMilli(), TriggerTime: b.pool.Wall(at), TriggerCode: wire.CodeSuccess, Type: jobspec.TriggerManual,
				Address: fmt.Sprintf("http://10.1.%d.%d:9999/", left, i), Handler: "handler",
			}
		}
		first, err := db.InsertRuns(b.t.Context(), b.pool, rows)
		if err != nil {
			b.t.Fatal(err)
		}
		for i := range rows {
			ids = append(ids, first+int64(i))
		}
	}
	return ids
}

// asked has executors count the questions after what they have, and say that nobody listens.
func (b *bundle) asked() func() map[string]int {
	var mu sync.Mutex
	n := make(map[string]int)
	b.executors.idle = func(address string) (wire.Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		n[address]++
		return wire.Answer{}, errRefused
	}
	return func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		was := n
		n = make(map[string]int)
		return was
	}
}

// TestManyRunsWithoutAResultAreAskedAboutInTurn: more than one page of them, and more than one sweep asks.
func TestManyRunsWithoutAResultAreAskedAboutInTurn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) {
			byHand(c)
			c.SweepEvery, c.AskAfter, c.LostAfter = time.Hour, time.Nanosecond, time.Nanosecond
		})
		asked := b.asked()
		const many = 1200 // three sweeps
		job := b.addJob(nil)
		ids := b.sentLongAgo(job, many)
		s := &sweeper{}
		sweep := func() {
			t.Helper()
			b.sweep(s)
		}
		seen := make(map[string]int)
		for range 2 {
			sweep()
			now := asked()
			if len(now) != asksPerSweep {
				t.Errorf("%d addresses were asked, want %d", len(now), asksPerSweep)
			}
			for a, n := range now {
				seen[a] += n
			}
		}
		if len(seen) != 2*asksPerSweep {
			t.Errorf("two sweeps asked %d addresses, want %d", len(seen), 2*asksPerSweep)
		}
		if newest := string(b.run(ids[many-1]).ExecutorAddress); seen[newest] == 0 {
			t.Errorf("%s, of the second page, was not asked: its turn is before those of the first come again", newest)
		}
		if s.low != ids[0] {
			t.Errorf("the oldest that is open is said to be %d, want %d", s.low, ids[0])
		}
		for range 10 {
			sweep()
		}
		if n := b.countRuns("handle_code = 500"); n != many {
			t.Errorf("%d of %d runs are given up", n, many)
		}
		sweep()
		asked()
		sweep()
		if n := len(asked()); n != 0 {
			t.Errorf("%d are asked about although all have ended", n)
		}
		if last := ids[len(ids)-1]; s.low != last {
			t.Errorf("it looks from %d on, where none before %d is open", s.low, last)
		}
		if len(s.watch)+len(s.logged) > 0 {
			t.Errorf("%d and %d that have ended are remembered", len(s.watch), len(s.logged))
		}
	})
}

// TestASweepLooksAtWhatIsOpen and not at all that has come since the oldest open run, but now and then: beside one that takes weeks, that is
// every run since which could not be sent. A run whose transaction ends late is found at once, whatever has come and ended meanwhile.
func TestASweepLooksAtWhatIsOpen(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock()
		b := setup(t, pool, func(c *Config) {
			byHand(c)
			clock.rule(c)
			c.SweepEvery, c.AskAfter, c.LostAfter, c.IdleAfter = time.Hour, time.Hour, 24*time.Hour, 24*time.Hour
		})
		s := &sweeper{}
		sweep := func(what string, want ...int64) {
			t.Helper()
			if err := b.engine.sweepLost(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, b.engine.OpenRuns()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		job := b.addJob(nil)
		first := b.sentLongAgo(job, 1)[0]
		sweep("at first", first)
		sweep("once more", first)
		ids := b.sentLongAgo(job, 5)
		b.exec("UPDATE xxl_job_log SET handle_code = 200 WHERE id IN (?, ?, ?)", ids[1], ids[3], ids[4]) // as if they were not committed yet
		for range 3 {
			clock.pass(5 * time.Second)
			sweep("with what has come", first, ids[0], ids[2])
		}
		b.exec("UPDATE xxl_job_log SET handle_code = 0 WHERE id = ?", ids[3])
		sweep("with what is committed late", first, ids[0], ids[2], ids[3])
		b.exec("UPDATE xxl_job_log SET handle_code = 200 WHERE id IN (?, ?, ?)", first, ids[0], ids[2])
		sweep("without what has ended", ids[3])
		b.exec("UPDATE xxl_job_log SET handle_code = 200 WHERE id = ?", ids[3])
		clock.pass(5 * time.Second)
		sweep("with none")
		b.exec("UPDATE xxl_job_log SET handle_code = 0 WHERE id IN (?, ?)", ids[0], ids[4])
		clock.pass(committedIn - 21*time.Second)
		sweep("with what is committed late although all before it had ended", ids[0], ids[4])
		clock.pass(committedIn)
		sweep("a while later", ids[0], ids[4])
		clock.pass(committedIn)
		sweep("and later", ids[0], ids[4])
		b.exec("UPDATE xxl_job_log SET handle_code = 0 WHERE id = ?", ids[1]) // whoever walks comes by it
		sweep("what is known", ids[0], ids[4])
		late := b.sentLongAgo(job, 2)
		sweep("with what has come again", ids[0], ids[4], late[0], late[1])
		b.exec("UPDATE xxl_job_log SET handle_code = 200 WHERE id IN (?, ?)", ids[4], late[0])
		sweep("without what has ended again", ids[0], late[1])
		s.walked = s.walked.Add(-walkEvery)
		sweep("all", ids[0], ids[1], late[1])
		if s.low != ids[0] {
			t.Errorf("the oldest that is open is said to be %d, want %d", s.low, ids[0])
		}
	})
}

// TestWhatHasEndedOtherwiseIsRememberedNoMore: its result comes while it is watched, or its executor says that it has its log.
func TestWhatHasEndedOtherwiseIsRememberedNoMore(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), func(c *Config) {
		byHand(c)
		c.SweepEvery, c.AskAfter, c.LostAfter, c.IdleAfter = time.Hour, time.Nanosecond, time.Hour, time.Hour
	}, addressA, addressB)
	b.executors.idle = func(address string) (wire.Answer, error) {
		if address == addressA {
			return wire.Answer{}, errRefused
		}
		return yes, nil
	}
	job := b.addJob(nil)
	var runs []int64
	for _, address := range []string{addressA, addressB} {
		ids, err := b.engine.Trigger(t.Context(), TriggerRequest{JobID: job, Type: jobspec.TriggerManual, Addresses: []string{address}})
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, ids...)
	}
	b.await("they are sent", func() bool { return b.countRuns("trigger_code = 200") == 2 })
	s := &sweeper{}
	for _, remembered := range []int{1, 0} {
		b.sweep(s)
		if len(s.watch) != remembered || len(s.logged) != remembered {
			t.Errorf("%d watched, %d with a log, want %d each", len(s.watch), len(s.logged), remembered)
		}
		for _, id := range runs {
			b.finish(id, 200, "")
		}
	}
}

// TestAnAdminAsksAboutItsShare: of the runs of two admins each asks about those of its own jobs.
func TestAnAdminAsksAboutItsShare(t *testing.T) {
	t.Parallel()
	settings := func(c *Config) {
		byHand(c)
		c.SweepEvery, c.AskAfter, c.LostAfter = time.Hour, time.Nanosecond, time.Hour
		c.BeatEvery, c.Lease = 50*time.Millisecond, 10*time.Hour
	}
	b := setup(t, dbtest.New(t, db.MySQL), settings)
	two := b.second(settings)
	b.await("each sees the other", func() bool { return len(b.engine.node.Alive()) == 2 && len(two.node.Alive()) == 2 })
	asked := b.asked()
	for range 20 {
		b.sentLongAgo(b.addJob(nil), 1)
	}
	b.exec("UPDATE xxl_job_log SET executor_address = CONCAT('http://', job_id, '/')")
	all := 0
	for _, e := range []*Engine{b.engine, two} {
		mine := e.node.Mine()
		if err := e.sweep(t.Context(), &sweeper{}); err != nil {
			t.Fatal(err)
		}
		now := asked()
		all += len(now)
		for a := range now {
			var job int64
			if _, err := fmt.Sscanf(a, "http://%d/", &job); err != nil || !mine(job) {
				t.Errorf("%s asked about a run of job %d, which is the other's (%v)", e.cfg.Name, job, err)
			}
		}
		if len(now) == 0 {
			t.Errorf("%s asked about none", e.cfg.Name)
		}
	}
	if all != 20 {
		t.Errorf("%d runs were asked about, want 20", all)
	}
}

// TestRunsWhoseEndIsForgottenAreAskedAbout: the database has gone back, and what had ended is open again.
func TestRunsWhoseEndIsForgottenAreAskedAbout(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) {
			byHand(c)
			c.SweepEvery, c.AskAfter, c.LostAfter = time.Hour, time.Nanosecond, time.Nanosecond
		}, addressA)
		b.asked()
		job := b.addJob(nil)
		s := &sweeper{}
		sweep := func() {
			t.Helper()
			b.sweep(s)
		}
		open := b.trigger(job)
		b.await("it is sent", func() bool { return b.unsettled() == 0 })
		was := b.remember()
		b.finish(open, 200, "")
		b.trigger(job)
		b.finish(b.trigger(job), 200, "")
		b.await("all are sent", func() bool { return b.unsettled() == 0 })
		for range 4 {
			sweep()
		}
		if s.low <= open {
			t.Fatalf("it still looks from %d on", s.low)
		}
		was.lose()
		b.exec("UPDATE xxl_job_log SET handle_code = 0, handle_time = NULL, finished_at = 0, outcome = 0 WHERE id = ?", open)
		b.finish(b.trigger(job), 200, "")
		for range 3 {
			sweep()
		}
		if r := b.run(open); r.HandleCode != 500 {
			t.Errorf("a run that is open again is not asked about: %+v", r)
		}
	})
}

// TestOfManyRunsOfAJobTheLogsAreAskedForInTurn: their executor knows all of them, and is asked for some in each sweep, for each once in a while,
// and for few at a time.
func TestOfManyRunsOfAJobTheLogsAreAskedForInTurn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) {
			byHand(c)
			c.SweepEvery, c.AskAfter, c.IdleAfter = time.Hour, time.Nanosecond, time.Hour
		}, addressA)
		const more = 20
		var mu sync.Mutex
		asked, now, most := 0, 0, 0
		full := make(chan struct{}) // as many are asked for as may be
		b.executors.log = func(string) error {
			mu.Lock()
			asked++
			now++
			most = max(most, now)
			if asked == asksAtOnce {
				time.AfterFunc(100*time.Millisecond, func() { close(full) }) // in which more would come if they could
			}
			mu.Unlock()
			<-full
			mu.Lock()
			defer mu.Unlock()
			now--
			return nil
		}
		ids := b.sentLongAgo(b.addJob(nil), asksPerJob+more)
		b.exec("UPDATE xxl_job_log SET executor_address = ?", addressA)
		b.executors.mu.Lock()
		for _, id := range ids {
			b.executors.has[id] = addressA
		}
		b.executors.mu.Unlock()
		s := &sweeper{}
		for _, want := range []int{asksPerJob, asksPerJob + more, asksPerJob + more} {
			b.sweep(s)
			if asked != want {
				t.Errorf("the logs of %d runs were asked for so far, want %d", asked, want)
			}
		}
		if most != asksAtOnce {
			t.Errorf("%d were asked for at a time, want %d", most, asksAtOnce)
		}
		if n := b.countRuns("handle_code = 0"); n != asksPerJob+more {
			t.Errorf("%d of %d are open still", n, asksPerJob+more)
		}
	})
}

// TestALogIsAskedForByTheDayOfItsRun: an executor looks for it among those of that day. A run of XXL-JOB's has no planned time. One that has
// been sent just now, however long it had waited, is not asked about yet.
func TestALogIsAskedForByTheDayOfItsRun(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) {
			byHand(c)
			c.SweepEvery, c.AskAfter, c.IdleAfter = time.Hour, time.Hour, time.Hour
		}, addressA)
		ids := b.sentLongAgo(b.addJob(nil), 3)
		day := time.Now().Truncate(time.Second)
		for i, id := range ids { // each planned on a day, and made on another
			planned, sent := []int64{day.AddDate(0, 0, -3).UnixMilli(), 0, 1}[i], []int64{0, 0, day.UnixMilli()}[i]
			b.exec("UPDATE xxl_job_log SET executor_address = ?, planned_at = ?, sent_at = ?, trigger_time = ? WHERE id = ?", addressA, planned, sent, pool.Wall(day.AddDate(0, 0, -1)), id)
		}
		b.sweep(&sweeper{})
		b.executors.mu.Lock()
		defer b.executors.mu.Unlock()
		want := map[int64]int64{ids[0]: day.AddDate(0, 0, -3).UnixMilli(), ids[1]: day.AddDate(0, 0, -1).UnixMilli()}
		if diff := cmp.Diff(want, b.executors.dates); diff != "" {
			t.Errorf("asked for by (-want +got):\n%s", diff)
		}
	})
}
