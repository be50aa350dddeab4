package scheduler

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestP7ClockChanges claims every ten minutes through a night in which the clock changes. In 2026 New York's clocks leave
// out 02:00 to 03:00 on 8 March and repeat 01:00 to 02:00 on 1 November. What a cron text means then is spec §7.4: a time
// that does not exist is left out, one that exists twice is the second.
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
		})
		b.group = b.addGroup("orders")
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

func TestP7ASteppedClockIsNoticed(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		var step atomic.Int64
		b := setup(t, pool, func(c *Config) {
			c.BeatEvery = 10 * time.Millisecond
			c.Clock = func() time.Time { return time.Now().Add(time.Duration(step.Load())) }
		}, addressA)
		id := b.addJob(nil)
		next := time.Now().Add(59 * time.Minute).Truncate(time.Millisecond)
		b.start(id, next)
		if n := counter(t, b.engine, "clock_steps_total", ""); n != 0 {
			t.Errorf("%.0f steps of a clock that goes evenly", n)
		}
		step.Store(int64(time.Hour))
		b.await("the step is counted", func() bool { return counter(t, b.engine, "clock_steps_total", "") == 1 })
		b.await("the fire that was passed over is on record", func() bool { return b.countRuns("job_id = ? AND trigger_code = 500", id) == 1 })
		if r := b.allRuns()[0]; r.PlannedAt != next.UnixMilli() {
			t.Errorf("planned at %d, want %d", r.PlannedAt, next.UnixMilli())
		}
		step.Store(0)
		b.await("the step back is counted", func() bool { return counter(t, b.engine, "clock_steps_total", "") == 2 })
		if err := b.engine.Ready(); err != nil {
			t.Errorf("after the steps: %v", err)
		}
		now := b.trigger(id)
		b.await("runs are still sent", func() bool { return b.run(now).TriggerCode == 200 })
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
