package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/pull"
)

// asking is whether an executor asks for its calls, and whom.
type asking int

const (
	called       asking = iota // it listens, and is called
	asksAll                    // all admins at the same time, as executors of ours do that know them
	asksOneByOne               // through a balancer, which takes each request to another admin
)

// What executors of ours go by, see package executor.
const (
	pullWait  = 10 * time.Second
	pullGrace = 5 * time.Second
	lostFor   = time.Minute
	maxLost   = 50
	maxCalls  = 50
)

// pullLook is how often an admin looks at the calls of others, which costs a statement each time.
const pullLook = 200 * time.Millisecond

var errStopping = errors.New("the executor has ended")

// collect lets a node's calls wait for the executors that ask, as long as the process lives.
func (n *node) collect(w *world) {
	n.mailbox = pull.New(pull.Config{
		Pool: n.pool, Logger: w.logger(n), Every: pullLook, Key: []byte("of all nodes"),
		Now: func() time.Time { return n.engine.Now() }, Others: func() bool { return n.engine.Others() },
	})
	n.pulls = wire.NewExecutorClient(&http.Client{Transport: n.mailbox})
}

// pulledAnswer makes a call to an executor that asks for it.
func (n network) pulledAnswer(ctx context.Context, call func(*wire.ExecutorClient) (wire.Answer, error)) (wire.Answer, error) {
	l := n.node.link
	if err := l.pass(ctx); err != nil {
		return wire.Answer{}, undelivered(err)
	}
	answer, err := call(n.node.pulls)
	if err != nil {
		return wire.Answer{}, err
	}
	if err := l.pass(ctx); err != nil {
		return wire.Answer{}, unanswered(err)
	}
	return answer, nil
}

// poll is a request that a node holds. Whatever is between the two may cut it, and only one of them may notice.
func (n *node) poll(ctx context.Context, x *executor, req wire.PullRequest) (wire.PullResponse, error) {
	l := n.link
	if !l.up() {
		return wire.PullResponse{}, errNobody
	}
	l.mu.Lock()
	t, r := l.sum.plus(x.trouble()), l.rng
	draw, lateness := r.Float64(), time.Duration(r.Int64N(int64(20*time.Second)))
	cut, cutAfter, unnoticed := r.Float64() < l.w.cuts, time.Duration(r.Int64N(int64(pullWait))), r.IntN(2) == 0
	l.mu.Unlock()
	if t.hole || draw < t.lost {
		l.w.count("poll lost")
		<-ctx.Done()
		return wire.PullResponse{}, ctx.Err()
	}
	type outcome struct {
		response wire.PullResponse
		err      error
	}
	done := make(chan outcome, 1)
	served, hangUp := context.WithCancel(l.w.life)
	l.w.wg.Go(func() {
		defer hangUp()
		if draw < t.lost+t.late {
			l.w.count("poll arrives late")
			if err := l.sleep(served, lateness); err != nil {
				done <- outcome{err: err}
				return
			}
		}
		err := l.pass(served)
		var response wire.PullResponse
		if err == nil {
			response, err = n.mailbox.Pull(served, req)
		}
		if err == nil {
			err = l.pass(served)
		}
		done <- outcome{response, err}
	})
	limited := ctx
	if cut {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, cutAfter)
		defer cancel()
	}
	select {
	case o := <-done:
		switch {
		case !l.up():
			return wire.PullResponse{}, errGone
		case l.holed():
			l.w.count("answer to a poll vanished")
			<-ctx.Done()
			return wire.PullResponse{}, ctx.Err()
		case draw < t.lost+t.late+t.unheard:
			l.w.count("answer to a poll lost")
			return wire.PullResponse{}, errors.New("read: connection reset by peer")
		}
		return o.response, o.err
	case <-l.gone:
		return wire.PullResponse{}, errGone
	case <-limited.Done():
		if cut && ctx.Err() == nil {
			l.w.count("poll cut")
		}
		if !unnoticed && !l.holed() {
			hangUp() // else the admin goes on holding it, and may put something into it that nobody reads
		}
		return wire.PullResponse{}, limited.Err()
	}
}

// asker is an executor that asks, in one life of it.
type asker struct {
	x        *executor
	life     *life
	ctx      context.Context // ends with the life
	instance string

	mu   sync.Mutex
	lost []lostPoll
	next int64
}

type lostPoll struct {
	name string
	at   time.Time
}

// ask asks as long as a life lasts.
func (x *executor) ask(l *life, number int) {
	ctx, cancel := context.WithCancel(context.Background())
	a := &asker{x: x, life: l, ctx: ctx, instance: fmt.Sprintf("%s.%d", x.mark, number)}
	x.w.wg.Go(func() {
		<-l.ended
		cancel()
	})
	if x.asks == asksOneByOne {
		for range 2 { // one may be held by an admin that is frozen
			x.w.wg.Go(func() { a.loop(x.w.balance) })
		}
		return
	}
	for i := range x.w.nodes {
		x.w.wg.Go(func() { a.loop(func(*rand.Rand) *node { return x.w.slots[i].current() }) })
	}
}

// balance is the node that a balancer takes a request to.
func (w *world) balance(r *rand.Rand) *node {
	up := w.nodesUp()
	if len(up) == 0 {
		return nil
	}
	return up[w.chance(r, len(up))]
}

// maxElsewhere is how often one that is told to ask elsewhere does so before it waits where it is.
const maxElsewhere = 10

func (a *asker) loop(which func(*rand.Rand) *node) {
	again, elsewhere := 50*time.Millisecond, 0
	var carried []carriedAnswer
	for a.x.awake(a.life.ended) && a.ctx.Err() == nil {
		err := errNobody
		if n := which(a.x.rng); n != nil {
			var there bool
			there, carried, err = a.once(n, which, carried, a.x.asks == asksOneByOne && elsewhere < maxElsewhere)
			if elsewhere++; err == nil && !there {
				elsewhere = 0
			}
		}
		if err == nil {
			again = 50 * time.Millisecond
			continue
		}
		select {
		case <-time.After(again):
		case <-a.ctx.Done():
			return
		}
		again = min(2*again, time.Second)
	}
}

// carriedAnswer goes with the next pull.
type carriedAnswer struct {
	wire.PulledAnswer
	until time.Time
}

// once makes one pull and begins what it brings. It gives what is to be carried by the next.
func (a *asker) once(n *node, which func(*rand.Rand) *node, carried []carriedAnswer, apart bool) (elsewhere bool, left []carriedAnswer, err error) {
	req := a.request()
	req.Apart = apart
	for _, c := range carried {
		req.Answers = append(req.Answers, c.PulledAnswer)
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(a.ctx, pullWait+pullGrace)
	defer cancel()
	response, err := n.poll(ctx, a.x, req)
	if !a.x.awake(a.life.ended) {
		return false, nil, errStopping
	}
	if err != nil {
		a.lose(req.Pull)
		for _, c := range carried {
			a.x.w.wg.Go(func() { a.hand(c, n, which) })
		}
		return false, nil, err
	}
	for _, c := range carried {
		if slices.Contains(response.Left, c.ID) {
			left = append(left, c)
		}
	}
	for i := range response.Calls {
		call := &response.Calls[i]
		until := began.Add(time.Duration(response.Held+call.Left) * time.Millisecond)
		if apart && i%2 == 0 { // at once, and its answer with the next pull
			if answer, ok := a.serve(call, until); ok {
				left = append(left, answer)
			}
			continue
		}
		a.x.w.wg.Go(func() {
			if answer, ok := a.serve(call, until); ok {
				a.hand(answer, n, which)
			}
		})
	}
	return response.Elsewhere, left, nil
}

func (a *asker) request() wire.PullRequest {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next++
	req := wire.PullRequest{
		RegistryKey: a.x.app, RegistryValue: a.x.address, Instance: a.instance, Pull: a.instance + "." + strconv.FormatInt(a.next, 36),
		Max: maxCalls, Wait: int(pullWait.Milliseconds()),
	}
	a.lost = slices.DeleteFunc(a.lost, func(l lostPoll) bool { return time.Since(l.at) >= lostFor })
	for _, l := range a.lost {
		req.Lost = append(req.Lost, l.name)
	}
	return req
}

func (a *asker) lose(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lost = append(a.lost, lostPoll{name, time.Now()})
	if len(a.lost) > maxLost {
		a.lost = a.lost[1:]
	}
}

// serve does what a call asks for, unless it has come too late.
func (a *asker) serve(call *wire.PulledCall, until time.Time) (answer carriedAnswer, ok bool) {
	x := a.x
	if !x.awake(a.life.ended) || a.ctx.Err() != nil {
		return answer, false
	}
	if !time.Now().Before(until) {
		x.w.count("pulled call came too late")
		return answer, false
	}
	body, err := x.answerCall(call)
	if err != nil {
		x.w.violate("simulation", "%s: %v", call.Path, err)
		return answer, false
	}
	return carriedAnswer{wire.PulledAnswer{ID: call.ID, Answer: body}, until}, true
}

// hand hands an answer over for as long as somebody waits for it.
func (a *asker) hand(answer carriedAnswer, n *node, which func(*rand.Rand) *node) {
	x := a.x
	req := wire.PullRequest{RegistryKey: x.app, RegistryValue: x.address, Answers: []wire.PulledAnswer{answer.PulledAnswer}, Apart: x.asks == asksOneByOne}
	for try := 0; x.awake(a.life.ended) && time.Now().Before(answer.until); try++ {
		req.Apart = req.Apart && try < maxElsewhere
		to := n
		if try > 0 || x.asks == asksOneByOne {
			to = which(x.rng)
		}
		if try > 0 && x.asks == asksAll {
			to = x.w.balance(x.rng)
		}
		if to != nil {
			ctx, cancel := context.WithTimeout(a.ctx, 3*time.Second)
			var response wire.PullResponse
			err := to.take(ctx, func(ctx context.Context, n *node) (err error) {
				response, err = n.mailbox.Pull(ctx, req)
				return err
			})
			cancel()
			if err == nil && len(response.Left) == 0 {
				return
			}
			if err == nil {
				continue
			}
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-a.ctx.Done():
			return
		}
	}
	x.w.count("answer to a pulled call given up")
}

// answerCall does what a call asks for.
func (x *executor) answerCall(call *wire.PulledCall) ([]byte, error) {
	answer, err := wire.Answer{Code: wire.CodeSuccess}, error(nil)
	var value []byte
	switch call.Path {
	case "/beat":
	case "/idleBeat":
		var req wire.IdleBeatRequest
		if err = json.Unmarshal(call.Body, &req); err == nil {
			answer = x.idleBeat(req.JobID)
		}
	case "/run":
		var req wire.RunRequest
		if err = json.Unmarshal(call.Body, &req); err == nil {
			x.w.sent(call.TraceParent, x.address, &req)
			answer = x.run(&req)
		}
	case "/kill":
		var req wire.KillRequest
		if err = json.Unmarshal(call.Body, &req); err == nil {
			answer = x.kill(req.JobID, req.LogID)
		}
	case "/log":
		var req wire.LogRequest
		if err = json.Unmarshal(call.Body, &req); err == nil {
			value, err = json.Marshal(x.log(req))
		}
	default:
		err = errors.New("nothing known")
	}
	if err != nil {
		return nil, err
	}
	return wire.AppendAnswer(nil, answer.Code, answer.Msg, value), nil
}
