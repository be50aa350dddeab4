package scheduler

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/archive"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/tracing"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// maxResult is how many bytes of a result's message are kept.
const maxResult = 45_000

// errRaced means that somebody else changed a row between the read and the guarded write.
var errRaced = errors.New("a row was changed meanwhile")

// errUnseen means that a run may exist although it is not found: another admin made it, on another node of the database, and a
// quick executor reports its result before this node has it.
var errUnseen = errors.New("a run is not here yet")

// finishing is a result on its way to the database.
type finishing struct {
	id       int64
	group    int64          // the only group its reporter may speak for; 0 for any
	not      map[int64]bool // groups that it may not speak for
	by       *Caller
	denied   bool // its reporter is of the run's group, and its token does not count there; set with each try
	code     int
	msg      string            // the executor's own words
	english  string            // without those: what XXL-JOB's column says in the place of [event.FlowCause]
	given    event.Outcome     // Open: by the code
	why      event.List        // what led to it, where the engine made it up
	mute     bool              // nothing follows from it: no retry, no alarm
	callback string            // of a report of a target: the hash of its address
	used     *bool             // set when this has ended the run; nil: nobody asks
	undone   wire.Undone       // its executor was shutting down
	left     int64             // its retries before that
	again    extra             // the attempt that it was given beyond its job's retries; set with each try
	ends     event.Outcome     // what the run ends as, by its row; set with each try to write it
	output   map[string]string // what it gave, by key
	pushed   bool              // an admin has its run's output
	flow     bool              // the end of a run of a flow, which no executor had
	came     time.Time         // when its executor reported it, where runs are traced
	received time.Time         // when this report came; zero: the engine made it up
	waited   time.Duration     // for how long its executor had kept it by then; 0: it does not say
	reply    *reply

	sending *outcome // what became of its sending, where that was not written when it came
	along   *db.Sent // of these, what is written with it; set with each try, as is
	settled bool     // that it is
}

// finishWindow is how long results wait for each other while many come: their executors and their pages have them so much later, and a run
// that is written in a batch of ten costs a third less than one in a batch of two (docs/performance.md).
const finishWindow = 10 * time.Millisecond

// windowOf is that of each of so many admins: to each comes so much less, and together they ask the database no more often than one does.
func windowOf(admins int) time.Duration { return time.Duration(min(max(admins, 1), 5)) * finishWindow }

// urgent says that others wait for this run's end: the next step of a flow, a retry, a run without a slot, a fire that is reckoned from it. Of
// one that took longer than [carryFor], or was quicker than the answer to its request, only the first is known.
func (e *Engine) urgent(f finishing) bool {
	if f.code != wire.CodeSuccess {
		return true
	}
	if f.sending == nil {
		return e.flows.kept.goes(f.id)
	}
	d := f.sending.d
	return d.step != 0 || d.job.limit > 0 || d.job.delayed
}

// reply collects what became of the results of one request.
type reply struct {
	left chan error // one value per result
}

// Complete records results that executors report. It returns after the commit, so that an executor which is told "success"
// may forget them; unknown and repeated results are accepted and ignored, as upstream does (docs/compat.md §4.9).
func (e *Engine) Complete(ctx context.Context, callbacks []wire.Callback) error {
	return e.CompleteBy(ctx, Caller{}, nil, callbacks)
}

// CompleteBy is [Engine.Complete] for a known caller. If it may speak for one group only, results of other groups' runs are
// ignored like those of unknown runs, and warned about; so are those of groups for which speaks says no (nil: of none). A caller that is
// of such a group itself has the wrong token: it is told [ErrNotTheirs] when the rest is written, and keeps what it has.
func (e *Engine) CompleteBy(ctx context.Context, by Caller, speaks func(appName string) bool, callbacks []wire.Callback) error {
	group := int64(0)
	if by.Scope != "" {
		if group = e.directory.idOf(by.Scope); group == 0 {
			return ErrNoGroup
		}
	}
	items := finishings(callbacks)
	not := e.directory.silent(speaks)
	for i := range items {
		items[i].group, items[i].not, items[i].by = group, not, &by
	}
	now := e.now()
	for i := range items {
		items[i].received = now
		if e.cfg.Traces != nil {
			items[i].came = now
		}
	}
	return e.complete(ctx, items)
}

func finishings(callbacks []wire.Callback) []finishing {
	items := make([]finishing, len(callbacks))
	for i, c := range callbacks {
		items[i] = finishing{id: c.LogID, code: c.HandleCode, undone: c.Undone, msg: strings.ToValidUTF8(c.HandleMsg, "\uFFFD"), pushed: c.Pushed,
			waited: time.Duration(c.Waited) * time.Millisecond}
		items[i].output = boundOutputs(c.Outputs)
		if c.HandleCode > math.MaxInt32 { // the column holds no more
			items[i].code = wire.CodeFail
		}
	}
	return items
}

// Executors send what they kept through an outage in one request, and the results of others must not wait behind ten thousand
// of these: results of requests with more than smallRequest of them are handed in a part after the other, and of all such
// requests together no more than bulkWaiting wait at a time. That keeps two writers busy.
const (
	smallRequest = 100
	bulkWaiting  = 4 * db.MaxBatch
)

// complete hands results to the writers and waits until they are written. Should ctx end, what was not handed in is not
// written: the executor sends all of it again.
func (e *Engine) complete(ctx context.Context, items []finishing) error {
	if len(items) <= smallRequest {
		return e.completePart(ctx, items)
	}
	var parts errgroup.Group
	for part := range slices.Chunk(items, smallRequest) {
		n := int64(len(part))
		if err := e.bulk.Acquire(ctx, n); err != nil {
			return errors.Join(parts.Wait(), err)
		}
		parts.Go(func() error {
			defer e.bulk.Release(n)
			return e.completePart(ctx, part)
		})
	}
	return parts.Wait()
}

func (e *Engine) completePart(ctx context.Context, items []finishing) error {
	r := &reply{left: make(chan error, len(items))}
	for _, item := range items {
		item.reply, item.sending = r, e.carrier.take(item.id)
		if err := e.finisher.add(ctx, item); err != nil {
			if item.sending != nil {
				e.handIn(item.sending)
			}
			return err
		}
	}
	var errs error
	for range items {
		select {
		case err := <-r.left:
			if errs == nil {
				errs = err
			}
		case <-ctx.Done():
			return errors.Join(errs, ctx.Err())
		}
	}
	return errs
}

// finishBatch writes results and what follows from them in one transaction: a retry of a failure and the children of a
// success exist from the same commit on as the result does, so no crash comes between.
func (e *Engine) finishBatch(ctx context.Context, batch []finishing) {
	began := time.Now()
	var changed []int64
	var err error
	sure := !e.cfg.Pool.Lags()
	var lock []int64 // runs of flows
	for try := 1; try <= 5; try++ {
		limited, cancel := context.WithTimeout(ctx, writeLimit)
		changed, err = e.finishOnce(limited, batch, sure, lock)
		cancel()
		if errors.Is(err, errUnseen) {
			if err = e.catchUp(ctx); err != nil {
				break
			}
			sure = true
			continue
		}
		if raced, is := errors.AsType[errFlowRaced](err); is {
			lock = raced.logs
		}
		// Rows that an admin which stopped has locked are free when its transaction has been ended, before the next wait is over.
		if !errors.Is(err, errRaced) && (!db.IsLocked(err) || try > 1) {
			break
		}
	}
	if err != nil && ctx.Err() != nil {
		err = errors.Join(ErrStopping, err)
	}
	e.untaken.met(batch, err)
	if err != nil {
		e.log.Warn("record results", "error", err, "runs", len(batch))
		if len(batch) > 1 && refused(err) {
			for i := range batch { // one that the database refuses must not take the others with it
				e.finishBatch(ctx, batch[i:i+1])
			}
			return
		}
	} else {
		e.metrics.finishBatches.Observe(float64(len(batch)))
		e.metrics.finishSeconds.Observe(time.Since(began).Seconds())
	}
	e.settleCarried(batch, err)
	for i := range batch {
		if err == nil && batch[i].denied {
			batch[i].reply.left <- ErrNotTheirs
			continue
		}
		batch[i].reply.left <- err
	}
	e.hub.changed(changed...)
}

func (e *Engine) catchUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	return e.cfg.Pool.CatchUp(ctx)
}

// refused reports whether a batch failed for what is in it, as far as one can know, so that its parts may fare better.
func refused(err error) bool {
	return !db.IsUnavailable(err) && !db.IsLocked(err) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrStopping)
}

// finishOnce writes a batch in one transaction. sure says that a run which is not there does not exist; lock are runs of flows that
// somebody else decides about.
func (e *Engine) finishOnce(ctx context.Context, batch []finishing, sure bool, lock []int64) (changed []int64, err error) {
	byID := make(map[int64]*finishing, len(batch))
	ids := make([]int64, 0, len(batch))
	for i := range batch {
		if _, twice := byID[batch[i].id]; twice {
			continue // the first report counts
		}
		byID[batch[i].id] = &batch[i]
		ids = append(ids, batch[i].id)
	}
	var ended []upkeep.Change
	var freed []int64
	var foreign map[*Caller][]int64
	var traced []tracing.End
	var outputs []archive.Ended
	var flows *flowMove
	raised := false
	_, err = e.commit(ctx, func(tx *sql.Tx) ([]*dispatch, error) {
		flows = nil
		if err := e.flows.lock(ctx, tx, lock); err != nil {
			return nil, err
		}
		changed, ended, raised, traced, outputs = changed[:0], ended[:0], false, traced[:0], nil
		for _, f := range byID {
			f.along, f.settled, f.denied = nil, false, false
			if f.used != nil {
				*f.used = false
			}
		}
		var orphans []db.ListRunsToEndRow // succeeded late, so that their children have not been started
		var mended []AlarmEvent           // of those that succeeded late
		var superseded []db.ListRunsToEndRow
		rows, seen, err := e.runsToEnd(ctx, tx, ids)
		if err != nil {
			return nil, err
		}
		if !sure && len(rows) < len(ids) {
			return nil, errUnseen
		}
		foreign = notTheirs(rows, byID)
		open, late := rows[:0], 0
		for _, r := range rows {
			f := byID[r.ID]
			switch {
			case !f.speaksFor(r.JobGroup): // not its reporter's to say
				f.denied = f.not[r.JobGroup] && f.by != nil && e.directory.isOf(r.JobGroup, f.by.AppName)
			case r.HandleCode == 0 && f.code > 0:
				f.ends = f.outcome(&r)
				f.carry(&r)
				open = append(open, r)
			case f.code > 0 && r.Outcome == event.Lost && f.given == event.Open:
				f.ends = f.outcome(&r)
				if err := e.supersede(ctx, tx, &r, f); err != nil {
					return nil, err
				}
				late++
				superseded = append(superseded, r)
				changed = append(changed, r.ID)
				if r.TriggerTime.Valid {
					ended = append(ended, upkeep.Change{Hour: upkeep.HourOf(r.TriggerTime.Time), Group: r.JobGroup, From: upkeep.StateOf(r.Outcome, r.TriggerCode, r.HandleCode, r.ExecutorFailRetryCount), To: upkeep.StateOf(f.ends, r.TriggerCode, int64(f.code), r.ExecutorFailRetryCount), Job: r.JobID, Outcome: f.ends, Trial: r.TriggerType == jobspec.TriggerTrial})
				}
				if f.ends == event.Succeeded && r.TriggerType != jobspec.TriggerTrial && e.alarmWanted(AlarmRecovered, r.JobID) {
					mended = append(mended, e.alarmEvent(&r, f, AlarmRecovered))
				}
				if f.ends == event.Succeeded {
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
		if open, err = e.callbacks.take(ctx, tx, open, byID); err != nil {
			return nil, err
		}
		if outputs, err = e.outputs.of(ctx, tx, superseded, byID, nil); err != nil {
			return nil, err
		}
		if len(open)+len(orphans) == 0 {
			if err := e.archive.Note(ctx, tx, outputs); err != nil {
				return nil, err
			}
			return nil, e.tellFinished(ctx, tx, superseded, byID, &following{})
		}
		if err := e.runAgain(ctx, tx, open, byID); err != nil {
			return nil, err
		}
		follow, err := e.followUps(ctx, tx, append(orphans, open...), byID)
		if err != nil {
			return nil, err
		}
		if err := e.insert(ctx, tx, follow.runs); err != nil {
			return nil, err
		}
		now := e.now()
		told := make([]db.Told, len(orphans))
		for i, r := range orphans {
			told[i] = db.Told{ID: r.ID, Events: follow.events(r.ID, now).Stored()}
		}
		if err := db.AddEvents(ctx, tx, told); err != nil {
			return nil, err
		}
		if len(open) == 0 {
			if err := e.archive.Note(ctx, tx, outputs); err != nil {
				return nil, err
			}
			return follow.runs, e.tellFinished(ctx, tx, superseded, byID, follow)
		}
		if alarms := e.alarmsOf(open, byID, follow); len(alarms) > 0 {
			raised = true
			if err := e.cfg.Alarms.Raise(ctx, tx, alarms); err != nil {
				return nil, err
			}
		}
		killed, err := e.endedBy(ctx, tx, open, byID)
		if err != nil {
			return nil, err
		}
		finishes := make([]db.Finish, len(open))
		var over []int64 // runs of flows
		for i, r := range open {
			f := byID[r.ID]
			events := slices.Concat(f.why, killed[r.ID], follow.events(r.ID, now))
			if f.used != nil {
				*f.used = true
			}
			if f.flow {
				over = append(over, r.ID)
			}
			f.settled = f.along != nil
			end := e.endsAt(f, r.SentAt, now)
			finishes[i] = db.Finish{ID: r.ID, Sent: f.along, Owner: r.OwnerNode, Code: int64(f.code), Outcome: f.ends, Alarm: follow.alarm[r.ID], Events: append(events, end.told...).Stored(),
				Message: joinLines(string(r.HandleMsg), clip(cmp.Or(f.msg, f.english), maxResult), withoutCause(events).In(e.cfg.JobZone))}
			if end.at != now {
				finishes[i].HandleTime, finishes[i].FinishedAt = e.wall(end.at), end.at.UnixMilli()
			}
			changed = append(changed, r.ID)
			if e.cfg.Traces != nil && !leaves(e.cfg.Pool, &r) {
				traced = append(traced, tracing.End{ID: r.ID, Planned: r.PlannedAt, Failed: f.ends != event.Succeeded, Received: f.came})
			}
			if r.TriggerTime.Valid && !leaves(e.cfg.Pool, &r) {
				ended = append(ended, upkeep.Change{Hour: upkeep.HourOf(r.TriggerTime.Time), Group: r.JobGroup, From: upkeep.StateOf(r.Outcome, r.TriggerCode, r.HandleCode, r.ExecutorFailRetryCount), To: upkeep.StateOf(f.ends, r.TriggerCode, int64(f.code), r.ExecutorFailRetryCount), Job: r.JobID, Outcome: f.ends, Run: r.ID, Took: f.took(&r, end), Trial: r.TriggerType == jobspec.TriggerTrial})
			}
		}
		n, err := db.FinishRuns(ctx, tx, e.wall(now), now.UnixMilli(), finishes)
		if err != nil {
			return nil, err
		}
		if n != int64(len(finishes)) {
			return nil, errRaced
		}
		if err := e.flows.over(ctx, tx, over); err != nil {
			return nil, err
		}
		if flows = e.flows.stepEnds(open, seen, byID, killed, follow); flows != nil {
			if err := e.flows.move(ctx, tx, flows); err != nil {
				return nil, err
			}
			follow.runs = append(follow.runs, flows.runs...)
		}
		if err := e.tellFinished(ctx, tx, append(superseded, open...), byID, follow); err != nil {
			return nil, err
		}
		more, err := e.outputs.of(ctx, tx, open, byID, follow)
		if err != nil {
			return nil, err
		}
		outputs = append(outputs, more...)
		if err := e.archive.Note(ctx, tx, outputs); err != nil {
			return nil, err
		}
		freed = nil
		if len(follow.jobs) > 0 {
			freed, err = e.endOf(ctx, tx, open, follow)
		}
		return follow.runs, err
	})
	if err == nil {
		for by, runs := range foreign {
			unknown := slices.DeleteFunc(slices.Clone(runs), func(id int64) bool { return byID[id].denied })
			denied := slices.DeleteFunc(runs, func(id int64) bool { return !byID[id].denied })
			if len(unknown) > 0 {
				e.Refused(*by, RefusedRun, unknown)
			}
			if len(denied) > 0 {
				e.Refused(*by, RefusedToken, denied)
			}
		}
		for i := range batch {
			batch[i].denied = byID[batch[i].id].denied // also where it was in the batch before
		}
		e.upkeep.Count(ended...)
		e.traceEnded(traced)
		e.archive.Offer(known(outputs))
		e.startFreed(ctx, freed)
		e.flows.moved(flows)
	}
	if err == nil && raised {
		e.cfg.Alarms.Wake()
	}
	return changed, err
}

// runsToEnd reads the runs of a batch, and where steps are known to be among them the revisions of their runs of flows with them.
func (e *Engine) runsToEnd(ctx context.Context, tx *sql.Tx, ids []int64) (rows []db.ListRunsToEndRow, seen map[int64]db.ListFlowRevisionsRow, err error) {
	if !e.flows.kept.has(ids) {
		rows, err = e.queries.ListRunsToEnd(ctx, tx, ids)
		return rows, nil, err
	}
	steps, err := e.queries.ListStepsToEnd(ctx, tx, ids)
	rows, seen = make([]db.ListRunsToEndRow, len(steps)), make(map[int64]db.ListFlowRevisionsRow)
	for i := range steps {
		s := &steps[i]
		rows[i] = db.ListRunsToEndRow(*s)
		seen[s.FlowLogID] = db.ListFlowRevisionsRow{LogID: s.FlowLogID, Revision: s.FlowRevision, State: s.FlowState}
	}
	return rows, seen, err
}

// took is how long a run's executor worked on it; 0 where nobody knows, or somebody cut it short.
func (f *finishing) took(r *db.ListRunsToEndRow, end runEnd) time.Duration {
	if r.SentAt == 0 || end.unsure || f.ends != event.Succeeded && f.ends != event.Failed && f.ends != event.TimedOut {
		return 0
	}
	return end.at.Sub(time.UnixMilli(r.SentAt))
}

// traceEnded says which runs have ended. Of those that an executor reported it is known when.
func (e *Engine) traceEnded(runs []tracing.End) {
	if len(runs) == 0 {
		return
	}
	now := e.now()
	for i := range runs {
		if !runs[i].Received.IsZero() {
			runs[i].Written = now
		}
	}
	e.cfg.Traces.Ended(runs...)
}

// notTheirs are the reported runs that are not here, or not of the group that their reporter may speak for, by who reported
// them.
func notTheirs(rows []db.ListRunsToEndRow, byID map[int64]*finishing) map[*Caller][]int64 {
	var foreign map[*Caller][]int64
	theirs := make(map[int64]bool, len(rows))
	for i := range rows {
		theirs[rows[i].ID] = byID[rows[i].ID].speaksFor(rows[i].JobGroup)
	}
	for id, f := range byID {
		if theirs[id] || f.by == nil {
			continue
		}
		if foreign == nil {
			foreign = make(map[*Caller][]int64)
		}
		foreign[f.by] = append(foreign[f.by], id)
	}
	return foreign
}

// outcome is what a result means to its run, as far as it can be said from the row. A run that somebody wanted ended is killed,
// whatever its executor makes of it.
func (f *finishing) outcome(r *db.ListRunsToEndRow) event.Outcome {
	switch {
	case r.KillAskedAt > 0:
		return event.Killed
	case f.given != event.Open:
		return f.given
	case f.code == wire.CodeSuccess:
		return event.Succeeded
	case f.code == wire.CodeTimeout:
		return event.TimedOut
	}
	return event.Failed
}

// endedBy says of the runs that somebody wanted ended who that was. There are few, so their events are read for it. Of one that
// was given up nobody knows whether it ended.
func (e *Engine) endedBy(ctx context.Context, tx *sql.Tx, open []db.ListRunsToEndRow, byID map[int64]*finishing) (map[int64]event.List, error) {
	var ids []int64
	for i := range open {
		if f := byID[open[i].ID]; f.ends == event.Killed && f.given != event.Lost {
			ids = append(ids, open[i].ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := e.queries.ListRunEvents(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	by := make(map[int64]event.List, len(rows))
	for _, r := range rows {
		asked, _ := event.Parse(string(r.Events)).Last(event.KillAsked)
		by[r.ID] = event.List{event.New(e.now(), event.KilledAt, asked.Text(0), event.KilledRunning)}
	}
	return by, nil
}

// endOf does what the ends of runs mean to their jobs beside retries and children: it gives slots back, and sets the next
// time of a job that waited for this end. It gives the jobs that have a slot free now.
func (e *Engine) endOf(ctx context.Context, tx *sql.Tx, open []db.ListRunsToEndRow, f *following) (freed []int64, err error) {
	var slots []int64
	for _, r := range open {
		j := f.jobs[r.JobID]
		if j == nil || r.TriggerType == jobspec.TriggerTrial {
			continue
		}
		if limit, _ := limitOf(j.GlueType, wire.Block(j.ExecutorBlockStrategy), int(j.MaxConcurrent), ""); limit > 0 {
			slots = append(slots, r.ID)
			freed = appendNew(freed, r.JobID)
		}
		if j.ScheduleType == jobspec.ScheduleFixDelay && !f.retried[r.ID] {
			s, err := e.scheduleOf(j.ScheduleType, string(j.ScheduleConf), j.TimeZone, j.StartAt, j.EndAt, j.Calendar, j.CalendarRule)
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

// startFreed lets the next runs of jobs have the slots that were given back. What fails here is mended by the sweep.
func (e *Engine) startFreed(ctx context.Context, jobIDs []int64) {
	if len(jobIDs) > 1 { // mostly none of them has one
		waiting, err := e.queries.ListJobsWithWaitingRun(ctx, e.cfg.Pool, db.ListJobsWithWaitingRunParams{JobIds: jobIDs, NowMs: e.now().UnixMilli()})
		if err != nil {
			e.log.Warn("find the jobs whose next run may have its slot", "error", err)
			return
		}
		jobIDs = waiting
	}
	for _, id := range jobIDs {
		if err := e.startNext(ctx, id); err != nil {
			e.log.Warn("let the next run have its slot", "job_id", id, "error", err)
		}
	}
}

// withoutCause leaves out what is said in English already, see [finishing].english.
func withoutCause(events event.List) event.List {
	if _, has := events.Last(event.FlowCause); !has {
		return events
	}
	return slices.DeleteFunc(slices.Clone(events), func(e event.Event) bool { return e.Key == event.FlowCause })
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
