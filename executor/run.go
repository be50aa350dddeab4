package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/executor/wire"
)

// Handler does a job's work. A nil error is success (200); any other error is a failure (500) with the error's text;
// [ErrTimeout] and errors made by [Fail] choose their own code, and with [ErrLater]
// there is no result yet. The time limit of the run is the deadline of ctx. It must return soon after ctx is done; [context.Cause] says why it
// is, with [ErrKilled] and its like.
type Handler func(ctx context.Context, run *Run) error

// Shard is the slice of a sharded job that a run works on: Index from 0, out of Total.
type Shard struct{ Index, Total int }

// Run is one run of a job, as its handler sees it.
type Run struct {
	JobID   int64
	LogID   int64 // the run's own id
	Handler string
	Param   string
	Shard   Shard
	// Planned is the time of the schedule that the run is for, to the millisecond: what a nightly job takes its day from. It stays the
	// same however late the run comes, in its retries, and for the jobs that its success starts. Of a run that was asked for it is when
	// that was, or the time that was named with it. An XXL-JOB admin says when it triggered the run, which is a little after the planned
	// time and, for a retry, a child or a fire that it missed, long after.
	Planned time.Time
	// Received is when this executor got the run, before it was written down and queued; for a run taken up after a
	// restart, the time of that.
	Received time.Time
	// TraceParent is the trace and the span that the run belongs to, as the header traceparent of W3C Trace Context has them:
	// "00-TRACE-SPAN-FLAGS". Spans of the handler are made children of it by OpenTelemetry's propagation.TraceContext. "" where the
	// admin traces nothing.
	TraceParent string

	triggered int64 // as the admin names it, epoch ms: the run's log and result are filed under it

	log  *runLog
	env  map[string]string // what the admin gives a script beside ours
	keep *wire.OutputWish  // whether the admin wants what the run writes
	node int64             // which of the admins sent it, see [wire.RunRequest.Node]

	mu     sync.Mutex
	result string
	output map[string]string
	size   int // of output, in bytes
}

type runKey struct{}

// FromContext returns the run that ctx belongs to, so that code deep inside a handler can write to the run's log.
func FromContext(ctx context.Context) (*Run, bool) {
	run, ok := ctx.Value(runKey{}).(*Run)
	return run, ok
}

// Logf writes a line to the run's log, which the admin shows.
func (r *Run) Logf(format string, args ...any) {
	var pc [1]uintptr
	runtime.Callers(2, pc[:])
	r.log.line(time.Now(), pc[0], fmt.Sprintf(format, args...))
}

// Logger returns a logger that writes to the run's log. It takes every level, and may be used after the handler has returned.
func (r *Run) Logger() *slog.Logger { return slog.New(&logHandler{log: r.log}) }

// LogFile is the path of the file that the run's log goes to. There is none before the first line, and what others write
// to it does not count towards its bound.
func (r *Run) LogFile() string {
	return filepath.Join(r.log.store.root.Name(), r.log.day(), strconv.FormatInt(r.LogID, 10)+".log")
}

// Write appends p to the run's log as it is. It never fails, so that a process whose output goes here does not die of
// a full disk: what cannot be written is counted and told in the run's result.
func (r *Run) Write(p []byte) (int, error) { return r.log.Write(p) }

// SetResult sets the message that a successful run reports.
func (r *Run) SetResult(msg string) {
	r.mu.Lock()
	r.result = msg
	r.mu.Unlock()
}

// SetOutput gives a value to the steps of a flow that come after this run, which find it as steps.ID.output.KEY. A later value of a key takes
// the place of an earlier one. It is refused when the key is empty or too long, or all keys and values together are too large
// ([wire.MaxOutputKey], [wire.MaxOutputs]). Outside of a flow, and with an XXL-JOB admin, nobody reads it.
func (r *Run) SetOutput(key, value string) error {
	if key == "" || len(key) > wire.MaxOutputKey || !utf8.ValidString(key) {
		return fmt.Errorf("output %.40q: the key has to be a text of at most %d bytes", key, wire.MaxOutputKey)
	}
	value = strings.ToValidUTF8(value, "\uFFFD")
	r.mu.Lock()
	defer r.mu.Unlock()
	size := r.size + len(key) + len(value)
	if old, ok := r.output[key]; ok {
		size -= len(key) + len(old)
	}
	if size > wire.MaxOutputs {
		return fmt.Errorf("output %q: all outputs of a run together have at most %d bytes", key, wire.MaxOutputs)
	}
	if r.output == nil {
		r.output = make(map[string]string)
	}
	r.output[key], r.size = value, size
	return nil
}

// outputs are the values that were given, without secrets.
func (r *Run) outputs() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.output) == 0 {
		return nil
	}
	said := make(map[string]string, len(r.output))
	for key, value := range r.output {
		said[r.log.mask.text(key)] = r.log.mask.text(value)
	}
	return said
}

// failure is an error with a result code of its own.
type failure struct {
	code int
	msg  string
}

func (f *failure) Error() string { return f.msg }

// Fail makes an error that a handler returns to report code with msg. Codes up to 0 are reported as 500.
func Fail(code int, msg string) error { return &failure{code: code, msg: msg} }

// ErrTimeout is what a handler returns to report that it ran out of time (502).
var ErrTimeout = Fail(wire.CodeTimeout, "job execute timeout")

// Why a run is ended while its handler goes on, or before it began: [errors.Is] finds one of them, or [ErrTimeout] where its time limit has
// passed, in the [context.Cause] of its context. What the handler returns then counts for nothing.
var (
	ErrKilled   = errors.New("somebody ended the run")
	ErrCovered  = errors.New("a later run of its job took its place")
	ErrShutdown = errors.New("the executor shuts down")
)

// ErrLater is what a handler returns when the work goes on elsewhere: no result is reported, and the run stays open until whoever does
// the work reports its end to the admin. The job's time limit no longer counts here, and its next run may begin.
var ErrLater = errors.New("the result is reported later, by somebody else")

// outcome turns what a handler returned into a result.
func (r *Run) outcome(err error) (code int, msg string) {
	code, msg = r.plainOutcome(err)
	return code, r.log.mask.text(msg)
}

func (r *Run) plainOutcome(err error) (code int, msg string) {
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		return wire.CodeSuccess, r.result
	}
	var f *failure
	if errors.As(err, &f) {
		if f.code <= 0 {
			return wire.CodeFail, err.Error()
		}
		return f.code, err.Error()
	}
	return wire.CodeFail, err.Error()
}
