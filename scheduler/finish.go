package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/note"
)

// maxResult is how many bytes of a result's message are kept.
const maxResult = 45_000

// errRaced means that somebody else changed a row between the read and the guarded write.
var errRaced = errors.New("a row was changed meanwhile")

// errUnseen means that a run may exist although it is not found: another admin made it, on another node of the database, and a
// quick executor reports its result before this node has it.
var errUnseen = errors.New("a run is not here yet")

// finishBatch writes results and what follows from them in one transaction: a retry of a failure and the children of a
// success exist from the same commit on as the result does, so no crash comes between.
func (e *Engine) finishBatch(ctx context.Context, batch []finishing) {
	began := time.Now()
	var changed []int64
	var err error
	sure := !e.cfg.Pool.Lags()
	for range 5 {
		changed, err = e.finishOnce(ctx, batch, sure)
		if errors.Is(err, errUnseen) {
			if err = e.cfg.Pool.CatchUp(ctx); err != nil {
				break
			}
			sure = true
			continue
		}
		if !errors.Is(err, errRaced) {
			break
		}
	}
	if err != nil {
		e.log.Warn("record results", "error", err, "runs", len(batch))
		if len(batch) > 1 && !db.IsUnavailable(err) {
			for i := range batch { // one that the database refuses must not take the others with it
				e.finishBatch(ctx, batch[i:i+1])
			}
			return
		}
	} else {
		e.metrics.finishBatches.Observe(float64(len(batch)))
		e.metrics.finishSeconds.Observe(time.Since(began).Seconds())
	}
	for i := range batch {
		batch[i].reply.left <- err
	}
	e.hub.changed(changed...)
}

// finishOnce writes a batch in one transaction. sure says that a run which is not there does not exist.
func (e *Engine) finishOnce(ctx context.Context, batch []finishing, sure bool) (changed []int64, err error) {
	byID := make(map[int64]*finishing, len(batch))
	ids := make([]int64, 0, len(batch))
	for i := range batch {
		if _, twice := byID[batch[i].id]; twice {
			continue // the first report counts
		}
		byID[batch[i].id] = &batch[i]
		ids = append(ids, batch[i].id)
	}
	var ended []change
	var freed []int64
	raised := false
	_, err = e.commit(ctx, func(tx *sql.Tx) ([]*dispatch, error) {
		changed, ended, raised = changed[:0], ended[:0], false
		var orphans []db.ListRunsByIDRow // succeeded late, so that their children have not been started
		var mended []AlarmEvent          // of those that succeeded late
		rows, err := e.queries.ListRunsByID(ctx, tx, ids)
		if err != nil {
			return nil, err
		}
		if !sure && len(rows) < len(ids) {
			return nil, errUnseen
		}
		open, late := rows[:0], 0
		for _, r := range rows {
			f := byID[r.ID]
			switch {
			case f.group != 0 && f.group != r.JobGroup: // not its reporter's to say
			case r.HandleCode == 0 && f.code > 0:
				open = append(open, r)
			case f.code > 0 && wasLost(&r) && !strings.HasPrefix(f.msg, note.LostMark):
				if err := e.supersede(ctx, tx, &r, f); err != nil {
					return nil, err
				}
				late++
				changed = append(changed, r.ID)
				if r.TriggerTime.Valid {
					ended = append(ended, change{hour: hourOf(r.TriggerTime.Time), group: r.JobGroup, from: stateOf(r.TriggerCode, r.HandleCode), to: stateOf(r.TriggerCode, int64(f.code))})
				}
				if f.code == wire.CodeSuccess && e.alarmWanted(AlarmRecovered, r.JobID) {
					mended = append(mended, e.alarmEvent(&r, f, AlarmRecovered))
				}
				if f.code == wire.CodeSuccess && r.ExecutorFailRetryCount == 0 {
					orphans = append(orphans, r)
				}
			}
		}
		if n := len(ids) - len(open) - late; n > 0 {
			e.metrics.callbacksIgnored.Add(float64(n))
			e.log.Debug("results ignored: unknown, or reported before", "runs", n)
		}
		if raised = len(mended) > 0; raised {
			if err := e.cfg.Alarms.Raise(ctx, tx, mended); err != nil {
				return nil, err
			}
		}
		if len(open)+len(orphans) == 0 {
			return nil, nil
		}
		follow, err := e.followUps(ctx, tx, append(orphans, open...), byID)
		if err != nil {
			return nil, err
		}
		if err := e.insert(ctx, tx, follow.runs); err != nil || len(open) == 0 {
			return follow.runs, err
		}
		now := e.now()
		if events := e.alarmsOf(open, byID, follow); len(events) > 0 {
			raised = true
			if err := e.cfg.Alarms.Raise(ctx, tx, events); err != nil {
				return nil, err
			}
		}
		finishes := make([]db.Finish, len(open))
		for i, r := range open {
			f := byID[r.ID]
			finishes[i] = db.Finish{ID: r.ID, Code: int64(f.code), Alarm: follow.alarm[r.ID],
				Message: joinLines(string(r.HandleMsg), clip(f.msg, maxResult), follow.notes(r.ID))}
			changed = append(changed, r.ID)
			if r.TriggerTime.Valid {
				ended = append(ended, change{hour: hourOf(r.TriggerTime.Time), group: r.JobGroup, from: stateOf(r.TriggerCode, r.HandleCode), to: stateOf(r.TriggerCode, int64(f.code))})
			}
		}
		n, err := db.FinishRuns(ctx, tx, e.wall(now), now.UnixMilli(), finishes)
		if err != nil {
			return nil, err
		}
		if n != int64(len(finishes)) {
			return nil, errRaced
		}
		freed = nil
		if len(follow.jobs) > 0 {
			freed, err = e.endOf(ctx, tx, open, follow)
		}
		return follow.runs, err
	})
	if err == nil {
		e.counts.add(ended...)
		e.letFollow(ctx, freed)
	}
	if err == nil && raised {
		e.cfg.Alarms.Wake()
	}
	return changed, err
}

// endOf does what the ends of runs mean to their jobs beside retries and children: it gives slots back, and sets the next
// time of a job that waited for this end. It gives the jobs that have a slot free now.
func (e *Engine) endOf(ctx context.Context, tx *sql.Tx, open []db.ListRunsByIDRow, f *following) (freed []int64, err error) {
	var slots []int64
	for _, r := range open {
		j := f.jobs[r.JobID]
		if j == nil {
			continue
		}
		if j.MaxConcurrent > 0 {
			slots = append(slots, r.ID)
			freed = appendNew(freed, r.JobID)
		}
		if j.ScheduleType == jobspec.ScheduleFixDelay && !f.retried[r.ID] {
			s, err := e.scheduleOf(j.ScheduleType, string(j.ScheduleConf), j.TimeZone, j.StartAt, j.EndAt)
			if err != nil {
				e.log.Warn("the delay of a job cannot be read", "job_id", j.ID, "error", err)
				continue
			}
			if err := e.rearm(ctx, tx, s, r.JobID, r.ID); err != nil {
				return nil, err
			}
		}
	}
	if len(slots) > 0 {
		_, err = e.queries.FreeSlots(ctx, tx, slots)
	}
	return freed, err
}

// letFollow lets the next runs of jobs have the slots that were given back. What fails here is mended by the sweep.
func (e *Engine) letFollow(ctx context.Context, jobIDs []int64) {
	for _, id := range jobIDs {
		if err := e.letNext(ctx, id); err != nil {
			e.log.Warn("let the next run have its slot", "job_id", id, "error", err)
		}
	}
}

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

func appendNew(ids []int64, id int64) []int64 {
	for _, have := range ids {
		if have == id {
			return ids
		}
	}
	return append(ids, id)
}

// joinLines joins the parts that are not empty.
func joinLines(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		if p == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p)
	}
	return clip(b.String(), maxMessage)
}
