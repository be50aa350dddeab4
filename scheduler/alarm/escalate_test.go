package alarm

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/invalid"
)

// escalation is an alarmer whose only route tells of failures, and after ten minutes a second channel.
type escalation struct {
	*bundle
	first, second *receiver
	channels      [2]int64
}

func escalating(t *testing.T, pool *db.Pool) *escalation {
	t.Helper()
	e := &escalation{bundle: setup(t, pool, nil), first: newReceiver(t, false, says(200, "")), second: newReceiver(t, false, says(200, ""))}
	for i, r := range []*receiver{e.first, e.second} {
		id, err := e.a.CreateChannel(t.Context(), Channel{Name: []string{"team", "manager"}[i], Kind: KindWebhook, Enabled: true, Settings: Settings{URL: r.URL}})
		if err != nil {
			t.Fatal(err)
		}
		e.channels[i] = id
	}
	if _, err := e.a.CreateRoute(t.Context(), Route{ChannelID: e.channels[0], Scope: ScopeAll, EscalateAfter: 10, EscalateTo: e.channels[1]}); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestNobodyLooksAfterItSoTheSecondChannelIsTold(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		e := escalating(t, pool)
		e.raise(e.job, scheduler.AlarmFailed, "no disk")
		e.work()
		e.clock.add(10*time.Minute - time.Second)
		e.raise(e.job, scheduler.AlarmFailed, "again") // more of the same alarm escalates no second time
		e.work()
		if got := e.second.received(); len(got) != 0 {
			t.Fatalf("told too soon: %s", got[0].body)
		}
		e.clock.add(2 * time.Second)
		// Two admins find it at the same moment; the first one is gone since, as after a restart.
		admins := []*Alarmer{e.alarmer(nil), e.alarmer(nil)}
		var both sync.WaitGroup
		for _, a := range admins {
			both.Go(func() {
				if _, err := a.escalate(t.Context(), e.clock.now()); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		for _, a := range admins {
			e.workOn(a)
		}
		got := e.second.received()
		if len(got) != 1 || !strings.Contains(string(got[0].body), "Not acknowledged for 10 min") || !strings.Contains(string(got[0].body), "no disk") {
			t.Fatalf("told %d times: %s", len(got), got)
		}
		e.clock.add(24 * time.Hour)
		e.work()
		if n := len(e.second.received()); n != 1 {
			t.Errorf("told %d times", n)
		}
		sent, err := e.a.Deliveries(t.Context(), DeliveryFilter{State: AnyState})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range sent { // whoever looks for why the second channel was told
			if d.Escalated != (d.ChannelID == e.channels[1]) {
				t.Errorf("the message to channel %d escalates: %v", d.ChannelID, d.Escalated)
			}
		}
	})
}

func TestWhatSomebodyLooksAfterDoesNotEscalate(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		e := escalating(t, pool)
		told := func(want int, what string) {
			t.Helper()
			e.work()
			if n := len(e.second.received()); n != want {
				t.Fatalf("told %d times %s, want %d", n, what, want)
			}
		}
		e.raise(e.job, scheduler.AlarmFailed, "")
		e.work()
		if err := e.ack(e.job, "ann", ""); err != nil {
			t.Fatal(err)
		}
		e.clock.add(time.Hour)
		told(0, "of what is looked after")
		if err := e.a.Unacknowledge(t.Context(), e.job, nil); err != nil {
			t.Fatal(err)
		}
		told(1, "when it was taken back: it is late already")
		// One that recovered in time, and failed anew, is another alarm with a time of its own.
		other := e.addJob("other", "")
		e.raise(other, scheduler.AlarmFailed, "")
		e.work()
		e.clock.add(9 * time.Minute)
		e.succeed(other)
		e.work()
		e.clock.add(time.Second)
		e.raise(other, scheduler.AlarmFailed, "")
		e.work()
		e.clock.add(9 * time.Minute)
		told(1, "of what recovered")
		e.clock.add(2 * time.Minute)
		told(2, "of the new alarm")
		// A slow run is no open alarm: nobody can look after it.
		e.event(scheduler.AlarmEvent{JobID: other, GroupID: e.group, Cause: scheduler.AlarmSlow, At: e.clock.now()})
		e.work()
		e.clock.add(time.Hour)
		told(2, "of a slow run")
	})
}

func TestASecondChannelIsChecked(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		e := escalating(t, pool)
		ofGroup, err := e.a.CreateChannel(t.Context(), Channel{Name: "group's", Kind: KindWebhook, Enabled: true, GroupID: e.group, Settings: Settings{URL: e.first.URL}})
		if err != nil {
			t.Fatal(err)
		}
		for name, test := range map[string]struct {
			route Route
			want  string
		}{
			"no channel":            {Route{EscalateAfter: 5}, FieldEscalateTo + " " + CodeEscalateTo},
			"itself":                {Route{EscalateAfter: 5, EscalateTo: e.channels[0]}, FieldEscalateTo + " " + CodeEscalateTo},
			"one that there is not": {Route{EscalateAfter: 5, EscalateTo: 4711}, FieldEscalateTo + " " + CodeEscalateTo},
			"a group's":             {Route{EscalateAfter: 5, EscalateTo: ofGroup}, FieldEscalateTo + " " + CodeEscalateTo},
			"too late":              {Route{EscalateAfter: MaxEscalateAfter + 1, EscalateTo: e.channels[1]}, FieldEscalateAfter + " " + CodeOutOfRange},
			"before":                {Route{EscalateAfter: -1, EscalateTo: e.channels[1]}, FieldEscalateAfter + " " + CodeOutOfRange},
		} {
			test.route.ChannelID, test.route.Scope, test.route.ScopeID = e.channels[0], ScopeJob, e.job
			_, err := e.a.CreateRoute(t.Context(), test.route)
			var fields invalid.Fields
			if !errors.As(err, &fields) || len(fields) != 1 || fields[0].Name+" "+fields[0].Key != test.want {
				t.Errorf("%s: %v", name, err)
			}
		}
		// With the second channel goes what leads to it.
		if err := e.a.DeleteChannel(t.Context(), e.channels[1]); err != nil {
			t.Fatal(err)
		}
		routes, err := e.a.Routes(t.Context())
		if err != nil || !slices.ContainsFunc(routes, func(r Route) bool { return r.ChannelID == e.channels[0] && r.EscalateTo == 0 && r.EscalateAfter == 0 }) {
			t.Errorf("%v, %v", routes, err)
		}
	})
}

// TestAnAcknowledgementThatIsTakenBackAfterWeeks: the second channel is told of the alarm, however long ago the first one was.
func TestAnAcknowledgementThatIsTakenBackAfterWeeks(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		e := escalating(t, pool)
		e.exec("UPDATE punctual_alarm_route SET escalate_after = ?", MaxEscalateAfter)
		e.raise(e.job, scheduler.AlarmFailed, "no disk")
		e.work()
		if err := e.ack(e.job, "ann", ""); err != nil {
			t.Fatal(err)
		}
		e.clock.add(8 * 24 * time.Hour)
		e.work()
		e.clock.add(26 * 24 * time.Hour)
		if err := e.a.clean(t.Context(), e.clock.now()); err != nil {
			t.Fatal(err)
		}
		if err := e.a.Unacknowledge(t.Context(), e.job, nil); err != nil {
			t.Fatal(err)
		}
		e.work()
		if got := e.second.received(); len(got) != 1 || !strings.Contains(string(got[0].body), "no disk") {
			t.Errorf("told %d times: %s", len(got), got)
		}
		e.clock.add(60 * 24 * time.Hour)
		for range 2 {
			if err := e.a.clean(t.Context(), e.clock.now()); err != nil {
				t.Fatal(err)
			}
		}
		var left int
		if err := pool.QueryRowContext(t.Context(), "SELECT (SELECT COUNT(*) FROM punctual_alarm_notice) + (SELECT COUNT(*) FROM punctual_alarm_delivery) + (SELECT COUNT(*) FROM punctual_alarm_escalation)").Scan(&left); err != nil || left != 0 {
			t.Errorf("%d rows of it are left, %v", left, err)
		}
	})
}

// TestWhatIsAcknowledgedWhileItIsGathered: should that be taken back, the second channel is told like that of any other alarm.
func TestWhatIsAcknowledgedWhileItIsGathered(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		e := escalating(t, pool)
		e.raise(e.job, scheduler.AlarmFailed, "no disk")
		e.work()
		e.clock.add(time.Second)
		e.succeed(e.job)
		e.work()
		e.clock.add(time.Second)
		e.raise(e.job, scheduler.AlarmFailed, "no disk again") // within the window: told at its end
		e.work()
		told := len(e.first.received())
		if err := e.ack(e.job, "ann", ""); err != nil {
			t.Fatal(err)
		}
		e.clock.add(e.a.cfg.Window)
		e.work()
		if n := len(e.first.received()); n != told {
			t.Errorf("the first channel is told %d times more of what somebody looks after", n-told)
		}
		if err := e.a.Unacknowledge(t.Context(), e.job, nil); err != nil {
			t.Fatal(err)
		}
		e.clock.add(10 * time.Minute)
		e.work()
		if got := e.second.received(); len(got) != 1 || !strings.Contains(string(got[0].body), "no disk again") {
			t.Errorf("told %d times: %s", len(got), got)
		}
	})
}

// TestAHeapOfAlarmsSaysThatNobodyLooksAfterThem: a second channel is told why it is told also when many alarms become one message.
func TestAHeapOfAlarmsSaysThatNobodyLooksAfterThem(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		e := escalating(t, pool)
		if _, err := e.a.CreateRoute(t.Context(), Route{ChannelID: e.channels[1], Scope: ScopeAll, Causes: []scheduler.AlarmCause{scheduler.AlarmTimeout}}); err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			e.raise(e.addJob("job "+itoa(int64(i)), ""), scheduler.AlarmFailed, "no disk")
		}
		e.work()
		e.clock.add(11 * time.Minute)
		for i := range 10 { // of which it is told anyway
			e.raise(e.addJob("other "+itoa(int64(i)), ""), scheduler.AlarmTimeout, "too slow")
		}
		e.work()
		var titles []string
		for _, call := range e.second.received() {
			titles = append(titles, deep(t, call.body, "title").(string))
		}
		slices.Sort(titles)
		if want := []string{"[Punctual] Not acknowledged: 40 alarms", "[Punctual] Several alarms: 10"}; !slices.Equal(titles, want) {
			t.Errorf("told %q, want %q", titles, want)
		}
	})
}
