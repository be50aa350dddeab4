package tracing

import (
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
)

// maxSends is how many calls to executors a trace tells of: a run has one, and few where executors do not answer.
const maxSends = 10

// span is one part of a trace.
type span struct {
	number     byte
	name       string
	kind       trace.SpanKind
	start, end time.Time
	attributes []attribute.KeyValue
	failure    string // how it failed; "" when it did not
}

// spansOf are the parts of a run that has ended, its whole first. Which they are follows from what is on record; attempt is the run's number among
// those of its fire.
func spansOf(r *db.ListTracedRunsRow, end End, attempt int) []span {
	list := event.Parse(string(r.Events))
	planned, claimed := time.UnixMilli(r.PlannedAt), time.UnixMilli(r.PlannedAt)
	for _, e := range list {
		if e.Key == event.Claimed {
			claimed = time.UnixMilli(e.At)
			break
		}
	}
	whole := span{number: spanRun, name: "run", kind: trace.SpanKindInternal, start: earlier(planned, claimed)}
	whole.end = later(planned, claimed, time.UnixMilli(r.FinishedAt), end.Received, end.Written)
	if r.ExecutorHandler != "" {
		whole.name += " " + string(r.ExecutorHandler)
	}
	sends, taken := sendsOf(list)
	for _, s := range sends {
		whole.end = later(whole.end, s.end)
	}
	if r.FinishedAt == 0 && len(list) > 0 { // it was not sent
		whole.end = later(whole.end, time.UnixMilli(list[len(list)-1].At))
	}
	whole.attributes = []attribute.KeyValue{
		attribute.Int64("punctual.run.id", r.ID), attribute.Int64("punctual.job.id", r.JobID), attribute.String("punctual.group", string(r.AppName)),
		attribute.String("punctual.handler", string(r.ExecutorHandler)), attribute.String("punctual.trigger", strings.ToLower(string(r.TriggerType))),
		attribute.String("punctual.result", r.Outcome.String()), attribute.Int("punctual.attempt", attempt),
	}
	if r.Outcome != event.Succeeded && !r.Outcome.Passed() {
		whole.failure = r.Outcome.String()
	}
	ready := later(planned, claimed)
	parts := []span{{number: spanClaim, name: "claim", kind: trace.SpanKindInternal, start: earlier(planned, claimed), end: ready}}
	leaves := whole.end
	if len(sends) > 0 {
		leaves = later(ready, sends[0].start)
		whole.attributes = append(whole.attributes, attribute.Float64("punctual.lateness", sends[0].start.Sub(planned).Seconds()))
	}
	parts = append(parts, span{number: spanQueue, name: "queue", kind: trace.SpanKindInternal, start: ready, end: leaves})
	parts = append(parts, sends...)
	if !taken.IsZero() {
		execute := span{number: spanExecute, name: "execute", kind: trace.SpanKindInternal, start: taken, failure: whole.failure}
		execute.end = later(taken, time.UnixMilli(r.FinishedAt))
		if !end.Received.IsZero() {
			execute.end = later(taken, end.Received)
		}
		parts = append(parts, execute)
		whole.end = later(whole.end, execute.end)
	}
	if !end.Received.IsZero() {
		parts = append(parts, span{number: spanCallback, name: "callback", kind: trace.SpanKindServer, start: end.Received, end: later(end.Received, end.Written)})
	}
	return append([]span{whole}, parts...)
}

// sendsOf are the calls that were made for a run, and since when an executor has it.
func sendsOf(list event.List) (sends []span, taken time.Time) {
	for _, e := range list {
		s := span{name: "send", kind: trace.SpanKindClient, start: time.UnixMilli(e.At)}
		s.end = s.start.Add(max(0, e.Duration(1)))
		result := string(e.Key)
		switch e.Key {
		case event.Sent:
			taken = s.end
		case event.Known: // found out afterwards
			if taken.IsZero() {
				taken = s.start
			}
			continue
		case event.Refused:
			s.failure = result
		case event.Unreachable, event.Unanswered:
			s.failure = result
			s.attributes = append(s.attributes, attribute.String("error.type", e.Text(2)))
		case event.Silent:
			s.end, s.failure = s.start, result
			s.attributes = append(s.attributes, attribute.String("error.type", string(wire.FaultSilent)))
		default:
			continue
		}
		if len(sends) == maxSends {
			continue
		}
		s.number = spanSend + byte(len(sends))
		s.attributes = append(s.attributes, attribute.String("punctual.answer", result))
		if u, err := url.Parse(e.Text(0)); err == nil && u.Hostname() != "" {
			s.attributes = append(s.attributes, attribute.String("server.address", u.Host))
		}
		sends = append(sends, s)
	}
	return sends, taken
}

// status is how a span ended, as OpenTelemetry has it.
func (s *span) status() (codes.Code, string) {
	if s.failure != "" {
		return codes.Error, s.failure
	}
	return codes.Unset, ""
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// later is the latest of some times.
func later(first time.Time, others ...time.Time) time.Time {
	for _, t := range others {
		if t.After(first) {
			first = t
		}
	}
	return first
}
