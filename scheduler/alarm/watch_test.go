package alarm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/scheduler"
)

// look is one look of the watch at the time the clock shows, and everything that follows.
func (b *bundle) look(a *Alarmer) {
	b.t.Helper()
	b.workOn(a)
	if err := a.watchOnce(b.t.Context(), b.clock.now()); err != nil {
		b.t.Fatal(err)
	}
	b.workOn(a)
}

func TestALongRunIsToldOnceAndGoesOn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		s := newMailServer(t, mailServerOptions{})
		b.addChannel(b.mailChannel(s, "a@example.com"))
		b.exec("UPDATE xxl_job_info SET warn_after_seconds = 60 WHERE id = ?", b.job)
		run := b.addRun(b.job, 0, time.Time{})
		b.addRun(b.addJob("patient", ""), 0, time.Time{})
		b.exec("UPDATE xxl_job_log SET executor_address = 'http://10.0.0.1:9999/' WHERE id = ?", run)
		b.clock.add(59 * time.Second)
		b.look(b.a)
		if got := s.take(); len(got) != 0 {
			t.Fatalf("told too early: %q", got[0].subject)
		}
		b.clock.add(time.Second)
		other := b.alarmer(nil)
		b.look(b.a)
		b.look(other)
		b.clock.add(time.Hour)
		b.look(b.a)
		b.look(b.alarmer(nil)) // an admin that has just started
		got := s.take()
		if len(got) != 1 || got[0].subject != "[Punctual] Running long: nightly <b>report</b>" || !strings.Contains(got[0].text, "Run: "+itoa(run)) ||
			!strings.Contains(got[0].text, "12:01:00.000 Running for 1 min, expected at most 1 min; executor http://10.0.0.1:9999/\n") {
			t.Fatalf("mails: %+v", got)
		}
		if st := b.alarmStatus(run); st != 0 {
			t.Errorf("alarm_status = %d: how it ends could not be told any more", st)
		}
		// A flow has no executor.
		flow := b.addJob("flow", "")
		b.exec("UPDATE xxl_job_info SET warn_after_seconds = 60 WHERE id = ?", flow)
		b.addRun(flow, 0, time.Time{})
		b.clock.add(time.Minute)
		b.look(b.a)
		if got := s.take(); len(got) != 1 || !strings.Contains(got[0].text, "Running for 1 min, expected at most 1 min\n") {
			t.Errorf("mails: %+v", got)
		}
	})
}

// TestASuccessThatWasMissedTellsItsGroup: the recovery that is found later, since the admin that got the result had not heard of the alarm, is of
// the job's group as the alarm was, so that whoever is told of that group's hears of both.
func TestASuccessThatWasMissedTellsItsGroup(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		b.raise(b.job, scheduler.AlarmFailed, "boom")
		b.work()
		b.clock.add(time.Minute)
		b.addRun(b.job, 200, b.clock.now())
		b.clock.add(2 * justRaised)
		b.look(b.a)
		var group, events int64
		if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*), COALESCE(MAX(job_group), 0) FROM punctual_alarm_notice WHERE cause = 'recovered'").Scan(&events, &group); err != nil {
			t.Fatal(err)
		}
		if events != 1 || group != b.group {
			t.Errorf("%d recoveries, of group %d; want 1 of %d", events, group, b.group)
		}
	})
}

func TestAJobWithoutSuccessIsToldOnceAndItsRecoveryToo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		s := newMailServer(t, mailServerOptions{})
		b.addChannel(b.mailChannel(s, "a@example.com"))
		b.exec("UPDATE xxl_job_info SET expect_every_seconds = 3600, trigger_status = 1 WHERE id = ?", b.job)
		stopped := b.addJob("stopped", "")
		b.exec("UPDATE xxl_job_info SET expect_every_seconds = 3600 WHERE id = ?", stopped)
		b.clock.add(50 * time.Minute)
		b.look(b.a)
		b.addRun(b.job, 200, b.clock.now())
		b.clock.add(59 * time.Minute)
		b.addRun(b.job, 500, b.clock.now()) // a failure is no success
		b.look(b.a)
		if got := s.take(); len(got) != 0 {
			t.Fatalf("told too early: %q", got[0].subject)
		}
		b.clock.add(2 * time.Minute)
		b.look(b.a)
		b.look(b.alarmer(nil))
		b.clock.add(3 * time.Hour)
		b.look(b.a)
		got := s.take()
		if len(got) != 1 || got[0].subject != "[Punctual] No success: nightly <b>report</b>" || !strings.Contains(got[0].text, "13:51:00.000 No success since 2026-03-02 12:50:00 +08:00, one is expected every 1 h") {
			t.Fatalf("mails: %+v", got)
		}
		// The success is found also when no engine raised it.
		b.addRun(b.job, 200, b.clock.now())
		b.clock.add(time.Minute)
		b.look(b.a)
		b.look(b.alarmer(nil))
		if got := s.take(); len(got) != 1 || got[0].subject != "[Punctual] Recovered: nightly <b>report</b>" {
			t.Fatalf("mails: %+v", got)
		}
		// And the clock begins anew.
		b.clock.add(time.Hour)
		b.look(b.a)
		if got := s.take(); len(got) != 1 || got[0].subject != "[Punctual] No success: nightly <b>report</b>" {
			t.Fatalf("mails: %+v", got)
		}
	})
}

// TestTheSuccessThatEndedLastCounts, whichever run it is of: one that began before another may end after it, or be taken for lost until then.
func TestTheSuccessThatEndedLastCounts(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		s := newMailServer(t, mailServerOptions{})
		b.addChannel(b.mailChannel(s, "a@example.com"))
		b.exec("UPDATE xxl_job_info SET expect_every_seconds = 3600, trigger_status = 1 WHERE id = ?", b.job)
		long, lost := b.addRun(b.job, 0, time.Time{}), b.addRun(b.job, 500, b.clock.now())
		b.exec("UPDATE xxl_job_log SET outcome = 7 WHERE id = ?", lost)
		silent := func(want int) {
			t.Helper()
			b.look(b.a)
			b.look(b.alarmer(nil))
			if got := s.take(); len(got) != want {
				t.Errorf("%d mails, want %d", len(got), want)
			}
		}
		succeeds := func(run int64) {
			b.exec("UPDATE xxl_job_log SET handle_code = 200, outcome = 1, finished_at = ? WHERE id = ?", b.clock.now().UnixMilli(), run)
		}
		b.clock.add(10 * time.Minute)
		b.addRun(b.job, 200, b.clock.now())
		b.clock.add(65 * time.Minute) // the last change and the success are too long ago
		succeeds(long)
		silent(0)
		b.clock.add(59 * time.Minute)
		b.addRun(b.job, 500, b.clock.now())
		silent(0)
		b.clock.add(30 * time.Second)
		succeeds(lost)
		b.clock.add(59 * time.Minute)
		silent(0)
		b.clock.add(2 * time.Minute)
		silent(1)
		b.clock.add(time.Minute)
		silent(0) // once
	})
}

// TestAnAlarmThatIsRefusedKeepsNoOther: each run and job is looked at for itself.
func TestAnAlarmThatIsRefusedKeepsNoOther(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		s := newMailServer(t, mailServerOptions{})
		b.addChannel(b.mailChannel(s, "a@example.com"))
		second := b.addJob("second", "")
		b.exec("UPDATE xxl_job_info SET expect_every_seconds = 7200, warn_after_seconds = 60, trigger_status = 1")
		statement := "CREATE TRIGGER refuse BEFORE INSERT ON punctual_alarm_event FOR EACH ROW WHEN NEW.job_id = %d BEGIN SELECT RAISE(ABORT, 'refused'); END"
		if pool.Dialect() == db.MySQL {
			statement = "CREATE TRIGGER refuse BEFORE INSERT ON punctual_alarm_event FOR EACH ROW IF NEW.job_id = %d THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF"
		}
		b.exec(fmt.Sprintf(statement, b.job))
		for _, job := range []int64{b.job, second} {
			b.addRun(job, 0, time.Time{})
		}
		b.clock.add(3 * time.Hour)
		for range 2 {
			if err := b.a.watchOnce(t.Context(), b.clock.now()); err == nil {
				t.Error("nothing was refused")
			}
		}
		b.work()
		var told []string
		for _, m := range s.take() {
			told = append(told, m.subject)
		}
		slices.Sort(told)
		if want := []string{"[Punctual] No success: second", "[Punctual] Running long: second"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

// TestAPauseIsNoSilence has a job that shall succeed every hour and does not: in a pause nobody is told, behind it when the job has had
// an hour, and between pauses that come too often for that, when it has had two in all.
func TestAPauseIsNoSilence(t *testing.T) {
	t.Parallel()
	q := db.New()
	type minutes struct{ from, until int } // after the start; until 0: no end
	for _, c := range []struct {
		name  string
		pause db.InsertPauseParams
		times []minutes
		quiet []int // minutes at which nobody has been told
		told  int   // and at which somebody is; 0: never
	}{
		{"job", db.InsertPauseParams{Scope: "job"}, []minutes{{30, 300}}, []int{61, 299, 301, 359}, 360},
		{"group", db.InsertPauseParams{Scope: "group"}, []minutes{{30, 0}}, []int{61, 600}, 0},
		{"tag", db.InsertPauseParams{Scope: "tag", Tag: "nightly"}, []minutes{{0, 100}}, []int{61, 159}, 160},
		{"another tag", db.InsertPauseParams{Scope: "tag", Tag: "night"}, []minutes{{0, 100}}, []int{59}, 60},
		{"all", db.InsertPauseParams{Scope: "all"}, []minutes{{30, 70}, {120, 150}, {190, 200}}, []int{61, 119, 151, 189, 195, 199}, 200},
		{"over before", db.InsertPauseParams{Scope: "all"}, []minutes{{-60, -10}}, []int{59}, 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, nil)
				b.exec("UPDATE xxl_job_info SET expect_every_seconds = 3600, trigger_status = 1, tags = 'day,nightly' WHERE id = ?", b.job)
				start := b.clock.now()
				at := func(minute int) time.Time { return start.Add(time.Duration(minute) * time.Minute) }
				for _, m := range c.times {
					p := c.pause
					p.Strategy, p.FromAt = "skip", at(m.from).UnixMilli()
					if m.until != 0 {
						p.UntilAt = at(m.until).UnixMilli()
					}
					switch p.Scope {
					case "job":
						p.Target = b.job
					case "group":
						p.Target = b.group
					}
					if _, err := q.InsertPause(t.Context(), pool, p); err != nil {
						t.Fatal(err)
					}
				}
				told := func(minute int, job int64) int {
					t.Helper()
					b.clock.add(at(minute).Sub(b.clock.now()))
					if err := b.a.watchOnce(t.Context(), b.clock.now()); err != nil {
						t.Fatal(err)
					}
					var n int
					if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_alarm_event WHERE cause = 'silent' AND job_id = ?", job).Scan(&n); err != nil {
						t.Fatal(err)
					}
					return n
				}
				b.addChannel(Channel{Name: "hook", Kind: KindWebhook, Settings: Settings{URL: "http://127.0.0.1:9/"}}) // nothing is sent
				b.work()                                                                                               // it knows what is wanted
				for _, m := range c.quiet {
					if told(m, b.job) != 0 {
						t.Fatalf("told after %d min", m)
					}
				}
				if c.told != 0 && told(c.told, b.job) != 1 {
					t.Fatalf("not told after %d min", c.told)
				}
			})
		})
	}
}

// TestADayOffIsNoSilence has a job that is due every day at 02:00 but for what its calendar says, and shall succeed within 26 hours.
func TestADayOffIsNoSilence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, set string
		success   string   // its last
		quiet     []string // when nobody has been told
		told      string   // when somebody is; "" for never
	}{
		{"no calendar", "", "2026-03-06 02:05", []string{"2026-03-07 04:04"}, "2026-03-07 04:05"},
		{"a weekend", "calendar = 'cn', calendar_rule = 'WORKDAYS'", "2026-03-06 02:05", []string{"2026-03-07 04:05", "2026-03-08 23:00", "2026-03-09 02:01", "2026-03-09 04:04"}, "2026-03-09 04:05"},
		{"a success by hand on a day off", "calendar = 'cn', calendar_rule = 'WORKDAYS'", "2026-03-07 12:00", []string{"2026-03-09 02:01", "2026-03-09 13:59"}, "2026-03-09 14:00"},
		{"between working days", "calendar = 'cn', calendar_rule = 'WORKDAYS'", "2026-03-10 02:05", []string{"2026-03-11 04:04"}, "2026-03-11 04:05"},
		{"only on days off", "calendar = 'cn', calendar_rule = 'DAYS_OFF'", "2026-03-08 02:05", []string{"2026-03-13 12:00", "2026-03-14 04:04"}, "2026-03-14 04:05"},
		{"moved to the next working day", "calendar = 'cn', calendar_rule = 'NEXT_WORKDAY', schedule_conf = '0 0 2 7 * ?', expect_every_seconds = 2764800", "2026-02-09 02:05", // a month and four days
			[]string{"2026-03-09 02:01", "2026-03-15 02:04"}, "2026-03-15 02:05"},
		{"until its end", "calendar = 'cn', calendar_rule = 'WORKDAYS', end_at = 1772899200000", "2026-03-06 02:05", []string{"2026-03-07 04:05", "2026-03-09 04:05"}, ""}, // on Sunday at 00:00
		{"a calendar that there is not", "calendar = 'nowhere', calendar_rule = 'WORKDAYS'", "2026-03-06 02:05", []string{"2026-03-07 04:04"}, "2026-03-07 04:05"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, nil)
				at := func(text string) time.Time {
					when, err := time.ParseInLocation("2006-01-02 15:04", text, dbtest.Zone)
					if err != nil {
						t.Fatal(err)
					}
					return when
				}
				b.exec("UPDATE xxl_job_info SET expect_every_seconds = 93600, trigger_status = 1, schedule_type = 'CRON', schedule_conf = '0 0 2 * * ?', update_time = '2026-01-01 00:00:00' WHERE id = ?", b.job)
				if c.set != "" {
					b.exec("UPDATE xxl_job_info SET "+c.set+" WHERE id = ?", b.job)
				}
				b.clock.set(at(c.success).Add(-5 * time.Minute))
				b.addRun(b.job, 200, at(c.success))
				b.addChannel(Channel{Name: "hook", Kind: KindWebhook, Settings: Settings{URL: "http://127.0.0.1:9/"}}) // nothing is sent
				b.work()                                                                                               // it knows what is wanted
				told := func(when string) (n int) {
					t.Helper()
					b.clock.set(at(when))
					if err := b.a.watchOnce(t.Context(), b.clock.now()); err != nil {
						t.Fatal(err)
					}
					if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_alarm_event WHERE cause = 'silent' AND job_id = ?", b.job).Scan(&n); err != nil {
						t.Fatal(err)
					}
					return n
				}
				for _, when := range c.quiet {
					if told(when) != 0 {
						t.Fatalf("told at %s", when)
					}
				}
				if c.told != "" && told(c.told) != 1 {
					t.Fatalf("not told at %s", c.told)
				}
			})
		})
	}
}

func TestARecoveryThatNoEngineRaisedIsFound(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), nil)
	s := newMailServer(t, mailServerOptions{})
	b.addChannel(b.mailChannel(s, "a@example.com"))
	b.raise(b.job, "failed", "boom")
	b.clock.add(time.Minute)
	b.addRun(b.job, 200, b.clock.now())
	b.look(b.a)
	s.take()
	b.clock.add(time.Minute)
	b.look(b.a)
	if got := s.take(); len(got) != 1 || got[0].subject != "[Punctual] Recovered: nightly <b>report</b>" {
		t.Fatalf("mails: %+v", got)
	}
}

// TestAFailureThatIsReportedAfterALaterSuccess: an executor keeps results while no admin takes them, so the end of a run may be told after that of
// one that was planned later and ended later, or together with it. The alarm ends with that success. One that was over before the run failed says nothing.
func TestAFailureThatIsReportedAfterALaterSuccess(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		failed time.Duration // after it was planned; the success is a minute after that, and ends at once
		open   bool
	}{
		{"it failed before the other run succeeded", time.Second, false},
		{"it failed at the same moment", time.Minute, false},
		{"it failed after that", 2 * time.Minute, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, nil)
				planned := b.clock.now()
				failed := b.addRun(b.job, 500, planned.Add(tt.failed))
				b.clock.add(time.Minute)
				b.addRun(b.job, 200, b.clock.now())
				b.clock.add(2 * time.Minute)
				b.event(scheduler.AlarmEvent{JobID: b.job, GroupID: b.group, LogID: failed, Cause: scheduler.AlarmFailed, Planned: planned.UnixMilli(), At: b.clock.now(), Text: "boom"})
				b.work()
				b.clock.add(2 * justRaised)
				b.look(b.a)
				if open := b.open(b.job); (len(open) > 0) != tt.open {
					t.Errorf("open alarms: %+v, want some: %v", open, tt.open)
				}
			})
		})
	}
}

func TestOldAlarmsAreForgotten(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		s := newMailServer(t, mailServerOptions{})
		b.addChannel(b.mailChannel(s, "a@example.com"))
		b.raise(b.job, "failed", "boom")
		b.work()
		b.clock.add(time.Minute)
		b.success(b.job, b.clock.now())
		b.work()
		b.clock.add(40 * 24 * time.Hour)
		recent := b.addJob("recent", "")
		b.raise(recent, "failed", "boom")
		b.work()
		b.raise(4711, "failed", "of a job that was deleted")
		b.work()
		if err := b.a.clean(t.Context(), b.clock.now()); err != nil {
			t.Fatal(err)
		}
		for table, want := range map[string]int{"event": 2, "notice": 2, "delivery": 2, "state": 1} {
			var n int
			if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_alarm_"+table).Scan(&n); err != nil || n != want {
				t.Errorf("%s: %d rows, %v, want %d", table, n, err, want)
			}
		}
	})
}

// TestCleaningLocksNoJob: claims write the jobs all the time, and neither waits for the other.
func TestCleaningLocksNoJob(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL) // the embedded database lets writers in one after the other
	b := setup(t, pool, nil)
	b.addChannel(b.mailChannel(newMailServer(t, mailServerOptions{}), "a@example.com"))
	b.raise(b.job, "failed", "boom")
	b.work()
	tx, err := pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	dbtest.Hold(t, pool, tx)
	if _, err := tx.ExecContext(t.Context(), "UPDATE xxl_job_info SET trigger_last_time = 1 WHERE id = ?", b.job); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), executortest.Patience)
	defer cancel()
	if err := b.a.clean(ctx, b.clock.now()); err != nil {
		t.Errorf("while a claim writes the job: %v", err)
	}
}

// TestARecoveryIsFoundBehindManyOpenAlarms: the look goes through all of them.
func TestARecoveryIsFoundBehindManyOpenAlarms(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		behind := int64(watchPage)
		b.exec("UPDATE xxl_job_info SET id = ? WHERE id = ?", behind, b.job)
		b.job = behind
		b.exec("INSERT INTO punctual_alarm_state (job_id, cause, opened_at, revision) VALUES (1, 'failed', 1, 1)") // so that a page ends between two of a job
		for i := range watchPage / 2 {
			b.exec("INSERT INTO punctual_alarm_state (job_id, cause, opened_at, revision) VALUES (?, 'failed', 1, 1), (?, 'lost', 1, 1)", 2+i, 2+i)
		}
		b.raise(b.job, scheduler.AlarmFailed, "boom")
		b.work()
		b.clock.add(time.Minute)
		b.addRun(b.job, 200, b.clock.now())
		b.clock.add(2 * justRaised)
		b.look(b.a)
		if open := b.open(b.job); len(open) > 0 {
			t.Errorf("open alarms: %+v", open)
		}
	})
}
