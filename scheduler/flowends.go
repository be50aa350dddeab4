package scheduler

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// stepEnds are the ends of steps in a batch of results; nil when there are none, as of runs of no flow.
func (fs *Flows) stepEnds(open []db.ListRunsToEndRow, seen flowsSeen, byID map[int64]*finishing, killed map[int64]event.List, follow *following) *flowMove {
	var m *flowMove
	for i := range open {
		r := &open[i]
		if r.FlowStep == 0 || leaves(fs.cfg.Pool, r) {
			continue
		}
		if r.TriggerCode != 0 && r.TriggerCode != wire.CodeSuccess {
			continue // its sending counted as failed, and the step ended then
		}
		if m == nil {
			m = newFlowMove()
			m.seen = seen
		}
		if follow.retried[r.ID] {
			m.follow(r.FlowStep, follow.of[r.ID])
			continue
		}
		f := byID[r.ID]
		m.ends = append(m.ends, stepEnd{
			step: r.FlowStep, run: r.ID, shard: parseShard(string(r.ExecutorShardingParam)).Index, outcome: f.ends, code: int64(f.code), message: cmp.Or(f.msg, f.english),
			why: whyOf(f, killed[r.ID]), output: f.output, by: endedByWhom(f.why, killed[r.ID]),
		})
	}
	return m
}

// unsentSteps are the ends of steps whose runs could not be sent, and the attempts that follow others.
func unsentSteps(final []*outcome, again []*dispatch) *flowMove {
	var m *flowMove
	for _, o := range final {
		if o.d.step == 0 {
			continue
		}
		if m == nil {
			m = newFlowMove()
		}
		m.ends = append(m.ends, stepEnd{step: o.d.step, run: o.d.id, shard: o.d.shard.Index, outcome: o.sent.Outcome, code: o.sent.Code, message: lastWords(o.d.events), why: lastCause(o.d.events), by: endedByWhom(o.d.events)})
	}
	for _, d := range again {
		if d.step == 0 {
			continue
		}
		if m == nil {
			m = newFlowMove()
		}
		m.follow(d.step, []*dispatch{d})
	}
	return m
}

// lastWords is the last of what there is to tell of a run, for those who read the step and not the run.
func lastWords(events event.List) string {
	if len(events) == 0 {
		return ""
	}
	return events[len(events)-1:].In(time.UTC)
}

// lastCause is the event that lastWords says.
func lastCause(events event.List) string {
	if len(events) == 0 {
		return ""
	}
	return event.CauseOf(events[len(events)-1])
}

// whyOf is the event that a result came of which is none of an executor's; "" where that said it, or nobody knows.
func whyOf(f *finishing, killed event.List) string {
	if f.msg != "" || f.ends == event.Succeeded {
		return ""
	}
	if why, ok := slices.Concat(f.why, killed).Reason(f.ends); ok {
		return event.CauseOf(why)
	}
	if failed, ok := f.why.Last(event.FlowFailed); ok { // of a flow of which a step said nothing
		return event.CauseOf(failed)
	}
	return ""
}

// endedByWhom names who ended a run.
func endedByWhom(told ...event.List) string {
	ended, _ := slices.Concat(told...).Last(event.KilledAt)
	return ended.Text(0)
}

// flowCause tells of the step because of which a run of a flow failed, and why that did. Of flows within flows it names the way to the step.
func flowCause(at time.Time, step, cause string) event.Event {
	switch inner, _ := event.IsCause(cause); inner.Key {
	case event.FlowCause:
		return event.New(at, event.FlowCause, step+" / "+inner.Text(0), inner.Text(1))
	case event.FlowFailed:
		return event.New(at, event.FlowFailed, step+" / "+inner.Text(0))
	default:
		return event.New(at, event.FlowCause, step, cause)
	}
}

// follow notes the attempts that follow one of a step. A broadcast that nobody was there for may have become several.
func (m *flowMove) follow(step int64, runs []*dispatch) {
	if len(runs) == 0 {
		return
	}
	m.next[step] = runs[0].id
	m.more[step] += int64(len(runs) - 1)
}

// asStep is a job as a step of a flow wants it retried.
func (fs *Flows) asStep(ctx context.Context, tx *sql.Tx, j *job, step int64) (*job, error) {
	if step == 0 || j == nil {
		return j, nil
	}
	rows, err := fs.queries.ListFlowStepsByID(ctx, tx, []int64{step})
	if err != nil || len(rows) == 0 {
		return j, err
	}
	run, err := fs.queries.GetFlowRun(ctx, tx, rows[0].FlowLogID)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return j, nil
	} else if err != nil {
		return nil, err
	}
	plan, err := fs.planOf(ctx, tx, run.TextID)
	if _, no := errors.AsType[errNoFlow](err); no {
		return j, nil
	} else if err != nil {
		return nil, err
	}
	place, ok := plan.place[rows[0].Step]
	if !ok {
		return j, nil
	}
	as := *j
	s := &plan.def.Steps[place]
	if s.Retries != nil {
		as.retries = *s.Retries
	}
	as.backoff = cmp.Or(s.RetryBackoff, as.backoff)
	return &as, nil
}

// stop notes that somebody wants a run of a flow ended. Its steps are ended then, and it ends with the last of them.
func (fs *Flows) stop(ctx context.Context, logID int64, user string) error {
	row, err := fs.queries.GetFlowRun(ctx, fs.cfg.Pool, logID)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return ErrRunNotRunning // a run of an XXL-JOB admin that nobody can be asked about
	} else if err != nil {
		return err
	}
	if row.State != flowGoing || row.Asked != int64(flow.AskedNothing) {
		return nil
	}
	if _, err := fs.planOf(ctx, fs.cfg.Pool, row.TextID); unreadablePlan(err) {
		return fs.giveUp(ctx, &row, user)
	}
	return fs.changeAnd(ctx, func(m *flowMove) {
		m.deeds = []flowDeed{{log: logID, asked: flow.AskedStop, by: user}}
	}, func(ctx context.Context, tx *sql.Tx) error {
		now := fs.cfg.Now()
		_, err := fs.queries.MarkKilling(ctx, tx, db.MarkKillingParams{
			ID: logID, AskedAt: now.UnixMilli(), Events: event.List{event.New(now, event.KillAsked, user)}.Stored(),
		})
		return err
	})
}

// giveUp ends a run by whose definition nothing can be decided, as one that a later version of this program began: what goes on of it is to
// end, and it ends at once.
func (fs *Flows) giveUp(ctx context.Context, row *db.FlowRun, user string) error {
	row.State, row.Ends, row.Asked, row.StoppedBy, row.WakeAt = flowDecided, int64(flow.Cancelled), int64(flow.AskedStop), user, 0
	now := fs.cfg.Now()
	err := fs.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		if n, err := db.MoveFlowRuns(ctx, tx, []*db.FlowRun{row}); err != nil || n == 0 { // somebody has decided about it meanwhile
			return err
		}
		if err := fs.killSteps(ctx, tx, row, func(string) bool { return true }); err != nil {
			return err
		}
		_, err := fs.queries.MarkKilling(ctx, tx, db.MarkKillingParams{
			ID: row.LogID, AskedAt: now.UnixMilli(), Events: event.List{event.New(now, event.KillAsked, user)}.Stored(),
		})
		return err
	})
	if err == nil {
		fs.ended.add(flowEnd{log: row.LogID, ends: flow.Cancelled})
		fs.cfg.Changed(row.LogID)
	}
	return err
}

// boundOutputs are the outputs that a caller reports, as far as they are valid and not too large: all of them or none.
func boundOutputs(given map[string]string) map[string]string {
	size := 0
	for key, value := range given {
		if size += len(key) + len(value); size > wire.MaxOutputs || key == "" || !utf8.ValidString(key) || !utf8.ValidString(value) {
			return nil
		}
	}
	return given
}
