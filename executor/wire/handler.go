package wire

import (
	"bytes"
	"io"
	"net/http"
)

// HandlerTransport calls a handler of this process as if it were elsewhere: what goes on between two parts of one program needs no
// socket. The gate of [WithGate] is asked before.
type HandlerTransport struct{ Handler http.Handler }

// RoundTrip implements [http.RoundTripper].
func (t HandlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !MayPass(r.Context()) {
		return nil, ErrGate
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	in := r.Clone(r.Context())
	in.RequestURI, in.RemoteAddr, in.Host = r.URL.RequestURI(), "127.0.0.1:0", r.URL.Host
	if in.Body == nil {
		in.Body = http.NoBody
	}
	defer func() { _ = in.Body.Close() }()
	w := &recorder{header: make(http.Header), status: http.StatusOK}
	t.Handler.ServeHTTP(w, in)
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
