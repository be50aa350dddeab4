package dashboard

import (
	"context"
	"fmt"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

const (
	// forecastMinutes is how far the forecast looks ahead. It follows at most forecastJobs schedules, forecastSteps fires in
	// all, so that it costs some tens of milliseconds a minute however many jobs there are.
	forecastMinutes = 60
	forecastJobs    = 20_000
	forecastSteps   = 400_000
)

// Forecast is how many runs are due in each of the next minutes, and of how many jobs.
type Forecast struct {
	From    time.Time // when the first minute begins
	Minutes [forecastMinutes]int64
	Jobs    [forecastMinutes]int64
	Ends    time.Time // from then on more is due than was followed; zero: all is here
}

// foreseen is the forecast of every group.
type foreseen struct {
	from  time.Time
	fires []fires // a job's one after the other
	ends  time.Time

	revision int64 // of the pauses that it goes by
}

// fires is how often a job fires in a minute.
type fires struct {
	job    int64
	group  int32
	minute uint8
	times  uint16
}

// Forecast tells how busy the next hour will be in the groups that the principal may see.
func (s *Dashboard) Forecast(ctx context.Context, p auth.Principal) (Forecast, error) {
	all, err := s.foreseen(ctx)
	f := Forecast{From: all.from, Ends: all.ends}
	for _, due := range all.fires {
		if p.CanUseGroup(int64(due.group)) {
			f.Minutes[due.minute] += int64(due.times)
			f.Jobs[due.minute]++
		}
	}
	return f, err
}

// dueIn are the jobs that the forecast counts in the minute that begins at a moment: none once it is over.
func (s *Dashboard) dueIn(ctx context.Context, at time.Time) ([]int64, error) {
	all, err := s.foreseen(ctx)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, due := range all.fires {
		if all.from.Add(time.Duration(due.minute) * time.Minute).Equal(at) {
			ids = append(ids, due.job)
		}
	}
	return ids, nil
}

func (s *Dashboard) foreseen(ctx context.Context) (foreseen, error) {
	now := s.cfg.Now()
	revision, err := s.queries.GetPauseRevision(ctx, s.cfg.Pool)
	if err != nil {
		return foreseen{}, fmt.Errorf("read pauses: %w", db.Error(err))
	}
	// Kept to the end of the minute, when its first one is over, or until a pause is made or ended.
	life := time.Minute - time.Duration(now.Second())*time.Second
	for {
		f, err := s.forecast.get(now, life, func() (foreseen, error) { return s.foresee(ctx, now, revision) })
		if err != nil || life == 0 || f.revision == revision {
			return f, err
		}
		life = 0
	}
}

func (s *Dashboard) foresee(ctx context.Context, now time.Time, revision int64) (foreseen, error) {
	f := foreseen{from: now.Truncate(time.Minute), revision: revision}
	book, err := db.ReadPauses(ctx, s.cfg.Pool, now)
	if err != nil {
		return f, err
	}
	until := f.from.Add(forecastMinutes * time.Minute)
	rows, err := s.queries.ListJobsDueWithin(ctx, s.cfg.Pool, db.ListJobsDueWithinParams{Beside: s.cfg.Pool.BesideArg(), UntilMs: until.UnixMilli() - 1, Limit: forecastJobs})
	if err != nil {
		return f, fmt.Errorf("read the next times of jobs: %w", db.Error(err))
	}
	s.follow(&f, rows, &book, until, forecastJobs, forecastSteps)
	return f, nil
}

// follow finds the fires of jobs, the soonest first. Where there are more jobs than most, or more fires than steps, it is complete up to
// the next time of the first job that was left out. What falls into a pause is not due; what the end of the pause makes up for is due then.
func (s *Dashboard) follow(f *foreseen, rows []db.ListJobsDueWithinRow, book *jobspec.PauseBook, until time.Time, most, steps int) {
	if len(rows) == most {
		f.endAt(rows[most-1].TriggerNextTime)
	}
	for i := range rows {
		r := &rows[i]
		pauses, due := book.Of(r.ID, r.JobGroup, r.Tags), time.UnixMilli(r.TriggerNextTime)
		if r.PausedAt > 0 && r.TriggerNextTime == r.PausedNext {
			due = time.UnixMilli(r.PausedAt)
		}
		if steps = s.followJob(f, r, pauses, due, until, steps); steps < 0 {
			f.endAt(r.TriggerNextTime)
			return
		}
	}
}

// followJob finds the fires of one job, and returns how many steps are left; fewer than none: it was not followed to the end.
func (s *Dashboard) followJob(f *foreseen, r *db.ListJobsDueWithinRow, pauses jobspec.Pauses, due, until time.Time, steps int) int {
	schedule := s.scheduleOf(r)
	// When the next run of a delay comes, nobody knows before this one has ended.
	follow := r.ScheduleType != jobspec.ScheduleFixDelay
	for !due.IsZero() && due.Before(until) {
		if steps--; steps < 0 {
			return steps
		}
		stretch, held := pauses.At(due)
		if !held {
			f.add(r, due, 1)
			if !follow {
				break
			}
			next, err := schedule.Next(due)
			if err != nil || !next.After(due) {
				break
			}
			due = next
			continue
		}
		if stretch.Until.IsZero() || !stretch.Until.Before(until) {
			break
		}
		switch {
		case stretch.Strategy == jobspec.PauseOnce, stretch.Strategy == jobspec.PauseEach && !follow:
			f.add(r, stretch.Until, 1)
			if !follow {
				return steps
			}
		case stretch.Strategy == jobspec.PauseEach:
			made := 0
			for at := due; !at.IsZero() && at.Before(stretch.Until) && made < jobspec.MaxMadeUp; made, steps = made+1, steps-1 {
				next, err := schedule.Next(at)
				if err != nil {
					break
				}
				at = next
			}
			f.add(r, stretch.Until, made)
		case !follow:
			next, err := schedule.Next(stretch.Until)
			if err != nil {
				return steps
			}
			due = next
			continue
		}
		next, err := schedule.From(due, stretch.Until)
		if err != nil || !next.After(due) {
			break
		}
		due = next
	}
	return steps
}

func (s *Dashboard) scheduleOf(r *db.ListJobsDueWithinRow) jobspec.Schedule {
	schedule := jobspec.Schedule{Type: r.ScheduleType, Conf: string(r.ScheduleConf), Zone: s.cfg.Zone}
	if loc, err := jobspec.Location(r.TimeZone); err == nil && loc != nil {
		schedule.Zone = loc
	}
	if r.EndAt > 0 {
		schedule.End = time.UnixMilli(r.EndAt)
	}
	if kept, err := s.cfg.Pool.Calendars().Keep(schedule, r.Calendar, r.CalendarRule); err == nil {
		return kept
	}
	return schedule
}

// add counts fires of a job that come at a moment.
func (f *foreseen) add(r *db.ListJobsDueWithinRow, at time.Time, times int) {
	minute := int(at.Sub(f.from) / time.Minute)
	if minute < 0 || minute >= forecastMinutes || at.Before(f.from) || times == 0 {
		return
	}
	if last := len(f.fires) - 1; last >= 0 && f.fires[last].job == r.ID && int(f.fires[last].minute) == minute {
		f.fires[last].times += uint16(times)
	} else {
		f.fires = append(f.fires, fires{job: r.ID, group: int32(r.JobGroup), minute: uint8(minute), times: uint16(times)})
	}
}

// endAt says that not every fire from a moment on is known.
func (f *foreseen) endAt(ms int64) {
	at := time.UnixMilli(ms)
	if at.Before(f.from) {
		at = f.from
	}
	if f.ends.IsZero() || at.Before(f.ends) {
		f.ends = at
	}
}
