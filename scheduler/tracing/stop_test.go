package tracing

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// hanging is an exporter whose collector does not answer.
type hanging struct{ came chan struct{} }

func (h hanging) ExportSpans(ctx context.Context, _ []sdktrace.ReadOnlySpan) error {
	h.came <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

func (hanging) Shutdown(context.Context) error { return nil }

// TestAStopWaitsForNoUpload longer than it may, be one under way or not.
func TestAStopWaitsForNoUpload(t *testing.T) {
	t.Parallel()
	for name, underWay := range map[string]bool{"under way": true, "that waits": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				exporter := hanging{make(chan struct{}, 10)}
				tracer := &Tracer{log: slog.New(slog.DiscardHandler), ended: make(chan End, 1), provider: Config{maxSpans: 100}.provider(exporter)}
				_, span := tracer.provider.Tracer("test").Start(t.Context(), "run")
				span.End()
				if underWay {
					<-exporter.came
				}
				began := time.Now()
				if err := tracer.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took != flushLimit {
					t.Errorf("the stop took %s", took)
				}
				time.Sleep(2 * uploadLimit) // the library's own goroutine ends with its upload
			})
		})
	}
}
