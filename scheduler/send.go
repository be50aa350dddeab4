package scheduler

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/route"
	"github.com/punctual-job/punctual/scheduler/secret"
	"github.com/punctual-job/punctual/scheduler/tracing"
)

// lateAfter is how late a run must be for its message to say so.
const lateAfter = time.Second

// putBack is how long a run waits when the node may not act.
const putBack = 200 * time.Millisecond

// probeQueue is the queue for runs of a group whose executor must be found by asking; no address looks like it. A group
// whose executors are all dead must not delay the others' asking.
func probeQueue(group int64) string { return "probe " + strconv.FormatInt(group, 10) }

// fireAll is called by the timer with the runs whose time has come. It does not block.
func (e *Engine) fireAll(due []*dispatch) {
	e.queues.together(func() {
		for _, d := range due {
			e.fire(d)
		}
	})
}

// fire is what is done with a run whose time has come.
func (e *Engine) fire(d *dispatch) {
	if d.job.glue == jobspec.GlueFlow {
		d.fired = e.now()
		e.begin(d)
		return
	}
	if d.waiting {
		e.queue(gateQueue, d)
		return
	}
	d.fired = e.now()
	if !d.dead.IsZero() {
		e.fail(d, d.address, event.NotSent, event.New(e.now(), event.DeadExecutor, d.address, d.dead))
		return
	}
	if d.address != "" && !d.pinned && !slices.Contains(e.candidates(d), d.address) {
		d.address = "" // the planned executor has gone since
	}
	if d.address == "" && !d.taken && !route.Probing(d.job.route) {
		if addresses := e.candidates(d); len(addresses) > 0 {
			address, err := e.routes.Pick(d.job.route, d.job.id, addresses)
			if err != nil {
				e.fail(d, "", event.NotSent, event.New(e.now(), event.NoRoute, because(err)))
				return
			}
			d.goTo(e.now(), address, len(addresses))
		}
	}
	if d.address == "" {
		e.queue(probeQueue(d.job.group), d)
		return
	}
	e.queue(e.queueOf(d), d)
}

// queueOf is the address queue of a run whose executor is chosen.
func (e *Engine) queueOf(d *dispatch) string {
	return string(e.directory.place(d.job.group, d.address))
}

// queue puts a run in an address queue, or ends it when too many wait.
func (e *Engine) queue(at string, d *dispatch) {
	if !e.queues.add(at, d, e.cfg.MaxWaiting) && !e.draining.Load() {
		e.fail(d, d.address, event.NotSent, event.New(e.now(), event.QueueFull, d.address, e.cfg.MaxWaiting))
	}
}

// candidates are the addresses a run may go to.
func (e *Engine) candidates(d *dispatch) []string {
	if d.given != nil {
		return d.given
	}
	g := e.directory.get(d.job.group)
	if g == nil {
		return nil
	}
	all := e.directory.usable(g, g.addresses)
	if len(d.avoid) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(a string) bool { return slices.Contains(d.avoid, a) })
}

// leaving is a run that may be sent, and the request for it.
type leaving struct {
	d     *dispatch
	req   wire.RunRequest
	place tracing.Place
}

// sendQueued sends runs in one call; the address queues call it in a goroutine of its own. They have one address and group.
func (e *Engine) sendQueued(aq *addressQueue, runs []*dispatch) {
	ready := make([]leaving, 0, len(runs))
	for _, d := range runs {
		if e.settled(aq, d) {
			continue
		}
		l := leaving{d: d}
		if e.prepare(e.work, d, &l.req) {
			ready = append(ready, l)
		}
	}
	ready = slices.DeleteFunc(ready, func(l leaving) bool { return !e.maySend(l.d) }) // all that came before may have taken any time
	if len(ready) > 0 {
		e.send(e.work, ready)
	}
}

// settled does what there is to do before a run is sent, and reports whether it is not to be.
func (e *Engine) settled(aq *addressQueue, d *dispatch) bool {
	ctx := e.work
	if !e.maySend(d) {
		return true
	}
	if d.waiting {
		if e.admit(ctx, d) {
			e.fire(d)
		}
		return true
	}
	if !d.unanswered.IsZero() {
		e.settleUnanswered(ctx, d)
		return true
	}
	if d.taken {
		if !e.settleTaken(ctx, d) || !e.maySend(d) { // asking takes time, in which the lease may have run out
			return true
		}
	}
	if user, ok := e.pending.killed(d.id); ok && !d.taken {
		if d.called.IsZero() {
			e.endKilled(d, user)
			return true
		}
		d.unanswered = d.called // it was to be sent again: has it come meanwhile?
		e.settleUnanswered(ctx, d)
		return true
	}
	if d.address == "" && !e.find(ctx, d) {
		return true
	}
	if at := e.queueOf(d); at != aq.address {
		e.queue(at, d)
		return true
	}
	return false
}

// share is how many bytes a run takes of a call for several; 0: its executor takes none, or what is to be done before it leaves may take
// any time, and others must not wait for it.
func (e *Engine) share(d *dispatch) int {
	if d.address == "" || d.waiting || d.taken || d.recheck || !d.unanswered.IsZero() || !d.called.IsZero() || len(secret.Names(d.param)) > 0 {
		return 0
	}
	size := 512 + len(d.job.handler) + len(d.param)
	if d.job.glue != wire.GlueBean {
		text, ok := e.sources.has(d.job)
		if !ok || d.trigger == jobspec.TriggerTrial || len(secret.InSource(text)) > 0 {
			return 0
		}
		size += len(text)
	}
	to := wire.Target{Address: d.address}
	if g := e.directory.get(d.job.group); g != nil {
		to.AppName = g.appName
	}
	if !e.cfg.Executors.Takes(to) {
		return 0
	}
	return size
}

// maySend reports whether this node may send a run now. When it may not, the run waits, or is another node's.
func (e *Engine) maySend(d *dispatch) bool {
	if d.owner != e.node.ID() && !d.waiting { // this node was declared gone
		e.pending.done(d)
		return false
	}
	if !e.node.MayAct() {
		d.at = e.now().Add(putBack)
		d.held = true
		e.timer.add(d)
		return false
	}
	return true
}

// mayReach is asked when the first byte of a call is about to leave. Whatever stopped this process after maySend had said yes,
// a run is another node's if it took too long.
func (e *Engine) mayReach(runs []leaving) func() bool {
	return func() bool {
		node := e.node.ID()
		return e.node.MayAct() && !slices.ContainsFunc(runs, func(l leaving) bool { return l.d.owner != node })
	}
}

// find chooses the executor of a run whose strategy asks first. It reports false when it ended the run, or put it back.
func (e *Engine) find(ctx context.Context, d *dispatch) bool {
	addresses := e.candidates(d)
	if len(addresses) == 0 && d.job.route != jobspec.RouteShardingBroadcast { // whose shards were counted when it was made
		// Another admin may have made the group, or heard of its first executor, since they were read last.
		_ = e.directory.refresh(ctx) // else what is known counts
		addresses = e.candidates(d)
	}
	if len(addresses) == 0 {
		e.fail(d, "", event.NotSent, e.noAddress(d))
		return false
	}
	if !route.Probing(d.job.route) {
		address, err := e.routes.Pick(d.job.route, d.job.id, addresses)
		if err != nil {
			e.fail(d, "", event.NotSent, event.New(e.now(), event.NoRoute, because(err)))
			return false
		}
		d.goTo(e.now(), address, len(addresses))
		return true
	}
	var short atomic.Bool
	address, replies := route.Probe(ctx, addresses, func(ctx context.Context, a string) route.Reply {
		ctx, cancel := context.WithTimeout(ctx, e.cfg.Limits().CallTimeout)
		defer cancel()
		answer, err := e.probe(ctx, d, a)
		if err != nil {
			if e.shortage.own(err) {
				short.Store(true)
			}
			return route.Reply{Address: a, Silent: true, Text: err.Error()}
		}
		return route.Reply{Address: a, OK: answer.OK(), Text: answerText(answer)}
	})
	if address == "" && short.Load() {
		e.later(d)
		return false
	}
	d.events = append(d.events, e.asked(d, replies)...)
	if address == "" {
		e.fail(d, "", event.NotSent, event.New(e.now(), event.Nobody))
		return false
	}
	d.goTo(e.now(), address, len(addresses))
	return true
}

// asked are the events of executors that were asked before the choice.
func (e *Engine) asked(d *dispatch, replies []route.Reply) event.List {
	what := event.AskBeat
	if asksIdle(d.job.route) {
		what = event.AskIdle
	}
	list := make(event.List, len(replies))
	for i, r := range replies {
		answer := event.AnswerNo
		switch {
		case r.Silent:
			answer = event.AnswerUnknown
		case r.OK:
			answer = event.AnswerYes
		}
		list[i] = event.New(e.now(), event.Asked, r.Address, what, answer, clip(r.Text, 500))
	}
	return list
}

func asksIdle(r jobspec.Route) bool { return r == jobspec.RouteBusyover }

func (e *Engine) noAddress(d *dispatch) event.Event {
	if e.directory.get(d.job.group) == nil {
		return event.New(e.now(), event.NoGroup, d.job.group)
	}
	return event.New(e.now(), event.NoExecutor)
}

// probe asks one executor what the route strategy wants to know.
func (e *Engine) probe(ctx context.Context, d *dispatch, address string) (wire.Answer, error) {
	to := e.target(d.job.group, address)
	if asksIdle(d.job.route) {
		return e.cfg.Executors.IdleBeat(ctx, to, wire.IdleBeatRequest{JobID: d.job.id})
	}
	return e.cfg.Executors.Beat(ctx, to)
}

// prepare fills the request of a run that is about to leave. It reports false when it ended the run, or put it back.
func (e *Engine) prepare(ctx context.Context, d *dispatch, req *wire.RunRequest) bool {
	*req = wire.RunRequest{
		JobID: calledJob(d.trigger, d.job.id, d.id), ExecutorHandler: d.job.handler, ExecutorParams: d.param, BlockStrategy: d.job.block,
		TimeoutSeconds: d.job.timeoutSeconds, LogID: d.id, LogDateTime: d.planned.UnixMilli(), GlueType: d.job.glue,
		GlueUpdateTime: d.job.glueUpdated, BroadcastIndex: d.shard.Index, BroadcastTotal: max(1, d.shard.Total),
	}
	wish := e.outputs.wishOf(d)
	node := e.Sender()
	if (d.plannedFor() != 0 || wish != nil || node != 0) && e.directory.takesEnvironment(d.job.group, d.address) { // others may not read past what they do not know
		req.PlannedAt, req.KeepOutput, req.Node = d.plannedFor(), wish, node
	}
	if d.job.glue != wire.GlueBean {
		source, updated, err := e.scriptOf(ctx, d)
		if err != nil {
			e.fail(d, d.address, event.NotSent, event.New(e.now(), event.NoSource, because(err)))
			return false
		}
		if _, known := d.job.glue.Info(); known && source == "" { // a new one waits for a second person, and an empty program would succeed
			e.fail(d, d.address, event.NotSent, event.New(e.now(), event.NoScript))
			return false
		}
		req.GlueSource, req.GlueUpdateTime = source, updated
	}
	if why, ok := e.fillIn(ctx, d, req); !ok {
		e.fail(d, d.address, event.NotSent, why)
		return false
	}
	if d.recheck && !e.stillNeeded(ctx, d) {
		return false
	}
	return !e.endStale(d)
}

// send makes the one call that runs are about, and hands its outcome for each to the recorder.
func (e *Engine) send(ctx context.Context, runs []leaving) {
	// A call that is still under way when another admin takes a run over would be asked about too early.
	call, cancel := context.WithTimeout(wire.WithGate(ctx, e.mayReach(runs)), min(e.cfg.Limits().CallTimeout, e.node.Left()))
	defer cancel()
	began := e.now()
	for i := range runs {
		l := &runs[i]
		if l.req.KeepOutput != nil {
			e.outputs.awaits(l.d)
		}
		l.place = e.cfg.Traces.Place(l.d.id, l.d.planned.UnixMilli())
		l.req.TraceParent = l.place.Header
		late := began.Sub(l.d.planned)
		observe(e.metrics.lateness, late, l.place)
		observe(e.measured.of(l.d.job.group, l.d.job.id).lateness, late, l.place)
		e.pulse.add(began, late)
	}
	e.rates.sent.Add(int64(len(runs)))
	var unsettled sync.WaitGroup
	for i, told := range e.run(call, runs) {
		d := runs[i].d
		if !e.answered(d, began, told.Answer, told.Err) {
			unsettled.Go(func() { e.settleUnanswered(ctx, d) })
		}
	}
	unsettled.Wait()
}

// answered says what a call has come to for one of its runs. It reports false for a run of which that is uncertain.
func (e *Engine) answered(d *dispatch, began time.Time, answer wire.Answer, err error) bool {
	took := e.now().Sub(began)
	switch {
	case err == nil && answer.OK():
		e.sent(d, began, "ok", answer.Code, event.Open, sentEvent(began, d.address, took, answer))
	case err == nil && (d.taken || !d.called.IsZero()) && answer.Repeated():
		e.sent(d, began, "repeat", wire.CodeSuccess, event.Open, event.New(began, event.Known, d.address, event.KnownRepeated, answer.Msg))
	case err == nil && answer.Leaves() && e.goElsewhere(d, event.New(began, event.Refused, d.address, took, answer.Code, answer.Msg)):
	case err == nil:
		e.sent(d, began, "refused", refusal(answer.Code), event.NotSent, event.New(began, event.Refused, d.address, took, answer.Code, answer.Msg))
	case errors.Is(err, wire.ErrGate):
		if e.maySend(d) { // it may again, and is sent as if it had not been tried
			d.at = e.now()
			e.timer.add(d)
		}
	case e.shortage.own(err):
		e.later(d)
	default:
		return e.silent(d, began, took, err)
	}
	return true
}

// silent notes a call that brought no answer. It reports false where the request may have arrived: then the executor is asked before
// the run is called anything, since a failed run may be retried, and must not then run twice.
func (e *Engine) silent(d *dispatch, began time.Time, took time.Duration, err error) bool {
	if !wire.Delivered(err) {
		e.directory.suspect(d.job.group, d.address)
	}
	if !wire.Delivered(err) && d.called.IsZero() {
		d.orAgain()
		why := event.New(began, event.Unreachable, d.address, took, wire.FaultOf(err), err)
		if silent, ok := errors.AsType[*wire.SilentError](err); ok {
			why = event.New(began, event.Silent, d.address, silent.Since)
		}
		e.sent(d, began, "unreachable", wire.CodeFail, event.NotSent, why)
		return true
	}
	d.events = append(d.events, event.New(began, event.Unanswered, d.address, took, wire.FaultOf(err), err))
	d.unanswered, d.pinned = began, true // whoever may have it is asked, also when the group changes
	if d.called.IsZero() {
		d.called = began
	}
	return false
}

// knows asks an executor whether it has received a run: whether it has a log of it (docs/compat.md §4.14).
func (e *Engine) knows(ctx context.Context, d *dispatch, address string) (bool, error) {
	log, err := e.askWhether(ctx, d, address)
	return err == nil && !log.Missing(), err
}

// askWhether asks for a run's log and none of its text.
func (e *Engine) askWhether(ctx context.Context, d *dispatch, address string) (wire.LogResult, error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Limits().CallTimeout)
	defer cancel()
	log, answer, err := e.cfg.Executors.Log(ctx, e.target(d.job.group, address), wire.LogRequest{
		LogDateTim: d.planned.UnixMilli(), LogDateTime: d.planned.UnixMilli(), LogID: d.id, FromLineNum: wire.PastEnd,
	})
	if err == nil && !answer.OK() {
		err = answerError{answer}
	}
	return log, err
}

// refusal is the code a refused run is stored with: never one that would read as "sent" or as "nothing yet".
func refusal(code int) int {
	if code == wire.CodeSuccess || code <= 0 {
		return wire.CodeFail
	}
	return code
}

// answerError is an answer that says no.
type answerError struct{ answer wire.Answer }

func (e answerError) Error() string { return answerText(e.answer) }

// faultOf is the kind of a call's failure, answers that say no included.
func faultOf(err error) wire.Fault {
	if _, no := errors.AsType[answerError](err); no {
		return wire.FaultAnswer
	}
	return wire.FaultOf(err)
}

// sentEvent says that an executor took a run.
func sentEvent(at time.Time, address string, took time.Duration, a wire.Answer) event.Event {
	args := []string{event.Clip(address), strconv.FormatInt(took.Milliseconds(), 10), strconv.Itoa(a.Code)}
	if text := plainly(a.Msg); text != "" {
		args = append(args, event.Clip(text))
	}
	return event.Plain(at, event.Sent, args...)
}

// plainly leaves out what every executor says when all is well.
func plainly(msg string) string {
	if strings.EqualFold(msg, "success") {
		return ""
	}
	return msg
}

func answerText(a wire.Answer) string {
	if a.Msg == "" {
		return strconv.Itoa(a.Code)
	}
	return strconv.Itoa(a.Code) + " " + a.Msg
}

// outcome is what became of a dispatch.
type outcome struct {
	d    *dispatch
	sent db.Sent
}

// fail ends a run that could not be sent.
func (e *Engine) fail(d *dispatch, address string, outcome event.Outcome, why ...event.Event) {
	e.metrics.sends.WithLabelValues("failed").Inc()
	e.record(d, db.Sent{ID: d.id, Address: address, Code: wire.CodeFail, Outcome: outcome}, why...)
}

// sent notes what became of a call that was made, or of a run that is found to have arrived.
func (e *Engine) sent(d *dispatch, at time.Time, label string, code int, outcome event.Outcome, what ...event.Event) {
	e.metrics.sends.WithLabelValues(label).Inc()
	e.record(d, db.Sent{ID: d.id, Address: d.address, Code: int64(code), At: at.UnixMilli(), Outcome: outcome}, what...)
}

// record hands what became of a run to the recorder, with the events that its row does not have yet.
func (e *Engine) record(d *dispatch, s db.Sent, what ...event.Event) {
	if s.Code > math.MaxInt32 { // what an executor answers need not fit its column
		s.Code = wire.CodeFail
	}
	e.noteLate(d, s.At)
	d.events = append(d.events, what...)
	if user, ok := e.pending.killed(d.id); ok && s.Code != wire.CodeSuccess && s.Outcome != event.Killed {
		s.Outcome = event.Killed
		d.events = append(d.events, event.New(e.now(), event.KilledAt, user, event.KilledSending))
	}
	if s.Outcome == event.Killed {
		d.retries = 0
	}
	s.Address = storable(s.Address)
	s.Stays = s.Address != "" && s.Address == d.stored
	fresh := d.events[d.told:]
	s.Events, s.Message = fresh.Stored(), e.recordText(s.Address, fresh)
	o := &outcome{d: d, sent: s}
	if o.calm() && !e.draining.Load() && e.carrier.wait(o) {
		return
	}
	e.handIn(o)
}

func (e *Engine) handIn(o *outcome) {
	if err := e.recorder.add(e.work, o); err != nil {
		e.unrecorded.Add(1)
		e.log.Debug("outcome not recorded", "log_id", o.d.id, "error", err)
	}
}

// noteLate adds why a run is late, when it is. What stands for fires that passed unseen, or waited for another run, says so
// already.
func (e *Engine) noteLate(d *dispatch, sentAt int64) {
	at := e.now()
	if sentAt != 0 {
		at = time.UnixMilli(sentAt)
	}
	late := at.Sub(d.planned)
	if late <= lateAfter {
		return
	}
	cause := event.LateUnknown
	switch {
	case d.held:
		cause = event.LateLease
	case d.short:
		cause = event.LateShort
	case d.trigger == jobspec.TriggerMisfire, d.waited:
		return
	case d.taken:
		cause = event.LateTakeover
	case !d.called.IsZero():
		cause = event.LateAgain
	case d.claimed.After(d.planned.Add(lateAfter / 2)):
		cause = event.LateClaim
	case !d.fired.IsZero() && at.Sub(d.fired) > lateAfter/2:
		cause = event.LateQueue
	}
	d.events = append(d.events, event.New(at, event.Late, late, cause))
}

// maxAddress is how many characters of an address the rows hold.
const maxAddress = 255

// storable is an address as a row can hold it. One that is too long is not stored: the run's message tells it.
func storable(address string) string {
	if utf8.RuneCountInString(address) > maxAddress || !utf8.ValidString(address) {
		return ""
	}
	return address
}
