package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Dialect is the way an executor wants to be spoken to (docs/compat.md §1.11 point 4).
type Dialect int

const (
	// DialectRun is eras J1 to J3 (2.2.0 to 3.4.2): a run is asked for at /run.
	DialectRun Dialect = iota
	// DialectTrigger is era J4 (3.5): the same body at /trigger.
	DialectTrigger
	// DialectTooOld is eras R0 to R2 (2.0.0 to 2.1.2), which are not served.
	DialectTooOld
)

// Target is an executor to call.
type Target struct {
	Address string // as registered or typed; a missing scheme or final slash is completed
	Token   string // sent when not blank
	// OtherToken is for whoever calls again when Token is refused; the client itself never sends it.
	OtherToken string
	AppName    string // sent when not blank; only era J4 looks at it
	Dialect    Dialect
}

// traceParentKey is under what a call's context holds its header [HeaderTraceParent].
type traceParentKey struct{}

// ExecutorClient calls executors. It may be used by many goroutines; the context bounds each call.
type ExecutorClient struct {
	caller
	takers *takers
}

// NewExecutorClient makes a client on top of client (nil: one of [NewHTTPClient] with 64 connections a peer).
// Redirects are never followed, whatever client says.
func NewExecutorClient(client *http.Client) *ExecutorClient {
	return &ExecutorClient{caller: newCaller(client), takers: newTakers()}
}

// Close lets go of the connections that are not in use.
func (c *ExecutorClient) Close() { c.http.CloseIdleConnections() }

// Beat asks whether the executor is alive.
func (c *ExecutorClient) Beat(ctx context.Context, to Target) (Answer, error) {
	return c.post(ctx, baseURL(to.Address)+"/beat", to.Token, to.AppName, []byte(`""`), maxAnswer)
}

// IdleBeat asks whether the executor has nothing running or waiting for the job.
func (c *ExecutorClient) IdleBeat(ctx context.Context, to Target, req IdleBeatRequest) (Answer, error) {
	return c.send(ctx, to, "/idleBeat", req, maxAnswer)
}

// Run asks for a run. The executor answers when it has queued it. One that is too old is not asked: the error is [ErrTooOld].
func (c *ExecutorClient) Run(ctx context.Context, to Target, req *RunRequest) (Answer, error) {
	if to.Dialect == DialectTooOld {
		return Answer{}, tooOld()
	}
	answer, err := c.runAlone(ctx, to, req)
	if err == nil && answer.takesRuns != c.takers.has(to) {
		c.takers.learn(to, answer.takesRuns)
	}
	return answer, err
}

// tooOld is what comes of asking an executor that is too old to be asked.
func tooOld() error { return &CallError{Stage: StageDial, Err: ErrTooOld} }

// runAlone asks for a run in a request of its own.
func (c *ExecutorClient) runAlone(ctx context.Context, to Target, req *RunRequest) (Answer, error) {
	path := "/run"
	if to.Dialect == DialectTrigger {
		path = "/trigger"
	}
	if req.TraceParent != "" {
		ctx = context.WithValue(ctx, traceParentKey{}, req.TraceParent) // in the head, and not in the body
		plain := *req
		plain.TraceParent = ""
		req = &plain
	}
	return c.post(ctx, baseURL(to.Address)+path, to.Token, to.AppName, encodeRun(req), maxAnswer)
}

// Kill ends the job's runs, or with a LogID and an executor of ours only that run.
func (c *ExecutorClient) Kill(ctx context.Context, to Target, req KillRequest) (Answer, error) {
	return c.send(ctx, to, "/kill", req, maxAnswer)
}

// Log reads a piece of a run's log. The result is only filled when the answer is OK. Asked from [PastEnd] on, the answer may
// not be long.
func (c *ExecutorClient) Log(ctx context.Context, to Target, req LogRequest) (LogResult, Answer, error) {
	at := max(req.LogDateTim, req.LogDateTime)
	req.LogDateTim, req.LogDateTime = at, at
	limit := int64(maxLogAnswer)
	if req.FromLineNum >= PastEnd {
		limit = maxAnswer
	}
	answer, err := c.send(ctx, to, "/log", req, limit)
	if err != nil || !answer.OK() {
		return LogResult{}, answer, err
	}
	if answer.Data == nil {
		return LogResult{FromLineNum: req.FromLineNum}, answer, nil
	}
	l, err := decodeLogResult(answer.Data)
	if err != nil {
		err = fmt.Errorf("decode log: %w", err)
		return LogResult{}, answer, &CallError{Stage: StageDecode, MaybeDelivered: true, Err: err}
	}
	return l, answer, nil
}

// decodeLogResult reads the value of an answer to /log.
func decodeLogResult(value []byte) (r LogResult, err error) {
	if r, ok := quickLogResult(value); ok {
		return r, nil
	}
	if err = json.Unmarshal(value, &r); err == nil || !isTypeError(err) {
		return r, err
	}
	var l struct {
		FromLineNum loose     `json:"fromLineNum"`
		ToLineNum   loose     `json:"toLineNum"`
		LogContent  looseText `json:"logContent"`
		IsEnd       bool      `json:"isEnd"`
		Remembers   loose     `json:"remembers"`
	}
	err = json.Unmarshal(value, &l)
	return LogResult{FromLineNum: int(l.FromLineNum), ToLineNum: int(l.ToLineNum), LogContent: string(l.LogContent), IsEnd: l.IsEnd, Remembers: int64(l.Remembers)}, err
}

func (c *ExecutorClient) send(ctx context.Context, to Target, path string, req any, limit int64) (Answer, error) {
	body, err := encode(req)
	if err != nil {
		return Answer{}, &CallError{Stage: StageDial, Err: err}
	}
	return c.post(ctx, baseURL(to.Address)+path, to.Token, to.AppName, body, limit)
}

// encode is json.Marshal without HTML escapes, which would only lengthen scripts. The transport may still read the body
// after the call returned, so it is not taken from a pool.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	buf.Grow(512)
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}
