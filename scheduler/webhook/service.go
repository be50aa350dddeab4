package webhook

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/x509"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/seal"
	"github.com/punctual-job/punctual/scheduler/webclient"
)

// State says whether a webhook is sent to, as its row has it.
type State string

const (
	On      State = "on"
	Off     State = "off"     // somebody switched it off
	Gone    State = "gone"    // its receiver said that it is gone for good
	Deleted State = "deleted" // until its deliveries are
)

// The states of a delivery, as its row has them.
const (
	Waiting int64 = 0
	Taken   int64 = 1
	GivenUp int64 = 2
)

// Config is what a [Service] is made of. Pool, Logger and Key are required.
type Config struct {
	Pool       *db.Pool
	Logger     *slog.Logger
	Registerer prometheus.Registerer // nil: metrics are kept but not published

	// Key seals addresses and secrets: 32 bytes, the same on every admin of the installation.
	Key []byte

	// Source names this installation in events, and RunLink is the address of a run's page; nil: "/punctual", and none.
	Source  func() string
	RunLink func(id int64) string

	// DenyPrivate says whether addresses inside are refused, at each request; nil: they are not.
	DenyPrivate func() bool
	RootCAs     *x509.CertPool // the system's when nil

	// Node is this admin's id in the cluster, by which the others know when it is gone; nil or 0: it is in none. Ready says whether the others
	// take it for alive, so that nobody else sends; nil: they do.
	Node  func() int64
	Ready func() bool

	Now func() time.Time // time.Now when nil

	Parallel    int           // requests to one webhook at a time; 16
	Timeout     time.Duration // of one request; 15 s
	Tries       int64         // of an event that its receiver refuses; 6
	Pauses      time.Duration // before the second of these; it doubles; 10 s
	Rest        time.Duration // after a receiver's first failure; it doubles; 2 s
	MaxRest     time.Duration // 5 min
	Lease       time.Duration // a webhook is another admin's after this, and sooner when this one is gone from the cluster; 1 min
	Tick        time.Duration // how often the tables are looked at without a reason; 1 s
	MaxWaiting  int64         // events that wait for a webhook; 4,000,000
	KeepWaiting time.Duration // how long an event waits; 3 days
	KeepTaken   int64         // deliveries that are kept of a webhook after they were taken, and as many that were given up; 10,000
}

// Service sends events to webhooks. A nil one has none.
type Service struct {
	cfg     Config
	log     *slog.Logger
	queries *db.Queries
	seal    *seal.Seal
	web     *http.Client
	name    string        // of this process, where it is no node
	wake    chan struct{} // capacity 1
	sent    *prometheus.CounterVec

	reading   sync.Mutex                  // held while they are read: an older reading must not come last
	listening atomic.Pointer[[]*listener] // those that are on, as of the last look

	mu     sync.Mutex
	busy   map[int64]bool  // webhooks that a goroutine sends to
	counts map[int64]count // of webhooks for which many wait
	sends  sync.WaitGroup
	tidy   time.Time // when it was last tidied up, used by Run only
}

// count is whether too many events waited for a webhook when they were counted. Of these beyond had as many newer ones as may wait, when top was the
// newest.
type count struct {
	at          time.Time
	full        bool
	beyond, top int64
}

// listener is a webhook as those who write events know it.
type listener struct {
	id     int64
	types  map[string]bool // nil: all
	groups map[int64]bool  // nil: all
	tags   []string        // of jobs; none: all
	full   bool            // too many wait
	*drops
}

// drops are events that were counted and not kept since somebody was told. They outlive the look: who writes may go by the one before.
type drops struct {
	dropped atomic.Int64
	since   atomic.Int64 // of these the first, epoch ms
}

func (l *listener) wants(e *Event) bool {
	if e.Type == WebhookTest || e.Type == WebhookDropped {
		return false // these are for one of them
	}
	return (l.types == nil || l.types[string(e.Type)]) && (l.groups == nil || l.groups[e.Group] || l.groups[e.From])
}

// New makes a service that does nothing until [Service.Run].
func New(cfg Config) (*Service, error) {
	if cfg.Pool == nil || cfg.Logger == nil {
		return nil, errors.New("webhook: Pool and Logger are required")
	}
	sealing, err := seal.New(cfg.Key)
	if err != nil {
		return nil, err
	}
	if cfg.Source == nil {
		cfg.Source = func() string { return "/punctual" }
	}
	if cfg.RunLink == nil {
		cfg.RunLink = func(int64) string { return "" }
	}
	if cfg.DenyPrivate == nil {
		cfg.DenyPrivate = func() bool { return false }
	}
	if cfg.Node == nil {
		cfg.Node = func() int64 { return 0 }
	}
	if cfg.Ready == nil {
		cfg.Ready = func() bool { return true }
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Parallel = cmp.Or(cfg.Parallel, 16)
	cfg.Timeout = cmp.Or(cfg.Timeout, 15*time.Second)
	cfg.Tries = cmp.Or(cfg.Tries, 6)
	cfg.Pauses = cmp.Or(cfg.Pauses, 10*time.Second)
	cfg.Rest = cmp.Or(cfg.Rest, 2*time.Second)
	cfg.MaxRest = cmp.Or(cfg.MaxRest, 5*time.Minute)
	cfg.Lease = cmp.Or(cfg.Lease, time.Minute)
	cfg.Tick = cmp.Or(cfg.Tick, time.Second)
	cfg.MaxWaiting = cmp.Or(cfg.MaxWaiting, 4_000_000)
	cfg.KeepWaiting = cmp.Or(cfg.KeepWaiting, 3*24*time.Hour)
	cfg.KeepTaken = cmp.Or(cfg.KeepTaken, 10_000)
	s := &Service{
		cfg: cfg, log: cfg.Logger, queries: db.New(), seal: sealing, name: rand.Text(), wake: make(chan struct{}, 1), busy: make(map[int64]bool), counts: make(map[int64]count),
		web: webclient.New(webclient.Config{RootCAs: cfg.RootCAs, Timeout: cfg.Timeout, DenyPrivate: cfg.DenyPrivate, PerHost: cfg.Parallel}),
		sent: promauto.With(cfg.Registerer).NewCounterVec(prometheus.CounterOpts{
			Name: "punctual_webhook_events_total", Help: "Events for webhooks, by outcome (taken, refused, failed, dropped). A refused or failed one is tried again.",
		}, []string{"outcome"}),
	}
	return s, nil
}

// Idle says, from memory, that no webhook listens. It may be seconds behind the settings.
func (s *Service) Idle() bool {
	if s == nil {
		return true
	}
	all := s.listening.Load()
	return all == nil || len(*all) == 0
}

// Wants says, from memory, whether any webhook wants a type.
func (s *Service) Wants(t Type) bool {
	if s.Idle() {
		return false
	}
	return slices.ContainsFunc(*s.listening.Load(), func(l *listener) bool { return l.types == nil || l.types[string(t)] })
}

// Write puts events down for those who want them, in the transaction that makes them true and after what it changes in the rows that
// they are about. Where nobody listens it costs nothing.
func (s *Service) Write(ctx context.Context, tx db.DBTX, events ...Event) error {
	if s.Idle() || len(events) == 0 {
		return nil
	}
	listening := *s.listening.Load()
	tags, err := s.tagsOf(ctx, tx, listening, events)
	if err != nil {
		return err
	}
	var rows []db.NewDelivery
	for _, l := range listening {
		for i := range events {
			if !l.wants(&events[i]) {
				continue
			}
			e := events[i]
			if e.Facts.Tags = l.wanted(tags[i]); e.Facts.Tags == "" && len(l.tags) > 0 {
				continue
			}
			if l.full {
				l.since.CompareAndSwap(0, e.At.UnixMilli())
				l.dropped.Add(1)
				s.sent.WithLabelValues("dropped").Inc()
				continue
			}
			rows = append(rows, e.row(l.id))
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return db.InsertDeliveries(ctx, tx, rows)
}

// tagsOf are the tags of the jobs that events are about, as they are in the transaction: when an event is sent, its job may have others, or be
// gone. They are only read where a webhook asks for tags.
func (s *Service) tagsOf(ctx context.Context, tx db.DBTX, listening []*listener, events []Event) ([][]string, error) {
	tags := make([][]string, len(events))
	var jobs []int64
	for i := range events {
		e := &events[i]
		tags[i] = Words(e.Facts.Tags)
		if e.Job != 0 && slices.ContainsFunc(listening, func(l *listener) bool { return len(l.tags) > 0 && l.wants(e) }) {
			jobs = append(jobs, e.Job)
		}
	}
	has := make(map[int64][]string)
	for part := range slices.Chunk(distinct(jobs), db.MaxBatch) {
		rows, err := s.queries.ListJobsToTell(ctx, tx, part)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			has[rows[i].ID] = Words(rows[i].Tags)
		}
	}
	for i := range events {
		tags[i] = append(tags[i], has[events[i].Job]...)
	}
	return tags, nil
}

// wanted are those of some tags that a webhook asks for, as facts have them.
func (l *listener) wanted(tags []string) string {
	var both []string
	for _, tag := range l.tags {
		if slices.Contains(tags, tag) {
			both = append(both, tag)
		}
	}
	return strings.Join(both, ",")
}

// WriteTo puts an event down for one webhook, whatever it wants.
func (s *Service) WriteTo(ctx context.Context, tx db.DBTX, webhookID int64, e Event) error {
	return db.InsertDeliveries(ctx, tx, []db.NewDelivery{e.row(webhookID)})
}

// maxFacts is what a row holds of them.
const maxFacts = 1000

func (e *Event) row(webhookID int64) db.NewDelivery {
	facts := ""
	for _, f := range []Facts{e.Facts, {Tags: e.Facts.Tags}} { // without the rest where it is too long
		text, err := json.Marshal(f)
		if f != (Facts{}) && err == nil && len(text) <= maxFacts {
			facts = string(text)
			break
		}
	}
	return db.NewDelivery{
		WebhookID: webhookID, Type: string(e.Type), JobGroup: e.Group, JobID: e.Job, Run: e.Run, At: e.At.UnixMilli(), Outcome: e.Outcome, Code: e.Code,
		Again: e.Again, Facts: facts,
	}
}

// Wake says that there may be something to send. It does not block.
func (s *Service) Wake() {
	if s == nil {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// calm is how long a look waits after the one before it: a busy engine wakes this for each of its commits.
const calm = 20 * time.Millisecond

// Run sends what waits until ctx ends. Requests that are under way may go on until [Config.Timeout] after that.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(s.cfg.Tick)
	defer tick.Stop()
	defer s.web.CloseIdleConnections()
	defer s.sends.Wait()
	for ctx.Err() == nil {
		if err := s.look(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("look after webhooks", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			continue
		case <-s.wake:
		}
		select {
		case <-ctx.Done():
		case <-time.After(calm):
		}
	}
}

// look reads the webhooks, and begins to send to those that nobody sends to.
func (s *Service) look(ctx context.Context) error {
	now := s.cfg.Now()
	if now.Sub(s.tidy).Abs() >= time.Minute {
		s.tidy = now
		if err := s.tidyAll(ctx, now); err != nil {
			return err
		}
	}
	hooks, err := s.listen(ctx)
	if err != nil {
		return err
	}
	for _, h := range hooks {
		if !s.due(&h, now) {
			continue
		}
		s.mu.Lock()
		busy := s.busy[h.ID]
		s.busy[h.ID] = true
		s.mu.Unlock()
		if busy {
			continue
		}
		s.sends.Go(func() {
			defer func() {
				s.mu.Lock()
				delete(s.busy, h.ID)
				s.mu.Unlock()
			}()
			if err := s.drain(ctx, h); err != nil && ctx.Err() == nil {
				s.log.Warn("send to a webhook", "webhook", h.Name, "error", err)
			}
		})
	}
	return nil
}

// Reload reads the webhooks at once, where somebody has changed them.
func (s *Service) Reload(ctx context.Context) error {
	_, err := s.listen(ctx)
	s.Wake()
	return err
}

// listen reads the webhooks and remembers who wants what. What was dropped since the last time is written down, and where there is room again
// an event in its place.
func (s *Service) listen(ctx context.Context) ([]db.Webhook, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	counted := make(map[int64]*drops)
	if old := s.listening.Load(); old != nil {
		for _, l := range *old {
			counted[l.id] = l.drops
			n, since := l.dropped.Swap(0), l.since.Swap(0)
			if n == 0 {
				continue
			}
			if err := s.queries.NoteWebhookDropped(ctx, s.cfg.Pool, db.NoteWebhookDroppedParams{ID: l.id, N: n, Untold: n, Since: since}); err != nil {
				l.dropped.Add(n)
				l.since.CompareAndSwap(0, since)
				s.log.Warn("note that events of a webhook were dropped", "webhook", l.id, "error", err) // the next look does; the others listen on
			}
		}
	}
	hooks, err := s.queries.ListWebhooks(ctx, s.cfg.Pool)
	if err != nil {
		return nil, err
	}
	var now []*listener
	for i := range hooks {
		h := &hooks[i]
		if State(h.State) != On {
			continue
		}
		full, err := s.isFull(ctx, h.ID)
		if err != nil {
			return nil, err
		}
		if h.Untold > 0 && !full { // before anything that is kept from now on
			if err := s.tellDropped(ctx, h); err != nil {
				s.log.Warn("tell a webhook that events were dropped", "webhook", h.Name, "error", err) // the next look does
			}
		}
		l := &listener{id: h.ID, tags: Words(h.Tags), full: full, drops: cmp.Or(counted[h.ID], new(drops))}
		for _, t := range Words(h.Types) {
			if l.types == nil {
				l.types = make(map[string]bool)
			}
			l.types[t] = true
		}
		for _, g := range Words(h.GroupIds) {
			if l.groups == nil {
				l.groups = make(map[int64]bool)
			}
			id, err := strconv.ParseInt(g, 10, 64)
			if err == nil {
				l.groups[id] = true
			}
		}
		now = append(now, l)
	}
	s.listening.Store(&now)
	return hooks, nil
}

// tellDropped writes an event in the place of those that were not kept, since the last one of its kind, however long that is: one at each look
// would have a queue that is full grow on.
func (s *Service) tellDropped(ctx context.Context, h *db.Webhook) error {
	since := time.UnixMilli(h.UntoldSince)
	return s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		n, err := s.queries.TakeWebhookUntold(ctx, tx, db.TakeWebhookUntoldParams{ID: h.ID, Untold: h.Untold, Since: h.UntoldSince})
		if err != nil || n == 0 { // another admin does it, or has more to tell
			return err
		}
		return s.WriteTo(ctx, tx, h.ID, Event{Type: WebhookDropped, At: s.cfg.Now(), Facts: Facts{Count: h.Untold, Since: &since}})
	})
}

// countEvery is how often the events that wait for a webhook are counted, where there may be too many.
const countEvery = 15 * time.Second

// isFull says whether more events wait for a webhook than may. As long as fewer ids lie between the first and the last there is nothing
// to count; beyond that they are counted, because other webhooks' events lie between them, and the ids of some clusters have gaps.
func (s *Service) isFull(ctx context.Context, id int64) (bool, error) {
	span, err := s.queries.SpanOfFreshDeliveries(ctx, s.cfg.Pool, db.SpanOfFreshDeliveriesParams{WebhookID: id})
	if err != nil {
		return false, err
	}
	if span.LastID-span.FirstID < s.cfg.MaxWaiting {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.counts, id)
		return false, nil
	}
	s.mu.Lock()
	last, counted := s.counts[id]
	s.mu.Unlock()
	now := s.cfg.Now()
	if counted && now.Sub(last.at).Abs() < countEvery {
		return last.full, nil
	}
	next := count{at: now, beyond: last.beyond, top: span.LastID}
	if last.full {
		if err := s.countOn(ctx, id, &next, last); err != nil {
			return false, err
		}
		next.full = span.FirstID <= next.beyond
	}
	if !next.full {
		beyond, err := s.queries.NthFreshDelivery(ctx, s.cfg.Pool, db.NthFreshDeliveryParams{WebhookID: id, Top: next.top, Offset: int32(s.cfg.MaxWaiting)})
		if err != nil {
			return false, err
		}
		if next.full = len(beyond) > 0; next.full {
			next.beyond = beyond[0]
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[id] = next
	return next.full, nil
}

// countOn moves beyond on by as many events as have come since the last count: all newer ones wait as long as an older one does, since the oldest go
// first. So a queue that is full for hours is not read again and again.
func (s *Service) countOn(ctx context.Context, id int64, next *count, last count) error {
	came, err := s.queries.CountFreshDeliveries(ctx, s.cfg.Pool, db.CountFreshDeliveriesParams{WebhookID: id, Above: last.top, Top: next.top})
	if err != nil || came == 0 {
		return err
	}
	beyond, err := s.queries.NthFreshDeliveryAbove(ctx, s.cfg.Pool, db.NthFreshDeliveryAboveParams{WebhookID: id, Above: last.beyond, Offset: int32(came - 1)})
	if len(beyond) > 0 {
		next.beyond = beyond[0]
	}
	return err
}

// Words are the parts of a comma-separated column.
func Words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// tidyPage is how many rows one statement deletes: few enough that the engine's writes do not notice.
const tidyPage = 2000

func (s *Service) tidyAll(ctx context.Context, now time.Time) error {
	hooks, err := s.queries.ListWebhooks(ctx, s.cfg.Pool)
	if err != nil {
		return err
	}
	for i := range hooks {
		if err := s.tidyUp(ctx, &hooks[i], now); err != nil {
			return err
		}
	}
	return nil
}

// tidyUp forgets what was taken, what waited too long, and webhooks that somebody deleted.
func (s *Service) tidyUp(ctx context.Context, h *db.Webhook, now time.Time) error {
	if State(h.State) == Deleted {
		for {
			n, err := s.queries.DeleteDeliveriesOfWebhook(ctx, s.cfg.Pool, db.DeleteDeliveriesOfWebhookParams{WebhookID: h.ID, Limit: tidyPage})
			if err != nil {
				return err
			}
			if n < tidyPage {
				_, err := s.queries.DeleteWebhook(ctx, s.cfg.Pool, h.ID)
				return err
			}
		}
	}
	for _, state := range []int64{Taken, GivenUp} {
		ids, err := s.queries.NthDelivery(ctx, s.cfg.Pool, db.NthDeliveryParams{WebhookID: h.ID, State: state, Offset: int32(s.cfg.KeepTaken)})
		if err != nil {
			return err
		}
		for more := len(ids) > 0; more && ctx.Err() == nil; {
			n, err := s.queries.DeleteDeliveriesUpTo(ctx, s.cfg.Pool, db.DeleteDeliveriesUpToParams{WebhookID: h.ID, State: state, ID: ids[0], Limit: tidyPage})
			if err != nil {
				return err
			}
			more = n == tidyPage
		}
	}
	return s.expire(ctx, h, now.Add(-s.cfg.KeepWaiting))
}

// expired are events that have waited too long.
type expired struct {
	dropped int64     // that are gone now
	told    int64     // that were gone before, as events among these say
	since   time.Time // of all of them the first
}

func (e *expired) from(at time.Time) {
	if e.since.IsZero() || at.Before(e.since) {
		e.since = at
	}
}

// expire drops what has waited since before a moment, oldest first. That events were dropped is an event that waits too: when it has waited too
// long, the next one tells of its events as well. Whatever ends this, what was dropped so far is noted.
func (s *Service) expire(ctx context.Context, h *db.Webhook, before time.Time) error {
	var gone expired
	var err error
	for more := true; more && err == nil && ctx.Err() == nil; {
		more, err = s.expirePage(ctx, h.ID, before, &gone)
	}
	if gone.dropped+gone.told == 0 {
		return err
	}
	s.sent.WithLabelValues("dropped").Add(float64(gone.dropped))
	record, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, s.queries.NoteWebhookDropped(record, s.cfg.Pool, db.NoteWebhookDroppedParams{
		ID: h.ID, N: gone.dropped, Untold: gone.dropped + gone.told, Since: gone.since.UnixMilli(),
	}))
}

// expirePage drops some of them, and says whether there may be more.
func (s *Service) expirePage(ctx context.Context, id int64, before time.Time, gone *expired) (more bool, err error) {
	page, err := s.queries.ListFreshDeliveries(ctx, s.cfg.Pool, db.ListFreshDeliveriesParams{WebhookID: id, Limit: tidyPage})
	if err != nil {
		return false, err
	}
	last := int64(0)
	for i := range page {
		d := &page[i]
		if d.HappenedAt >= before.UnixMilli() {
			break
		}
		more = true
		if Type(d.Type) != WebhookDropped {
			last = d.ID
			gone.from(time.UnixMilli(d.HappenedAt))
			continue
		}
		n, err := s.queries.DeleteDeliveries(ctx, s.cfg.Pool, []int64{d.ID})
		if err != nil {
			return false, err
		}
		if facts, _ := factsOf(d); n > 0 && facts.Since != nil { // else another admin tells of them
			gone.told += facts.Count
			gone.from(*facts.Since)
		}
	}
	if last == 0 {
		return more, nil
	}
	n, err := s.queries.DeleteDeliveriesUpTo(ctx, s.cfg.Pool, db.DeleteDeliveriesUpToParams{WebhookID: id, State: Waiting, ID: last, Limit: tidyPage})
	gone.dropped += n
	return more, err
}
