package scheduler

import (
	"context"
	"slices"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// A job may rather be done twice than not at all ([jobspec.WhenLostAgain]). A run of such a job whose executor is gone, has
// forgotten it, or gave no answer when it was sent is run once more, on an executor that can be reached. Its retries come first.
// The run that is lost is given the retry that it lacks, so that whatever counts, shows or looks for attempts takes it for one;
// the run that repeats it has one less than none left, by which it is known, and is not given another.

// retriesAgain are the retries left of a run that repeats a lost one beyond the retries of its job.
const retriesAgain = -1

// orAgain gives a run that got no answer another attempt, if its job wants it and it has none left.
func (d *dispatch) orAgain() {
	if d.job.again && d.retries == 0 {
		d.retries, d.again = 1, true
	}
}

// retriesAfter are the retries that the next attempt has left.
func retriesAfter(left int64, again bool) int64 {
	if again {
		return retriesAgain
	}
	return left - 1
}

// elsewhere is the address that a run which repeats a lost one passes over if it can.
func elsewhere(address string, again bool) string {
	if again {
		return address
	}
	return ""
}

// others are addresses without one of them, unless there is no other.
func others(addresses []string, without string) []string {
	left := slices.DeleteFunc(slices.Clone(addresses), func(a string) bool { return a == without })
	if len(left) == 0 {
		return addresses
	}
	return left
}

// runAgain gives the lost among runs that end another attempt where their jobs want it and they have none left.
func (e *Engine) runAgain(ctx context.Context, tx db.DBTX, open []db.ListRunsByIDRow, byID map[int64]*finishing) error {
	var lost []*db.ListRunsByIDRow
	var jobs []int64
	for i := range open {
		r, f := &open[i], byID[open[i].ID]
		f.again = false
		if f.given == event.Lost && !f.mute && r.ExecutorFailRetryCount == 0 && r.KillAskedAt == 0 && r.TriggerType != jobspec.TriggerTrial && !e.leaves(r) {
			lost = append(lost, r)
			jobs = appendNew(jobs, r.JobID)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	jobs, err := e.queries.ListJobsToRunAgain(ctx, tx, jobs)
	if err != nil || len(jobs) == 0 {
		return err
	}
	var ids []int64
	for _, r := range lost {
		if slices.Contains(jobs, r.JobID) {
			r.ExecutorFailRetryCount, byID[r.ID].again = 1, true
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return e.queries.GiveRetry(ctx, tx, ids)
}
