package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	// maxPlain is how long a request may be that a plainTransport sends itself. A longer one need not fit into what the network takes
	// at once, and its peer may answer before it has read the whole: that is left to net/http.
	maxPlain = 48 << 10
	// maxHead bounds the head of an answer.
	maxHead = 64 << 10
	// idleFor is how long a connection is kept that nobody uses.
	idleFor = 60 * time.Second
	// maxInform is how many informational answers may come before the answer.
	maxInform = 5
)

var (
	errHeadTooLong = errors.New("the head of the answer is too long")
	errInform      = errors.New("too many informational answers")
)

// plainTransport is an [http.RoundTripper] for many short requests to few peers: one goroutine writes the request and reads the
// answer, where [http.Transport] hands both to two more, at twice the cost. It speaks HTTP/1.1 over plain connections. All else,
// https and long requests, goes by rest, whose way of dialling and whose bounds are its own too.
//
// Like rest it uses another connection only when nothing was written to the first: everything else may have arrived.
type plainTransport struct {
	rest   *http.Transport
	others restTransport // for what is not sent here: rest, or what makes new connections like it

	mu    sync.Mutex
	peers map[string]*plainPeer // those in use, or with connections that are kept
}

// plainPeer is a host and port. But for slots its fields are guarded by plainTransport.mu.
type plainPeer struct {
	address string
	slots   chan struct{} // one a call; nil: no bound
	calls   int           // that have it, or wait for a slot
	idle    []*plainConn  // the last one used is the last
	sweep   *time.Timer   // closes those that nobody uses; nil when there are none
}

// restTransport is an [http.Transport], or stands for several.
type restTransport interface {
	http.RoundTripper
	CloseIdleConnections()
}

func newPlainTransport(rest *http.Transport) *plainTransport {
	t := &plainTransport{rest: rest, others: rest, peers: make(map[string]*plainPeer)}
	if rest.ForceAttemptHTTP2 {
		t.others = NewRedialling(rest)
	}
	return t
}

func (t *plainTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.rest.Proxy != nil || !speaksPlainly(req) {
		return t.others.RoundTrip(req)
	}
	body, err := readAll(req)
	if err != nil {
		return nil, err
	}
	ctx, trace := req.Context(), httptrace.ContextClientTrace(req.Context())
	address := req.URL.Host
	if req.URL.Port() == "" {
		address = net.JoinHostPort(req.URL.Hostname(), "80")
	}
	peer, err := t.enter(ctx, address)
	if err != nil {
		return nil, err
	}
	for {
		if trace != nil && trace.GetConn != nil {
			trace.GetConn(address)
		}
		conn, err := t.connect(ctx, peer)
		if err != nil {
			t.leave(peer)
			return nil, err
		}
		if trace != nil && trace.GotConn != nil {
			trace.GotConn(httptrace.GotConnInfo{Conn: conn.Conn, Reused: conn.used})
		}
		conn.bind(ctx)
		n, err := conn.write(req, body)
		if trace != nil && trace.WroteRequest != nil {
			trace.WroteRequest(httptrace.WroteRequestInfo{Err: err})
		}
		if err == nil {
			return conn.answer(req)
		}
		err = conn.fail(ctx, err)
		if again := conn.used && n == 0 && !errors.Is(err, ErrGate) && ctx.Err() == nil; !again {
			t.leave(peer)
			return nil, err
		}
	}
}

// CloseIdleConnections lets [http.Client.CloseIdleConnections] reach both.
func (t *plainTransport) CloseIdleConnections() {
	t.others.CloseIdleConnections()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.peers {
		t.closeIdle(p, 0)
	}
}

// enter waits for a slot at the peer.
func (t *plainTransport) enter(ctx context.Context, address string) (*plainPeer, error) {
	t.mu.Lock()
	p := t.peers[address]
	if p == nil {
		p = &plainPeer{address: address}
		if n := t.rest.MaxConnsPerHost; n > 0 {
			p.slots = make(chan struct{}, n)
		}
		t.peers[address] = p
	}
	p.calls++
	t.mu.Unlock()
	if p.slots == nil {
		return p, nil
	}
	select {
	case p.slots <- struct{}{}:
		return p, nil
	case <-ctx.Done():
		t.mu.Lock()
		defer t.mu.Unlock()
		p.calls--
		t.forget(p)
		return nil, ctx.Err()
	}
}

// leave gives the slot back, and keeps the connections if it can be used again.
func (t *plainTransport) leave(p *plainPeer, keep ...*plainConn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range keep {
		c.used, c.since = true, time.Now()
		p.idle = append(p.idle, c)
		if p.sweep == nil {
			t.sweepIn(p, idleFor)
		}
	}
	if p.slots != nil {
		<-p.slots
	}
	p.calls--
	t.forget(p)
}

// forget drops a peer that nobody calls and no connection leads to.
func (t *plainTransport) forget(p *plainPeer) {
	if p.calls == 0 && len(p.idle) == 0 {
		delete(t.peers, p.address)
	}
}

func (t *plainTransport) sweepIn(p *plainPeer, after time.Duration) {
	p.sweep = time.AfterFunc(after, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.closeIdle(p, idleFor)
	})
}

// closeIdle closes the connections that nobody has used for so long.
func (t *plainTransport) closeIdle(p *plainPeer, unused time.Duration) {
	n := 0
	for n < len(p.idle) && time.Since(p.idle[n].since) >= unused {
		_ = p.idle[n].Close()
		n++
	}
	p.idle = slices.Delete(p.idle, 0, n)
	if p.sweep != nil {
		p.sweep.Stop()
		p.sweep = nil
	}
	if len(p.idle) > 0 {
		t.sweepIn(p, idleFor-time.Since(p.idle[0].since))
	}
	t.forget(p)
}

// connect takes the connection that was used last, which is the likeliest to be open still, or dials.
func (t *plainTransport) connect(ctx context.Context, p *plainPeer) (*plainConn, error) {
	for c := t.take(p); c != nil; c = t.take(p) {
		if c.open() {
			return c, nil
		}
		_ = c.Close()
	}
	conn, err := t.rest.DialContext(ctx, "tcp", p.address)
	if err != nil {
		if deadline, limited := ctx.Deadline(); limited && !time.Now().Before(deadline) {
			<-ctx.Done() // the dialler's clock was quicker
		}
		return nil, err
	}
	c := &plainConn{Conn: conn, transport: t, peer: p}
	c.reader = bufio.NewReaderSize(c, 4<<10)
	return c, nil
}

func (t *plainTransport) take(p *plainPeer) *plainConn {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	c := p.idle[last]
	p.idle = slices.Delete(p.idle, last, last+1)
	return c
}

// speaksPlainly reports whether a request is one of those that are sent here. What net/http would refuse goes there, to be refused.
func speaksPlainly(req *http.Request) bool {
	if req.URL.Scheme != "http" || req.URL.Host == "" || req.URL.User != nil || req.Host != req.URL.Host || req.Close ||
		req.ContentLength < 0 || req.ContentLength > maxPlain || len(req.TransferEncoding) > 0 || len(req.Trailer) > 0 || !printable(req.Host, false) {
		return false
	}
	for name, values := range req.Header {
		if !printable(name, false) || textproto.CanonicalMIMEHeaderKey(name) != name {
			return false
		}
		for _, v := range values {
			if !printable(v, true) {
				return false
			}
		}
	}
	return true
}

// printable reports whether a text is of visible ASCII characters, and of blanks between them where those are allowed.
func printable(s string, blanks bool) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' && !(blanks && c == ' ') || c >= 0x7f {
			return false
		}
	}
	return true
}

func readAll(req *http.Request) ([]byte, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	defer func() { _ = req.Body.Close() }()
	body := make([]byte, req.ContentLength)
	_, err := io.ReadFull(req.Body, body)
	return body, err
}

// plainConn is a connection with what is needed to use it again and again.
type plainConn struct {
	net.Conn
	transport *plainTransport
	peer      *plainPeer
	reader    *bufio.Reader
	out       bytes.Buffer
	head      int // how many bytes of the answer's head may still come; negative: no bound
	used      bool
	since     time.Time // when it was used last

	unbind func() bool // of the call that has it
}

// Read implements [io.Reader]: it bounds the head.
func (c *plainConn) Read(p []byte) (int, error) {
	if c.head == 0 {
		return 0, errHeadTooLong
	}
	if c.head > 0 && len(p) > c.head {
		p = p[:c.head]
	}
	n, err := c.Conn.Read(p)
	if c.head > 0 {
		c.head -= n
	}
	return n, err
}

// bind has the connection give up when the call is over.
func (c *plainConn) bind(ctx context.Context) {
	deadline, _ := ctx.Deadline()
	_ = c.SetDeadline(deadline)
	c.unbind = context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
}

// write hands over the request in one piece, and says how much of it left.
func (c *plainConn) write(req *http.Request, body []byte) (int, error) {
	c.out.Reset()
	path := req.URL.RequestURI()
	for _, s := range [...]string{req.Method, " ", path, " HTTP/1.1\r\nHost: ", req.Host, "\r\n"} {
		c.out.WriteString(s)
	}
	for name, values := range req.Header {
		for _, v := range values {
			for _, s := range [...]string{name, ": ", v, "\r\n"} {
				c.out.WriteString(s)
			}
		}
	}
	c.out.WriteString("Content-Length: ")
	c.out.Write(strconv.AppendInt(c.out.AvailableBuffer(), int64(len(body)), 10))
	c.out.WriteString("\r\n\r\n")
	c.out.Write(body)
	return c.Conn.Write(c.out.Bytes())
}

// answer reads the head of the answer. Its body gives the connection back when it was read to its end.
func (c *plainConn) answer(req *http.Request) (*http.Response, error) {
	for range maxInform {
		c.head = maxHead
		resp, err := http.ReadResponse(c.reader, req)
		if err != nil {
			err = c.fail(req.Context(), err)
			c.transport.leave(c.peer)
			return nil, err
		}
		if resp.StatusCode >= 100 && resp.StatusCode < 200 && resp.StatusCode != http.StatusSwitchingProtocols {
			continue
		}
		c.head = -1
		resp.Body = &plainBody{ReadCloser: resp.Body, conn: c, ctx: req.Context(), keep: !resp.Close && resp.StatusCode >= 200}
		return resp, nil
	}
	err := c.fail(req.Context(), errInform)
	c.transport.leave(c.peer)
	return nil, err
}

// fail closes the connection, and says why it failed: because the call is over, if it is.
func (c *plainConn) fail(ctx context.Context, err error) error {
	c.unbind()
	_ = c.Close()
	return whyOver(ctx, err)
}

func whyOver(ctx context.Context, err error) error {
	if over := ctx.Err(); over != nil {
		return over
	}
	if _, limited := ctx.Deadline(); limited && errors.Is(err, os.ErrDeadlineExceeded) {
		<-ctx.Done() // the connection's clock was quicker, and callers ask the context why a call failed
		return ctx.Err()
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// plainBody is the body of an answer.
type plainBody struct {
	io.ReadCloser
	conn *plainConn // nil: closed
	ctx  context.Context
	keep bool // the connection, when the whole body was read
	read bool // it was
}

func (b *plainBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == io.EOF:
		b.read = true
	case err != nil:
		err = whyOver(b.ctx, err)
	}
	return n, err
}

func (b *plainBody) Close() error {
	c := b.conn
	if c == nil {
		return nil
	}
	b.conn = nil
	// A call that is over may have set the connection's deadline since.
	if inTime := c.unbind(); b.keep && b.read && inTime && c.reader.Buffered() == 0 {
		c.transport.leave(c.peer, c)
		return nil
	}
	_ = c.Close()
	c.transport.leave(c.peer)
	return nil
}
