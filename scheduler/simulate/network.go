package simulate

import (
	"context"
	"errors"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
)

// network is how a node calls executors, and how they call it.
type network struct {
	w    *world
	node *node
}

var _ scheduler.Executors = network{}

var errNobody = errors.New("connect: connection refused")

func undelivered(err error) error { return &wire.CallError{Stage: wire.StageDial, Err: err} }
func unanswered(err error) error {
	return &wire.CallError{Stage: wire.StageAnswer, MaybeDelivered: true, Err: err}
}

// call takes a question to an executor and its answer back.
func (n network) call(ctx context.Context, address string, leaves func(), ask func(*executor) error) error {
	l := n.node.link
	if err := l.pass(ctx); err != nil {
		return undelivered(err)
	}
	if err := ctx.Err(); err != nil {
		return undelivered(err)
	}
	x := n.w.executors[address]
	l.mu.Lock()
	t, r := l.sum, l.rng
	if x != nil {
		t = t.plus(x.trouble())
	}
	there, back := time.Duration(200+r.IntN(1500))*time.Microsecond, time.Duration(200+r.IntN(1500))*time.Microsecond
	if r.IntN(50) == 0 {
		back += time.Duration(r.IntN(200)) * time.Millisecond
	}
	draw := r.Float64()
	lateness, slowness := time.Duration(r.Int64N(int64(20*time.Second))), time.Duration(0)
	if t.slowFor > 0 {
		slowness = time.Duration(r.Int64N(int64(t.slowFor)))
	}
	fresh := r.IntN(2) == 0
	l.mu.Unlock()
	if x == nil || !t.hole && !x.alive() {
		_ = l.sleep(ctx, there)
		return undelivered(errNobody)
	}
	if t.hole && fresh { // a connection is tried for, in vain
		n.w.count("call into a hole")
		<-ctx.Done()
		return undelivered(ctx.Err())
	}
	if !wire.MayPass(ctx) { // the process was frozen between its look at the lease and the first byte
		n.w.count("held back at the gate")
		return undelivered(wire.ErrGate)
	}
	leaves()
	switch {
	case t.hole || draw < t.lost:
		n.w.count("request lost")
		<-ctx.Done()
		return unanswered(ctx.Err())
	case draw < t.lost+t.late:
		n.w.count("request arrives when its caller has given up")
		n.w.wg.Go(func() {
			select {
			case <-time.After(lateness):
				_ = ask(x)
			case <-n.w.over:
			}
		})
		<-ctx.Done()
		return unanswered(ctx.Err())
	}
	if err := l.sleep(ctx, there); errors.Is(err, errGone) { // it is on its way
		_ = ask(x)
		return unanswered(err)
	} else if err != nil {
		return unanswered(err)
	}
	if !x.awake(ctx.Done()) {
		// The kernel has it, and hands it over when the process goes on; the executor cannot tell that nobody waits any more.
		n.w.count("request read by an executor that was frozen")
		n.w.wg.Go(func() {
			if x.awake(n.w.life.Done()) {
				_ = ask(x)
			}
		})
		return unanswered(ctx.Err())
	}
	if !x.alive() {
		return unanswered(errNobody)
	}
	if err := ask(x); err != nil {
		return err
	}
	switch {
	case draw < t.lost+t.late+t.unheard:
		n.w.count("answer lost")
		_ = l.sleep(ctx, back)
		return unanswered(errors.New("read: connection reset by peer"))
	case draw < t.lost+t.late+t.unheard+t.slow:
		n.w.count("answer late")
		back += slowness
	}
	if err := l.sleep(ctx, back); err != nil {
		return unanswered(err)
	}
	if err := l.pass(ctx); err != nil {
		return unanswered(err)
	}
	return nil
}

func (n network) Beat(ctx context.Context, to wire.Target) (wire.Answer, error) {
	if wire.Pulls(to.Address) {
		return n.pulledAnswer(ctx, func(c *wire.ExecutorClient) (wire.Answer, error) { return c.Beat(ctx, to) })
	}
	answer := wire.Answer{Code: wire.CodeSuccess}
	err := n.call(ctx, to.Address, func() {}, func(*executor) error { return nil })
	return answer, err
}

func (n network) IdleBeat(ctx context.Context, to wire.Target, req wire.IdleBeatRequest) (wire.Answer, error) {
	if wire.Pulls(to.Address) {
		return n.pulledAnswer(ctx, func(c *wire.ExecutorClient) (wire.Answer, error) { return c.IdleBeat(ctx, to, req) })
	}
	done := make(chan wire.Answer, 1)
	err := n.call(ctx, to.Address, func() {}, func(x *executor) error {
		done <- x.idleBeat(req.JobID)
		return nil
	})
	if err != nil {
		return wire.Answer{}, err
	}
	return <-done, nil
}

// Takes is true of our executors that are called.
func (n network) Takes(to wire.Target) bool {
	x := n.w.executors[to.Address]
	return x != nil && x.kind == ours && !wire.Pulls(to.Address)
}

// RunAll asks for runs, and is where it is noted that they were sent.
func (n network) RunAll(ctx context.Context, to wire.Target, reqs []*wire.RunRequest) []wire.Told {
	told := make([]wire.Told, len(reqs))
	runs := make([]wire.RunRequest, len(reqs))
	for i, req := range reqs {
		runs[i] = *req
	}
	if wire.Pulls(to.Address) {
		for i := range runs {
			r := &runs[i]
			r.TraceParent = n.node.name // goes with the call to whoever hands it over
			told[i].Answer, told[i].Err = n.pulledAnswer(ctx, func(c *wire.ExecutorClient) (wire.Answer, error) { return c.Run(ctx, to, r) })
			if told[i].Err != nil && wire.Delivered(told[i].Err) {
				n.w.inDoubt(r.LogID)
			}
		}
		return told
	}
	if len(runs) > 1 {
		n.w.count("runs that shared a call")
	}
	done := make(chan []wire.Told, 1) // the answer may come when nobody waits any more
	leaves := func() {
		for i := range runs {
			n.w.sent(n.node.name, to.Address, &runs[i])
		}
	}
	err := n.call(ctx, to.Address, leaves, func(x *executor) error {
		answers := make([]wire.Told, len(runs))
		for i := range runs {
			answers[i].Answer = x.run(&runs[i])
		}
		done <- answers
		return nil
	})
	if err == nil {
		return <-done
	}
	for i := range told {
		told[i].Err = err
	}
	return told
}

func (n network) Kill(ctx context.Context, to wire.Target, req wire.KillRequest) (wire.Answer, error) {
	if wire.Pulls(to.Address) {
		return n.pulledAnswer(ctx, func(c *wire.ExecutorClient) (wire.Answer, error) { return c.Kill(ctx, to, req) })
	}
	done := make(chan wire.Answer, 1)
	err := n.call(ctx, to.Address, func() {}, func(x *executor) error {
		done <- x.kill(req.JobID, req.LogID)
		return nil
	})
	if err != nil {
		return wire.Answer{}, err
	}
	return <-done, nil
}

func (n network) Log(ctx context.Context, to wire.Target, req wire.LogRequest) (wire.LogResult, wire.Answer, error) {
	if wire.Pulls(to.Address) {
		var log wire.LogResult
		answer, err := n.pulledAnswer(ctx, func(c *wire.ExecutorClient) (a wire.Answer, err error) {
			log, a, err = c.Log(ctx, to, req)
			return a, err
		})
		return log, answer, err
	}
	done := make(chan wire.LogResult, 1)
	err := n.call(ctx, to.Address, func() {}, func(x *executor) error {
		done <- x.log(req)
		return nil
	})
	if err != nil {
		return wire.LogResult{}, wire.Answer{}, err
	}
	return <-done, wire.Answer{Code: wire.CodeSuccess}, nil
}

// take is a request of an executor to a node: it waits while the node is frozen, and what was read is carried out even when
// the executor has given up.
func (n *node) take(ctx context.Context, do func(context.Context, *node) error) error {
	l := n.link
	if !l.up() {
		return errNobody
	}
	l.mu.Lock()
	t, draw := l.sum, l.rng.Float64()
	l.mu.Unlock()
	if t.hole || draw < t.lost {
		<-ctx.Done()
		return ctx.Err()
	}
	if err := l.pass(ctx); err != nil {
		return err
	}
	if err := do(ctx, n); err != nil {
		return err
	}
	if !l.up() {
		return errGone
	}
	if draw < t.lost+t.unheard {
		return errors.New("read: connection reset by peer")
	}
	return nil
}
