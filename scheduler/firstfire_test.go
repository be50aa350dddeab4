package scheduler

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestTheFirstFireThatIsNotDecided is at the next time on record, unless what is before it is held back or what is behind it claimed.
func TestTheFirstFireThatIsNotDecided(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	s := jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "60", Zone: time.UTC}
	ms := func(minutes int) int64 { return at.Add(time.Duration(minutes) * time.Minute).UnixMilli() }
	for _, tt := range []struct {
		name string
		row  db.ListDueJobsRow
		want int // minutes behind at; -1: none
	}{
		{"the next time", db.ListDueJobsRow{TriggerNextTime: ms(0)}, 0},
		{"claimed before", db.ListDueJobsRow{TriggerNextTime: ms(0), ClaimedUntil: ms(0)}, 0},
		{"put back behind a claim", db.ListDueJobsRow{TriggerNextTime: ms(0), ClaimedUntil: ms(2) + 1}, 3},
		{"all of it claimed", db.ListDueJobsRow{TriggerNextTime: ms(0), ClaimedUntil: ms(5) + 1}, -1},
		{"held back since", db.ListDueJobsRow{TriggerNextTime: ms(3), PausedNext: ms(3), PausedAt: ms(1)}, 1},
		{"held back once, and moved since", db.ListDueJobsRow{TriggerNextTime: ms(3), PausedNext: ms(2), PausedAt: ms(1)}, 3},
		{"never held back", db.ListDueJobsRow{TriggerNextTime: ms(3), PausedNext: ms(3)}, 3},
		{"held back, and claimed in between", db.ListDueJobsRow{TriggerNextTime: ms(3), PausedNext: ms(3), PausedAt: ms(0), ClaimedUntil: ms(1) + 1}, 2},
	} {
		now := at.Add(5*time.Minute + time.Second)
		plan, err := decide(s, jobspec.Pauses{}, &tt.row, now, now, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		got := -1
		if len(plan.Fires) > 0 {
			got = int(plan.Fires[0].Sub(at).Minutes())
		}
		if got != tt.want {
			t.Errorf("%s: the first is minute %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestAScheduleWhoseTimesAreAllClaimedHasNoMore, whatever pause goes on: nothing is held back, and the job stops.
func TestAScheduleWhoseTimesAreAllClaimedHasNoMore(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)
	s := jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "60", Zone: time.UTC, End: at.Add(time.Minute)}
	pause := &jobspec.Pause{Scope: jobspec.PauseAll, From: at.Add(-time.Hour), Strategy: jobspec.PauseEach}
	for name, pauses := range map[string]jobspec.Pauses{"none": nil, "one": {pause}} {
		row := db.ListDueJobsRow{TriggerNextTime: at.UnixMilli(), ClaimedUntil: at.Add(2 * time.Minute).UnixMilli()}
		now := at.Add(time.Hour)
		plan, err := decide(s, pauses, &row, now, now, time.Minute)
		if err != nil || !plan.Next.IsZero() || !plan.Hold.IsZero() || len(plan.Fires) > 0 || plan.Misfire != nil {
			t.Errorf("with pauses: %s: %+v, %v", name, plan, err)
		}
	}
}

// TestWhoIsNotBehindHelps: jobs of other shares are claimed when they are overdue for long, the longer the further back in their line
// this admin stands, and not while its own are overdue. A time in which it could not read itself does not count.
func TestWhoIsNotBehindHelps(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	queries, clock := db.New(), newHandClock()
	for _, name := range []string{"one", "two"} {
		id, err := queries.InsertNode(t.Context(), pool, db.InsertNodeParams{Name: name, StartedAt: clock.now().UnixMilli(), BeatAt: clock.now().UnixMilli()})
		if err != nil || id == 0 {
			t.Fatal(id, err)
		}
	}
	// The engine reads once by itself when it starts. That it has shows in what it makes of a job of then.
	_, err := pool.ExecContext(t.Context(), `INSERT INTO xxl_job_info (job_group, job_desc, schedule_type, schedule_conf, misfire_strategy, executor_route_strategy,
		executor_handler, executor_block_strategy, glue_type, trigger_status, trigger_next_time)
		VALUES (1, 'first', 'FIX_RATE', '36000', 'DO_NOTHING', 'FIRST', 'h', 'SERIAL_EXECUTION', 'BEAN', 1, ?)`, clock.now().Add(-time.Hour).UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	b := setup(t, pool, func(c *Config) { byHand(c); clock.rule(c) }, addressA)
	b.await("it has read", func() bool { return b.countRuns("job_id > 0") == 1 })
	if n := len(b.engine.node.Claiming()); n != 3 {
		t.Fatalf("the claims are shared by %d", n)
	}
	var mu sync.Mutex
	var got []int64
	b.engine.claimer.claim = func(_ context.Context, rows []db.ListDueJobsRow, _ time.Time) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, jobIDs(rows)...)
		return nil
	}
	byPlace := make(map[int][]int64)
	rank := b.engine.node.Rank()
	for len(byPlace[0]) == 0 || len(byPlace[1]) == 0 || len(byPlace[2]) == 0 {
		id := b.addJob(nil)
		byPlace[rank(id)] = append(byPlace[rank(id)], id)
	}
	machine := b.engine.claimer.now()
	b.engine.claimer.now = func() time.Time { return machine }
	unread := b.engine.cfg.ClaimEvery + behindAfter // for so long no read may have ended, unnoticed
	for _, tt := range []struct {
		name        string
		own, others time.Duration // by which they are overdue
		want        int           // places in the line that are claimed
		fails       bool          // a read does before
		after       time.Duration // the read before
	}{
		{"not long enough", 0, helpAfter, 1, false, time.Second},
		{"long enough for the second", 0, helpAfter + time.Millisecond, 2, false, time.Second},
		{"not for the third", 0, 2 * helpAfter, 2, false, time.Second},
		{"for all", 0, 2*helpAfter + time.Millisecond, 3, false, time.Second},
		{"not behind yet", behindAfter - time.Millisecond, time.Hour, 3, false, time.Second},
		{"behind itself", behindAfter, time.Hour, 1, false, time.Second},
		{"back after a read that failed", 0, time.Hour, 1, true, time.Second},
		{"back for as long as the second waits", 0, time.Hour, 1, false, helpAfter},
		{"and longer", 0, time.Hour, 2, false, time.Millisecond},
		{"for as long as the third waits", 0, time.Hour, 2, false, helpAfter - time.Millisecond},
		{"and longer than that", 0, time.Hour, 3, false, time.Millisecond},
		{"without a read for a while", 0, time.Hour, 3, false, unread},
		{"for longer", 0, time.Hour, 1, false, unread + time.Millisecond},
	} {
		machine = machine.Add(tt.after)
		if tt.fails {
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if err := b.engine.claimDue(ended); err == nil {
				t.Fatal("a read did not fail")
			}
		}
		var want []int64
		got = nil
		for place, ids := range byPlace {
			overdue := tt.others
			if place == 0 {
				overdue = tt.own
			}
			for _, id := range ids {
				b.exec("UPDATE xxl_job_info SET trigger_status = 1, claimed_until = 0, trigger_next_time = ? WHERE id = ?", clock.now().Add(-overdue).UnixMilli(), id)
			}
			if place < tt.want {
				want = append(want, ids...)
			}
		}
		if err := b.engine.claimDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: claimed %v, want %v", tt.name, got, want)
		}
		if lag := b.engine.claimer.lag(); lag != tt.own {
			t.Errorf("%s: its own are overdue by %v, told %v", tt.name, tt.own, lag)
		}
	}
}
