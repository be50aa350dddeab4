package tracing

import (
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/punctual-job/punctual/executor/wire"
)

// Where nothing is traced a run costs nothing. Not parallel: it counts what the process allocates.
func TestNoTracesCostNothing(t *testing.T) {
	var off *Tracer
	if n := testing.AllocsPerRun(100, func() {
		if off.Place(1, 2) != (Place{}) {
			t.Fatal("a place without a tracer")
		}
		off.Ended()
	}); n != 0 {
		t.Errorf("%v allocations a run", n)
	}
}

// A run's place follows from the run and the installation, and from nothing else.
func TestAPlaceFollowsFromTheRun(t *testing.T) {
	t.Parallel()
	tracer := func(seed byte, ratio float64) *Tracer {
		return &Tracer{seed: [16]byte{seed}, sampler: sdktrace.TraceIDRatioBased(ratio)}
	}
	all, none := tracer(1, 1), tracer(1, 0)
	first := all.Place(7, 1000)
	if first != tracer(1, 1).Place(7, 1000) || wire.ParseTraceParent(first.Header) == "" || first.TraceID != first.Header[3:35] {
		t.Errorf("%+v", first)
	}
	for name, other := range map[string]Place{"another run": all.Place(8, 1000), "the number given again": all.Place(7, 2000), "another installation": tracer(2, 1).Place(7, 1000)} {
		if other.TraceID == first.TraceID {
			t.Errorf("%s has the same trace", name)
		}
	}
	if p := none.Place(7, 1000); p.TraceID != "" || p.Header[:53] != first.Header[:53] || p.Header[53:] != "00" {
		t.Errorf("not sampled: %+v", p)
	}
	if all.Place(7, 0) != (Place{}) {
		t.Error("a run of another scheduler has a place")
	}
	sampled := 0
	for run := range int64(20_000) {
		if tracer(1, 0.1).Place(run, 5).TraceID != "" {
			sampled++
		}
	}
	if sampled < 1_800 || sampled > 2_200 { // 2,000, and five standard deviations
		t.Errorf("%d of 20,000 are sampled by 0.1", sampled)
	}
}
