package api

import (
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/labstack/echo/v4"
)

// compressFrom is the size from which compressing an answer is worth it: below, it would not save a packet.
const compressFrom = 1400

var zippers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// compressed answers whom it may in gzip: a list of runs is ten times smaller. A stream stays as it is, since each of its events is to arrive at once.
//
// What compression tells a listener by an answer's length (BREACH) takes somebody who has the victim send requests with text of theirs. Nobody can
// have a browser send those of the API: each shows its token in a header, which no other site can set, and no cookie counts.
func compressed(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Response()
		r.Header().Add(echo.HeaderVary, echo.HeaderAcceptEncoding)
		if !takesGzip(c.Request().Header.Get(echo.HeaderAcceptEncoding)) {
			return next(c)
		}
		w := &zipWriter{ResponseWriter: r.Writer}
		r.Writer = w
		defer func() { r.Writer = w.ResponseWriter }() // an error is answered by who is told of it
		err := next(c)
		if err == nil || r.Committed { // what has begun nobody else answers
			w.end()
		}
		return err
	}
}

// takesGzip reads an Accept-Encoding.
func takesGzip(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		coding, quality, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";")
		if strings.EqualFold(coding, "gzip") {
			return strings.Trim(strings.TrimPrefix(strings.ToLower(quality), "q="), "0.") != "" || quality == ""
		}
	}
	return false
}

// zipWriter holds an answer back until it is seen to be worth compressing.
type zipWriter struct {
	http.ResponseWriter
	status int // 0: nobody has said it
	held   []byte
	zip    *gzip.Writer
	as     bool // it goes through as it is
}

// Unwrap lets deadlines be set.
func (w *zipWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *zipWriter) WriteHeader(status int) {
	w.status = status
	if strings.HasPrefix(w.Header().Get(echo.HeaderContentType), eventStream) {
		w.as = true
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *zipWriter) Write(p []byte) (int, error) {
	switch {
	case w.as:
		return w.ResponseWriter.Write(p)
	case w.zip != nil:
		return w.zip.Write(p)
	}
	w.held = append(w.held, p...)
	if len(w.held) < compressFrom {
		return len(p), nil
	}
	w.Header().Set(echo.HeaderContentEncoding, "gzip")
	w.Header().Del(echo.HeaderContentLength)
	w.begin()
	w.zip = zippers.Get().(*gzip.Writer)
	w.zip.Reset(w.ResponseWriter)
	_, err := w.zip.Write(w.held)
	return len(p), err
}

func (w *zipWriter) begin() {
	if w.status != 0 {
		w.ResponseWriter.WriteHeader(w.status)
	}
}

// end sends what is left.
func (w *zipWriter) end() {
	switch {
	case w.zip != nil:
		_ = w.zip.Close() // the client is gone if this fails
		zippers.Put(w.zip)
	case !w.as:
		w.begin()
		if len(w.held) > 0 { // which some statuses forbid
			_, _ = w.ResponseWriter.Write(w.held)
		}
	}
}
