package scheduler

import (
	"context"
	"database/sql"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// A fire and its retries are a chain of runs, each naming the one before it. More than one of them may succeed: a run that was
// lost, or whose sending brought no answer, may have been done all the same, and say so after its retry has left. Nobody can
// keep that from happening, but it must not go on to the children. The first success of a chain starts them. Which one is first is
// decided by a row of punctual_followed for the chain's first run, in the transaction of the success.
//
// A retry that has not left looks at all runs before it, and is withdrawn when one has succeeded (stillNeeded).

// followedFor is how long a late success finds that its children have been started: executors that could not report try again
// for days.
const followedFor = 30 * 24 * time.Hour

// before are the runs of which r is a retry, the last first.
func (e *Engine) before(ctx context.Context, tx *sql.Tx, trigger jobspec.TriggerType, origin int64) ([]db.ListRunsByIDRow, error) {
	var chain []db.ListRunsByIDRow
	for trigger == jobspec.TriggerRetry && origin > 0 {
		rows, err := e.queries.ListRunsByID(ctx, tx, []int64{origin})
		if err != nil || len(rows) == 0 { // deleted by its retention
			return chain, err
		}
		chain = append(chain, rows[0])
		if next := rows[0].OriginLogID; next < origin {
			trigger, origin = rows[0].TriggerType, next
			continue
		}
		break // no run comes out of a later one
	}
	return chain, nil
}

// followsFirst reports whether a success is the first of its chain, so that it starts the children.
func (e *Engine) followsFirst(ctx context.Context, tx *sql.Tx, r *db.ListRunsToEndRow) (bool, error) {
	tried := r.TriggerCode != 0 && r.TriggerCode != wire.CodeSuccess || r.HandleCode != 0 // a retry was made of it
	if r.TriggerType != jobspec.TriggerRetry && !tried {
		return true, nil
	}
	first := r.ID
	chain, err := e.before(ctx, tx, r.TriggerType, r.OriginLogID)
	if err != nil {
		return false, err
	}
	if len(chain) > 0 {
		first = chain[len(chain)-1].ID
	}
	n, err := e.queries.InsertFollowed(ctx, tx, db.InsertFollowedParams{LogID: first, ByLogID: r.ID, FollowedAt: e.now().UnixMilli()})
	return n > 0, err
}
