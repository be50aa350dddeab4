package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

// Mode is how an executor comes by what it is to do.
type Mode string

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
	// The same where one address is that of several admins. What one that is frozen holds could be at another: it is given up sooner, and
	// very soon when that has just happened, while some pulls more are open.
	sharedWait   = 5 * time.Second
	sharedGrace  = 3 * time.Second
	troubleWait  = 2 * time.Second
	troubleGrace = 2 * time.Second
	troubleFor   = 30 * time.Second
	troubleMore  = 6
	// So many of them are waited for until the end all the same: when nothing comes in time from any admin, it is the machine that is slow,
	// or the way, and one answer that did come tells for how long to wait.
	troublePatient = 2
	// When so many in a row were given up, and nothing came to any other meanwhile, it is not one admin that holds them: they are held up on
	// the way, and more of them would keep it so.
	heldUp = 2 * maxApart
	// fewerAfter is for how long there have to be fewer admins until fewer pulls are open.
	fewerAfter = time.Minute
	// Where the beginning of an answer is seen to come early, one that does not is given up after so long, and what the way takes: the
	// admin is frozen. An answer to a call gets as long in a time of trouble.
	silence = 500 * time.Millisecond
	// maxApart is how many pulls are open at such an address, whatever the admins say that they are.
	maxApart = 8
	// Where a pull comes to an admin at which another is open already it is sent again, so often for each admin that there is, and every
	// other time over a new connection.
	maxElsewhere = 5
	// After so many answers of one admin alone the balancer sends everything there. Whether that has changed is tried again later.
	maxSame    = 20
	apartAgain = 10 * time.Second
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
	maxCarried       = 64 << 10  // of a request that is sent to several admins until it comes to the right one
	carryWait        = 5 * time.Millisecond
	answerAgain      = 200 * time.Millisecond
	answerLimit      = time.Second
	answersEnd       = 2 * time.Second // for those that are left at a stop

	never time.Duration = math.MaxInt64
)

// puller asks the admins for calls: all of them at the same time, so that each can hand over its own at once. Where fewer addresses are known
// than there are admins, there is a balancer, and it keeps as many pulls open as there are admins, one at each.
type puller struct {
	e        *Executor
	instance string
	slots    chan struct{} // one a call that is under way
	answers  chan pulledAnswer
	serving  group // calls
	sending  group // answers

	ctx    context.Context // of the answers
	giveUp context.CancelFunc

	mu     sync.Mutex
	lost   []lostPull
	next   int64
	noted  time.Time
	places []place // by address

	services *group // the askers
}

// place is an address of admins.
type place struct {
	admins  int           // that it is to be asked for, 1 unless it is a balancer's; 0: nobody has said it
	counted time.Time     // when there were so many last
	askers  int           // that ask there
	trouble time.Time     // until when it is known that one of them holds what it is asked
	early   early         // whether the beginning of an answer comes as early as it is sent
	way     time.Duration // how long an answer was under way lately, at most
	silent  int           // how many were given up in a row because nothing came
	last    string        // the admin that answered last
	same    int           // how many answers in a row came from it
	name    hold          // on the executor's name
	short   chan struct{} // more may have to ask
}

// early is what is known of whether the beginnings of answers come early.
type early int

const (
	unknownEarly   early = iota // no admin has said that it does so
	neverEarly                  // something between gathers answers, or so it looks
	perhapsEarly                // an admin does so
	certainlyEarly              // one was seen
)

// hold is what an admin said last of the name that the executor asks under.
type hold int

const (
	unknownName hold = iota
	ownName
	takenName // by another executor
)

var errSilent = errors.New("the admin says nothing")

// asker has one pull open at a time, over connections of its own: a balancer that knows connections only sends it elsewhere by a new one.
type asker struct {
	p      *puller
	admin  int
	number int // of those of its address; the first asks always
	client atomic.Pointer[wire.AdminClient]
	http   atomic.Pointer[http.Client]
	// carried are answers that go with the next pull: behind a balancer both have to come to the same admin.
	carried []pulledAnswer
}

type lostPull struct {
	name string
	at   time.Time
}

// pulledAnswer is an answer on its way.
type pulledAnswer struct {
	wire.PulledAnswer
	by    *asker // to which the call was handed over
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
		name = pullName(host, e.instance)
	}
	address, ok := wire.PullAddress(name)
	if !ok {
		return "", fmt.Errorf("the name %q is not made of letters, digits, points, hyphens and underscores, at most %d", name, wire.MaxPullName)
	}
	return address, nil
}

// pullName makes a name of a machine's and of a data folder's mark.
func pullName(host, mark string) string {
	host = strings.Map(func(r rune) rune {
		if _, ok := wire.PullAddress(string(r)); ok {
			return r
		}
		return '-'
	}, host)
	return host[:min(len(host), wire.MaxPullName-9)] + "-" + mark[:8]
}

// start asks until ctx ends. Then [puller.finish] waits for what is under way.
func (p *puller) start(ctx context.Context, services *group) {
	p.services = services
	p.places = make([]place, p.e.admins.Len())
	for i := range p.places {
		p.places[i] = place{askers: 1, short: make(chan struct{}, 1)}
		services.Go(func() { p.supervise(ctx, i) })
		a := p.newAsker(i, 0)
		services.Go(func() { a.loop(ctx) })
	}
	for range answerSenders {
		p.sending.Go(p.send)
	}
}

func (p *puller) newAsker(admin, number int) *asker {
	a := &asker{p: p, admin: admin, number: number}
	a.client.Store(p.e.admins)
	a.renew()
	return a
}

// renew has it ask over new connections.
func (a *asker) renew() {
	e := a.p.e
	if e.newClient == nil {
		return
	}
	a.close()
	client := e.newClient()
	a.http.Store(client)
	a.client.Store(e.newAdmins(client, e.token.show))
}

// close ends the connections over which nothing goes on.
func (a *asker) close() {
	if client := a.http.Load(); client != nil {
		client.CloseIdleConnections()
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

// loop asks at one address.
func (a *asker) loop(ctx context.Context) {
	p := a.p
	defer a.close()
	defer a.unload()
	again, failing, elsewhere := firstPullAgain, false, 0
	for ctx.Err() == nil {
		select { // there must be room for a call at least
		case p.slots <- struct{}{}:
			<-p.slots
		case <-ctx.Done():
			return
		}
		manner, needed := p.manner(a)
		if !needed {
			return
		}
		manner.apart = manner.apart && elsewhere < manner.tries
		response, err := a.once(ctx, manner)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			if failing {
				p.e.logger.Info("the admin hands over calls again")
				p.e.reporter.reached()
			}
			again, failing = firstPullAgain, false
			p.hasName(a.admin)
			same := p.learn(a.admin, &response)
			switch {
			case same && a.number > 0:
				if !pause(ctx, apartAgain) {
					return
				}
				p.doubt(a.admin)
			case !response.Elsewhere:
				elsewhere = 0
				continue
			case elsewhere%2 == 1:
				a.renew()
			}
			elsewhere++
			continue
		case !failing:
			p.e.logger.Warn("cannot ask the admin for calls, trying again", "group", p.e.config.AppName, "executor", p.e.address, "error", err)
			failing = true
		}
		p.mayLackName(a.admin, err)
		p.mayLackToken(err)
		a.renew()                      // the connection may lead to one that is frozen, or to nobody
		if errors.Is(err, errSilent) { // which took its time
			again = firstPullAgain
		}
		if !pause(ctx, again/2+rand.N(again/2)) {
			return
		}
		again = min(again*2, lastPullAgain)
	}
}

// pause is false when ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// manner is how a pull is made.
type manner struct {
	wait, grace time.Duration
	silence     time.Duration // within which the answer has to begin; 0: that is not known
	patient     bool          // it is known, and the answer is waited for all the same
	apart       bool
	early       bool // the beginning of the answer is asked for
	tries       int  // of those that are apart, one after the other
	carries     bool // answers go with it
}

// manner says how the next pull is made. needed is false when there are too many already.
func (p *puller) manner(a *asker) (m manner, needed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := &p.places[a.admin]
	if a.number > 0 && a.number >= at.wanted() {
		at.askers--
		return m, false
	}
	m = manner{apart: at.admins > 1 && !at.troubled(), tries: at.admins * maxElsewhere}
	switch {
	case at.admins == 0: // how many there are is known at once
		m.grace = pullGrace
	case at.admins == 1:
		m.wait, m.grace = pullWait, pullGrace
	case at.troubled():
		m.wait, m.grace = troubleWait, troubleGrace
	default:
		m.wait, m.grace, m.carries = sharedWait, sharedGrace, true
	}
	m.early = at.admins > 1
	if m.early && at.early >= perhapsEarly {
		if m.patient = at.troubled() && a.number >= at.wanted()-troublePatient; !m.patient {
			m.silence = wire.PullEarly + at.patience()
		}
	}
	return m, true
}

// patience is how long an answer may be under way that is given at once. It grows when none comes any more: the way may be longer than it was.
func (at *place) patience() time.Duration {
	return (silence + 3*at.way) << min(at.silent/heldUp, 4)
}

// begins learns from the beginning of an answer, which came so long after the request. That others were late while some came in time says
// nothing: one admin is frozen, and the machine is busy.
func (p *puller) begins(admin int, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := &p.places[admin]
	late := took > wire.PullEarly+at.patience()
	if late && at.silent < at.wanted() {
		return
	}
	if late && at.early >= perhapsEarly {
		at.way = min(took-wire.PullEarly, sharedGrace)
	}
	at.silent = 0
}

// silentFor is for how much longer a pull of which nothing has come, since it was made, is waited for. Others may have shown meanwhile that
// it takes long.
func (p *puller) silentFor(admin int, since time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return wire.PullEarly + p.places[admin].patience() - time.Since(since)
}

// clock learns from an answer how long the way is, and whether its beginning came early. It began, and was there, so long after the request.
func (p *puller) clock(admin int, r *wire.PullResponse, m manner, began, took time.Duration) {
	held := time.Duration(r.Held) * time.Millisecond
	way := max(0, took-held)
	p.mu.Lock()
	defer p.mu.Unlock()
	at := &p.places[admin]
	switch {
	case !r.Early:
	case held < 2*wire.PullEarly:
		if at.early == unknownEarly {
			at.early = perhapsEarly
		}
	case began < held-wire.PullEarly/2:
		at.early, way = certainlyEarly, max(0, began-wire.PullEarly)
	default:
		at.early = neverEarly
	}
	if m.patient { // what it took says nothing of those that have to begin in time
		way = 0
	}
	at.way = max(min(way, sharedGrace), at.way*7/8)
}

// learn goes by what an admin says of how many there are: as many ask as share one address. same is true when all answers come from one.
func (p *puller) learn(admin int, r *wire.PullResponse) (same bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := &p.places[admin]
	n := min(max(r.Admins-len(p.places)+1, 1), maxApart)
	// One that is frozen is soon not counted any more, and the balancer goes on sending there.
	if n >= at.admins || !at.troubled() && time.Since(at.counted) > fewerAfter {
		at.admins, at.counted = n, time.Now()
	}
	if at.askers < at.wanted() {
		at.look()
	}
	if r.Admin != at.last {
		at.last, at.same = r.Admin, 0
	}
	at.same++
	return at.same > maxSame
}

// hasName is told that an admin lets the executor ask. What had the name before has taken it from the registry at its end.
func (p *puller) hasName(admin int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := &p.places[admin]
	if at.name == takenName {
		p.beat()
	}
	at.name = ownName
}

// mayLackName is told why a pull failed.
func (p *puller) mayLackName(admin int, err error) {
	refused := (*wire.RefusedError)(nil)
	if !errors.As(err, &refused) || refused.Code != wire.CodeNameTaken {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.places[admin].name = takenName
}

// mayLackToken is told why a pull failed. The next registration looks whether there is another token, and comes at once: until then no call does.
func (p *puller) mayLackToken(err error) {
	if refused := (*wire.RefusedError)(nil); errors.As(err, &refused) && refused.WrongToken() && p.e.registered.Load() {
		p.beat()
	}
}

// beat has the executor registered at once.
func (p *puller) beat() {
	select {
	case p.e.beatNow <- struct{}{}:
	default:
	}
}

// nameTaken says whether another executor asks under the name, which is then the other's in the registry as well.
func (p *puller) nameTaken() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	has := func(h hold) bool { return slices.ContainsFunc(p.places, func(at place) bool { return at.name == h }) }
	return has(takenName) && !has(ownName)
}

// doubt has it found out anew whether there is one admin.
func (p *puller) doubt(admin int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.places[admin].same = 0
}

// supervise has as many ask at an address as are wanted.
func (p *puller) supervise(ctx context.Context, admin int) {
	p.mu.Lock()
	short := p.places[admin].short
	p.mu.Unlock()
	for {
		select {
		case <-short:
		case <-ctx.Done():
			return
		}
		p.mu.Lock()
		for at := &p.places[admin]; at.askers < at.wanted(); at.askers++ {
			a := p.newAsker(admin, at.askers)
			p.services.Go(func() { a.loop(ctx) })
		}
		p.mu.Unlock()
	}
}

// look has it looked whether more have to ask.
func (at *place) look() {
	select {
	case at.short <- struct{}{}:
	default:
	}
}

// wanted is how many are to ask.
func (at *place) wanted() int {
	if at.troubled() {
		return at.admins + troubleMore
	}
	return at.admins
}

// troubled is false where there is one admin: more pulls would wait there as well.
func (at *place) troubled() bool { return at.admins > 1 && time.Now().Before(at.trouble) }

// givenUp counts a pull of which nothing came in time.
func (at *place) givenUp() {
	if at.silent++; at.silent > heldUp && at.early == perhapsEarly {
		at.early = neverEarly
	}
	if at.silent >= heldUp {
		at.trouble = time.Time{}
		return
	}
	at.trouble = time.Now().Add(troubleFor)
	at.look()
}

// once makes one pull and begins what it brings.
func (a *asker) once(ctx context.Context, m manner) (wire.PullResponse, error) {
	p := a.p
	req := p.request(m)
	for _, answer := range a.carried {
		req.Answers = append(req.Answers, answer.PulledAnswer)
	}
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, m.wait+m.grace)
	defer cancel()
	var first atomic.Int64 // how long after it was asked the answer began
	silent := a.giveUpSilent(began, m, cancel)
	defer silent.Stop()
	begun := func() {
		silent.Stop()
		first.Store(int64(time.Since(began)))
		p.begins(a.admin, time.Since(began))
	}
	response, err := a.client.Load().Pull(limited, a.admin, req, begun)
	if err != nil {
		p.lose(req.Pull)
		a.unload()
		if limited.Err() != nil && ctx.Err() == nil {
			p.noteTrouble(a.admin)
			err = fmt.Errorf("%w: %w", errSilent, err)
		}
		return response, err
	}
	if m.early {
		p.clock(a.admin, &response, m, time.Duration(first.Load()), time.Since(began))
	}
	p.note()
	a.carried = slices.DeleteFunc(a.carried, func(answer pulledAnswer) bool {
		taken := !slices.Contains(response.Left, answer.ID)
		if taken {
			<-p.slots
		}
		return taken
	})
	held := time.Duration(response.Held) * time.Millisecond
	g := newGathering(len(response.Calls), m.carries)
	for i := range response.Calls {
		call := &response.Calls[i]
		// The admin cannot have let go of it before this moment, whatever the two clocks say.
		until := began.Add(held + time.Duration(call.Left)*time.Millisecond)
		a.reserve(g)
		p.serving.Go(func() { a.serve(call, until, g) })
	}
	if m.carries && len(response.Calls) > 0 {
		a.carried = append(a.carried, g.take()...)
		if len(p.slots) > maxPulled/2 { // the others need what these would hold for as long as the next pull lasts
			a.unload()
		}
	}
	return response, nil
}

// reserve waits for the place of a call. Where there is none, the answers that are gathered hold some, and go on their own: each asker might
// wait for those of another.
func (a *asker) reserve(g *gathering) {
	select {
	case a.p.slots <- struct{}{}:
		return
	default:
	}
	a.carried = append(a.carried, g.end()...)
	a.unload()
	a.p.slots <- struct{}{}
}

// giveUpSilent gives a pull up of which nothing has come, unless the timer is stopped.
func (a *asker) giveUpSilent(since time.Time, m manner, giveUp func()) (silent *time.Timer) {
	silent = time.AfterFunc(never, func() {
		if more := a.p.silentFor(a.admin, since); more > 0 {
			silent.Reset(more)
			return
		}
		giveUp()
	})
	if m.silence > 0 {
		silent.Reset(m.silence)
	}
	return silent
}

// gathering holds the answers to the calls of one pull for a moment, so that the next one carries them.
type gathering struct {
	mu      sync.Mutex
	awaited int
	size    int
	open    bool
	answers []pulledAnswer
	all     chan struct{} // closed when all are there
}

func newGathering(calls int, open bool) *gathering {
	return &gathering{awaited: calls, open: open, all: make(chan struct{})}
}

// put is false for an answer that has to go on its own.
func (g *gathering) put(answer pulledAnswer) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open {
		return false
	}
	if g.awaited--; g.awaited == 0 {
		close(g.all)
	}
	if g.size += len(answer.Answer); g.size > maxCarried || len(g.answers) == maxAnswersAtOnce {
		return false
	}
	g.answers = append(g.answers, answer)
	return true
}

// take waits for the answers, not for long.
func (g *gathering) take() []pulledAnswer {
	end := time.NewTimer(carryWait)
	defer end.Stop()
	select {
	case <-g.all:
	case <-end.C:
	}
	return g.end()
}

// end gives what is there, once, and takes no more.
func (g *gathering) end() (answers []pulledAnswer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	answers, g.answers, g.open = g.answers, nil, false
	return answers
}

// unload hands over on their own what was to be carried.
func (a *asker) unload() {
	for _, answer := range a.carried {
		a.p.answers <- answer
	}
	a.carried = nil
}

// noteTrouble is told of an admin that holds what it is asked for too long.
func (p *puller) noteTrouble(admin int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.places[admin].givenUp()
}

func (p *puller) request(m manner) *wire.PullRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	req := &wire.PullRequest{
		RegistryKey: p.e.config.AppName, RegistryValue: p.e.address, Instance: p.instance, Pull: p.instance + "." + strconv.FormatInt(p.next, 36),
		Max: min(max(maxPulled-len(p.slots), 1), wire.MaxPull), Wait: int(m.wait.Milliseconds()), Apart: m.apart, Early: m.early,
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
func (a *asker) serve(call *wire.PulledCall, until time.Time, g *gathering) {
	p := a.p
	if !time.Now().Before(until) {
		<-p.slots
		p.e.logger.Warn("a call came too late and is left", "path", call.Path)
		return
	}
	answer := pulledAnswer{wire.PulledAnswer{ID: call.ID, Answer: p.e.answerCall(call)}, a, until}
	if !g.put(answer) {
		p.answers <- answer
	}
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
		batch, size := map[*asker][]pulledAnswer{first.by: {first}}, len(first.Answer)
	gather:
		for n := 1; n < maxAnswersAtOnce && size < maxAnswerBytes; n++ {
			select {
			case next, ok := <-p.answers:
				if !ok {
					break gather
				}
				batch[next.by], size = append(batch[next.by], next), size+len(next.Answer)
			default:
				break gather
			}
		}
		var parts group
		for by, answers := range batch {
			parts.Go(func() {
				by.deliver(answers)
				for range answers {
					<-p.slots
				}
			})
		}
		parts.Wait()
	}
}

// deliver tries until an admin takes the answers, or nobody waits for them any more. Behind a balancer it looks a few times for the one that
// waits, which has them at once then; any other has to write them down.
func (a *asker) deliver(answers []pulledAnswer) {
	p := a.p
	req := &wire.PullRequest{RegistryKey: p.e.config.AppName, RegistryValue: p.e.address}
	until, size := answers[0].until, 0
	for _, answer := range answers {
		req.Answers = append(req.Answers, answer.PulledAnswer)
		size += len(answer.Answer)
		if answer.until.After(until) {
			until = answer.until
		}
	}
	tries := p.shared(a.admin) * maxElsewhere
	req.Apart = tries > maxElsewhere && size <= maxCarried
	ctx, cancel := context.WithDeadline(p.ctx, until)
	defer cancel()
	for try := 1; ; try++ {
		attempt, end := ctx, context.CancelFunc(func() {})
		if tries > maxElsewhere { // it is answered at once, unless it came to one that is frozen
			attempt, end = context.WithTimeout(ctx, p.answerLimit(a.admin))
		}
		left, err := a.client.Load().AnswerPulled(attempt, a.admin, req)
		if late := attempt.Err() != nil && ctx.Err() == nil; late {
			p.noteTrouble(a.admin)
		}
		end()
		switch {
		case err == nil && len(left) == 0:
			return
		case err == nil:
			req.Answers = slices.DeleteFunc(req.Answers, func(answer wire.PulledAnswer) bool { return !slices.Contains(left, answer.ID) })
			req.Apart = try < tries
			if try%2 == 0 {
				a.close() // the next goes over another connection
			}
			continue
		}
		req.Apart = false
		if !pause(ctx, answerAgain) {
			p.e.logger.Warn("answers to calls could not be handed over; the admin asks again", "answers", len(req.Answers), "error", err)
			return
		}
	}
}

// answerLimit is how long the admin may take that an answer comes to, where there are several.
func (p *puller) answerLimit(admin int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := &p.places[admin]; at.troubled() {
		return min(at.patience(), answerLimit)
	}
	return answerLimit
}

// shared is how many admins are behind an address.
func (p *puller) shared(admin int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.places[admin].admins
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
