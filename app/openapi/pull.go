package openapi

import (
	"context"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/pull"
)

// Pulls brings calls to executors that ask for them.
type Pulls interface {
	Pull(ctx context.Context, req wire.PullRequest) (wire.PullResponse, error)
}

// The answers to pulls that are refused.
const (
	msgPullOther   = "Another executor of this name asks for its calls already: give each a name of its own."
	msgPullCopy    = "Another executor with a copy of this one's data folder asks for its calls: give each a folder of its own."
	msgPullMany    = "Too many executors ask for their calls at this admin."
	msgPullStopped = "This admin is stopping."
	msgPullNoCall  = "An answer is to no call that an admin has made for this executor."
	msgPullFull    = "Too many answers of this executor wait for the admins that asked. Try again."
)

// pull hands over the calls that wait for an executor, when there are some or its time is up.
func (a *API) pull(ctx context.Context, body []byte, who caller) ([]byte, error) {
	req, err := wire.DecodePull(body)
	if err != nil {
		return nil, refusal(msgInvoke + printable(err.Error()))
	}
	if utf8.RuneCountInString(req.RegistryKey) > maxRegistryText || !plain(req.RegistryKey) {
		return nil, refusal(msgIllegal + " The registryKey is too long or has odd characters.")
	}
	if !a.Tokens.Speaks(who.scope, who.token, req.RegistryKey) {
		a.Engine.Refused(scheduler.Caller{Address: who.address, AppName: req.RegistryKey}, scheduler.RefusedToken, nil)
		return nil, refusal(msgToken)
	}
	response, err := a.Pulls.Pull(ctx, req)
	by := scheduler.Caller{Address: who.address, AppName: req.RegistryKey, Executor: req.RegistryValue}
	switch {
	case errors.Is(err, pull.ErrBetween): // the other one is perhaps what this one was before
	case errors.Is(err, pull.ErrOther):
		a.Engine.Refused(by, scheduler.RefusedName, nil)
	case errors.Is(err, pull.ErrCopy):
		a.Engine.Refused(by, scheduler.RefusedCopy, nil)
	}
	return pulled(response, err)
}

// pulled is the data of an answer to a pull.
func pulled(response wire.PullResponse, err error) ([]byte, error) {
	switch {
	case errors.Is(err, pull.ErrOther):
		return nil, nameTaken(msgPullOther)
	case errors.Is(err, pull.ErrCopy):
		return nil, nameTaken(msgPullCopy)
	case errors.Is(err, pull.ErrTooMany):
		return nil, refusal(msgPullMany)
	case errors.Is(err, pull.ErrFull):
		return nil, refusal(msgPullFull)
	case errors.Is(err, pull.ErrNoCall):
		return nil, refusal(msgPullNoCall)
	case errors.Is(err, pull.ErrClosed), errors.Is(err, context.Canceled):
		return nil, refusal(msgPullStopped)
	case err != nil:
		return nil, err
	}
	return json.Marshal(response)
}
