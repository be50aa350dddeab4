package pull

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/seal"
	"github.com/punctual-job/punctual/executor/wire"
)

// Why a pull is refused.
var (
	ErrOther   = errors.New("another executor of this name asks for its calls already: give each a name of its own")
	ErrBetween = fmt.Errorf("%w, or did a moment ago", ErrOther) // as when a program that keeps nothing starts anew
	ErrCopy    = errors.New("another executor with a copy of this one's data folder asks for its calls: give each a folder of its own")
	ErrTooMany = errors.New("too many executors ask for their calls here")
	ErrClosed  = errors.New("this admin is stopping")
)

const (
	maxBoxPulls  = 16      // that one executor has open here
	maxFormer    = 64      // processes of one folder that are told from a new one
	maxPulls     = 20_000  // of all executors
	maxBytes     = 1 << 20 // of the calls that one pull gets, unless a single one is longer
	maxBody      = 16 << 20
	withoutLimit = time.Minute // how long a call waits whose caller has set no limit
	takeBackTime = time.Second // for finding out whether a call was handed over
)

// Config is what a [Mailbox] is made of. Pool and Logger are required.
type Config struct {
	Pool       *db.Pool
	Logger     *slog.Logger
	Registerer prometheus.Registerer // nil: metrics are kept but not published
	Seal       *seal.Seal            // of bodies in the database, which may hold secrets; nil: they are not sealed
	Key        []byte                // marks calls as made by an admin, so all have the same; nil: one that no other has
	Now        func() time.Time      // the clock of all admins; time.Now when nil
	Others     func() bool           // whether other admins live; nil: there are none
	Admins     func() int            // how many share the work, for executors that reach them by a balancer; nil: one
	Every      time.Duration         // how often the database is looked at while others live and something waits; 10 ms
}

// Mailbox brings calls to executors. It is the [http.RoundTripper] for addresses of [wire.PullScheme].
type Mailbox struct {
	cfg     Config
	queries *db.Queries
	name    string // of this process, for whoever has an answer for it
	metrics metrics

	closed    chan struct{}
	closeOnce sync.Once
	wake      chan struct{} // something waits that is another admin's to hand over
	look      chan struct{} // somebody asks for calls
	sighted   chan struct{} // by an executor that was away
	last      atomic.Uint64 // number of the newest call
	read      time.Time     // when answers were looked for last; only send's

	mu    sync.Mutex
	boxes map[box]*state
	calls map[string]*call // made here, and not over
	pulls int
	swept time.Time
	done  []string  // rows that nobody needs any more
	late  time.Time // until when answers may be written down to calls that are over

	seen    map[box]*sight
	watched time.Time // when seen was last written down
	blind   time.Time // until when others may have seen what is not known here; zero before the first round

	storing    map[box]load // answers that are being written down, by executor
	storingAll load
}

// box is an executor: its group's name in lower case, and its address.
type box struct{ app, address string }

// state is a box that has calls or pulls, or had pulls a moment ago.
type state struct {
	waiting []*call // made here and not handed over, in their order; without those that are rows
	pulls   []*pull // open, the oldest first
	seen    time.Time
	// instance is the process that asks, and former are those of its folder that it took the place of, the oldest first.
	instance string
	former   []string
}

// call is one call to an executor.
type call struct {
	id          string // see newID
	path, trace string
	box         box
	body        []byte
	ctx         context.Context
	expires     time.Time // by the clock of all admins
	result      chan []byte

	// Guarded by Mailbox.mu.
	made    time.Time
	takenBy string // the pull that has it
	row     bool   // the database decides who has it
	stored  bool   // the row is there; else nobody knows
}

// pull is an executor that waits for calls.
type pull struct {
	req   wire.PullRequest
	wake  chan struct{} // look into the box
	rows  chan []string // rows that it may take
	ended chan struct{} // closed when the executor says that it does not look at it any more
	// Guarded by Mailbox.mu.
	gone bool // ended is closed
	busy bool // it is about to end, with rows
}

type metrics struct {
	open  prometheus.Gauge
	calls *prometheus.CounterVec
}

// New makes a mailbox. [Mailbox.Run] looks after what goes by the database.
func New(cfg Config) *Mailbox {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Others == nil {
		cfg.Others = func() bool { return false }
	}
	if cfg.Admins == nil {
		cfg.Admins = func() int { return 1 }
	}
	if cfg.Key == nil {
		cfg.Key = []byte(rand.Text())
	}
	cfg.Every = cmp.Or(cfg.Every, 10*time.Millisecond)
	factory := promauto.With(cfg.Registerer)
	return &Mailbox{
		cfg: cfg, queries: db.New(), name: strings.ToLower(rand.Text()), closed: make(chan struct{}), wake: make(chan struct{}, 1), look: make(chan struct{}, 1),
		boxes: make(map[box]*state), calls: make(map[string]*call), storing: make(map[box]load),
		seen: make(map[box]*sight), sighted: make(chan struct{}, 1),
		metrics: metrics{
			open: factory.NewGauge(prometheus.GaugeOpts{Name: "punctual_pulls_open", Help: "Executors that wait for calls at this admin, each as often as it waits."}),
			calls: factory.NewCounterVec(prometheus.CounterOpts{Name: "punctual_pulled_calls_total",
				Help: "Calls that executors fetched here, by way: memory, or database when another admin made them."}, []string{"way"}),
		},
	}
}

// Close ends all pulls, and takes no more.
func (m *Mailbox) Close() { m.closeOnce.Do(func() { close(m.closed) }) }

// RoundTrip implements [http.RoundTripper]: it waits until the executor has fetched the call and answered it.
func (m *Mailbox) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	body, err := read(r)
	if err != nil {
		return nil, err
	}
	if !wire.MayPass(ctx) {
		return nil, wire.ErrGate
	}
	address, ok := wire.NormalPullAddress(wire.PullScheme + r.URL.Host)
	if !ok {
		return nil, fmt.Errorf("%q is no name of an executor", r.URL.Host)
	}
	to := box{strings.ToLower(r.Header.Get(wire.HeaderAppName)), address}
	if since, silent := m.silent(ctx, to); silent {
		return nil, &wire.SilentError{Since: since}
	}
	c := m.add(ctx, to, r.URL.Path, r.Header.Get(wire.HeaderTraceParent), body)
	select {
	case answer := <-c.result:
		return answered(r, answer), nil
	case <-ctx.Done():
	case <-m.closed:
	}
	fetched := m.remove(c)
	select {
	case answer := <-c.result: // it came just now
		return answered(r, answer), nil
	default:
	}
	if fetched {
		if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.GotConn != nil {
			trace.GotConn(httptrace.GotConnInfo{}) // the client tells by it that the call may have arrived
		}
		return nil, cmp.Or(ctx.Err(), error(ErrClosed))
	}
	if !wire.MayPass(ctx) {
		return nil, wire.ErrGate
	}
	return nil, fmt.Errorf("%w: %w", wire.ErrNotFetched, cmp.Or(ctx.Err(), error(ErrClosed)))
}

func read(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = fmt.Errorf("the call is longer than %d bytes", maxBody)
	}
	return body, err
}

func answered(r *http.Request, body []byte) *http.Response {
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: r,
	}
}

// add puts a call into its box.
func (m *Mailbox) add(ctx context.Context, to box, path, trace string, body []byte) *call {
	left := withoutLimit
	if until, ok := ctx.Deadline(); ok {
		left = time.Until(until)
	}
	c := &call{
		path: path, trace: trace, box: to, body: body, ctx: ctx, expires: m.cfg.Now().Add(left), result: make(chan []byte, 1), made: time.Now(),
	}
	c.id = m.newID(to, c.expires)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls[c.id] = c
	if until := c.expires.Add(afterwards); until.After(m.late) {
		m.late = until
	}
	s := m.state(to)
	s.waiting = append(s.waiting, c)
	s.stir()
	poke(m.wake) // also when it is handed over here: its answer may come to another admin
	return c
}

func (m *Mailbox) state(of box) *state {
	s := m.boxes[of]
	if s == nil {
		s = new(state)
		m.boxes[of] = s
	}
	return s
}

// forget drops a box that holds nothing, but for the moment in which its executor is between two pulls.
func (m *Mailbox) forget(of box) {
	if s := m.boxes[of]; s != nil && len(s.waiting)+len(s.pulls) == 0 && time.Since(s.seen) > between {
		delete(m.boxes, of)
	}
}

// stir has a pull look into the box, if there is one.
func (s *state) stir() {
	for _, p := range s.pulls {
		if !p.gone && !p.busy && len(p.wake) == 0 {
			poke(p.wake)
			return
		}
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// remove ends a call without an answer, and says whether its executor may have it.
func (m *Mailbox) remove(c *call) (fetched bool) {
	m.mu.Lock()
	delete(m.calls, c.id)
	s := m.state(c.box)
	s.waiting = slices.DeleteFunc(s.waiting, func(w *call) bool { return w == c })
	m.forget(c.box)
	row, taken := c.row, c.takenBy != ""
	m.mu.Unlock()
	if taken || !row {
		if row {
			m.drop(c.id)
		}
		return taken
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), takeBackTime)
	defer cancel()
	n, err := m.queries.WithdrawPull(ctx, m.cfg.Pool, c.id)
	if err != nil {
		m.cfg.Logger.Warn("find out whether a call was fetched", "executor", c.box.address, "error", err)
	}
	if err != nil || n == 0 {
		m.drop(c.id)
		return true
	}
	return false
}

// drop has a row deleted, soon.
func (m *Mailbox) drop(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done = append(m.done, id)
	poke(m.wake)
}

type heldKey struct{}

// Away is where a pull waits that has left its request: until Context ends, and Answer is called, once, with what came of it.
type Away struct {
	Context context.Context
	Answer  func(wire.PullResponse, error)
}

// ErrAway is returned for a pull that waits elsewhere than in its request.
var ErrAway = errors.New("the pull waits elsewhere")

// WithHeld has held called, once, when a pull has waited for a moment. It may begin the answer, if the pull asks for that early, and may have
// the pull wait elsewhere, nil: where it is.
func WithHeld(ctx context.Context, held func(early bool) *Away) context.Context {
	return context.WithValue(ctx, heldKey{}, held)
}

// Pull takes answers and waits for calls, as long as the request asks for. An error means that none were handed over, or, if it is
// [ErrAway], that this is not known yet.
func (m *Mailbox) Pull(ctx context.Context, req wire.PullRequest) (wire.PullResponse, error) {
	arrived := time.Now()
	of := box{strings.ToLower(req.RegistryKey), req.RegistryValue}
	left, err := m.answer(ctx, of, req.Answers, req.Apart)
	if err != nil {
		return wire.PullResponse{}, err
	}
	req.Answers = nil
	if err := m.see(of, time.Duration(req.Wait)*time.Millisecond); err != nil {
		return wire.PullResponse{}, err
	}
	response := wire.PullResponse{Left: left}
	if n := m.cfg.Admins(); n > 1 {
		response.Admins, response.Admin, response.Early = n, m.name, true
	}
	if req.Max > 0 {
		p := &pull{req: req, wake: make(chan struct{}, 1), rows: make(chan []string, 1), ended: make(chan struct{})}
		if len(left) > 0 { // they would wait as long as it does
			response.Elsewhere = true
			return response, nil
		}
		switch err := m.open(of, p); {
		case errors.Is(err, errElsewhere):
			response.Elsewhere = true
			return response, nil
		case err != nil:
			return wire.PullResponse{}, err
		}
		held, _ := ctx.Value(heldKey{}).(func(bool) *Away)
		calls, away, err := m.wait(ctx, of, p, arrived, held)
		if away != nil {
			go m.waitAway(of, p, response, arrived, away)
			return wire.PullResponse{}, ErrAway
		}
		m.close(of, p)
		if err != nil {
			return wire.PullResponse{}, err
		}
		response.Calls = calls
	}
	response.Held = time.Since(arrived).Milliseconds()
	return response, nil
}

// waitAway goes on with a pull that has left its request.
func (m *Mailbox) waitAway(of box, p *pull, response wire.PullResponse, arrived time.Time, away *Away) {
	calls, _, err := m.wait(away.Context, of, p, arrived, nil)
	m.close(of, p)
	response.Calls, response.Held = calls, time.Since(arrived).Milliseconds()
	away.Answer(response, err)
}

// errElsewhere refuses a pull that is better sent to another admin.
var errElsewhere = errors.New("a pull of this executor is open here")

// open lets a pull wait in its box. What was handed to pulls that the executor has given up waits again.
func (m *Mailbox) open(of box, p *pull) error {
	select {
	case <-m.closed:
		return ErrClosed
	default:
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.state(of)
	if err := s.admit(p.req.Instance); err != nil {
		return err
	}
	for _, o := range s.pulls {
		if (o.req.Instance != p.req.Instance || slices.Contains(p.req.Lost, o.req.Pull)) && !o.gone {
			o.gone = true
			close(o.ended)
		}
	}
	apart := p.req.Apart && slices.ContainsFunc(s.pulls, func(o *pull) bool { return !o.gone && !o.busy })
	if !apart && (len(s.pulls) >= maxBoxPulls || m.pulls >= maxPulls) {
		return ErrTooMany
	}
	if len(p.req.Lost) > 0 {
		again := make([]*call, 0, 1)
		for _, c := range m.calls {
			if c.box == of && !c.row && c.takenBy != "" && slices.Contains(p.req.Lost, c.takenBy) {
				c.takenBy = ""
				again = append(again, c)
			}
		}
		slices.SortFunc(again, func(a, b *call) int { return strings.Compare(a.id, b.id) })
		s.waiting = append(again, s.waiting...)
	}
	if apart {
		s.seen = time.Now()
		s.stir() // for what waits again
		s.lose(p.req.Lost)
		poke(m.look)
		return errElsewhere
	}
	s.pulls = append(s.pulls, p)
	s.seen = time.Now()
	m.pulls++
	m.metrics.open.Set(float64(m.pulls))
	poke(m.look)
	return nil
}

// admit has a process be the one that asks. One that was started later than another of its folder takes its place, since that one is gone; if
// it is not, there is a copy of the folder. While the process asks, and between two of its pulls, it has the name for itself.
func (s *state) admit(instance string) error {
	switch {
	case s.instance == instance:
		return nil
	case s.instance == "" || len(s.pulls) == 0 && time.Since(s.seen) > between:
		s.former = nil
	case folder(s.instance) != folder(instance) && len(s.pulls) == 0:
		return ErrBetween
	case folder(s.instance) != folder(instance):
		return ErrOther
	case slices.Contains(s.former, instance):
		return ErrCopy
	default:
		s.former = append(s.former[max(len(s.former)+1-maxFormer, 0):], s.instance)
	}
	s.instance = instance
	return nil
}

// lose lets the pulls that are open have the rows that were handed to lost ones.
func (s *state) lose(names []string) {
	for _, o := range s.pulls {
		more := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(o.req.Lost, name) })
		o.req.Lost = slices.Concat(o.req.Lost, more) // what was is being read
	}
}

// folder is the part of an instance that a program keeps when it starts anew: what the process before it asked for is over.
func folder(instance string) string {
	before, _, _ := strings.Cut(instance, ".")
	return before
}

func (m *Mailbox) close(of box, p *pull) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.boxes[of]
	s.pulls = slices.DeleteFunc(s.pulls, func(o *pull) bool { return o == p })
	s.seen = time.Now()
	if seen := m.seen[of]; seen != nil {
		seen.at = m.cfg.Now()
	}
	if len(s.waiting) > 0 { // it may have been stirred for what it did not take
		s.stir()
	}
	m.pulls--
	m.metrics.open.Set(float64(m.pulls))
}

// wait gives a pull what there is for it. held, if it is not nil, is told when it has waited for a moment, and may send it away.
func (m *Mailbox) wait(ctx context.Context, of box, p *pull, arrived time.Time, held func(early bool) *Away) ([]wire.PulledCall, *Away, error) {
	limit := time.NewTimer(time.Until(arrived.Add(min(time.Duration(p.req.Wait)*time.Millisecond, wire.MaxPullWait))))
	defer limit.Stop()
	var moment <-chan time.Time
	if held != nil {
		soon := time.NewTimer(wire.PullEarly)
		defer soon.Stop()
		moment = soon.C
	}
	for {
		if calls := m.take(ctx, of, p); len(calls) > 0 {
			m.metrics.calls.WithLabelValues("memory").Add(float64(len(calls)))
			return calls, nil, nil
		}
		select {
		case <-p.wake:
		case ids := <-p.rows:
			m.busy(p, true)
			calls, err := m.takeRows(ctx, p, ids)
			if err != nil || len(calls) > 0 {
				m.metrics.calls.WithLabelValues("database").Add(float64(len(calls)))
				return calls, nil, err
			}
			m.busy(p, false)
		case <-moment:
			moment = nil
			if away := held(p.req.Early); away != nil {
				return nil, away, nil
			}
		case <-limit.C:
			return nil, nil, nil
		case <-p.ended:
			return nil, nil, nil
		case <-m.closed:
			return nil, nil, nil
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// busy leaves what comes meanwhile to other pulls, or not.
func (m *Mailbox) busy(p *pull, is bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.busy = is; is {
		m.boxes[box{strings.ToLower(p.req.RegistryKey), p.req.RegistryValue}].stir()
	}
}

// take hands over what waits in the box, as far as it may go now.
func (m *Mailbox) take(ctx context.Context, of box, p *pull) (calls []wire.PulledCall) {
	now := m.cfg.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if p.gone || ctx.Err() != nil { // nobody looks at what it would be given
		return nil
	}
	s := m.boxes[of]
	left := s.waiting[:0]
	size := 0
	for _, c := range s.waiting {
		if len(calls) >= p.req.Max || len(calls) > 0 && size+len(c.body) > maxBytes || c.ctx.Err() != nil || !now.Before(c.expires) || !wire.MayPass(c.ctx) {
			left = append(left, c)
			continue
		}
		c.takenBy = p.req.Pull
		size += len(c.body)
		calls = append(calls, wire.PulledCall{ID: c.id, Path: c.path, Body: bodyOf(c.body), Left: c.expires.Sub(now).Milliseconds(), TraceParent: c.trace})
	}
	clear(s.waiting[len(left):])
	s.waiting = left
	return calls
}

func bodyOf(body []byte) []byte {
	if len(body) == 0 {
		return []byte(`""`)
	}
	return body
}

const (
	sealed = 's'
	plain  = 'p'
)

// purpose binds what is sealed to its row.
func purpose(id string) string { return "pull:" + id }

func (m *Mailbox) seal(id string, body []byte) []byte {
	if m.cfg.Seal == nil {
		return append([]byte{plain}, body...)
	}
	return append([]byte{sealed}, m.cfg.Seal.CloseBytes(body, purpose(id))...)
}

func (m *Mailbox) unseal(id string, body []byte) ([]byte, error) {
	switch {
	case len(body) > 0 && body[0] == plain:
		return body[1:], nil
	case len(body) > 0 && body[0] == sealed && m.cfg.Seal != nil:
		return m.cfg.Seal.OpenBytes(body[1:], purpose(id))
	}
	return nil, seal.ErrOther
}
