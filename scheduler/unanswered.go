package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

// A call that brought no answer may have arrived. A Java executor that was paused or busy takes the run later, and one in
// whose queue the run waits has no log of it (docs/compat.md §9). So it is said to have no run only when it has neither a log
// of it nor anything of its job, and that several times over [Config.UnansweredFor]. The question is never the run itself, sent
// again: an executor that has begun a run would do it again.
//
// One of ours knows each run by its id, and since when it does. If it has never had the run, that is sent again at once: should the
// first call arrive after all, whichever comes second is refused as one that it has seen.
//
// Until then nothing is recorded: a result that comes meanwhile is the run's end, as always, and there is no retry yet. A retry
// that follows a run of which a result may still come looks at that run again as it leaves.

// settleUnanswered asks once more after a run of uncertain delivery, and records what is known when that is enough.
func (e *Engine) settleUnanswered(ctx context.Context, d *dispatch) {
	why, err := e.has(ctx, d, d.address)
	_, killed := e.pending.killed(d.id)
	now := e.now()
	switch {
	case errors.Is(err, errNeverHad) && !killed && now.Sub(d.called) < e.cfg.UnansweredFor:
		d.events = append(d.events, event.New(now, event.SentAgain, d.address))
		d.unanswered, d.at = time.Time{}, now
		e.timer.add(d)
		return
	case errors.Is(err, errNeverHad):
		err = nil
	}
	switch {
	case why != "":
		e.sent(d, d.unanswered, "ok", wire.CodeSuccess, event.Open, event.New(now, event.Known, d.address, why))
	case e.shortage.own(err), !killed && now.Sub(d.unanswered) < e.unansweredFor(err):
		d.at = now.Add(min(e.cfg.UnansweredFor*2/5, askAgainAfter))
		e.timer.add(d)
	case err != nil:
		if killed { // should it have arrived, it ends there
			_, _ = e.askKill(ctx, d.job.group, calledJob(d.trigger, d.job.id, d.id), d.id, d.address)
		}
		d.orAgain()
		e.sent(d, d.unanswered, "unknown", wire.CodeFail, event.Unconfirmed, event.New(now, event.MayHave, d.address, faultOf(err), err))
	default:
		d.orAgain()
		e.sent(d, d.unanswered, "lost", wire.CodeFail, event.NotSent, event.New(now, event.Unknown, d.address))
	}
}

// askAgainAfter is at most between two questions after a run, however long it may be without an answer: the first may have come to nothing.
const askAgainAfter = 4 * time.Second

// unansweredFor is how long a run may be without an answer. An executor that does not answer in time, or cannot be asked, may be too busy to,
// and busy with the run: it gets as long as one of which a result is awaited.
func (e *Engine) unansweredFor(err error) time.Duration {
	long := max(e.cfg.UnansweredFor, e.patience(signSilent))
	switch wire.FaultOf(err) {
	case wire.FaultLate, wire.FaultConnect, wire.FaultCertificate, wire.FaultTLS:
		return long
	case wire.FaultHost, wire.FaultUnreachable:
		if !nobodyThere(err) {
			return long
		}
	case "", wire.FaultRefused, wire.FaultNotFetched, wire.FaultSilent, wire.FaultBroken, wire.FaultStatus, wire.FaultProtocol, wire.FaultTooOld, wire.FaultAnswer,
		wire.FaultStopped, wire.FaultOwn, wire.FaultOther:
	}
	return e.cfg.UnansweredFor
}

// has tells from what it is known that an executor has a run: a log of it, or work of its job, among which it may wait. "" says
// that it has neither, unless there is an error; [errNeverHad] is certain. The log is asked for last: a run that begins between the
// questions has one then.
func (e *Engine) has(ctx context.Context, d *dispatch, address string) (why string, err error) {
	idle, silent := e.idleBeat(ctx, d, address)
	log, err := e.askWhether(ctx, d, address)
	switch {
	case err != nil:
		return "", err
	case !log.Missing():
		return event.KnownLog, nil
	case log.NeverHad(e.now().Sub(d.called)):
		return "", errNeverHad // what it is busy with is another run
	case silent == nil && !idle.OK():
		return event.KnownBusy, nil
	}
	return "", silent
}

// errNeverHad is the answer of an executor that a run has not come to it.
var errNeverHad = errors.New("the executor has never had the run")

// idleBeat asks an executor whether it has nothing of a run's job.
func (e *Engine) idleBeat(ctx context.Context, d *dispatch, address string) (wire.Answer, error) {
	call, cancel := context.WithTimeout(ctx, e.cfg.Limits().CallTimeout)
	defer cancel()
	return e.cfg.Executors.IdleBeat(call, e.target(d.job.group, address), wire.IdleBeatRequest{JobID: calledJob(d.trigger, d.job.id, d.id)})
}

// stillNeeded looks at the runs that a retry repeats, in the transaction in which the retry is marked as leaving. It reports
// false when one of them has succeeded after all, and withdraws the retry.
func (e *Engine) stillNeeded(ctx context.Context, d *dispatch) bool {
	succeeded := int64(0)
	err := e.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		succeeded = 0
		if _, err := e.queries.MarkLeaving(ctx, tx, db.MarkLeavingParams{ID: d.id, OwnerNode: d.owner, SentAt: e.now().UnixMilli()}); err != nil {
			return err
		}
		chain, err := e.before(ctx, tx, d.trigger, d.origin)
		for i := range chain {
			if chain[i].HandleCode == wire.CodeSuccess {
				succeeded = chain[i].ID
			}
		}
		return err
	})
	switch {
	case err != nil: // the database is away: what is not known to be needed waits
		e.log.Warn("look at the run that a retry repeats", "log_id", d.id, "error", err)
		d.at = e.now().Add(time.Second)
		e.timer.add(d)
		return false
	case succeeded > 0:
		d.retries = 0
		e.fail(d, "", event.Cancelled, event.New(e.now(), event.Withdrawn, succeeded))
		return false
	}
	return true
}
