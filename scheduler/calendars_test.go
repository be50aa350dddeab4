package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/calendar"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// keep stores a calendar, as the use case does.
func (b *bundle) keep(c *calendar.Calendar) {
	b.t.Helper()
	if err := c.Check(); err != nil {
		b.t.Fatal(err)
	}
	revision, err := db.New().NextCalendarRevision(b.t.Context(), b.pool)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := db.New().SetCalendar(b.t.Context(), b.pool, db.SetCalendarParams{Name: c.Name, Body: string(c.JSON()), Revision: revision}); err != nil {
		b.t.Fatal(err)
	}
}

// A calendar that is changed plans its jobs anew: what has become a day off is left, what has become a working day is taken.
func TestAChangedCalendarPlansItsJobsAnew(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, alone, addressA)
		now := b.engine.now()
		today := calendar.DayOf(now, time.UTC)
		every := []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
		off := func(d calendar.Day) calendar.Span { return calendar.Span{From: d.String(), Kind: calendar.Off} }
		b.keep(&calendar.Calendar{Name: "ours", Zone: "UTC", Week: every})
		if err := pool.Calendars().Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		at := (today + 5).Date().Add(3 * time.Hour)
		with := func(rule jobspec.CalendarRule, conf string, kind jobspec.ScheduleType) int64 {
			id := b.addJob(func(p *db.InsertJobParams) {
				p.ScheduleType, p.ScheduleConf, p.TimeZone, p.Calendar, p.CalendarRule = kind, db.Text(conf), "UTC", "ours", string(rule)
			})
			if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = ? WHERE id = ?", at.UnixMilli(), id); err != nil {
				t.Fatal(err)
			}
			return id
		}
		monthly := fmt.Sprintf("0 0 3 %d * ?", at.Day())
		left, moved := with(jobspec.CalendarWorkdays, monthly, jobspec.ScheduleCron), with(jobspec.CalendarNext, monthly, jobspec.ScheduleCron)
		rate := with(jobspec.CalendarWorkdays, "36000", jobspec.ScheduleFixRate)
		check := func(when string, job int64, want time.Time) {
			t.Helper()
			j, err := db.New().GetJob(t.Context(), pool, job)
			if err != nil {
				t.Fatal(err)
			}
			if got := time.UnixMilli(j.TriggerNextTime).UTC(); !got.Equal(want) {
				t.Errorf("%s: %v, want %v", when, got, want)
			}
		}
		reload := func(days ...calendar.Span) {
			t.Helper()
			b.keep(&calendar.Calendar{Name: "ours", Zone: "UTC", Week: every, Days: days})
			if err := pool.Calendars().Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := b.engine.replan(t.Context(), "ours"); err != nil {
				t.Fatal(err)
			}
		}
		b.keep(&calendar.Calendar{Name: "ours", Zone: "UTC", Week: every, Days: []calendar.Span{off(today + 5), off(today + 6)}})
		if err := pool.Calendars().Refresh(t.Context()); err != nil { // as the use case does, which leaves the jobs to the engine
			t.Fatal(err)
		}
		b.await("the engine sees that", func() bool {
			j, err := db.New().GetJob(t.Context(), pool, moved)
			return err == nil && j.TriggerNextTime != at.UnixMilli()
		})
		if _, err := b.engine.replan(t.Context(), "ours"); err != nil { // it may be at it
			t.Fatal(err)
		}
		check("moved over two days off", moved, (today + 7).Date().Add(3*time.Hour))
		next, err := jobspec.Next(jobspec.ScheduleCron, monthly, at, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		check("left out for this month", left, next)
		reload(off(today + 5))
		check("one is worked after all", moved, (today + 6).Date().Add(3*time.Hour))
		reload()
		check("none is off", moved, at)
		check("none is left out", left, at)
		check("and a rate that would have been due before it is brought forward on its beat", rate,
			at.Add(-at.Sub(now)/(10*time.Hour)*(10*time.Hour)))
		if n, err := b.engine.replan(t.Context(), "ours"); err != nil || n != 0 {
			t.Errorf("a second time moves %d, %v", n, err)
		}
	})
}

// What the calendar leaves out does not fire, even if its time is still on record; a job whose calendar is gone stops and says so.
func TestNothingIsSentOnADayThatIsLeftOut(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, alone, addressA)
		now := b.engine.now()
		today := calendar.DayOf(now, time.UTC)
		var others []string
		for i, w := range calendar.Weekdays {
			if time.Weekday(i) != today.Weekday() && time.Weekday(i) != (today+1).Weekday() {
				others = append(others, w)
			}
		}
		b.keep(&calendar.Calendar{Name: "ours", Zone: "UTC", Week: others})
		if err := pool.Calendars().Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		due := func(calendar string) int64 {
			id := b.addJob(func(p *db.InsertJobParams) {
				p.ScheduleType, p.ScheduleConf, p.TimeZone, p.Calendar, p.CalendarRule = jobspec.ScheduleCron, "0 0/10 * * * ?", "UTC", calendar, "WORKDAYS"
			})
			if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET trigger_status = 1, trigger_next_time = ? WHERE id = ?", now.UnixMilli(), id); err != nil {
				t.Fatal(err)
			}
			return id
		}
		kept, lost := due("ours"), due("gone")
		b.await("both are decided", func() bool {
			a, errA := db.New().GetJob(t.Context(), pool, kept)
			z, errZ := db.New().GetJob(t.Context(), pool, lost)
			return errA == nil && errZ == nil && a.TriggerNextTime > now.UnixMilli()+1000 && z.TriggerStatus == 0
		})
		j, err := db.New().GetJob(t.Context(), pool, kept)
		if err != nil {
			t.Fatal(err)
		}
		if want := (today + 2).Date(); !time.UnixMilli(j.TriggerNextTime).Equal(want) {
			t.Errorf("next is %v, want %v", time.UnixMilli(j.TriggerNextTime).UTC(), want)
		}
		var runs int
		if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_log WHERE job_id = ?", kept).Scan(&runs); err != nil || runs != 0 {
			t.Errorf("%d rows, %v", runs, err)
		}
	})
}
