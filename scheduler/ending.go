package scheduler

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/archive"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/tracing"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// ending is one try to write a batch of results, with what follows from them.
type ending struct {
	e    *Engine
	byID map[int64]*finishing
	ids  []int64
	sure bool    // a run that is not there does not exist
	lock []int64 // runs of flows that somebody else decides about
	// reread says that all rows are read, see unread.go.
	reread bool

	// By the rows of the runs.
	open    []db.ListRunsToEndRow // had no result
	lost    []db.ListRunsToEndRow // were taken for lost
	orphans []db.ListRunsToEndRow // of those, the ones that succeeded: their children have not been started
	seen    flowsSeen
	foreign map[*Caller][]int64 // not their reporters'

	// For after the commit.
	changed []int64 // runs
	counts  []upkeep.Change
	traced  []tracing.End
	outputs []archive.Ended
	mended  []AlarmEvent // of lost runs that succeeded
	raised  bool         // alarms were
	moved   *flowMove
	freed   freedSlots
}

// finishOnce writes a batch, which has one result of each run, in one transaction. sure says that a run which is not there does not exist, reread that no row may go
// unread; lock are runs of flows that somebody else decides about.
func (e *Engine) finishOnce(ctx context.Context, batch []finishing, sure, reread bool, lock []int64) (changed []int64, err error) {
	w := &ending{}
	_, err = e.commit(ctx, func(tx *sql.Tx) ([]*dispatch, error) {
		w = e.newEnding(batch)
		w.sure, w.reread, w.lock = sure, reread, lock
		return w.write(ctx, tx)
	})
	if err != nil {
		return w.changed, err
	}
	w.written(ctx)
	return w.changed, nil
}

func (e *Engine) newEnding(batch []finishing) *ending {
	w := &ending{e: e, byID: make(map[int64]*finishing, len(batch)), ids: make([]int64, 0, len(batch))}
	for i := range batch {
		f := &batch[i]
		w.byID[f.id] = f
		w.ids = append(w.ids, f.id)
		f.along, f.settled, f.denied, f.unread = nil, false, false, false
		if f.used != nil {
			*f.used = false
		}
	}
	return w
}

// write gives the runs that follow.
func (w *ending) write(ctx context.Context, tx *sql.Tx) ([]*dispatch, error) {
	e := w.e
	if err := e.flows.lock(ctx, tx, w.lock); err != nil {
		return nil, err
	}
	if err := w.read(ctx, tx); err != nil {
		return nil, err
	}
	if err := w.findLost(ctx, tx); err != nil {
		return nil, err
	}
	var err error
	if w.open, err = e.callbacks.take(ctx, tx, w.open, w.byID); err != nil {
		return nil, err
	}
	follow, err := w.follow(ctx, tx)
	if err != nil {
		return nil, err
	}
	if alarms := append(w.mended, e.alarmsOf(w.open, w.byID, follow)...); len(alarms) > 0 {
		w.raised = true
		if err := e.cfg.Alarms.Raise(ctx, tx, alarms); err != nil {
			return nil, err
		}
	}
	if err := w.end(ctx, tx, follow); err != nil {
		return nil, err
	}
	if err := e.tellFinished(ctx, tx, slices.Concat(w.lost, w.open), w.byID, follow); err != nil {
		return nil, err
	}
	if err := w.noteOutputs(ctx, tx, follow); err != nil {
		return nil, err
	}
	w.freed, err = e.endOf(ctx, tx, w.open, follow)
	return follow.runs, err
}

// read finds out which of the results count, by the rows of their runs.
func (w *ending) read(ctx context.Context, tx *sql.Tx) error {
	e := w.e
	rows, ids, seen, err := w.readUnread(ctx, tx)
	if err != nil {
		return err
	}
	read, err := e.runsToEnd(ctx, tx, ids, &seen)
	if err != nil {
		return err
	}
	rows = append(rows, read...)
	slices.SortFunc(rows, func(a, b db.ListRunsToEndRow) int { return cmp.Compare(a.ID, b.ID) })
	if !w.sure && len(rows) < len(w.ids) {
		return errUnseen
	}
	w.foreign, w.seen = notTheirs(rows, w.byID), seen
	w.open = rows[:0]
	for _, r := range rows {
		f := w.byID[r.ID]
		switch {
		case !f.speaksFor(r.JobGroup): // not its reporter's to say
			f.denied = f.not[r.JobGroup] && f.by != nil && (f.by.AppName == "" || e.directory.isOf(r.JobGroup, f.by.AppName))
		case r.HandleCode == 0 && f.code > 0:
			f.ends = f.outcome(&r)
			f.carry(&r)
			w.open = append(w.open, r)
		case f.code > 0 && r.Outcome == event.Lost && f.given == event.Open:
			f.ends = f.outcome(&r)
			w.lost = append(w.lost, r)
		}
	}
	if n := len(w.ids) - len(w.open) - len(w.lost); n > 0 {
		e.metrics.callbacksIgnored.Add(float64(n))
		e.log.Debug("results ignored: unknown, or reported before", "runs", n)
	}
	return nil
}

// findLost writes the results of runs that were taken for lost.
func (w *ending) findLost(ctx context.Context, tx *sql.Tx) error {
	for i := range w.lost {
		r := &w.lost[i]
		f := w.byID[r.ID]
		if err := w.e.supersede(ctx, tx, r, f); err != nil {
			return err
		}
		w.changed = append(w.changed, r.ID)
		if r.TriggerTime.Valid {
			w.counts = append(w.counts, changeOf(r, f))
		}
		if f.ends != event.Succeeded {
			continue
		}
		w.orphans = append(w.orphans, *r)
		if r.TriggerType != jobspec.TriggerTrial && w.e.alarmWanted(AlarmRecovered, r.JobID) {
			w.mended = append(w.mended, w.e.alarmEvent(r, f, AlarmRecovered))
		}
	}
	return nil
}

// follow inserts what follows: retries, children, and runs elsewhere of those whose executor died.
func (w *ending) follow(ctx context.Context, tx *sql.Tx) (*following, error) {
	if len(w.open)+len(w.orphans) == 0 {
		return &following{}, nil
	}
	e := w.e
	if err := e.runAgain(ctx, tx, w.open, w.byID); err != nil {
		return nil, err
	}
	follow, err := e.followUps(ctx, tx, slices.Concat(w.orphans, w.open), w.byID)
	if err != nil {
		return nil, err
	}
	if err := e.insert(ctx, tx, follow.runs); err != nil {
		return nil, err
	}
	now := e.now()
	told := make([]db.Told, len(w.orphans))
	for i := range told {
		id := w.orphans[i].ID
		told[i] = db.Told{ID: id, Events: follow.events(id, now).Stored()}
	}
	return follow, db.AddEvents(ctx, tx, told)
}

// end writes the results of runs that had none, and moves the flows whose steps they are.
func (w *ending) end(ctx context.Context, tx *sql.Tx, follow *following) error {
	if len(w.open) == 0 {
		return nil
	}
	e := w.e
	killed, err := e.endedBy(ctx, tx, w.open, w.byID)
	if err != nil {
		return err
	}
	now := e.now()
	finishes := make([]db.Finish, len(w.open))
	var over []int64 // runs of flows
	for i := range w.open {
		r := &w.open[i]
		f := w.byID[r.ID]
		end := e.endsAt(f, r.SentAt, now)
		finishes[i] = e.finishOf(r, f, end, slices.Concat(f.why, killed[r.ID], follow.events(r.ID, now)), now)
		finishes[i].Alarm = follow.alarm[r.ID]
		if f.flow {
			over = append(over, r.ID)
		}
		w.count(r, f, end)
	}
	n, err := db.FinishRuns(ctx, tx, e.wall(now), now.UnixMilli(), finishes)
	if err != nil {
		return err
	}
	if n != int64(len(finishes)) {
		return errRaced
	}
	if err := e.flows.over(ctx, tx, over); err != nil {
		return err
	}
	if w.moved = e.flows.stepEnds(w.open, w.seen, w.byID, killed, follow); w.moved != nil {
		if err := e.flows.move(ctx, tx, w.moved); err != nil {
			return err
		}
		follow.runs = append(follow.runs, w.moved.runs...)
	}
	return nil
}

// finishOf is what is written of a run's end, and marks its result as used.
func (e *Engine) finishOf(r *db.ListRunsToEndRow, f *finishing, end runEnd, events event.List, now time.Time) db.Finish {
	if f.used != nil {
		*f.used = true
	}
	f.settled = f.along != nil
	finish := db.Finish{
		ID: r.ID, Sent: f.along, Owner: r.OwnerNode, Unread: f.unread, Code: int64(f.code), Outcome: f.ends, Events: append(events, end.told...).Stored(),
		Message: joinLines(string(r.HandleMsg), clip(cmp.Or(f.msg, f.english), maxResult), withoutCause(events).In(e.cfg.JobZone)),
	}
	if end.at != now {
		finish.HandleTime, finish.FinishedAt = e.wall(end.at), end.at.UnixMilli()
	}
	return finish
}

// count notes a run's end for the reports and the traces. One that an XXL-JOB admin made is in neither.
func (w *ending) count(r *db.ListRunsToEndRow, f *finishing, end runEnd) {
	w.changed = append(w.changed, r.ID)
	if leaves(w.e.cfg.Pool, r) {
		return
	}
	if w.e.cfg.Traces != nil {
		w.traced = append(w.traced, tracing.End{ID: r.ID, Planned: r.PlannedAt, Failed: f.ends != event.Succeeded, Received: f.came})
	}
	if r.TriggerTime.Valid {
		change := changeOf(r, f)
		change.Run, change.Took = r.ID, f.took(r, end)
		w.counts = append(w.counts, change)
	}
}

// changeOf is what a result changes in the reports.
func changeOf(r *db.ListRunsToEndRow, f *finishing) upkeep.Change {
	return upkeep.Change{
		Hour: upkeep.HourOf(r.TriggerTime.Time), Group: r.JobGroup, Job: r.JobID, Outcome: f.ends, Trial: r.TriggerType == jobspec.TriggerTrial,
		From: upkeep.StateOf(r.Outcome, r.TriggerCode, r.HandleCode, r.ExecutorFailRetryCount),
		To:   upkeep.StateOf(f.ends, r.TriggerCode, int64(f.code), r.ExecutorFailRetryCount),
	}
}

// noteOutputs notes whose output is to be kept.
func (w *ending) noteOutputs(ctx context.Context, tx *sql.Tx, follow *following) error {
	lost, err := w.e.outputs.of(ctx, tx, w.lost, w.byID, nil)
	if err != nil {
		return err
	}
	open, err := w.e.outputs.of(ctx, tx, w.open, w.byID, follow)
	if err != nil {
		return err
	}
	w.outputs = append(lost, open...)
	return w.e.archive.Note(ctx, tx, w.outputs)
}

// written does what is left when the transaction is committed.
func (w *ending) written(ctx context.Context) {
	e := w.e
	for by, runs := range w.foreign {
		var unknown, denied []int64
		for _, id := range runs {
			if w.byID[id].denied {
				denied = append(denied, id)
			} else {
				unknown = append(unknown, id)
			}
		}
		if len(unknown) > 0 {
			e.Refused(*by, RefusedRun, unknown)
		}
		if len(denied) > 0 {
			e.Refused(*by, RefusedToken, denied)
		}
	}
	e.upkeep.Count(w.counts...)
	e.traceEnded(w.traced)
	e.archive.Offer(known(w.outputs))
	e.startFreed(ctx, w.freed)
	e.flows.moved(w.moved)
	if w.raised {
		e.cfg.Alarms.Wake()
	}
}

// runsToEnd reads the runs of a batch, and where steps are known to be among them the revisions of their runs of flows with them.
func (e *Engine) runsToEnd(ctx context.Context, tx *sql.Tx, ids []int64, seen *flowsSeen) (rows []db.ListRunsToEndRow, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if !e.flows.kept.has(ids) {
		return e.queries.ListRunsToEnd(ctx, tx, ids)
	}
	steps, err := e.queries.ListStepsToEnd(ctx, tx, ids)
	rows = make([]db.ListRunsToEndRow, len(steps))
	for i := range steps {
		s := &steps[i]
		rows[i] = db.ListRunsToEndRow(*s)
		seen.add(db.ListFlowRevisionsRow{LogID: s.FlowLogID, Revision: s.FlowRevision, State: s.FlowState})
	}
	return rows, err
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
// whatever its executor makes of it. Of a flow it is known whether that came too late: nothing of it was left to be ended.
func (f *finishing) outcome(r *db.ListRunsToEndRow) event.Outcome {
	switch {
	case f.flow && f.given == event.Succeeded:
		return f.given
	case r.KillAskedAt > 0, r.Outcome == event.Killed: // the second before it was known to have arrived
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
		if f := byID[open[i].ID]; f.ends == event.Killed && f.given != event.Lost && open[i].Outcome != event.Killed && endedByWhom(f.why) == "" {
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
// time of a job that waited for this end. It says where a slot is free now.
func (e *Engine) endOf(ctx context.Context, tx *sql.Tx, open []db.ListRunsToEndRow, f *following) (freed freedSlots, err error) {
	var ended, limited []int64
	for _, r := range open {
		if r.TriggerType == jobspec.TriggerTrial {
			continue
		}
		ended = append(ended, r.ID)
		j := f.jobs[r.JobID]
		if j == nil {
			continue
		}
		if limit, _ := limitOf(j.GlueType, wire.Block(j.ExecutorBlockStrategy), int(j.MaxConcurrent), ""); limit > 0 {
			limited, freed.jobs = append(limited, r.ID), appendNew(freed.jobs, r.JobID)
		}
		if j.ScheduleType == jobspec.ScheduleFixDelay && !f.retried[r.ID] {
			s, err := e.scheduleOf(j.ScheduleType, string(j.ScheduleConf), j.TimeZone, j.StartAt, j.EndAt, j.Calendar, j.CalendarRule)
			if err != nil {
				e.log.Warn("the delay of a job cannot be read", "job_id", j.ID, "error", err)
				continue
			}
			if err := e.rearm(ctx, tx, s, r.JobID, r.ID); err != nil {
				return freed, err
			}
		}
	}
	freed.groups, err = e.free(ctx, tx, ended, limited)
	return freed, err
}

// withoutCause leaves out what is said in English already, see [finishing].english.
func withoutCause(events event.List) event.List {
	if _, has := events.Last(event.FlowCause, event.FlowOutputs); !has {
		return events
	}
	return slices.DeleteFunc(slices.Clone(events), func(e event.Event) bool { return e.Key == event.FlowCause || e.Key == event.FlowOutputs })
}
