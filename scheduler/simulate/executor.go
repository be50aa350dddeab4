package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
)

// kind is how an executor behaves.
type kind int

const (
	ours    kind = iota // refuses every run id it has seen, has a log of a run from its acceptance on, remembers over a restart
	java                // refuses an id only while it waits, has a log only of what has begun, forgets all at its end
	handoff             // java whose handlers hand the work on: its idle beat says idle while it works
)

// executor is a simulated executor. It does nothing, for as long as the job's work takes.
type executor struct {
	w       *world
	app     string
	address string
	kind    kind
	asks    asking
	mark    string // of its data folder
	rng     *rand.Rand

	mu      sync.Mutex
	life    *life
	lives   int
	last    *life          // the newest, for who looks at it when all is over
	seen    map[int64]bool // run ids, of ours: also those of earlier lives
	journal map[int64]bool // runs of ours that have not ended
	unsaid  []wire.Callback
	frozen  chan struct{} // closed when it goes on
	sum     trouble       // of the network in front of it
	say     chan struct{} // capacity 1: there is something to report
}

// life is what an executor knows between a start and an end.
type life struct {
	ended   chan struct{}
	threads map[int64]*thread // by job
	begun   map[int64]bool    // runs that have a log
}

// thread is what an executor has of one job.
type thread struct {
	current *work
	waiting []*work
}

type work struct {
	req    wire.RunRequest
	cancel chan struct{} // closed when it is to end before its time
}

func newExecutor(w *world, app, address string, k kind, a asking, rng *rand.Rand) *executor {
	x := &executor{w: w, app: app, address: address, kind: k, asks: a, mark: strings.TrimPrefix(address, wire.PullScheme), rng: rng, seen: make(map[int64]bool), journal: make(map[int64]bool), say: make(chan struct{}, 1)}
	x.rise()
	return x
}

// rise starts the process.
func (x *executor) rise() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.life != nil {
		return
	}
	l := &life{ended: make(chan struct{}), threads: make(map[int64]*thread), begun: make(map[int64]bool)}
	x.life, x.last = l, l
	if x.kind == ours { // what was under way when it died has failed
		for id := range x.journal {
			x.unsaid = append(x.unsaid, wire.Callback{LogID: id, HandleCode: wire.CodeFail, HandleMsg: "the executor was stopped"})
		}
		clear(x.journal)
	}
	x.w.wg.Go(func() { x.beats(l) })
	x.w.wg.Go(func() { x.reports(l) })
	x.lives++
	if x.asks != called {
		x.ask(l, x.lives)
	}
	x.tell()
}

// fall ends the process without a farewell.
func (x *executor) fall() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.life == nil {
		return
	}
	close(x.life.ended)
	x.life = nil
	if x.kind != ours {
		x.unsaid = nil
	}
}

// trouble is what is wrong with the network in front of the executor.
func (x *executor) trouble() trouble {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.sum
}

func (x *executor) disturb(t trouble) {
	x.mu.Lock()
	x.sum = t
	x.mu.Unlock()
}

func (x *executor) freeze() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.frozen == nil {
		x.frozen = make(chan struct{})
	}
}

func (x *executor) wake() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.frozen != nil {
		close(x.frozen)
		x.frozen = nil
	}
}

// awake waits while the process is frozen. It reports false when gone was closed meanwhile: the process ended, or nobody waits any more.
func (x *executor) awake(gone <-chan struct{}) bool {
	for {
		x.mu.Lock()
		frozen := x.frozen
		x.mu.Unlock()
		if frozen == nil {
			return true
		}
		select {
		case <-frozen:
		case <-gone:
			return false
		}
	}
}

// alive reports whether anybody listens at the address.
func (x *executor) alive() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.life != nil
}

// beats registers with one admin after the other, as long as this life lasts.
func (x *executor) beats(l *life) {
	for {
		if x.awake(l.ended) {
			x.w.askAny(x.rng, func(ctx context.Context, n *node) error {
				return n.engine.Register(ctx, wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: x.app, RegistryValue: x.address})
			})
		}
		select {
		case <-l.ended:
			return
		case <-x.w.over:
			return
		case <-time.After(30 * time.Second):
		}
	}
}

// run is a request for a run.
func (x *executor) run(req *wire.RunRequest) wire.Answer {
	x.mu.Lock()
	defer x.mu.Unlock()
	l := x.life
	if l == nil {
		return wire.Answer{Code: wire.CodeFail, Msg: "stopping"}
	}
	t := l.threads[req.JobID]
	if t == nil {
		t = &thread{}
		l.threads[req.JobID] = t
	}
	repeated := slices.ContainsFunc(t.waiting, func(o *work) bool { return o.req.LogID == req.LogID })
	if x.kind == ours {
		repeated = x.seen[req.LogID]
	}
	if repeated {
		return wire.Answer{Code: wire.CodeFail, Msg: fmt.Sprintf("repeat trigger job, logId:%d", req.LogID)}
	}
	do := &work{req: *req, cancel: make(chan struct{})}
	if busy := t.current != nil; busy {
		switch req.BlockStrategy {
		case wire.BlockDiscardLater:
			return wire.Answer{Code: wire.CodeFail, Msg: "block strategy effect：Discard Later"}
		case wire.BlockCoverEarly:
			for _, o := range t.waiting {
				x.end(o, wire.CodeFail, "block strategy effect：Cover Early [job not executed, in the job queue, killed.]")
			}
			t.waiting = nil
			close(t.current.cancel)
			t.current.cancel = make(chan struct{}) // it is told once
		case wire.BlockSerial:
		}
	}
	if x.kind == ours {
		x.seen[req.LogID], x.journal[req.LogID] = true, true
		l.begun[req.LogID] = true
	}
	t.waiting = append(t.waiting, do)
	x.next(l, t)
	return wire.Answer{Code: wire.CodeSuccess}
}

// next begins the next run of a job, if none goes on.
func (x *executor) next(l *life, t *thread) {
	if t.current != nil || len(t.waiting) == 0 {
		return
	}
	do := t.waiting[0]
	t.waiting = t.waiting[1:]
	if x.kind != handoff {
		t.current = do
	}
	l.begun[do.req.LogID] = true
	x.w.began(x, &do.req)
	takes, code := x.w.work(&do.req, x.rng)
	cancel := do.cancel
	x.w.wg.Go(func() {
		timer := time.NewTimer(takes)
		defer timer.Stop()
		message := "done"
		select {
		case <-l.ended:
			return
		case <-cancel:
			code, message = wire.CodeFail, "killed"
		case <-timer.C:
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.life != l {
			return
		}
		x.end(do, code, message)
		if t.current == do {
			t.current = nil
			x.next(l, t)
		}
	})
}

// end reports a result.
func (x *executor) end(do *work, code int, message string) {
	delete(x.journal, do.req.LogID)
	x.unsaid = append(x.unsaid, wire.Callback{LogID: do.req.LogID, LogDateTime: do.req.LogDateTime, LogDateTim: do.req.LogDateTime, HandleCode: code, HandleMsg: message})
	x.tell()
}

func (x *executor) tell() {
	select {
	case x.say <- struct{}{}:
	default:
	}
}

// reports hands results to the admins until one says that it has them.
func (x *executor) reports(l *life) {
	var pause <-chan time.Time
	for {
		select {
		case <-l.ended:
			return
		case <-x.w.over:
			return
		case <-pause:
		case <-x.say:
			if pause != nil { // the admins did not answer: wait, as official executors do
				continue
			}
			time.Sleep(time.Until(time.Now().Truncate(100 * time.Millisecond).Add(100 * time.Millisecond)))
		}
		pause = nil
		x.mu.Lock()
		if x.life != l {
			x.mu.Unlock()
			return
		}
		batch := x.unsaid
		x.unsaid = nil
		x.mu.Unlock()
		if len(batch) == 0 {
			continue
		}
		told := false
		for at := 0; at < len(batch); at += 200 {
			part := batch[at:min(at+200, len(batch))]
			if told = x.report(l, part); !told {
				x.mu.Lock()
				if x.life == l || x.kind == ours {
					x.unsaid = append(slices.Clone(batch[at:]), x.unsaid...)
				}
				x.mu.Unlock()
				pause = time.After(5*time.Second + time.Duration(x.w.chance(x.rng, 25_000))*time.Millisecond)
				break
			}
		}
	}
}

func (x *executor) report(l *life, part []wire.Callback) bool {
	return x.awake(l.ended) && x.w.askAny(x.rng, func(ctx context.Context, n *node) error {
		return n.engine.CompleteBy(ctx, scheduler.Caller{Scope: x.app}, nil, slices.Clone(part))
	})
}

func (x *executor) idleBeat(jobID int64) wire.Answer {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.life != nil {
		if t := x.life.threads[jobID]; t != nil && (t.current != nil || len(t.waiting) > 0) {
			return wire.Answer{Code: wire.CodeFail, Msg: "job thread is running or has trigger queue."}
		}
	}
	return wire.Answer{Code: wire.CodeSuccess}
}

func (x *executor) kill(jobID, logID int64) wire.Answer {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.life == nil {
		return wire.Answer{Code: wire.CodeFail, Msg: "stopping"}
	}
	t := x.life.threads[jobID]
	if t == nil {
		return wire.Answer{Code: wire.CodeSuccess, Msg: "job thread already killed."}
	}
	only := func(o *work) bool { return x.kind != ours || logID == 0 || o.req.LogID == logID }
	t.waiting = slices.DeleteFunc(t.waiting, func(o *work) bool {
		if !only(o) {
			return false
		}
		x.end(o, wire.CodeFail, "killed in the queue")
		return true
	})
	if t.current != nil && only(t.current) {
		close(t.current.cancel)
		t.current.cancel = make(chan struct{})
	}
	return wire.Answer{Code: wire.CodeSuccess}
}

func (x *executor) log(req wire.LogRequest) wire.LogResult {
	x.mu.Lock()
	defer x.mu.Unlock()
	known := x.life != nil && x.life.begun[req.LogID] || x.kind == ours && x.seen[req.LogID]
	if !known {
		missing := wire.LogResult{FromLineNum: req.FromLineNum, LogContent: wire.LogMissing, IsEnd: true}
		if x.kind == ours && req.FromLineNum >= wire.PastEnd {
			missing.Remembers = time.Hour.Milliseconds() // over a restart, too
		}
		return missing
	}
	return wire.LogResult{FromLineNum: req.FromLineNum, ToLineNum: 1, LogContent: "line\n"}
}
