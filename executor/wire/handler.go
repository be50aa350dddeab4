package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
)

// HandlerTransport calls a handler of this process as if it were elsewhere: what goes on between two parts of one program needs no
// socket. The gate of [WithGate] is asked before. As over a network the caller is free when its context ends, whatever holds the handler (a
// disk that is away, for one), which may do what it was asked for all the same; and a handler that panics is a call without an answer.
type HandlerTransport struct{ Handler http.Handler }

func (t HandlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if !MayPass(ctx) {
		return nil, ErrGate
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// What the caller's context holds is the caller's: its gate, its trace. A handler elsewhere sees nothing of it but its end.
	serving, over := context.WithCancelCause(context.Background())
	unbind := context.AfterFunc(ctx, func() { over(context.Cause(ctx)) })
	in := r.Clone(serving)
	in.RequestURI, in.RemoteAddr, in.Host = r.URL.RequestURI(), "127.0.0.1:0", r.URL.Host
	if in.Body == nil {
		in.Body = http.NoBody
	}
	if trace := httptrace.ContextClientTrace(ctx); trace != nil { // from here on it may have arrived
		if trace.GotConn != nil {
			trace.GotConn(httptrace.GotConnInfo{})
		}
		if trace.WroteRequest != nil {
			trace.WroteRequest(httptrace.WroteRequestInfo{})
		}
	}
	w := &recorder{header: make(http.Header), status: http.StatusOK}
	served := make(chan error, 1)
	go func() {
		broken := io.ErrUnexpectedEOF // also where the handler ends its goroutine
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				broken = fmt.Errorf("%w: the handler panicked: %v", broken, p)
			}
			unbind()
			over(nil)
			_ = in.Body.Close()
			served <- broken
		}()
		t.Handler.ServeHTTP(w, in)
		broken = nil
	}()
	select {
	case err := <-served:
		if err != nil {
			return nil, err
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: w.header,
		Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// recorder keeps an answer.
type recorder struct {
	header  http.Header
	status  int
	written bool
	body    bytes.Buffer
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	if !w.written {
		w.status, w.written = status, true
	}
}

func (w *recorder) Write(p []byte) (int, error) {
	w.written = true
	return w.body.Write(p)
}
