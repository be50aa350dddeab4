package scheduler

import (
	"context"
	"database/sql"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// The calendars that jobs keep to are read as the groups are, every [reloadEvery]. When one has changed, the next times of its jobs are
// computed anew: by every admin, each when it has seen the change, because until then it may have computed one by the old days. Who
// comes second finds nothing to write.

// reloadCalendars reads the calendars, and plans the jobs of those anew that have another revision than planned says. After a start those of
// all: this program may ship other days than the last.
func (e *Engine) reloadCalendars(ctx context.Context, planned map[string]int64) error {
	if err := e.cfg.Pool.Calendars().Refresh(ctx); err != nil {
		return err
	}
	for _, c := range e.cfg.Pool.Calendars().All() {
		if revision, ok := planned[c.Name]; ok && revision == c.Revision {
			continue
		}
		moved, err := e.replan(ctx, c.Name)
		if err != nil {
			return err
		}
		if moved > 0 {
			e.log.Info("jobs were planned anew by their calendar", "calendar", c.Name, "jobs", moved)
			e.hub.changed()
		}
		planned[c.Name] = c.Revision
	}
	return nil
}

// replan goes once through the started jobs of a calendar.
func (e *Engine) replan(ctx context.Context, calendar string) (moved int, err error) {
	for after := int64(0); ; {
		rows, err := e.queries.ListCalendarJobs(ctx, e.cfg.Pool, db.ListCalendarJobsParams{Calendar: calendar, Beside: e.cfg.Pool.BesideArg(), AfterID: after})
		if err != nil || len(rows) == 0 {
			return moved, db.Error(err)
		}
		for i := range rows {
			r := &rows[i]
			after = r.ID
			s, err := e.scheduleOf(r.ScheduleType, string(r.ScheduleConf), r.TimeZone, r.StartAt, r.EndAt, r.Calendar, r.CalendarRule)
			if err != nil {
				continue // the claim says so
			}
			next := replanned(s, r.TriggerNextTime, r.ClaimedUntil, e.now())
			if next == r.TriggerNextTime {
				continue
			}
			err = e.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
				ok, err := e.schedules.Replan(ctx, tx, db.ReplanJobParams{NextTime: next, ID: r.ID, OldNext: r.TriggerNextTime, OldClaimed: r.ClaimedUntil})
				if ok {
					moved++
				}
				return err
			})
			if err != nil {
				return moved, db.Error(err)
			}
		}
	}
}

// replanned is the next time of a job after a change of its calendar: the first that is not decided yet. One that has passed already is left
// to the claim, and so is a schedule that has no time left.
func replanned(s jobspec.Schedule, stored, claimed int64, now time.Time) int64 {
	next := time.UnixMilli(stored)
	if !next.After(now) || !next.Before(jobspec.Waiting) {
		return stored
	}
	after := now
	if c := time.UnixMilli(claimed - 1); c.After(after) {
		after = c
	}
	if again, err := s.Again(next, after); err == nil && !again.IsZero() {
		return again.UnixMilli()
	}
	return stored
}
