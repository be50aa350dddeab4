package executor

import (
	"crypto/subtle"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/punctual-job/punctual/executor/guard"
)

// token is the secret shared with the admins. Where it stands in a file, another one there counts without a restart: admins are shown it from
// the first registration on that one of them takes with it, and may show either.
type token struct {
	file   string // empty: it does not change
	logger *slog.Logger

	mu     sync.Mutex
	shown  string    // to admins
	next   string    // what the file says, which no admin has taken yet; empty: what is shown
	before string    // what was shown before
	until  time.Time // as long as an admin that has not heard may show that
	looked time.Time // at the file
	fault  string    // why it could not be read, as it was logged
}

const (
	// tokenAge is how long a file counts without a look at it, where somebody shows another token.
	tokenAge = time.Second
	// tokenGrace is how long admins may show the token before: the others read within seconds which one was shown to one of them.
	tokenGrace = 2 * time.Minute
)

func newToken(config Config) (*token, error) {
	if config.TokenFile == "" {
		return &token{shown: config.Token, logger: config.Logger}, nil
	}
	shown, err := guard.Secret(config.Token, config.TokenFile)
	return &token{shown: shown, file: config.TokenFile, logger: config.Logger, looked: time.Now()}, err
}

// show is what admins are shown.
func (t *token) show() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.shown
}

// any says whether callers must know one.
func (t *token) any() bool { return t.show() != "" }

// takes says whether an admin may call with a token. All are compared in constant time.
func (t *token) takes(given string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shown == "" || same(given, t.shown) {
		return true
	}
	now := time.Now()
	if now.Sub(t.looked) >= tokenAge {
		t.look(now)
	}
	return t.next != "" && same(given, t.next) || now.Before(t.until) && same(given, t.before)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// renewed is what the file says now, where that is not what admins are shown; empty: it is.
func (t *token) renewed() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.look(time.Now())
	return t.next
}

// look reads the file. One that cannot be read, or is being written, leaves all as it is.
func (t *token) look(now time.Time) {
	if t.file == "" {
		return
	}
	t.looked = now
	text, err := guard.Secret("", t.file)
	switch {
	case err == nil && text == t.shown:
		t.next, t.fault = "", ""
	case err == nil:
		t.next, t.fault = text, ""
	case err.Error() != t.fault:
		t.fault = err.Error()
		t.logger.Warn("the access token cannot be read again; the one before counts", "error", err)
	}
}

// took says that an admin has taken the new one.
func (t *token) took(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.before, t.until = t.shown, time.Now().Add(tokenGrace)
	t.shown, t.next = text, ""
}

// checkToken says what is wrong with how the token is given.
func (c Config) checkToken() error {
	switch {
	case c.Token != "" && c.TokenFile != "":
		return errors.New("there is an access token and a file with one: choose one")
	case c.Token == "" && c.TokenFile == "" && c.GlueEnabled && !c.InsecureNoToken && c.Mode != Pull:
		return errors.New("scripts are enabled but the access token is empty: everybody who reaches the port could run code")
	}
	return nil
}
