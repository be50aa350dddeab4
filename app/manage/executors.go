package manage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
)

// SetAddressDisabled takes an address of a group out of rotation, or back in. Runs that are there go on. Only what the group
// lists can be named: nothing else is anybody's to decide about here.
func (s *Groups) SetAddressDisabled(ctx context.Context, p auth.Principal, id int64, address string, disabled bool) error {
	if err := requireAdmin(p); err != nil {
		return err
	}
	listed := slices.ContainsFunc(s.cfg.Engine.Addresses(id), func(a scheduler.AddressState) bool { return a.Address == address })
	if !listed {
		return problem.New(problem.NotFound, "problem.address.gone")
	}
	return s.cfg.Pool.Together(ctx, func(ctx context.Context) error {
		if err := s.cfg.Engine.SetAddressDisabled(ctx, id, address, disabled); err != nil {
			return err
		}
		return s.audit.Record(ctx, s.cfg.Pool, p, Entry{Action: ActionUpdate, Kind: ObjectGroup, ID: id, Name: address, Before: Snapshot{"disabled": !disabled}, After: Snapshot{"disabled": disabled}})
	})
}

// TokenKeeper is what the use cases need of the access tokens; [auth.Tokens] is the real one.
type TokenKeeper interface {
	State(appName string) auth.TokenState
	Rotate(ctx context.Context, appName string, grace time.Duration) (string, error)
	Drop(ctx context.Context, appName string) error
}

// noTokens stands in where nobody looks after tokens.
type noTokens struct{}

func (noTokens) State(string) auth.TokenState { return auth.TokenState{} }
func (noTokens) Rotate(context.Context, string, time.Duration) (string, error) {
	return "", auth.ErrTokenFixed
}
func (noTokens) Drop(context.Context, string) error { return nil }

// Tokens are the use cases of the access tokens that admins and executors show each other. Only administrators see them:
// whoever has one can register an executor and is sent scripts.
type Tokens struct {
	cfg    Config
	groups *Groups
	audit  *Audit
}

// MaxTokenGrace bounds how long a token may work after it was replaced.
const MaxTokenGrace = 30 * 24 * time.Hour

// TokenGrace is the name of the only field.
const TokenGrace = "grace"

// appName is that of a group, "" for group 0: the installation's token.
func (s *Tokens) appName(ctx context.Context, p auth.Principal, groupID int64) (string, error) {
	if err := requireAdmin(p); err != nil || groupID == 0 {
		return "", err
	}
	g, err := s.groups.Get(ctx, p, groupID)
	return g.AppName, err
}

// State tells about a group's token, or with group 0 about the installation's.
func (s *Tokens) State(ctx context.Context, p auth.Principal, groupID int64) (auth.TokenState, error) {
	appName, err := s.appName(ctx, p, groupID)
	if err != nil {
		return auth.TokenState{}, err
	}
	return s.cfg.Tokens.State(appName), nil
}

// Show is State for somebody who sees the token itself, which is on record before they do.
func (s *Tokens) Show(ctx context.Context, p auth.Principal, groupID int64) (auth.TokenState, error) {
	appName, err := s.appName(ctx, p, groupID)
	if err != nil {
		return auth.TokenState{}, err
	}
	state := s.cfg.Tokens.State(appName)
	entry := Entry{Action: ActionShow, Kind: ObjectToken, ID: groupID, Name: appName}
	if !state.Own {
		entry.ID, entry.Name = 0, "" // the group's page shows the installation's
	}
	return state, s.audit.Record(ctx, s.cfg.Pool, p, entry)
}

// Rotate makes a new token for a group, its own from now on, or with group 0 for the installation. The one before works for
// as long as grace says, so that executors can be given the new one in peace.
func (s *Tokens) Rotate(ctx context.Context, p auth.Principal, groupID int64, grace time.Duration) error {
	if err := requireAdmin(p); err != nil {
		return err
	}
	if grace < 0 || grace > MaxTokenGrace {
		return problem.InvalidFields(problem.Field{Name: TokenGrace, Key: "job.error.out_of_range", Args: []any{"Min", 0, "Max", int(MaxTokenGrace / time.Hour)}})
	}
	err := s.cfg.Pool.Together(ctx, func(ctx context.Context) error {
		if groupID != 0 { // it stays, with the app name that it has, until the token is there: whoever deletes it drops that
			if _, err := s.groups.queries.HoldGroup(ctx, s.cfg.Pool, groupID); err != nil {
				return fmt.Errorf("hold group: %w", db.Error(err))
			}
		}
		appName, err := s.appName(ctx, p, groupID)
		if err != nil {
			return err
		}
		if _, err := s.cfg.Tokens.Rotate(ctx, appName, grace); err != nil {
			return err
		}
		return s.audit.Record(ctx, s.cfg.Pool, p, Entry{Action: ActionRotate, Kind: ObjectToken, ID: groupID, Name: appName, After: Snapshot{"grace": grace.String()}})
	})
	if errors.Is(err, auth.ErrTokenFixed) {
		return problem.New(problem.Conflict, "problem.token.fixed").Because(err)
	}
	return err
}

// Drop takes a group's own token away, at once: the installation's counts for it again.
func (s *Tokens) Drop(ctx context.Context, p auth.Principal, groupID int64) error {
	appName, err := s.appName(ctx, p, groupID)
	if err != nil {
		return err
	}
	if appName == "" || !s.cfg.Tokens.State(appName).Own {
		return problem.New(problem.Conflict, "problem.token.common")
	}
	return s.cfg.Pool.Together(ctx, func(ctx context.Context) error {
		if err := s.cfg.Tokens.Drop(ctx, appName); err != nil {
			return err
		}
		return s.audit.Record(ctx, s.cfg.Pool, p, Entry{Action: ActionDelete, Kind: ObjectToken, ID: groupID, Name: appName})
	})
}
