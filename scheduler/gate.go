package scheduler

import (
	"context"
	"database/sql"
	"errors"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// A job may say how many of its runs there may be at a time, on all executors and whatever admin sends them. This is
// beside the block strategies, which each executor applies for itself.
//
// Such a run is inserted without an owner (waitingOwner) and with a row in punctual_slot. When its time has come it is given a
// slot, in a transaction that begins by touching the job's row in punctual_gate: of two admins that do so at once, one
// waits or is rolled back. A run that finds no slot stays, and whoever ends a run of the job lets the next one try; or it is
// discarded, if the job says so. The run of a flow is given its slot by the transaction in which it begins ([Flows.begin]). Slots are given back in the transaction that ends the run. The sweep mends what a crash
// leaves: runs that wait although there is room, and slots whose run is over.
const (
	waitingOwner = -1
	gateQueue    = "gate"
	maxWaiting   = 1000 // runs of one job that wait for a slot; more are discarded
)

// admission is a run that asks for its slot.
type admission struct {
	d      *dispatch
	waited event.List
	counts db.CountSlotsRow // of its job, before its own
	given  bool
	full   bool // its job has as many runs as it may
	err    error
	done   chan struct{}
}

// admit tries to give a run its slot. It reports true when the run is this node's to send.
func (e *Engine) admit(ctx context.Context, d *dispatch) bool {
	a := &admission{d: d, done: make(chan struct{})}
	if d.waited {
		a.waited = event.List{event.New(e.now(), event.Waited, e.now().Sub(d.planned))}
	}
	e.pending.add(d) // before it is, so that the low mark is not above it
	if err := e.admitter.add(ctx, a); err != nil {
		e.pending.done(d) // it waits in the database
		return false
	}
	select {
	case <-a.done:
	case <-ctx.Done():
		e.pending.leaveRunInDoubt(d)
		return false
	}
	switch {
	case a.err != nil:
		e.log.Warn("give a run its slot", "log_id", d.id, "job_id", d.job.id, "error", a.err)
		e.pending.leaveRunInDoubt(d) // the commit may have happened
		return false
	case a.given:
		d.owner, d.waiting = e.node.ID(), false
		d.events = append(d.events, a.waited...)
		d.told = len(d.events)
		return true
	case a.full:
		e.noSlot(ctx, d, a.counts)
		return false
	}
	e.pending.done(d) // it waits in the database
	return false
}

// noSlot does what a run means whose job has as many runs as it may.
func (e *Engine) noSlot(ctx context.Context, d *dispatch, counts db.CountSlotsRow) {
	if d.job.glue == jobspec.GlueFlow && d.job.block == wire.BlockCoverEarly {
		newer, err := e.flows.cover(ctx, d)
		if err != nil {
			e.log.Warn("end the run of a flow whose place a newer one wants", "log_id", d.id, "job_id", d.job.id, "error", err)
		}
		if newer != 0 {
			d.retries = 0
			e.endKilled(d, coveredBy(newer))
			return
		}
	}
	switch {
	case d.job.policy == jobspec.ConcurrencyDiscard:
		e.discard(d, event.New(e.now(), event.Full, counts.Running, d.job.limit))
	case counts.Waiting > maxWaiting:
		e.discard(d, event.New(e.now(), event.Crowded, counts.Running, d.job.limit, counts.Waiting))
	default:
		e.pending.done(d) // it waits in the database
	}
}

// admitBatch gives slots to the runs that ask at the same time, of whatever jobs, in one transaction.
func (e *Engine) admitBatch(ctx context.Context, batch []*admission) {
	err := e.admitOnce(ctx, batch)
	if err != nil && len(batch) > 1 && (errors.Is(err, errRaced) || refused(err)) {
		for i := range batch { // somebody else gave one its slot, or discarded it; the others shall have theirs
			e.admitBatch(ctx, batch[i:i+1])
		}
		return
	}
	for _, a := range batch {
		if errors.Is(err, errRaced) {
			a.given = false
		} else {
			a.err = err
		}
		close(a.done)
	}
}

func (e *Engine) admitOnce(ctx context.Context, batch []*admission) error {
	var jobs []int64
	for _, a := range batch {
		jobs = appendNew(jobs, a.d.job.id)
	}
	me := e.node.ID()
	return e.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		room, err := openGates(ctx, e.queries, tx, jobs)
		if err != nil {
			return err
		}
		var ids []int64
		var told []db.Told
		for _, a := range batch {
			a.counts, a.given = room.of(a.d.job), false
			if a.full = !room.take(a.d.job); a.full {
				continue
			}
			a.given = true
			ids, told = append(ids, a.d.id), append(told, db.Told{ID: a.d.id, Events: a.waited.Stored()})
		}
		if len(ids) == 0 {
			return nil
		}
		n, err := e.queries.TakeSlots(ctx, tx, ids)
		if err != nil {
			return err
		}
		if n != int64(len(ids)) {
			return errRaced
		}
		if n, err = db.AdmitRuns(ctx, tx, me, told); err != nil {
			return err
		}
		if n != int64(len(told)) {
			return errRaced
		}
		return nil
	})
}

// openGates begins a transaction that gives slots of jobs: those that run at once wait for it, or conflict. It gives what room there is.
func openGates(ctx context.Context, queries *db.Queries, tx *sql.Tx, jobs []int64) (room, error) {
	n, err := queries.TouchGates(ctx, tx, jobs)
	if err != nil {
		return nil, err
	}
	if n < int64(len(jobs)) {
		if err := db.InsertGates(ctx, tx, jobs); err != nil {
			return nil, err
		}
	}
	rows, err := queries.CountSlots(ctx, tx, jobs)
	if err != nil {
		return nil, err
	}
	r := make(room, len(rows))
	for _, row := range rows {
		r[row.JobID] = row
	}
	return r, nil
}

// room is how many runs of jobs have slots and how many wait for one.
type room map[int64]db.CountSlotsRow

func (r room) of(j *job) db.CountSlotsRow { return r[j.id] }

// take takes a slot for a waiting run of a job. It reports false when there is none.
func (r room) take(j *job) bool {
	now := r[j.id]
	if j.limit > 0 && now.Running >= int64(j.limit) {
		return false
	}
	now.Running++
	now.Waiting--
	r[j.id] = now
	return true
}

// discard ends a run that got no slot. It is not retried: that would only ask for the same slot again.
func (e *Engine) discard(d *dispatch, why event.Event) {
	d.retries = 0
	e.fail(d, "", event.Discarded, why)
}

// startNext sends the next runs of a job that wait for a slot to try for one.
func (e *Engine) startNext(ctx context.Context, jobID int64) error {
	ids, err := e.queries.ListWaitingRuns(ctx, e.cfg.Pool, db.ListWaitingRunsParams{JobID: jobID, NowMs: e.now().UnixMilli(), Limit: 16})
	if err != nil || len(ids) == 0 {
		return err
	}
	row, err := e.queries.GetJob(ctx, e.cfg.Pool, jobID)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return e.cancelOrphans(ctx, ids)
	} else if err != nil {
		return err
	}
	j := jobOf(&row, e.cfg.Pool)
	counts, err := e.queries.CountSlots(ctx, e.cfg.Pool, []int64{jobID})
	if err != nil {
		return err
	}
	running := int64(0)
	if len(counts) > 0 {
		running = counts[0].Running
	}
	if room := int64(j.limit) - running; j.limit > 0 && room < int64(len(ids)) {
		ids = ids[:max(room, 0)]
	}
	if len(ids) == 0 {
		return nil
	}
	runs, err := e.queries.ListRunsByID(ctx, e.cfg.Pool, ids)
	if err != nil {
		return err
	}
	for i := range runs {
		if r := &runs[i]; r.OwnerNode == waitingOwner && r.TriggerCode == 0 && r.HandleCode == 0 {
			d := e.adopted((*db.ListUnsentRunsOfNodeRow)(r), waitingOwner, j)
			d.taken, d.waiting = false, true // nobody has sent it: it never had a slot
			d.pinned = d.shard.Total > 1
			d.waited = true
			e.fire(d)
		}
	}
	return nil
}

// cancelOrphans ends runs that wait for a slot of a job that is deleted: they were made as it was, or are more than are ended with it at once.
func (e *Engine) cancelOrphans(ctx context.Context, ids []int64) error {
	for _, id := range ids {
		run, err := e.readable(ctx, id)
		if err == nil && run.OwnerNode == waitingOwner && !ended(&run) {
			err = e.cancelWaiting(ctx, &run, e.cfg.Name)
		}
		if err != nil && !errors.Is(err, ErrRunNotFound) && !errors.Is(err, errRaced) { // deleted, or ended by another admin
			return err
		}
	}
	return nil
}

// sweepGates mends the slots.
func (e *Engine) sweepGates(ctx context.Context) error {
	stale, err := e.queries.ListStaleSlots(ctx, e.cfg.Pool)
	if err != nil {
		return err
	}
	if len(stale) > 0 {
		ids := make([]int64, len(stale))
		for i, s := range stale {
			ids[i] = s.LogID
		}
		if _, err := e.queries.FreeSlots(ctx, e.cfg.Pool, ids); err != nil {
			return err
		}
	}
	jobs, err := e.queries.ListJobsWithWaiting(ctx, e.cfg.Pool, e.now().Add(-e.cfg.Horizon).UnixMilli())
	if err != nil {
		return err
	}
	for _, id := range jobs {
		failed := e.startNext(ctx, id)
		if err = errors.Join(err, failed); !goesOn(ctx, failed) {
			break
		}
	}
	return err
}

// slots are the slot rows that runs need.
func slots(runs []*dispatch) []db.Slot {
	var s []db.Slot
	for _, d := range runs {
		if d.waiting {
			s = append(s, db.Slot{JobID: d.job.id, LogID: d.id, PlannedAt: d.planned.UnixMilli()})
		}
	}
	return s
}
