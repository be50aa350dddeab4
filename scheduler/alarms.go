package scheduler

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// AlarmCause is what happened that somebody may want to hear of. The values stand in tables and in the settings of routes.
type AlarmCause string

// The causes. The engine raises all but slow, silent and deadline, which nothing makes happen and which the alarmer looks for itself.
const (
	AlarmFailed    AlarmCause = "failed"    // a run failed and no retry is left
	AlarmTimeout   AlarmCause = "timeout"   // the same, because it took longer than the job allows
	AlarmLost      AlarmCause = "lost"      // the same, because its executor is gone
	AlarmDispatch  AlarmCause = "dispatch"  // a run could not be sent and no retry is left, or its job cannot be scheduled
	AlarmMisfire   AlarmCause = "misfire"   // planned fires passed unseen and were skipped
	AlarmSlow      AlarmCause = "slow"      // a run takes long, and goes on
	AlarmSilent    AlarmCause = "silent"    // no success for a while
	AlarmDeadline  AlarmCause = "deadline"  // a run will not be done by the time of day that its job says, or was not
	AlarmApproval  AlarmCause = "approval"  // a step of a flow waits for a person
	AlarmRecovered AlarmCause = "recovered" // the first success after one of these
)

// AlarmEvent is one occurrence of a cause.
type AlarmEvent struct {
	JobID, GroupID int64
	LogID          int64 // 0: not about a run
	Cause          AlarmCause
	Planned        int64 // of the run, epoch ms; 0: not about a run
	At             time.Time
	Events         event.List // what led to it
	Text           string     // the executor's own words
}

// Alarms is how the engine hands events to whoever tells people of them.
type Alarms interface {
	// Wanted reports, from memory, whether an event of the cause would interest anybody. It is asked for every result, so it
	// must be quick; it may be seconds behind the settings.
	Wanted(cause AlarmCause, jobID int64) bool
	// Raise writes events down in the transaction that makes them true, so that no crash comes between.
	Raise(ctx context.Context, tx db.DBTX, events []AlarmEvent) error
	// Wake says that a transaction with events has been committed. It must not block.
	Wake()
}

// The values of alarm_status (docs/compat.md §3.8). Upstream's monitor leaves rows alone that another works on, so an old admin
// that is put back does not alarm a second time.
const (
	alarmPending = -1 // an event is on record; the alarmer writes what became of it
	alarmNone    = 1  // nobody is told: a retry follows, or nobody wants to know
)

func (e *Engine) alarmWanted(cause AlarmCause, jobID int64) bool {
	return e.cfg.Alarms != nil && e.cfg.Alarms.Wanted(cause, jobID)
}

// alarmsOf gives the events of a batch of results, and sets the alarm_status of its runs.
func (e *Engine) alarmsOf(open []db.ListRunsToEndRow, byID map[int64]*finishing, follow *following) []AlarmEvent {
	if e.cfg.Alarms == nil {
		return nil
	}
	var events []AlarmEvent
	for i := range open {
		r, f := &open[i], byID[open[i].ID]
		if leaves(e.cfg.Pool, r) || r.TriggerType == jobspec.TriggerTrial {
			continue
		}
		var cause AlarmCause
		if r.AlarmStatus != 0 {
			// The sending counted as failed and was alarmed for then; its result changes nothing about that.
			follow.alarm[r.ID] = r.AlarmStatus
		}
		switch {
		case f.ends == event.Succeeded:
			cause = AlarmRecovered
		case follow.alarm[r.ID] != 0:
			continue
		case f.ends == event.Killed: // somebody wanted it: no alarm, whichever admin takes the executor's report
			follow.alarm[r.ID] = alarmNone
			continue
		case f.ends == event.TimedOut:
			cause = AlarmTimeout
		case f.ends == event.Lost:
			cause = AlarmLost
		default:
			cause = AlarmFailed
		}
		wanted := e.cfg.Alarms.Wanted(cause, r.JobID)
		if f.ends != event.Succeeded {
			follow.alarm[r.ID] = alarmNone
			if wanted {
				follow.alarm[r.ID] = alarmPending
			}
		}
		if !wanted {
			continue
		}
		events = append(events, e.alarmEvent(r, f, cause))
	}
	return events
}

// alarmEvent is what a result means to whoever listens.
func (e *Engine) alarmEvent(r *db.ListRunsToEndRow, f *finishing, cause AlarmCause) AlarmEvent {
	return AlarmEvent{JobID: r.JobID, GroupID: r.JobGroup, LogID: r.ID, Cause: cause, Planned: r.PlannedAt, At: e.now(), Events: f.why, Text: f.msg}
}

// recordFinal writes failed sendings that have no retry left, and raises their alarms. A run that has a result already was
// delivered after all and is recorded as sent; one that is another node's, or is recorded already because the answer to an
// earlier commit was lost, is left alone. It gives those that ended.
func (e *Engine) recordFinal(ctx context.Context, tx *sql.Tx, final []*outcome) (ended []*outcome, raised bool, err error) {
	if len(final) == 0 {
		return nil, false, nil
	}
	ids := make([]int64, len(final))
	byRow := make(map[ownedRun]*outcome, len(final))
	for i, o := range final {
		ids[i] = o.d.id
		byRow[ownedRun{o.d.id, o.d.owner}] = o
	}
	rows, err := e.queries.ListRunsByID(ctx, tx, ids)
	if err != nil {
		return nil, false, err
	}
	failed := make(map[int64][]db.Sent, 1) // by owner
	delivered := make(map[int64][]db.Sent)
	var events []AlarmEvent
	var told []webhook.Event
	now := e.now()
	for i := range rows {
		r := &rows[i]
		o := byRow[ownedRun{r.ID, r.OwnerNode}]
		if o == nil || r.TriggerCode != 0 {
			continue
		}
		sent := o.sent
		if r.HandleCode != 0 {
			sent = e.delivered(o)
			sent.Alarm = r.AlarmStatus
			delivered[o.d.owner] = append(delivered[o.d.owner], sent)
			continue
		}
		sent.Alarm = alarmNone
		cause := AlarmDispatch
		if sent.Outcome == event.Skipped {
			cause = AlarmMisfire
		}
		if sent.Outcome != event.Killed && sent.Outcome != event.Cancelled && r.TriggerType != jobspec.TriggerTrial && e.alarmWanted(cause, r.JobID) {
			sent.Alarm = alarmPending
			events = append(events, AlarmEvent{
				JobID: r.JobID, GroupID: r.JobGroup, LogID: r.ID, Cause: cause, Planned: r.PlannedAt, At: now, Events: o.d.events,
			})
		}
		failed[o.d.owner] = append(failed[o.d.owner], sent)
		ended = append(ended, o)
		told = append(told, webhook.Event{Type: webhook.RunFinished, Group: r.JobGroup, Job: r.JobID, Run: r.ID, At: now, Outcome: sent.Outcome})
	}
	for owner, sent := range delivered {
		if _, err := db.RecordSent(ctx, tx, owner, false, sent); err != nil {
			return nil, false, err
		}
	}
	for owner, sent := range failed {
		n, err := db.RecordSent(ctx, tx, owner, true, sent)
		if err != nil {
			return nil, false, err
		}
		if n != int64(len(sent)) {
			return nil, false, fmt.Errorf("record failed sendings: %w", errRaced) // the batch is written again
		}
	}
	if err := e.cfg.Webhooks.Write(ctx, tx, told...); err != nil || len(events) == 0 {
		return ended, false, err
	}
	return ended, true, e.cfg.Alarms.Raise(ctx, tx, events)
}

// markSkipped sets the alarm_status of rows that are inserted decided, and reports whether any has an alarm.
func (e *Engine) markSkipped(rows []db.NewRun, causes []AlarmCause) bool {
	alarmed := false
	for i := range rows {
		if causes[i] != "" && e.alarmWanted(causes[i], rows[i].JobID) {
			rows[i].AlarmStatus = alarmPending
			alarmed = true
		}
	}
	return alarmed
}

// raiseSkipped raises the alarms of rows that markSkipped marked.
func (e *Engine) raiseSkipped(ctx context.Context, tx db.DBTX, rows []db.NewRun, causes []AlarmCause, ids []int64) error {
	var events []AlarmEvent
	for i := range rows {
		if r := &rows[i]; r.AlarmStatus == alarmPending {
			events = append(events, AlarmEvent{
				JobID: r.JobID, GroupID: r.JobGroup, LogID: ids[i], Cause: causes[i],
				Planned: r.PlannedAt, At: e.now(), Events: event.Parse(r.Events),
			})
		}
	}
	if len(events) == 0 {
		return nil
	}
	return e.cfg.Alarms.Raise(ctx, tx, events)
}
