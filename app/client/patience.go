package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	// awayFor is how long an admin may be away while a command waits: longer than one takes to start again, or than another takes to stand in.
	awayFor = 2 * time.Minute
	// awayEvery is how long one that is away is left alone.
	awayEvery = 2 * time.Second
	// waitFor is how long the admin is asked to wait for the end of a run before it answers; of which a proxy in front of it may allow less.
	waitFor = 50 * time.Second
)

// patience is what a command that waits has with an admin that goes away meanwhile. It is for one goroutine.
type patience struct {
	say     io.Writer     // where the reader is told of it
	reached bool          // the admin has answered before; until then its address may be wrong
	since   time.Time     // it is away; zero while it answers
	wait    time.Duration // for how long to have it wait
}

// patient is an api for a command that waits: what only reads, and what is posted with a key, is asked again while the admin is away.
func (a *api) patient(say io.Writer, reached bool) *api {
	p := *a
	p.away = &patience{say: say, reached: reached, wait: waitFor}
	return &p
}

// reach calls until there is an answer, or until there was none for [awayFor].
func (p *patience) reach(ctx context.Context, call func() error) error {
	for {
		err := call()
		if !isAway(err) {
			p.reached, p.since = true, time.Time{}
			return err
		}
		if away, ok := errors.AsType[*awayError](err); !ok || away.there {
			p.reached = true
		}
		if !p.reached || ctx.Err() != nil || !p.since.IsZero() && time.Since(p.since) >= awayFor { // the time of who waits is over, or that of the admin
			return err
		}
		if p.since.IsZero() {
			p.since = time.Now()
			fmt.Fprintf(p.say, "%v; asking again for %s\n", err, awayFor)
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return errInterrupted
			}
			return err
		case <-time.After(awayEvery):
		}
	}
}

// awayError means that no admin has answered.
type awayError struct {
	err   error
	there bool // somebody listens at the address
	cut   bool // and did not wait for the admin
}

func (e *awayError) Error() string { return e.err.Error() }

// Unwrap is what is behind it.
func (e *awayError) Unwrap() error { return e.err }

// wasThere reports whether a call that has no answer had somebody at the other end.
func wasThere(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op != "dial" || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// isCut reports whether something between the program and the admin may have waited less long for an answer than the admin was asked to wait.
func isCut(err error) bool {
	away, ok := errors.AsType[*awayError](err)
	return ok && away.cut
}

// isAway reports whether an error is over when the admin is back, or when it has done what it was asked before.
func isAway(err error) bool {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return refused.Status == http.StatusServiceUnavailable || refused.Status == http.StatusTooManyRequests || refused.Code == onceRunning // 502 tells of an executor
	}
	_, ok := errors.AsType[*awayError](err)
	return ok
}

// untold is why a command does not know how something ended that it waited for, and what tells later.
func untold(err error, what, tells string) error {
	if refused, ok := errors.AsType[*RefusedError](err); ok && refused.Status == http.StatusNotFound {
		return &ExitError{codeUnknown, fmt.Errorf("%w; %s was deleted meanwhile, or the token does not see it any more: how it ended is not known here", err, what)}
	}
	return &ExitError{codeUnknown, fmt.Errorf("%w; %s goes on, and how it ends is not known here: %s tells", err, what, tells)}
}

// unanswered gives the error of a command that waits its code when no admin has answered.
func unanswered(err error) error {
	if isAway(err) {
		return &ExitError{codeUnknown, err}
	}
	return err
}
