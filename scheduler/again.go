package scheduler

import (
	"context"
	"slices"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Some runs are repeated although no retry is left, on an executor that can be reached.
//
// One that its executor hands back because it shuts down has not begun. It is given to another executor as if it had not been sent:
// a new version of a program that is rolled out costs no run, and no retry.
//
// A job may rather be done twice than not at all ([jobspec.WhenLostAgain]). A run of such a job whose executor is gone, has
// forgotten it, cut it off in its shutdown, or gave no answer when it was sent is repeated once, when its retries are used up.
//
// The row of what is repeated is given the retry that it lacks, so that whatever counts, shows or looks for attempts takes it for
// one. A run that repeats a lost one has one less than none left, by which it is known, and is not repeated as lost again.

// extra is an attempt that a job's retries do not give.
type extra int

const (
	noExtra    extra = iota
	afterLoss        // once
	handedBack       // the run had not begun
)

// retriesAgain are the retries left of a run that repeats a lost one.
const retriesAgain = -1

// after are the retries that the next attempt has left, when a run with so many is repeated for this.
func (x extra) after(left int64) int64 {
	switch x {
	case afterLoss:
		return retriesAgain
	case handedBack:
		return left
	case noExtra:
	}
	return left - 1
}

// elsewhere is the address that the next attempt passes over if it can.
func (x extra) elsewhere(address string) string {
	if x == noExtra {
		return ""
	}
	return address
}

// orAgain gives a run that got no answer another attempt, if its job wants it and it has none left.
func (d *dispatch) orAgain() {
	if d.job.again && d.retries == 0 {
		d.retries, d.again = 1, afterLoss
	}
}

// others are addresses without one of them, unless there is no other.
func others(addresses []string, without string) []string {
	left := slices.DeleteFunc(slices.Clone(addresses), func(a string) bool { return a == without })
	if len(left) == 0 {
		return addresses
	}
	return left
}

// goElsewhere sends a run that an executor refused, because it shuts down, to another one that there is. One that was given its
// executors by hand goes to no other.
func (e *Engine) goElsewhere(d *dispatch, why event.Event) bool {
	if d.given != nil {
		return false
	}
	d.avoid = append(d.avoid, d.address)
	left := e.candidates(d)
	if len(left) == 0 {
		return false
	}
	d.events = append(d.events, why)
	d.address, d.taken = "", false // whoever might have had it has been asked
	if d.pinned {                  // a shard is done by somebody else
		d.goTo(e.now(), left[d.shard.Index%len(left)], len(left))
	}
	e.fire(d)
	return true
}

// runAgain gives those of the runs that end another attempt which have none left and are to be repeated.
func (e *Engine) runAgain(ctx context.Context, tx db.DBTX, open []db.ListRunsToEndRow, byID map[int64]*finishing) error {
	var lost []*db.ListRunsToEndRow
	var ids, jobs []int64
	for i := range open {
		r, f := &open[i], byID[open[i].ID]
		f.again, f.left = noExtra, r.ExecutorFailRetryCount
		if f.ends == event.Succeeded || f.mute || r.KillAskedAt != 0 || r.TriggerType == jobspec.TriggerTrial || leaves(e.cfg.Pool, r) {
			continue
		}
		switch {
		case f.undone == wire.UndoneWaiting:
			f.again = handedBack
			if r.ExecutorFailRetryCount <= 0 {
				r.ExecutorFailRetryCount = 1
				ids = append(ids, r.ID)
			}
		case (f.given == event.Lost || f.undone == wire.UndoneRunning) && r.ExecutorFailRetryCount == 0:
			lost = append(lost, r)
			jobs = appendNew(jobs, r.JobID)
		}
	}
	if len(lost) > 0 {
		jobs, err := e.queries.ListJobsToRunAgain(ctx, tx, jobs)
		if err != nil {
			return err
		}
		for _, r := range lost {
			if slices.Contains(jobs, r.JobID) {
				r.ExecutorFailRetryCount, byID[r.ID].again = 1, afterLoss
				ids = append(ids, r.ID)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return e.queries.GiveRetry(ctx, tx, ids)
}
