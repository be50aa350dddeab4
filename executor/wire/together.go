package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Of a thousand runs that are due in one moment at one executor, a request each costs both sides more than all else about them. An
// executor of ours therefore takes several in one request, at /runs, and says so in the head of its answers. Other executors never say
// so, and are asked for each run. Which runs go together is for whoever calls to say.

// HeaderTakesRuns is in the answers of an executor that serves /runs.
const HeaderTakesRuns = "Punctual-Takes-Runs"

const (
	// MaxRuns is how many runs may be asked for in one request.
	MaxRuns = 100
	// shunFor is for how long each run has a request of its own after one for several brought no answer of the protocol: what stands between
	// may let nothing through but the paths of XXL-JOB.
	shunFor = 10 * time.Minute
	// shunBroken is for how long after one whose connection broke, as it does when an executor is started anew. What stands between may do so too with
	// what it does not let through: as often as it is met without an answer in between, this doubles.
	shunBroken = time.Second
	// forgetTaker is how long an executor is remembered that is not called.
	forgetTaker = 24 * time.Hour
)

var (
	errRunsAnswer  = errors.New("not an answer for each run")
	errAnsweredFor = errors.New("the executor has the run, and something on the way answered for it")
)

// RunsRequest is the body of /runs. Its members are bodies of /run, in which also stands what would be in a header.
type RunsRequest struct {
	Runs []json.RawMessage `json:"runs"`
}

// DecodeRuns reads the body of /runs. What it gives has memory of its own: each run's is kept for as long as that takes.
func DecodeRuns(body []byte) ([]json.RawMessage, error) {
	r, ok := quickRuns(body)
	if !ok {
		if err := json.Unmarshal(body, &r); err != nil {
			return nil, err
		}
	}
	if len(r.Runs) > MaxRuns {
		return nil, fmt.Errorf("%d runs in one request, and at most %d are taken", len(r.Runs), MaxRuns)
	}
	for i := range r.Runs {
		r.Runs[i] = bytes.Clone(r.Runs[i])
	}
	return r.Runs, nil
}

// takers are the executors that take several runs in one request.
type takers struct {
	mu    sync.Mutex
	known map[takerKey]*taker
	swept time.Time
}

// takerKey names an executor: one that asks for its calls has its address in its group alone.
type takerKey struct{ address, appName string }

// taker is an executor that takes several runs. Its fields are guarded by takers.mu.
type taker struct {
	used    time.Time
	shunned time.Time     // until when it is asked for each run
	broken  time.Duration // for how long it was shunned for the last connection that broke; 0: an answer came since
	brokeAt time.Time     // when that was
}

func newTakers() *takers { return &takers{known: make(map[takerKey]*taker), swept: time.Now()} }

func (t *takers) has(to Target) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.known[takerKey{to.Address, to.AppName}]
	if at == nil {
		return false
	}
	at.used = time.Now()
	return !at.used.Before(at.shunned)
}

// learn notes whether an executor takes several runs.
func (t *takers) learn(to Target, takes bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, key := time.Now(), takerKey{to.Address, to.AppName}
	switch at := t.known[key]; {
	case takes && at == nil:
		t.known[key] = &taker{used: now}
	case !takes && at != nil: // another executor has this address now
		at.shunned = now.Add(shunFor)
	}
	if now.Sub(t.swept) > forgetTaker {
		t.swept = now
		maps.DeleteFunc(t.known, func(_ takerKey, at *taker) bool { return now.Sub(at.used) > forgetTaker })
	}
}

// broke notes that a request for several runs ended with its connection. Of those under way at once, which one restart breaks, the first counts.
func (t *takers) broke(to Target, began time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := t.known[takerKey{to.Address, to.AppName}]; at != nil && began.After(at.brokeAt) {
		at.broken = min(max(shunBroken, 2*at.broken), shunFor)
		at.brokeAt = time.Now()
		at.shunned = at.brokeAt.Add(at.broken)
	}
}

// answered notes that one brought an answer.
func (t *takers) answered(to Target) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := t.known[takerKey{to.Address, to.AppName}]; at != nil {
		at.broken = 0
	}
}

// Takes says whether an executor is known to take several runs in one request, as its answers say.
func (c *ExecutorClient) Takes(to Target) bool { return c.takers.has(to) }

// Told is what came of asking for a run.
type Told struct {
	Answer Answer
	Err    error
}

// RunAll asks for one to [MaxRuns] runs in one request, and says of each what came of it, as Run does. Where another executor than one
// that takes several answers, each is asked for by itself. The context is that of all of them.
func (c *ExecutorClient) RunAll(ctx context.Context, to Target, reqs []*RunRequest) []Told {
	if len(reqs) == 1 {
		answer, err := c.Run(ctx, to, reqs[0])
		return []Told{{answer, err}}
	}
	if to.Dialect == DialectTooOld {
		return slices.Repeat([]Told{{Err: tooOld()}}, len(reqs))
	}
	bodies := make([][]byte, len(reqs))
	for i, req := range reqs {
		bodies[i] = encodeRun(req)
	}
	body := slices.Concat([]byte(`{"runs":[`), bytes.Join(bodies, []byte(",")), []byte("]}"))
	began := time.Now()
	answer, err := c.post(ctx, baseURL(to.Address)+"/runs", to.Token, to.AppName, body, maxLogAnswer)
	taken := err == nil && answer.OK()
	switch e, _ := as[*CallError](err); {
	case taken:
		c.takers.answered(to)
	case answer.takesRuns || !Delivered(err) || ctx.Err() != nil: // it says nothing about what is in between
	case e != nil && e.Stage == StageAnswer:
		c.takers.broke(to, began)
	default:
		c.takers.learn(to, false)
	}
	if err == nil && !taken && !answer.takesRuns { // one that has not read what it does not know, or what is in between
		return c.runEach(ctx, to, reqs)
	}
	told := make([]Told, len(reqs))
	var each []json.RawMessage
	if taken {
		var ok bool
		if each, ok = quickItems(answer.Data); !ok || len(each) != len(reqs) {
			taken, err = false, &CallError{Stage: StageDecode, MaybeDelivered: true, Err: fmt.Errorf("%w: %d for %d", errRunsAnswer, len(each), len(reqs))}
		}
	}
	for i := range told {
		told[i] = Told{answer, err}
		if !taken {
			continue
		}
		if told[i].Answer, told[i].Err = DecodeAnswer(each[i]); told[i].Err != nil {
			told[i].Err = &CallError{Stage: StageDecode, MaybeDelivered: true, Err: told[i].Err}
		}
	}
	return told
}

// runEach asks for runs by themselves after somebody else answered for them. If the executor of before has one, that answer was another's.
func (c *ExecutorClient) runEach(ctx context.Context, to Target, reqs []*RunRequest) []Told {
	told := make([]Told, len(reqs))
	var all sync.WaitGroup
	for i := range reqs {
		all.Add(1)
		go func() {
			defer all.Done()
			answer, err := c.runAlone(ctx, to, reqs[i])
			if err == nil && answer.Repeated() {
				answer, err = Answer{}, &CallError{Stage: StageAnswer, MaybeDelivered: true, Err: errAnsweredFor}
			}
			told[i] = Told{answer, err}
		}()
	}
	all.Wait()
	return told
}
