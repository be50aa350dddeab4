package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/tracing"
	"github.com/punctual-job/punctual/scheduler/upkeep"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// writeLimit is how long one try to write a batch may take. It is long for a database that works and short for one whose
// network swallows everything.
const writeLimit = 8 * time.Second

// ownedRun is a run as one owner has it. A batch may hold two outcomes of a run: what became of it, and what somebody wanted to
// do who had not seen that it was given its slot meanwhile.
type ownedRun struct{ id, owner int64 }

// recordBatch writes outcomes. It does not give up while the database is away: the runs are sent, and only the record can
// say so. When the time of a stop is over it does, and the next start asks the executors. What the database refuses while it
// is there is written one by one, so that one outcome it cannot hold does not keep the others from it.
func (e *Engine) recordBatch(ctx context.Context, batch []*outcome) {
	var lock []int64 // runs of flows
	wait := 50 * time.Millisecond
	for tries := 1; ; tries++ {
		began := time.Now()
		try, cancel := context.WithTimeout(ctx, writeLimit)
		err := e.recordOnce(try, batch, lock)
		cancel()
		if err == nil {
			e.metrics.recordBatches.Observe(float64(len(batch)))
			e.metrics.recordSeconds.Observe(time.Since(began).Seconds())
			break
		}
		if raced, is := errors.AsType[errFlowRaced](err); is && lock == nil {
			lock = raced.logs
			continue
		}
		if ctx.Err() != nil {
			e.unrecorded.Add(int64(len(batch)))
			return
		}
		e.log.Warn("record outcomes", "error", err, "runs", len(batch))
		if tries >= 3 && !passes(err) {
			if len(batch) > 1 {
				for i := range batch {
					e.recordBatch(ctx, batch[i:i+1])
				}
				return
			}
			// Bare, and without the retry that may be what is refused.
			o := batch[0]
			o.d.retries = 0
			why := event.List{event.New(e.now(), event.NotRecorded, clip(err.Error(), 1000))}
			o.sent = db.Sent{ID: o.d.id, Code: o.sent.Code, At: o.sent.At, Outcome: o.sent.Outcome, Events: why.Stored(), Message: e.recordText("", why)}
		}
		_ = upkeep.Rest(ctx, wait) // its end is seen at the next try
		wait = min(2*wait, 2*time.Second)
	}
	ids := make([]int64, len(batch))
	for i := range batch {
		ids[i] = batch[i].d.id
		e.pending.done(batch[i].d)
	}
	e.hub.changed(ids...)
}

// passes reports whether an error of the database is about the moment, not about what was to be written.
func passes(err error) bool {
	return db.IsUnavailable(err) || db.IsTransient(err) || errors.Is(err, errRaced) || errors.Is(err, context.DeadlineExceeded)
}

// recordOnce writes a batch in one transaction, in which failures that have retries left make their next attempt. lock are runs of flows that
// somebody else decides about.
func (e *Engine) recordOnce(ctx context.Context, batch []*outcome, lock []int64) error {
	plain := make(map[int64][]db.Sent, 1) // by owner; a node that rejoined may have two
	var retry, failed []*outcome
	for _, o := range batch {
		if o.sent.Code != wire.CodeSuccess && o.d.retries > 0 {
			retry = append(retry, o)
			continue
		}
		if o.sent.Code != wire.CodeSuccess {
			failed = append(failed, o)
			continue
		}
		plain[o.d.owner] = append(plain[o.d.owner], o.sent)
	}
	if len(retry)+len(failed)+len(lock) == 0 && len(plain) == 1 && !e.cfg.Webhooks.Wants(webhook.RunSent) {
		return e.recordPlain(ctx, plain)
	}
	var ended []upkeep.Change
	var freed freedSlots
	var flows *flowMove
	raised := false
	_, err := e.commit(ctx, func(tx *sql.Tx) ([]*dispatch, error) {
		flows = nil
		err := e.flows.lock(ctx, tx, lock)
		if err != nil {
			return nil, err
		}
		if ended, err = e.unsendable(ctx, tx, failed); err != nil {
			return nil, err
		}
		for owner, sent := range plain {
			if _, err := db.RecordSent(ctx, tx, owner, false, sent); err != nil {
				return nil, err
			}
		}
		if err := e.tellSent(ctx, tx, batch); err != nil {
			return nil, err
		}
		var final []*outcome
		if final, raised, err = e.recordFinal(ctx, tx, failed); err != nil {
			return nil, err
		}
		var again []*dispatch
		for _, o := range retry {
			d, err := e.recordRetry(ctx, tx, o)
			if err != nil {
				return nil, err
			}
			again = append(again, d...)
			if len(d) > 0 {
				ended = append(ended, upkeep.Change{Hour: upkeep.HourOf(e.wall(o.d.planned)), Group: o.d.job.group, From: upkeep.StateRunning, To: upkeep.StateOf(o.sent.Outcome, o.sent.Code, 0, o.d.retries), Job: o.d.job.id, Outcome: o.sent.Outcome})
			}
		}
		if err := e.insert(ctx, tx, again); err != nil {
			return nil, err
		}
		if err := db.AddEvents(ctx, tx, e.retriesOf(again)); err != nil {
			return nil, err
		}
		if flows = unsentSteps(final, again); flows != nil {
			if err := e.flows.move(ctx, tx, flows); err != nil {
				return nil, err
			}
			again = append(again, flows.runs...)
		}
		freed, err = e.unsent(ctx, tx, batch)
		return again, err
	})
	if err == nil {
		e.upkeep.Count(ended...)
		e.traceUnsent(retry, failed)
		e.startFreed(ctx, freed)
		e.flows.moved(flows)
	}
	if err == nil && raised {
		e.cfg.Alarms.Wake()
	}
	return err
}

// recordPlain writes the outcomes of one owner's runs that their executors took, from which nothing follows: a statement and no more.
func (e *Engine) recordPlain(ctx context.Context, plain map[int64][]db.Sent) error {
	return e.cfg.Pool.One(ctx, func(tx db.DBTX) error {
		for owner, sent := range plain {
			if _, err := db.RecordSent(ctx, tx, owner, false, sent); err != nil {
				return err
			}
		}
		return nil
	})
}

// traceUnsent says which runs ended without having been sent. One that was delivered after all goes on, which its row says.
func (e *Engine) traceUnsent(lists ...[]*outcome) {
	if e.cfg.Traces == nil {
		return
	}
	for _, list := range lists {
		for _, o := range list {
			e.cfg.Traces.Ended(tracing.End{ID: o.d.id, Planned: o.d.planned.UnixMilli(), Failed: !o.sent.Outcome.Passed()})
		}
	}
}

// unsent does for runs that could not be sent what [Engine.endOf] does for those that ended. It says where a slot
// is free now.
func (e *Engine) unsent(ctx context.Context, tx *sql.Tx, batch []*outcome) (freed freedSlots, err error) {
	var ended, limited []int64
	for _, o := range batch {
		if o.sent.Code == wire.CodeSuccess {
			continue
		}
		ended = append(ended, o.d.id)
		if o.d.job.limit > 0 {
			limited, freed.jobs = append(limited, o.d.id), appendNew(freed.jobs, o.d.job.id)
		}
		if o.d.job.delayed && o.d.retries <= 0 {
			row, err := e.queries.GetJob(ctx, tx, o.d.job.id)
			if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
				continue
			} else if err != nil {
				return freed, err
			}
			s, err := e.scheduleOf(row.ScheduleType, string(row.ScheduleConf), row.TimeZone, row.StartAt, row.EndAt, row.Calendar, row.CalendarRule)
			if err != nil {
				e.log.Warn("the delay of a job cannot be read", "job_id", row.ID, "error", err)
				continue
			}
			if err := e.rearm(ctx, tx, s, row.ID, o.d.id); err != nil {
				return freed, err
			}
		}
	}
	freed.groups, err = e.free(ctx, tx, ended, limited)
	return freed, err
}

// recordRetry writes the failure of one attempt and makes the next. When the row has a result already, the run was
// delivered after all and is recorded as sent; when it is another node's, it is left to that node.
func (e *Engine) recordRetry(ctx context.Context, tx *sql.Tx, o *outcome) ([]*dispatch, error) {
	if o.d.again != noExtra {
		if err := e.queries.GiveRetry(ctx, tx, []int64{o.d.id}); err != nil {
			return nil, err
		}
	}
	failed := o.sent
	failed.Alarm = 1
	n, err := db.RecordSent(ctx, tx, o.d.owner, true, []db.Sent{failed})
	if err != nil {
		return nil, err
	}
	if n == 0 {
		_, err := db.RecordSent(ctx, tx, o.d.owner, false, []db.Sent{e.delivered(o)})
		return nil, err
	}
	if err := e.cfg.Webhooks.Write(ctx, tx, webhook.Event{
		Type: webhook.RunFinished, Group: o.d.job.group, Job: o.d.job.id, Run: o.d.id, At: e.now(), Outcome: o.sent.Outcome, Again: true,
	}); err != nil {
		return nil, err
	}
	shard := o.d.shard
	if shard.Total <= 1 && o.d.job.route != jobspec.RouteShardingBroadcast {
		shard = wireShard{}
	}
	as, err := e.flows.asStep(ctx, tx, o.d.job, o.d.step)
	if err != nil {
		return nil, err
	}
	// A refused connection comes back at once, so retries without a pause would all be spent within milliseconds.
	again := e.newRuns(o.d.job, cause{
		trigger: jobspec.TriggerRetry, planned: e.now().Add(max(e.cfg.RetryBackoff, e.backoff(as, o.d.retries))), param: o.d.param,
		due:     o.d.due,
		retries: o.d.again.after(o.d.retries), origin: o.d.id, step: o.d.step, shard: shard, elsewhere: o.d.again.elsewhere(o.d.address),
	})
	for _, d := range again {
		d.recheck = !o.d.unanswered.IsZero() || o.sent.Outcome == event.Unconfirmed || o.d.trigger == jobspec.TriggerRetry
	}
	return again, nil
}

// retriesOf tells the runs that could not be sent of their next attempts, which have ids now.
func (e *Engine) retriesOf(again []*dispatch) []db.Told {
	told := make([]db.Told, 0, len(again))
	for _, d := range again {
		next := event.List{event.New(e.now(), event.Retry, d.job.id, d.id)}
		if n := len(told); n > 0 && told[n-1].ID == d.origin { // a broadcast that nobody was there for became several
			told[n-1].Events += next.Stored()
			told[n-1].Message += "\n" + next.In(e.cfg.JobZone)
			continue
		}
		told = append(told, db.Told{ID: d.origin, Events: next.Stored(), Message: "\n" + next.In(e.cfg.JobZone)})
	}
	return told
}

// delivered is a sending that looked failed, of a run whose result shows that it arrived.
func (e *Engine) delivered(o *outcome) db.Sent {
	s, known := o.sent, event.List{event.New(e.now(), event.Known, o.sent.Address, event.KnownReported)}
	s.Code, s.Outcome = wire.CodeSuccess, event.Open
	s.Events += known.Stored()
	s.Message += e.recordText("", known)
	return s
}
