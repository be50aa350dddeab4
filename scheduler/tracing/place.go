package tracing

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Place is where a run belongs in its trace. The zero value is that of a run that is not traced.
type Place struct {
	Header  string // as the header traceparent has it
	TraceID string // "" when the trace is only exported should the run fail
}

// The spans of a trace, for their ids.
const (
	spanTrace byte = iota // of the trace itself
	spanRun
	spanClaim
	spanQueue
	spanExecute
	spanCallback
	spanSend // the first call; the next ones have the numbers behind it
)

// id is a hash of what tells a run from all others, also after a restored back-up has begun to give its number again.
func (t *Tracer) id(run, planned int64, span byte) [sha256.Size]byte {
	var text [16 + 8 + 8 + 1]byte
	copy(text[:], t.seed[:])
	binary.BigEndian.PutUint64(text[16:], uint64(run))
	binary.BigEndian.PutUint64(text[24:], uint64(planned))
	text[32] = span
	return sha256.Sum256(text[:])
}

func (t *Tracer) traceID(run, planned int64) trace.TraceID {
	h := t.id(run, planned, spanTrace)
	return trace.TraceID(h[:16])
}

func (t *Tracer) spanID(run, planned int64, span byte) trace.SpanID {
	h := t.id(run, planned, span)
	return trace.SpanID(h[:8])
}

// sampled decides by the trace's id alone, so that all admins decide alike.
func (t *Tracer) sampled(id trace.TraceID) bool {
	return t.sampler.ShouldSample(sdktrace.SamplingParameters{ParentContext: context.Background(), TraceID: id}).Decision == sdktrace.RecordAndSample
}

// Place is the place of a run that is about to be sent, whose spans will be children of its execution. planned is its planned time as
// its row has it, in epoch ms. A nil Tracer gives the zero Place.
func (t *Tracer) Place(run, planned int64) Place {
	if t == nil || planned == 0 {
		return Place{}
	}
	traceID, spanID := t.traceID(run, planned), t.spanID(run, planned, spanExecute)
	const size = len("00-0123456789abcdef0123456789abcdef-0123456789abcdef-01")
	text := make([]byte, 0, size)
	text = append(text, "00-"...)
	text = hex.AppendEncode(text, traceID[:])
	text = append(text, '-')
	text = hex.AppendEncode(text, spanID[:])
	if !t.sampled(traceID) {
		return Place{Header: string(append(text, "-00"...))}
	}
	header := string(append(text, "-01"...))
	return Place{Header: header, TraceID: header[3:35]}
}
