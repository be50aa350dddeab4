package executor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
)

const (
	maxBody     = 5 << 20 // upstream's bound on a request
	maxRequests = 1000    // at once; an admin has some hundred connections at most
)

// takesRuns says in the head of an answer that several runs may be asked for at once.
var takesRuns = []string{"1"}

// ServeHTTP answers admins. As upstream does, every answer has HTTP status 200 and says in its code what happened; the
// checks come in upstream's order, and the path must match to the letter.
func (e *Executor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if p := recover(); p != nil {
			e.logger.Error("request panicked", "error", p, "stack", string(debug.Stack()))
			answer(w, wire.CodeFail, fmt.Sprintf("request error:%v", p), nil)
		}
	}()
	w.Header()[wire.HeaderTakesRuns] = takesRuns
	if r.Method != http.MethodPost {
		answer(w, wire.CodeFail, "invalid request, HttpMethod not support.", nil)
		return
	}
	if r.RequestURI == "" {
		answer(w, wire.CodeFail, "invalid request, uri-mapping empty.", nil)
		return
	}
	if msg := e.authorize(r.Header); msg != "" {
		answer(w, wire.CodeFail, msg, nil)
		return
	}
	if e.requests.Add(1) > maxRequests {
		e.requests.Add(-1)
		answer(w, wire.CodeFail, "request error:too many requests at once", nil)
		return
	}
	defer e.requests.Add(-1)
	body, err := readBody(w, r)
	if err != nil {
		answer(w, wire.CodeFail, requestError(err), nil)
		return
	}
	code, msg, value, err := e.dispatch(r.RequestURI, r.Header, body)
	if e.draining() { // or the next call might come as the connection is closed
		w.Header().Set("Connection", "close")
	}
	if err != nil {
		code, msg, value = wire.CodeFail, requestError(err), nil
	}
	answer(w, code, msg, value)
}

// authorize compares the token, and the app name when there is one (era J4 sends it), in constant time.
func (e *Executor) authorize(h http.Header) string {
	if !e.token.takes(h.Get(wire.HeaderToken)) {
		return "The access token is wrong."
	}
	if name := h.Get(wire.HeaderAppName); name != "" && name != e.config.AppName {
		return "invalid request, accessToken or appname invalid."
	}
	return ""
}

// readBody reads a bounded body into memory of its own: the journal and the run keep it.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBody {
		// A peer that is still sending when the connection closes does not see the answer, so some more is read.
		_, _ = io.CopyN(io.Discard, r.Body, 3*maxBody)
		w.Header().Set("Connection", "close")
		return nil, errTooBig
	}
	if n := r.ContentLength; n >= 0 {
		body := make([]byte, n)
		_, err := io.ReadFull(r.Body, body)
		return body, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooBig := (*http.MaxBytesError)(nil); errors.As(err, &tooBig) {
		return nil, errTooBig
	}
	return body, err
}

var errTooBig = fmt.Errorf("body is longer than %d bytes", maxBody)

// dispatch does what a request asks for. An error is a request that could not be understood or served.
func (e *Executor) dispatch(uri string, header http.Header, body []byte) (code int, msg string, value []byte, err error) {
	switch uri {
	case "/beat":
		if e.draining() {
			return wire.CodeFail, "the executor is shutting down", wire.Leaving(), nil
		}
		return wire.CodeSuccess, wire.MsgSuccess, nil, nil
	case "/idleBeat":
		req, err := wire.DecodeIdleBeat(body)
		if err != nil {
			return 0, "", nil, err
		}
		if e.busy(req.JobID) {
			return wire.CodeFail, "job thread is running or has trigger queue.", nil, nil
		}
		if e.draining() {
			return wire.CodeFail, "the executor is shutting down", wire.Leaving(), nil
		}
		return wire.CodeSuccess, wire.MsgSuccess, nil, nil
	case "/run", "/trigger":
		return e.serveRun(header.Get(wire.HeaderTraceParent), body)
	case "/runs":
		return e.serveRuns(body)
	case "/kill":
		req, err := wire.DecodeKill(body)
		if err != nil {
			return 0, "", nil, err
		}
		if !e.kill(req.JobID, req.LogID) {
			// The text has been in msg, content and data in turn, depending on the release; here it is in all.
			const already = "job thread already killed."
			return wire.CodeSuccess, already, []byte(`"` + already + `"`), nil
		}
		return wire.CodeSuccess, wire.MsgSuccess, nil, nil
	case "/log":
		req, err := wire.DecodeLog(body)
		if err != nil {
			return 0, "", nil, err
		}
		piece, err := e.readLog(req)
		if err != nil {
			return wire.CodeFail, "the run log cannot be read: " + err.Error(), nil, nil
		}
		value, err := json.Marshal(piece)
		return wire.CodeSuccess, wire.MsgSuccess, value, err
	}
	return wire.CodeFail, "invalid request, uri-mapping(" + uri + ") not found.", nil, nil
}

func (e *Executor) serveRun(traceParent string, body []byte) (code int, msg string, value []byte, err error) {
	runs := []asked{e.read(wire.ParseTraceParent(traceParent), body)}
	e.admit(runs)
	e.settle(runs)
	return e.answerRun(runs[0].err)
}

// serveRuns answers for each run of a request. All of them are queued, in their order, before the journal is waited for.
func (e *Executor) serveRuns(body []byte) (code int, msg string, value []byte, err error) {
	bodies, err := wire.DecodeRuns(body)
	if err != nil {
		return 0, "", nil, err
	}
	runs := make([]asked, len(bodies))
	for i, b := range bodies {
		runs[i] = e.readOneOf(b)
	}
	e.admit(runs)
	e.settle(runs)
	value = append(make([]byte, 0, 64*len(runs)), '[')
	for i := range runs {
		code, msg, data, err := e.answerRun(runs[i].err)
		if err != nil {
			code, msg, data = wire.CodeFail, requestError(err), nil
		}
		if i > 0 {
			value = append(value, ',')
		}
		value = wire.AppendAnswer(value, code, msg, data)
	}
	return wire.CodeSuccess, wire.MsgSuccess, append(value, ']'), nil
}

// readOneOf is read for a run that was asked for with others. A panic, as in what [Executor.Use] was given, is its answer alone.
func (e *Executor) readOneOf(body []byte) (r asked) {
	defer func() {
		if p := recover(); p != nil {
			e.logger.Error("request panicked", "error", p, "stack", string(debug.Stack()))
			r = asked{err: fmt.Errorf("%v", p)}
		}
	}()
	return e.read("", body)
}

// read reads a request for a run and finds what will do its work.
func (e *Executor) read(traceParent string, body []byte) asked {
	req, err := wire.DecodeRun(body)
	if err != nil {
		return asked{err: err}
	}
	if traceParent != "" {
		req.TraceParent, body = traceParent, withTraceParent(body, traceParent)
	}
	t, err := e.prepare(&req)
	return asked{&req, body, t, err}
}

// answerRun is the answer to a request for a run. An error is a request that could not be understood.
func (e *Executor) answerRun(err error) (code int, msg string, value []byte, _ error) {
	if err == nil {
		return wire.CodeSuccess, wire.MsgSuccess, nil, nil
	}
	e.refused.Add(1)
	if errors.Is(err, errLeaving) {
		e.mu.Lock()
		e.calledAt = time.Now()
		e.mu.Unlock()
		return wire.CodeFail, errLeaving.Error(), wire.Leaving(), nil
	}
	if r := refusal(""); errors.As(err, &r) {
		return wire.CodeFail, string(r), nil, nil
	}
	return 0, "", nil, err
}

// requestError is what is answered to a request that could not be understood or served.
func requestError(err error) string { return "request error:" + err.Error() }

// answer writes an answer. A peer that is gone is not our trouble.
func answer(w http.ResponseWriter, code int, msg string, value []byte) {
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	_, _ = w.Write(wire.AppendAnswer(make([]byte, 0, 96+len(msg)+2*len(value)), code, msg, value))
}

// withTraceParent puts a run's trace context into the request that the journal keeps, where a restart finds it.
func withTraceParent(body []byte, traceParent string) []byte {
	_, members, isObject := bytes.Cut(body, []byte("{"))
	if !isObject || bytes.HasPrefix(bytes.TrimSpace(members), []byte("}")) {
		return body
	}
	return append([]byte(`{"traceparent":"`+traceParent+`",`), members...)
}
