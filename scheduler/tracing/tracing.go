package tracing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

const (
	maxEnded    = 10_000          // ended runs whose rows wait to be read
	maxSpans    = 20_000          // spans that wait for the collector
	maxAttempts = 20              // of a fire, that are counted
	readLimit   = 5 * time.Second // one read of rows
	flushLimit  = time.Second     // what a stop may take for what has not left
	sayEvery    = time.Minute     // how often the log says that the collector takes nothing
	// A quick result is written before the record of the sending is. So often, and after each such time, its row is read again.
	maxReads   = 20
	againAfter = 250 * time.Millisecond
)

// Config is what a [Tracer] is made of. All of it is required.
type Config struct {
	Options
	Pool       *db.Pool
	Logger     *slog.Logger
	Registerer prometheus.Registerer

	// Seed is the same on all admins of an installation, and another in every other one: they may share a collector.
	Seed []byte
	// Instance and Version tell this admin from others.
	Instance, Version string

	maxEnded, maxSpans int // for tests; default maxEnded and maxSpans
}

// End is a run that has ended.
type End struct {
	ID, Planned int64 // planned as its row has it, in epoch ms; 0: it is another scheduler's, and not traced
	Failed      bool
	// Received and Written are when its executor's report came, and when it was written; zero for a run that ended otherwise.
	Received, Written time.Time

	reads int // how often its row has been read
}

// Tracer makes traces of runs. A nil Tracer makes none.
type Tracer struct {
	log      *slog.Logger
	pool     *db.Pool
	queries  *db.Queries
	seed     [16]byte
	sampler  sdktrace.Sampler
	failures bool
	ended    chan End
	again    []End     // whose sending is not on record yet; used by Run, then by Stop
	last     bool      // rows are read for the last time; set by Stop
	due      time.Time // when their rows are read again
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	waiting  atomic.Int64 // spans that have not left
	room     int64        // how many of these leave room for another trace
	metrics  metrics
	said     time.Time // written by the exporter's goroutine only
}

type metrics struct {
	traces *prometheus.CounterVec
	spans  *prometheus.CounterVec
}

// New makes a tracer, or nil where there is no endpoint. It has a goroutine, which [Tracer.Stop] ends.
func New(cfg Config) (*Tracer, error) {
	auto := promauto.With(cfg.Registerer)
	counters := func(name, help string) *prometheus.CounterVec {
		return auto.NewCounterVec(prometheus.CounterOpts{Namespace: "punctual", Name: name, Help: help}, []string{"outcome"})
	}
	m := metrics{
		traces: counters("traces_total", "Traces of runs: made, or dropped because too much waits for the collector."),
		spans:  counters("trace_spans_total", "Spans that the collector took (exported), and that it did not (failed)."),
	}
	if cfg.Endpoint == "" {
		return nil, nil
	}
	cfg.maxEnded, cfg.maxSpans = cmp.Or(cfg.maxEnded, maxEnded), cmp.Or(cfg.maxSpans, maxSpans)
	config, err := cfg.TLS.Config()
	if err != nil {
		return nil, err
	}
	for _, outcome := range []string{"made", "dropped"} { // from 0 on, so that the first is seen as an increase
		m.traces.WithLabelValues(outcome)
	}
	for _, outcome := range []string{"exported", "failed"} {
		m.spans.WithLabelValues(outcome)
	}
	exporter, err := otlptrace.New(context.Background(), newCollector(cfg.Options, config))
	if err != nil {
		return nil, err
	}
	t := &Tracer{
		log: cfg.Logger, pool: cfg.Pool, queries: db.New(), sampler: sdktrace.TraceIDRatioBased(cfg.Ratio), failures: cfg.Failures,
		ended: make(chan End, cfg.maxEnded), room: int64(cfg.maxSpans - spansOfARun), metrics: m,
	}
	seed := sha256.Sum256(cfg.Seed)
	copy(t.seed[:], seed[:])
	t.provider = cfg.provider(&counted{exporter, t})
	t.tracer = t.provider.Tracer("github.com/punctual-job/punctual")
	return t, nil
}

// provider hands what is made to an exporter.
func (c Config) provider(exporter sdktrace.SpanExporter) *sdktrace.TracerProvider {
	return sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.AlwaysSample()), // what is made here has been chosen
		sdktrace.WithIDGenerator(given{}),
		sdktrace.WithResource(resource.NewSchemaless(c.resource()...)),
		sdktrace.WithBatcher(exporter, sdktrace.WithMaxQueueSize(c.maxSpans), sdktrace.WithBatchTimeout(time.Second), sdktrace.WithExportTimeout(2*uploadLimit)),
	)
}

// resource says who makes the traces; what somebody set counts.
func (c Config) resource() []attribute.KeyValue {
	all := map[string]string{"service.name": "punctual", "service.version": c.Version, "service.instance.id": c.Instance}
	maps.Copy(all, c.Attributes)
	var list []attribute.KeyValue
	for name, value := range all {
		list = append(list, attribute.String(name, value))
	}
	slices.SortFunc(list, func(a, b attribute.KeyValue) int { return cmp.Compare(a.Key, b.Key) })
	return list
}

// Ended is told of runs that have ended, once that is committed. It does not block.
func (t *Tracer) Ended(ends ...End) {
	if t == nil {
		return
	}
	for _, end := range ends {
		if end.Planned == 0 || (!end.Failed || !t.failures) && !t.sampled(t.traceID(end.ID, end.Planned)) {
			continue
		}
		select {
		case t.ended <- end:
		default:
			t.metrics.traces.WithLabelValues("dropped").Inc()
		}
	}
}

// Run makes the traces of runs that have ended, until ctx ends.
func (t *Tracer) Run(ctx context.Context) {
	for {
		var again <-chan time.Time
		if len(t.again) > 0 {
			again = time.After(time.Until(t.due))
		}
		select {
		case <-ctx.Done():
			return
		case end := <-t.ended:
			t.make(ctx, t.more(end))
		case <-again:
			batch := t.again
			t.again = nil
			for part := range slices.Chunk(batch, db.MaxBatch) {
				t.make(ctx, part)
			}
		}
	}
}

// more is a batch of what waits.
func (t *Tracer) more(first ...End) []End {
	batch := first
	for len(batch) < db.MaxBatch {
		select {
		case end := <-t.ended:
			batch = append(batch, end)
			continue
		default:
		}
		break
	}
	return batch
}

// Stop makes the traces that wait and gives the collector a moment to take them. [Tracer.Run] must have returned.
func (t *Tracer) Stop(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, flushLimit)
	defer cancel()
	t.last = true
	for part := range slices.Chunk(t.again, db.MaxBatch) {
		t.make(ctx, part)
	}
	for batch := t.more(); len(batch) > 0; batch = t.more() { // once ctx has ended they are counted as dropped
		t.make(ctx, batch)
	}
	if err := t.provider.Shutdown(ctx); err != nil {
		t.log.Warn("some traces were not taken by the collector before the stop", "error", err)
	}
	return nil
}

// make reads rows and makes traces of them.
func (t *Tracer) make(ctx context.Context, batch []End) {
	if t.full() { // nothing is read for what will be dropped
		t.metrics.traces.WithLabelValues("dropped").Add(float64(len(batch)))
		return
	}
	stopping := ctx.Done()
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	rows, err := t.read(ctx, db.IDs(batch, func(r *End) int64 { return r.ID }))
	if err != nil {
		select {
		case <-stopping:
			if !t.last { // Stop makes them
				t.Ended(batch...)
				return
			}
		default:
		}
		t.log.Warn("read runs for their traces", "runs", len(batch), "error", err)
		t.metrics.traces.WithLabelValues("dropped").Add(float64(len(batch)))
		return
	}
	before, err := t.readBefore(ctx, rows)
	if err != nil {
		t.log.Warn("read earlier runs for traces", "error", err) // what they are links to is left out
	}
	for _, end := range batch {
		r := rows[end.ID]
		if r == nil || !r.Outcome.Ended() { // deleted, or it goes on: its sending only looked failed
			continue
		}
		if end.reads++; r.TriggerCode == 0 && !end.Received.IsZero() && !t.last && end.reads < maxReads && len(t.again) < cap(t.ended) {
			if len(t.again) == 0 {
				t.due = time.Now().Add(againAfter)
			}
			t.again = append(t.again, end)
			continue
		}
		if t.full() {
			t.metrics.traces.WithLabelValues("dropped").Inc()
			continue
		}
		t.emit(r, end, before)
		t.metrics.traces.WithLabelValues("made").Inc()
	}
}

func (t *Tracer) full() bool { return t.waiting.Load() > t.room }

// spansOfARun is the most that a trace has.
const spansOfARun = int(spanSend) + maxSends

func (t *Tracer) read(ctx context.Context, ids []int64) (map[int64]*db.ListTracedRunsRow, error) {
	list, err := t.queries.ListTracedRuns(ctx, t.pool, ids)
	if err != nil {
		return nil, db.Error(err)
	}
	rows := make(map[int64]*db.ListTracedRunsRow, len(list))
	for i := range list {
		rows[list[i].ID] = &list[i]
	}
	return rows, nil
}

// readBefore reads the runs that others repeat or follow, back to the first attempts.
func (t *Tracer) readBefore(ctx context.Context, rows map[int64]*db.ListTracedRunsRow) (map[int64]*db.ListTracedRunsRow, error) {
	known := make(map[int64]*db.ListTracedRunsRow, len(rows))
	latest := rows
	for depth := 0; len(latest) > 0 && depth < maxAttempts; depth++ {
		var ids []int64
		for id, r := range latest {
			known[id] = r
			if (depth == 0 || r.TriggerType == jobspec.TriggerRetry) && r.OriginLogID > 0 && r.OriginLogID < id && known[r.OriginLogID] == nil && latest[r.OriginLogID] == nil {
				ids = append(ids, r.OriginLogID)
			}
		}
		if len(ids) == 0 {
			break
		}
		slices.Sort(ids)
		var err error
		if latest, err = t.read(ctx, slices.Compact(ids)); err != nil {
			return known, err
		}
	}
	return known, nil
}

// emit makes a run's trace.
func (t *Tracer) emit(r *db.ListTracedRunsRow, end End, before map[int64]*db.ListTracedRunsRow) {
	attempt := 1
	for at := r; at != nil && at.TriggerType == jobspec.TriggerRetry && attempt < maxAttempts; attempt++ {
		at = before[at.OriginLogID]
	}
	var links []trace.Link
	if origin := before[r.OriginLogID]; origin != nil && origin.PlannedAt != 0 {
		links = []trace.Link{{SpanContext: t.context(origin.ID, origin.PlannedAt, spanRun)}}
	}
	parts := spansOf(r, end, attempt)
	t.waiting.Add(int64(len(parts)))
	root := context.Background()
	for i := range parts {
		s := &parts[i]
		ctx := context.Background()
		if i > 0 {
			ctx = root
		} else {
			root = trace.ContextWithSpanContext(ctx, t.context(r.ID, r.PlannedAt, spanRun))
		}
		ctx = context.WithValue(ctx, givenKey{}, t.context(r.ID, r.PlannedAt, s.number))
		options := []trace.SpanStartOption{trace.WithTimestamp(s.start), trace.WithSpanKind(s.kind), trace.WithAttributes(s.attributes...)}
		if i == 0 {
			options = append(options, trace.WithLinks(links...))
		}
		_, made := t.tracer.Start(ctx, s.name, options...)
		if code, text := s.status(); text != "" {
			made.SetStatus(code, text)
		}
		made.End(trace.WithTimestamp(later(s.start, s.end)))
	}
}

func (t *Tracer) context(run, planned int64, span byte) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: t.traceID(run, planned), SpanID: t.spanID(run, planned, span), TraceFlags: trace.FlagsSampled,
	})
}

// given hands out the ids that the context holds.
type given struct{}

type givenKey struct{}

// NewIDs implements sdktrace.IDGenerator.
func (given) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	c, _ := ctx.Value(givenKey{}).(trace.SpanContext)
	return c.TraceID(), c.SpanID()
}

// NewSpanID implements sdktrace.IDGenerator.
func (g given) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, id := g.NewIDs(ctx)
	return id
}

// counted is an exporter that keeps count of what waits and of what became of it.
type counted struct {
	sdktrace.SpanExporter
	t *Tracer
}

// ExportSpans implements sdktrace.SpanExporter. What fails is said here, and not where the library would.
func (c *counted) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := c.SpanExporter.ExportSpans(ctx, spans)
	c.t.waiting.Add(-int64(len(spans)))
	outcome := "exported"
	if err != nil {
		outcome = "failed"
		if now := time.Now(); now.Sub(c.t.said) >= sayEvery {
			c.t.said = now
			c.t.log.Warn("the collector does not take traces; they are dropped", "spans", len(spans), "error", err)
		}
	}
	c.t.metrics.spans.WithLabelValues(outcome).Add(float64(len(spans)))
	return nil
}
