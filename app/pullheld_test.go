package app

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

func pullText(token, name string, wait int, early bool) string {
	body := fmt.Sprintf(`{"registryKey":"orders","registryValue":"pull://held","instance":"a.1","pull":%q,"max":1,"wait":%d,"early":%v}`, name, wait, early)
	return fmt.Sprintf("POST /api/pull HTTP/1.1\r\nHost: admin\r\n%s: %s\r\nContent-Length: %d\r\n\r\n%s", wire.HeaderToken, token, len(body), body)
}

// pullsOpen is how many pulls wait, as the metrics tell.
func pullsOpen(t *testing.T, a *App) (n float64) {
	t.Helper()
	families, err := a.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "punctual_pulls_open" {
			n = f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return n
}

// TestAPullThatWaitsHasItsConnectionAlone: the server, which would keep a stack and buffers for it, has no part in it any more. What
// follows on the connection is served as ever, also what was sent before the answer, and who goes is seen to go.
func TestAPullThatWaitsHasItsConnectionAlone(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %t", secure), func(t *testing.T) {
			t.Parallel()
			o := testOptions(t)
			trust := &tls.Config{NextProtos: []string{"http/1.1"}}
			if secure {
				o.TLSCert, o.TLSKey, trust.RootCAs = certificate(t)
			}
			a, orders, _, _ := programs(t, o)
			conn, err := net.Dial("tcp", a.listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if secure {
				trust.ServerName = "127.0.0.1"
				conn = tls.Client(conn, trust)
			}
			t.Cleanup(func() { _ = conn.Close() })
			answers := bufio.NewReader(conn)
			say := func(text string) {
				t.Helper()
				if _, err := io.WriteString(conn, text); err != nil {
					t.Fatal(err)
				}
			}
			heard := func() (string, *http.Response) {
				t.Helper()
				r, err := http.ReadResponse(answers, nil)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(r.Body)
				if err != nil || r.StatusCode != http.StatusOK {
					t.Fatalf("%s %q, %v", r.Status, text, err)
				}
				return string(text), r
			}
			const next = "GET /healthz HTTP/1.1\r\nHost: admin\r\n\r\n"
			taken, want := a.back.given.Load(), int64(4)
			for i, early := range []bool{true, false, true, false} {
				wait := 600
				ask := func() { say(pullText(orders.token, fmt.Sprintf("a.1.%d.%d", i, wait), wait, early)) }
				waits := func() bool {
					return executortest.Within(t.Context(), time.Duration(wait)*time.Millisecond, func() error {
						if n := pullsOpen(t, a); n != 1 {
							return fmt.Errorf("%.0f wait", n)
						}
						return nil
					}) == nil
				}
				if ask(); i > 1 {
					for !waits() { // a busy machine did not see it before it had its answer
						if wait > 60_000 {
							t.Fatal("it never waits")
						}
						heard()
						want, wait = want+1, 2*wait
						ask()
					}
					say("\r\n" + next) // before there is an answer
				}
				text, r := heard()
				answer, err := wire.DecodeAnswer([]byte(text))
				if err != nil || !answer.OK() || strings.HasPrefix(text, " ") != early || (r.ContentLength < 0) != early {
					t.Errorf("early %t: %q, %v; %v", early, text, err, r.Header)
				}
				if r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("Date") == "" || r.Header.Get("X-Content-Type-Options") == "" {
					t.Errorf("headers %v", r.Header)
				}
				if i <= 1 {
					say(next)
				}
				if text, _ := heard(); text != "ok\n" {
					t.Errorf("what follows is %q", text)
				}
			}
			if n := a.back.given.Load() - taken; n != want {
				t.Errorf("%d connections came back, want %d", n, want)
			}
			say(pullText(orders.token, "a.1.9", 25_000, true))
			if _, err := answers.ReadString('\n'); err != nil { // the answer has begun, so that the connection is taken
				t.Fatal(err)
			}
			_ = conn.Close()
			executortest.Eventually(t, "it is not waited for", func() error {
				if n := pullsOpen(t, a); n != 0 {
					return fmt.Errorf("%.0f wait", n)
				}
				return nil
			})
		})
	}
}

// TestPullsThatWaitAreAnsweredAtTheEnd of an admin that stops, not cut off, and connections on which nothing goes on are not waited for.
func TestPullsThatWaitAreAnsweredAtTheEnd(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	log := new(executortest.Output)
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	a, orders, _, _ := programs(t, o)
	ask := func(name string, wait int) (*bufio.Reader, func() error) {
		t.Helper()
		conn, err := net.Dial("tcp", a.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := io.WriteString(conn, pullText(orders.token, name, wait, true)); err != nil {
			t.Fatal(err)
		}
		answers := bufio.NewReader(conn)
		if _, err := answers.Peek(1); err != nil {
			t.Fatal(err)
		}
		return answers, func() error {
			r, err := http.ReadResponse(answers, nil)
			if err != nil {
				return err
			}
			text, err := io.ReadAll(r.Body)
			if answer, bad := wire.DecodeAnswer(text); err != nil || bad != nil || !answer.OK() {
				return fmt.Errorf("%q, %w, %w", text, err, bad)
			}
			return nil
		}
	}
	ended, answer := ask("a.1.1", 300)
	if err := answer(); err != nil {
		t.Fatal(err)
	}
	executortest.Eventually(t, "the connection is the server's again", func() error {
		if n := a.back.given.Load(); n != 1 {
			return fmt.Errorf("%d came back", n)
		}
		return nil
	})
	waiting, last := ask("a.1.2", 25_000)
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := last(); err != nil {
		t.Error(err)
	}
	for what, answers := range map[string]*bufio.Reader{"that ended": ended, "that waited": waiting} {
		if _, err := answers.ReadByte(); err != io.EOF {
			t.Errorf("the connection of the pull %s goes on: %v", what, err)
		}
	}
	if strings.Contains(log.String(), "cut off") {
		t.Errorf("the end is waited for in vain: %s", log)
	}
}
