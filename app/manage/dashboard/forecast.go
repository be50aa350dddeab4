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

// dueAt are the jobs that the forecast counts in the minute that begins at a moment: none once it is over.
func (s *Dashboard) dueAt(ctx context.Context, at time.Time) ([]int64, error) {
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
	// Kept to the end of the minute, when its first one is over: what is older than the minute that goes on was made in another.
	now := s.cfg.Now()
	return unlessPaused(ctx, s, &s.forecast, now.Sub(now.Truncate(time.Minute))+1, s.foresee)
}

func (s *Dashboard) foresee(ctx context.Context, now time.Time) (foreseen, error) {
	f := foreseen{from: now.Truncate(time.Minute)}
	book, err := db.ReadPauses(ctx, s.cfg.Pool, now)
	if err != nil {
		return f, err
	}
	until := f.from.Add(forecastMinutes * time.Minute)
	rows, err := db.ListDueWithin(ctx, s.cfg.Pool, db.ListJobsDueWithinParams{UntilMs: until.UnixMilli() - 1, Limit: forecastJobs})
	if err != nil {
		return f, fmt.Errorf("read the next times of jobs: %w", db.Error(err))
	}
	s.follow(&f, rows, &book, until, forecastJobs, forecastSteps)
	return f, nil
}

// follow finds the fires of jobs, the soonest first. Where there are more jobs than most, or more fires than steps, it is complete up to
// the next time of the first job that was left out.
func (s *Dashboard) follow(f *foreseen, rows []db.ListJobsDueWithinRow, book *jobspec.PauseBook, until time.Time, most, steps int) {
	if len(rows) == most {
		f.endAt(rows[most-1].TriggerNextTime)
	}
	for i := range rows {
		r := &rows[i]
		all := walk(s.scheduleOf(r), book.Of(r.ID, r.JobGroup, r.Tags), dueOf(r), until, time.Minute, func(from time.Time, minutes, n int) bool {
			if steps--; steps < 0 {
				return false
			}
			for m := range minutes {
				f.add(r, from.Add(time.Duration(m)*time.Minute), n)
			}
			return true
		})
		if !all {
			f.endAt(r.TriggerNextTime)
			return
		}
	}
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
