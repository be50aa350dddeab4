package alarm

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestWhoeverWillBeLateIsTold has a job that is due at 05:00, has to be done by 06:00 and usually takes 40 minutes, and looks at it every
// minute of a night with two admins, the second of which starts anew now and then.
func TestWhoeverWillBeLateIsTold(t *testing.T) {
	t.Parallel()
	const day = "2026-03-03 "
	for _, c := range []struct {
		name    string
		set     string   // what is different about the job
		history bool     // five runs of 40 minutes, on the days before
		runs    []string // state and times: "200 05:00 05:40", "0 05:21 -", "0 - -" for one that waits
		pause   string   // "04:00 05:30"
		told    string   // when somebody is told; "" for never
		words   string
	}{
		{name: "ends in time", history: true, runs: []string{"200 05:00 05:40"}},
		{name: "runs longer than usual", history: true, runs: []string{"0 05:00 -"}, told: "06:00", words: "Had to be done by 2026-03-03 06:00:00 +08:00 and is not"},
		{name: "begins too late", history: true, runs: []string{"0 05:21 -"}, told: "05:21", words: "Has to be done by 2026-03-03 06:00:00 +08:00 and will probably end at 2026-03-03 06:01:00 +08:00: it usually takes up to 40 min"},
		{name: "waits", history: true, runs: []string{"0 - -"}, told: "05:21", words: "will probably end at 2026-03-03 06:01:00"},
		{name: "does not begin at all", history: true, told: "05:21"},
		{name: "fails", history: true, runs: []string{"500 05:00 05:10"}, told: "05:21"},
		{name: "fails, and is run again", history: true, runs: []string{"500 05:00 05:01", "200 05:02 05:42"}},
		{name: "no history, in time", runs: []string{"200 05:00 05:55"}},
		{name: "no history", runs: []string{"0 05:00 -"}, told: "06:00", words: "Had to be done by 2026-03-03 06:00:00 +08:00 and is not"},
		{name: "no fire on Tuesdays", set: "schedule_conf = '0 0 5 ? * MON,WED'", history: true},
		{name: "no fire on a day off", set: "calendar = 'cn', calendar_rule = 'DAYS_OFF'", history: true},
		{name: "paused at its fire", history: true, pause: "04:00 05:30"},
		{name: "paused since, and goes on", history: true, runs: []string{"0 05:25 -"}, pause: "05:20 05:40", told: "05:40"},
		{name: "stopped", set: "trigger_status = 0", history: true, runs: []string{"0 05:21 -"}},
		{name: "once, and so stopped since", set: "trigger_status = 0, schedule_type = 'ONCE', schedule_conf = '2026-03-03 05:00:00'", history: true, runs: []string{"0 05:21 -"}, told: "05:21"},
		{name: "no deadline", set: "done_by = ''", runs: []string{"0 05:21 -"}, history: true},
		{name: "started after its fire", set: "update_time = '2026-03-03 05:10:00'", history: true},
		{name: "edited while it runs", set: "update_time = '2026-03-03 05:10:00'", runs: []string{"0 05:00 -"}, told: "06:00"},
		{name: "asked for afterwards", set: "update_time = '2026-03-03 06:00:00'", runs: []string{"500 05:00 05:10"}},
		{name: "in its own zone", set: "time_zone = 'Europe/Berlin', schedule_conf = '0 0 22 * * ?', done_by = '23:00'", history: true, told: "05:21"}, // 05:00 and 06:00 here
		{name: "cannot be read", set: "schedule_conf = 'nonsense'", history: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, nil)
				s := newMailServer(t, mailServerOptions{})
				b.addChannel(b.mailChannel(s, "a@example.com"))
				at := func(clock string) time.Time {
					when, err := time.ParseInLocation(time.DateTime, day+clock+":00", dbtest.Zone)
					if err != nil {
						t.Fatal(err)
					}
					return when
				}
				b.exec("UPDATE xxl_job_info SET schedule_type = 'CRON', schedule_conf = '0 0 5 * * ?', done_by = '06:00', trigger_status = 1, update_time = '2026-03-02 12:00:00' WHERE id = ?", b.job)
				if c.set != "" {
					b.exec("UPDATE xxl_job_info SET "+c.set+" WHERE id = ?", b.job)
				}
				if c.history {
					for n := range 5 {
						b.clock.set(at("05:00").AddDate(0, 0, -1-n))
						b.addRun(b.job, 200, b.clock.now().Add(40*time.Minute))
					}
				}
				if c.pause != "" {
					from, until, _ := strings.Cut(c.pause, " ")
					if _, err := db.New().InsertPause(t.Context(), pool, db.InsertPauseParams{
						Scope: "job", Target: b.job, Strategy: "skip", FromAt: at(from).UnixMilli(), UntilAt: at(until).UnixMilli(),
					}); err != nil {
						t.Fatal(err)
					}
				}
				runs := make([]struct {
					code, id      int64
					planned       time.Time
					began, finish string
				}, len(c.runs))
				for i, r := range c.runs {
					if _, err := fmt.Sscan(r, &runs[i].code, &runs[i].began, &runs[i].finish); err != nil {
						t.Fatal(err)
					}
				}
				b.clock.set(at("03:00"))
				b.work()
				other := b.alarmer(nil)
				var told []string
				for minute := range 5 * 60 {
					now := at("03:00").Add(time.Duration(minute) * time.Minute)
					clock := now.Format("15:04")
					if minute%60 == 0 {
						other = b.alarmer(nil)
						b.workOn(other)
					}
					for i := range runs {
						r := &runs[i]
						planned := at("05:00")
						if i > 0 {
							planned = at(r.began)
						}
						if now.Equal(planned) {
							b.clock.set(planned)
							r.id = b.addRun(b.job, 0, time.Time{})
							b.exec("UPDATE xxl_job_log SET sent_at = 0, trigger_code = 0 WHERE id = ?", r.id)
						}
						if clock == r.began {
							b.exec("UPDATE xxl_job_log SET sent_at = ?, trigger_code = 200 WHERE id = ?", now.UnixMilli(), r.id)
						}
						if clock == r.finish {
							b.exec("UPDATE xxl_job_log SET handle_code = ?, finished_at = ? WHERE id = ?", r.code, now.UnixMilli(), r.id)
						}
					}
					b.clock.set(now)
					for _, a := range []*Alarmer{b.a, other} {
						if err := a.watchOnce(t.Context(), now); err != nil {
							t.Fatal(err)
						}
					}
					var events int
					if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_alarm_event WHERE cause = 'deadline'").Scan(&events); err != nil {
						t.Fatal(err)
					}
					if events > len(told) {
						told = append(told, clock)
					}
				}
				if want := strings.Fields(c.told); !slices.Equal(told, want) {
					t.Fatalf("told at %q, want %q", told, want)
				}
				b.work()
				mails := s.take()
				if c.told == "" {
					if len(mails) != 0 {
						t.Errorf("mails: %+v", mails)
					}
					return
				}
				subject := "[Punctual] May be late: nightly <b>report</b>"
				if strings.HasPrefix(c.words, "Had to be done") {
					subject = "[Punctual] Not done in time: nightly <b>report</b>"
				}
				if len(mails) != 1 || c.words != "" && mails[0].subject != subject || !strings.Contains(mails[0].text, c.words) {
					t.Errorf("mails: %+v", mails)
				}
				for _, r := range runs {
					if st := b.alarmStatus(r.id); st != 0 {
						t.Errorf("alarm_status of run %d = %d: how it ends could not be told any more", r.id, st)
					}
				}
			})
		})
	}
}

// TestADeadlineIsToldEachDayAndEndsWithTheNextSuccess lets one night be late and end after all, and the next be late again.
func TestADeadlineIsToldEachDayAndEndsWithTheNextSuccess(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		s := newMailServer(t, mailServerOptions{})
		b.addChannel(b.mailChannel(s, "a@example.com"))
		b.exec("UPDATE xxl_job_info SET schedule_type = 'CRON', schedule_conf = '0 0 5 * * ?', done_by = '06:00', trigger_status = 1, update_time = '2026-03-02 12:00:00' WHERE id = ?", b.job)
		// On the second day it is known how long it takes.
		for i, told := range []string{"[Punctual] Not done in time: nightly <b>report</b>", "[Punctual] May be late: nightly <b>report</b>"} {
			day := 3 + i
			b.clock.set(time.Date(2026, 3, day, 5, 0, 0, 0, dbtest.Zone))
			run := b.addRun(b.job, 0, time.Time{})
			b.look(b.a)
			b.clock.add(time.Hour)
			b.look(b.a)
			b.look(b.alarmer(nil))
			if got := s.take(); len(got) != 1 || got[0].subject != told || !strings.Contains(got[0].text, "Run: "+itoa(run)) {
				t.Fatalf("day %d: %+v", day, got)
			}
			b.clock.add(time.Minute)
			b.exec("UPDATE xxl_job_log SET handle_code = 200, finished_at = ? WHERE id = ?", b.clock.now().UnixMilli(), run)
			b.event(scheduler.AlarmEvent{JobID: b.job, GroupID: b.group, LogID: run, Cause: scheduler.AlarmRecovered, Planned: b.clock.now().Add(-61 * time.Minute).UnixMilli(), At: b.clock.now()})
			b.look(b.a)
			if got := s.take(); len(got) != 1 || got[0].subject != "[Punctual] Recovered: nightly <b>report</b>" || strings.Contains(got[0].text, "Failures before") { // it did not fail
				t.Fatalf("day %d: %+v", day, got)
			}
		}
	})
}

// TestABackfillHidesNoFireFromItsDeadline: the run that a deadline is about is found behind hundreds of runs for earlier times.
func TestABackfillHidesNoFireFromItsDeadline(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		s := newMailServer(t, mailServerOptions{})
		b.addChannel(b.mailChannel(s, "a@example.com"))
		b.exec("UPDATE xxl_job_info SET schedule_type = 'CRON', schedule_conf = '0 0 5 * * ?', done_by = '06:00', trigger_status = 1, update_time = '2026-03-02 12:00:00' WHERE id = ?", b.job)
		fire := time.Date(2026, 3, 3, 5, 0, 0, 0, dbtest.Zone)
		b.clock.set(fire)
		b.addRun(b.job, 200, fire.Add(10*time.Minute))
		b.clock.set(fire.Add(20 * time.Minute))
		past := make([]db.NewRun, 600)
		for i := range past {
			past[i] = db.NewRun{JobGroup: b.group, JobID: b.job, Handler: "handler", TriggerTime: pool.Wall(b.clock.now()), PlannedAt: b.clock.now().UnixMilli(),
				PlannedFor: fire.AddDate(0, 0, i-len(past)).UnixMilli(), Type: jobspec.TriggerManual, TriggerCode: 200}
		}
		if _, err := db.InsertRuns(t.Context(), pool, past); err != nil {
			t.Fatal(err)
		}
		b.clock.set(fire.Add(time.Hour))
		b.look(b.a)
		if got := s.take(); len(got) != 0 {
			t.Errorf("the fire was done at 05:10: %+v", got)
		}
	})
}

// TestABackfillEndsNoDeadline: that the job has made up for last week does not mean that it is done for today.
func TestABackfillEndsNoDeadline(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		s := newMailServer(t, mailServerOptions{})
		b.addChannel(b.mailChannel(s, "a@example.com"))
		b.exec("UPDATE xxl_job_info SET schedule_type = 'CRON', schedule_conf = '0 0 5 * * ?', done_by = '06:00', trigger_status = 1, update_time = '2026-03-02 12:00:00' WHERE id = ?", b.job)
		fire := time.Date(2026, 3, 3, 5, 0, 0, 0, dbtest.Zone)
		b.clock.set(fire)
		run := b.addRun(b.job, 0, time.Time{})
		b.clock.set(fire.Add(time.Hour))
		b.look(b.a)
		if got := s.take(); len(got) != 1 {
			t.Fatalf("%+v", got)
		}
		succeeds := func(run int64, planned time.Time) {
			t.Helper()
			b.event(scheduler.AlarmEvent{JobID: b.job, GroupID: b.group, LogID: run, Cause: scheduler.AlarmRecovered, Planned: planned.UnixMilli(), At: b.clock.now()})
			b.look(b.a)
			b.clock.add(2 * justRaised) // nor does another admin take it for one
			b.look(b.alarmer(nil))
		}
		past := b.addRun(b.job, 200, b.clock.now())
		b.exec("UPDATE xxl_job_log SET planned_for = ? WHERE id = ?", fire.AddDate(0, 0, -7).UnixMilli(), past)
		succeeds(past, b.clock.now())
		if got := s.take(); len(got) != 0 {
			t.Fatalf("after a run for last week: %+v", got)
		}
		b.exec("UPDATE xxl_job_log SET handle_code = 200, finished_at = ? WHERE id = ?", b.clock.now().UnixMilli(), run)
		succeeds(run, fire)
		if got := s.take(); len(got) != 1 || got[0].subject != "[Punctual] Recovered: nightly <b>report</b>" {
			t.Errorf("after its own: %+v", got)
		}
	})
}

// TestARunOfTheNightBeforeEndsNoDeadline: a run that has hung since yesterday ends at last, while that of today has not begun.
func TestARunOfTheNightBeforeEndsNoDeadline(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		s := newMailServer(t, mailServerOptions{})
		b.addChannel(b.mailChannel(s, "a@example.com"))
		b.exec("UPDATE xxl_job_info SET schedule_type = 'CRON', schedule_conf = '0 0 5 * * ?', done_by = '06:00', trigger_status = 1, update_time = '2026-03-01 12:00:00' WHERE id = ?", b.job)
		fire := time.Date(2026, 3, 3, 5, 0, 0, 0, dbtest.Zone)
		b.clock.set(fire.AddDate(0, 0, -1))
		before := b.addRun(b.job, 0, time.Time{})
		b.look(b.a)
		b.clock.set(fire)
		today := b.addRun(b.job, 0, time.Time{})
		b.clock.set(fire.Add(time.Hour))
		b.look(b.a)
		s.take() // of yesterday's deadline, and today's
		succeeds := func(run int64, planned time.Time) {
			t.Helper()
			b.clock.add(10 * time.Minute)
			b.exec("UPDATE xxl_job_log SET handle_code = 200, finished_at = ? WHERE id = ?", b.clock.now().UnixMilli(), run)
			b.event(scheduler.AlarmEvent{JobID: b.job, GroupID: b.group, LogID: run, Cause: scheduler.AlarmRecovered, Planned: planned.UnixMilli(), At: b.clock.now()})
			b.look(b.a)
			b.clock.add(2 * justRaised)
			b.look(b.alarmer(nil))
		}
		succeeds(before, fire.AddDate(0, 0, -1))
		if got := s.take(); len(got) != 0 {
			t.Errorf("after yesterday's run: %s\n%s", got[0].subject, got[0].text)
		}
		succeeds(today, fire)
		if got := s.take(); len(got) != 1 || got[0].subject != "[Punctual] Recovered: nightly <b>report</b>" {
			t.Errorf("after its own: %+v", got)
		}
	})
}
