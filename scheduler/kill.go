package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
)

// readable is a run that an executor can be asked about.
func (e *Engine) readable(ctx context.Context, logID int64) (db.Run, error) {
	run, err := e.queries.GetRun(ctx, e.cfg.Pool, logID)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return run, ErrRunNotFound
	}
	return run, err
}

// killMark begins the line in a run's message that says who had it ended.
const killMark = "killed by "

// Kill ends a running run: it asks the executor, and when that agrees, notes the run as failed by hand. Our executor ends
// only this run; upstream's ends whatever the job's thread runs there, and its queue (spec §5.6). A run somebody stopped is
// not retried. The errors are [ErrRunNotFound], [ErrRunNotRunning], an [*ExecutorError], or the database's.
func (e *Engine) Kill(ctx context.Context, logID int64, user string) error {
	run, err := e.readable(ctx, logID)
	if err != nil {
		return err
	}
	if run.OwnerNode == waitingOwner && run.TriggerCode == 0 && run.HandleCode == 0 {
		return e.cancelWaiting(ctx, &run, user)
	}
	if run.HandleCode != 0 || run.TriggerCode != wire.CodeSuccess || run.ExecutorAddress == "" {
		return ErrRunNotRunning
	}
	n, err := e.queries.MarkKilling(ctx, e.cfg.Pool, db.MarkKillingParams{ID: logID, Note: db.Text(joinLines(string(run.HandleMsg), killMark+user))})
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrRunNotRunning
	}
	address := string(run.ExecutorAddress)
	call, cancel := context.WithTimeout(ctx, e.cfg.CallTimeout)
	defer cancel()
	answer, err := e.cfg.Executors.Kill(call, e.target(run.JobGroup, address), wire.KillRequest{JobID: run.JobID, LogID: logID})
	if err == nil && !answer.OK() {
		err = errors.New(answerText(answer))
	}
	if err != nil {
		back := db.MarkKillingParams{ID: logID, Retries: run.ExecutorFailRetryCount, Note: run.HandleMsg}
		if _, undo := e.queries.MarkKilling(ctx, e.cfg.Pool, back); undo != nil {
			e.log.Warn("give the retries back to a run that could not be killed", "log_id", logID, "error", undo)
		}
		return &ExecutorError{Address: address, Err: err}
	}
	msg := ""
	if !strings.EqualFold(answer.Msg, "Success") {
		msg = answer.Msg
	}
	return e.complete(ctx, []finishing{{id: logID, code: wire.CodeFail, msg: msg}})
}

// cancelWaiting ends a run that waits for a slot of its job's limit. The same guard that gives a run its slot keeps it from
// being sent at the same moment.
func (e *Engine) cancelWaiting(ctx context.Context, run *db.Run, user string) error {
	cancelled := int64(0)
	err := e.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		var err error
		cancelled, err = db.RecordSent(ctx, tx, waitingOwner, true, []db.Sent{{
			ID: run.ID, Code: wire.CodeFail, Alarm: alarmNone,
			Message: "trigger type: " + string(run.TriggerType) + "\nresult: cancelled by " + user + " while it waited for another run of the job to end",
		}})
		if err != nil || cancelled == 0 {
			return err
		}
		_, err = e.queries.FreeSlots(ctx, tx, []int64{run.ID})
		return err
	})
	if err != nil {
		return err
	}
	if cancelled == 0 {
		return ErrRunNotRunning // it has just been given its slot
	}
	if run.TriggerTime.Valid {
		e.counts.add(change{day: dayOf(run.TriggerTime.Time), from: stateOf(run.TriggerCode, run.HandleCode), to: stateOf(wire.CodeFail, 0)})
	}
	e.hub.changed(run.ID)
	return nil
}

// ReadLog asks a run's executor for its log from a line on. IsEnd is decided by the row as well: a finished run of which
// nothing more came has ended, whatever era the executor is of (spec §4.14).
func (e *Engine) ReadLog(ctx context.Context, logID int64, fromLine int) (wire.LogResult, error) {
	run, err := e.readable(ctx, logID)
	if err != nil {
		return wire.LogResult{}, err
	}
	if run.TriggerCode != wire.CodeSuccess && run.HandleCode == 0 || run.ExecutorAddress == "" {
		return wire.LogResult{FromLineNum: fromLine, IsEnd: run.TriggerCode != 0}, nil
	}
	address := string(run.ExecutorAddress)
	at := run.PlannedAt
	if at == 0 && run.TriggerTime.Valid { // a row of upstream's
		at = e.cfg.Pool.FromWall(run.TriggerTime.Time).UnixMilli()
	}
	call, cancel := context.WithTimeout(ctx, e.cfg.CallTimeout)
	defer cancel()
	log, answer, err := e.cfg.Executors.Log(call, e.target(run.JobGroup, address), wire.LogRequest{
		LogDateTim: at, LogDateTime: at, LogID: logID, FromLineNum: fromLine,
	})
	if err == nil && !answer.OK() {
		err = errors.New(answerText(answer))
	}
	if err != nil {
		return wire.LogResult{}, &ExecutorError{Address: address, Err: err}
	}
	// Newer upstream executors answer line 0 when there is nothing new.
	nothing := log.ToLineNum < fromLine
	log.IsEnd = run.HandleCode > 0 && nothing
	return log, nil
}
