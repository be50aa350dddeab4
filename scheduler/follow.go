package scheduler

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/backoff"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// following is what a batch of results causes.
type following struct {
	runs  []*dispatch
	alarm map[int64]int64      // alarm_status by run, see alarms.go
	said  map[int64]event.List // what else there is to tell of a run
	of    map[int64][]*dispatch

	retried map[int64]bool // the runs that a retry follows

	jobs    map[int64]*db.ListJobsWithConsequencesRow // what else the ends of runs mean to their jobs
	parents []int64                                   // jobs with a success in the batch
}

// events are those of the runs that followed; their ids are known only after the insert.
func (f *following) events(id int64, now time.Time) event.List {
	list := f.said[id]
	for _, d := range f.of[id] {
		key := event.Child
		if d.trigger == jobspec.TriggerRetry {
			key = event.Retry
		}
		list = append(list, event.New(now, key, d.job.id, d.id))
	}
	return list
}

// followUps decides the retries and children of results.
func (e *Engine) followUps(ctx context.Context, tx *sql.Tx, open []db.ListRunsToEndRow, byID map[int64]*finishing) (*following, error) {
	f := &following{alarm: make(map[int64]int64), retried: make(map[int64]bool), said: make(map[int64]event.List), of: make(map[int64][]*dispatch)}
	var heeded, failed []int64 // job ids
	for i := range open {
		if open[i].HeededBy != 0 {
			heeded = appendNew(heeded, open[i].JobID)
		}
		if f := byID[open[i].ID]; f.ends != event.Succeeded && f.ends != event.Killed && !f.mute && !leaves(e.cfg.Pool, &open[i]) && retriable(&open[i]) {
			failed = appendNew(failed, open[i].JobID)
		}
	}
	var rows []db.ListJobsWithConsequencesRow
	if len(heeded) > 0 {
		var err error
		if rows, err = e.queries.ListJobsWithConsequences(ctx, tx, heeded); err != nil {
			return nil, err
		}
	}
	children := make(map[int64]string)
	f.jobs = make(map[int64]*db.ListJobsWithConsequencesRow, len(rows))
	for i := range rows {
		f.jobs[rows[i].ID] = &rows[i]
		children[rows[i].ID] = string(rows[i].ChildJobIDs)
	}
	for i := range open { // only a success has children
		if byID[open[i].ID].ends == event.Succeeded && open[i].TriggerType != jobspec.TriggerTrial && open[i].FlowStep == 0 {
			f.parents = appendNew(f.parents, open[i].JobID)
		}
	}
	need := failed
	for _, parent := range f.parents {
		for _, id := range parseIDs(children[parent]) {
			need = appendNew(need, id)
		}
	}
	jobs := make(map[int64]*job)
	if len(need) > 0 {
		rows, err := e.queries.ListJobsByID(ctx, tx, need)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			jobs[rows[i].ID] = jobOf(&rows[i], e.cfg.Pool)
		}
	}
	for i := range open {
		r := &open[i]
		if r.TriggerType == jobspec.TriggerTrial {
			f.alarm[r.ID] = alarmNone
		} else if byID[r.ID].ends == event.Succeeded {
			if err := e.followSuccess(ctx, tx, f, r, childrenOf(r, children), jobs); err != nil {
				return nil, err
			}
		} else if leaves(e.cfg.Pool, r) { // it has alarm_status 0, so that their monitor retries and alarms
		} else if byID[r.ID].mute {
			f.alarm[r.ID] = alarmNone
		} else if byID[r.ID].ends != event.Killed && retriable(r) { // of a flow somebody may have ended a step
			j, err := e.flows.asStep(ctx, tx, jobs[r.JobID], r.FlowStep)
			if err != nil {
				return nil, err
			}
			e.followFailure(f, r, j, byID[r.ID])
		}
	}
	return f, nil
}

// childrenOf is the list of jobs that a success starts: what follows a step is its flow's to say.
func childrenOf(r *db.ListRunsToEndRow, children map[int64]string) string {
	if r.FlowStep != 0 {
		return ""
	}
	return children[r.JobID]
}

// retriable reports whether the failure of a run makes another attempt. A run whose sending counted as failed has had its
// next attempt then, and a result that comes all the same must not make a second; one that somebody wanted ended has none.
func retriable(r *db.ListRunsToEndRow) bool {
	return r.ExecutorFailRetryCount > 0 && r.KillAskedAt == 0 && (r.TriggerCode == 0 || r.TriggerCode == wire.CodeSuccess)
}

// backoff is how long the next attempt waits when a run with so many retries left has failed: not at all, unless the job
// says otherwise.
func (e *Engine) backoff(j *job, left int64) time.Duration {
	b, err := backoff.Parse(j.backoff)
	if err != nil {
		e.log.Warn("the back-off of a job cannot be read", "job_id", j.id, "error", err)
	}
	return b.Wait(int(j.retries-left) + 1)
}

// followFailure makes the next attempt of a failed run, with the run's own parameter and shard. Of one that is lost a result
// may still come.
func (e *Engine) followFailure(f *following, r *db.ListRunsToEndRow, j *job, end *finishing) {
	if j == nil {
		f.said[r.ID] = append(f.said[r.ID], event.New(e.now(), event.NoRetry))
		return
	}
	wait := e.backoff(j, r.ExecutorFailRetryCount)
	switch {
	case end.again != handedBack:
	case r.TriggerType == jobspec.TriggerRetry: // should an executor hand back whatever it gets
		wait = e.cfg.RetryBackoff
	default:
		wait = 0
	}
	runs := e.newRuns(j, cause{
		trigger: jobspec.TriggerRetry, planned: e.now().Add(wait), param: string(r.ExecutorParam),
		due:     dueOf(r.PlannedFor, r.PlannedAt),
		retries: end.again.after(end.left), origin: r.ID, step: r.FlowStep, shard: parseShard(string(r.ExecutorShardingParam)), elsewhere: end.again.elsewhere(string(r.ExecutorAddress)),
	})
	for _, d := range runs {
		d.recheck = end.given == event.Lost || r.TriggerType == jobspec.TriggerRetry // or one before it was
	}
	f.alarm[r.ID], f.retried[r.ID] = alarmNone, true
	f.add(r.ID, runs)
}

// followSuccess starts the children of a job whose run succeeded (docs/compat.md §4.9), unless another run of the same fire has.
func (e *Engine) followSuccess(ctx context.Context, tx *sql.Tx, f *following, r *db.ListRunsToEndRow, list string, jobs map[int64]*job) error {
	if list == "" {
		return nil
	}
	first, err := e.followsFirst(ctx, tx, r)
	if err != nil {
		return err
	}
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimSpace(text)
		id, err := strconv.ParseInt(text, 10, 32)
		switch {
		case text == "":
		case err != nil || id <= 0:
			f.notStarted(r.ID, e.now(), event.NoChildID, clip(text, 40))
		case id == r.JobID:
			f.notStarted(r.ID, e.now(), event.NoChildItself, text)
		case jobs[id] == nil:
			f.notStarted(r.ID, e.now(), event.NoChildJob, text)
		case !first:
			f.notStarted(r.ID, e.now(), event.NoChildAgain, text)
		default:
			j := jobs[id]
			f.add(r.ID, e.newRuns(j, cause{
				trigger: jobspec.TriggerParent, planned: e.now(), due: dueOf(r.PlannedFor, r.PlannedAt), param: j.param, retries: j.retries, origin: r.ID,
			}))
		}
	}
	return nil
}

// notStarted notes that a child is not started, and why.
func (f *following) notStarted(id int64, now time.Time, cause, child string) {
	f.said[id] = append(f.said[id], event.New(now, event.NoChild, cause, child))
}

func (f *following) add(id int64, runs []*dispatch) {
	f.runs = append(f.runs, runs...)
	f.of[id] = append(f.of[id], runs...)
}

// parseIDs gives the valid ids of a comma-separated list.
func parseIDs(list string) []int64 {
	var ids []int64
	for text := range strings.SplitSeq(list, ",") {
		if id, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32); err == nil && id > 0 {
			ids = appendNew(ids, id)
		}
	}
	return ids
}
