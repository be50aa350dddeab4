package manage

import (
	"context"
	"fmt"
	"math"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/runtimes"
)

// Durations say how long a job's successes usually take.
type Durations = runtimes.Durations

// Durations are how long the newest successes of a job took that the principal may see, below a run or, with 0, of all. A deadline is
// judged by all of them ([Jobs.Deadline]): it says when the job is done, and of no run how long it took.
func (s *Runs) Durations(ctx context.Context, p auth.Principal, jobID, before int64) (Durations, error) {
	return runtimes.Among(ctx, s.queries, s.cfg.Pool, jobID, before, runsOfJob(p, jobID).Groups)
}

// OfJob are the newest fires of a job that the principal may see, newest first. The job must be one the principal may see.
func (s *Runs) OfJob(ctx context.Context, p auth.Principal, jobID int64, n int) ([]db.RunRow, error) {
	rows, err := db.FindRuns(ctx, s.cfg.Pool, runsOfJob(p, jobID), 0, math.MaxInt64, n)
	if err != nil {
		return nil, fmt.Errorf("list runs of a job: %w", db.Error(err))
	}
	return rows, nil
}

// runsOfJob are the fires of a job that a principal may see, without trials of its script. Those from before the job was moved to its group belong to the former one.
func runsOfJob(p auth.Principal, jobID int64) db.RunFilter {
	f := db.RunFilter{Job: jobID, Fires: true}
	if all, groups := scope(p, 0); all == 0 {
		f.Groups = append(groups, 0) // no group has the id 0: whoever may see none sees nothing
	}
	return f
}
