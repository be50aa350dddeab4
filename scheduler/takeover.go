package scheduler

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// takeOver makes this node the owner of what a node that is gone left unsent, and sends it. Several nodes may try at once;
// the guarded update gives each run to one of them.
func (e *Engine) takeOver(ctx context.Context, gone db.Node) error {
	// Runs that were given a slot late may be below the mark the node left last.
	first, err := e.queries.FirstSlotRun(ctx, e.cfg.Pool)
	if err != nil {
		return err
	}
	from := min(gone.LowLogID, first)
	var locked error
	for {
		rows, err := e.queries.ListUnsentRunsOfNode(ctx, e.cfg.Pool, db.ListUnsentRunsOfNodeParams{
			LowID: from, OwnerNode: gone.ID, Limit: db.MaxBatch,
		})
		if err != nil {
			return errors.Join(locked, err)
		}
		if len(rows) == 0 {
			return locked
		}
		from = rows[len(rows)-1].ID + 1
		if err = e.adopt(ctx, gone, rows); db.IsLocked(err) {
			locked = err // is the next time's
			err = e.adoptFree(ctx, gone, rows)
		}
		if err != nil || len(rows) < db.MaxBatch {
			return errors.Join(locked, err)
		}
	}
}

// adoptFree is adopt without the runs whose rows somebody has locked.
func (e *Engine) adoptFree(ctx context.Context, gone db.Node, rows []db.ListUnsentRunsOfNodeRow) error {
	ids := db.IDs(rows, func(r *db.ListUnsentRunsOfNodeRow) int64 { return r.ID })
	tx, err := e.cfg.Pool.BeginTx(ctx, nil)
	if err != nil {
		return db.Error(err)
	}
	free, err := e.queries.LockFreeRuns(ctx, tx, ids)
	if err = errors.Join(err, tx.Rollback()); err != nil {
		return db.Error(err)
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(r db.ListUnsentRunsOfNodeRow) bool { return !slices.Contains(free, r.ID) })
	if len(rows) == 0 {
		return nil
	}
	return e.adopt(ctx, gone, rows)
}

// adopt takes a batch of a gone node's unsent runs. When another node took some of them first, they are taken one by one.
func (e *Engine) adopt(ctx context.Context, gone db.Node, rows []db.ListUnsentRunsOfNodeRow) error {
	ids := make([]int64, len(rows))
	jobIDs := make([]int64, 0, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
		jobIDs = appendNew(jobIDs, r.JobID)
	}
	byID, err := e.jobsByID(ctx, jobIDs)
	if err != nil {
		return err
	}
	me := e.node.ID()
	taken := event.List{event.New(e.now(), event.TakenOver, gone.Name, gone.ID)}
	runs, err := e.commitAbove(ctx, ids[0]-1, func(tx *sql.Tx) ([]*dispatch, error) {
		mine := rows
		if _, err := e.queries.LowerNodeMark(ctx, tx, db.LowerNodeMarkParams{ID: me, LowLogID: ids[0]}); err != nil {
			return nil, err
		}
		n, err := e.queries.TakeOverRuns(ctx, tx, db.TakeOverRunsParams{
			NewOwner: me, OldOwner: gone.ID, Ids: ids, Events: taken.Stored(), Message: "\n" + taken.In(e.cfg.JobZone),
		})
		if err != nil {
			return nil, err
		}
		if n != int64(len(rows)) {
			// Which of them are ours now shows in the rows.
			now, err := e.queries.ListRunsByID(ctx, tx, ids)
			if err != nil {
				return nil, err
			}
			mine = slices.DeleteFunc(slices.Clone(rows), func(r db.ListUnsentRunsOfNodeRow) bool {
				return !slices.ContainsFunc(now, func(o db.ListRunsByIDRow) bool { return o.ID == r.ID && o.OwnerNode == me })
			})
		}
		runs := make([]*dispatch, 0, len(mine))
		for i := range mine {
			d := e.adopted(&mine[i], me, byID[mine[i].JobID])
			d.events, d.told = slices.Clip(taken), len(taken)
			runs = append(runs, d)
		}
		return runs, nil
	})
	if len(runs) > 0 {
		e.metrics.adopted.Add(float64(len(runs)))
		e.log.Info("took over unsent runs", "from_node", gone.ID, "runs", len(runs))
	}
	return err
}

// recordReported notes as sent what a node that is gone sent and did not come to record, and of which the result says that
// it arrived. Without it such a run would be a success that nobody ever sent.
func (e *Engine) recordReported(ctx context.Context, gone db.Node, top int64) error {
	rows, err := e.reportedRuns(ctx, gone.ID, gone.LowLogID, top)
	if err != nil {
		return err
	}
	return e.noteReported(ctx, gone.ID, event.New(e.now(), event.TakenOver, gone.Name, gone.ID), rows)
}

// reportedRuns are a node's runs from one id to another that have a result and no record of their sending.
func (e *Engine) reportedRuns(ctx context.Context, node, from, top int64) (reported []db.ListReportedRunsOfNodeRow, err error) {
	for from <= top {
		rows, err := e.queries.ListReportedRunsOfNode(ctx, e.cfg.Pool, db.ListReportedRunsOfNodeParams{
			LowID: from, TopID: top, OwnerNode: node, Limit: db.MaxBatch,
		})
		if err != nil {
			return nil, err
		}
		reported = append(reported, rows...)
		if len(rows) < db.MaxBatch {
			break
		}
		from = rows[len(rows)-1].ID + 1
	}
	return reported, nil
}

// noteReported records that a node's runs were sent, as their results say, and why it is noted only now.
func (e *Engine) noteReported(ctx context.Context, node int64, why event.Event, rows []db.ListReportedRunsOfNodeRow) error {
	for part := range slices.Chunk(rows, db.MaxBatch) {
		ids := make(map[string][]int64) // by address
		for _, r := range part {
			address := string(r.ExecutorAddress)
			ids[address] = append(ids[address], r.ID)
		}
		for address, ids := range ids {
			events := event.List{why, event.New(e.now(), event.Known, address, event.KnownReported)}
			if _, err := e.queries.RecordReportedRuns(ctx, e.cfg.Pool, db.RecordReportedRunsParams{
				Events: events.Stored(), Message: e.recordText("", events), OwnerNode: node, Ids: ids,
			}); err != nil {
				return err
			}
			e.hub.changed(ids...)
		}
	}
	return nil
}

func (e *Engine) jobsByID(ctx context.Context, ids []int64) (map[int64]*job, error) {
	rows, err := e.queries.ListJobsByID(ctx, e.cfg.Pool, ids)
	if err != nil {
		return nil, err
	}
	jobs := make(map[int64]*job, len(rows))
	for i := range rows {
		jobs[rows[i].ID] = jobOf(&rows[i], e.cfg.Pool)
	}
	return jobs, nil
}

// adopted is the dispatch of a row that another node claimed. What lies behind may have been sent by it, shortly before it
// died; what lies ahead has not.
func (e *Engine) adopted(r *db.ListUnsentRunsOfNodeRow, me int64, j *job) *dispatch {
	if j == nil { // deleted meanwhile: sent as it was recorded
		j = &job{id: r.JobID, group: r.JobGroup, handler: string(r.ExecutorHandler), glue: wire.GlueBean, block: wire.BlockSerial}
	}
	if r.TriggerType == jobspec.TriggerTrial {
		j = j.trialOf()
	}
	planned := time.UnixMilli(r.PlannedAt)
	d := &dispatch{
		id: r.ID, owner: me, job: j, planned: planned, due: dueOf(r.PlannedFor, r.PlannedAt), at: planned, trigger: r.TriggerType, param: string(r.ExecutorParam),
		retries: r.ExecutorFailRetryCount, origin: r.OriginLogID, step: r.FlowStep, address: string(r.ExecutorAddress),
		shard: wireShard{Index: 0, Total: 1}, taken: !planned.After(e.now().Add(clockSkew)),
		recheck: r.TriggerType == jobspec.TriggerRetry, read: true,
	}
	if d.address != "" && r.ExecutorShardingParam == "" && j.route == jobspec.RouteShardingBroadcast {
		d.dead = e.now() // see newRuns
	}
	if s := parseShard(string(r.ExecutorShardingParam)); s.Total > 0 {
		d.shard, d.pinned = s, d.address != ""
	}
	if d.address != "" && (d.taken || d.trigger == jobspec.TriggerManual || d.trigger == jobspec.TriggerTrial) {
		d.pinned = true // this is whom it may have been sent to
	}
	return d
}

// settleTaken finds out whether a run that was taken over has been sent already. It reports true when it is to be sent,
// with the address to send it to set where that matters; otherwise it has ended the run, or put it back.
//
// An executor that has a log of the run has it. One that has none but is busy with the job may have it waiting: the run is
// sent to that one, because an executor refuses a run id that waits there (docs/compat.md §1.7), and ours any it has seen. It
// is not taken for one that has the run, as in unanswered.go: most of what a dead admin leaves was never sent. Its work is asked for
// first and its log last, so that a run which begins or ends between the two questions shows in the log; only one that leaves
// the queue of an executor of XXL-JOB between the last question and the request would be done twice. One that does not answer
// may have had it: the run is not sent elsewhere, since doing a thing twice can be worse than not doing it, and its retries
// decide.
func (e *Engine) settleTaken(ctx context.Context, d *dispatch) bool {
	addresses := []string{d.address}
	if d.address == "" {
		addresses = e.candidates(d)
	}
	busy := ""
	var asked event.List
	for _, a := range addresses {
		idle, silent := e.idleBeat(ctx, d, a)
		known, err := e.knows(ctx, d, a)
		if err != nil {
			if e.shortage.own(err) {
				e.later(d)
				return false
			}
			if !nobodyThere(err) || len(addresses) == 1 {
				d.orAgain()
				e.fail(d, a, event.Unconfirmed, append(asked, event.New(e.now(), event.MayHave, a, faultOf(err), err))...)
				return false
			}
			asked = append(asked, event.New(e.now(), event.Asked, a, event.AskLog, event.AnswerUnknown, err))
			continue // nobody listens there, so nobody runs it there
		}
		if known {
			d.address = a
			e.sent(d, e.now(), "known", wire.CodeSuccess, event.Open, append(asked, event.New(e.now(), event.Known, a, event.KnownLog))...)
			return false
		}
		asked = append(asked, event.New(e.now(), event.Asked, a, event.AskLog, event.AnswerNo))
		if busy == "" && silent == nil && !idle.OK() {
			busy = a
			asked = append(asked, event.New(e.now(), event.Asked, a, event.AskIdle, event.AnswerNo, idle.Msg))
		}
	}
	d.events = append(d.events, asked...)
	if e.endStale(d) {
		return false
	}
	if user, ok := e.pending.killed(d.id); ok && busy == "" {
		e.endKilled(d, user)
		return false
	}
	d.address = cmp.Or(d.address, busy)
	return true
}

// clockSkew is how far the clock of the admin that is gone may have been ahead of this one's: what lies ahead by less may
// have been sent.
const clockSkew = 5 * time.Second

// staleAfter is how late a scheduled fire may still be sent when the job's misfire strategy is to do nothing, whatever kept it: an
// admin that died, a claim that hung, an executor with too many before it. It is long enough for another admin to notice and
// send it, short enough that a night's work does not begin at nine because somebody started the admin again.
const staleAfter = time.Minute

// endStale ends a run that is too late to be sent by its job's misfire strategy. A run that waited for a slot was told to wait.
func (e *Engine) endStale(d *dispatch) bool {
	late := e.now().Sub(d.planned)
	if d.trigger != jobspec.TriggerCron || d.job.misfire != jobspec.MisfireDoNothing || late <= staleAfter || d.waited || e.limited(d.job) {
		return false
	}
	d.retries = 0 // another attempt would be later still
	e.fail(d, "", event.Skipped, event.New(e.now(), event.TooLate, late, string(d.job.misfire)))
	return true
}
