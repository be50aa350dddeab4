package api

import (
	"context"
	"net/http"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
)

// newDevice is a program that asks.
type newDevice struct {
	Program string `json:"program" minLength:"1" maxLength:"40" doc:"What it is, as whoever lets it in shall read it."`
}

// deviceAsked is what the program shows, and what it goes on with.
type deviceAsked struct {
	DeviceCode string    `json:"device_code" doc:"With it the program fetches its token; nobody else may know it."`
	UserCode   string    `json:"user_code" doc:"What the program shows, and the page of the console too."`
	Path       string    `json:"verification_path" doc:"The page of the console on which somebody who is logged in lets it in, with the code. It stands under the address at which the program reached the admin."`
	ExpiresAt  time.Time `json:"expires_at"`
	Interval   int       `json:"interval" doc:"How many seconds to wait before each question."`
}

type deviceCode struct {
	Code string `json:"device_code" minLength:"1" maxLength:"128"`
}

type deviceAnswer struct {
	State manage.DeviceState `json:"state" enum:"waiting,approved,refused,expired"`
	Token string             `json:"token,omitempty" doc:"With approved. It is told this once, and kept nowhere."`
}

func (a *API) devices() {
	const tag = "tokens"
	add(a, op{method: http.MethodPost, path: "/device-logins", id: "beginDeviceLogin", tag: tag, summary: "Ask for a token that somebody logged in grants", status: http.StatusCreated, open: true,
		text: "Needs no token. The program shows the code and the address of the page; whoever opens it says what the token may. After RFC 8628."},
		func(ctx context.Context, p auth.Principal, in *struct{ Body newDevice }) (*struct{ Body deviceAsked }, error) {
			d, secret, err := a.Manage.Devices.Begin(ctx, p.Address, in.Body.Program)
			return &struct{ Body deviceAsked }{deviceAsked{DeviceCode: secret, UserCode: d.Code, Path: "/device?code=" + d.Code, ExpiresAt: d.ExpiresAt.UTC(),
				Interval: int(manage.DeviceLoginPause / time.Second)}}, err
		})
	add(a, op{method: http.MethodPost, path: "/device-logins/token", id: "takeDeviceLogin", tag: tag, summary: "Fetch the token that was asked for", also: []int{http.StatusNotFound}, open: true,
		text: "Needs no token. As long as nobody has said anything the state is waiting."},
		func(ctx context.Context, _ auth.Principal, in *struct{ Body deviceCode }) (*struct{ Body deviceAnswer }, error) {
			state, token, err := a.Manage.Devices.Take(ctx, in.Body.Code)
			return &struct{ Body deviceAnswer }{deviceAnswer{State: state, Token: token}}, err
		})
}
