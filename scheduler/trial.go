package scheduler

import (
	"context"
	"math"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// A trial runs a text that is not saved, in the place of a job's script: an ordinary run on record, which is no fire of its job. It has no
// retry and no children, takes no slot, moves no schedule, is in no counter, and nobody is alarmed. Its text is in punctual_trial, so
// that whichever admin sends it has it.

// trialOf is a job as a trial of its script goes by it.
func (j *job) trialOf() *job {
	of := *j
	of.retries, of.limit, of.delayed, of.again, of.apart = 0, 0, false, false, true
	return &of
}

// calledJob is the number that an executor knows a run's job by. An executor of XXL-JOB has one thread for a job, and ends what runs
// there when another version of its script comes (docs/compat.md §5.5). A trial has a number of its own, so that it disturbs neither
// the job's runs nor another trial.
func calledJob(trigger jobspec.TriggerType, jobID, logID int64) int64 {
	if trigger != jobspec.TriggerTrial {
		return jobID
	}
	return -1 - logID%math.MaxInt32 // theirs are of 32 bits
}

// scriptOf gives the text that a run sends, and its version.
func (e *Engine) scriptOf(ctx context.Context, d *dispatch) (text string, updated int64, err error) {
	if d.trigger != jobspec.TriggerTrial {
		return e.source(ctx, d.job)
	}
	t, err := e.queries.GetTrial(ctx, e.cfg.Pool, d.id)
	return t.Source, t.MadeAt, db.Error(err)
}
