package alarm

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// gatherPage is how many events one transaction looks at: enough for a storm, few enough that the engine's writes, which
// share the one writer of the embedded database, do not notice.
const gatherPage = 100

// errRaced means that another admin did the same step; the tick finds what is left.
var errRaced = errors.New("another admin was faster")

// raised is a row of what happened.
type raised struct {
	id, jobID, groupID, logID int64
	cause                     scheduler.AlarmCause
	planned, at               int64
	detail                    string
	events                    db.Text
}

// gather turns new events into notices, a page at a time, and returns how many it looked at.
func (a *Alarmer) gather(ctx context.Context, now time.Time) (int, error) {
	total := 0
	for ctx.Err() == nil {
		n := 0
		err := a.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
			rows, err := a.queries.ListNewAlarmEvents(ctx, tx, gatherPage)
			if n = len(rows); err != nil || n == 0 {
				return err
			}
			events := make([]raised, n)
			for i, r := range rows {
				events[i] = raised{id: r.ID, jobID: r.JobID, groupID: r.JobGroup, logID: r.LogID, cause: scheduler.AlarmCause(r.Cause),
					planned: r.PlannedAt, at: r.RaisedAt, detail: r.Detail, events: r.Events}
			}
			return a.gatherPage(ctx, tx, events, now)
		})
		if errors.Is(err, errRaced) || errors.Is(err, db.ErrDuplicate) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
		total += n
		if n < gatherPage {
			break
		}
	}
	return total, nil
}

// gatherPage applies events to the states of their jobs, in the order in which they were raised. Events of a job and cause
// that stand together are one step.
func (a *Alarmer) gatherPage(ctx context.Context, tx *sql.Tx, events []raised, now time.Time) error {
	g := gathering{a: a, ctx: ctx, tx: tx, now: now.UnixMilli(), states: make(map[stateKey]*state)}
	jobs := db.IDs(events, func(e *raised) int64 { return e.jobID })
	slices.Sort(jobs)
	if err := g.read(slices.Compact(jobs)); err != nil {
		return err
	}
	slices.SortStableFunc(events, func(x, y raised) int { return cmp.Compare(x.jobID, y.jobID) })
	for len(events) > 0 {
		n := 1
		for n < len(events) && events[n].jobID == events[0].jobID && events[n].cause == events[0].cause {
			n++
		}
		step := events[:n]
		events = events[n:]
		apply := g.happened
		if step[0].cause == scheduler.AlarmRecovered {
			apply = g.succeeded
		}
		if err := apply(step); err != nil {
			return err
		}
	}
	return g.write()
}

type stateKey struct {
	jobID int64
	cause scheduler.AlarmCause
}

// state is a row of punctual_alarm_state while a transaction works on it.
type state struct {
	db.AlarmState
	changed bool
	made    int64 // the notice that the last events became part of
}

// gathering is the work of one transaction.
type gathering struct {
	a      *Alarmer
	ctx    context.Context
	tx     *sql.Tx
	now    int64
	states map[stateKey]*state
}

func (g *gathering) read(jobs []int64) error {
	rows, err := g.a.queries.ListAlarmStates(g.ctx, g.tx, jobs)
	for i := range rows {
		g.states[stateKey{rows[i].JobID, scheduler.AlarmCause(rows[i].Cause)}] = &state{AlarmState: rows[i]}
	}
	return err
}

// state is that of a job and cause, a new one when there is none.
func (g *gathering) state(jobID int64, cause scheduler.AlarmCause) *state {
	key := stateKey{jobID, cause}
	if g.states[key] == nil {
		g.states[key] = &state{AlarmState: db.AlarmState{JobID: jobID, Cause: string(cause)}}
	}
	g.states[key].changed = true
	return g.states[key]
}

// happened notes events of one job and cause.
func (g *gathering) happened(events []raised) error {
	s := g.state(events[0].jobID, events[0].cause)
	if opens(events[0].cause) && s.OpenedAt == 0 {
		s.OpenedAt, s.EventCount = events[0].at, 0
		s.forget()
	}
	s.EventCount += int64(len(events))
	for _, e := range events {
		s.LastLogID = max(s.LastLogID, e.logID)
		s.LastPlanned = max(s.LastPlanned, e.planned)
	}
	if s.AckedAt > 0 {
		return g.keepStill(events)
	}
	return g.tell(s, events)
}

// keepStill tells nobody of events: somebody looks after the alarm that they belong to.
func (g *gathering) keepStill(events []raised) error {
	var runs []int64
	for _, e := range events {
		if e.logID > 0 && e.cause != scheduler.AlarmDeadline { // of which the run may go on
			runs = append(runs, e.logID)
		}
	}
	if len(runs) > 0 {
		if _, err := g.a.queries.SetRunAlarmStatus(g.ctx, g.tx, db.SetRunAlarmStatusParams{AlarmStatus: runNobody, Ids: runs}); err != nil {
			return err
		}
	}
	return g.settle(events, eventDropped, 0)
}

// forget ends that somebody looks after the alarm.
func (s *state) forget() { s.AckedAt, s.AckedBy, s.AckRemark = 0, "", "" }

// succeeded closes the causes of a job that a success ends. A success that was planned before the last failure says nothing
// about it: it is another shard of the same fire, or a run that was slower.
func (g *gathering) succeeded(events []raised) error {
	jobID := events[0].jobID
	closed, failures := false, int64(0)
	var gathered []int64
	plannedFor, err := g.plannedFor(events)
	if err != nil {
		return err
	}
	for key, s := range g.states {
		if key.jobID != jobID || s.OpenedAt == 0 || !slices.ContainsFunc(events, func(e raised) bool {
			return ends(&s.AlarmState, e) && !ofEarlier(s.Cause, s.LastPlanned, plannedFor[e.logID])
		}) {
			continue
		}
		closed = true
		if cause := scheduler.AlarmCause(s.Cause); cause != scheduler.AlarmSilent && cause != scheduler.AlarmDeadline {
			failures += s.EventCount
		}
		if s.NoticeID != 0 {
			gathered = append(gathered, s.NoticeID)
		}
		s.OpenedAt, s.EventCount, s.changed = 0, 0, true
		s.forget()
	}
	if !closed {
		return g.settle(events, eventDropped, 0)
	}
	r := g.state(jobID, scheduler.AlarmRecovered)
	tellNow := g.now >= r.WindowUntil
	// The number of failures is what a recovery's count means.
	last := events[len(events)-1:]
	if err := g.tellCount(r, last, failures); err != nil {
		return err
	}
	if rest := events[:len(events)-1]; len(rest) > 0 {
		if err := g.settle(rest, eventDropped, 0); err != nil {
			return err
		}
	}
	slices.Sort(gathered)
	if !tellNow {
		return g.hasten(gathered, r.WindowUntil)
	}
	for _, id := range gathered {
		if err := g.fold(id, jobID, r); err != nil {
			return err
		}
	}
	return nil
}

// ends reports whether a success ends an open cause.
func ends(s *db.AlarmState, success raised) bool {
	return success.planned > s.LastPlanned || success.logID == s.LastLogID
}

// plannedFor are the times that the runs of successes are for, of those that are for another one than the one at which they were planned. They
// matter where a deadline is open.
func (g *gathering) plannedFor(successes []raised) (map[int64]int64, error) {
	deadline := g.states[stateKey{successes[0].jobID, scheduler.AlarmDeadline}]
	if deadline == nil || deadline.OpenedAt == 0 {
		return nil, nil
	}
	rows, err := g.a.queries.ListPlannedFor(g.ctx, g.tx, db.IDs(successes, func(r *raised) int64 { return r.logID }))
	times := make(map[int64]int64, len(rows))
	for _, r := range rows {
		times[r.ID] = r.PlannedFor
	}
	return times, err
}

// ofEarlier reports whether a success does not end an alarm because it makes up for an earlier fire than the deadline's, as a backfill
// does. A run that was asked for by hand, or tried again, is for the deadline's own, or for none.
func ofEarlier(cause string, lastPlanned, plannedFor int64) bool {
	return cause == string(scheduler.AlarmDeadline) && plannedFor > 0 && plannedFor <= lastPlanned
}

// hasten has failures that are being gathered told before a recovery that is told at a moment, whose window may end first.
func (g *gathering) hasten(gathered []int64, recovery int64) error {
	if len(gathered) == 0 {
		return nil
	}
	return g.a.queries.HastenAlarmNotices(g.ctx, g.tx, db.HastenAlarmNoticesParams{DueAt: recovery - 1, Ids: gathered})
}

// fold makes a notice that was being gathered part of the recovery that was just made.
func (g *gathering) fold(id, jobID int64, r *state) error {
	n, err := g.a.queries.GetAlarmNotice(g.ctx, g.tx, id)
	if errors.Is(db.Error(err), db.ErrNotFound) || err == nil && n.State != 0 {
		return nil // it was due and is being told
	}
	if err != nil {
		return err
	}
	affected, err := g.a.queries.DeleteGatheringAlarmNotice(g.ctx, g.tx, db.DeleteGatheringAlarmNoticeParams{ID: id, Revision: n.Revision})
	if err != nil {
		return err
	}
	if affected != 1 {
		return errRaced
	}
	for key, s := range g.states {
		if key.jobID == jobID && s.NoticeID == id {
			s.NoticeID, s.changed = 0, true
		}
	}
	return g.a.queries.MoveAlarmEvents(g.ctx, g.tx, db.MoveAlarmEventsParams{ToNotice: r.made, FromNotice: id})
}

// tell makes events part of a notice: one that is due at once, or within the window the one that is being gathered.
func (g *gathering) tell(s *state, events []raised) error {
	return g.tellCount(s, events, int64(len(events)))
}

func (g *gathering) tellCount(s *state, events []raised, count int64) error {
	first, last := events[0], events[len(events)-1]
	id := s.NoticeID
	switch {
	case id != 0:
		n, err := g.a.queries.GetAlarmNotice(g.ctx, g.tx, id)
		if err != nil {
			return err
		}
		affected, err := g.a.queries.ExtendAlarmNotice(g.ctx, g.tx, db.ExtendAlarmNoticeParams{
			ID: id, EventCount: n.EventCount + count, LogID: last.logID, LastAt: last.at, Detail: last.detail, Events: last.events,
			OldRevision: n.Revision, NewRevision: n.Revision + 1,
		})
		if err != nil {
			return err
		}
		if affected != 1 {
			return errRaced
		}
	default:
		p := db.InsertAlarmNoticeParams{
			JobID: first.jobID, JobGroup: first.groupID, Cause: string(first.cause), EventCount: count, LogID: last.logID,
			FirstAt: first.at, LastAt: last.at, Detail: last.detail, Events: last.events, DueAt: g.now,
		}
		within := g.now < s.WindowUntil
		if within {
			p.FollowUp, p.DueAt = 1, s.WindowUntil
		}
		var err error
		if id, err = g.a.queries.InsertAlarmNotice(g.ctx, g.tx, p); err != nil {
			return err
		}
		if err := g.a.cfg.Webhooks.Write(g.ctx, g.tx, toldOf(&first, count, g.now)); err != nil {
			return err
		}
		if within {
			s.NoticeID = id
		} else {
			s.WindowUntil = g.now + g.a.cfg.Defaults().Window.Milliseconds()
		}
	}
	s.made = id
	return g.settle(events, eventTold, id)
}

// toldOf is what programs hear of a notice. What is gathered into it later they do not hear: the runs have told them.
func toldOf(first *raised, count, now int64) webhook.Event {
	e := webhook.Event{
		Type: webhook.AlarmRaised, Group: first.groupID, Job: first.jobID, Run: first.logID, At: time.UnixMilli(now),
		Facts: webhook.Facts{Cause: string(first.cause), Count: count},
	}
	if first.cause == scheduler.AlarmRecovered {
		e.Type = webhook.AlarmRecovered
	}
	return e
}

// States of an event.
const (
	eventTold    = 1
	eventDropped = 2
)

// settle takes events out of the new ones.
func (g *gathering) settle(events []raised, state, noticeID int64) error {
	ids := db.IDs(events, func(r *raised) int64 { return r.id })
	n, err := g.a.queries.SettleAlarmEvents(g.ctx, g.tx, db.SettleAlarmEventsParams{State: state, NoticeID: noticeID, Ids: ids})
	if err != nil {
		return err
	}
	if n != int64(len(ids)) {
		return errRaced
	}
	return nil
}

// write puts the states back, each guarded by the revision that was read.
func (g *gathering) write() error {
	// In one order on every admin, so that two of them seldom wait for each other.
	keys := slices.SortedFunc(maps.Keys(g.states), func(x, y stateKey) int {
		return cmp.Or(cmp.Compare(x.jobID, y.jobID), cmp.Compare(x.cause, y.cause))
	})
	for _, key := range keys {
		s := g.states[key]
		if !s.changed {
			continue
		}
		if err := g.a.writeState(g.ctx, g.tx, &s.AlarmState); err != nil {
			return err
		}
	}
	return nil
}

func (a *Alarmer) writeState(ctx context.Context, tx db.DBTX, s *db.AlarmState) error {
	if s.Revision == 0 {
		return db.Error(a.queries.InsertAlarmState(ctx, tx, db.InsertAlarmStateParams{
			JobID: s.JobID, Cause: s.Cause, OpenedAt: s.OpenedAt, EventCount: s.EventCount, LastLogID: s.LastLogID,
			LastPlanned: s.LastPlanned, WindowUntil: s.WindowUntil, NoticeID: s.NoticeID, AckedAt: s.AckedAt, AckedBy: s.AckedBy, AckRemark: s.AckRemark,
		}))
	}
	n, err := a.queries.UpdateAlarmState(ctx, tx, db.UpdateAlarmStateParams{
		JobID: s.JobID, Cause: s.Cause, OpenedAt: s.OpenedAt, EventCount: s.EventCount, LastLogID: s.LastLogID,
		LastPlanned: s.LastPlanned, WindowUntil: s.WindowUntil, NoticeID: s.NoticeID, AckedAt: s.AckedAt, AckedBy: s.AckedBy, AckRemark: s.AckRemark,
		OldRevision: s.Revision, NewRevision: s.Revision + 1,
	})
	if err == nil && n != 1 {
		err = errRaced
	}
	return err
}
