package alarm

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler"
)

// told are the causes of the messages there are, oldest first.
func (b *bundle) told() []string {
	b.t.Helper()
	var causes []string
	for _, d := range slices.Backward(b.deliveries()) {
		causes = append(causes, string(d.Cause))
	}
	return causes
}

// succeed lets a job succeed, as the engine raises it, if the alarmer wants to hear of it.
func (b *bundle) succeed(jobID int64) {
	b.t.Helper()
	id := b.addRun(jobID, 200, b.clock.now())
	if b.a.Wanted(scheduler.AlarmRecovered, jobID) {
		b.event(scheduler.AlarmEvent{JobID: jobID, GroupID: b.group, LogID: id, Cause: scheduler.AlarmRecovered, Planned: b.clock.now().UnixMilli(), At: b.clock.now()})
	}
}

func (b *bundle) open(jobID int64) []Open {
	b.t.Helper()
	byJob, err := b.a.OpenOf(b.t.Context(), jobID)
	if err != nil {
		b.t.Fatal(err)
	}
	return byJob[jobID]
}

func (b *bundle) ack(jobID int64, by, remark string) error {
	return b.a.Acknowledge(b.t.Context(), jobID, by, remark, nil)
}

func TestWhatIsAcknowledgedIsToldNoMoreUntilItRecovers(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		hook := newReceiver(t, false, says(200, ""))
		b.addChannel(Channel{Name: "hook", Kind: KindWebhook, Settings: Settings{URL: hook.URL}}, Causes()...)
		b.raise(b.job, scheduler.AlarmFailed, "first")
		b.work()
		b.clock.add(time.Minute)
		gathered := b.raise(b.job, scheduler.AlarmFailed, "gathered") // would be told at the window's end
		b.work()
		if err := b.ack(b.job, "ann", "the disk is full"); err != nil {
			t.Fatal(err)
		}
		want := []Open{{Cause: scheduler.AlarmFailed, Since: when(noon.UnixMilli()), Count: 2, Run: gathered, AckedAt: when(b.clock.now().UnixMilli()), AckedBy: "ann", Remark: "the disk is full"}}
		if diff := cmp.Diff(want, b.open(b.job)); diff != "" {
			t.Errorf("open (-want +got):\n%s", diff)
		}
		if err := b.ack(b.job, "ben", ""); !errors.Is(err, ErrAcknowledged) {
			t.Errorf("a second time: %v", err)
		}
		b.clock.add(time.Hour)
		again := b.raise(b.job, scheduler.AlarmFailed, "again")
		b.work()
		if got := b.told(); !slices.Equal(got, []string{"failed"}) {
			t.Errorf("told %v", got)
		}
		if b.alarmStatus(gathered) != runNobody || b.alarmStatus(again) != runNobody {
			t.Errorf("the runs that nobody is told of have %d and %d", b.alarmStatus(gathered), b.alarmStatus(again))
		}
		// Another cause is another alarm.
		b.clock.add(time.Second)
		b.raise(b.job, scheduler.AlarmLost, "")
		b.work()
		if got := b.told(); !slices.Equal(got, []string{"failed", "lost"}) {
			t.Errorf("told %v", got)
		}
		b.clock.add(time.Minute)
		b.succeed(b.job)
		b.work()
		if open := b.open(b.job); len(open) > 0 {
			t.Errorf("open after its success: %v", open)
		}
		b.clock.add(time.Hour)
		b.raise(b.job, scheduler.AlarmFailed, "anew")
		b.work()
		if got := b.told(); !slices.Equal(got, []string{"failed", "lost", "recovered", "failed"}) {
			t.Errorf("told %v", got)
		}
		if open := b.open(b.job); len(open) != 1 || open[0].Acked() {
			t.Errorf("a new alarm begins as %v", open)
		}
	})
}

func TestAnAcknowledgementIsTakenBack(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		hook := newReceiver(t, false, says(200, ""))
		b.addChannel(Channel{Name: "hook", Kind: KindWebhook, Settings: Settings{URL: hook.URL}})
		b.raise(b.job, scheduler.AlarmFailed, "")
		b.work()
		if err := b.a.Unacknowledge(t.Context(), b.job, nil); !errors.Is(err, ErrNothingOpen) {
			t.Errorf("before there is one: %v", err)
		}
		if err := b.ack(b.job, "ann", ""); err != nil {
			t.Fatal(err)
		}
		var before []Open
		if err := b.a.Unacknowledge(t.Context(), b.job, func(_ *sql.Tx, open []Open) error { before = open; return nil }); err != nil {
			t.Fatal(err)
		}
		if len(before) != 1 || before[0].AckedBy != "ann" || b.open(b.job)[0].Acked() {
			t.Errorf("%v, then %v", before, b.open(b.job))
		}
		b.clock.add(time.Hour)
		b.raise(b.job, scheduler.AlarmFailed, "")
		b.work()
		if got := b.told(); !slices.Equal(got, []string{"failed", "failed"}) {
			t.Errorf("told %v", got)
		}
		broken := errors.New("no audit")
		if err := b.a.Acknowledge(t.Context(), b.job, "ann", "", func(*sql.Tx, []Open) error { return broken }); !errors.Is(err, broken) || b.open(b.job)[0].Acked() {
			t.Errorf("what could not be audited was done: %v", err)
		}
	})
}

// Without a channel nothing is raised; somebody may look after the trouble all the same, and it ends like any other.
func TestATroubleThatNobodyWasToldOfIsAcknowledged(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		if err := b.ack(b.job, "ann", ""); !errors.Is(err, ErrNothingOpen) {
			t.Errorf("a job without runs: %v", err)
		}
		b.addRun(b.job, 200, b.clock.now())
		if err := b.ack(b.job, "ann", ""); !errors.Is(err, ErrNothingOpen) {
			t.Errorf("a job that does well: %v", err)
		}
		b.clock.add(time.Minute)
		failed := b.addRun(b.job, 502, b.clock.now())
		b.clock.add(time.Minute)
		b.addRun(b.job, 0, time.Time{}) // under way: it says nothing yet
		if err := b.ack(b.job, "ann", "on it"); err != nil {
			t.Fatal(err)
		}
		want := []Open{{Cause: scheduler.AlarmTimeout, Since: when(b.clock.now().Add(-time.Minute).UnixMilli()), Count: 1, Run: failed, AckedAt: when(b.clock.now().UnixMilli()), AckedBy: "ann", Remark: "on it"}}
		if diff := cmp.Diff(want, b.open(b.job)); diff != "" {
			t.Errorf("open (-want +got):\n%s", diff)
		}
		if !b.a.Wanted(scheduler.AlarmRecovered, b.job) {
			t.Error("this admin does not want to hear of the success")
		}
		// Another admin, whose memory is older, takes the result: the watch finds it.
		b.clock.add(time.Minute)
		b.addRun(b.job, 200, b.clock.now())
		b.clock.add(time.Minute)
		other := b.alarmer(nil)
		if err := other.watchOnce(t.Context(), b.clock.now()); err != nil {
			t.Fatal(err)
		}
		b.workOn(other)
		if open := b.open(b.job); len(open) > 0 {
			t.Errorf("open after its success: %v", open)
		}
		if err := b.ack(b.job, "ann", ""); !errors.Is(err, ErrNothingOpen) {
			t.Errorf("after its success: %v", err)
		}
		b.clock.add(time.Minute)
		b.addRun(b.job, 502, b.clock.now())
		if err := b.ack(b.job, "ben", ""); err != nil {
			t.Errorf("the next trouble, which nobody looks after: %v", err)
		}
	})
}

func TestALinkAcknowledgesOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		var links []string
		b := setup(t, pool, func(c *Config) {
			c.AckLink = func(token string) string {
				links = append(links, token)
				return "https://punctual.test/alarms/link/" + token
			}
		})
		hook := newReceiver(t, false, says(200, ""))
		b.addChannel(Channel{Name: "night shift", Kind: KindWebhook, Settings: Settings{URL: hook.URL}}, Causes()...)
		b.raise(b.job, scheduler.AlarmFailed, "")
		b.work()
		if len(links) != 1 || !strings.Contains(string(hook.received()[0].body), "/alarms/link/"+links[0]) {
			t.Fatalf("the message has no link: %v", links)
		}
		state := func(token string) LinkState {
			t.Helper()
			l, err := b.a.ByLink(t.Context(), token)
			if err != nil {
				t.Fatal(err)
			}
			if l.Reader != "night shift" || l.Job != b.job || l.Group != b.group || l.Cause != scheduler.AlarmFailed {
				t.Errorf("it is about %+v", l)
			}
			return l.State
		}
		for range 2 { // opening it changes nothing
			if got := state(links[0]); got != LinkOpen {
				t.Fatalf("it is %s", got)
			}
		}
		id, signature, _ := strings.Cut(links[0], ".")
		for _, forged := range []string{"", "1", "." + signature, id + ".", "2." + signature, id + "." + signature + "AA", id + "." + strings.ToLower(signature) + "!", "zz" + links[0]} {
			if _, err := b.a.ByLink(t.Context(), forged); !errors.Is(err, db.ErrNotFound) {
				t.Errorf("%q: %v", forged, err)
			}
		}
		by := func(token, who string) error {
			return b.a.AcknowledgeByLink(t.Context(), token, who, "by phone", func(*sql.Tx, Linked, []Open) error { return nil })
		}
		if err := by(links[0], "night shift"); err != nil {
			t.Fatal(err)
		}
		if open := b.open(b.job); open[0].AckedBy != "night shift" || open[0].Remark != "by phone" || state(links[0]) != LinkAcked {
			t.Errorf("%v, and the link is %s", open, state(links[0]))
		}
		if err := by(links[0], "x"); !errors.Is(err, ErrAcknowledged) {
			t.Errorf("again: %v", err)
		}
		if err := b.a.Unacknowledge(t.Context(), b.job, nil); err != nil {
			t.Fatal(err)
		}
		if err := by(links[0], "x"); !errors.Is(err, ErrNothingOpen) || state(links[0]) != LinkUsed {
			t.Errorf("a used link: %v, %s", err, state(links[0]))
		}
		// A later alarm of the same kind has a link of its own.
		b.clock.add(time.Minute)
		b.succeed(b.job)
		b.work()
		if got := state(links[0]); got != LinkOver {
			t.Errorf("after the recovery it is %s", got)
		}
		b.clock.add(time.Hour)
		b.raise(b.job, scheduler.AlarmFailed, "")
		b.work()
		if len(links) != 2 || state(links[0]) != LinkOver || state(links[1]) != LinkOpen {
			t.Fatalf("%d links, the first is %s", len(links), state(links[0]))
		}
		b.clock.add(LinkLife + time.Second)
		if got := state(links[1]); got != LinkOld || by(links[1], "x") == nil {
			t.Errorf("a week later it is %s", got)
		}
		// The key of another installation signs otherwise.
		other := b.alarmer(func(c *Config) { c.Key = []byte(strings.Repeat("k", 32)) })
		if _, err := other.ByLink(t.Context(), links[1]); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("another installation's: %v", err)
		}
	})
}

// TestALateMessageNamesWhoLooksAfterIt: its channel was away, and somebody saw the alarm elsewhere.
func TestALateMessageNamesWhoLooksAfterIt(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		s := newMailServer(t, mailServerOptions{})
		s.onData(func() error { return &smtp.SMTPError{Code: 451, Message: "disk full"} })
		channel := b.addChannel(b.mailChannel(s, "a@example.com"))
		b.raise(b.job, scheduler.AlarmFailed, "boom")
		b.work()
		if err := b.a.Acknowledge(t.Context(), b.job, "jo", "", nil); err != nil {
			t.Fatal(err)
		}
		s.onData(nil)
		b.clock.add(time.Minute)
		b.a.wakeChannel(channel)
		b.work()
		if got := s.take(); len(got) != 1 || !strings.Contains(got[0].text, "Since then: Acknowledged by jo") {
			t.Errorf("%+v", got)
		}
		// That of a job which was deleted has not recovered.
		b.raise(b.addJob("short-lived", ""), scheduler.AlarmFailed, "boom")
		b.exec("DELETE FROM xxl_job_info WHERE job_desc = 'short-lived'")
		b.exec("DELETE FROM punctual_alarm_state")
		b.work()
		if got := s.take(); len(got) != 1 || strings.Contains(got[0].text, "Since then") {
			t.Errorf("%+v", got)
		}
	})
}

// TestALateMessageOfARunThatEndedSaysSo: nobody need look after a long run that is over, or decide what a flow asked for.
func TestALateMessageOfARunThatEndedSaysSo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		s := newMailServer(t, mailServerOptions{})
		s.onData(func() error { return &smtp.SMTPError{Code: 451, Message: "disk full"} })
		channel := b.addChannel(b.mailChannel(s, "a@example.com"))
		const says = "Since then: the run has ended"
		late := func(raise func()) []letter {
			s.onData(func() error { return &smtp.SMTPError{Code: 451, Message: "disk full"} })
			raise()
			b.work()
			s.onData(nil)
			b.clock.add(time.Hour)
			b.a.wakeChannel(channel)
			b.work()
			return s.take()
		}
		for _, cause := range []scheduler.AlarmCause{scheduler.AlarmSlow, scheduler.AlarmApproval} {
			for _, ended := range []bool{false, true} {
				job := b.addJob(string(cause), "")
				got := late(func() {
					run := b.addRun(job, 0, time.Time{})
					b.event(scheduler.AlarmEvent{JobID: job, GroupID: b.group, LogID: run, Cause: cause, At: b.clock.now()})
					if ended {
						b.exec("UPDATE xxl_job_log SET handle_code = 200, finished_at = ? WHERE id = ?", b.clock.now().UnixMilli(), run)
					}
				})
				if len(got) != 1 || strings.Contains(got[0].text, says) != ended {
					t.Errorf("%s, ended %t: %+v", cause, ended, got)
				}
			}
		}
		got := late(func() {
			for range mergeAbove + 1 {
				job := b.addJob("one of many", "")
				run := b.addRun(job, 200, b.clock.now())
				b.event(scheduler.AlarmEvent{JobID: job, GroupID: b.group, LogID: run, Cause: scheduler.AlarmSlow, At: b.clock.now()})
			}
		})
		if len(got) != 1 || strings.Count(got[0].text, says) != mergeAbove+1 {
			t.Errorf("many at once: %+v", got)
		}
	})
}
