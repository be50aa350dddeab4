//go:build go1.26

package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// peer answers each request on its connections with what say makes of its number. It counts connections.
func peer(t *testing.T, say func(n int, conn net.Conn)) (address string, connections *atomic.Int32) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connections = new(atomic.Int32)
	var serving sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); serving.Wait() })
	var requests atomic.Int32
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			serving.Go(func() {
				defer func() { _ = conn.Close() }()
				reader := bufio.NewReader(conn)
				for {
					req, err := http.ReadRequest(reader)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					say(int(requests.Add(1)), conn)
				}
			})
		}
	})
	return listener.Addr().String(), connections
}

func answerWith(head, body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
}

func runOn(t *testing.T, client *ExecutorClient, address string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := client.Run(ctx, Target{Address: address}, &RunRequest{JobID: 1})
	return err
}

// TestConnectionsAreUsedAgain as long as peers let them, however an answer is written.
func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"cod\r\n7\r\ne\":200}\r\n0\r\n\r\n"
	for name, tc := range map[string]struct {
		answer string
		want   int32 // connections that three calls take
	}{
		"with a length":      {answerWith("", okAnswer), 1},
		"in chunks":          {chunked, 1},
		"behind information": {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + answerWith("", okAnswer), 1},
		"with a good bye":    {answerWith("Connection: close\r\n", okAnswer), 3},
		"of HTTP/1.0":        {"HTTP/1.0 200 OK\r\nContent-Length: 12\r\n\r\n" + okAnswer, 3},
		"with more behind":   {answerWith("", okAnswer) + "HTTP/1.1 200 OK\r\n", 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, connections := peer(t, func(_ int, conn net.Conn) { _, _ = io.WriteString(conn, tc.answer) })
			client := NewExecutorClient(nil)
			t.Cleanup(client.Close)
			for range 3 {
				if err := runOn(t, client, address); err != nil {
					t.Fatal(err)
				}
			}
			if got := connections.Load(); got != tc.want {
				t.Errorf("%d connections, want %d", got, tc.want)
			}
		})
	}
}

// TestACallThatTookTooLongIsOverForItsContextToo: callers tell a time-out of their own by their context.
func TestACallThatTookTooLongIsOverForItsContextToo(t *testing.T) {
	t.Parallel()
	address, _ := peer(t, func(int, net.Conn) {})
	client := NewExecutorClient(nil)
	t.Cleanup(client.Close)
	for range 300 {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
		if _, err := client.Run(ctx, Target{Address: address}, &RunRequest{JobID: 1}); err == nil || ctx.Err() == nil {
			t.Errorf("%v, and its context says %v", err, ctx.Err())
		}
		cancel()
	}
}

// TestAClosedConnectionIsNoUnknownFate: a connection that the peer has closed since is not used for a request, whose fate nobody would
// know.
func TestAClosedConnectionIsNoUnknownFate(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]func(net.Conn){
		"closed":         func(conn net.Conn) { _ = conn.(*net.TCPConn).CloseWrite() },
		"reset":          func(conn net.Conn) { _ = conn.(*net.TCPConn).SetLinger(0); _ = conn.Close() },
		"talks unasked":  func(conn net.Conn) { _, _ = io.WriteString(conn, "HTTP/1.1 408 Request Timeout\r\n\r\n") },
		"nothing at all": func(net.Conn) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			idle, done := make(chan struct{}), make(chan struct{})
			address, connections := peer(t, func(n int, conn net.Conn) {
				_, _ = io.WriteString(conn, answerWith("", okAnswer))
				if n == 1 {
					<-idle
					last(conn)
					close(done)
				}
			})
			client := NewExecutorClient(nil)
			t.Cleanup(client.Close)
			if err := runOn(t, client, address); err != nil {
				t.Fatal(err)
			}
			close(idle)
			<-done
			if err := runOn(t, client, address); err != nil {
				t.Errorf("the second call: %v", err)
			}
			want := int32(2)
			if name == "nothing at all" {
				want = 1
			}
			if got := connections.Load(); got != want {
				t.Errorf("%d connections, want %d", got, want)
			}
		})
	}
}

// TestAnAnswerHasABoundedHead: a peer that never comes to its answer is let go.
func TestAnAnswerHasABoundedHead(t *testing.T) {
	t.Parallel()
	for name, endless := range map[string]string{
		"one line":    strings.Repeat("x", 1000),
		"lines":       "A: b\r\n",
		"information": "HTTP/1.1 100 Continue\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			written := make(chan int, 1)
			address, _ := peer(t, func(_ int, conn net.Conn) {
				_, _ = io.WriteString(conn, "HTTP/1.1 100 Continue\r\n")
				n := 0
				for range 100 << 10 {
					k, err := io.WriteString(conn, endless)
					n += k
					if err != nil {
						break
					}
				}
				written <- n
			})
			client := NewExecutorClient(nil)
			t.Cleanup(client.Close)
			err := runOn(t, client, address)
			if call, ok := errors.AsType[*CallError](err); !ok || call.Stage != StageAnswer || !call.MaybeDelivered {
				t.Errorf("%v", err)
			}
			if n := <-written; n >= 100<<10*len(endless) {
				t.Errorf("%d bytes were taken", n)
			}
		})
	}
}

// TestConnectionsAreBounded: a call waits for its slot, in vain when its time is over, and then nothing was sent.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	asked := make(chan struct{}, 3)
	address, connections := peer(t, func(_ int, conn net.Conn) {
		asked <- struct{}{}
		<-hang
		_, _ = io.WriteString(conn, answerWith("", okAnswer))
	})
	client := NewExecutorClient(NewHTTPClient(1))
	t.Cleanup(client.Close)
	first := make(chan error, 1)
	go func() { first <- runOn(t, client, address) }()
	<-asked
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := client.Run(ctx, Target{Address: address}, &RunRequest{})
	if call, ok := errors.AsType[*CallError](err); !ok || call.Stage != StageDial || call.MaybeDelivered || FaultOf(err) != FaultConnect {
		t.Errorf("no slot: %v", err)
	}
	close(hang)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if err := runOn(t, client, address); err != nil || connections.Load() != 1 {
		t.Errorf("the slot is used again: %v, %d connections", err, connections.Load())
	}
}

// TestALongRequestIsAnsweredEarly: a peer need not read a script to its end to refuse it.
func TestALongRequestIsAnsweredEarly(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"code":500,"msg":"too long"}`)
	}))
	t.Cleanup(server.Close)
	client := NewExecutorClient(nil)
	t.Cleanup(client.Close)
	answer, err := client.Run(t.Context(), Target{Address: server.URL}, &RunRequest{GlueSource: strings.Repeat("x", 1<<20)})
	if err != nil || answer.Msg != "too long" {
		t.Errorf("%+v, %v", answer, err)
	}
}

// TestNoHeaderIsSmuggled: what a token holds cannot become a line of its own.
func TestNoHeaderIsSmuggled(t *testing.T) {
	t.Parallel()
	address, connections := peer(t, func(_ int, conn net.Conn) { _, _ = io.WriteString(conn, answerWith("", okAnswer)) })
	client := NewExecutorClient(nil)
	t.Cleanup(client.Close)
	for _, token := range []string{"a\r\nX: y", "a\nb", "a\x00"} {
		if _, err := client.Run(t.Context(), Target{Address: address, Token: token}, &RunRequest{}); err == nil || Delivered(err) {
			t.Errorf("%q: %v", token, err)
		}
	}
	if connections.Load() > 0 {
		t.Error("something was sent")
	}
	if _, err := client.Run(t.Context(), Target{Address: address, Token: "准时"}, &RunRequest{}); err != nil {
		t.Errorf("a token of other letters: %v", err)
	}
}

// pipes is a transport whose peers are the other ends of pipes, which serve has.
func pipes(serve func(net.Conn)) *http.Transport {
	return &http.Transport{DisableCompression: true, MaxConnsPerHost: 2, DialContext: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go serve(far)
		return near, nil
	}}
}

// TestUnusedConnectionsAreClosed after a while, and their peers forgotten.
func TestUnusedConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var open atomic.Int32
		transport := newPlainTransport(pipes(func(conn net.Conn) {
			open.Add(1)
			defer open.Add(-1)
			defer func() { _ = conn.Close() }()
			reader := bufio.NewReader(conn)
			for {
				req, err := http.ReadRequest(reader)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				if _, err := io.WriteString(conn, answerWith("", okAnswer)); err != nil {
					return
				}
			}
		}))
		client := NewExecutorClient(&http.Client{Transport: transport})
		look := func(after time.Duration, want int32) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			transport.mu.Lock()
			defer transport.mu.Unlock()
			if got := open.Load(); got != want || (len(transport.peers) == 0) != (want == 0) {
				t.Errorf("%d connections are open, want %d; %d peers", got, want, len(transport.peers))
			}
		}
		_ = runOn(t, client, "a:1")
		look(idleFor/2, 1)
		_ = runOn(t, client, "b:1")
		look(idleFor/2+time.Second, 1)
		look(idleFor/2, 0)
		_ = runOn(t, client, "a:1")
		look(0, 1)
		client.Close()
		look(0, 0)
	})
}

// FuzzAnswersAreReadAsByNetHTTP: whatever a peer sends, it is the same to both transports.
func FuzzAnswersAreReadAsByNetHTTP(f *testing.F) {
	for _, s := range []string{
		answerWith("", okAnswer), answerWith("Connection: close\r\n", okAnswer), "HTTP/1.0 200 OK\r\n\r\n" + okAnswer, "HTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx", "HTTP/1.1 200\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\n" + answerWith("", "x"), "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", "", "\r\n", "SSH-2.0-x\r\n",
		"HTTP/0.0 000 0\n\r\nx", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy", "HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		if bytes.Count(sent, []byte("HTTP/1.")) > maxInform || len(sent) > maxHead {
			return // each bounds what comes before the answer in its own way
		}
		read := func(make func(*http.Transport) http.RoundTripper) string {
			rest := pipes(func(conn net.Conn) {
				defer func() { _ = conn.Close() }()
				if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, _ = io.Copy(io.Discard, req.Body)
					_, _ = conn.Write(sent)
				}
			})
			transport := make(rest)
			defer rest.CloseIdleConnections()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			wrote := false
			ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo) { wrote = i.Err == nil }})
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://x:1/run", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := transport.RoundTrip(req)
			if err != nil {
				return fmt.Sprint("failed, sent ", wrote)
			}
			defer func() { _ = resp.Body.Close() }()
			if resp.StatusCode == http.StatusSwitchingProtocols {
				return "101"
			}
			body, err := io.ReadAll(resp.Body)
			return fmt.Sprintf("%d %q failed %v, sent %v", resp.StatusCode, body, err != nil, wrote)
		}
		plain := read(func(t *http.Transport) http.RoundTripper { return newPlainTransport(t) })
		if std := read(func(t *http.Transport) http.RoundTripper { return t }); plain != std {
			t.Errorf("%q\nhere:     %s\nnet/http: %s", sent, plain, std)
		}
	})
}
