package manage

import (
	"context"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
)

// SlowBy says which jobs are the slowest.
type SlowBy int64

// The orders of [Jobs.Slowest], as ListSlowJobs numbers them.
const (
	SlowLongest SlowBy = 1 // whose longest run took longest
	SlowTotal   SlowBy = 2 // whose runs took most together
	SlowerNow   SlowBy = 3 // whose average has grown most since the week before
)

// SlowDays is over how many days [Jobs.Slowest] looks, today's included, and how many before them it compares them with.
const SlowDays = 7

// SlowJob is what the runs of a job that took a second or more came to in the last [SlowDays].
type SlowJob struct {
	ID, Group  int64
	Name       string
	Runs       int64
	Longest    time.Duration
	LongestRun int64
	Total      time.Duration
	Grown      float64 // the average of a run, by that of the days before; 0: there is nothing to compare with
}

// Average is how long one of them took.
func (s *SlowJob) Average() time.Duration { return s.Total / time.Duration(max(1, s.Runs)) }

const maxSlowJobs = 50

// Slowest lists the slowest jobs that the principal may see, by those of their runs that they may see, the worst first and at most 50.
func (s *Jobs) Slowest(ctx context.Context, p auth.Principal, by SlowBy) ([]SlowJob, error) {
	today := s.cfg.Pool.Wall(s.cfg.Now()).Truncate(24 * time.Hour)
	since, before := today.AddDate(0, 0, 1-SlowDays).Unix(), today.AddDate(0, 0, 1-2*SlowDays).Unix()
	all, groups := scope(p, 0)
	if all == 0 && len(groups) == 0 {
		return nil, nil
	}
	rows, err := s.queries.ListSlowJobs(ctx, s.cfg.Pool, db.ListSlowJobsParams{
		BeforeDay: before, AllGroups: all, GroupIds: groups, JobGroups: groups, SinceDay: since, OrderBy: int64(by), Limit: maxSlowJobs,
	})
	if err != nil || len(rows) == 0 {
		return nil, db.Error(err)
	}
	list, index, ids := make([]SlowJob, len(rows)), make(map[int64]int, len(rows)), make([]int64, len(rows))
	for i, r := range rows {
		list[i], index[r.JobID], ids[i] = SlowJob{ID: r.JobID, Group: r.JobGroup, Name: r.JobDesc}, i, r.JobID
	}
	days, err := s.queries.ListLongRunsOfJobs(ctx, s.cfg.Pool, db.ListLongRunsOfJobsParams{DayAt: before, JobIds: ids, AllGroups: all, GroupIds: groups})
	if err != nil {
		return nil, db.Error(err)
	}
	now, then := make([]db.LongRuns, len(rows)), make([]db.LongRuns, len(rows))
	for _, d := range days {
		week := now
		if d.DayAt < since {
			week = then
		}
		i := index[d.JobID]
		week[i] = week[i].Plus(db.LongRuns{Runs: d.Runs, TotalMs: d.TotalMs, LongestMs: d.LongestMs, LongestID: d.LongestID})
	}
	for i := range list {
		j, n, t := &list[i], now[i], then[i]
		j.Runs, j.LongestRun = n.Runs, n.LongestID
		j.Longest, j.Total = time.Duration(n.LongestMs)*time.Millisecond, time.Duration(n.TotalMs)*time.Millisecond
		if t.TotalMs > 0 && n.Runs > 0 {
			j.Grown = float64(n.TotalMs) / float64(n.Runs) / (float64(t.TotalMs) / float64(t.Runs))
		}
	}
	return list, nil
}
