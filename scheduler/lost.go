package scheduler

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

// A run whose result does not come is decided by asking its executor, registered or not, and never by its age: upstream
// declares what runs on addresses that were listed by hand lost after ten minutes (docs/compat.md §8.3 #31). The question is the
// protocol's idle beat, which every executor knows: is anything of this job running or waiting with you?
//
// Yes settles it, but for an executor of ours: that is asked for its log of each run as well, since it knows them by their ids, and may
// have begun anew without its memory. No leaves two possibilities: the executor was started anew and has forgotten the run, or the handler has given
// the work to somebody else and will report later. So its log of the run is asked for. One that has none for [Config.IdleAfter]
// has lost the run; one that has it is waited for as XXL-JOB does, for as long as it lives, unless its group says that a result
// never comes later than the handler's end. Nobody listening there, for [Config.LostAfter], means that it is gone. An address
// that does not answer in time, or cannot be asked, gets several times that, because a machine too busy to answer may be busy with the run.
//
// XXL-JOB leaves rows open for ever whose result never came, and its admin those that it was about to send when it ended. When
// its database has been adopted they are asked about in the same way, and closed when nobody knows them: days later nobody
// wants them retried, and nobody wants an alarm. As long as an XXL-JOB admin works on the database they are that one's.
//
// The decision may still be wrong, so a result that comes after it supersedes it, see [Engine.supersede].

// sign is what an executor shows of a run.
type sign int

const (
	signBusy    sign = iota // it runs or waits there, or the answer does not say
	signIdle                // it does not, and has no log of the run or one that counts for nothing
	signForgot              // other runs of the job do, and it does not know this one
	signRefused             // nobody listens at the address
	signSilent              // no answer in time, or it could not be asked
)

// watched is since when a run has shown one sign.
type watched struct {
	sign  sign
	since time.Time
}

// asksAtOnce and asksPerSweep bound what one sweep asks.
const (
	asksAtOnce   = 16
	asksPerSweep = 500
)

// question is asked once for all runs of a job at an address.
type question struct {
	group   int64
	job     int64
	address string
}

// sweepLost asks about this node's share of the runs that have no result, and gives up those that are lost.
func (e *Engine) sweepLost(ctx context.Context, s *sweeper) error {
	top, err := e.queries.MaxRunID(ctx, e.cfg.Pool)
	if err != nil {
		return err
	}
	awaited, late, err := e.callbacks.awaited(ctx)
	if err != nil {
		return err
	}
	if e.memory.gone.Swap(false) { // runs that had ended are open again
		s.low, s.next, s.known = 0, 0, 0
	}
	// Not the top of now: a lower id may be in a transaction that is not committed yet.
	upTo, next, marked := s.known, s.next, s.marked
	if now := e.now(); upTo == 0 || now.Sub(marked) >= committedIn || now.Before(marked) {
		upTo, next, marked = next, top, now
	}
	lowest := upTo
	mine := e.node.Mine()
	var order []question
	runs := make(map[question][]int64)
	running := make(map[seriesKey]int)
	s.planned, s.theirs, s.since = make(map[int64]time.Time), make(map[int64]bool), make(map[string]time.Time)
	var unsent []int64 // by an XXL-JOB admin
	var known, all []int64
	err = e.eachOpen(ctx, s, func(r *db.ListOpenRunsRow) {
		lowest = min(lowest, r.ID)
		if all = append(all, r.ID); r.ID <= upTo {
			known = append(known, r.ID)
		}
		s.sentTo(r)
		theirs := r.PlannedAt == 0
		if !mine(r.JobID) || theirs && (e.beside() || e.foreignSeen()) {
			return
		}
		if r.TriggerCode == wire.CodeSuccess {
			running[seriesKey{r.JobGroup, r.JobID}]++
		}
		age := e.now().Sub(e.startOf(r))
		if theirs && r.TriggerCode == 0 && age >= e.cfg.Limits().LostAfter {
			unsent = append(unsent, r.ID)
		}
		if r.TriggerCode != wire.CodeSuccess || r.ExecutorAddress == "" || awaited[r.ID] || age < e.cfg.AskAfter {
			return
		}
		q := question{group: r.JobGroup, job: calledJob(r.TriggerType, r.JobID, r.ID), address: string(r.ExecutorAddress)}
		if runs[q] == nil {
			order = append(order, q)
		}
		runs[q] = append(runs[q], r.ID)
		s.planned[r.ID], s.theirs[r.ID] = e.plannedOf(r), theirs
	})
	if err != nil {
		return err
	}
	s.low, s.known, s.next, s.marked, s.open = lowest, upTo, next, marked, known
	e.open.Store(&all)
	e.measured.setRunning(running)
	e.closeTheirs(ctx, unsent, nil)
	if len(order) > asksPerSweep { // the rest in the next sweeps
		s.turn = (s.turn + asksPerSweep) % len(order)
		order = append(order[s.turn:], order[:s.turn]...)[:asksPerSweep]
	}
	e.judge(ctx, s, order, runs)
	return e.callbacks.end(ctx, late)
}

// committedIn is how long a transaction that inserts runs may take, as one of an admin that is frozen meanwhile: up to then a run is found by the
// next sweep, whatever came before it.
const committedIn = 30 * time.Second

// walkEvery is how often the log is walked from the oldest open run on. Nothing but that run may be open in it, while every run since that could
// not be sent stands there without a result: beside one that takes weeks that is a second and more on a big log.
const walkEvery = 5 * time.Minute

// eachOpen shows the runs that are open, in their order: those that were at the last sweep and what has come since, and now and then all.
func (e *Engine) eachOpen(ctx context.Context, s *sweeper, see func(*db.ListOpenRunsRow)) error {
	after := s.low - 1
	if now := e.now(); s.known == 0 || now.Sub(s.walked) >= walkEvery || now.Before(s.walked) {
		s.walked = now
	} else {
		for ids := range slices.Chunk(s.open, db.MaxBatch) {
			rows, err := e.queries.ListOpenRunsByID(ctx, e.cfg.Pool, ids)
			if err != nil {
				return err
			}
			for i := range rows {
				see((*db.ListOpenRunsRow)(&rows[i]))
			}
		}
		after = s.known
	}
	for {
		rows, err := e.queries.ListOpenRuns(ctx, e.cfg.Pool, db.ListOpenRunsParams{AfterID: after, Limit: 1000})
		if err != nil {
			return err
		}
		for i := range rows {
			see(&rows[i])
		}
		if len(rows) < 1000 {
			return nil
		}
		after = rows[len(rows)-1].ID
	}
}

// OpenRuns are the runs that were open at the last sweep, in their order.
func (e *Engine) OpenRuns() []int64 {
	if ids := e.open.Load(); ids != nil {
		return *ids
	}
	return nil
}

// judge asks the questions and gives up the runs that have shown no sign for too long.
func (e *Engine) judge(ctx context.Context, s *sweeper, order []question, runs map[question][]int64) {
	signs := e.ask(ctx, order)
	now := e.now()
	open := make(map[int64]bool)
	for _, ids := range runs {
		for _, id := range ids {
			open[id] = true
		}
	}
	for id := range s.watch {
		if !open[id] {
			delete(s.watch, id)
		}
	}
	for id := range s.logged {
		if !open[id] {
			delete(s.logged, id)
		}
	}
	if s.watch == nil {
		s.watch, s.logged = make(map[int64]watched), make(map[int64]time.Time)
	}
	for _, q := range order {
		said, asked := signs[q]
		if !asked {
			continue
		}
		lost := make(map[sign][]int64)
		at := e.logsOf(ctx, s, q, said, runs[q])
		for _, id := range runs[q] {
			w, sign := s.watch[id], said
			switch {
			case said == signIdle && at[id] == logThere:
				sign = signBusy
			case said == signBusy && at[id] == logUnknown:
				sign = signForgot
			}
			switch {
			case sign == signBusy:
				delete(s.watch, id)
			case w.sign != sign:
				s.watch[id] = watched{sign: sign, since: now}
			case now.Sub(w.since) >= e.patience(sign):
				lost[sign] = append(lost[sign], id)
				delete(s.watch, id)
			}
		}
		for sign, ids := range lost {
			e.giveUp(ctx, s, q, sign, ids)
		}
	}
}

// logged is what an executor that was asked about a job says of one run.
type logged int

const (
	logMissing logged = iota // it has no log of it
	logThere                 // it has, or does not say that it has none, or was not asked in this sweep
	logUnknown               // it has none, and is one of ours: it does not know the run
)

// logsOf asks for the logs of a job's runs, where it matters: whether they may go on although their executor has nothing of the job any
// more, and whether one of ours that is busy with the job knows them.
func (e *Engine) logsOf(ctx context.Context, s *sweeper, q question, said sign, ids []int64) map[int64]logged {
	g := e.directory.get(q.group)
	switch {
	case said == signIdle && g != nil && !g.idleLost:
	case said == signBusy && e.directory.takesEnvironment(q.group, q.address):
	default:
		return nil
	}
	var mu sync.Mutex
	at := make(map[int64]logged, len(ids))
	var calls errgroup.Group
	calls.SetLimit(asksAtOnce)
	now := e.now()
	asks := 0
	for _, id := range ids {
		mu.Lock() // those that were begun write to both
		later := asks >= asksPerJob || now.Before(s.logged[id])
		at[id] = logThere
		mu.Unlock()
		if later {
			continue
		}
		asks++
		planned := s.planned[id]
		calls.Go(func() error {
			log, err := e.askWhether(ctx, &dispatch{id: id, job: &job{id: q.job, group: q.group}, planned: planned}, q.address)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil || !log.Missing():
				s.logged[id] = now.Add(askLogEvery)
			case log.Remembers > 0:
				at[id] = logUnknown
			default:
				at[id] = logMissing
			}
			return nil
		})
	}
	_ = calls.Wait() // the functions return no error
	return at
}

// asksPerJob is how many runs of a job at an address are asked for in one sweep, and askLogEvery how often one that has a log.
const (
	asksPerJob  = 50
	askLogEvery = time.Minute
)

// patience is how long a run may show no sign.
func (e *Engine) patience(s sign) time.Duration {
	switch s {
	case signIdle, signForgot:
		return e.cfg.Limits().IdleAfter
	case signSilent:
		return 4 * e.cfg.Limits().LostAfter
	case signBusy, signRefused:
		return e.cfg.Limits().LostAfter
	default:
		return e.cfg.Limits().LostAfter
	}
}

// ask puts the questions, several at once.
func (e *Engine) ask(ctx context.Context, order []question) map[question]sign {
	var mu sync.Mutex
	signs := make(map[question]sign, len(order))
	var calls errgroup.Group
	calls.SetLimit(asksAtOnce)
	for _, q := range order {
		calls.Go(func() error {
			call, cancel := context.WithTimeout(ctx, e.cfg.Limits().CallTimeout)
			defer cancel()
			answer, err := e.cfg.Executors.IdleBeat(call, e.target(q.group, q.address), wire.IdleBeatRequest{JobID: q.job})
			s := signBusy
			switch {
			case ctx.Err() != nil, e.shortage.own(err):
				return nil
			case nobodyThere(err):
				s = signRefused
			case err != nil:
				s = signSilent
			case answer.OK():
				s = signIdle
			}
			mu.Lock()
			signs[q] = s
			mu.Unlock()
			return nil
		})
	}
	_ = calls.Wait() // the functions return no error
	return signs
}

// nobodyThere reports whether a call failed because there is no executor at the address, as its machine, the last on the way to that, or a
// name server said. A connection that is not made in time, a name that nobody could look up, and a certificate that is not trusted say
// nothing of the kind: the executor may be there, and at work.
func nobodyThere(err error) bool {
	if err == nil || wire.Delivered(err) {
		return false
	}
	switch wire.FaultOf(err) {
	case wire.FaultRefused, wire.FaultSilent:
		return true
	case wire.FaultUnreachable:
		return !errors.Is(err, syscall.ENETUNREACH) // it is this machine that knows no way then
	case wire.FaultHost:
		name, ok := errors.AsType[*net.DNSError](err)
		return ok && name.IsNotFound
	case wire.FaultConnect, wire.FaultCertificate, wire.FaultTLS, wire.FaultNotFetched, wire.FaultLate, wire.FaultBroken, wire.FaultStatus,
		wire.FaultProtocol, wire.FaultTooOld, wire.FaultAnswer, wire.FaultStopped, wire.FaultOwn, wire.FaultOther:
	}
	return false
}

// giveUp ends the runs that nothing is to be expected of any more.
func (e *Engine) giveUp(ctx context.Context, s *sweeper, q question, sign sign, ids []int64) {
	reason := event.LostSilent
	switch sign {
	case signIdle:
		reason = event.LostIdle
	case signForgot:
		reason = event.LostForgot
	case signRefused:
		reason = event.LostGone
	case signBusy, signSilent:
	}
	why := event.List{event.New(e.now(), event.LostRun, reason, q.address)}
	var theirs, ours []int64
	for _, id := range ids {
		if s.theirs[id] {
			theirs = append(theirs, id)
		} else {
			ours = append(ours, id)
		}
	}
	e.closeTheirs(ctx, theirs, why)
	if ids = ours; len(ids) == 0 {
		return
	}
	e.log.Warn("runs lost", "executor", q.address, "job_id", q.job, "runs", len(ids), "reason", reason)
	e.metrics.lost.Add(float64(len(ids)))
	items := make([]finishing, len(ids))
	refused := e.refusals.resultsOf(ctx, ids)
	for i, id := range ids {
		items[i] = finishing{id: id, code: wire.CodeFail, given: event.Lost, why: why}
		if r, is := refused[id]; is { // that is why it did not come
			items[i].why = append(slices.Clip(why), event.New(r.at, event.NotTold, r.from, event.NotToldToken))
		}
	}
	if err := e.complete(ctx, items); err != nil {
		e.log.Warn("record lost runs", "error", err)
	}
}

// closeTheirs ends runs that an XXL-JOB admin left open. Nothing follows from it.
func (e *Engine) closeTheirs(ctx context.Context, ids []int64, why event.List) {
	if len(ids) == 0 {
		return
	}
	why = append(slices.Clip(why), event.New(e.now(), event.LeftOpen))
	items := make([]finishing, len(ids))
	for i, id := range ids {
		items[i] = finishing{id: id, code: wire.CodeFail, given: event.Lost, why: why, mute: true}
	}
	if err := e.complete(ctx, items); err != nil {
		e.log.Warn("close what was open when this database was adopted", "error", err)
		return
	}
	e.leftOpen.Add(int64(len(ids)))
	e.log.Info("closed runs that were open when this database was adopted", "runs", len(ids))
}

// plannedOf is the time by which the executor files the log of a run.
func (e *Engine) plannedOf(r *db.ListOpenRunsRow) time.Time {
	if r.PlannedAt == 0 && r.TriggerTime.Valid { // a row of upstream's
		return e.cfg.Pool.FromWall(r.TriggerTime.Time)
	}
	return time.UnixMilli(r.PlannedAt)
}

// startOf is when a run was sent, as well as its row can tell.
func (e *Engine) startOf(r *db.ListOpenRunsRow) time.Time {
	switch {
	case r.SentAt > 0:
		return time.UnixMilli(r.SentAt)
	case r.TriggerTime.Valid:
		return e.cfg.Pool.FromWall(r.TriggerTime.Time)
	}
	return time.Time{}
}

// supersede records the result of a run that had been given up: the executor knows better. Both are in the message. Its
// children are started unless its retry has succeeded before (chain.go).
func (e *Engine) supersede(ctx context.Context, tx db.DBTX, r *db.ListRunsToEndRow, f *finishing) error {
	now := e.now()
	late := event.List{event.New(now, event.Result, f.code, f.msg)}
	end := e.endsAt(f, r.SentAt, now)
	if late = append(late, end.told...); len(end.told) == 0 { // it was given up because nobody could be asked: why it comes now, nobody knows
		late = append(late, event.New(now, event.EndUnsure, time.UnixMilli(max(r.SentAt, r.PlannedAt)), now))
	}
	n, err := e.queries.SupersedeLost(ctx, tx, db.SupersedeLostParams{
		ID: r.ID, HandleCode: int64(f.code), HandleTime: nullTime(e.wall(end.at)), FinishedAt: end.at.UnixMilli(),
		Outcome: f.ends, Events: late.Stored(),
		HandleMsg: db.Text(joinLines(string(r.HandleMsg), clip(f.msg, maxResult))),
	})
	if err == nil && n == 0 {
		return errRaced
	}
	return err
}
