package scheduler

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/route"
)

// lateAfter is how late a run must be for its message to say so.
const lateAfter = time.Second

// putBack is how long a run waits when the node may not act.
const putBack = 200 * time.Millisecond

// probeQueue is the queue for runs of a group whose executor must be found by asking; no address looks like it. A group
// whose executors are all dead must not delay the others' asking.
func probeQueue(group int64) string { return "probe " + strconv.FormatInt(group, 10) }

// fire is called by the timer when a run's time has come. It does not block.
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

// sendQueued sends one run; the address queues call it in a goroutine of its own.
func (e *Engine) sendQueued(aq *addressQueue, d *dispatch) {
	if !e.maySend(d) {
		return
	}
	ctx := e.work
	if d.waiting {
		if e.admit(ctx, d) {
			e.fire(d)
		}
		return
	}
	if !d.unanswered.IsZero() {
		e.settleUnanswered(ctx, d)
		return
	}
	if d.taken {
		if !e.settleTaken(ctx, d) || !e.maySend(d) { // asking takes time, in which the lease may have run out
			return
		}
	}
	if user, ok := e.pending.killed(d.id); ok && !d.taken {
		if d.called.IsZero() {
			e.endKilled(d, user)
			return
		}
		d.unanswered = d.called // it was to be sent again: has it come meanwhile?
		e.settleUnanswered(ctx, d)
		return
	}
	if d.address == "" && !e.find(ctx, d) {
		return
	}
	if at := e.queueOf(d); at != aq.address {
		e.queue(at, d)
		return
	}
	e.send(ctx, d)
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

// mayReach is asked when the first byte of a run is about to leave. Whatever stopped this process after maySend had said yes,
// the run is another node's if it took too long.
func (e *Engine) mayReach(d *dispatch) func() bool {
	return func() bool { return e.node.MayAct() && e.node.ID() == d.owner }
}

// find chooses the executor of a run whose strategy asks first. It reports false when it ended the run, or put it back.
func (e *Engine) find(ctx context.Context, d *dispatch) bool {
	addresses := e.candidates(d)
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

// send makes the one call that a run is about and hands its outcome to the recorder.
func (e *Engine) send(ctx context.Context, d *dispatch) {
	req := wire.RunRequest{
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
			return
		}
		if source == "" { // a new one waits for a second person, and an empty program would succeed
			e.fail(d, d.address, event.NotSent, event.New(e.now(), event.NoScript))
			return
		}
		req.GlueSource, req.GlueUpdateTime = source, updated
	}
	if why, ok := e.fillIn(ctx, d, &req); !ok {
		e.fail(d, d.address, event.NotSent, why)
		return
	}
	if d.recheck && !e.stillNeeded(ctx, d) {
		return
	}
	if e.endStale(d) || !e.maySend(d) { // all that came before may have taken any time
		return
	}
	// A call that is still under way when another admin takes the run over would be asked about too early.
	call, cancel := context.WithTimeout(wire.WithGate(ctx, e.mayReach(d)), min(e.cfg.Limits().CallTimeout, e.node.Left()))
	defer cancel()
	if req.KeepOutput != nil {
		e.outputs.awaits(d)
	}
	began := e.now()
	place := e.cfg.Traces.Place(d.id, d.planned.UnixMilli())
	req.TraceParent = place.Header
	observe(e.metrics.lateness, began.Sub(d.planned), place)
	observe(e.measured.of(d.job.group, d.job.id).lateness, began.Sub(d.planned), place)
	e.pulse.add(began, began.Sub(d.planned))
	e.rates.sent.Add(1)
	answer, err := e.run(call, d, &req)
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
		e.uncertain(ctx, d, began, took, err)
	}
}

// uncertain begins to settle a call that brought no answer. Where the request may have arrived, the executor is asked before
// the run is called anything: a failed run may be retried, and must not then run twice.
func (e *Engine) uncertain(ctx context.Context, d *dispatch, began time.Time, took time.Duration, err error) {
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
		return
	}
	d.events = append(d.events, event.New(began, event.Unanswered, d.address, took, wire.FaultOf(err), err))
	d.unanswered, d.pinned = began, true // whoever may have it is asked, also when the group changes
	if d.called.IsZero() {
		d.called = began
	}
	e.settleUnanswered(ctx, d)
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
