package scheduler

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestP7ClockChanges claims every ten minutes through a night in which the clock changes. In 2026 New York's clocks leave
// out 02:00 to 03:00 on 8 March and repeat 01:00 to 02:00 on 1 November. What a cron text means then is docs/compat.md §7.4: a
// time that does not exist is left out, one that exists twice is the second.
func TestP7ClockChanges(t *testing.T) {
	t.Parallel()
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	const layout = "01-02 15:04 -0700"
	spring := time.Date(2026, 3, 7, 0, 0, 0, 0, newYork)
	autumn := time.Date(2026, 10, 31, 0, 0, 0, 0, newYork)
	tests := []struct {
		name       string
		kind       jobspec.ScheduleType
		conf       string
		from       time.Time
		start, end time.Duration // of the fires looked at, after from
		want       []string
	}{
		{"a daily job in the gap is left out that day", jobspec.ScheduleCron, "0 30 2 * * ?", spring, 0, 72 * time.Hour,
			[]string{"03-07 02:30 -0500", "03-09 02:30 -0400"}},
		{"a daily job in the repeated hour fires once", jobspec.ScheduleCron, "0 30 1 * * ?", autumn, 0, 73 * time.Hour,
			[]string{"10-31 01:30 -0400", "11-01 01:30 -0500", "11-02 01:30 -0500"}},
		{"a daily job at noon is neither doubled nor dropped in spring", jobspec.ScheduleCron, "0 0 12 * * ?", spring, 0, 71 * time.Hour,
			[]string{"03-07 12:00 -0500", "03-08 12:00 -0400", "03-09 12:00 -0400"}},
		{"nor in autumn", jobspec.ScheduleCron, "0 0 12 * * ?", autumn, 0, 73 * time.Hour,
			[]string{"10-31 12:00 -0400", "11-01 12:00 -0500", "11-02 12:00 -0500"}},
		{"an hourly job passes over the gap", jobspec.ScheduleCron, "0 0 * * * ?", spring, 24 * time.Hour, 28 * time.Hour,
			[]string{"03-08 00:00 -0500", "03-08 01:00 -0500", "03-08 03:00 -0400", "03-08 04:00 -0400"}},
		{"an hourly job does not fire twice in the repeated hour", jobspec.ScheduleCron, "0 0 * * * ?", autumn, 24 * time.Hour, 28 * time.Hour,
			[]string{"11-01 00:00 -0400", "11-01 01:00 -0500", "11-01 02:00 -0500"}},
		{"a fixed rate knows no clock changes", jobspec.ScheduleFixRate, "3600", autumn, 24 * time.Hour, 28 * time.Hour,
			[]string{"11-01 00:00 -0400", "11-01 01:00 -0400", "11-01 01:00 -0500", "11-01 02:00 -0500"}},
	}
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		var now time.Time
		b := &bundle{t: t, pool: pool, executors: &fakeExecutors{has: make(map[int64]string)}}
		b.engine = newEngine(t, pool, b.executors, func(c *Config) {
			c.Clock = func() time.Time { return now }
			c.JobZone, c.MisfireAfter = newYork, time.Hour
			c.BeatEvery, c.Lease = time.Hour, 10*time.Hour
		})
		b.group = b.addGroup("orders")
		now = spring
		if err := b.engine.node.Start(t.Context()); err != nil { // who has no lease claims nothing
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.engine.node.Stop(context.WithoutCancel(t.Context())) })
		for _, tt := range tests {
			now = tt.from
			id := b.addJob(func(p *db.InsertJobParams) { p.ScheduleType, p.ScheduleConf = tt.kind, db.Text(tt.conf) })
			next, err := (jobspec.Schedule{Type: tt.kind, Conf: tt.conf, Zone: newYork}).Next(tt.from.Add(-time.Second))
			if err != nil {
				t.Fatal(err)
			}
			if tt.kind == jobspec.ScheduleFixRate {
				next = tt.from
			}
			b.start(id, next)
			for ; !now.After(tt.from.Add(74 * time.Hour)); now = now.Add(10 * time.Minute) {
				if err := b.engine.claimDue(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			b.haltJobs()
			var got []string
			for _, r := range b.allRuns() {
				at := time.UnixMilli(r.PlannedAt).In(newYork)
				if r.JobID == id && !at.Before(tt.from.Add(tt.start)) && at.Before(tt.from.Add(tt.end)) {
					got = append(got, at.Format(layout))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
		}
	})
}

// inBubble runs a test with engines on the clock of a bubble: what is early or late is so by their doing, however slow the machine is.
// Several need a database that they can share, so not the embedded one.
func inBubble(t *testing.T, dialect db.Dialect, test func(t *testing.T, pool *db.Pool)) {
	t.Helper()
	cfg := db.Config{Unsafe: true}
	if dialect == db.SQLite {
		cfg.DataDir = dbtest.Folder(t)
	} else {
		cfg.URL = dbtest.Migrated(t) // by a server that was begun outside of the bubble
	}
	synctest.Test(t, func(t *testing.T) { test(t, dbtest.Open(t, cfg)) })
}

// setClock is a machine's clock that can be set.
type setClock struct{ ahead atomic.Int64 }

func (c *setClock) now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *setClock) set(ahead time.Duration) { c.ahead.Store(int64(ahead)) }

// even watches jobs of every second for a while: whatever clocks do, no fire is early, late, left out or refused.
func (b *bundle) even(what string, lasts time.Duration) {
	b.t.Helper()
	from, before := time.Now(), len(b.executors.received())
	b.await(what+": time passes", func() bool { return time.Since(from) > lasts })
	planned := make(map[int64]map[int64]bool)
	for _, r := range b.executors.received()[before:] {
		at := time.UnixMilli(r.req.LogDateTime)
		if off := r.at.Sub(at); off.Abs() > nearly {
			b.t.Errorf("%s: a fire was sent %s after its time", what, off)
		}
		if planned[r.req.JobID] == nil {
			planned[r.req.JobID] = make(map[int64]bool)
		}
		if planned[r.req.JobID][at.Unix()] {
			b.t.Errorf("%s: job %d was sent twice for %s", what, r.req.JobID, at)
		}
		planned[r.req.JobID][at.Unix()] = true
	}
	for id, of := range planned {
		for at := from.Unix() + 1; at < from.Add(lasts).Unix()-1; at++ {
			if !of[at] {
				b.t.Errorf("%s: job %d was not sent for %s", what, id, time.Unix(at, 0))
			}
		}
	}
	if n := b.countRuns("trigger_code NOT IN (0, 200)"); n != 0 || len(planned) == 0 {
		b.t.Errorf("%s: %d runs were skipped or failed, %d jobs were sent: %s", what, n, len(planned), b.dump())
	}
}

// everySecond starts jobs that are due each second.
func (b *bundle) everySecond(n int) {
	b.t.Helper()
	for range n {
		b.start(b.addJob(func(p *db.InsertJobParams) { p.ScheduleConf = "1" }), time.Now().Add(time.Second).Truncate(time.Second))
	}
}

// nearly is within how much clocks agree, and fires are on time.
const nearly = 10 * time.Millisecond

var clockSteps = []time.Duration{5 * time.Second, -5 * time.Second, time.Hour, -time.Hour}

func TestP7AStepOfOneMachinesClockMovesNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, db.MySQL, func(t *testing.T, pool *db.Pool) {
		reference := func(context.Context) (time.Time, error) { return time.Now(), nil } // as the database's, of the bubble's time
		b := setup(t, pool, func(c *Config) {
			c.BeatEvery, c.ClaimEvery, c.Reference = 100*time.Millisecond, 100*time.Millisecond, reference
		}, addressA)
		var odd setClock
		two := b.second(func(c *Config) {
			c.BeatEvery, c.ClaimEvery, c.Now, c.Reference = 100*time.Millisecond, 100*time.Millisecond, odd.now, reference
		})
		b.await("each knows of the other", func() bool { return len(b.engine.Load().Alive) == 2 && len(two.Load().Alive) == 2 })
		b.everySecond(6)
		for i, step := range clockSteps {
			odd.set(step)
			what := "its clock is off by " + step.String()
			// The odd one takes an executor's beat, and both must hold it for alive.
			if err := two.Register(t.Context(), wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "orders", RegistryValue: addressA}); err != nil {
				t.Fatal(err)
			}
			b.even(what, 2500*time.Millisecond)
			if own := two.Load().Own; (own - step).Abs() > nearly {
				t.Errorf("%s: it says %s", what, own)
			}
			if n := counter(t, two, "clock_steps_total", ""); n != float64(i+1) {
				t.Errorf("%s: %.0f steps counted, want %d", what, n, i+1)
			}
			if n := counter(t, b.engine, "clock_steps_total", ""); n != 0 {
				t.Errorf("%s: the other counts %.0f steps", what, n)
			}
		}
		for _, e := range []*Engine{b.engine, two} {
			if b.countRuns("owner_node = ?", e.node.ID()) == 0 {
				t.Error("one of them claimed nothing, so the test says nothing about it")
			}
		}
		// One that starts with its clock wrong goes by the others' time as well.
		three := b.second(func(c *Config) { c.Name, c.Now, c.Reference = "third", odd.now, reference })
		if off := time.Until(three.Now()); off.Abs() > nearly {
			t.Errorf("the third is off by %s", off)
		}
		if own := three.Load().Own; (own + time.Hour).Abs() > nearly {
			t.Errorf("the third says that its machine is ahead by %s", own)
		}
	})
}

func TestP7AStepOfTheDatabasesClockMovesNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, db.MySQL, func(t *testing.T, pool *db.Pool) {
		b := &bundle{t: t, pool: pool, executors: &fakeExecutors{has: make(map[int64]string)}}
		var theirs, ours setClock
		engine := func(name string) *Engine {
			return newEngine(t, b.pool, b.executors, func(c *Config) {
				c.Name, c.BeatEvery, c.ClaimEvery, c.Now = name, 100*time.Millisecond, 100*time.Millisecond, ours.now
				c.followAfter = time.Second
				c.Reference = func(context.Context) (time.Time, error) { return theirs.now(), nil }
			})
		}
		b.engine = engine("one")
		b.group = b.addGroup("orders", addressA)
		b.startEngine(b.engine)
		two := engine("two")
		b.startEngine(two)
		b.await("each knows of the other", func() bool { return len(b.engine.Load().Alive) == 2 && len(two.Load().Alive) == 2 })
		b.everySecond(4)
		for _, step := range clockSteps {
			theirs.set(step)
			b.even("the database's clock is off by "+step.String(), 2500*time.Millisecond)
			for _, e := range []*Engine{b.engine, two} {
				if lead := *e.Load().Lead; (lead - step).Abs() > nearly {
					t.Errorf("ahead by %s, it says %s", step, lead)
				}
			}
		}
		three := engine("three")
		b.startEngine(three)
		if off := time.Until(three.Now()); off.Abs() > nearly {
			t.Errorf("one that joins is off by %s from those that are there", off)
		}
		b.haltJobs()
		theirs.set(time.Hour)
		ours.set(time.Hour) // all clocks say so: the time before was wrong
		for _, e := range []*Engine{b.engine, two, three} {
			b.await("it is followed", func() bool { return (time.Until(e.Now()) - time.Hour).Abs() < time.Second })
		}
	})
}

// TestP7TheOnlyClockIsSet: with the embedded database there is the machine's clock alone.
func TestP7TheOnlyClockIsSet(t *testing.T) {
	t.Parallel()
	inBubble(t, db.SQLite, func(t *testing.T, pool *db.Pool) {
		var clock setClock
		b := &bundle{t: t, pool: pool, executors: &fakeExecutors{has: make(map[int64]string)}}
		b.engine = newEngine(t, pool, b.executors, func(c *Config) { c.BeatEvery, c.Now, c.followAfter = 50*time.Millisecond, clock.now, 3*time.Second })
		b.group = b.addGroup("orders", addressA)
		b.startEngine(b.engine)
		b.everySecond(2)
		clock.set(time.Hour)
		b.even("set for a moment", 2*time.Second)
		clock.set(0)
		b.even("set back", 2*time.Second)
		if n := counter(t, b.engine, "clock_steps_total", ""); n != 2 {
			t.Errorf("%.0f steps counted, want 2", n)
		}
		clock.set(time.Hour)
		b.await("what has stayed so is followed", func() bool { return (time.Until(b.engine.Now()) - time.Hour).Abs() < time.Second })
		b.await("what was passed over is on record", func() bool { return b.countRuns("trigger_type = 'MISFIRE' AND trigger_code = 500") == 2 })
		followed := b.engine.Now()
		b.await("fires are sent again", func() bool { return b.countRuns("planned_at > ? AND trigger_code = 200", followed.UnixMilli()) > 6 })
		if n := b.countRuns("planned_at > ? AND trigger_code = 500", followed.UnixMilli()); n != 0 {
			t.Errorf("%d of them failed, as if the executor had been silent for an hour", n)
		}
		if err := b.engine.Ready(); err != nil {
			t.Errorf("after the steps: %v", err)
		}
	})
}

// TestP7NoTimeComesTwice when the clock is put back: a job waits until the time that it has reached comes again, and one that is stopped and started goes
// on at once.
func TestP7NoTimeComesTwice(t *testing.T) {
	t.Parallel()
	inBubble(t, db.SQLite, func(t *testing.T, pool *db.Pool) {
		var clock setClock
		b := &bundle{t: t, pool: pool, executors: &fakeExecutors{has: make(map[int64]string)}}
		b.engine = newEngine(t, pool, b.executors, func(c *Config) { c.BeatEvery, c.Now, c.followAfter = 50*time.Millisecond, clock.now, 3*time.Second })
		b.group = b.addGroup("orders", addressA)
		b.startEngine(b.engine)
		b.everySecond(2)
		const back = 70 * time.Second
		clock.set(-back)
		b.await("it is followed", func() bool { return (time.Until(b.engine.Now()) + back).Abs() < time.Second })
		followed, reached := time.Now(), b.countRuns("id > 0")
		restarted := b.started(b.engine.Now().Add(time.Second).Truncate(time.Second), func(p *db.InsertJobParams) { p.ScheduleConf = "1" })
		b.exec("UPDATE xxl_job_info SET claimed_until = (SELECT MAX(claimed_until) FROM xxl_job_info) WHERE id = ?", restarted)
		b.restart(restarted, b.engine.Now().Add(time.Second).Truncate(time.Second))
		b.await("who was started anew goes on", func() bool { return b.countRuns("job_id = ?", restarted) > 3 })
		if n := b.countRuns("job_id <> ?", restarted) - reached; n != 0 {
			t.Errorf("the others have %d runs in %s", n, time.Since(followed))
		}
		b.await("the others go on when their time comes", func() bool { return b.countRuns("job_id <> ?", restarted) > reached+4 })
		if wait := time.Since(followed); wait < back-5*time.Second || wait > back+10*time.Second {
			t.Errorf("they went on after %s", wait)
		}
		var twice int
		if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM (SELECT 1 FROM xxl_job_log GROUP BY job_id, planned_at HAVING COUNT(*) > 1) AS t").Scan(&twice); err != nil || twice != 0 {
			t.Errorf("%d times came twice, %v", twice, err)
		}
	})
}

// TestRegistrationsSurviveClockChanges: DATETIME columns hold the zone's wall clock, which repeats an hour in autumn.
func TestRegistrationsSurviveClockChanges(t *testing.T) {
	t.Parallel()
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	configs := map[string]func(t *testing.T) db.Config{
		"sqlite":  func(t *testing.T) db.Config { return db.Config{DataDir: t.TempDir(), Unsafe: true, Zone: newYork} },
		"mariadb": func(t *testing.T) db.Config { return db.Config{URL: dbtest.MariaDB(t), Zone: newYork} },
	}
	for name, config := range configs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := dbtest.Open(t, config(t))
			if err := pool.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, change := range []time.Time{
				time.Date(2026, 3, 8, 7, 0, 0, 0, time.UTC),  // 02:00 becomes 03:00
				time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC), // 02:00 becomes 01:00
			} {
				now := change.Add(-10 * time.Minute)
				b := &bundle{t: t, pool: pool, executors: &fakeExecutors{has: make(map[int64]string)}}
				b.engine = newEngine(t, pool, b.executors, func(c *Config) { c.Clock = func() time.Time { return now } })
				b.group = b.addGroup("orders " + change.Format("January"))
				app := "orders " + change.Format("January")
				dies := change.Add(-10 * time.Second)
				for ; now.Before(change.Add(70 * time.Minute)); now = now.Add(30 * time.Second) {
					b.register(app, addressA)
					if now.Before(dies) {
						b.register(app, addressB)
					}
					if err := b.engine.directory.reload(t.Context()); err != nil {
						t.Fatal(err)
					}
					live := b.engine.directory.get(b.group).addresses
					if !slices.Contains(live, addressA) {
						t.Fatalf("%s: an executor that beats is taken for dead", now.In(newYork))
					}
					// An hour later the wall clock shows the time of its last beat again, and for the length of a
					// registration nobody can tell.
					again := now.Sub(change) > 58*time.Minute && now.Sub(change) < 62*time.Minute
					if silent := now.Sub(dies) - 30*time.Second; silent > 90*time.Second && !again && slices.Contains(live, addressB) {
						t.Fatalf("%s: an executor that is silent for %s is taken for alive", now.In(newYork), silent)
					}
				}
			}
		})
	}
}
