package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
)

// Stage is the step of a call that failed.
type Stage string

// The stages in the order a call goes through them.
const (
	StageDial   Stage = "dial"   // no connection: the peer has seen nothing
	StageWrite  Stage = "write"  // the request could not be handed over whole
	StageAnswer Stage = "answer" // the request went out, the answer did not come (or not whole, or was too big)
	StageStatus Stage = "status" // something answered with another HTTP status than 200
	StageDecode Stage = "decode" // the answer was not the protocol's
)

// CallError is a call that brought no answer of the protocol. A refusal by the peer (code 500) is no CallError.
type CallError struct {
	Stage Stage
	// MaybeDelivered is false only when the peer cannot have received the whole request, so that sending it again,
	// or to somebody else, cannot make it happen twice.
	MaybeDelivered bool
	Err            error
	// Body begins what came in place of an answer. It is not in the error's text, which people read who may run a job and have no
	// business with what else answers at an address.
	Body string
}

func (e *CallError) Error() string {
	if errors.Is(e.Err, ErrTooOld) { // which says it all
		return e.Err.Error()
	}
	text := e.Err.Error()
	if strings.HasPrefix(text, string(e.Stage)+" ") { // the net package begins with it too: "dial tcp 10.0.0.1:9999: …"
		return text
	}
	return string(e.Stage) + ": " + text
}

// Unwrap gives the cause, so that a passed deadline is still seen by errors.Is.
func (e *CallError) Unwrap() error { return e.Err }

const (
	dialTimeout = 3 * time.Second
	keepAlive   = 30 * time.Second
)

const (
	maxAnswer    = 256 << 10 // the longest are stack traces
	maxLogAnswer = 8 << 20   // upstream executors send the whole rest of a log in one answer
	maxForeign   = 4 << 10   // of what is not the protocol's: enough to say what it is
	contentType  = "application/json;charset=UTF-8"
)

// NewHTTPClient is an HTTP client suited to the protocol: kept-alive connections, a bound on connections per peer (the
// bound is also what keeps one slow peer from taking all), no compression (upstream peers know none), no proxy.
// Official executors close idle connections after 90 s, so ours are given up before that: a request on a connection
// that the peer is closing would be one of unknown fate. Certificates of https peers are always checked, against the
// operating system's authorities unless [WithTLS] says otherwise.
func NewHTTPClient(connsPerHost int, options ...ClientOption) *http.Client {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}
	transport := &http.Transport{
		DialContext:         dialer.DialContext,
		MaxConnsPerHost:     connsPerHost,
		MaxIdleConnsPerHost: connsPerHost,
		IdleConnTimeout:     60 * time.Second,
		TLSHandshakeTimeout: 5 * time.Second,
		DisableCompression:  true,
		TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
	}
	for _, option := range options {
		option(transport)
	}
	transport.DialContext = dialGated(dialJudged(transport.DialContext)) // last, around whatever an option has put in its place
	return &http.Client{CheckRedirect: noRedirect, Transport: newPlainTransport(transport)}
}

// noRedirect hands a redirect back as the answer it is: the protocol has none, and following one would send the token
// to an address nobody configured.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

var answerBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// caller posts bodies and reads answers; both clients are made of it.
type caller struct {
	http *http.Client
	// do is how a request is made: by the client, or by its transport where the client has nothing to do for it.
	do func(*http.Request) (*http.Response, error)
}

func newCaller(client *http.Client) caller {
	if client == nil {
		client = NewHTTPClient(64)
	}
	own := *client
	own.CheckRedirect = noRedirect
	c := caller{http: &own, do: own.Do}
	if own.Transport != nil && own.Jar == nil && own.Timeout == 0 {
		c.do = own.Transport.RoundTrip
	}
	return c
}

// post makes one call. A nil body sends none.
func (c caller) post(ctx context.Context, address, token, appName string, body []byte, limit int64) (Answer, error) {
	// connected: a connection was taken for the request. Set back by getConn, because the transport only looks for
	// another connection when nothing of the request went over the first.
	var connected, cutShort atomic.Bool
	may := gateOf(ctx)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { connected.Store(false); cutShort.Store(false) },
		GotConn: func(info httptrace.GotConnInfo) { armConn(info.Conn, may); connected.Store(true) },
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err != nil {
				cutShort.Store(true)
			}
		},
	})
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, reader)
	if err != nil {
		return Answer{}, &CallError{Stage: StageDial, Err: err}
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", "punctual")
	if token != "" {
		req.Header.Set(HeaderToken, token)
	}
	if appName != "" {
		req.Header.Set(HeaderAppName, appName)
	}
	if ctx.Value(zippedKey{}) != nil {
		req.Header.Set("Content-Encoding", "gzip")
	}
	if parent, ok := ctx.Value(traceParentKey{}).(string); ok {
		req.Header.Set(HeaderTraceParent, parent)
	}
	resp, err := c.do(req)
	if err != nil {
		if in, ok := as[*url.Error](err); ok {
			err = in.Err // method and address are known to whoever reads it, and made the cause hard to see
		}
		switch {
		case !connected.Load():
			return Answer{}, &CallError{Stage: StageDial, Err: err}
		case cutShort.Load(), errors.Is(err, ErrGate): // what the gate held back is part of the request
			return Answer{}, &CallError{Stage: StageWrite, Err: err}
		}
		return Answer{}, &CallError{Stage: StageAnswer, MaybeDelivered: true, Err: err}
	}
	if begun, ok := ctx.Value(begunKey{}).(func()); ok {
		begun()
	}
	return readAnswer(ctx, resp, limit)
}

// begunKey is under what a call's context holds whom to tell that the answer begins.
type begunKey struct{}

// readAnswer reads a bounded body and closes it; a body read to its end lets the connection be used again. Of one that is
// not the protocol's only the beginning is read: a page of megabytes, thirty times a second, would take the processor from
// the runs of others.
func readAnswer(ctx context.Context, resp *http.Response, limit int64) (Answer, error) {
	defer func() { _ = resp.Body.Close() }()
	buf := answerBuffers.Get().(*bytes.Buffer)
	buf.Reset()
	keeps := func() bool { return buf.Cap() <= 64<<10 } // a rare big answer is not worth keeping
	defer func() {
		if keeps() {
			answerBuffers.Put(buf)
		}
	}()
	n, err := readBody(ctx, buf, resp, limit)
	if err != nil {
		return Answer{}, &CallError{Stage: StageAnswer, MaybeDelivered: true, Err: err}
	}
	if resp.StatusCode != http.StatusOK && !isHessian(buf.Bytes()) {
		err := fmt.Errorf("HTTP status %d (%s)", resp.StatusCode, kind(resp))
		return Answer{}, &CallError{Stage: StageStatus, MaybeDelivered: true, Err: err, Body: excerpt(buf.Bytes())}
	}
	if n > limit {
		err := fmt.Errorf("answer is longer than %d bytes", limit)
		return Answer{}, &CallError{Stage: StageAnswer, MaybeDelivered: true, Err: err}
	}
	answer, err := DecodeAnswer(buf.Bytes())
	if errors.Is(err, ErrTooOld) { // it cannot have read the request either, and what it says is no text
		return Answer{}, &CallError{Stage: StageDecode, Err: err}
	}
	if err != nil {
		err = fmt.Errorf("%w (%s)", err, kind(resp))
		return Answer{}, &CallError{Stage: StageDecode, MaybeDelivered: true, Err: err, Body: excerpt(buf.Bytes())}
	}
	if keeps() {
		answer.Data = bytes.Clone(answer.Data)
	}
	answer.takesRuns = resp.Header.Get(HeaderTakesRuns) != ""
	return answer, nil
}

// roomKey is under what a call's context holds whom to ask before a long answer is read.
type roomKey struct{}

// WithRoom returns a context for calls whose answers may be long. room is asked before more than the beginning of one is read, for as many
// bytes as it may have; while it waits, so does the peer. The call fails with its error.
func WithRoom(ctx context.Context, room func(bytes int64) error) context.Context {
	return context.WithValue(ctx, roomKey{}, room)
}

// readBody reads up to limit+1 bytes, and stops early in what cannot be an answer.
func readBody(ctx context.Context, buf *bytes.Buffer, resp *http.Response, limit int64) (n int64, err error) {
	upTo := func(most int64) bool {
		var more int64
		more, err = buf.ReadFrom(io.LimitReader(resp.Body, most-n))
		n += more
		return err == nil && n == most
	}
	if !upTo(maxForeign) || resp.StatusCode != http.StatusOK || !maybeJSON(buf.Bytes()) {
		return n, err
	}
	if limit > maxAnswer {
		if !upTo(maxAnswer) {
			return n, err
		}
		size := limit
		if resp.ContentLength > 0 {
			size = min(size, resp.ContentLength)
		}
		if room, ok := ctx.Value(roomKey{}).(func(int64) error); ok {
			if err := room(size); err != nil {
				return n, err
			}
		}
		if resp.ContentLength > 0 {
			buf.Grow(int(size-n) + bytes.MinRead) // or what is read at the end would have it double
		}
	}
	upTo(limit + 1)
	return n, err
}

// maybeJSON reports whether a body begins like an object or a list, which every answer of the protocol is.
func maybeJSON(body []byte) bool {
	body = bytes.TrimLeft(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), " \t\r\n")
	return len(body) > 0 && (body[0] == '{' || body[0] == '[')
}

// kind says of what kind a foreign body is, without repeating it.
func kind(resp *http.Response) string {
	if media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil {
		return media
	}
	return "no content type"
}

// excerpt shortens a foreign body for an error text.
func excerpt(body []byte) string {
	const most = 200
	s := strings.ToValidUTF8(string(body[:min(len(body), most)]), "")
	s = strings.Map(func(r rune) rune { // of bytes that are no text, what can be read
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if len(body) > most {
		s += "…"
	}
	return fmt.Sprintf("%q", s)
}

// Delivered says whether the request behind err may have reached the peer; a nil error was delivered.
func Delivered(err error) bool {
	if err == nil {
		return true
	}
	var call *CallError
	return errors.As(err, &call) && call.MaybeDelivered
}

// baseURL completes an address as people type and executors register it: trimmed, with a scheme, without the slash.
func baseURL(address string) string {
	address = strings.TrimRight(strings.TrimSpace(address), "/")
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	return address
}
