package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/executortest"
)

// spans are what programs sent to a collector, with the name of the service that each is of.
type spans struct {
	*httptest.Server
	mu   sync.Mutex
	list []span
}

type span struct {
	*tracepb.Span
	service string
}

func newSpans(t *testing.T) *spans {
	t.Helper()
	s := &spans{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		plain, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = plain
	}
	text, err := io.ReadAll(body)
	var data tracepb.TracesData
	if err = errors.Join(err, proto.Unmarshal(text, &data)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rs := range data.ResourceSpans {
		service := said(rs.Resource.Attributes, "service.name")
		for _, ss := range rs.ScopeSpans {
			for _, one := range ss.Spans {
				s.list = append(s.list, span{one, service})
			}
		}
	}
}

func (s *spans) traces() map[string][]span {
	s.mu.Lock()
	defer s.mu.Unlock()
	traces := make(map[string][]span)
	for _, one := range s.list {
		traces[string(one.TraceId)] = append(traces[string(one.TraceId)], one)
	}
	return traces
}

// said is an attribute as a text.
func said(attributes []*commonpb.KeyValue, key string) string {
	for _, kv := range attributes {
		if kv.Key != key {
			continue
		}
		if n, is := kv.Value.Value.(*commonpb.AnyValue_IntValue); is {
			return strconv.FormatInt(n.IntValue, 10)
		}
		return kv.Value.GetStringValue()
	}
	return ""
}

// TestJavaAgent has runs of an executor made of XXL-JOB's own library, with OpenTelemetry's Java agent and our extension of it: the
// trace of each is one, from its claim here to its handler there.
func TestJavaAgent(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	for _, c := range []struct {
		release, agent string
		dialect        db.Dialect
	}{{"2.3.1", "2.11.0", db.SQLite}, {"3.3.2", "2.33.1", db.MySQL}} {
		t.Run(c.release, func(t *testing.T) {
			waits(t)
			testJavaAgent(t, c.release, c.agent, c.dialect)
		})
	}
}

// maven runs Maven, and skips the test where it cannot get what it needs.
func maven(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "mvn", append([]string{"-q", "-B"}, args...)...).CombinedOutput(); err != nil {
		t.Skipf("mvn %s: %v\n%s", strings.Join(args, " "), err, out[max(0, len(out)-1000):])
	}
}

func testJavaAgent(t *testing.T, release, agent string, dialect db.Dialect) {
	classPath := javaExecutor(t, release)
	program(t, "punctual")
	jars, built := t.TempDir(), t.TempDir()
	maven(t, "dependency:copy", "-Dartifact=io.opentelemetry.javaagent:opentelemetry-javaagent:"+agent, "-DoutputDirectory="+jars, "-Dmdep.stripVersion=true")
	if err := os.CopyFS(built, os.DirFS("../../deploy/opentelemetry")); err != nil {
		t.Fatal(err)
	}
	maven(t, "-f", built, "package")

	collector := newSpans(t)
	port, adminPort, dir := executortest.FreePort(t), executortest.FreePort(t), t.TempDir()
	p := startProcess(t, "java", []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL, "OTEL_SERVICE_NAME=java", "OTEL_METRICS_EXPORTER=none", "OTEL_LOGS_EXPORTER=none", "OTEL_BSP_SCHEDULE_DELAY=100",
	}, "-Xmx256m", "-javaagent:"+filepath.Join(jars, "opentelemetry-javaagent.jar"), "-Dotel.javaagent.extensions="+filepath.Join(built, "target", "xxl-job-trace.jar"),
		"-cp", classPath, "Main", "http://127.0.0.1:"+adminPort+"/xxl-job-admin", testToken, "java", port, dir, filepath.Join(dir, "done"))
	eventually(t, "executor listening", func() error {
		select {
		case <-p.ended:
			t.Fatalf("the executor ended at its start: %v\n%s%s", p.err, p.stdout.String(), p.stderr.String())
		default:
		}
		conn, err := net.DialTimeout("tcp", "127.0.0.1:"+port, time.Second)
		if err == nil {
			conn.Close()
		}
		return err
	})
	d := newDatabase(t, dialect)
	d.seed(t, func(ctx context.Context, pool *db.Pool) error {
		group, err := addGroup(ctx, pool, "java", "http://127.0.0.1:"+port+"/")
		for _, limit := range []int64{0, 30} { // handlers with a time limit have a thread of their own
			if err != nil {
				return err
			}
			var id int64
			if id, err = addJob(ctx, pool, group, func(p *db.InsertJobParams) {
				p.ScheduleConf, p.ExecutorParam, p.ExecutorTimeout = "1", db.Text("10"), limit
			}); err == nil {
				err = startJob(ctx, pool, id, time.Now().Add(3*time.Second))
			}
		}
		return err
	})
	s := d.settings()
	s.port = adminPort
	s.env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL, "OTEL_TRACES_SAMPLER=always_on"}
	startAdmin(t, s)
	eventually(t, "three runs of each job have whole traces", func() error {
		whole := make(map[string]int) // by job
		for _, spans := range collector.traces() {
			if job := throughJava(t, spans); job != "" {
				whole[job]++
			}
		}
		if whole["1"] < 3 || whole["2"] < 3 {
			return fmt.Errorf("by job %v", whole)
		}
		return nil
	})
}

// throughJava is the job of a trace that goes from its run through the call to the executor to the handler, each span within the one before.
func throughJava(t *testing.T, list []span) (job string) {
	t.Helper()
	var at []byte
	for _, step := range []struct {
		service, name string
		kind          tracepb.Span_SpanKind
	}{
		{"punctual", "run count", tracepb.Span_SPAN_KIND_INTERNAL},
		{"punctual", "execute", tracepb.Span_SPAN_KIND_INTERNAL},
		{"java", "POST", tracepb.Span_SPAN_KIND_SERVER},
		{"java", "Jobs.count", tracepb.Span_SPAN_KIND_INTERNAL},
	} {
		i := slices.IndexFunc(list, func(s span) bool {
			return s.service == step.service && s.Name == step.name && s.Kind == step.kind && bytes.Equal(s.ParentSpanId, at)
		})
		if i < 0 {
			return "" // it has not come yet
		}
		at = list[i].SpanId
		if step.name == "run count" {
			job = said(list[i].Attributes, "punctual.job.id")
		}
	}
	return job
}
