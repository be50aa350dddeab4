package app

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
)

// executors calls executors with the token that they know. While a token is being rotated that may be its predecessor or its
// successor, so an executor that refuses the one is tried with the other, where [auth.Tokens.Send] gives one. None is called while the database
// is held.
type executors struct {
	*wire.ExecutorClient
	pulls   *wire.ExecutorClient // of those that ask for their calls
	http    *httpJobs
	sample  *atomic.Pointer[sampleAt]
	tokens  *auth.Tokens
	foreign *foreign
	held    func() bool
}

// of is the client for an executor: what is in this process is called there, and what cannot be called finds its calls in the mailbox.
func (x executors) of(to wire.Target) *wire.ExecutorClient {
	if x.http.is(to.Address) {
		return x.http.client
	}
	if wire.Pulls(to.Address) {
		return x.pulls
	}
	return x.ExecutorClient
}

func (x executors) try(to wire.Target, call func(wire.Target) (wire.Answer, error)) (wire.Answer, error) {
	if x.held() {
		return wire.Answer{}, &wire.CallError{Stage: wire.StageDial, Err: scheduler.ErrHeld}
	}
	if at := x.sample.Load(); at != nil && at.address == to.Address && at.token != "" {
		to.Token = at.token
		return call(to)
	}
	answer, err := call(to)
	if err == nil && answer.WrongToken() && to.OtherToken != "" {
		to.Token = to.OtherToken
		answer, err = call(to)
	}
	if e, ok := errors.AsType[*wire.CallError](err); ok && e.Body != "" {
		x.foreign.note(to.Address, e)
	}
	if err == nil && !answer.WrongToken() {
		x.tokens.Worked(to.Address, to.Token)
	}
	return answer, err
}

// tokenFor is what the engine sends to an executor.
func tokenFor(tokens *auth.Tokens) func(scheduler.Bearer) (token, other string) {
	return func(b scheduler.Bearer) (token, other string) { return tokens.Send(auth.Bearer(b)) }
}

func (x executors) Beat(ctx context.Context, to wire.Target) (wire.Answer, error) {
	return x.try(to, func(to wire.Target) (wire.Answer, error) { return x.of(to).Beat(ctx, to) })
}

func (x executors) IdleBeat(ctx context.Context, to wire.Target, req wire.IdleBeatRequest) (wire.Answer, error) {
	return x.try(to, func(to wire.Target) (wire.Answer, error) { return x.of(to).IdleBeat(ctx, to, req) })
}

func (x executors) Takes(to wire.Target) bool { return x.of(to).Takes(to) }

// RunAll asks for runs. Those of them that are refused with the one token are asked for with the other.
func (x executors) RunAll(ctx context.Context, to wire.Target, reqs []*wire.RunRequest) []wire.Told {
	told := make([]wire.Told, len(reqs))
	left := make([]int, len(reqs)) // what is not told yet, or refused
	for i := range left {
		left[i] = i
	}
	answer, err := x.try(to, func(to wire.Target) (wire.Answer, error) {
		asked := make([]*wire.RunRequest, len(left))
		for i, n := range left {
			asked[i] = reqs[n]
		}
		for i, t := range x.of(to).RunAll(ctx, to, asked) {
			told[left[i]] = t
		}
		first := told[left[0]]
		left = slices.DeleteFunc(left, func(n int) bool { return told[n].Err != nil || !told[n].Answer.WrongToken() })
		if len(left) > 0 {
			first = told[left[0]]
		}
		return first.Answer, first.Err
	})
	if len(left) == len(reqs) { // none was asked for, or all are refused
		for i := range told {
			told[i] = wire.Told{Answer: answer, Err: err}
		}
	}
	return told
}

func (x executors) Kill(ctx context.Context, to wire.Target, req wire.KillRequest) (wire.Answer, error) {
	return x.try(to, func(to wire.Target) (wire.Answer, error) { return x.of(to).Kill(ctx, to, req) })
}

func (x executors) Log(ctx context.Context, to wire.Target, req wire.LogRequest) (log wire.LogResult, answer wire.Answer, err error) {
	answer, err = x.try(to, func(to wire.Target) (wire.Answer, error) {
		var a wire.Answer
		var e error
		log, a, e = x.of(to).Log(ctx, to, req)
		return a, e
	})
	return log, answer, err
}
