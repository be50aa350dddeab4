package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// besideXXL lends a database on which Punctual works beside XXL-JOB admins. They have no embedded one.
func besideXXL(t *testing.T) *db.Pool {
	t.Helper()
	pool := dbtest.New(t, db.MySQL)
	for _, s := range []string{
		"INSERT IGNORE INTO xxl_job_lock (lock_name) VALUES ('schedule_lock')",
		"INSERT INTO punctual_adoption (id, release_line) VALUES (1, '2.3')",
		"INSERT INTO punctual_beside (group_id) VALUES (0)",
	} {
		if _, err := pool.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := pool.CheckCurrent(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !pool.Beside() {
		t.Fatal("the mode is not on")
	}
	return pool
}

// oldAdmin schedules as an XXL-JOB admin does (docs/compat.md §4.2): what is due within 5 s goes into memory, and the next times are
// written before the lock is free again. What it fires is counted by job and second.
type oldAdmin struct {
	b        *bundle
	anyState bool // as up to 2.4.2: times are written whatever the job's status is by then
	fired    map[fire]int
	late     int       // fires dropped because they were found too late
	sleeps   time.Time // until when, after a pass that found nothing
	passed   time.Time // when it looked last
}

type fire struct{ job, at int64 }

// pass makes one pass at a moment; while it holds the lock, meanwhile is called.
func (o *oldAdmin) pass(now time.Time, meanwhile func()) {
	o.b.t.Helper()
	ctx := o.b.t.Context()
	must := func(err error) {
		o.b.t.Helper()
		if err != nil {
			o.b.t.Fatal(err)
		}
	}
	tx, err := o.b.pool.BeginTx(ctx, nil)
	must(err)
	defer tx.Rollback()
	dbtest.Hold(o.b.t, o.b.pool, tx)
	var name string
	must(tx.QueryRowContext(ctx, "SELECT lock_name FROM xxl_job_lock WHERE lock_name = 'schedule_lock' FOR UPDATE").Scan(&name))
	meanwhile()
	type due struct {
		id, next int64
		spec     jobspec.Schedule
	}
	var jobs []due
	rows, err := tx.QueryContext(ctx, "SELECT id, trigger_next_time, schedule_type, schedule_conf FROM xxl_job_info WHERE trigger_status = 1 AND trigger_next_time <= ? ORDER BY id LIMIT 6000", now.UnixMilli()+5000)
	must(err)
	for rows.Next() {
		j := due{spec: jobspec.Schedule{Zone: time.UTC}}
		must(rows.Scan(&j.id, &j.next, &j.spec.Type, &j.spec.Conf))
		jobs = append(jobs, j)
	}
	must(errors.Join(rows.Err(), rows.Close()))
	for _, j := range jobs {
		at, from := time.UnixMilli(j.next), time.UnixMilli(j.next)
		switch {
		case now.After(at.Add(5 * time.Second)):
			o.late++
			from = now
		case now.After(at):
			o.fired[fire{j.id, j.next}]++
			from = now
		default:
			o.fired[fire{j.id, j.next}]++
		}
		next, err := j.spec.Next(from)
		must(err)
		where := " AND trigger_status = 1"
		if o.anyState {
			where = ""
		}
		_, err = tx.ExecContext(ctx, "UPDATE xxl_job_info SET trigger_last_time = ?, trigger_next_time = ?, trigger_status = 1 WHERE id = ?"+where, j.next, next.UnixMilli(), j.id)
		must(err)
	}
	must(tx.Commit())
	o.sleeps, o.passed = now, now
	if len(jobs) == 0 {
		o.sleeps = now.Truncate(5 * time.Second).Add(5 * time.Second)
	}
}

// TestGroupsChangeHands beside an old admin that goes on, there and back, in the middle of its passes and of ours: each fire has one
// run, either there or here.
func TestGroupsChangeHands(t *testing.T) {
	t.Parallel()
	for _, anyState := range []bool{true, false} {
		t.Run(fmt.Sprintf("times are written whatever the status is: %v", anyState), func(t *testing.T) {
			t.Parallel()
			changeHands(t, anyState)
		})
	}
}

func changeHands(t *testing.T, anyState bool) {
	pool := besideXXL(t)
	clock := &handClock{start: time.Now().Truncate(time.Minute)}
	start, now := clock.start, clock.now
	b := setup(t, pool, func(c *Config) {
		byHand(c)
		clock.rule(c)
	}, addressA)
	old := &oldAdmin{b: b, anyState: anyState, fired: make(map[fire]int)}
	specs := make(map[int64]jobspec.Schedule)
	for i, conf := range []string{"* * * * * ?", "0/2 * * * * ?", "1/5 * * * * ?", "3/10 * * * * ?", "7/15 * * * * ?", "29 * * * * ?", "1", "3", "7", "30"} {
		kind := jobspec.ScheduleCron
		if i > 5 {
			kind = jobspec.ScheduleFixRate
		}
		id := b.addJob(func(p *db.InsertJobParams) { p.ScheduleType, p.ScheduleConf = kind, db.Text(conf) })
		specs[id] = jobspec.Schedule{Type: kind, Conf: conf, Zone: time.UTC}
		next, err := specs[id].Next(start)
		if err != nil {
			t.Fatal(err)
		}
		b.exec("UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = ? WHERE id = ?", next.UnixMilli(), id)
	}
	random := rand.New(rand.NewPCG(1, 2))
	const length = 600 * time.Second
	moves, nextMove, ours, lastMove := 0, 3*time.Second, false, time.Duration(0)
	var hand sync.WaitGroup
	for now().Sub(start) < length {
		clock.pass(500 * time.Millisecond)
		move := func() {}
		if now().Sub(start) >= nextMove {
			back := ours
			lastMove = now().Sub(start)
			ours = !ours
			stays := 500 + random.IntN(9000)
			if back { // what is claimed here goes on from here for a while
				stays += 8000
			}
			nextMove += time.Duration(stays) * time.Millisecond
			moves++
			move = func() {
				hand.Go(func() {
					if _, err := pool.HandOver(t.Context(), db.Hand{Groups: []int64{b.group}, Back: back, By: "test", Now: now}); err != nil {
						t.Errorf("hand over, back %v: %v", back, err)
					}
				})
			}
		}
		if random.IntN(2) == 0 { // claims beside the hand-over, and beside the pass
			hand.Go(func() {
				if err := b.engine.claimDue(context.WithoutCancel(t.Context())); err != nil {
					t.Error(err)
				}
			})
		}
		// It looks each second while it finds something: later, it would drop fires by itself.
		if !now().Before(old.sleeps) && (random.IntN(3) > 0 || now().Sub(old.passed) >= time.Second) {
			old.pass(now(), move)
		} else {
			move()
		}
		if err := b.engine.claimDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		hand.Wait()
	}
	if old.late > 0 {
		t.Errorf("the old admin dropped %d fires, as it found them too late", old.late)
	}
	here := make(map[fire]int)
	for id := range specs {
		for at, n := range b.fires(id) {
			here[fire{id, at}] = n
		}
	}
	lost, doubled, total := 0, 0, 0
	for id, spec := range specs {
		end := now().Add(-time.Second)
		for at, _ := spec.Next(start); at.Before(end); at, _ = spec.Next(at) {
			f := fire{id, at.UnixMilli()}
			total++
			switch n := old.fired[f] + here[f]; {
			case n == 0:
				lost++
				t.Logf("job %d, planned %s, %s before the end, has no run; last hand-over %s before the end, back %v", id, at.Format(time.TimeOnly), now().Sub(at), now().Sub(start)-lastMove, !ours)
			case n > 1:
				doubled++
			}
		}
	}
	if lost+doubled > 0 || len(here) < total/10 || len(old.fired) < total/10 { // how they share is chance
		t.Errorf("%d fires: %d lost, %d doubled", total, lost, doubled)
	}
	t.Logf("%d hand-overs, %d fires, of which %d here: %d lost, %d doubled", moves, total, len(here), lost, doubled)
}

// TestBesideLeavesTheirsAlone: what the old admins schedule, sent or count is neither scheduled nor ended, retried or alarmed for here.
func TestBesideLeavesTheirsAlone(t *testing.T) {
	t.Parallel()
	pool := besideXXL(t)
	alarms := &besideAlarms{}
	b := setup(t, pool, func(c *Config) {
		c.Alarms = alarms
		c.AskAfter, c.LostAfter, c.IdleAfter = time.Millisecond, time.Millisecond, time.Millisecond
	}, addressA)
	theirs := b.addJob(func(p *db.InsertJobParams) { p.ExecutorFailRetryCount = 3 })
	child := b.addJob(nil)
	b.exec("UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = ?, child_jobid = ? WHERE id = ?", time.Now().UnixMilli(), fmt.Sprint(child), theirs)
	old := b.pool.Wall(time.Now().Add(-time.Hour))
	insert := "INSERT INTO xxl_job_log (id, job_group, job_id, executor_address, executor_fail_retry_count, trigger_time, trigger_code, handle_code) VALUES (?, ?, ?, ?, 3, ?, ?, 0)"
	for id, code := range map[int64]int{1: 0, 2: 200, 3: 200, 4: 200} {
		b.exec(insert, id, b.group, theirs, addressA, old, code)
	}
	var s sweeper
	for range 5 {
		b.sweep(&s)
	}
	// A failure that its executor reports here is theirs to retry and to alarm for; a success has its children.
	if err := b.engine.Complete(t.Context(), []wire.Callback{{LogID: 3, HandleCode: 500, HandleMsg: "no"}, {LogID: 4, HandleCode: 200}}); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[int64]string{1: "0 0 0", 2: "200 0 0", 3: "200 500 0", 4: "200 200 0"} {
		r, err := b.engine.queries.GetRun(t.Context(), pool, id)
		if got := fmt.Sprint(r.TriggerCode, r.HandleCode, r.AlarmStatus); err != nil || got != want {
			t.Errorf("run %d: trigger_code, handle_code, alarm_status %s, want %s; %v", id, got, want, err)
		}
	}
	for _, r := range b.allRuns() {
		if r.ID > 4 && (r.JobID != child || r.TriggerType != jobspec.TriggerParent) {
			t.Errorf("Punctual made run %d of job %d, %s", r.ID, r.JobID, r.TriggerType)
		}
	}
	if n := len(b.allRuns()); n != 5 {
		t.Errorf("%d runs, want four of theirs and one child", n)
	}
	if alarms.raised.Load() != 0 {
		t.Error("an alarm was raised")
	}
	if b.engine.foreignSeen() {
		t.Error("another scheduler is complained about")
	}
	if err := b.engine.Upkeep().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var days int
	if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_log_report").Scan(&days); err != nil || days != 0 {
		t.Errorf("%d days are counted here, %v: the old admins do that", days, err)
	}
}

// TestOursAreNeverTheirFailures: at no commit does a run of a moved group look like what the old admins' failure monitor takes, which
// would retry and alarm for it once more.
func TestOursAreNeverTheirFailures(t *testing.T) {
	t.Parallel()
	pool := besideXXL(t)
	b := setup(t, pool, func(c *Config) { c.Alarms = &besideAlarms{} }, addressA)
	refuse := wire.Answer{Code: 500, Msg: "no"}
	b.executors.run = func(_ wire.Target, req *wire.RunRequest) (wire.Answer, error) {
		if req.JobID%2 == 0 {
			return refuse, nil
		}
		return yes, nil
	}
	seen := make(chan error, 1)
	watch, stop := context.WithCancel(t.Context())
	go func() {
		for watch.Err() == nil {
			var id sql.NullInt64
			err := pool.QueryRowContext(watch, "SELECT MAX(id) FROM xxl_job_log WHERE NOT ((trigger_code IN (0, 200) AND handle_code = 0) OR handle_code = 200) AND alarm_status = 0").Scan(&id)
			if err == nil && id.Valid {
				seen <- fmt.Errorf("run %d would be retried by an old admin", id.Int64)
				return
			}
		}
		seen <- nil
	}()
	for i := range 12 {
		id := b.addJob(func(p *db.InsertJobParams) { p.ScheduleConf, p.ExecutorFailRetryCount = "1", int64(i%3) })
		b.exec("UPDATE xxl_job_info SET trigger_status = 2, trigger_next_time = ? WHERE id = ?", time.Now().Truncate(time.Second).Add(-9*time.Second).UnixMilli(), id)
	}
	b.engine.JobsChanged()
	reported := make(map[int64]bool)
	b.await("runs have failed in every way", func() bool {
		var open []wire.Callback
		outcomes := make(map[event.Outcome]int)
		for _, r := range b.allRuns() {
			outcomes[r.Outcome]++
			if r.TriggerCode == 200 && r.HandleCode == 0 && !reported[r.ID] {
				reported[r.ID] = true
				open = append(open, wire.Callback{LogID: r.ID, HandleCode: []int{500, 502}[r.ID%2]})
			}
		}
		if err := b.engine.Complete(t.Context(), open); err != nil {
			t.Fatal(err)
		}
		return outcomes[event.Failed] > 4 && outcomes[event.TimedOut] > 4 && outcomes[event.NotSent] > 4
	})
	stop()
	if err := <-seen; err != nil {
		t.Error(err)
	}
}

// TestLongRunsAreVouchedFor: an old admin gives runs up whose executor is not in the registry.
func TestLongRunsAreVouchedFor(t *testing.T) {
	t.Parallel()
	pool := besideXXL(t)
	b := setup(t, pool, byHand, addressA)
	id := b.addJob(nil)
	at := pool.Wall(time.Now().Add(-15 * time.Minute))
	b.exec("INSERT INTO xxl_job_log (id, job_group, job_id, executor_address, trigger_time, trigger_code, handle_code, planned_at, owner_node) VALUES "+
		"(1, ?, ?, 'http://by-hand:1/', ?, 200, 0, 5, 7), (2, ?, ?, 'http://theirs:1/', ?, 200, 0, 0, 0)", b.group, id, at, b.group, id, at)
	b.sweep(&sweeper{})
	var lost int64
	err := pool.QueryRowContext(t.Context(), `SELECT SUM(l.id) FROM xxl_job_log AS l LEFT JOIN xxl_job_registry AS r ON l.executor_address = r.registry_value
		WHERE l.trigger_code = 200 AND l.handle_code = 0 AND l.trigger_time <= ? AND r.id IS NULL`, pool.Wall(time.Now().Add(-10*time.Minute))).Scan(&lost)
	if err != nil || lost != 2 {
		t.Errorf("the old admin gives up run %d, want its own, 2; %v", lost, err)
	}
	if err := b.engine.directory.reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if g := b.engine.directory.get(b.group); len(g.addresses) != 1 || g.addresses[0] != addressA {
		t.Errorf("the group has %v", g.addresses)
	}
}

// besideAlarms wants everything and counts it.
type besideAlarms struct{ raised atomic.Int64 }

func (*besideAlarms) Wanted(cause AlarmCause, _ int64) bool { return cause != AlarmRecovered }

func (a *besideAlarms) Raise(_ context.Context, _ db.DBTX, events []AlarmEvent) error {
	a.raised.Add(int64(len(events)))
	return nil
}

func (*besideAlarms) Wake() {}
