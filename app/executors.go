package app

import (
	"context"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/executor/wire"
)

// executors calls executors with the token that they know. While a token is being rotated that may be the one before, so an
// executor that finds the token wrong is tried with the other, once.
type executors struct {
	*wire.ExecutorClient
	tokens *auth.Tokens
}

// try calls with one token after another until one is not refused for it.
func (x executors) try(to wire.Target, call func(wire.Target) (wire.Answer, error)) (wire.Answer, error) {
	var answer wire.Answer
	var err error
	for _, token := range x.tokens.Try(to.AppName, to.Address) {
		to.Token = token
		if answer, err = call(to); err != nil || !answer.WrongToken() {
			if err == nil {
				x.tokens.Showed(to.Address, token)
			}
			break
		}
	}
	return answer, err
}

func (x executors) Beat(ctx context.Context, to wire.Target) (wire.Answer, error) {
	return x.try(to, func(to wire.Target) (wire.Answer, error) { return x.ExecutorClient.Beat(ctx, to) })
}

func (x executors) IdleBeat(ctx context.Context, to wire.Target, req wire.IdleBeatRequest) (wire.Answer, error) {
	return x.try(to, func(to wire.Target) (wire.Answer, error) { return x.ExecutorClient.IdleBeat(ctx, to, req) })
}

func (x executors) Run(ctx context.Context, to wire.Target, req *wire.RunRequest) (wire.Answer, error) {
	return x.try(to, func(to wire.Target) (wire.Answer, error) { return x.ExecutorClient.Run(ctx, to, req) })
}

func (x executors) Kill(ctx context.Context, to wire.Target, req wire.KillRequest) (wire.Answer, error) {
	return x.try(to, func(to wire.Target) (wire.Answer, error) { return x.ExecutorClient.Kill(ctx, to, req) })
}

func (x executors) Log(ctx context.Context, to wire.Target, req wire.LogRequest) (log wire.LogResult, answer wire.Answer, err error) {
	answer, err = x.try(to, func(to wire.Target) (wire.Answer, error) {
		var a wire.Answer
		var e error
		log, a, e = x.ExecutorClient.Log(ctx, to, req)
		return a, e
	})
	return log, answer, err
}
