package api

import (
	"context"
	"net/http"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
)

// addressState is how an address of a group stands, as the admin that was asked sees it.
type addressState struct {
	Address  string                    `json:"address"`
	State    scheduler.AddressStanding `json:"state" enum:"online,late,offline,refusing,manual,suspect,tooold,disabled" doc:"All of what follows in a word, as the console shows it. manual: typed by hand and not watched. refusing: typed by hand, and somebody answers there, but not as an executor that takes our calls. late: a beat is missing."`
	Live     bool                      `json:"live" doc:"An executor registered there and is heard of."`
	Gone     bool                      `json:"gone" doc:"It died without a farewell, lately, and gets no runs."`
	Disabled bool                      `json:"disabled" doc:"Somebody took it out of rotation."`
	Suspect  bool                      `json:"suspect" doc:"Nobody listened there a moment ago."`
	TooOld   bool                      `json:"too_old" doc:"Its protocol is not spoken here, and it gets no runs."`
	InFlight int                       `json:"in_flight" doc:"Calls to it that are under way."`
	Queued   int                       `json:"queued" doc:"Runs that wait to be sent to it."`
	LastBeat *time.Time                `json:"last_beat_at"`
	Asked    *time.Time                `json:"asked_at" doc:"When an address that was typed by hand was asked last whether it is there; absent: it is not watched, or the answer is too old to count."`
	Silent   *time.Time                `json:"silent_since" doc:"Since when it does not answer as an executor does."`
	Fault    wire.Fault                `json:"fault" doc:"The kind of failure of the last question; empty when it answered."`
}

type rotationBody struct {
	Address  string `json:"address" minLength:"1" maxLength:"255" doc:"One of the group's addresses, as its list has it."`
	Disabled bool   `json:"disabled" doc:"Whether it is taken out of rotation."`
}

func (a *API) addresses() {
	const tag = "groups"
	add(a, op{method: http.MethodGet, path: "/groups/{id}/addresses", id: "listAddresses", tag: tag, summary: "List the addresses of a group, and how they stand"},
		func(ctx context.Context, p auth.Principal, in *GroupID) (*listOf[addressState], error) {
			return a.addressesOf(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodPost, path: "/groups/{id}/rotation", id: "setRotation", tag: tag, summary: "Take an address of a group out of rotation, or put it back"},
		func(ctx context.Context, p auth.Principal, in *struct {
			GroupID
			Body rotationBody
		}) (*listOf[addressState], error) {
			if err := a.Manage.Groups.SetAddressDisabled(ctx, p, in.ID, in.Body.Address, in.Body.Disabled); err != nil {
				return nil, err
			}
			did(ctx)
			return a.addressesOf(ctx, p, in.ID)
		})
}

func (a *API) addressesOf(ctx context.Context, p auth.Principal, id int64) (*listOf[addressState], error) {
	if _, err := a.Manage.Groups.Get(ctx, p, id); err != nil {
		return nil, err
	}
	return listed(a.Manage.Groups.Addresses(p, id), nil, func(s scheduler.AddressState) addressState { return readAddress(s, a.Now()) })
}

func readAddress(s scheduler.AddressState, now time.Time) addressState {
	return addressState{Address: s.Address, State: s.Standing(now), Live: s.Live, Gone: s.Gone, Disabled: s.Disabled, Suspect: s.Suspect, TooOld: s.TooOld, InFlight: s.InFlight, Queued: s.Queued, LastBeat: moment(s.LastBeat),
		Asked: moment(s.Asked), Silent: moment(s.SilentSince), Fault: s.Fault}
}
