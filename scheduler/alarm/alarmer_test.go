package alarm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler"
)

func TestAFailureIsMailedAtOnceToEveryRecipient(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		s := newMailServer(t, mailServerOptions{})
		b.addChannel(b.mailChannel(s, "a@example.com", "b@example.com"))
		run := b.raise(b.job, scheduler.AlarmFailed, "boom <script>alert(1)</script>\nat line 2")
		b.work()
		mails := s.received()
		if len(mails) != 2 || mails[0].to == mails[1].to {
			t.Fatalf("got %d mails, want one for each of two recipients", len(mails))
		}
		m := mails[0]
		if want := "[Punctual] Failed: nightly <b>report</b>"; m.subject != want {
			t.Errorf("subject %q, want %q", m.subject, want)
		}
		if m.from != "alarms@punctual.test" || m.header.Get("To") != "<"+m.to+">" || m.header.Get("Auto-Submitted") != "auto-generated" {
			t.Errorf("from %q to %q, headers %v", m.from, m.to, m.header)
		}
		for _, want := range []string{
			fmt.Sprintf("Job: nightly <b>report</b> (ID %d)", b.job), "Executor: Orders (orders)", "When: 2026-03-02 12:00:00 +08:00",
			fmt.Sprintf("Run: %d", run), "boom <script>alert(1)</script>\nat line 2", fmt.Sprintf("https://punctual.test/runs/%d", run),
		} {
			if !strings.Contains(m.text, want) {
				t.Errorf("the text lacks %q:\n%s", want, m.text)
			}
		}
		for _, want := range []string{"nightly &lt;b&gt;report&lt;/b&gt;", "boom &lt;script&gt;alert(1)&lt;/script&gt;\nat line 2", fmt.Sprintf(`href="https://punctual.test/runs/%d"`, run)} {
			if !strings.Contains(m.html, want) {
				t.Errorf("the HTML lacks %q:\n%s", want, m.html)
			}
		}
		if strings.Contains(m.html, "<script>") || strings.Contains(m.html, "<b>report") {
			t.Errorf("unescaped text in the HTML:\n%s", m.html)
		}
		if got := b.alarmStatus(run); got != runTold {
			t.Errorf("alarm_status = %d, want %d", got, runTold)
		}
		for _, d := range b.deliveries() {
			if d.State != Sent || d.Tries != 1 || d.LogID != run || d.Cause != scheduler.AlarmFailed || !d.DoneAt.Equal(noon) {
				t.Errorf("delivery %+v", d)
			}
		}
		b.work()
		if n := len(s.received()); n != 2 {
			t.Errorf("%d mails after another round, want still 2", n)
		}
	})
}

func TestMailsSpeakTheChannelsLanguage(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	s := newMailServer(t, mailServerOptions{})
	c := b.mailChannel(s, "a@example.com")
	c.Language = "zh-CN"
	b.addChannel(c)
	job := b.addJob("每晚报表", "")
	b.raise(job, scheduler.AlarmTimeout, "超时了")
	b.work()
	mails := s.received()
	if len(mails) != 1 || mails[0].subject != "【准时 Punctual】运行超时：每晚报表" {
		t.Fatalf("mails: %+v", mails)
	}
	if !strings.Contains(mails[0].text, "任务：每晚报表") || !strings.Contains(mails[0].html, `lang="zh-CN"`) {
		t.Errorf("mail:\n%s", mails[0].text)
	}
}

func TestTheJobsOwnAddressesAreTold(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		s := newMailServer(t, mailServerOptions{})
		c := b.mailChannel(s)
		c.Enabled, c.ForJobs = true, true
		if _, err := b.a.CreateChannel(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		job := b.addJob("job", " me@example.com , you@example.com,ME@example.com,nonsense")
		run := b.raise(job, scheduler.AlarmFailed, "boom")
		silent := b.raise(b.job, scheduler.AlarmFailed, "nobody is told")
		b.work()
		got := make(map[string]int)
		for _, m := range s.received() {
			got[m.to]++
		}
		if len(got) != 2 || got["me@example.com"] != 1 || got["you@example.com"] != 1 {
			t.Errorf("mails: %v", got)
		}
		if b.alarmStatus(run) != runTold || b.alarmStatus(silent) != runNobody {
			t.Errorf("alarm_status = %d and %d, want %d and %d", b.alarmStatus(run), b.alarmStatus(silent), runTold, runNobody)
		}
	})
}

func TestFurtherFailuresAreToldTogetherAtTheWindowsEnd(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		s := newMailServer(t, mailServerOptions{})
		b.addChannel(b.mailChannel(s, "a@example.com"))
		other := b.addJob("other", "")
		b.raise(b.job, scheduler.AlarmFailed, "first")
		b.work()
		if got := s.take(); len(got) != 1 {
			t.Fatalf("%d mails for the first failure", len(got))
		}
		var held []int64
		for i := range 4 {
			b.clock.add(time.Minute)
			held = append(held, b.raise(b.job, scheduler.AlarmFailed, fmt.Sprint("again ", i)))
			b.work()
		}
		if got := s.take(); len(got) != 0 {
			t.Fatalf("mails within the window: %q", got[0].subject)
		}
		b.raise(b.job, scheduler.AlarmTimeout, "another cause")
		b.raise(other, scheduler.AlarmFailed, "another job")
		b.work()
		if got := s.take(); len(got) != 2 {
			t.Fatalf("%d mails for another cause and another job", len(got))
		}
		b.clock.add(time.Minute)
		b.work()
		got := s.take()
		if len(got) != 1 || got[0].subject != "[Punctual] Failed ×4: nightly <b>report</b>" || !strings.Contains(got[0].text, "again 3") {
			t.Fatalf("at the window's end: %+v", got)
		}
		for _, id := range held {
			if st := b.alarmStatus(id); st != runTold {
				t.Errorf("alarm_status of a run told with others = %d", st)
			}
		}
		// The window goes on: what follows is gathered again, and silence ends it.
		b.clock.add(time.Minute)
		b.raise(b.job, scheduler.AlarmFailed, "still")
		b.work()
		if got := s.take(); len(got) != 0 {
			t.Fatalf("a mail right after the last: %q", got[0].subject)
		}
		b.clock.add(5 * time.Minute)
		b.work()
		if got := s.take(); len(got) != 1 || got[0].subject != "[Punctual] Failed: nightly <b>report</b>" {
			t.Fatalf("second window: %+v", got)
		}
		b.clock.add(time.Hour)
		b.work()
		b.raise(b.job, scheduler.AlarmFailed, "much later")
		b.work()
		if got := s.take(); len(got) != 1 {
			t.Fatalf("%d mails for a failure long after", len(got))
		}
	})
}

func (b *bundle) success(jobID int64, planned time.Time) {
	b.t.Helper()
	id := b.addRun(jobID, 200, b.clock.now())
	b.event(scheduler.AlarmEvent{JobID: jobID, GroupID: b.group, LogID: id, Cause: scheduler.AlarmRecovered, Planned: planned.UnixMilli(), At: b.clock.now()})
}

func TestASuccessIsToldOnceAndTakesWhatWasGatheredWithIt(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		s := newMailServer(t, mailServerOptions{})
		b.addChannel(b.mailChannel(s, "a@example.com"))
		if b.a.Wanted(scheduler.AlarmRecovered, b.job) {
			t.Error("a recovery of a job without alarms is wanted")
		}
		failedAt := b.clock.now()
		b.raise(b.job, scheduler.AlarmFailed, "boom")
		if !b.a.Wanted(scheduler.AlarmRecovered, b.job) {
			t.Error("a recovery of a job with an alarm is not wanted")
		}
		b.work()
		b.clock.add(time.Second)
		held := b.raise(b.job, scheduler.AlarmFailed, "boom again")
		b.work()
		s.take()
		// Another shard of the first fire succeeds: that is no recovery.
		b.success(b.job, failedAt)
		b.work()
		if got := s.take(); len(got) != 0 {
			t.Fatalf("recovered by another shard: %+v", got)
		}
		b.clock.add(time.Second)
		b.success(b.job, b.clock.now())
		b.work()
		got := s.take()
		if len(got) != 1 || got[0].subject != "[Punctual] Recovered: nightly <b>report</b>" || !strings.Contains(got[0].text, "Failures before: 2") {
			t.Fatalf("recovery: %+v", got)
		}
		if st := b.alarmStatus(held); st != runTold {
			t.Errorf("alarm_status of the gathered failure = %d", st)
		}
		b.success(b.job, b.clock.now())
		b.clock.add(time.Hour)
		b.work()
		if got := s.take(); len(got) != 0 {
			t.Fatalf("recovered twice: %+v", got)
		}
		if b.a.Wanted(scheduler.AlarmRecovered, b.job) {
			t.Error("the memory still holds the alarm")
		}
	})
}

func TestAJobThatFailsAndSucceedsInTurnIsNotANuisance(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	s := newMailServer(t, mailServerOptions{})
	b.addChannel(b.mailChannel(s, "a@example.com"))
	for range 60 { // ten minutes
		b.raise(b.job, scheduler.AlarmFailed, "boom")
		b.work()
		b.clock.add(5 * time.Second)
		b.success(b.job, b.clock.now())
		b.work()
		b.clock.add(5 * time.Second)
	}
	b.clock.add(10 * time.Minute)
	b.work()
	var subjects []string
	events := 0
	for _, m := range s.take() {
		subjects = append(subjects, m.subject)
		events++
	}
	// The first failure and recovery, and one of each for every window after that.
	if events > 8 {
		t.Errorf("%d mails in ten minutes: %q", events, subjects)
	}
}

func TestABrokenServerIsTriedAgainWithGrowingPausesAndThenGivenUp(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		s := newMailServer(t, mailServerOptions{})
		s.onData(func() error {
			return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "disk full"}
		})
		id := b.addChannel(b.mailChannel(s, "a@example.com"))
		run := b.raise(b.job, scheduler.AlarmFailed, "boom")
		b.work()
		var tried []time.Duration
		last := 0
		for range 1440 {
			d := b.deliveries()[0]
			if d.Tries != last {
				tried = append(tried, b.clock.now().Sub(noon))
				last = d.Tries
			}
			if d.State == GivenUp {
				break
			}
			if d.State != Waiting || !strings.Contains(d.Error.English(), "disk full") {
				t.Fatalf("delivery: %+v", d)
			}
			b.clock.set(d.NextAt)
			b.work()
		}
		m := time.Minute
		want := []time.Duration{0, m, 6 * m, 26 * m, 86 * m, 266 * m, 626 * m}
		if fmt.Sprint(tried) != fmt.Sprint(want) {
			t.Errorf("tried at %v, want %v", tried, want)
		}
		if st := b.alarmStatus(run); st != runFailed {
			t.Errorf("alarm_status = %d, want %d", st, runFailed)
		}
		c, err := b.a.Channel(t.Context(), id)
		if err != nil || !c.Broken() || !strings.Contains(c.LastError.English(), "disk full") || c.LastErrorAt.IsZero() {
			t.Errorf("channel: %+v, %v", c, err)
		}
		// Repaired, and tried again by hand.
		s.onData(nil)
		b.clock.add(time.Minute)
		if err := b.a.Retry(t.Context(), b.deliveries()[0].ID); err != nil {
			t.Fatal(err)
		}
		b.work()
		if len(s.received()) != 1 || b.deliveries()[0].State != Sent {
			t.Errorf("after the repair: %+v", b.deliveries())
		}
		if c, err = b.a.Channel(t.Context(), id); err != nil || c.Broken() || c.LastOKAt.IsZero() {
			t.Errorf("channel: %+v, %v", c, err)
		}
	})
}

func TestARefusedRecipientKeepsNobodyElseFromHearing(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	s := newMailServer(t, mailServerOptions{})
	s.onRcpt(func(to string) error {
		if to == "gone@example.com" {
			return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such mailbox"}
		}
		return nil
	})
	b.addChannel(b.mailChannel(s, "gone@example.com", "here@example.com"))
	b.raise(b.job, scheduler.AlarmFailed, "boom")
	b.work()
	if got := s.received(); len(got) != 1 || got[0].to != "here@example.com" {
		t.Fatalf("mails: %+v", got)
	}
	for _, d := range b.deliveries() {
		want := Sent
		if d.Recipient == "gone@example.com" {
			want = GivenUp
			if !strings.Contains(d.Error.English(), "no such mailbox") || d.Tries != 1 {
				t.Errorf("delivery: %+v", d)
			}
		}
		if d.State != want {
			t.Errorf("to %s: state %d, want %d", d.Recipient, d.State, want)
		}
	}
}

func TestARecipientIsGivenUpOnlyWhenThereIsNone(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		code    int
		status  smtp.EnhancedCode
		givenUp bool
	}{
		{"no such mailbox", 550, smtp.EnhancedCode{5, 1, 1}, true},
		{"a mailbox that is closed", 550, smtp.EnhancedCode{5, 2, 1}, true},
		{"a refusal without a reason", 550, smtp.NoEnhancedCode, true},
		{"no relaying", 554, smtp.EnhancedCode{5, 7, 1}, false},
		{"no relaying, as others say it", 550, smtp.EnhancedCode{5, 7, 1}, false},
		{"a login that is missing", 530, smtp.EnhancedCode{5, 7, 0}, false},
		{"a grey list", 450, smtp.EnhancedCode{4, 2, 0}, false},
	}
	for _, test := range tests {
		b := setup(t, dbtest.New(t, db.SQLite), nil)
		s := newMailServer(t, mailServerOptions{})
		s.onRcpt(func(string) error { return &smtp.SMTPError{Code: test.code, EnhancedCode: test.status, Message: "no"} })
		b.addChannel(b.mailChannel(s, "a@example.com", "b@example.com"))
		b.raise(b.job, scheduler.AlarmFailed, "boom")
		b.work()
		for _, d := range b.deliveries() {
			if got := d.State == GivenUp; got != test.givenUp || d.Tries != 1 { // the channel does not rest for it
				t.Errorf("%s: given up %v, want %v; %+v", test.name, got, test.givenUp, d)
			}
		}
	}
}

func TestACrashBetweenFailureAndMailLosesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		s := newMailServer(t, mailServerOptions{})
		b.addChannel(b.mailChannel(s, "a@example.com"))
		// Right after the failure's commit.
		b.raise(b.job, scheduler.AlarmFailed, "boom")
		b.workOn(b.alarmer(nil))
		if n := len(s.take()); n != 1 {
			t.Fatalf("%d mails, want 1", n)
		}
		// After each of the steps.
		other := b.addJob("other", "")
		b.raise(other, scheduler.AlarmFailed, "boom")
		if _, err := b.a.gather(t.Context(), b.clock.now()); err != nil {
			t.Fatal(err)
		}
		if _, err := b.alarmer(nil).expand(t.Context(), b.clock.now()); err != nil {
			t.Fatal(err)
		}
		// While it was being sent: the lease has to run out.
		ids := []int64{b.deliveries()[0].ID}
		n, err := b.a.queries.ClaimAlarmDeliveries(t.Context(), pool, db.ClaimAlarmDeliveriesParams{
			Holder: "dead", NewLease: b.clock.now().Add(2 * time.Minute).UnixMilli(), Ids: ids, NowMs: b.clock.now().UnixMilli(),
		})
		if err != nil || n != 1 {
			t.Fatalf("claim: %d rows, %v", n, err)
		}
		next := b.alarmer(nil)
		b.workOn(next)
		if n := len(s.take()); n != 0 {
			t.Fatalf("%d mails while another admin holds the lease", n)
		}
		b.clock.add(3 * time.Minute)
		b.workOn(next)
		if got := s.take(); len(got) != 1 || got[0].subject != "[Punctual] Failed: other" {
			t.Fatalf("after the lease: %+v", got)
		}
		// The dead one is not dead after all: what it says of the message is not believed any more.
		n, err = b.a.queries.EndAlarmDeliveries(t.Context(), pool, db.EndAlarmDeliveriesParams{State: deliveryWaits, Ids: ids, Holder: "dead"})
		if err != nil || n != 0 {
			t.Errorf("a lost lease was used: %d rows, %v", n, err)
		}
	})
}

// What an admin that is gone from the cluster was sending goes out as soon as that cannot be going on any more, and not before.
func TestWhatAnAdminThatIsGoneWasSendingIsSent(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		q, ctx := db.New(), t.Context()
		node, err := q.InsertNode(ctx, pool, db.InsertNodeParams{Name: "first", BeatAt: b.clock.now().UnixMilli()})
		if err != nil {
			t.Fatal(err)
		}
		first := b.alarmer(func(c *Config) {
			c.Node, c.SendTimeout = func() int64 { return node }, time.Hour // longer than this test
		})
		s := newMailServer(t, mailServerOptions{})
		arrived, release := make(chan struct{}), make(chan struct{})
		s.onRcpt(func(string) error { close(arrived); <-release; return &smtp.SMTPError{Code: 451, Message: "too late"} })
		b.addChannel(b.mailChannel(s, "a@example.com"))
		b.raise(b.job, scheduler.AlarmFailed, "boom")
		for started := 0; started == 0; {
			step, err := first.runOnce(ctx)
			if err != nil {
				t.Fatal(err)
			}
			started = step.started
		}
		<-arrived
		s.onRcpt(nil)
		other := b.alarmer(func(c *Config) { c.Node = func() int64 { return 10 * node } }) // whose name begins like the first's
		sent := func() int {
			if err := other.watchOnce(ctx, b.clock.now()); err != nil {
				t.Fatal(err)
			}
			b.workOn(other)
			return len(s.take())
		}
		b.clock.add(30 * time.Second)
		if n := sent(); n != 0 {
			t.Fatalf("%d mails while the first admin lives", n)
		}
		if _, err := q.BeatNode(ctx, pool, db.BeatNodeParams{ID: node, BeatAt: b.clock.now().UnixMilli()}); err != nil {
			t.Fatal(err)
		}
		if _, err := q.LeaveNode(ctx, pool, node); err != nil {
			t.Fatal(err)
		}
		b.clock.add(19 * time.Second)
		if n := sent(); n != 0 {
			t.Fatalf("%d mails while the first admin's may still go out", n)
		}
		b.clock.add(time.Second)
		if n := sent(); n != 1 {
			t.Fatalf("%d mails once the first admin is gone", n)
		}
		close(release)
		first.sends.Wait()
		if d := b.deliveries(); len(d) != 1 || d[0].State != Sent || d[0].Error != "" {
			t.Errorf("what the first says of it late counts: %+v", d)
		}
	})
}

func TestTwoAdminsSendEachMessageOnce(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		s := newMailServer(t, mailServerOptions{})
		b.addChannel(b.mailChannel(s, "a@example.com"))
		admins := []*Alarmer{b.a, b.alarmer(nil), b.alarmer(nil)}
		jobs := make([]int64, 5)
		for i := range jobs {
			jobs[i] = b.addJob(fmt.Sprint("job ", i), "")
		}
		for _, job := range jobs {
			b.raise(job, scheduler.AlarmFailed, "boom")
		}
		done := make(chan error)
		for _, a := range admins {
			go func() {
				var err error
				for range 10 {
					if _, e := a.runOnce(t.Context()); e != nil {
						err = e
					}
					a.sends.Wait()
				}
				done <- err
			}()
		}
		for range admins {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		b.work()
		got := make(map[string]int)
		for _, m := range s.received() {
			got[m.subject]++
		}
		for i := range jobs {
			if n := got[fmt.Sprintf("[Punctual] Failed: job %d", i)]; n != 1 {
				t.Errorf("job %d was told %d times: %v", i, n, got)
			}
		}
	})
}

func TestAStormBecomesOneMessage(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	s := newMailServer(t, mailServerOptions{})
	b.addChannel(b.mailChannel(s, "a@example.com"))
	for i := range 40 {
		b.raise(b.addJob(fmt.Sprint("job ", i), ""), scheduler.AlarmLost, "the executor is gone")
	}
	b.work()
	got := s.received()
	if len(got) != 1 || got[0].subject != "[Punctual] Several alarms: 40" {
		t.Fatalf("mails: %d", len(got))
	}
	if !strings.Contains(got[0].text, "Result lost: job 7") || !strings.Contains(got[0].text, "and 10 more") || !strings.Contains(got[0].html, "Result lost: job 7") {
		t.Errorf("mail:\n%s", got[0].text)
	}
	for _, d := range b.deliveries() {
		if d.State != Sent {
			t.Fatalf("delivery: %+v", d)
		}
	}
}

func TestQuietHours(t *testing.T) {
	t.Parallel()
	for _, mode := range []QuietMode{QuietQueue, QuietCount} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b := setup(t, dbtest.New(t, db.SQLite), nil)
			s := newMailServer(t, mailServerOptions{})
			c := b.mailChannel(s, "a@example.com")
			c.QuietFrom, c.QuietTo, c.QuietMode = 22*60, 7*60+30, mode
			b.addChannel(c)
			b.clock.set(time.Date(2026, 3, 2, 23, 0, 0, 0, dbtest.Zone))
			run := b.raise(b.job, scheduler.AlarmFailed, "at night")
			b.raise(b.addJob("second", ""), scheduler.AlarmTimeout, "at night")
			b.work()
			b.clock.set(time.Date(2026, 3, 3, 7, 29, 0, 0, dbtest.Zone))
			b.work()
			if got := s.received(); len(got) != 0 {
				t.Fatalf("mails in quiet hours: %+v", got)
			}
			if d := b.deliveries()[0]; d.State != Waiting || d.Tries != 0 {
				t.Errorf("delivery: %+v", d)
			}
			b.clock.set(time.Date(2026, 3, 3, 7, 30, 0, 0, dbtest.Zone))
			b.work()
			got := s.received()
			if mode == QuietQueue {
				if len(got) != 2 || !strings.Contains(got[0].text, "2026-03-02 23:00:00") {
					t.Fatalf("mails at the end: %+v", got)
				}
			} else if len(got) != 1 || got[0].subject != "[Punctual] Alarms during quiet hours: 2" ||
				!strings.Contains(got[0].text, "Failed: 1\nTimed out: 1") || strings.Contains(got[0].text, "nightly") {
				t.Fatalf("mails at the end: %+v", got)
			}
			if st := b.alarmStatus(run); st != runTold {
				t.Errorf("alarm_status = %d", st)
			}
		})
	}
}

func TestABrokenChannelDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	hanging, good := newMailServer(t, mailServerOptions{}), newMailServer(t, mailServerOptions{})
	release := make(chan struct{})
	arrived := make(chan struct{}, 1)
	hanging.onRcpt(func(string) error { arrived <- struct{}{}; <-release; return nil })
	slow := b.mailChannel(hanging, "slow@example.com")
	slow.Name = "slow"
	b.addChannel(slow)
	b.addChannel(b.mailChannel(good, "good@example.com"))
	b.raise(b.job, scheduler.AlarmFailed, "boom")
	if _, err := b.a.runOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-arrived
	b.clock.add(time.Second)
	b.raise(b.addJob("second", ""), scheduler.AlarmFailed, "boom")
	for len(good.received()) < 2 { // runs on while the other hangs
		if _, err := b.a.runOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	close(release)
	b.a.sends.Wait()
}

// TestWhatADeadSenderLeftOfAChannelThatIsGone: a message that somebody was sending when they died is given up with its channel, as those that wait are.
func TestWhatADeadSenderLeftOfAChannelThatIsGone(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"deleted", "off"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, nil)
				s := newMailServer(t, mailServerOptions{})
				channel := b.addChannel(b.mailChannel(s, "a@example.com"))
				b.raise(b.job, "failed", "boom")
				b.work()
				b.exec("UPDATE punctual_alarm_delivery SET state = ?, holder = 'dead', lease_until = ?, done_at = 0", deliverySends, b.clock.now().Add(b.a.cfg.Lease).UnixMilli())
				if how == "off" {
					b.exec("UPDATE punctual_alarm_channel SET enabled = 0")
				} else if err := b.a.DeleteChannel(t.Context(), channel); err != nil {
					t.Fatal(err)
				}
				b.work()
				if d := b.deliveries(); d[0].State != Sending {
					t.Errorf("while its sender may live it is %d", d[0].State)
				}
				b.clock.add(b.a.cfg.Lease + time.Second)
				b.work()
				if d := b.deliveries(); d[0].State != GivenUp {
					t.Errorf("it is %d", d[0].State)
				}
			})
		})
	}
}

// TestAFailureIsNotToldBehindItsRecovery: what was gathered of a failure has a window of its own, which may end behind that of the recovery.
func TestAFailureIsNotToldBehindItsRecovery(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		s := newMailServer(t, mailServerOptions{})
		b.addChannel(b.mailChannel(s, "a@example.com"))
		at := func(second int) {
			b.clock.set(noon.Add(time.Duration(second) * time.Second))
			b.work()
		}
		fails := func(second int) { at(second); b.raise(b.job, scheduler.AlarmFailed, "boom"); b.work() }
		succeeds := func(second int) { at(second); b.success(b.job, b.clock.now()); b.work() }
		fails(0)
		succeeds(10)
		fails(290)    // gathered until second 300,
		at(300)       // when a new window begins,
		fails(305)    // so this one is gathered until second 600,
		succeeds(306) // and this one until second 310
		for second := 307; second < 1000; second++ {
			at(second)
		}
		var told []string
		for _, m := range s.take() {
			told = append(told, strings.TrimSuffix(strings.TrimPrefix(m.subject, "[Punctual] "), ": nightly <b>report</b>"))
		}
		if want := []string{"Failed", "Recovered", "Failed", "Failed", "Recovered"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

// TestWhatWaitedIsToldWhenTheServerIsBack: once a server takes a message, those that it did not take before do not wait out their pauses, which
// would tell of failures long after their recoveries.
func TestWhatWaitedIsToldWhenTheServerIsBack(t *testing.T) {
	t.Parallel()
	for how, back := range map[string]func(b *bundle, channel int64) error{
		"another message": func(b *bundle, _ int64) error { b.success(b.job, b.clock.now()); return nil },
		"a test":          func(b *bundle, channel int64) error { return b.a.Test(b.t.Context(), channel) },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, nil)
				s := newMailServer(t, mailServerOptions{})
				s.onData(func() error { return &smtp.SMTPError{Code: 451, Message: "disk full"} })
				channel := b.addChannel(b.mailChannel(s, "a@example.com"))
				b.raise(b.job, scheduler.AlarmFailed, "boom")
				for range 30 {
					b.work()
					b.clock.add(time.Minute)
				}
				s.onData(nil)
				if err := back(b, channel); err != nil {
					t.Fatal(err)
				}
				b.work()
				got := s.take()
				if len(got) != 2 {
					t.Fatalf("%d messages, want it and the one that waited: %+v", len(got), b.deliveries()[0])
				}
				if late := got[1].text; strings.Contains(late, "Since then: a run has succeeded") != (how == "another message") {
					t.Errorf("the one that waited says:\n%s", late)
				}
			})
		})
	}
}

// TestAStormOfAMinuteIsFewMessages: jobs fail one after the other, and the server takes each mail at once, so that none ever waits for another.
func TestAStormOfAMinuteIsFewMessages(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.Calm = 0 })
		s := newMailServer(t, mailServerOptions{})
		b.addChannel(b.mailChannel(s, "a@example.com"))
		for i := range 100 {
			b.raise(b.addJob(fmt.Sprint("job ", i), ""), scheduler.AlarmFailed, "the disk is gone")
			b.work()
			b.clock.add(500 * time.Millisecond)
		}
		b.clock.add(time.Minute)
		b.work()
		got := s.take()
		if len(got) != mergeAbove+1 || got[0].subject != "[Punctual] Failed: job 0" || got[mergeAbove].subject != "[Punctual] Several alarms: 95" {
			t.Fatalf("%d mails", len(got))
		}
		b.raise(b.addJob("later", ""), scheduler.AlarmFailed, "the disk is gone")
		b.work()
		if got := s.take(); len(got) != 1 {
			t.Errorf("%d mails when it is over", len(got))
		}
	})
}
