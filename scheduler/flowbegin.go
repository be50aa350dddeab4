package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// beginning is one try to let a batch of runs of flows begin. Those that it does not name have begun then, or are another admin's.
type beginning struct {
	bad  map[*dispatch]error // whose definition cannot be read; nothing is done then
	full map[*dispatch]lack  // whose flow has as many runs as it may

	fs    *Flows
	now   time.Time
	byID  map[int64]*dispatch
	move  *flowMove
	sent  map[int64][]db.Sent // by owner
	taken []int64             // runs that get the slot that they waited for
	told  []webhook.Event
}

// begin lets a batch begin in one transaction, which gives those their slots that wait for one. What this admin has made is not read before it
// is written, guarded by its still being so, unless read is set: the error is errRaced then.
func (fs *Flows) begin(ctx context.Context, batch []*dispatch, read bool) (*beginning, error) {
	b := &beginning{}
	_, err := fs.cfg.Engine.commit(ctx, func(tx *sql.Tx) ([]*dispatch, error) {
		b = &beginning{
			bad: make(map[*dispatch]error), full: make(map[*dispatch]lack), fs: fs, now: fs.cfg.Now(),
			byID: make(map[int64]*dispatch, len(batch)), move: newFlowMove(), sent: make(map[int64][]db.Sent, 1),
		}
		rows, err := b.read(ctx, tx, batch, read)
		if err != nil || len(rows) == 0 {
			return nil, err
		}
		if err := b.plan(ctx, tx, rows); err != nil || len(b.bad) > 0 {
			return nil, err
		}
		err = b.write(ctx, tx)
		return b.move.runs, err
	})
	if err == nil {
		for _, f := range b.move.begun {
			fs.remember(f.plan)
		}
		fs.moved(b.move)
	}
	return b, err
}

// read gives the rows of those that may begin.
func (b *beginning) read(ctx context.Context, tx *sql.Tx, batch []*dispatch, read bool) ([]db.ListRunsByIDRow, error) {
	var rows []db.ListRunsByIDRow
	var ask, gates []int64
	for _, d := range batch {
		b.byID[d.id] = d
		if read || d.claimed.IsZero() {
			ask = append(ask, d.id)
		} else {
			rows = append(rows, rowOf(d))
		}
		if d.waiting {
			gates = appendNew(gates, d.job.id)
		}
	}
	slots := &room{}
	if len(gates) > 0 {
		if err := touchGates(ctx, b.fs.queries, tx, gates); err != nil {
			return nil, err
		}
		if err := slots.count(ctx, tx, gates, len(batch)); err != nil {
			return nil, err
		}
	}
	if len(ask) > 0 {
		asked, err := b.fs.queries.ListRunsByID(ctx, tx, ask)
		if err != nil {
			return nil, err
		}
		rows = append(rows, asked...)
	}
	return slices.DeleteFunc(rows, func(r db.ListRunsByIDRow) bool { // it is another admin's by now, or has ended, or has no slot
		d := b.byID[r.ID]
		if r.OwnerNode != d.owner || r.TriggerCode != 0 || r.HandleCode != 0 {
			return true
		}
		if !d.waiting {
			return false
		}
		no := slots.take(d)
		if no != nil {
			b.full[d] = *no
		}
		return no != nil
	}), nil
}

// plan finds the definitions of runs and decides what is written of each.
func (b *beginning) plan(ctx context.Context, tx *sql.Tx, rows []db.ListRunsByIDRow) error {
	given, err := b.given(ctx, tx, rows)
	if err != nil {
		return err
	}
	jobs := make(map[int64]*job)
	for i := range rows {
		if r := &rows[i]; given[r.ID] == nil {
			jobs[r.JobID] = b.byID[r.ID].job
		}
	}
	plans, unread, err := b.fs.plansFor(ctx, tx, jobs)
	if err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		plan, err := plans[r.JobID], unread[r.JobID]
		before := given[r.ID]
		if before != nil {
			plan, err = b.fs.planOf(ctx, tx, before.TextID)
		}
		if no, is := errors.AsType[errNoFlow](err); is {
			b.bad[b.byID[r.ID]] = no
			continue
		} else if err != nil {
			return err
		}
		if err := b.start(ctx, tx, r, plan, before); err != nil {
			return err
		}
	}
	return nil
}

// given are the rows of runs of flows that are there already, as steps were given to them (see Repeat).
func (b *beginning) given(ctx context.Context, tx *sql.Tx, rows []db.ListRunsByIDRow) (map[int64]*db.FlowRun, error) {
	var byHand []int64
	for i := range rows {
		if rows[i].TriggerType == jobspec.TriggerManual {
			byHand = append(byHand, rows[i].ID)
		}
	}
	if len(byHand) == 0 {
		return nil, nil
	}
	runs, err := b.fs.queries.ListFlowRuns(ctx, tx, byHand)
	given := make(map[int64]*db.FlowRun, len(runs))
	for i := range runs {
		given[runs[i].LogID] = &runs[i]
	}
	return given, err
}

// start decides what is written of a run that begins. Of one that is given, before is its row.
func (b *beginning) start(ctx context.Context, tx *sql.Tx, r *db.ListRunsByIDRow, plan *flowPlan, before *db.FlowRun) error {
	fs, now, d := b.fs, b.now, b.byID[r.ID]
	row := db.FlowRun{LogID: r.ID, JobID: r.JobID, JobGroup: r.JobGroup, TextID: plan.text, Zone: d.job.zone, BeganAt: now.UnixMilli()}
	if t := d.job.timeoutSeconds; t > 0 {
		row.Deadline = now.Add(time.Duration(t) * time.Second).UnixMilli()
	}
	if before != nil {
		row.Revision = before.Revision
		if err := fs.queries.SetFlowRunTimes(ctx, tx, db.SetFlowRunTimesParams{LogID: r.ID, BeganAt: row.BeganAt, Deadline: row.Deadline, Zone: row.Zone}); err != nil {
			return err
		}
	}
	f := b.move.begin(row, plan, r, before != nil)
	events := slices.Clone(d.events[d.told:])
	if d.waiting {
		b.taken = append(b.taken, d.id)
		if d.waited {
			events = append(events, event.New(now, event.Waited, now.Sub(d.planned)))
		}
	}
	events = append(events, event.New(now, event.FlowBegan, len(plan.def.Steps)))
	if d.job.block == wire.BlockCoverEarly {
		if err := fs.covered(ctx, tx, f, r.PlannedAt); err != nil {
			return err
		}
		if f.row.StoppedBy != "" {
			events = append(events, event.New(now, event.KillAsked, f.row.StoppedBy))
		}
	}
	b.sent[d.owner] = append(b.sent[d.owner], db.Sent{
		ID: d.id, Code: wire.CodeSuccess, At: now.UnixMilli(), Events: events.Stored(), Message: fs.cfg.Engine.recordText("", events),
	})
	b.told = append(b.told, webhook.Event{Type: webhook.RunSent, Group: r.JobGroup, Job: r.JobID, Run: r.ID, At: now})
	return nil
}

// write writes that the runs have begun, and starts their first steps.
func (b *beginning) write(ctx context.Context, tx *sql.Tx) error {
	fs := b.fs
	if len(b.taken) > 0 {
		n, err := fs.queries.TakeSlots(ctx, tx, b.taken)
		if err != nil {
			return err
		}
		if n != int64(len(b.taken)) {
			return errRaced
		}
	}
	for owner, sent := range b.sent {
		to := owner
		if owner == waitingOwner {
			to = fs.cfg.Node.ID()
		}
		n, err := db.RecordBegun(ctx, tx, owner, to, sent)
		if err != nil {
			return err
		}
		if n != int64(len(sent)) {
			return errRaced
		}
	}
	if fs.cfg.Webhooks.Wants(webhook.RunSent) {
		if err := fs.cfg.Webhooks.Write(ctx, tx, b.told...); err != nil {
			return err
		}
	}
	return fs.move(ctx, tx, b.move)
}

// rowOf is the row of a run that this admin has made, as far as it is read here: nobody has begun it, unless the guard of its update says so.
func rowOf(d *dispatch) db.ListRunsByIDRow {
	return db.ListRunsByIDRow{
		ID: d.id, JobGroup: d.job.group, JobID: d.job.id, ExecutorParam: db.Text(d.param), PlannedAt: d.planned.UnixMilli(), PlannedFor: d.plannedFor(),
		OwnerNode: d.owner, TriggerType: d.trigger,
	}
}
