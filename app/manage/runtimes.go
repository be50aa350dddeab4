package manage

import (
	"context"
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
	rows, err := s.firesBelow(ctx, runsOfJob(p, jobID), math.MaxInt64, n)
	return rows, during("list runs of a job", err)
}

// firesBelow finds the newest of a job's fires below a run, by a filter of [runsOfJob].
func (s *Runs) firesBelow(ctx context.Context, f db.RunFilter, before int64, n int) ([]db.RunRow, error) {
	from, before, err := nearFires(ctx, s.cfg.Pool, f, 0, before, true)
	if err != nil {
		return nil, err
	}
	return db.FindRuns(ctx, s.cfg.Pool, f, from, before, n)
}

// nearFires is [db.NearRuns] for who does not see the job's fires in all groups.
func nearFires(ctx context.Context, tx db.DBTX, f db.RunFilter, from, before int64, down bool) (int64, int64, error) {
	if len(f.Groups) == 0 {
		return from, before, nil
	}
	return db.NearRuns(ctx, tx, f.Job, from, before, down)
}

// runsOfJob are the fires of a job that a principal may see, without trials of its script. Those from before the job was moved to its group belong to the former one.
func runsOfJob(p auth.Principal, jobID int64) db.RunFilter {
	f := db.RunFilter{Job: jobID, Fires: true}
	if all, groups := scope(p, 0); all == 0 {
		f.Groups = append(groups, 0) // no group has the id 0: whoever may see none sees nothing
	}
	return f
}
