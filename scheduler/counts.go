package scheduler

import (
	"context"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// countNew gives the changes that new rows mean.
func (e *Engine) countNew(runs []*dispatch) []upkeep.Change {
	var changes []upkeep.Change
	for _, d := range runs {
		if d.fresh {
			d.fresh = false
			changes = append(changes, upkeep.Change{Hour: upkeep.HourOf(e.wall(d.planned)), Group: d.job.group, Job: d.job.id, To: upkeep.StateRunning, Retry: d.trigger == jobspec.TriggerRetry, Trial: d.trigger == jobspec.TriggerTrial})
		}
	}
	return changes
}

// countDecided are the changes of rows that are inserted decided.
func countDecided(rows []db.NewRun) []upkeep.Change {
	changes := make([]upkeep.Change, len(rows))
	for i := range rows {
		changes[i] = upkeep.Change{Hour: upkeep.HourOf(rows[i].TriggerTime), Group: rows[i].JobGroup, Job: rows[i].JobID, To: upkeep.StateOf(rows[i].Outcome, rows[i].TriggerCode, 0, rows[i].Retries), Outcome: rows[i].Outcome}
	}
	return changes
}

// unsendable are the changes that failed sendings mean: of those runs that are still this owner's and open, because a result
// may have come from an executor that did not answer in time. It is asked only when something failed.
func (e *Engine) unsendable(ctx context.Context, tx db.DBTX, failed []*outcome) ([]upkeep.Change, error) {
	if len(failed) == 0 {
		return nil, nil
	}
	byRow, ids := make(map[ownedRun]*outcome, len(failed)), make([]int64, len(failed))
	for i, o := range failed {
		byRow[ownedRun{o.d.id, o.d.owner}], ids[i] = o, o.d.id
	}
	rows, err := e.queries.ListRunStatesByID(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	var changes []upkeep.Change
	for _, r := range rows {
		if o := byRow[ownedRun{r.ID, r.OwnerNode}]; o != nil && r.TriggerCode == 0 && r.HandleCode == 0 {
			changes = append(changes, upkeep.Change{Hour: upkeep.HourOf(e.wall(o.d.planned)), Group: o.d.job.group, From: upkeep.StateRunning, To: upkeep.StateOf(o.sent.Outcome, wire.CodeFail, 0, 0), Job: o.d.job.id, Outcome: o.sent.Outcome, Trial: o.d.trigger == jobspec.TriggerTrial})
		}
	}
	return changes, nil
}
