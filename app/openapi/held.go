package openapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/pull"
)

// held are pulls that wait with nothing but their connections. While a request is being served it keeps some 40 KB: its stack, and the
// buffers of its connection. Where thousands of executors have nothing to do that is most of what an admin needs.
type held struct{ answers sync.WaitGroup }

// heldPull is one of them.
type heldPull struct {
	api          *API
	conn         net.Conn
	header       http.Header
	path, remote string
	begun        bool               // so much of the answer as begin sends is sent
	over         chan struct{}      // closed when nobody reads the connection any more
	cancel       context.CancelFunc // ends the wait
	gone         bool               // the peer is; to be read after over
	more         []byte             // what the peer has sent after its request: likewise
}

// answerTime is how long an answer may take to be sent.
const answerTime = 10 * time.Second

// hold is called when a pull has waited for a moment. It takes the connection from the server; one that is shared with other requests, as
// those of HTTP/2 are, stays where it is, as does what is to be closed after the answer.
func (a *API) hold(w http.ResponseWriter, r *http.Request, early bool) *pull.Away {
	var conn net.Conn
	var more []byte
	header := w.Header()
	if a.Resume != nil && r.ProtoAtLeast(1, 1) && r.ProtoMajor == 1 && !r.Close {
		if c, buffers, err := http.NewResponseController(w).Hijack(); err == nil {
			conn = c
			more, _ = buffers.Peek(buffers.Reader.Buffered())
			more = bytes.Clone(bytes.TrimLeft(more, "\r\n"))
		}
	}
	if conn == nil {
		if early {
			begin(w)
		}
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	h := &heldPull{api: a, conn: conn, header: header, more: more, path: r.URL.Path, remote: r.RemoteAddr, over: make(chan struct{}), cancel: cancel}
	if early {
		h.begin()
	}
	a.held.answers.Add(1)
	go h.watch()
	return &pull.Away{Context: ctx, Answer: h.answer}
}

// Drain waits until pulls that were held are answered.
func (a *API) Drain(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		a.held.answers.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watch sees the peer go. Some send an empty line after a body, which counts for nothing.
func (h *heldPull) watch() {
	defer close(h.over)
	var one [1]byte
	for len(h.more) == 0 {
		_, err := h.conn.Read(one[:])
		switch late, ok := errors.AsType[net.Error](err); {
		case ok && late.Timeout(): // there is an answer
			return
		case err != nil:
			h.gone = true
			h.cancel()
			return
		case one[0] != '\r' && one[0] != '\n':
			h.more = append(h.more, one[0])
		}
	}
}

// begin sends the beginning of the answer.
func (h *heldPull) begin() {
	h.begun = true
	h.header.Set("X-Accel-Buffering", "no")
	h.header.Set("Transfer-Encoding", "chunked")
	h.send(append(h.head(), "1\r\n \r\n"...))
}

func (h *heldPull) head() []byte {
	var b bytes.Buffer
	h.header.Set("Content-Type", contentType)
	h.header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	_, _ = b.WriteString("HTTP/1.1 200 OK\r\n")
	_ = h.header.Write(&b)
	_, _ = b.WriteString("\r\n")
	return b.Bytes()
}

func (h *heldPull) send(data []byte) bool {
	_ = h.conn.SetWriteDeadline(time.Now().Add(answerTime))
	_, err := h.conn.Write(data)
	return err == nil
}

// answer ends the wait, and gives the connection back to the server.
func (h *heldPull) answer(response wire.PullResponse, err error) {
	defer h.api.held.answers.Done()
	defer h.cancel()
	_ = h.conn.SetReadDeadline(time.Unix(1, 0))
	<-h.over
	if h.gone {
		_ = h.conn.Close()
		return
	}
	data, err := pulled(response, err)
	body := h.api.outcome(h.path, h.remote, data, err)
	if h.begun {
		body = append(fmt.Appendf(nil, "%x\r\n", len(body)), append(body, "\r\n0\r\n\r\n"...)...)
	} else {
		h.header.Set("Content-Length", fmt.Sprint(len(body)))
		body = append(h.head(), body...)
	}
	if !h.send(body) {
		_ = h.conn.Close()
		return
	}
	_ = h.conn.SetDeadline(time.Time{})
	if len(h.more) > 0 {
		h.conn = &readOn{h.conn, io.MultiReader(bytes.NewReader(h.more), h.conn)}
	}
	h.api.Resume(h.conn)
}

// readOn is a connection of which something is read already.
type readOn struct {
	net.Conn
	r io.Reader
}

func (c *readOn) Read(p []byte) (int, error) { return c.r.Read(p) }
