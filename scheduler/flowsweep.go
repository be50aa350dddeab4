package scheduler

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/tick"
)

// flowEvery is how often a node looks for times of flows that have come.
const flowEvery = 200 * time.Millisecond

// wakesAtOnce is how many runs of flows are decided about in one transaction because their time has come.
const wakesAtOnce = 100

// moved does what follows from a committed move: runs that have been decided come to their ends.
func (fs *Flows) moved(m *flowMove) {
	if m == nil {
		return
	}
	if fs.watched != nil {
		fs.watched(m)
	}
	if len(m.asks) > 0 {
		fs.cfg.Alarms.Wake()
	}
	for _, f := range m.decided {
		fs.kept.keep(f)
		if f.row.State == flowDecided {
			fs.ended.add(flowEnd{f.row.LogID, f.row.TextID, flow.State(f.row.Ends), f.row.FailedStep, f.row.StoppedBy, f.why, f.cause})
		}
		fs.cfg.Changed(f.row.LogID)
	}
}

// flowEnd is what a run of a flow ends as.
type flowEnd struct {
	log  int64
	text int64 // the definition it goes by
	ends flow.State
	step string // the one that failed first; "": none
	by   string // who ended it, or a step of it
	why  string // what that said; "": that is to be read, unless its cause is known
	// Why it failed where its run has not said that, as an argument of an event.
	cause string
}

// resultOfRun is the end of a run of a flow as a result of it.
func (fs *Flows) resultOfRun(ctx context.Context, end flowEnd) (finishing, error) {
	item := finishing{id: end.log, code: wire.CodeFail, given: event.Failed, flow: true}
	switch end.ends {
	case flow.Success, flow.Skipped:
		item.code, item.given = wire.CodeSuccess, event.Succeeded
	case flow.TimedOut:
		item.code, item.given = wire.CodeTimeout, event.TimedOut
	case flow.Cancelled:
		item.given = event.Killed
	case flow.Waiting, flow.Running, flow.Approval, flow.Failed, flow.Rejected:
	}
	switch {
	case end.step == "" && (end.ends == flow.Success || end.ends == flow.Failed):
		if err := fs.giveOutputs(ctx, end, &item); err != nil {
			return item, err
		}
	case end.step != "" && end.ends != flow.Success:
		if err := fs.tellFailure(ctx, end, &item); err != nil {
			return item, err
		}
	}
	if end.ends == flow.Cancelled && end.by != "" {
		item.why = append(item.why, event.New(fs.cfg.Now(), event.KilledAt, end.by, event.KilledRunning))
	}
	return item, nil
}

// giveOutputs adds what the run gives, or which of its outputs has no value.
func (fs *Flows) giveOutputs(ctx context.Context, end flowEnd, item *finishing) error {
	text, fault, err := fs.readOutputs(ctx, end)
	if err != nil {
		return err
	}
	if fault == nil {
		if end.ends == flow.Success { // else what it failed by is gone
			item.msg = text
		}
		return nil
	}
	item.code, item.given, item.english = wire.CodeFail, event.Failed, fault.Said()
	item.why = append(item.why, event.New(fs.cfg.Now(), event.FlowOutputs, event.CauseOfField(fault.Told(), fault.Said())))
	return nil
}

// tellFailure adds which step failed first, and why.
func (fs *Flows) tellFailure(ctx context.Context, end flowEnd, item *finishing) error {
	step := fs.titleOf(ctx, end)
	why := event.New(fs.cfg.Now(), event.FlowFailed, step)
	if end.why == "" && end.cause == "" {
		row, err := fs.queries.GetFlowStep(ctx, fs.cfg.Pool, db.GetFlowStepParams{FlowLogID: end.log, Step: end.step})
		if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
			return err
		}
		why, end.why = fs.failureOf(step, &row)
		end.cause = flow.CauseOf(string(row.Output))
	}
	if end.cause != "" && (why.Key == event.FlowFailed || why.Key == event.FlowItems) { // which tells more than how many there are
		why = flowCause(fs.cfg.Now(), step, end.cause)
	}
	item.why = append(item.why, why)
	if why.Key == event.FlowCause {
		happened, _ := event.IsCause(end.cause)
		item.english = fmt.Sprintf("%s: %s", step, cmp.Or(end.why, happened.String()))
	} else if end.why != "" {
		item.msg = fmt.Sprintf("%s: %s", step, end.why)
	}
	return nil
}

// titleOf is what people call the step that failed first; its id where the definition cannot be read.
func (fs *Flows) titleOf(ctx context.Context, end flowEnd) string {
	plan, err := fs.planOf(ctx, fs.cfg.Pool, end.text)
	if err != nil {
		return end.step
	}
	for i := range plan.def.Steps {
		if s := &plan.def.Steps[i]; s.ID == end.step {
			return s.Title()
		}
	}
	return end.step
}

// failureOf is why a step failed, and what was said about it.
func (fs *Flows) failureOf(step string, row *db.FlowStep) (why event.Event, said string) {
	now := fs.cfg.Now()
	switch {
	case flow.State(row.State) == flow.Rejected && row.DecidedBy != "":
		return event.New(now, event.FlowRejected, step, row.DecidedBy), row.Remark
	case flow.State(row.State) == flow.Rejected:
		return event.New(now, event.FlowSilent, step), ""
	case flow.State(row.State) == flow.TimedOut && row.Message == "":
		return event.New(now, event.FlowLate, step), ""
	case row.Message == "" && row.Total > 0 && row.Failed > 0:
		return event.New(now, event.FlowItems, step, row.Failed, row.Total), ""
	}
	return event.New(now, event.FlowFailed, step), string(row.Message)
}

// flowEnds are the ends of runs of flows that are to be written.
type flowEnds struct {
	mu   sync.Mutex
	list []flowEnd
	wake chan struct{} // capacity 1
}

func newFlowEnds() *flowEnds { return &flowEnds{wake: make(chan struct{}, 1)} }

func (q *flowEnds) add(items ...flowEnd) {
	q.mu.Lock()
	q.list = append(q.list, items...)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *flowEnds) take() []flowEnd {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.list
	q.list = nil
	return list
}

// endLoop writes the ends of runs of flows by the way of all results. What fails here the sweep finds.
func (fs *Flows) endLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-fs.ended.wake:
		}
		if err := fs.end(ctx, fs.ended.take()); err != nil && ctx.Err() == nil {
			fs.cfg.Logger.Warn("end runs of flows", "error", err)
		}
	}
}

// end writes the ends of runs of flows. One that the database refuses keeps no other from its own.
func (fs *Flows) end(ctx context.Context, ends []flowEnd) (err error) {
	for part := range slices.Chunk(ends, db.MaxBatch) {
		failed := fs.endPart(ctx, part)
		if err = errors.Join(err, failed); !goesOn(ctx, failed) {
			return err
		}
	}
	return err
}

func (fs *Flows) endPart(ctx context.Context, part []flowEnd) error {
	items, written := make([]finishing, len(part)), make([]bool, len(part))
	for i, end := range part {
		var err error
		if items[i], err = fs.resultOfRun(ctx, end); err != nil {
			return err
		}
		items[i].used = &written[i]
	}
	if err := fs.cfg.Engine.complete(ctx, items); err != nil {
		return err
	}
	var others []int64 // which somebody has ended before, or deleted
	for i, end := range part {
		if !written[i] {
			others = append(others, end.log)
		}
	}
	return fs.over(ctx, fs.cfg.Pool, others)
}

// over notes that the ends of runs of flows are written. It is called in the transaction that writes them.
func (fs *Flows) over(ctx context.Context, tx db.DBTX, logs []int64) error {
	if len(logs) == 0 {
		return nil
	}
	_, err := fs.queries.EndFlowRuns(ctx, tx, db.EndFlowRunsParams{EndedAt: fs.cfg.Now().UnixMilli(), LogIds: logs})
	return err
}

// wakeLoop decides about runs of flows for which a time has come: the end of a wait, of an approval, of a step or of the whole.
func (fs *Flows) wakeLoop(ctx context.Context) {
	for range tick.Every(ctx, flowEvery) {
		if !fs.cfg.Node.MayAct() {
			continue
		}
		if err := fs.wake(ctx); err != nil && ctx.Err() == nil {
			fs.cfg.Logger.Warn("decide about runs of flows", "error", err)
		}
	}
}

// wake decides about all of them. One that stays as it is, because its definition cannot be read or the database refuses what is decided, keeps no
// other from its turn.
func (fs *Flows) wake(ctx context.Context) (err error) {
	mine := fs.cfg.Node.Mine()
	behind := db.ListFlowRunsToWakeParams{NowMs: fs.cfg.Now().UnixMilli(), Limit: 1000}
	for {
		rows, failed := fs.queries.ListFlowRunsToWake(ctx, fs.cfg.Pool, behind)
		if failed != nil {
			return errors.Join(err, failed)
		}
		var ids []int64
		for _, r := range rows {
			behind.AfterAt, behind.AfterID = r.WakeAt, r.LogID
			if mine(r.LogID) && !fs.rests(r.LogID) {
				ids = append(ids, r.LogID)
			}
		}
		for part := range slices.Chunk(ids, wakesAtOnce) {
			failed := fs.lookAt(ctx, part)
			if err = errors.Join(err, failed); !goesOn(ctx, failed) || !fs.cfg.Node.MayAct() {
				return err
			}
		}
		if len(rows) < int(behind.Limit) {
			return err
		}
	}
}

// lookAt decides about runs whose time has come: together, or where that is refused each for itself.
func (fs *Flows) lookAt(ctx context.Context, logs []int64) error {
	err := fs.change(ctx, func(m *flowMove) { m.look = logs })
	if err == nil || len(logs) == 1 || !refused(err) || ctx.Err() != nil {
		return err
	}
	err = nil
	for i := range logs {
		failed := fs.change(ctx, func(m *flowMove) { m.look = logs[i : i+1] })
		if err = errors.Join(err, failed); !goesOn(ctx, failed) {
			break
		}
	}
	return err
}

// unreadRests is how long a run rests of which nobody can decide here: an admin that can may go on with it, or somebody ends it.
const unreadRests = 10 * time.Second

// rests reports whether a run was looked at lately by whose definition nothing can be decided here.
func (fs *Flows) rests(log int64) bool {
	at, is := fs.unread.get(log)
	return is && fs.cfg.Now().Sub(at) < unreadRests
}

// change does something to runs of flows in a transaction of its own, again when somebody else decided about one of them meanwhile.
func (fs *Flows) change(ctx context.Context, fill func(*flowMove)) error {
	return fs.changeAnd(ctx, fill, nil)
}

// changeAnd is change with what else is done in the transaction.
func (fs *Flows) changeAnd(ctx context.Context, fill func(*flowMove), within func(ctx context.Context, tx *sql.Tx) error) error {
	var m *flowMove
	var lock []int64
	for try := 1; ; try++ {
		_, err := fs.cfg.Engine.commit(ctx, func(tx *sql.Tx) ([]*dispatch, error) {
			if err := fs.lock(ctx, tx, lock); err != nil {
				return nil, err
			}
			m = newFlowMove()
			fill(m)
			if err := fs.move(ctx, tx, m); err != nil {
				return nil, err
			}
			if within != nil {
				if err := within(ctx, tx); err != nil {
					return nil, err
				}
			}
			return m.runs, nil
		})
		if raced, is := errors.AsType[errFlowRaced](err); is && try < 10 {
			lock = raced.logs
			continue
		}
		if err == nil {
			fs.moved(m)
		}
		return err
	}
}

// lock waits for those who decide about runs of flows. It comes before everything else that a transaction reads, so that it sees what
// they have done.
func (fs *Flows) lock(ctx context.Context, tx *sql.Tx, logs []int64) error {
	if len(logs) == 0 {
		return nil
	}
	_, err := fs.queries.LockFlowRuns(ctx, tx, logs)
	return err
}

// sweep finds what events have missed: steps whose runs were ended by others than Punctual, or are deleted; runs of flows that are
// decided and have not come to their end; and those whose row was ended behind their back.
func (fs *Flows) sweep(ctx context.Context) (err error) {
	mine := fs.cfg.Node.Mine()
	for _, part := range []func(context.Context, func(int64) bool) error{fs.sweepDecided, fs.sweepUnsettled, fs.sweepEnded} {
		failed := part(ctx, mine)
		if err = errors.Join(err, failed); !goesOn(ctx, failed) {
			return err
		}
	}
	return err
}

// sweepDecided brings runs to their ends that are decided.
func (fs *Flows) sweepDecided(ctx context.Context, mine func(int64) bool) (err error) {
	for after := int64(0); ; {
		rows, failed := fs.queries.ListFlowRunsInState(ctx, fs.cfg.Pool, db.ListFlowRunsInStateParams{State: flowDecided, AfterID: after, Limit: db.MaxBatch})
		if failed != nil {
			return errors.Join(err, failed)
		}
		var ends []flowEnd
		for _, r := range rows {
			after = r.LogID
			if mine(r.LogID) {
				ends = append(ends, flowEnd{r.LogID, r.TextID, flow.State(r.Ends), r.FailedStep, r.StoppedBy, "", ""})
			}
		}
		failed = fs.end(ctx, ends)
		if err = errors.Join(err, failed); len(rows) < db.MaxBatch || !goesOn(ctx, failed) {
			return err
		}
	}
}

// sweepUnsettled finds steps whose runs have ended without their flow being told.
func (fs *Flows) sweepUnsettled(ctx context.Context, mine func(int64) bool) (err error) {
	for after := int64(0); ; {
		rows, failed := fs.queries.ListUnsettledFlowSteps(ctx, fs.cfg.Pool, db.ListUnsettledFlowStepsParams{AfterID: after, Limit: db.MaxBatch})
		if failed != nil {
			return errors.Join(err, failed)
		}
		for _, r := range rows {
			after = r.ID
			if !mine(r.FlowLogID) {
				continue
			}
			failed := fs.settleStep(ctx, &r)
			if err = errors.Join(err, failed); !goesOn(ctx, failed) {
				return err
			}
		}
		if len(rows) < db.MaxBatch {
			return err
		}
	}
}

// settleStep records the end of a step whose first or last run has ended without that, unless others of it go on.
func (fs *Flows) settleStep(ctx context.Context, s *db.ListUnsettledFlowStepsRow) error {
	runs, err := fs.queries.ListRunsOfStep(ctx, fs.cfg.Pool, db.ListRunsOfStepParams{JobID: s.JobID, FromID: s.FlowLogID, FlowStep: s.ID})
	if err != nil {
		return err
	}
	repeated := make(map[int64]bool)
	for _, r := range runs {
		repeated[r.OriginLogID] = true
	}
	end := stepEnd{step: s.ID, run: s.RunID, outcome: event.Succeeded, code: wire.CodeSuccess, gone: true}
	if len(runs) == 0 {
		end.outcome, end.code = event.Lost, wire.CodeFail
	}
	for i := range runs {
		r := &runs[i]
		switch state := r.Outcome; {
		case r.HandleCode == 0 && (r.TriggerCode == 0 || r.TriggerCode == wire.CodeSuccess):
			return nil // it goes on, or a shard does
		case repeated[r.ID]:
		case r.HandleCode == wire.CodeSuccess, state == event.Succeeded, state == event.Cancelled:
		default:
			end.outcome, end.code = event.Failed, int64(wire.CodeFail)
			if state != event.Open {
				end.outcome = state
			}
			if r.HandleCode != 0 {
				end.code = r.HandleCode
			}
		}
	}
	fs.cfg.Logger.Info("a step of a flow has ended without its flow being told", "log_id", s.FlowLogID, "run", s.RunID)
	return fs.change(ctx, func(m *flowMove) { m.ends = []stepEnd{end} })
}

// sweepEnded stops what goes on of runs of flows whose rows say that they have ended: somebody else wrote that.
func (fs *Flows) sweepEnded(ctx context.Context, mine func(int64) bool) error {
	rows, err := fs.queries.ListEndedFlowRuns(ctx, fs.cfg.Pool, db.MaxBatch)
	if err != nil {
		return err
	}
	var deeds []flowDeed
	for _, id := range rows {
		if mine(id) {
			deeds = append(deeds, flowDeed{log: id, asked: flow.AskedStop})
		}
	}
	if len(deeds) == 0 {
		return nil
	}
	return fs.change(ctx, func(m *flowMove) { m.deeds = deeds })
}
