package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/executor/wire"
)

const (
	defaultCallTimeout = 3 * time.Second // upstream's
	maxShownBody       = 64 << 10
	maxRedirects       = 5

	awaitFor   = time.Minute
	awaitAgain = time.Second
)

// HTTPCalls makes the calls that parameters describe, and keeps the answers as output.
type HTTPCalls struct {
	// Rule says which addresses may be called, at the moment of the call.
	Rule func() AddressRule
	// Inside are hosts that stand for a handler of this process.
	Inside map[string]http.Handler
	// Later keeps runs open whose target reports their end; nil: asynchronous calls cannot be made.
	Later Later
}

// Later is what an asynchronous call needs of its admin.
type Later interface {
	// HandOut makes the address under which the target of a run reports, once.
	HandOut(ctx context.Context, run *executor.Run) (address string, err error)
	// Await notes that the target took the work.
	Await(ctx context.Context, run *executor.Run) error
}

// Handler is the job handler.
func (c HTTPCalls) Handler() executor.Handler { return c.run }

// run calls a URL and logs the answer. It goes to addresses the rule permits, directly: a proxy would resolve names by itself, and the
// rule would mean nothing.
func (c HTTPCalls) run(ctx context.Context, run *executor.Run) error {
	call, err := httpcall.Parse(run.Param)
	if err != nil {
		return err
	}
	timeout := defaultCallTimeout
	if call.Timeout > 0 {
		timeout = min(time.Duration(call.Timeout)*time.Millisecond, httpcall.MaxTimeout)
	}
	whole := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %v", timeout))
	defer cancel()
	req, err := call.Request(ctx)
	if err != nil {
		return err
	}
	if run.TraceParent != "" && req.Header.Get(wire.HeaderTraceParent) == "" {
		req.Header.Set(wire.HeaderTraceParent, run.TraceParent)
	}
	secret := ""
	if call.Async {
		if secret, err = c.handOut(ctx, run); err != nil {
			return err
		}
		req.Header.Set(httpcall.CallbackHeader, secret)
	}
	client := &http.Client{Transport: c.transport(req.URL.Hostname()), CheckRedirect: checkRedirect(&call)}
	resp, err := client.Do(req)
	if err != nil {
		return callError(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, broken := io.ReadAll(io.LimitReader(resp.Body, maxShownBody+1))
	shown, more := body, "" // also what came before it broke off
	if len(body) > maxShownBody {
		shown, more = body[:maxShownBody], "… (cut)"
	}
	text := strings.ToValidUTF8(string(shown), "\uFFFD")
	if secret != "" { // whoever reads the output is not to end the run
		text = strings.ReplaceAll(text, secret, "***")
		text = strings.ReplaceAll(text, secret[strings.LastIndexByte(secret, '/')+1:], "***")
	}
	run.Logf("%s %s: %s\n%s%s", req.Method, resp.Request.URL.Redacted(), resp.Status, text, more)
	if broken != nil {
		return fmt.Errorf("read answer: %w", callError(ctx, broken))
	}
	later := call.Async && resp.StatusCode == http.StatusAccepted
	if !later && !call.Expected.Holds(resp.StatusCode) {
		return fmt.Errorf("HTTP status %s, expected %s", resp.Status, call.Expected)
	}
	if call.Text != "" && !strings.Contains(string(shown), call.Text) {
		return fmt.Errorf("HTTP status %s, but the answer lacks the expected text %q", resp.Status, call.Text)
	}
	if later {
		return c.await(whole, run)
	}
	run.SetResult("HTTP status " + resp.Status)
	return nil
}

func (c HTTPCalls) handOut(ctx context.Context, run *executor.Run) (string, error) {
	if c.Later == nil {
		return "", errors.New("asynchronous calls are made by the admin itself: the job belongs into the group of HTTP jobs")
	}
	return c.Later.HandOut(ctx, run)
}

// await leaves the run to its target. A database that is away for a moment must not undo what the target has begun.
func (c HTTPCalls) await(ctx context.Context, run *executor.Run) error {
	ctx, cancel := context.WithTimeout(ctx, awaitFor)
	defer cancel()
	for {
		err := c.Later.Await(ctx, run)
		if err == nil {
			return executor.ErrLater
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the target took the work, which could not be noted: %w", err)
		case <-time.After(awaitAgain):
		}
	}
}

func (c HTTPCalls) transport(host string) http.RoundTripper {
	if inside, ok := c.Inside[strings.ToLower(host)]; ok {
		return wire.HandlerTransport{Handler: inside}
	}
	return &http.Transport{DialContext: c.Rule().dial, DisableKeepAlives: true, MaxResponseHeaderBytes: 256 << 10}
}

// callError says why a call ended: what its context knows is better than "deadline exceeded".
func callError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		return cause
	}
	return err
}

// checkRedirect follows a redirect unless its status is one that was expected. Every address on the way must be
// permitted, which the dialer sees to. What is secret does not go to another host: not the headers, not a body, and not the address that was
// called, which may have a key in it.
func checkRedirect(c *httpcall.Call) func(req *http.Request, via []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		first := via[0]
		switch {
		case c.Expected.Names(req.Response.StatusCode):
			return http.ErrUseLastResponse
		case len(via) > maxRedirects:
			return fmt.Errorf("more than %d redirects", maxRedirects)
		case req.URL.Scheme != "http" && req.URL.Scheme != "https":
			return fmt.Errorf("redirect to %s, which is not an http or https address", req.URL.Redacted())
		case first.URL.Scheme == "https" && req.URL.Scheme == "http":
			return fmt.Errorf("redirect from https to %s", req.URL.Redacted())
		case req.URL.Host == first.URL.Host:
			return nil
		case req.ContentLength != 0: // 307 and 308 send the body again
			return fmt.Errorf("redirect of a body to another host, %s", req.URL.Redacted())
		}
		for _, name := range []string{"Authorization", "Cookie", "Content-Type", "Referer", httpcall.CallbackHeader} {
			req.Header.Del(name)
		}
		for name := range c.Headers {
			req.Header.Del(name)
		}
		return nil
	}
}
