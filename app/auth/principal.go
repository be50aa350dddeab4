package auth

import (
	"context"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/db"
)

// Roles as xxl_job_user.role has them (spec §3.7).
const (
	RoleUser  = 0
	RoleAdmin = 1
)

// Principal is somebody who is logged in, or a program that acts for them.
type Principal struct {
	UserID int64
	Name   string
	Admin  bool
	groups map[int64]struct{} // of a normal user
}

// NewPrincipal makes a principal out of a user's row. The permission is a list of group ids; what is none is left out,
// so that a damaged list never grants anything.
func NewPrincipal(userID int64, name string, role int64, permission db.Text) Principal {
	p := Principal{UserID: userID, Name: name, Admin: role == RoleAdmin, groups: make(map[int64]struct{})}
	for text := range strings.SplitSeq(string(permission), ",") {
		if id, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil && id > 0 {
			p.groups[id] = struct{}{}
		}
	}
	return p
}

// CanUseGroup says whether jobs and runs of a group are open to p.
func (p Principal) CanUseGroup(id int64) bool {
	if p.Admin {
		return true
	}
	_, ok := p.groups[id]
	return ok
}

// Groups are the groups of a normal user, in no order. For an administrator all is true and the list is empty.
func (p Principal) Groups() (ids []int64, all bool) {
	if p.Admin {
		return nil, true
	}
	for id := range p.groups {
		ids = append(ids, id)
	}
	return ids, false
}

// Zero says whether nobody is logged in.
func (p Principal) Zero() bool { return p.UserID == 0 }

type contextKey struct{}

// NewContext carries a principal along with a request.
func NewContext(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, contextKey{}, p)
}

// FromContext is the principal of a request, the zero one if nobody is logged in.
func FromContext(ctx context.Context) Principal {
	p, _ := ctx.Value(contextKey{}).(Principal)
	return p
}
