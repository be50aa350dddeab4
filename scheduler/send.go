package scheduler

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/note"
	"github.com/punctual-job/punctual/scheduler/route"
)

// lateAfter is how late a run must be for its message to say so.
const lateAfter = time.Second

// putBack is how long a run waits when the node may not act.
const putBack = 200 * time.Millisecond

// probeLane is the lane for runs of a group whose executor must be found by asking; no address looks like it. A group
// whose executors are all dead must not delay the others' asking.
func probeLane(group int64) string { return "probe " + strconv.FormatInt(group, 10) }

// fire is called by the timer when a run's time has come. It does not block.
func (e *Engine) fire(d *dispatch) {
	if d.waiting {
		e.queue(gateLane, d)
		return
	}
	if late := e.now().Sub(d.planned); late > lateAfter && d.late == "" {
		d.late = note.Late.With(late.Round(time.Millisecond))
	}
	if d.address != "" && !d.pinned && !slices.Contains(e.candidates(d), d.address) {
		d.address = "" // the planned executor has gone since
	}
	if d.address == "" && !d.taken && !route.Probing(d.job.route) {
		if addresses := e.candidates(d); len(addresses) > 0 {
			address, err := e.routes.Pick(d.job.route, d.job.id, addresses)
			if err != nil {
				e.fail(d, "", err.Error())
				return
			}
			d.address, d.routed = address, e.now()
		}
	}
	lane := d.address
	if lane == "" {
		lane = probeLane(d.job.group)
	}
	e.queue(lane, d)
}

// queue puts a run in a lane, or ends it when too many wait.
func (e *Engine) queue(lane string, d *dispatch) {
	if !e.lanes.add(lane, d, e.cfg.MaxWaiting) && !e.draining.Load() {
		e.fail(d, d.address, note.QueueFull.With(e.cfg.MaxWaiting))
	}
}

// candidates are the addresses a run may go to.
func (e *Engine) candidates(d *dispatch) []string {
	if d.given != nil {
		return d.given
	}
	if g := e.directory.get(d.job.group); g != nil {
		return e.directory.usable(g.addresses)
	}
	return nil
}

// runLane sends one run; the lanes call it in a goroutine of its own.
func (e *Engine) runLane(ln *lane, d *dispatch) {
	if !e.maySend(d) {
		return
	}
	ctx := context.Background()
	if d.waiting {
		if e.admit(ctx, d) {
			e.fire(d)
		}
		return
	}
	if d.taken {
		if !e.settleTaken(ctx, d) || !e.maySend(d) { // asking takes time, in which the lease may have run out
			return
		}
	}
	if user, ok := e.pending.killed(d.id); ok && !d.taken {
		e.endKilled(d, user)
		return
	}
	if d.address == "" && !e.find(ctx, d) {
		return
	}
	if d.address != ln.address {
		e.queue(d.address, d)
		return
	}
	e.send(ctx, d)
}

// maySend reports whether this node may send a run now. When it may not, the run waits, or is another node's.
func (e *Engine) maySend(d *dispatch) bool {
	if d.owner != e.node.id.Load() && !d.waiting { // this node was declared gone
		e.pending.done(d.id)
		return false
	}
	if !e.node.mayAct() {
		d.at = e.now().Add(putBack)
		d.late = note.Lease.With()
		e.timer.add(d)
		return false
	}
	return true
}

// find chooses the executor of a run whose strategy asks first. It reports false when it ended the run.
func (e *Engine) find(ctx context.Context, d *dispatch) bool {
	addresses := e.candidates(d)
	if len(addresses) == 0 {
		e.fail(d, "", e.noAddress(d))
		return false
	}
	if !route.Probing(d.job.route) {
		address, err := e.routes.Pick(d.job.route, d.job.id, addresses)
		if err != nil {
			e.fail(d, "", err.Error())
			return false
		}
		d.address, d.routed = address, e.now()
		return true
	}
	address, replies := route.Probe(ctx, addresses, func(ctx context.Context, a string) route.Reply {
		ctx, cancel := context.WithTimeout(ctx, e.cfg.Limits().CallTimeout)
		defer cancel()
		answer, err := e.probe(ctx, d, a)
		if err != nil {
			return route.Reply{Address: a, Text: err.Error()}
		}
		return route.Reply{Address: a, OK: answer.OK(), Text: answerText(answer)}
	})
	d.probes = d.probes[:0]
	for _, r := range replies {
		d.probes = append(d.probes, r.Address+" → "+r.Text)
	}
	if address == "" {
		e.fail(d, "", note.Nobody.With())
		return false
	}
	d.address, d.routed = address, e.now()
	return true
}

func (e *Engine) noAddress(d *dispatch) string {
	if e.directory.get(d.job.group) == nil {
		return note.NoGroup.With(d.job.group)
	}
	return note.NoExecutor.With()
}

// probe asks one executor what the route strategy wants to know.
func (e *Engine) probe(ctx context.Context, d *dispatch, address string) (wire.Answer, error) {
	to := e.target(d.job.group, address)
	if d.job.route == "BUSYOVER" {
		return e.cfg.Executors.IdleBeat(ctx, to, wire.IdleBeatRequest{JobID: d.job.id})
	}
	return e.cfg.Executors.Beat(ctx, to)
}

// send makes the one call that a run is about and hands its outcome to the recorder.
func (e *Engine) send(ctx context.Context, d *dispatch) {
	req := wire.RunRequest{
		JobID: d.job.id, ExecutorHandler: d.job.handler, ExecutorParams: d.param, BlockStrategy: d.job.block,
		TimeoutSeconds: d.job.timeoutSeconds, LogID: d.id, LogDateTime: d.planned.UnixMilli(), GlueType: d.job.glue,
		GlueUpdateTime: d.job.glueUpdated, BroadcastIndex: d.shard.Index, BroadcastTotal: max(1, d.shard.Total),
	}
	if d.job.glue != wire.GlueBean {
		source, updated, err := e.source(ctx, d.job)
		if err != nil {
			e.fail(d, d.address, note.NoSource.With(err))
			return
		}
		req.GlueSource, req.GlueUpdateTime = source, updated
	}
	if e.endStale(d) || !e.maySend(d) { // all that came before may have taken any time
		return
	}
	// A call that is still under way when another admin takes the run over would be asked about too early.
	call, cancel := context.WithTimeout(ctx, min(e.cfg.Limits().CallTimeout, e.node.left()))
	defer cancel()
	began := e.now()
	e.metrics.lateness.Observe(began.Sub(d.planned).Seconds())
	e.pulse.add(began, began.Sub(d.planned))
	e.rates.sent.Add(1)
	answer, err := e.run(call, d, &req)
	took := e.now().Sub(began)
	switch {
	case err == nil && answer.OK():
		e.sent(d, began, took, "ok", answer.Code, answerText(answer))
	case err == nil && d.taken && answer.Repeated():
		e.sent(d, began, took, "repeat", wire.CodeSuccess, note.HasRunSays.With(answer.Msg))
	case err == nil:
		e.sent(d, began, took, "refused", refusal(answer.Code), answerText(answer))
	default:
		e.uncertain(ctx, d, began, took, err)
	}
}

// uncertain settles a call that brought no answer. Where the request may have arrived, the executor is asked whether it
// knows the run before it is called failed: a failed run may be retried, and must not then run twice.
func (e *Engine) uncertain(ctx context.Context, d *dispatch, began time.Time, took time.Duration, err error) {
	if !wire.Delivered(err) {
		e.directory.suspect(d.job.group, d.address)
		e.sent(d, began, took, "unreachable", wire.CodeFail, note.NotSent.With(err))
		return
	}
	known, askErr := e.knows(ctx, d, d.address)
	switch {
	case askErr != nil:
		if _, ok := e.pending.killed(d.id); ok { // should it have arrived, it ends there
			_, _ = e.askKill(ctx, d.job.group, d.job.id, d.id, d.address)
		}
		e.sent(d, began, took, "unknown", wire.CodeFail,
			note.Unknown.With(err, askErr))
	case known:
		e.sent(d, began, took, "ok", wire.CodeSuccess, note.AnswerLost.With(err))
	default:
		e.sent(d, began, took, "lost", wire.CodeFail, note.CallLost.With(err))
	}
}

// knows asks an executor whether it has received a run: whether it has a log of it (spec §4.14).
func (e *Engine) knows(ctx context.Context, d *dispatch, address string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Limits().CallTimeout)
	defer cancel()
	log, answer, err := e.cfg.Executors.Log(ctx, e.target(d.job.group, address), wire.LogRequest{
		LogDateTim: d.planned.UnixMilli(), LogDateTime: d.planned.UnixMilli(), LogID: d.id, FromLineNum: wire.PastEnd,
	})
	if err != nil {
		return false, err
	}
	if !answer.OK() {
		return false, errors.New(answerText(answer))
	}
	return !log.Missing(), nil
}

// refusal is the code a refused run is stored with: never one that would read as "sent" or as "nothing yet".
func refusal(code int) int {
	if code == wire.CodeSuccess || code <= 0 {
		return wire.CodeFail
	}
	return code
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
func (e *Engine) fail(d *dispatch, address, reason string) {
	e.metrics.sends.WithLabelValues("failed").Inc()
	e.record(d, db.Sent{ID: d.id, Address: address, Code: wire.CodeFail, Message: e.message(d, address, time.Time{}, 0, reason)})
}

// sent notes the outcome of a call.
func (e *Engine) sent(d *dispatch, at time.Time, took time.Duration, label string, code int, text string) {
	e.metrics.sends.WithLabelValues(label).Inc()
	e.record(d, db.Sent{ID: d.id, Address: d.address, Code: int64(code), At: at.UnixMilli(),
		Message: e.message(d, d.address, at, took, text)})
}

func (e *Engine) record(d *dispatch, s db.Sent) {
	if s.Code > math.MaxInt32 { // what an executor answers need not fit its column
		s.Code = wire.CodeFail
	}
	if user, ok := e.pending.killed(d.id); ok && s.Code != wire.CodeSuccess && !d.killed {
		d.retries, d.killed = 0, true
		s.Message = clip(s.Message+"\nresult: "+note.KilledSending.With(user), maxMessage)
	}
	s.Address, s.Message = storable(s.Address), strings.ToValidUTF8(s.Message, "\uFFFD")
	if err := e.recorder.add(context.Background(), outcome{d, s}); err != nil {
		e.log.Warn("outcome not recorded; the run is asked about at the next start", "log_id", d.id, "error", err)
	}
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
