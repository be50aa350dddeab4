package scheduler

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/note"
)

// following is what a batch of results causes.
type following struct {
	runs  []*dispatch
	alarm map[int64]int64    // alarm_status by run, see alarms.go
	lines map[int64][]string // what to add to a run's message
	of    map[int64][]*dispatch

	retried map[int64]bool // the runs that a retry follows

	jobs    map[int64]*db.ListJobsWithConsequencesRow // what else the ends of runs mean to their jobs
	parents []int64                                   // jobs with a success in the batch
}

// notes are the lines about the runs that followed; their ids are known only after the insert.
func (f *following) notes(id int64) string {
	lines := f.lines[id]
	for _, d := range f.of[id] {
		what := "child"
		if d.trigger == jobspec.TriggerRetry {
			what = "retry"
		}
		lines = append(lines, what+": "+note.Run.With(d.job.id, d.id))
	}
	return strings.Join(lines, "\n")
}

// followUps decides the retries and children of results.
func (e *Engine) followUps(ctx context.Context, tx *sql.Tx, open []db.ListRunsByIDRow, byID map[int64]*finishing) (*following, error) {
	f := &following{alarm: make(map[int64]int64), retried: make(map[int64]bool), lines: make(map[int64][]string), of: make(map[int64][]*dispatch)}
	var all, failed []int64 // job ids
	for i := range open {
		all = appendNew(all, open[i].JobID)
		if byID[open[i].ID].code != wire.CodeSuccess && retriable(&open[i]) {
			failed = appendNew(failed, open[i].JobID)
		}
	}
	rows, err := e.queries.ListJobsWithConsequences(ctx, tx, all)
	if err != nil {
		return nil, err
	}
	children := make(map[int64]string)
	f.jobs = make(map[int64]*db.ListJobsWithConsequencesRow, len(rows))
	for i := range rows {
		f.jobs[rows[i].ID] = &rows[i]
		children[rows[i].ID] = string(rows[i].ChildJobIDs)
	}
	for i := range open { // only a success has children
		if byID[open[i].ID].code == wire.CodeSuccess {
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
		if byID[r.ID].code == wire.CodeSuccess {
			e.followSuccess(f, r, children[r.JobID], jobs)
		} else if retriable(r) {
			e.followFailure(f, r, jobs[r.JobID])
		}
	}
	return f, nil
}

// retriable reports whether the failure of a run makes another attempt. A run whose sending counted as failed has had its
// next attempt then, and a result that comes all the same must not make a second.
func retriable(r *db.ListRunsByIDRow) bool {
	return r.ExecutorFailRetryCount > 0 && (r.TriggerCode == 0 || r.TriggerCode == wire.CodeSuccess)
}

// backoff is how long the next attempt waits when a run with so many retries left has failed: not at all, unless the job
// says otherwise.
func (e *Engine) backoff(j *job, left int64) time.Duration {
	b, err := jobspec.ParseBackoff(j.backoff)
	if err != nil {
		e.log.Warn("the back-off of a job cannot be read", "job_id", j.id, "error", err)
	}
	return b.Wait(int(j.retries-left) + 1)
}

// followFailure makes the next attempt of a failed run, with the run's own parameter and shard.
func (e *Engine) followFailure(f *following, r *db.ListRunsByIDRow, j *job) {
	if j == nil {
		f.lines[r.ID] = append(f.lines[r.ID], "retry: "+note.NoRetry.With())
		return
	}
	runs := e.conceive(j, cause{
		trigger: jobspec.TriggerRetry, planned: e.now().Add(e.backoff(j, r.ExecutorFailRetryCount)), param: string(r.ExecutorParam),
		retries: r.ExecutorFailRetryCount - 1, origin: r.ID, shard: parseShard(string(r.ExecutorShardingParam)),
	})
	f.alarm[r.ID], f.retried[r.ID] = alarmNone, true
	f.add(r.ID, runs)
}

// followSuccess starts the children of a job whose run succeeded (spec §4.9).
func (e *Engine) followSuccess(f *following, r *db.ListRunsByIDRow, list string, jobs map[int64]*job) {
	if list == "" {
		return
	}
	for text := range strings.SplitSeq(list, ",") {
		text = strings.TrimSpace(text)
		id, err := strconv.ParseInt(text, 10, 31)
		switch {
		case text == "":
		case err != nil || id <= 0:
			f.lines[r.ID] = append(f.lines[r.ID], "child: "+note.NoID.With(clip(text, 40)))
		case id == r.JobID:
			f.lines[r.ID] = append(f.lines[r.ID], "child: "+note.Itself.With())
		case jobs[id] == nil:
			f.lines[r.ID] = append(f.lines[r.ID], "child: "+note.NoJob.With(id))
		default:
			j := jobs[id]
			f.add(r.ID, e.conceive(j, cause{
				trigger: jobspec.TriggerParent, planned: e.now(), param: j.param, retries: j.retries, origin: r.ID,
			}))
		}
	}
}

func (f *following) add(id int64, runs []*dispatch) {
	f.runs = append(f.runs, runs...)
	f.of[id] = append(f.of[id], runs...)
}

// parseIDs gives the valid ids of a comma-separated list.
func parseIDs(list string) []int64 {
	var ids []int64
	for text := range strings.SplitSeq(list, ",") {
		if id, err := strconv.ParseInt(strings.TrimSpace(text), 10, 31); err == nil && id > 0 {
			ids = appendNew(ids, id)
		}
	}
	return ids
}
