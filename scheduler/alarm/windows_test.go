package alarm

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler"
)

// hooked is an alarmer that tells one channel of everything.
func hooked(t *testing.T, pool *db.Pool) *bundle {
	b := setup(t, pool, nil)
	b.addChannel(Channel{Name: "hook", Kind: KindWebhook, Settings: Settings{URL: newReceiver(t, false, says(200, "")).URL}}, Causes()...)
	return b
}

// after lets time pass since noon, raises what happens then to the job, and lets the alarmer work.
func (b *bundle) after(d time.Duration, what ...scheduler.AlarmCause) {
	b.t.Helper()
	b.clock.set(noon.Add(d))
	for _, cause := range what {
		if cause == scheduler.AlarmRecovered {
			b.succeed(b.job)
		} else {
			b.raise(b.job, cause, "")
		}
	}
	b.work()
}

// column is a number of each notice, the oldest first.
func (b *bundle) column(name string) (list []int64) {
	b.t.Helper()
	rows, err := b.pool.QueryContext(b.t.Context(), "SELECT "+name+" FROM punctual_alarm_notice ORDER BY id")
	if err != nil {
		b.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			b.t.Fatal(err)
		}
		list = append(list, n)
	}
	if err := rows.Err(); err != nil {
		b.t.Fatal(err)
	}
	return list
}

// TestAWindowEndsAtItsEnd: what happens at that moment is told by itself, and begins a window of its own.
func TestAWindowEndsAtItsEnd(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := hooked(t, pool)
		window := b.a.cfg.Window
		b.after(0, scheduler.AlarmFailed)
		b.after(window, scheduler.AlarmFailed)
		if got := b.told(); !slices.Equal(got, []string{"failed", "failed"}) || !slices.Equal(b.column("follow_up"), []int64{0, 0}) {
			t.Errorf("told %v, of which %v follow one", got, b.column("follow_up"))
		}
		b.after(window+time.Second, scheduler.AlarmFailed)
		b.after(window+2*time.Second, scheduler.AlarmFailed, scheduler.AlarmFailed)
		if got := b.column("event_count"); len(b.told()) != 2 || !slices.Equal(got, []int64{1, 1, 3}) {
			t.Errorf("told %v; the notices have %v failures", b.told(), got)
		}
	})
}

// TestARecoveryAtTheEndOfItsWindowTakesWhatWasGathered, after which more is gathered anew.
func TestARecoveryAtTheEndOfItsWindowTakesWhatWasGathered(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := hooked(t, pool)
		window := b.a.cfg.Window
		b.after(0, scheduler.AlarmFailed)
		b.after(3*time.Second, scheduler.AlarmRecovered)
		b.after(4*time.Second, scheduler.AlarmFailed)
		b.after(window)                                         // told, which begins another window
		b.after(window+time.Second, scheduler.AlarmFailed)      // gathered in that
		b.after(window+3*time.Second, scheduler.AlarmRecovered) // when that of recoveries ends
		want := []string{"failed", "recovered", "failed", "recovered"}
		if got := b.told(); !slices.Equal(got, want) || slices.Contains(b.column("state"), 0) {
			t.Errorf("told %v, want %v, and nothing that waits: %v", got, want, b.column("state"))
		}
		b.after(window+4*time.Second, scheduler.AlarmFailed)
		b.after(2 * window)
		if got := b.told(); !slices.Equal(got, append(want, "failed")) {
			t.Errorf("told %v then", got)
		}
	})
}

// TestAFailureIsToldBeforeARecoveryThatWaitsForLonger, as it came before the last of its successes.
func TestAFailureIsToldBeforeARecoveryThatWaitsForLonger(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := hooked(t, pool)
		window := b.a.cfg.Window
		b.after(0, scheduler.AlarmFailed)
		b.after(4*time.Second, scheduler.AlarmRecovered)
		b.after(5*time.Second, scheduler.AlarmFailed)
		b.after(6*time.Second, scheduler.AlarmRecovered) // gathered until 4 s after the window of failures
		b.after(window)
		b.after(window+time.Second, scheduler.AlarmFailed)
		b.after(window+2*time.Second, scheduler.AlarmRecovered)
		b.after(window + 4*time.Second)
		if got := b.told(); !slices.Equal(got, []string{"failed", "recovered", "failed", "failed", "recovered"}) {
			t.Errorf("told %v", got)
		}
	})
}

// TestARecoveryIsToldAlthoughTheNextFailureCameFirst to be looked at: only one that was gathered is untrue by then.
func TestARecoveryIsToldAlthoughTheNextFailureCameFirst(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := hooked(t, pool)
		b.after(0, scheduler.AlarmFailed)
		b.after(time.Second, scheduler.AlarmRecovered, scheduler.AlarmFailed)
		if got := b.told(); !slices.Equal(got, []string{"failed", "recovered"}) {
			t.Errorf("told %v", got)
		}
	})
}

// TestADeadlineThatIsLookedAfterSaysNothingOfItsRun, which may go on.
func TestADeadlineThatIsLookedAfterSaysNothingOfItsRun(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := hooked(t, pool)
		late := func() int64 {
			run := b.addRun(b.job, 0, time.Time{})
			b.event(scheduler.AlarmEvent{JobID: b.job, GroupID: b.group, LogID: run, Cause: scheduler.AlarmDeadline, At: b.clock.now()})
			b.work()
			return run
		}
		late()
		if err := b.ack(b.job, "ann", ""); err != nil {
			t.Fatal(err)
		}
		b.clock.add(24 * time.Hour)
		if run := late(); b.alarmStatus(run) != 0 || len(b.told()) != 1 {
			t.Errorf("the run has %d, told %v", b.alarmStatus(run), b.told())
		}
	})
}

// TestAnotherShardOfTheSameFireEndsNoAlarm, also where it began later.
func TestAnotherShardOfTheSameFireEndsNoAlarm(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := hooked(t, pool)
		b.raise(b.job, scheduler.AlarmFailed, "")
		b.addRun(b.job, 200, b.clock.now().Add(time.Second))
		b.work()
		b.clock.add(time.Minute)
		look := func() []Open {
			t.Helper()
			if err := b.a.watchOnce(t.Context(), b.clock.now()); err != nil {
				t.Fatal(err)
			}
			b.work()
			return b.open(b.job)
		}
		if len(look()) != 1 {
			t.Error("a success of the fire that failed ends the alarm")
		}
		b.addRun(b.job, 200, b.clock.now())
		b.clock.add(time.Minute)
		if len(look()) != 0 {
			t.Error("a success of the next fire does not end the alarm")
		}
	})
}

// TestTwoWaysToTheSameSecondChannel: it is told after the shorter time, and only of what one of them is about.
func TestTwoWaysToTheSameSecondChannel(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		e := escalating(t, pool)
		e.exec("UPDATE punctual_alarm_route SET causes = 'lost'")
		for _, r := range []Route{
			{Scope: ScopeJob, ScopeID: e.job, Causes: []scheduler.AlarmCause{scheduler.AlarmLost}, EscalateAfter: 5, EscalateTo: e.channels[1]},
			{Scope: ScopeGroup, ScopeID: e.group, Causes: []scheduler.AlarmCause{scheduler.AlarmFailed}},
		} {
			r.ChannelID = e.channels[0]
			if _, err := e.a.CreateRoute(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		e.raise(e.job, scheduler.AlarmFailed, "a failure")
		e.work()
		e.raise(e.job, scheduler.AlarmLost, "a loss")
		e.work()
		e.clock.add(5 * time.Minute)
		e.work()
		if got := e.second.received(); len(got) != 1 || !strings.Contains(string(got[0].body), "a loss") {
			t.Errorf("after five minutes told %d times: %s", len(got), got)
		}
		e.clock.add(time.Hour)
		e.work()
		if n := len(e.second.received()); n != 1 {
			t.Errorf("told %d times in all", n)
		}
	})
}

// TestAnEscalationThatAnotherAdminHasTakenTellsNobody twice.
func TestAnEscalationThatAnotherAdminHasTakenTellsNobody(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		e := escalating(t, pool)
		e.raise(e.job, scheduler.AlarmFailed, "")
		e.work()
		e.clock.add(time.Hour)
		due, err := e.a.queries.ListDueAlarmEscalations(t.Context(), pool, db.ListDueAlarmEscalationsParams{NowMs: e.clock.now().UnixMilli(), Limit: 10})
		if err != nil || len(due) != 1 {
			t.Fatal(due, err)
		}
		book, err := e.a.readBook(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []error{nil, errRaced} {
			tx, err := pool.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.a.escalateOne(t.Context(), tx, &due[0], book, e.clock.now()); !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		e.work()
		if n := len(e.second.received()); n != 1 {
			t.Errorf("told %d times", n)
		}
	})
}

// TestAPaceIsForgotten: what was sent some time ago does not count towards a storm.
func TestAPaceIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &Alarmer{cfg: Config{Now: time.Now, Calm: time.Minute}, paces: make(map[int64]*pace), rested: make(map[int64]time.Time)}
		storm := func(want int) {
			t.Helper()
			for n := 1; ; n++ {
				if a.calms(1, "ops") {
					if n != want {
						t.Errorf("it rests after %d messages, want %d", n, want)
					}
					return
				}
			}
		}
		storm(mergeAbove)
		for range mergeAbove - 1 {
			if a.calms(1, "ops") {
				t.Error("it rests too soon")
			}
		}
		time.Sleep(time.Minute - 1)
		storm(1)
		a.calms(1, "ops")
		time.Sleep(time.Minute)
		storm(mergeAbove)
	})
}

// TestAChannelRestsAtLeastAsLongAsOneThatFailed, however soon a service wants to be asked again.
func TestAChannelRestsAtLeastAsLongAsOneThatFailed(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		busy := newReceiver(t, false, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		})
		b.addChannel(Channel{Name: "hook", Kind: KindWebhook, Settings: Settings{URL: busy.URL}})
		b.raise(b.job, scheduler.AlarmFailed, "")
		b.work()
		b.clock.add(b.a.cfg.Rest - time.Millisecond)
		b.raise(b.addJob("other", ""), scheduler.AlarmFailed, "")
		b.work()
		if n := len(busy.received()); n != 1 {
			t.Errorf("it was asked %d times", n)
		}
		b.clock.add(time.Millisecond)
		b.work()
		if n := len(busy.received()); n != 2 {
			t.Errorf("it was asked %d times when it had rested", n)
		}
	})
}

// TestIncidentsOfOthers: a service of a group keeps no incident of another group's job, and hears of whatever of its own is looked after.
func TestIncidentsOfOthers(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		other, err := db.New().InsertGroup(t.Context(), pool, db.InsertGroupParams{AppName: "others", Title: "Others"})
		if err != nil {
			t.Fatal(err)
		}
		theirs, ours := newPager(t), newPager(t)
		of := pagerChannel(theirs)
		of.Name, of.GroupID = "theirs", other
		b.addChannel(of)
		b.addChannel(pagerChannel(ours), scheduler.AlarmLost)
		b.raise(b.job, scheduler.AlarmLost, "")
		b.work()
		b.clock.add(time.Second)
		b.raise(b.job, scheduler.AlarmFailed, "") // of which the one is not told; its cause comes first
		b.work()
		if err := b.ack(b.job, "ann", ""); err != nil {
			t.Fatal(err)
		}
		b.work()
		if got := ours.kept(""); len(got) != 1 || !strings.HasPrefix(got[0], "acknowledged ") {
			t.Errorf("the incident is %v", got)
		}
		b.clock.add(time.Second)
		b.succeed(b.job)
		b.work()
		if got := ours.kept(""); len(got) != 1 || !strings.HasPrefix(got[0], "resolved ") || len(theirs.received()) != 0 {
			t.Errorf("the incident is %v; the others' service was called %d times", got, len(theirs.received()))
		}
	})
}
