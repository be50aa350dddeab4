package openapi

import (
	"cmp"
	"context"
	"errors"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/archive"
)

// The answers to pushes of outputs that are refused.
const (
	msgOutputFull  = "This admin does not take outputs now: it asks for them later."
	msgOutputLarge = "The outputs are too large: push at most 16 MiB and 1000 runs at a time."
)

// pushesRead is how many pushes are unpacked at a time, each in up to [wire.MaxPushedText] of memory.
const pushesRead = 4

// output takes what runs wrote, which their executor pushes because the admin said with each that it wants it.
func (a *API) output(ctx context.Context, body []byte, who caller) error {
	var reader *wire.OutputReader
	select {
	case reader = <-a.pushes:
		defer func() { a.pushes <- reader }() // after the texts are somewhere else
	case <-ctx.Done():
		return refusal(msgOutputFull)
	}
	outputs, err := reader.Decode(body)
	switch {
	case errors.Is(err, wire.ErrPushTooLarge):
		return refusal(msgOutputLarge)
	case err != nil:
		return refusal(msgInvoke + printable(err.Error()))
	case len(outputs) == 0:
		return nil
	}
	by := scheduler.Caller{Address: who.address, AppName: cmp.Or(who.appName, who.scope), Scope: who.scope}
	err = a.Outputs.Take(ctx, by, func(appName string) bool { return a.Tokens.Speaks(who.scope, who.token, appName) }, outputs)
	switch {
	case errors.Is(err, archive.ErrFull):
		return refusal(msgOutputFull)
	case errors.Is(err, scheduler.ErrNotTheirs), errors.Is(err, scheduler.ErrNoGroup):
		return refusal(msgToken)
	}
	return err
}
