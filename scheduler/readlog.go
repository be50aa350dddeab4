package scheduler

import (
	"context"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
)

// ReadLog asks a run's executor for its log from a line on. IsEnd is decided by the row as well: a finished run of which
// nothing more came has ended, whatever era the executor is of (docs/compat.md §4.14).
func (e *Engine) ReadLog(ctx context.Context, run *db.Run, fromLine int) (wire.LogResult, error) {
	if run.TriggerCode != wire.CodeSuccess && run.HandleCode == 0 || run.ExecutorAddress == "" {
		return wire.LogResult{FromLineNum: fromLine, IsEnd: run.TriggerCode != 0}, nil
	}
	address := string(run.ExecutorAddress)
	at := run.PlannedAt
	if at == 0 && run.TriggerTime.Valid { // a row of upstream's
		at = e.cfg.Pool.FromWall(run.TriggerTime.Time).UnixMilli()
	}
	call, cancel := context.WithTimeout(ctx, max(e.cfg.LogTimeout, e.cfg.Limits().CallTimeout))
	defer cancel()
	log, answer, err := e.cfg.Executors.Log(call, e.target(run.JobGroup, address), wire.LogRequest{
		LogDateTim: at, LogDateTime: at, LogID: run.ID, FromLineNum: fromLine,
	})
	if err == nil && !answer.OK() {
		err = answerError{answer}
	}
	if err != nil {
		return wire.LogResult{}, &ExecutorError{Address: address, Err: err}
	}
	// Newer upstream executors answer line 0 when there is nothing new.
	nothing := log.ToLineNum < fromLine
	log.IsEnd = run.HandleCode > 0 && nothing
	return log, nil
}
