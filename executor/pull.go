package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// Mode is how an executor comes by what it is to do.
type Mode string

// The modes.
const (
	// Push is an executor that listens, and that the admins call.
	Push Mode = ""
	// Pull is an executor that listens nowhere and asks the admins, over connections that it makes itself: it works behind a firewall or an
	// address translation, and through proxies and load balancers. Its address is pull://name.
	Pull Mode = "pull"
)

const (
	// pullWait is how long an admin holds a pull that it has nothing for, and pullGrace how much later its answer is not waited for any
	// more: an admin that is frozen, or a connection that is lost, is known by that.
	pullWait  = 10 * time.Second
	pullGrace = 5 * time.Second
	// maxPulled is how many calls are under way at once.
	maxPulled = 256
	// maxLost is how many pulls without an answer are told of, and lostFor for how long: no call waits longer.
	maxLost = 50
	lostFor = time.Minute

	// Behind a balancer the next admin may be well, so that little is waited, and by chance: other requests take turns as well.
	firstPullAgain = 50 * time.Millisecond
	lastPullAgain  = time.Second

	answerSenders    = 4
	maxAnswersAtOnce = 200
	maxAnswerBytes   = 256 << 10 // of one request, unless a single answer is longer: proxies often allow 1 MB
	answerAgain      = 200 * time.Millisecond
	answersEnd       = 2 * time.Second // for those that are left at a stop
)

// puller asks the admins for calls: all of them at the same time, so that each can hand over its own at once.
type puller struct {
	e        *Executor
	instance string
	slots    chan struct{} // one a call that is under way
	answers  chan pulledAnswer
	serving  group // calls
	sending  group // answers

	ctx    context.Context // of the answers
	giveUp context.CancelFunc

	mu    sync.Mutex
	lost  []lostPull
	next  int64
	noted time.Time
}

type lostPull struct {
	name string
	at   time.Time
}

// pulledAnswer is an answer on its way.
type pulledAnswer struct {
	wire.PulledAnswer
	admin int // that handed the call over
	until time.Time
}

func newPuller(e *Executor) *puller {
	ctx, giveUp := context.WithCancel(context.Background())
	return &puller{e: e, ctx: ctx, giveUp: giveUp, instance: e.instance + "." + newMark()[:16], slots: make(chan struct{}, maxPulled), answers: make(chan pulledAnswer, maxPulled)}
}

// pullAddress is the address of an executor that asks: by the configured name, or one made of the machine's and of the data folder's mark.
func (e *Executor) pullAddress() (string, error) {
	name := e.config.Name
	if name == "" {
		host, _ := os.Hostname()
		host = strings.Map(func(r rune) rune {
			if _, ok := wire.PullAddress(string(r)); ok {
				return r
			}
			return '-'
		}, host)
		name = host[:min(len(host), wire.MaxPullName-9)] + "-" + e.instance[:8]
	}
	address, ok := wire.PullAddress(name)
	if !ok {
		return "", fmt.Errorf("the name %q is not made of letters, digits, points, hyphens and underscores, at most %d", name, wire.MaxPullName)
	}
	return address, nil
}

// start asks until ctx ends. Then [puller.finish] waits for what is under way.
func (p *puller) start(ctx context.Context, services *group) {
	for i := range p.e.admins.Len() {
		services.Go(func() { p.loop(ctx, i) })
	}
	for range answerSenders {
		p.sending.Go(p.send)
	}
}

// finish lets the calls that are under way be answered, for a moment.
func (p *puller) finish() {
	p.serving.Wait()
	close(p.answers)
	end := time.AfterFunc(answersEnd, p.giveUp)
	p.sending.Wait()
	end.Stop()
	p.giveUp()
}

// loop asks one admin.
func (p *puller) loop(ctx context.Context, admin int) {
	again, failing := firstPullAgain, false
	for ctx.Err() == nil {
		select { // there must be room for a call at least
		case p.slots <- struct{}{}:
			<-p.slots
		case <-ctx.Done():
			return
		}
		err := p.once(ctx, admin)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			if failing {
				p.e.logger.Info("the admin hands over calls again")
			}
			again, failing = firstPullAgain, false
			continue
		case !failing:
			p.e.logger.Warn("cannot ask the admin for calls, trying again", "group", p.e.config.AppName, "executor", p.e.address, "error", err)
			failing = true
		}
		select {
		case <-time.After(again/2 + rand.N(again/2)):
		case <-ctx.Done():
			return
		}
		again = min(again*2, lastPullAgain)
	}
}

// once makes one pull and begins what it brings.
func (p *puller) once(ctx context.Context, admin int) error {
	req := p.request()
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, pullWait+pullGrace)
	defer cancel()
	response, err := p.e.admins.Pull(limited, admin, req)
	if err != nil {
		p.lose(req.Pull)
		return err
	}
	p.note()
	held := time.Duration(response.Held) * time.Millisecond
	for i := range response.Calls {
		call := &response.Calls[i]
		// The admin cannot have let go of it before this moment, whatever the two clocks say.
		until := began.Add(held + time.Duration(call.Left)*time.Millisecond)
		p.slots <- struct{}{}
		p.serving.Go(func() { p.serve(call, admin, until) })
	}
	return nil
}

func (p *puller) request() *wire.PullRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	req := &wire.PullRequest{
		RegistryKey: p.e.config.AppName, RegistryValue: p.e.address, Instance: p.instance, Pull: p.instance + "." + strconv.FormatInt(p.next, 36),
		Max: min(max(maxPulled-len(p.slots), 1), wire.MaxPull), Wait: int(pullWait.Milliseconds()),
	}
	kept := p.lost[:0]
	for _, l := range p.lost {
		if time.Since(l.at) < lostFor {
			kept = append(kept, l)
			req.Lost = append(req.Lost, l.name)
		}
	}
	p.lost = kept
	return req
}

// lose notes a pull of which no answer came. None is looked at any more, so that what it handed over may be handed over again.
func (p *puller) lose(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost = append(p.lost, lostPull{name, time.Now()})
	if len(p.lost) > maxLost {
		p.lost = p.lost[1:]
	}
}

// serve does what a call asks for, unless whoever made it may have given it up.
func (p *puller) serve(call *wire.PulledCall, admin int, until time.Time) {
	if !time.Now().Before(until) {
		<-p.slots
		p.e.logger.Warn("a call came too late and is left", "path", call.Path)
		return
	}
	p.answers <- pulledAnswer{wire.PulledAnswer{ID: call.ID, Answer: p.e.answerCall(call)}, admin, until}
}

// answerCall is ServeHTTP for a call that was asked for. Who makes it has shown that by being the admin that is asked.
func (e *Executor) answerCall(call *wire.PulledCall) (body []byte) {
	defer func() {
		if r := recover(); r != nil {
			e.logger.Error("request panicked", "error", r, "stack", string(debug.Stack()))
			body = wire.AppendAnswer(nil, wire.CodeFail, fmt.Sprintf("request error:%v", r), nil)
		}
	}()
	header := make(http.Header)
	if call.TraceParent != "" {
		header.Set(wire.HeaderTraceParent, call.TraceParent)
	}
	code, msg, value, err := e.dispatch(call.Path, header, call.Body)
	if err != nil {
		code, msg, value = wire.CodeFail, "request error:"+err.Error(), nil
	}
	body, _ = json.Marshal(struct { // the value once: only admins of ours ask like this
		Code int             `json:"code"`
		Msg  string          `json:"msg"`
		Data json.RawMessage `json:"data,omitempty"`
	}{code, msg, value})
	return body
}

// mostLog bounds the text of one answer to /log.
func (e *Executor) mostLog() int {
	if e.config.Mode == Pull {
		return pulledBytes
	}
	return pageBytes
}

// send hands over answers until there are no more.
func (p *puller) send() {
	for first := range p.answers {
		batch, size, until := []pulledAnswer{first}, len(first.Answer), first.until
	gather:
		for len(batch) < maxAnswersAtOnce && size < maxAnswerBytes {
			select {
			case next, ok := <-p.answers:
				if !ok {
					break gather
				}
				batch, size = append(batch, next), size+len(next.Answer)
				if next.until.After(until) {
					until = next.until
				}
			default:
				break gather
			}
		}
		p.deliver(batch, until)
		for range batch {
			<-p.slots
		}
	}
}

// deliver tries until an admin takes the answers, or nobody waits for them any more.
func (p *puller) deliver(batch []pulledAnswer, until time.Time) {
	req := &wire.PullRequest{RegistryKey: p.e.config.AppName, RegistryValue: p.e.address}
	for _, a := range batch {
		req.Answers = append(req.Answers, a.PulledAnswer)
	}
	ctx, cancel := context.WithDeadline(p.ctx, until)
	defer cancel()
	for {
		err := p.e.admins.AnswerPulled(ctx, batch[0].admin, req)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			p.e.logger.Warn("answers to calls could not be handed over; the admin asks again", "answers", len(batch), "error", err)
			return
		case <-time.After(answerAgain):
		}
	}
}

// pulledFile is in the data folder, and as old as the last answer of an admin to a pull.
const (
	pulledFile  = "pulled"
	pulledEvery = 5 * time.Second
)

// note keeps when an admin answered last, for [Pulled].
func (p *puller) note() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.noted) < pulledEvery {
		return
	}
	p.noted = time.Now()
	if err := os.WriteFile(filepath.Join(p.e.config.DataDir, pulledFile), nil, 0o600); err != nil {
		p.e.logger.Debug("note that an admin answered", "error", err)
	}
}

// Pulled is when an admin last answered the executor with this data folder that asks for its calls; zero when none has.
func Pulled(dataDir string) (time.Time, error) {
	info, err := os.Stat(filepath.Join(dataDir, pulledFile))
	if errors.Is(err, os.ErrNotExist) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}
