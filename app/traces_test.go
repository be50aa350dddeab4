package app

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/tracing"
)

// collector takes traces as OpenTelemetry's does.
type collector struct {
	*httptest.Server
	hang chan struct{} // not nil: nothing is answered until it is closed
	came chan struct{} // a value when something came
	left atomic.Int32  // how many uploads were given up while nothing was answered

	mu       sync.Mutex
	spans    []*tracepb.Span
	resource map[string]string
	headers  http.Header
	raw      strings.Builder
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{came: make(chan struct{}, 1)}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case c.came <- struct{}{}:
	default:
	}
	if c.hang != nil {
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not notice that the client has gone
		select {
		case <-c.hang:
		case <-r.Context().Done():
			c.left.Add(1)
		}
		return
	}
	plain, err := gzip.NewReader(r.Body)
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "not OTLP", http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(plain)
	var data tracepb.TracesData
	if err = errors.Join(err, proto.Unmarshal(body, &data)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = r.Header
	c.raw.Write(body)
	for _, rs := range data.ResourceSpans {
		c.resource = attributes(rs.Resource.Attributes)
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
}

// attributes are those of a span or a resource, as texts.
func attributes(list []*commonpb.KeyValue) map[string]string {
	m := make(map[string]string)
	for _, kv := range list {
		switch v := kv.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			m[kv.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			m[kv.Key] = fmt.Sprint(v.IntValue)
		case *commonpb.AnyValue_DoubleValue:
			m[kv.Key] = fmt.Sprint(v.DoubleValue)
		}
	}
	return m
}

// traces are the spans by the id of their run, each run's whole first.
func (c *collector) traces() map[string][]*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	byTrace := make(map[string][]*tracepb.Span)
	for _, s := range c.spans {
		byTrace[string(s.TraceId)] = append(byTrace[string(s.TraceId)], s)
	}
	byRun := make(map[string][]*tracepb.Span)
	for _, spans := range byTrace {
		slices.SortStableFunc(spans, func(a, b *tracepb.Span) int { return len(a.ParentSpanId) - len(b.ParentSpanId) })
		byRun[attributes(spans[0].Attributes)["punctual.run.id"]] = spans
	}
	return byRun
}

// await waits for the traces of some runs.
func (c *collector) await(t *testing.T, runs ...string) map[string][]*tracepb.Span {
	t.Helper()
	var traces map[string][]*tracepb.Span
	executortest.Eventually(t, fmt.Sprintf("the collector has the traces of runs %v", runs), func() error {
		traces = c.traces()
		for _, run := range runs {
			if len(traces[run]) == 0 {
				return fmt.Errorf("it has those of %v", slices.Sorted(maps.Keys(traces)))
			}
		}
		return nil
	})
	return traces
}

// tracedOrders is an admin with an executor for the group orders.
func tracedOrders(t *testing.T, o Options, handlers executortest.Handlers) (a *App, c *caller, trigger func(handler, more string) string) {
	t.Helper()
	a, c = apiCaller(t, o)
	ex := executortest.New(t, c.base, handlers, func(cfg *executor.Config) { cfg.AppName, cfg.Token = "orders", o.AccessToken })
	var group struct{ Addresses []string }
	c.json(200, &group, "PATCH", "/groups/1", `{"addresses":["`+ex.URL+`"]}`)
	return a, c, func(handler, more string) string {
		t.Helper()
		var made struct{ ID int }
		c.json(201, &made, "POST", "/jobs", `{"group_id":1,"description":"d","author":"a","handler":"`+handler+`","parameter":"xPARAMx"`+more+`}`)
		got := c.do("POST", fmt.Sprintf("/jobs/%d/trigger", made.ID), "")
		if got.status != 201 {
			t.Fatalf("trigger: %d %s", got.status, got.body)
		}
		return strings.TrimPrefix(got.header.Get("Location"), "/api/v1/runs/")
	}
}

func TestARunIsOneTraceFromItsClaimToItsResult(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		collector := newCollector(t)
		o.Tracing = tracing.Settings{Endpoint: collector.URL + "/", Headers: "api-key=xKEY%2Cx", Sampler: "always_on", ResourceAttributes: "deployment.environment.name=test"}
		var places sync.Map // by run
		failed := false
		_, c, trigger := tracedOrders(t, o, executortest.Handlers{
			"greet": func(_ context.Context, r *executor.Run) error {
				places.Store(fmt.Sprint(r.LogID), r.TraceParent)
				r.Logf("xOUTPUTx")
				r.SetResult("xRESULTx")
				return nil
			},
			"flaky": func(_ context.Context, r *executor.Run) error { // its runs are one after the other
				places.Store(fmt.Sprint(r.LogID), r.TraceParent)
				if failed {
					return nil
				}
				failed = true
				return errors.New("xERRORx")
			},
		})
		greeted := trigger("greet", "")
		collector.await(t, greeted)
		first := trigger("flaky", `,"retries":1`)
		var list struct{ Items []struct{ ID int } }
		executortest.Eventually(t, "there is a retry", func() error {
			if c.json(200, &list, "GET", "/runs", ""); len(list.Items) < 3 {
				return fmt.Errorf("%d runs", len(list.Items))
			}
			return nil
		})
		second := fmt.Sprint(list.Items[0].ID)
		traces := collector.await(t, greeted, first, second)

		for run, want := range map[string]struct {
			name, result, attempt, trigger string
			status                         tracepb.Status_StatusCode
		}{
			greeted: {"run greet", "succeeded", "1", "api", tracepb.Status_STATUS_CODE_UNSET},
			first:   {"run flaky", "failed", "1", "api", tracepb.Status_STATUS_CODE_ERROR},
			second:  {"run flaky", "succeeded", "2", "retry", tracepb.Status_STATUS_CODE_UNSET},
		} {
			spans := traces[run]
			whole, said := spans[0], attributes(spans[0].Attributes)
			if whole.Name != want.name || said["punctual.result"] != want.result || said["punctual.attempt"] != want.attempt || said["punctual.trigger"] != want.trigger ||
				said["punctual.group"] != "orders" || said["punctual.job.id"] == "" || said["punctual.lateness"] == "" || whole.Status.GetCode() != want.status || len(whole.ParentSpanId) != 0 {
				t.Errorf("run %s: %s %v %v", run, whole.Name, said, whole.Status)
			}
			var names []string
			for i, s := range spans[1:] {
				names = append(names, s.Name)
				if string(s.ParentSpanId) != string(whole.SpanId) || s.StartTimeUnixNano < whole.StartTimeUnixNano || s.EndTimeUnixNano > whole.EndTimeUnixNano || s.EndTimeUnixNano < s.StartTimeUnixNano {
					t.Errorf("run %s: %s is not within its whole", run, s.Name)
				}
				// A result may be here before the answer to its sending is read: then the execution seems to take no time.
				overtook := s.Name == "callback" && spans[i].StartTimeUnixNano == spans[i].EndTimeUnixNano
				if i > 1 && s.StartTimeUnixNano < spans[i].EndTimeUnixNano && !overtook {
					t.Errorf("run %s: %s begins before %s ends", run, s.Name, spans[i].Name)
				}
				place, _ := places.Load(run)
				if s.Name == "execute" && place != fmt.Sprintf("00-%x-%x-01", s.TraceId, s.SpanId) {
					t.Errorf("run %s: the executor was told %v, the span is %x %x", run, place, s.TraceId, s.SpanId)
				}
			}
			if diff := cmp.Diff([]string{"claim", "queue", "send", "execute", "callback"}, names); diff != "" {
				t.Errorf("run %s: %s", run, diff)
			}
			age := time.Since(time.Unix(0, int64(whole.StartTimeUnixNano)))
			if length := whole.EndTimeUnixNano - whole.StartTimeUnixNano; age < 0 || age > time.Minute || length == 0 || length > uint64(time.Minute) {
				t.Errorf("run %s: it began %s ago and took %d ns", run, age, length)
			}
		}
		if links := traces[second][0].Links; len(links) != 1 || string(links[0].SpanId) != string(traces[first][0].SpanId) || string(links[0].TraceId) != string(traces[first][0].TraceId) {
			t.Errorf("the retry is linked to %v", links)
		}
		collector.mu.Lock()
		defer collector.mu.Unlock()
		for _, secret := range []string{"xPARAMx", "xOUTPUTx", "xRESULTx", "xERRORx", o.AccessToken} {
			if strings.Contains(collector.raw.String(), secret) {
				t.Errorf("a trace tells %s", secret)
			}
		}
		if r := collector.resource; r["service.name"] != "punctual" || r["deployment.environment.name"] != "test" || r["service.version"] != "test" {
			t.Errorf("resource %v", r)
		}
		if collector.headers.Get("Api-Key") != "xKEY,x" {
			t.Errorf("headers %v", collector.headers)
		}
	})
}

// Of the runs that nobody chose those that fail are traced all the same, also those that reached no executor.
func TestFailuresAreTracedAndTheRestBySample(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		collector := newCollector(t)
		o.Tracing = tracing.Settings{TracesEndpoint: collector.URL + "/v1/traces", SamplerArg: "0"}
		places := make(chan string, 2)
		handler := func(_ context.Context, r *executor.Run) error {
			places <- r.TraceParent
			if r.Handler == "fails" {
				return errors.New("no")
			}
			return nil
		}
		a, _, trigger := tracedOrders(t, o, executortest.Handlers{"fine": handler, "fails": handler})
		fine := trigger("fine", "")
		if place := <-places; wire.ParseTraceParent(place) == "" || !strings.HasSuffix(place, "-00") {
			t.Errorf("a run that is not sampled has %q", place)
		}
		failed, unsent := trigger("fails", ""), trigger("unknown", "")
		traces := collector.await(t, failed, unsent)
		names := func(run string) (names []string) {
			for _, s := range traces[run] {
				names = append(names, s.Name)
			}
			return names
		}
		if diff := cmp.Diff([]string{"run unknown", "claim", "queue", "send"}, names(unsent)); diff != "" {
			t.Error(diff)
		}
		if said := attributes(traces[unsent][3].Attributes); said["punctual.answer"] != "refused" || said["server.address"] == "" || traces[unsent][3].Status.GetCode() != tracepb.Status_STATUS_CODE_ERROR {
			t.Errorf("the call: %v", said)
		}
		stop(t, a) // so that what waits has come
		if got := collector.traces(); len(got[fine]) != 0 || len(got) != 2 {
			t.Errorf("traces of runs %v", slices.Sorted(maps.Keys(got)))
		}
	})
}

// A run that somebody ends while it waits for its job's slot has a trace of its claim and its queue. One whose result comes
// at the stop is not forgotten either.
func TestRunsThatWaitAreTraced(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		collector := newCollector(t)
		o.Tracing = tracing.Settings{Endpoint: collector.URL, Sampler: "always_on"}
		begun, let := make(chan struct{}, 2), make(chan struct{})
		a, c, trigger := tracedOrders(t, o, executortest.Handlers{"slow": func(ctx context.Context, _ *executor.Run) error {
			begun <- struct{}{}
			select {
			case <-let:
			case <-ctx.Done():
			}
			return nil
		}})
		first := trigger("slow", `,"max_concurrent":1`)
		<-begun
		got := c.do("POST", "/jobs/1/trigger", "")
		waits := strings.TrimPrefix(got.header.Get("Location"), "/api/v1/runs/")
		if got = c.do("POST", "/runs/"+waits+"/kill", ""); got.status != 200 && got.status != 202 && got.status != 204 {
			t.Fatalf("kill: %d %s", got.status, got.body)
		}
		killed := collector.await(t, waits)[waits]
		if said := attributes(killed[0].Attributes); said["punctual.result"] != "killed" || len(killed) != 3 {
			t.Errorf("the run that waited: %v, %d spans", said, len(killed))
		}
		close(let)
		var run struct{ State string }
		if c.json(200, &run, "GET", "/runs/"+first+"?wait=60s", ""); run.State != "success" {
			t.Errorf("the run that had the slot: %s", run.State)
		}
		stop(t, a)
		if spans := collector.traces()[first]; len(spans) == 0 {
			t.Error("the run that ended before the stop has no trace")
		}
	})
}

func stop(t *testing.T, a *App) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), executortest.Patience)
	defer cancel()
	if err := a.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// Runs go on, and a stop ends, whatever the collector does.
func TestACollectorHoldsNoRunUp(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"dead", "hanging"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, o Options) {
				collector := newCollector(t)
				if kind == "dead" {
					collector.Close()
				} else {
					collector.hang = make(chan struct{})
				}
				o.Tracing = tracing.Settings{Endpoint: collector.URL, Sampler: "always_on"}
				var ran atomic.Int32
				a, c, trigger := tracedOrders(t, o, executortest.Handlers{"greet": func(context.Context, *executor.Run) error { ran.Add(1); return nil }})
				trigger("greet", "")
				if kind == "hanging" {
					<-collector.came // and from now on nothing moves there
				}
				unmoved := 0 // runs during which one and the same upload hung
				for range 20 {
					left := collector.left.Load()
					run := trigger("greet", "")
					var got struct{ State string }
					if c.json(200, &got, "GET", "/runs/"+run+"?wait=60s", ""); got.State != "success" {
						t.Fatalf("run %s: %s", run, got.State)
					}
					if collector.left.Load() == left {
						unmoved++
					}
				}
				if unmoved == 0 {
					t.Error("each run waited for an upload")
				}
				if ran.Load() != 21 {
					t.Errorf("%d runs", ran.Load())
				}
				stop(t, a)
			})
		})
	}
}

func TestLatenessHasTracesAsExamples(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		collector := newCollector(t)
		o.Tracing = tracing.Settings{Endpoint: collector.URL, Sampler: "parentbased_always_on"}
		place := make(chan string, 1)
		_, c, trigger := tracedOrders(t, o, executortest.Handlers{"greet": func(_ context.Context, r *executor.Run) error { place <- r.TraceParent; return nil }})
		trigger("greet", "")
		id := (<-place)[3:35]
		const open = "application/openmetrics-text"
		body, kind := scrape(t, c.base, open+";version=1.0.0")
		if !strings.HasPrefix(kind, open) {
			t.Errorf("type %s", kind)
		}
		for _, name := range []string{"punctual_lateness_seconds_bucket", `punctual_run_lateness_seconds_bucket{group="orders",job="",`} {
			found := false
			for line := range strings.Lines(body) {
				found = found || strings.HasPrefix(line, name) && strings.Contains(line, `# {trace_id="`+id+`"} `)
			}
			if !found {
				t.Errorf("%s has no example with trace %s", name, id)
			}
		}
		if body, kind = scrape(t, c.base, "text/plain"); !strings.HasPrefix(kind, "text/plain") || strings.Contains(body, "trace_id") {
			t.Errorf("the older form: %s", kind)
		}
	})
}

// Where nothing is traced, /metrics is as it was, and runs carry no header.
func TestNothingIsTracedUnlessSomebodyWantsIt(t *testing.T) {
	t.Parallel()
	collector := newCollector(t)
	for _, s := range []tracing.Settings{{}, {Endpoint: collector.URL, Disabled: true, Protocol: "grpc"}} {
		o := testOptions(t)
		o.Tracing = s
		place := make(chan string, 1)
		a, c, trigger := tracedOrders(t, o, executortest.Handlers{"greet": func(_ context.Context, r *executor.Run) error { place <- r.TraceParent; return errors.New("no") }})
		trigger("greet", "")
		if got := <-place; got != "" || a.tracer != nil {
			t.Errorf("%+v: the executor is told %q", s, got)
		}
		if _, kind := scrape(t, c.base, "application/openmetrics-text;version=1.0.0"); !strings.HasPrefix(kind, "text/plain") {
			t.Errorf("%+v: metrics as %s", s, kind)
		}
		stop(t, a)
	}
	if got := collector.traces(); len(got) != 0 {
		t.Errorf("traces %v", got)
	}
}

func scrape(t *testing.T, base, accept string) (body, contentType string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status, err)
	}
	return string(text), resp.Header.Get("Content-Type")
}
