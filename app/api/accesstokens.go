package api

import (
	"context"
	"net/http"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
)

// accessToken is what admins and executors show each other.
type accessToken struct {
	Token         string     `json:"token,omitempty" doc:"Only where show asks for it, and once it was rotated."`
	Own           bool       `json:"own" doc:"It is the group's own; otherwise the installation's counts for it."`
	Fixed         bool       `json:"fixed" doc:"A setting of the process, which is changed there."`
	PreviousUntil *time.Time `json:"previous_until" doc:"Until when the one before works too."`
	Handover      bool       `json:"handover" doc:"The one before is the installation's."`
}

// rotation is how an access token is replaced.
type rotation struct {
	Hours int `json:"grace_hours" minimum:"0" maximum:"720" doc:"How long the one before works too, so that executors can be given the new one."`
}

type accessTokenAnswer struct{ Body accessToken }

// ShowToken asks for an access token itself.
type ShowToken struct {
	Show bool `query:"show" doc:"Answer the token itself, which stands in the audit log."`
}

// rotationNames are what the fields of a rotation are called in JSON.
var rotationNames = map[string]string{manage.TokenGrace: "grace_hours"}

func (a *API) accessTokens() {
	const tag = "access tokens"
	const rotates = "It is answered with the new token. It takes no Idempotency-Key: a second rotation ends what the first one left to work."
	add(a, op{method: http.MethodGet, path: "/access-token", id: "getAccessToken", tag: tag, summary: "Get how the installation's access token stands"},
		func(ctx context.Context, p auth.Principal, in *ShowToken) (*accessTokenAnswer, error) {
			return a.accessToken(ctx, p, 0, in.Show)
		})
	add(a, op{method: http.MethodPost, path: "/access-token/rotate", id: "rotateAccessToken", tag: tag, summary: "Replace the installation's access token", text: rotates, names: rotationNames},
		func(ctx context.Context, p auth.Principal, in *struct{ Body rotation }) (*accessTokenAnswer, error) {
			return a.rotate(ctx, p, 0, in.Body)
		})
	add(a, op{method: http.MethodGet, path: "/groups/{id}/access-token", id: "getGroupAccessToken", tag: tag, summary: "Get how the access token of a group stands"},
		func(ctx context.Context, p auth.Principal, in *struct {
			GroupID
			ShowToken
		}) (*accessTokenAnswer, error) {
			return a.accessToken(ctx, p, in.ID, in.Show)
		})
	add(a, op{method: http.MethodPost, path: "/groups/{id}/access-token/rotate", id: "rotateGroupAccessToken", tag: tag, summary: "Give a group an access token of its own, or another one", text: rotates, names: rotationNames},
		func(ctx context.Context, p auth.Principal, in *struct {
			GroupID
			Body rotation
		}) (*accessTokenAnswer, error) {
			return a.rotate(ctx, p, in.ID, in.Body)
		})
	add(a, op{method: http.MethodDelete, path: "/groups/{id}/access-token", id: "dropGroupAccessToken", tag: tag, summary: "Take a group's own access token away", text: "At once: the installation's counts for it again.",
		status: http.StatusNoContent},
		func(ctx context.Context, p auth.Principal, in *GroupID) (*struct{}, error) {
			return nil, a.Manage.Tokens.Drop(ctx, p, in.ID)
		})
}

// accessToken is how a group's token stands, of group 0 the installation's.
func (a *API) accessToken(ctx context.Context, p auth.Principal, group int64, show bool) (*accessTokenAnswer, error) {
	look := a.Manage.Tokens.State
	if show {
		look = a.Manage.Tokens.Show
	}
	s, err := look(ctx, p, group)
	if err != nil {
		return nil, err
	}
	out := accessToken{Own: s.Own, Fixed: s.Fixed, PreviousUntil: moment(s.PreviousUntil), Handover: s.Handover}
	if show {
		out.Token = s.Token
	}
	return &accessTokenAnswer{out}, nil
}

func (a *API) rotate(ctx context.Context, p auth.Principal, group int64, in rotation) (*accessTokenAnswer, error) {
	if err := a.Manage.Tokens.Rotate(ctx, p, group, time.Duration(in.Hours)*time.Hour); err != nil {
		return nil, err
	}
	did(ctx)
	return a.accessToken(ctx, p, group, true)
}
