package dashboard

import (
	"context"
	"fmt"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
)

// soonLooked is how many of the jobs that are due soonest [Dashboard.Soonest] looks at for those of one group.
const soonLooked = 400

// Fire is how often a job is due in a step of time.
type Fire struct {
	At time.Time
	N  int
}

// Fires are those of one job up to a moment.
type Fires struct {
	List []Fire
	Ends time.Time // from then on more is due than was followed; zero: all is here
}

// Fires are what jobs are due from now up to a moment, by steps that divide an hour, at most so many steps of each. Jobs that are not started
// have none.
func (s *Dashboard) Fires(ctx context.Context, jobs []int64, until time.Time, step time.Duration, most int) (map[int64]Fires, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	now := s.cfg.Now()
	book, err := db.ReadPauses(ctx, s.cfg.Pool, now)
	if err != nil {
		return nil, err
	}
	rows, err := s.queries.ListSchedulesOfJobs(ctx, s.cfg.Pool, db.ListSchedulesOfJobsParams{Beside: s.cfg.Pool.BesideArg(), Ids: jobs, UntilMs: until.UnixMilli() - 1})
	if err != nil {
		return nil, fmt.Errorf("read the next times of jobs: %w", db.Error(err))
	}
	all := make(map[int64]Fires, len(rows))
	for i := range rows {
		r := db.ListJobsDueWithinRow(rows[i])
		var fires Fires
		walk(s.scheduleOf(&r), book.Of(r.ID, r.JobGroup, r.Tags), dueOf(&r), until, step, func(from time.Time, steps, n int) bool {
			for i := range steps {
				at := from.Add(time.Duration(i) * step)
				if len(fires.List) == most {
					fires.Ends = at
					return false
				}
				fires.List = append(fires.List, Fire{At: at, N: n})
			}
			return true
		})
		all[r.ID] = fires
	}
	return all, nil
}

// Soonest are the started jobs of a group, or with 0 of all, that are due next before a moment and that the principal may see, the soonest
// first. It looks at the first few hundred, so that it costs the same however many there are.
func (s *Dashboard) Soonest(ctx context.Context, p auth.Principal, group int64, until time.Time, most int) ([]int64, error) {
	rows, err := db.ListDueWithin(ctx, s.cfg.Pool, db.ListJobsDueWithinParams{UntilMs: until.UnixMilli() - 1, Limit: soonLooked})
	if err != nil {
		return nil, fmt.Errorf("read the next times of jobs: %w", db.Error(err))
	}
	var ids []int64
	for i := range rows {
		if r := &rows[i]; (group == 0 || r.JobGroup == group) && p.CanUseGroup(r.JobGroup) && len(ids) < most {
			ids = append(ids, r.ID)
		}
	}
	return ids, nil
}
