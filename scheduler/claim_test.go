package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// claims counts the claim transactions of an engine.
func claims(t *testing.T, e *Engine) uint64 {
	t.Helper()
	families, err := e.cfg.Registerer.(*prometheus.Registry).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "punctual_claim_seconds" {
			return f.GetMetric()[0].GetHistogram().GetSampleCount()
		}
	}
	return 0
}

// byHand has the test claim, and nobody else.
func byHand(c *Config) { c.ClaimEvery = time.Hour }

// due reads what is due.
func (b *bundle) due(until time.Time) []db.ListDueJobsRow {
	b.t.Helper()
	rows, err := b.engine.queries.ListDueJobs(b.t.Context(), b.pool, db.ListDueJobsParams{UntilMs: until.UnixMilli(), Held: []int64{0}, Limit: duePage})
	if err != nil {
		b.t.Fatal(err)
	}
	return rows
}

func (b *bundle) exec(query string, args ...any) {
	b.t.Helper()
	if _, err := b.pool.ExecContext(b.t.Context(), query, args...); err != nil {
		b.t.Fatal(err)
	}
}

// jobsDue starts jobs of every second, all due at one moment.
func (b *bundle) jobsDue(n int, at time.Time) []int64 {
	b.t.Helper()
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = b.addJob(func(p *db.InsertJobParams) { p.ScheduleConf = "1" })
	}
	b.exec("UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = ?", at.UnixMilli())
	return ids
}

// TestARacedBatchLosesOnlyWhatRaced: another node moved half of the jobs between the read and the claim.
func TestARacedBatchLosesOnlyWhatRaced(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, byHand, addressA)
		at := time.Now().Add(time.Hour).Truncate(time.Second) // nothing is claimed before the test does it
		ids := b.jobsDue(100, at)
		rows := b.due(at)
		b.exec("UPDATE xxl_job_info SET trigger_next_time = trigger_next_time + 1000 WHERE id % 2 = 0")
		b.exec("UPDATE xxl_job_info SET trigger_status = 0 WHERE id = ?", ids[0]|1)
		before := claims(t, b.engine)
		if err := b.engine.claim(t.Context(), rows, at); err != nil {
			t.Fatal(err)
		}
		if n := b.countRuns("planned_at = ?", at.UnixMilli()); n != 49 {
			t.Errorf("%d runs, want those of the 49 jobs that nobody touched", n)
		}
		if n := claims(t, b.engine) - before; n != 2 {
			t.Errorf("%d transactions, want the one that raced and one more", n)
		}
		if n := counter(t, b.engine, "claims_total", "conflict"); n != 51 {
			t.Errorf("%.0f conflicts, want 51", n)
		}
	})
}

// TestAnAdminThatJoinsCostsTheOtherOneMoreTransaction: the first has read what is due as if it were alone, and the one that has joined
// claims its share before it. The first claims the rest at once, not job by job.
func TestAnAdminThatJoinsCostsTheOtherOneMoreTransaction(t *testing.T) {
	t.Parallel()
	settings := func(c *Config) {
		byHand(c)
		c.BeatEvery, c.Lease = 10*time.Minute, time.Hour // the first does not look again
	}
	b := setup(t, dbtest.New(t, db.MySQL), settings, addressA)
	at := time.Now().Add(time.Hour).Truncate(time.Second)
	const jobs = 400
	b.jobsDue(jobs, at)
	rows := b.due(at)
	two := b.second(settings)
	own, share := two.node.Rank(), make([]db.ListDueJobsRow, 0, len(rows))
	for _, r := range rows {
		if own(r.ID) == 0 {
			share = append(share, r)
		}
	}
	if len(share) < jobs/4 || len(share) > 3*jobs/4 {
		t.Fatalf("the one that joined has %d of %d jobs", len(share), len(rows))
	}
	if err := two.claim(t.Context(), share, at); err != nil {
		t.Fatal(err)
	}
	before := claims(t, b.engine)
	if err := b.engine.claim(t.Context(), rows, at); err != nil {
		t.Fatal(err)
	}
	if n := claims(t, b.engine) - before; n != 2 {
		t.Errorf("%d transactions, want the one that raced and one more", n)
	}
	if n := counter(t, b.engine, "claims_total", "conflict"); n != float64(len(share)) {
		t.Errorf("%.0f conflicts, want one for each of the %d jobs of the other's share", n, len(share))
	}
	for e, want := range map[*Engine]int{b.engine: jobs - len(share), two: len(share)} {
		if n := b.countRuns("owner_node = ? AND planned_at = ?", e.node.ID(), at.UnixMilli()); n != want {
			t.Errorf("node %d has %d runs, want %d", e.node.ID(), n, want)
		}
	}
}

// TestALockedJobIsLeftOut: somebody holds the row of one due job; the others of its batch are claimed all the same.
func TestALockedJobIsLeftOut(t *testing.T) {
	t.Parallel()
	url := dbtest.MariaDB(t)
	pool := dbtest.Open(t, db.Config{URL: url})
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Somebody whose sessions are not ours, or the database would end its transaction soon.
	somebody, err := sql.Open("mysql", url)
	if err != nil {
		t.Fatal(err)
	}
	defer somebody.Close()
	clock := newHandClock()
	b := setup(t, pool, func(c *Config) { byHand(c); clock.rule(c) }, addressA)
	b.await("the look for changed schedules that a start begins with, which locks rows of jobs too", func() bool {
		_, err := b.engine.queries.GetSetting(t.Context(), pool, upkeep.SettingSchedulesSeen)
		return err == nil
	})
	b.engine.claimer.goBy(clock)
	at := clock.now().Add(time.Hour)
	ids := b.jobsDue(100, at)
	rows := b.due(at)
	tx, err := somebody.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(t.Context(), "UPDATE xxl_job_info SET job_desc = 'x' WHERE id IN (?, ?)", ids[3], ids[70]); err != nil {
		t.Fatal(err)
	}
	before := claims(t, b.engine)
	if err := b.engine.claim(t.Context(), rows, at); err != nil {
		t.Fatal(err)
	}
	if n := b.countRuns("planned_at = ?", at.UnixMilli()); n != 98 {
		t.Errorf("%d runs, want those of the 98 jobs that are free", n)
	}
	if n := claims(t, b.engine) - before; n != 2 {
		t.Errorf("%d transactions, want the one that waited and one more", n)
	}
	batches := func() (sizes []int) {
		for _, batch := range b.engine.claimer.batches(b.due(at)) {
			sizes = append(sizes, len(batch))
		}
		return sizes
	}
	if got := batches(); got != nil {
		t.Errorf("the next read claims %v; the locked ones are left out for a while", got)
	}
	fresh := b.addJob(nil)
	b.start(fresh, at)
	clock.pass(leaveOut)
	if got := batches(); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("batches of %v, want the locked ones apart from the other", got)
	}
}

// TestALockedJobIsFoundByHalves is for databases that cannot say which rows are locked.
func TestALockedJobIsFoundByHalves(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.MySQL), byHand, addressA)
	b.jobsDue(3, time.Now().Add(time.Hour))
	_, err := b.pool.ExecContext(t.Context(), "SELECT id FROM xxl_job_info FOR UPDATE SKIP AHEAD")
	if err = db.Error(err); err == nil {
		t.Fatal("the database knows a statement that does not exist")
	}
	if !errors.Is(err, db.ErrUnsupported) {
		t.Errorf("%v is not taken for a statement that is not known", err)
	}
}

// goBy has a claimer, which has not begun or has nothing to do yet, go by another clock than its machine's.
func (c *claimer) goBy(clock *handClock) {
	c.reading.Lock()
	defer c.reading.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = clock.now
	c.read, c.landed = c.now(), c.now()
}

// hang has an engine's claims of some jobs wait.
func (c *claimer) hang(what func(jobID int64) bool, until <-chan struct{}) {
	claim := c.claim
	c.claim = func(ctx context.Context, rows []db.ListDueJobsRow, horizon time.Time) error {
		if slices.ContainsFunc(rows, func(r db.ListDueJobsRow) bool { return what(r.ID) }) {
			stopped := make(chan struct{})
			cancel := context.AfterFunc(ctx, func() {
				if ctx.Err() == context.Canceled { // and not only late, as it is on a slow machine
					close(stopped)
				}
			})
			defer cancel()
			select {
			case <-until:
			case <-stopped:
				return ctx.Err()
			}
		}
		return claim(ctx, rows, horizon)
	}
}

func TestASlowClaimHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		release := make(chan struct{})
		open := sync.OnceFunc(func() { close(release) })
		var slow atomic.Int64
		b := &bundle{t: t, pool: pool, executors: &fakeExecutors{has: make(map[int64]string)}}
		b.engine = newEngine(t, pool, b.executors, nil)
		b.engine.claimer.hang(func(id int64) bool { return id == slow.Load() }, release)
		b.group = b.addGroup("orders", addressA)
		b.startEngine(b.engine)
		t.Cleanup(open) // before the engine is stopped
		hangs := b.addJob(nil)
		slow.Store(hangs)
		b.start(hangs, time.Now())
		b.await("a claim hangs", func() bool { return b.engine.claimer.underWay() == 1 })
		for range 3 {
			id := b.addJob(nil)
			b.start(id, time.Now())
			b.await("another job is sent", func() bool { return b.countRuns("job_id = ? AND trigger_code = 200", id) == 1 })
		}
		if n := b.countRuns("job_id = ?", hangs); n != 0 {
			t.Error("the claim did not hang, so the test says nothing")
		}
		if n := b.engine.claimer.underWay(); n != 1 {
			t.Errorf("%d claims under way, want the one that hangs: its job is in no other", n)
		}
		open()
		b.await("the slow one is sent too", func() bool { return b.countRuns("job_id = ? AND trigger_code = 200", hangs) == 1 })
	})
}

// TestClaimsThatAllTakeLongAreNoMore: where the machine has too much to do, every claim takes long; a claim that hangs does so
// however long the others take.
func TestClaimsThatAllTakeLongAreNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClaimer(&Engine{cfg: Config{ClaimWorkers: 2}, finisher: quietFinisher()})
		takeOff := func() bool { number, _ := c.takeOff(nil); return number > 0 }
		two := func() {
			t.Helper()
			for range 2 {
				if !takeOff() {
					t.Fatal("two claims may be under way beside each other")
				}
			}
		}
		if two(); takeOff() {
			t.Fatal("a third claim is begun at once")
		}
		time.Sleep(slowClaim)
		if !takeOff() {
			t.Error("nothing is begun beside claims that hang where claims are quick")
		}
		clear(c.began)
		for range 30 {
			c.took(700 * time.Millisecond)
		}
		two()
		time.Sleep(time.Second)
		if takeOff() {
			t.Error("a third claim is begun although the two are no slower than all")
		}
		for range 100 {
			c.took(time.Hour)
		}
		time.Sleep(slowTimes*longestUsual - time.Second)
		if !takeOff() {
			t.Error("claims that hang hold up all others for ever where claims are slow")
		}
	})
}

func (c *claimer) underWay() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.began)
}

// TestAnAdminWhoseClaimsHangLosesItsShare: it beats, so it is not gone; but it says that it claims nothing.
func TestAnAdminWhoseClaimsHangLosesItsShare(t *testing.T) {
	t.Parallel()
	// No job is ever overdue, so that nobody takes what is the other's.
	clock := newHandClock()
	quick := func(c *Config) { clock.rule(c); c.BeatEvery = 50 * time.Millisecond }
	b := setup(t, dbtest.New(t, db.MySQL), quick, addressA)
	release, open := b.latch()
	two := newEngine(t, b.pool, b.executors, func(c *Config) { quick(c); c.Name = "second" })
	two.claimer.hang(func(int64) bool { return true }, release)
	machine := newHandClock()
	two.claimer.goBy(machine)
	b.startEngine(two)
	t.Cleanup(open)
	b.await("each knows of the other", func() bool { return len(b.engine.Load().Alive) == 2 })
	ids := make([]int64, 40)
	for i := range ids {
		ids[i] = b.addJob(nil)
	}
	b.exec("UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = ?", clock.now().UnixMilli())
	own := two.node.Rank()
	of := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return own(id) != 0 })
	b.await("the first has sent its share, and the second hangs", func() bool {
		return b.countRuns("trigger_code = 200") == len(ids)-len(of) && two.claimer.underWay() > 0
	})
	if two.Load().Stuck {
		t.Error("the second says that it is stuck as soon as a claim is under way")
	}
	machine.pass(stuckAfter + b.engine.cfg.ClaimEvery + time.Nanosecond)
	b.await("all are sent", func() bool { return b.countRuns("trigger_code = 200") == len(ids) })
	if n := b.countRuns("owner_node = ?", two.node.ID()); n != 0 || len(of) == 0 {
		t.Errorf("the second claimed %d although it hangs; its share is %d jobs", n, len(of))
	}
	if !two.Load().Stuck {
		t.Error("the second does not say that it is stuck")
	}
	open()
	b.await("it has its share again", func() bool {
		return len(b.engine.node.Claiming()) == 2
	})
}

// TestTwoAdminsShareWhatIsOverdue has more due than both can claim, so that all of it is overdue all the time.
func TestTwoAdminsShareWhatIsOverdue(t *testing.T) {
	t.Parallel()
	const jobs, passes = 1000, 4
	var second atomic.Int64
	first := time.Now().Add(-time.Hour).Truncate(time.Second)
	settings := func(c *Config) {
		byHand(c)
		c.MisfireAfter = 24 * time.Hour // every fire is made
		c.Horizon = time.Nanosecond
		c.BeatEvery, c.Lease = 50*time.Millisecond, 10*time.Hour
		c.Clock = func() time.Time { return first.Add(20*time.Second + time.Duration(second.Load())*time.Second) }
	}
	b := setup(t, dbtest.New(t, db.MySQL), settings, addressA)
	two := b.second(settings)
	for _, e := range []*Engine{b.engine, two} {
		e.claimer.goBy(newHandClock()) // it stands still, so that nobody is called stuck for being slow
	}
	b.await("each knows of the other", func() bool { return len(b.engine.Load().Alive) == 2 && len(two.Load().Alive) == 2 })
	b.addJob(func(p *db.InsertJobParams) { p.ScheduleConf = "20" })
	for n := 1; n < jobs; n *= 2 {
		b.exec(`INSERT INTO xxl_job_info (job_group, job_desc, schedule_type, schedule_conf, misfire_strategy, executor_route_strategy,
			executor_handler, executor_block_strategy, glue_type)
			SELECT job_group, job_desc, schedule_type, schedule_conf, misfire_strategy, executor_route_strategy, executor_handler,
			executor_block_strategy, glue_type FROM xxl_job_info LIMIT ?`, min(n, jobs-n))
	}
	b.exec("UPDATE xxl_job_info SET trigger_status = 1, claimed_until = 0, trigger_next_time = ?", first.UnixMilli())
	for range passes {
		var all sync.WaitGroup
		for _, e := range []*Engine{b.engine, two} {
			all.Go(func() {
				if err := e.claimDue(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	if n := counter(t, b.engine, "claims_total", "conflict") + counter(t, two, "claims_total", "conflict"); n > jobs/100 {
		t.Errorf("%.0f conflicts", n)
	}
	for _, e := range []*Engine{b.engine, two} {
		if n := b.countRuns("owner_node = ?", e.node.ID()); n < jobs/3 {
			t.Errorf("one of them made %d runs only", n)
		}
	}
}

// TestAFireThatHungTooLongFollowsTheMisfireStrategy: the claim was decided in time, and came back from the database minutes later.
func TestAFireThatHungTooLongFollowsTheMisfireStrategy(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		clock := newHandClock()
		b := setup(t, pool, func(c *Config) { byHand(c); clock.rule(c) }, addressA)
		nothing := b.addJob(nil)
		once := b.addJob(func(p *db.InsertJobParams) { p.MisfireStrategy = jobspec.MisfireFireOnceNow })
		planned := clock.now().Add(time.Second)
		b.exec("UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = ?", planned.UnixMilli())
		if err := b.engine.claim(t.Context(), b.due(planned), planned); err != nil {
			t.Fatal(err)
		}
		clock.pass(152 * time.Second)
		b.await("both are settled", func() bool { return b.unsettled() == 0 })
		for _, r := range b.executors.received() {
			if r.req.JobID == nothing {
				t.Error("a fire of a job that is to do nothing then was sent minutes late")
			}
		}
		if n := b.countRuns("job_id = ? AND trigger_code = 500", nothing); n != 1 {
			t.Errorf("%d rows say that it was not sent", n)
		}
		if n := b.countRuns("job_id = ? AND trigger_code = 200", once); n != 1 {
			t.Errorf("%d runs of the job that is to make up for it were sent", n)
		}
	})
}

// TestAClaimedJobIsTheJobThatIsTriggered: due jobs are read by a statement of their own, which must leave nothing out that a run hangs on.
func TestAClaimedJobIsTheJobThatIsTriggered(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, byHand, addressA)
		id := b.addJob(func(p *db.InsertJobParams) {
			p.ExecutorParam, p.ExecutorTimeout, p.ExecutorFailRetryCount, p.RetryBackoff = "p", 7, 2, "1s,5s"
			p.ScheduleType, p.ScheduleConf, p.GlueType, p.GlueSource, p.TimeZone = jobspec.ScheduleFixDelay, "60", wire.GlueShell, "true", "Asia/Tokyo"
			p.MaxConcurrent, p.ConcurrencyPolicy = 3, string(jobspec.ConcurrencyDiscard)
			p.KeepOutput, p.WhenLost, p.Priority = string(jobspec.KeepFailed), string(jobspec.WhenLostAgain), string(jobspec.PriorityLow)
			p.ChildJobIDs = "5"
			p.GlueUpdateTime = nullTime(pool.Wall(time.Now().Truncate(time.Second)))
		})
		at := time.Now().Add(time.Hour)
		b.start(id, at)
		row, err := b.engine.queries.GetJob(t.Context(), pool, id)
		if err != nil {
			t.Fatal(err)
		}
		rows := b.due(at)
		if len(rows) != 1 {
			t.Fatalf("%d jobs are due", len(rows))
		}
		claimed := b.engine.dueJob(&rows[0])
		if diff := cmp.Diff(jobOf(&row, pool), claimed, cmp.AllowUnexported(job{})); diff != "" {
			t.Errorf("triggered and claimed (-want +got):\n%s", diff)
		}
		flow := b.addJob(func(p *db.InsertJobParams) {
			p.GlueType, p.GlueSource, p.ExecutorBlockStrategy = jobspec.GlueFlow, "steps: [{id: a, wait: {seconds: 1}}]", db.Text(wire.BlockDiscardLater)
		})
		b.exec("UPDATE xxl_job_info SET trigger_status = 2, trigger_next_time = ? WHERE id = ?", at.UnixMilli(), flow) // as the engine would see to itself
		if row, err = b.engine.queries.GetJob(t.Context(), pool, flow); err != nil {
			t.Fatal(err)
		}
		rows, err = b.engine.queries.ListDueJobs(t.Context(), pool, db.ListDueJobsParams{Hidden: 1, UntilMs: at.UnixMilli(), Held: []int64{0}, Limit: duePage})
		if err != nil || len(rows) != 1 {
			t.Fatalf("%d flows are due: %v", len(rows), err)
		}
		if diff := cmp.Diff(jobOf(&row, pool), b.engine.dueJob(&rows[0]), cmp.AllowUnexported(job{})); diff != "" || jobOf(&row, pool).limit != 1 {
			t.Errorf("a flow, triggered and claimed (-want +got):\n%s", diff)
		}
		for v, i := reflect.ValueOf(*claimed), 0; i < v.NumField(); i++ {
			if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "apart" { // that is a trial, and no job
				t.Errorf("this test says nothing of %s", name)
			}
		}
	})
}
