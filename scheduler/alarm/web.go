package alarm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/punctual-job/punctual/scheduler/webclient"
)

// maxAnswer is how much of a webhook's answer is read.
const maxAnswer = 8 << 10

// errPrivate refuses an address inside when [Config.DenyPrivate] is set.
var errPrivate = troubled(hookPrivate)

// webCall is what a kind of webhook posts, and how it reads the answer.
type webCall struct {
	url    string
	body   []byte
	header map[string]string
	check  func(body []byte) error // of an answer with status 2xx; nil: that is enough
	// answer reads answers of every status but redirects, for services that say in the same words why they refuse.
	answer func(status int, body []byte) error
	next   *webCall // posted once this one was taken
}

// sendWeb posts a message to a webhook.
func (a *Alarmer) sendWeb(ctx context.Context, c *channel, m *message) error {
	kind, _ := c.kind().Info()
	if kind.call == nil {
		return fmt.Errorf("unknown kind of channel %q", c.row.Kind)
	}
	call, err := kind.call(&c.settings, m, a.cfg.Now())
	if err != nil {
		return err
	}
	for ; call != nil; call = call.next {
		if err := a.post(ctx, call); err != nil {
			return err
		}
	}
	return nil
}

func (a *Alarmer) post(ctx context.Context, call *webCall) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, call.url, bytes.NewReader(call.body))
	if err != nil {
		return troubled(hookAddress) // the library's text repeats the address
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return troubled(hookScheme)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("User-Agent", "Punctual")
	for name, value := range call.header {
		req.Header.Set(name, value)
	}
	res, err := a.web.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the address, which is secret
		}
		return callTrouble(ctx, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return troubled(hookRedirects, res.StatusCode)
	case call.answer != nil && err == nil:
		return call.answer(res.StatusCode, body)
	case res.StatusCode < 200 || res.StatusCode >= 300:
		err := httpAnswered(res.StatusCode, body)
		if wait := webclient.RetryAfter(res, a.cfg.Now()); wait > 0 {
			return &busyError{error: err, wait: wait}
		}
		return err
	case err != nil:
		return broken(ctx, hookRead, err)
	case call.check != nil:
		return call.check(body)
	}
	return nil
}

// httpAnswered is an answer that says no by its status.
func httpAnswered(status int, body []byte) error {
	if text := excerpt(body); text != "" {
		return troubled(hookAnswered, status, text)
	}
	return troubled(hookSilent, status)
}

// callTrouble is why a webhook could not be called.
func callTrouble(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, webclient.ErrPrivate):
		return errPrivate
	case speaksPlain(err):
		return &troubleError{reason: reason(hookPlain, err), err: err}
	}
	return broken(ctx, hookCall, err)
}

// busyError is an answer that says when to come again.
type busyError struct {
	error
	wait time.Duration
}

func (e *busyError) Unwrap() error { return e.error }

// excerpt is the beginning of an answer, on one line.
func excerpt(body []byte) string { return clip(line(strings.ToValidUTF8(string(body), "?")), 200) }
