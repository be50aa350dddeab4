package manage

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// Forecast is how many runs are due in each of the next minutes, of the whole installation.
type Forecast struct {
	From    time.Time // when the first minute begins
	Minutes [forecastMinutes]int64
	AtLeast bool // there are more jobs than were followed
}

// Forecast tells how busy the next hour will be.
func (s *Dashboard) Forecast(ctx context.Context) (Forecast, error) {
	now := s.cfg.Now()
	// Kept to the end of the minute, when its first one is over.
	return s.forecast.get(now, time.Minute-time.Duration(now.Second())*time.Second, func() (Forecast, error) { return s.foresee(ctx, now) })
}

func (s *Dashboard) foresee(ctx context.Context, now time.Time) (Forecast, error) {
	f := Forecast{From: now.Truncate(time.Minute)}
	until := f.From.Add(forecastMinutes * time.Minute)
	rows, err := s.queries.ListJobsDueWithin(ctx, s.cfg.Pool, db.ListJobsDueWithinParams{UntilMs: until.UnixMilli() - 1, Limit: forecastJobs})
	if err != nil {
		return f, fmt.Errorf("read the next times of jobs: %w", db.Error(err))
	}
	f.AtLeast = len(rows) == forecastJobs
	steps := 0
	for _, r := range rows {
		schedule := jobspec.Schedule{Type: r.ScheduleType, Conf: string(r.ScheduleConf), Zone: s.cfg.Zone}
		if loc, err := jobspec.Location(r.TimeZone); err == nil && loc != nil {
			schedule.Zone = loc
		}
		if r.EndAt > 0 {
			schedule.End = time.UnixMilli(r.EndAt)
		}
		due := time.UnixMilli(r.TriggerNextTime)
		// When the next run of a delay comes, nobody knows before this one has ended.
		follow := r.ScheduleType != jobspec.ScheduleFixDelay
		for !due.IsZero() && due.Before(until) {
			if steps++; steps > forecastSteps {
				f.AtLeast = true
				return f, nil
			}
			if minute := int(due.Sub(f.From) / time.Minute); minute >= 0 && minute < forecastMinutes && !due.Before(f.From) {
				f.Minutes[minute]++
			}
			if !follow {
				break
			}
			next, err := schedule.Next(due)
			if err != nil || !next.After(due) {
				break
			}
			due = next
		}
	}
	return f, nil
}

// weekDays is how many days the picture of the week has.
const weekDays = 7

// Week is how many runs were planned in each hour of the last days, of the whole installation.
type Week struct {
	Days [weekDays]WeekDay // the oldest first; the last one is today
}

// WeekDay is a day of a [Week]. Hours that a clock change leaves out stay empty, the hour that it repeats counts twice.
type WeekDay struct {
	Date  time.Time
	Hours [24]int64
}

// Week tells when the runs of the last days were. It subtracts the ids of the first runs of the hours, which grow with their
// times: an index seek for each hour instead of counting every run. Where runs have been deleted, or where a cluster
// gives out ids in steps, that is an estimate.
func (s *Dashboard) Week(ctx context.Context) (Week, error) {
	now := s.cfg.Now().In(s.cfg.Pool.Zone())
	return s.week.get(now, weekLife, func() (Week, error) {
		newest, err := s.queries.MaxRunID(ctx, s.cfg.Pool)
		if err != nil {
			return Week{}, fmt.Errorf("find the newest run: %w", db.Error(err))
		}
		var w Week
		end := now.Truncate(time.Hour).Add(2 * time.Hour) // zones off by half an hour truncate to another minute, and still cover now
		above := newest + 1
		for i := range w.Days {
			w.Days[i].Date = time.Date(now.Year(), now.Month(), now.Day()-weekDays+1+i, 0, 0, 0, 0, now.Location())
		}
		first := w.Days[0].Date
		for day := weekDays - 1; day >= 0; day-- {
			for hour := 23; hour >= 0; hour-- {
				date := w.Days[day].Date
				at := time.Date(date.Year(), date.Month(), date.Day(), hour, 0, 0, 0, date.Location())
				if at.After(end) || at.Before(first) || at.Hour() != hour {
					continue
				}
				id, err := s.firstOf(ctx, at, now, newest)
				if err != nil {
					return Week{}, err
				}
				if id < above {
					w.Days[day].Hours[hour] = above - id
					above = id
				}
			}
		}
		return w, nil
	})
}

// hourMarks are the first runs of hours that are over.
type hourMarks map[int64]int64

// firstOf is the id of the first run of an hour, or one above the newest run. It is called under the lock of the week.
func (s *Dashboard) firstOf(ctx context.Context, at, now time.Time, newest int64) (int64, error) {
	if id, ok := s.hours[at.Unix()]; ok {
		return id, nil
	}
	id, err := s.queries.FirstRunIDSince(ctx, s.cfg.Pool, nullTime(s.cfg.Pool.Wall(at)))
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return newest + 1, nil
	} else if err != nil {
		return 0, fmt.Errorf("find the first run of an hour: %w", err)
	}
	if now.Sub(at) > 2*time.Hour { // late runs of the hour before have come in by then
		for old := range s.hours {
			if now.Unix()-old > (weekDays+1)*24*3600 {
				delete(s.hours, old)
			}
		}
		s.hours[at.Unix()] = id
	}
	return id, nil
}
