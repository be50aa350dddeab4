package scheduler

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/tick"
	"github.com/punctual-job/punctual/scheduler/tracing"
	"github.com/punctual-job/punctual/scheduler/upkeep"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// A run may be anywhere when somebody wants it ended. What its row says decides what is done, one step after the other:
//
//   - It waits for a slot of its job's or its group's limit: it is cancelled in the database (cancelWaiting).
//   - It is sent: its executor is asked (killSent).
//   - It is planned, waits for its turn, or is being sent; which of these is known only to the admin that holds it. The wish is
//     written down in punctual_kill, where that admin finds it (killLoop). It takes the run out of its timer or its queue; if the
//     request is out already, the answer is awaited and the next step is one of the others.
//   - It has failed meanwhile, and a retry follows: the retry is ended in its place.
//
// A wish that takes longer than somebody may be kept waiting stays on record, and is carried out by the admins. So does one whose executor cannot
// be reached, if that executor ends only this run, until the run has ended, and for [owedFor] beyond that of a run that was given up: it may go on
// at an executor that comes back.

// killEvery is how often a node looks for wishes.
const killEvery = 500 * time.Millisecond

// ErrKillLater means that the wish is on record and could not be carried out yet.
var ErrKillLater = errors.New("the run is being sent; it is ended as soon as that is decided")

// killWait is how long somebody is kept waiting: a call and the question after it, with their records.
func (e *Engine) killWait() time.Duration { return 2*e.cfg.Limits().CallTimeout + 2*time.Second }

// Kill ends a run that has not ended, wherever it is. Our executor ends only this run; upstream's ends whatever the job's
// thread runs there, and its queue (docs/compat.md §5.6). A run somebody stopped is not retried, and of a run that has failed
// the retry that waits for its pause is ended. The errors are [ErrRunNotFound], [ErrRunNotRunning], [ErrKillLater], an
// [*ExecutorError], which says whether the wish is kept, or the database's.
func (e *Engine) Kill(ctx context.Context, logID int64, user string) error {
	if e.Held() {
		return ErrHeld
	}
	run, err := e.runByID(ctx, logID)
	if err != nil {
		return err
	}
	if ended(&run) {
		retry, err := e.openRetry(ctx, logID)
		if err != nil {
			return err
		}
		if retry.ID == 0 || retry.TriggerCode != 0 {
			return ErrRunNotRunning
		}
		logID = retry.ID
	}
	asked := int64(0) // the run for which the wish is on record
	for until := time.Now().Add(e.killWait()); ; {
		next, err := e.killStep(ctx, logID, user)
		if next == 0 {
			if asked == 0 || ctx.Err() != nil || kept(err) {
				return err
			}
			if _, undo := e.queries.DeleteKill(ctx, e.cfg.Pool, asked); undo != nil {
				e.log.Warn("take back a wish that is carried out", "log_id", asked, "error", undo)
			}
			return err
		}
		if next != logID { // at once
			logID = next
			continue
		}
		if asked != logID {
			if err := e.moveKill(ctx, asked, db.InsertKillParams{LogID: logID, AskedBy: user, AskedAt: e.now().UnixMilli()}); err != nil {
				return err
			}
			asked = logID
		}
		if time.Now().After(until) {
			return ErrKillLater
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// killStep does what can be done now about a run that is to be ended. It gives the run that is to be looked at next: another
// one when a retry has taken its place, the same when it must be waited for, and 0 when all is done or nothing can be.
func (e *Engine) killStep(ctx context.Context, logID int64, user string) (next int64, err error) {
	for {
		run, err := e.runByID(ctx, logID)
		if err != nil {
			return 0, err
		}
		switch {
		case ended(&run):
			retry, err := e.openRetry(ctx, logID)
			switch {
			case err != nil || retry.ID != 0:
				return retry.ID, err
			case wasKilled(&run):
				return 0, nil
			default:
				return 0, ErrRunNotRunning // it was quicker
			}
		case run.TriggerCode == wire.CodeSuccess && run.ExecutorAddress == "":
			if err = e.flows.stop(ctx, logID, user); err == nil {
				return logID, nil // it ends when its steps have
			}
		case run.TriggerCode == wire.CodeSuccess:
			err = e.killSent(ctx, &run, user)
		case run.OwnerNode == waitingOwner:
			err = e.cancelWaiting(ctx, &run, user)
		default:
			e.pull(logID, user)
			return logID, nil
		}
		if err != nil && !errors.Is(err, errRaced) {
			return 0, err
		}
	}
}

// ended reports whether nothing more can come of a run.
func ended(r *db.Run) bool {
	return r.HandleCode != 0 || r.TriggerCode != 0 && r.TriggerCode != wire.CodeSuccess
}

// wasKilled reports whether it was ended by hand.
func wasKilled(r *db.Run) bool {
	return r.Outcome == event.Killed
}

// openRetry is the retry of a run, unless it has ended.
func (e *Engine) openRetry(ctx context.Context, logID int64) (db.ListOpenRetriesRow, error) {
	rows, err := e.queries.ListOpenRetries(ctx, e.cfg.Pool, db.ListOpenRetriesParams{AfterID: logID, OriginLogID: logID, TriggerType: jobspec.TriggerRetry})
	if err != nil || len(rows) == 0 {
		return db.ListOpenRetriesRow{}, err
	}
	return rows[0], nil
}

// kept reports whether an error says that an executor could not be asked, and that it will be.
func kept(err error) bool {
	e, ok := errors.AsType[*ExecutorError](err)
	return ok && e.Kept
}

// moveKill writes a wish down, in the place of an earlier one if there is one.
func (e *Engine) moveKill(ctx context.Context, from int64, to db.InsertKillParams) error {
	return e.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		if from != 0 {
			if _, err := e.queries.DeleteKill(ctx, tx, from); err != nil {
				return err
			}
		}
		return e.queries.InsertKill(ctx, tx, to)
	})
}

// killSent asks the executor of a run to end it, and notes it as failed by hand. The result is errRaced when it ended by
// itself before it could be noted.
func (e *Engine) killSent(ctx context.Context, run *db.Run, user string) error {
	now := e.now()
	n, err := e.queries.MarkKilling(ctx, e.cfg.Pool, db.MarkKillingParams{
		ID: run.ID, AskedAt: now.UnixMilli(), Events: event.List{event.New(now, event.KillAsked, user)}.Stored(),
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return errRaced
	}
	if _, awaits, err := e.callbacks.Of(ctx, run.ID); err != nil {
		return err
	} else if awaits { // nobody here works on it
		return e.complete(ctx, []finishing{{id: run.ID, code: wire.CodeFail, given: event.Killed}})
	}
	address := string(run.ExecutorAddress)
	answer, err := e.askKillOf(ctx, run)
	if err == nil {
		return e.complete(ctx, []finishing{{id: run.ID, code: wire.CodeFail, msg: plainly(answer.Msg), given: event.Killed}})
	}
	ctx = context.WithoutCancel(ctx) // what was begun is brought to an end, also for somebody who leaves
	// Some executors report the end before they answer, and then know of nothing to end.
	if now, again := e.runByID(ctx, run.ID); again == nil && ended(&now) && wasKilled(&now) {
		return nil
	}
	failed := event.List{event.New(e.now(), event.KillFailed, address, faultOf(err), err)}
	told := db.MarkKillingParams{ID: run.ID, Events: failed.Stored()}
	if faultOf(err) != wire.FaultAnswer && e.endsOnlyOne(run.JobGroup, address) {
		told.AskedAt = now.UnixMilli()
		if err := e.queries.InsertKill(ctx, e.cfg.Pool, db.InsertKillParams{LogID: run.ID, AskedBy: user, AskedAt: told.AskedAt}); err != nil {
			e.log.Warn("keep that a run is to be ended, whose executor cannot be reached", "log_id", run.ID, "error", err)
			told.AskedAt = 0
		}
	}
	if _, err := e.queries.MarkKilling(ctx, e.cfg.Pool, told); err != nil {
		e.log.Warn("tell that a run could not be ended", "log_id", run.ID, "error", err)
	}
	return &ExecutorError{Address: address, Err: err, Kept: told.AskedAt != 0}
}

// endsOnlyOne reports whether an executor ends the run it is asked to end and no other. One that is not ours ends what it has of the job, which
// later is another run.
func (e *Engine) endsOnlyOne(group int64, address string) bool {
	return wire.Pulls(address) || e.directory.takesEnvironment(group, address)
}

// askKillOf has the executor of a run end it. The error says that it could not be asked, or what it answered.
func (e *Engine) askKillOf(ctx context.Context, run *db.Run) (wire.Answer, error) {
	answer, err := e.askKill(ctx, run.JobGroup, calledJob(run.TriggerType, run.JobID, run.ID), run.ID, string(run.ExecutorAddress))
	if err == nil && !answer.OK() {
		err = answerError{answer}
	}
	return answer, err
}

func (e *Engine) askKill(ctx context.Context, group, jobID, logID int64, address string) (wire.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Limits().CallTimeout)
	defer cancel()
	return e.cfg.Executors.Kill(ctx, e.target(group, address), wire.KillRequest{JobID: jobID, LogID: logID})
}

// pull ends a run that this node holds and has not begun to send; one that is under way finds the mark.
func (e *Engine) pull(logID int64, user string) {
	if !e.pending.kill(logID, user) {
		return
	}
	d := e.timer.remove(logID)
	if d == nil {
		d = e.queues.remove(logID)
	}
	switch {
	case d == nil:
		e.handInOf(logID) // what it waits for may be hours away
	case d.taken, !d.unanswered.IsZero(), !d.called.IsZero(): // it may have been sent: that is found out first, and not only when its time comes
		d.at = e.now()
		e.timer.add(d)
	default:
		e.endKilled(d, user)
	}
}

// endKilled ends a run that was not sent.
func (e *Engine) endKilled(d *dispatch, user string) {
	e.fail(d, d.address, event.Killed, event.New(e.now(), event.KilledAt, user, event.KilledUnsent))
}

// killLoop carries out the wishes that other admins have written down for runs of this one, and those that nobody waits for
// any more.
func (e *Engine) killLoop(ctx context.Context) {
	var work errgroup.Group
	work.SetLimit(asksAtOnce)
	defer func() { _ = work.Wait() }() // the functions return no error
	for range tick.Every(ctx, killEvery) {
		e.carryOut(ctx, &work)
	}
}

// carryOut takes back what this node holds, and has those wishes worked on that nobody waits for. It does not wait for that: executors that do not
// answer in time must not keep runs from being taken back.
func (e *Engine) carryOut(ctx context.Context, work *errgroup.Group) {
	failed := func(err error) {
		if ctx.Err() == nil && e.node.MayAct() {
			e.log.Warn("end runs that somebody wants ended", "error", err)
		}
	}
	wishes, err := e.wishes(ctx)
	if err != nil {
		failed(err)
		return
	}
	mine, now := e.node.Mine(), e.now()
	left := now.Add(-e.killWait() - killEvery).UnixMilli()
	e.rests.keep(wishes)
	for _, w := range wishes {
		if w.AskedAt > left || !mine(w.LogID) {
			if e.pending.has(w.LogID) {
				e.pull(w.LogID, w.AskedBy)
			}
			continue
		}
		if !e.rests.begin(w.LogID, now) {
			continue
		}
		begun := work.TryGo(func() error {
			err := e.carryOutLeft(ctx, w)
			e.rests.end(w.LogID, e.now(), err != nil)
			if err != nil && !kept(err) { // that is told in the run
				failed(err)
			}
			return nil
		})
		if !begun { // it has its turn when others rest
			e.rests.end(w.LogID, now, false)
		}
	}
}

// wishes are all that are on record: one that cannot be carried out hides none behind it.
func (e *Engine) wishes(ctx context.Context) (all []db.Kill, err error) {
	const page = 1000
	for after := int64(0); ; after = all[len(all)-1].LogID {
		rows, err := e.queries.ListKills(ctx, e.cfg.Pool, db.ListKillsParams{AfterID: after, Limit: page})
		if err != nil {
			return nil, err
		}
		if all = append(all, rows...); len(rows) < page {
			return all, nil
		}
	}
}

// killRests are the wishes that could not be carried out, as of runs whose executor cannot be reached: each rests for longer than before, since what
// each try comes to is told in its run.
type killRests struct {
	mu sync.Mutex
	of map[int64]killRest // by the run
}

type killRest struct {
	busy  bool // it is worked on
	wait  time.Duration
	until time.Time
}

// maxKillRest is how long a wish rests at most.
const maxKillRest = 30 * time.Second

// keep forgets all but those that there are still, or that are worked on.
func (r *killRests) keep(wishes []db.Kill) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := make(map[int64]killRest, len(r.of))
	for _, w := range wishes {
		if rest, ok := r.of[w.LogID]; ok {
			kept[w.LogID] = rest
		}
	}
	for id, rest := range r.of {
		if rest.busy {
			kept[id] = rest
		}
	}
	r.of = kept
}

// begin is false for a wish that rests, or is worked on.
func (r *killRests) begin(logID int64, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := r.of[logID]
	if rest.busy || now.Before(rest.until) {
		return false
	}
	rest.busy = true
	r.of[logID] = rest
	return true
}

func (r *killRests) end(logID int64, now time.Time, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := r.of[logID]
	if rest.busy = false; failed {
		rest.wait = min(max(2*rest.wait, 2*killEvery), maxKillRest)
		rest.until = now.Add(rest.wait)
	}
	r.of[logID] = rest
}

// carryOutLeft does the next step of a wish that nobody waits for.
func (e *Engine) carryOutLeft(ctx context.Context, w db.Kill) error {
	next, err := e.killStep(ctx, w.LogID, w.AskedBy)
	if next == 0 && (err == nil || errors.Is(err, ErrRunNotRunning)) {
		err = cmp.Or(e.killLost(ctx, w), err)
	}
	switch {
	case err != nil && (ctx.Err() != nil || passes(err) || kept(err)):
		return err
	case next == w.LogID:
		return nil // not decided yet
	case next != 0:
		return e.moveKill(ctx, w.LogID, db.InsertKillParams{LogID: next, AskedBy: w.AskedBy, AskedAt: w.AskedAt})
	case err != nil && !errors.Is(err, ErrRunNotRunning) && !errors.Is(err, ErrRunNotFound):
		e.log.Warn("a run that somebody wanted ended goes on", "log_id", w.LogID, "error", err)
	}
	_, err = e.queries.DeleteKill(ctx, e.cfg.Pool, w.LogID)
	return err
}

// owedFor is how long an executor that is away is to end a run that was given up, should it come back with it.
const owedFor = 24 * time.Hour

// killLost has an executor that is back end a run that was given up while it could not be asked. Nothing is written: what the executor reports of the run is.
func (e *Engine) killLost(ctx context.Context, w db.Kill) error {
	run, err := e.runByID(ctx, w.LogID)
	if errors.Is(err, ErrRunNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	events, address := event.Parse(string(run.Events)), string(run.ExecutorAddress)
	_, lost := events.Last(event.LostRun)
	_, reported := events.Last(event.Result)
	if !lost || reported || !e.endsOnlyOne(run.JobGroup, address) || e.now().Sub(time.UnixMilli(w.AskedAt)) > owedFor {
		return nil
	}
	if _, err = e.askKillOf(ctx, &run); err == nil {
		return nil
	}
	return &ExecutorError{Address: address, Err: err, Kept: faultOf(err) != wire.FaultAnswer}
}

// cancelWaiting ends a run that waits for a slot. The same guard that gives a run its slot keeps it from
// being sent at the same moment.
func (e *Engine) cancelWaiting(ctx context.Context, run *db.Run, user string) error {
	cancelled := int64(0)
	why := event.List{event.New(e.now(), event.KilledAt, user, event.KilledWaiting)}
	var flows *flowMove
	_, err := e.commit(ctx, func(tx *sql.Tx) (runs []*dispatch, err error) {
		flows = nil
		cancelled, err = db.RecordSent(ctx, tx, waitingOwner, true, []db.Sent{{
			ID: run.ID, Code: wire.CodeFail, Alarm: alarmNone, Outcome: event.Killed, Events: why.Stored(), Message: e.recordText("", why),
		}})
		if err != nil || cancelled == 0 {
			return nil, err
		}
		if _, err = e.queries.FreeSlots(ctx, tx, []int64{run.ID}); err != nil {
			return nil, err
		}
		if run.FlowStep != 0 {
			flows = newFlowMove()
			flows.ends = []stepEnd{{step: run.FlowStep, run: run.ID, outcome: event.Killed, code: wire.CodeFail}}
			if err := e.flows.move(ctx, tx, flows); err != nil {
				return nil, err
			}
			runs = flows.runs
		}
		return runs, e.cfg.Webhooks.Write(ctx, tx, webhook.Event{Type: webhook.RunFinished, Group: run.JobGroup, Job: run.JobID, Run: run.ID, At: e.now(), Outcome: event.Killed})
	})
	if err != nil {
		return err
	}
	e.cfg.Webhooks.Wake()
	e.flows.moved(flows)
	if cancelled == 0 {
		return errRaced // it has just been given its slot
	}
	if run.TriggerTime.Valid {
		e.upkeep.Count(upkeep.Change{Hour: upkeep.HourOf(run.TriggerTime.Time), Group: run.JobGroup, From: upkeep.StateOf(run.Outcome, run.TriggerCode, run.HandleCode, run.ExecutorFailRetryCount), To: upkeep.StateOf(event.Killed, wire.CodeFail, 0, 0), Job: run.JobID, Outcome: event.Killed, Trial: run.TriggerType == jobspec.TriggerTrial})
	}
	e.cfg.Traces.Ended(tracing.End{ID: run.ID, Planned: run.PlannedAt, Failed: true})
	e.hub.changed(run.ID)
	return nil
}

// runByID reads a run; the error is [ErrRunNotFound] where there is none.
func (e *Engine) runByID(ctx context.Context, logID int64) (db.Run, error) {
	run, err := e.queries.GetRun(ctx, e.cfg.Pool, logID)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return run, ErrRunNotFound
	}
	return run, err
}
