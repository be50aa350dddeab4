package auth

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/db"
)

// Roles as xxl_job_user.role has them (docs/compat.md §3.7). To XXL-JOB's admin an auditor is a user.
const (
	RoleUser    = 0
	RoleAdmin   = 1
	RoleAuditor = 2 // sees all jobs and runs, who may do what and who did what, and changes nothing of that
)

// Rights are what a normal user may do in a group: a set, kept as the sum of its members in punctual_permission.
type Rights uint8

// The rights. Every other one means little without RightView, so [Rights.Normal] adds it.
const (
	RightView     Rights = 1 << iota // see jobs, runs and their output
	RightRun                         // run once, end runs
	RightEdit                        // create, change and delete jobs, clear their runs
	RightGlue                        // write scripts, which run on the executors' machines
	RightSchedule                    // start and stop schedules
	afterRights

	// AllRights is what a group in XXL-JOB's own permission list stands for.
	AllRights = afterRights - 1
)

// Has says whether all of some rights are in the set.
func (r Rights) Has(all Rights) bool { return r&all == all }

// Normal is the set without unknown members, and with the right to see if there is any other.
func (r Rights) Normal() Rights {
	if r &= AllRights; r != 0 {
		r |= RightView
	}
	return r
}

// rightNames are the rights in the order of a form's columns. A new one has a line above and one here, its words (the keys
// right.NAME of locales), a place in routeNeeds of the permission test, and a word in docs/operations.md.
var rightNames = []struct {
	name  string
	right Rights
}{{"view", RightView}, {"run", RightRun}, {"schedule", RightSchedule}, {"edit", RightEdit}, {"glue", RightGlue}}

// RightNames are the names of the rights in a set, as forms and messages call them.
func RightNames(r Rights) []string {
	var names []string
	for _, x := range rightNames {
		if r.Has(x.right) {
			names = append(names, x.name)
		}
	}
	return names
}

// RightNamed is the right with a name, none if there is no such name.
func RightNamed(name string) Rights {
	for _, x := range rightNames {
		if x.name == name {
			return x.right
		}
	}
	return 0
}

// Principal is somebody who is logged in, or a program that acts for them.
type Principal struct {
	UserID  int64
	Name    string
	Admin   bool
	Auditor bool
	Service bool   // a service account: whoever has its token acts as it, and nothing says who that is
	Address string // where the request came from, for the audit log; may be empty
	Session string // the row of the login session; empty for programs
	Lang    string // the language they chose for the console; empty: as the browser says
	Theme   string // the theme they chose; empty: as the browser says
	Zone    string // the time zone they chose for times; empty: the installation's
	// Preferences are what else they chose for the console.
	Preferences Preferences
	// Provider vouches for them instead of a password that is kept here; empty: none does.
	Provider string
	groups   map[int64]Rights
	all      Rights // in every group; of an auditor, and of an administrator's token
}

// NewPrincipal makes a principal out of a user's row. The permission is a list of group ids; what is none is left out,
// so that a damaged list never grants anything. Rights beyond the list come with [Principal.Grant].
func NewPrincipal(userID int64, name string, role int64, permission db.Text) Principal {
	p := Principal{UserID: userID, Name: name, Admin: role == RoleAdmin, Auditor: role == RoleAuditor, groups: make(map[int64]Rights)}
	if p.Auditor {
		p.all = RightView
	}
	for _, id := range GroupIDs(permission) {
		p.groups[id] = AllRights
	}
	return p
}

// GroupIDs reads XXL-JOB's permission list.
func GroupIDs(permission db.Text) []int64 {
	var ids []int64
	for text := range strings.SplitSeq(string(permission), ",") {
		if id, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil && id > 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// Grant adds rights in a group to those the principal has.
func (p Principal) Grant(groupID int64, r Rights) Principal {
	if r = r.Normal(); r == 0 {
		return p
	}
	groups := make(map[int64]Rights, len(p.groups)+1)
	maps.Copy(groups, p.groups)
	groups[groupID] |= r
	p.groups = groups
	return p
}

// withGranted adds to what XXL-JOB's list says what else a user was given: as one, and as a member of teams. It is asked anew for each
// request, so that what is changed counts at once.
func withGranted(ctx context.Context, queries *db.Queries, pool db.DBTX, p Principal) (Principal, error) {
	own, err := queries.ListPermissionsOf(ctx, pool, p.UserID)
	if err != nil {
		return Principal{}, fmt.Errorf("read permissions: %w", db.Error(err))
	}
	for _, row := range own {
		p = p.Grant(row.GroupID, Rights(row.Rights&0xff))
	}
	shared, err := queries.ListTeamPermissionsOfUser(ctx, pool, p.UserID)
	if err != nil {
		return Principal{}, fmt.Errorf("read permissions of teams: %w", db.Error(err))
	}
	for _, row := range shared {
		p = p.Grant(row.GroupID, Rights(row.Rights&0xff))
	}
	return p, nil
}

// AsEditor is a principal for a plan that is only looked at: it may edit, start and run what p may see. What is done is never done for it.
func (p Principal) AsEditor() Principal {
	const looked = RightEdit | RightSchedule | RightRun
	groups := make(map[int64]Rights, len(p.groups))
	for id, r := range p.groups {
		if r.Has(RightView) {
			r |= looked
		}
		groups[id] = r
	}
	if p.groups = groups; p.all.Has(RightView) {
		p.all |= looked
	}
	return p
}

// Audits says whether p may see who may do what and who did what.
func (p Principal) Audits() bool { return p.Admin || p.Auditor }

// Can says whether p has a right in a group.
func (p Principal) Can(groupID int64, right Rights) bool {
	return p.Admin || right != 0 && (p.groups[groupID]|p.all).Has(right)
}

// Rights are what p may do in a group.
func (p Principal) Rights(groupID int64) Rights {
	if p.Admin {
		return AllRights
	}
	return p.groups[groupID] | p.all
}

// SameRights says whether p and another may do the same.
func (p Principal) SameRights(other Principal) bool {
	return p.UserID == other.UserID && p.Admin == other.Admin && p.Auditor == other.Auditor && p.all == other.all && maps.Equal(p.groups, other.groups)
}

// Bounds is a text for what p may do: the same for all with [Principal.SameRights].
func (p Principal) Bounds() string { return fmt.Sprint(p.UserID, p.Admin, p.Auditor, p.all, p.groups) }

// CanUseGroup says whether jobs and runs of a group may be seen by p.
func (p Principal) CanUseGroup(id int64) bool { return p.Can(id, RightView) }

// CanAnywhere says whether p has a right in some group. No right at all, as one is whose name is unknown, nobody has but an
// administrator, as with [Principal.Can].
func (p Principal) CanAnywhere(right Rights) bool {
	if p.Admin || right != 0 && p.all.Has(right) {
		return true
	}
	for id := range p.groups {
		if p.Can(id, right) {
			return true
		}
	}
	return false
}

// Groups are the groups that a normal user may see, in no order. For an administrator all is true and the list is empty.
func (p Principal) Groups() (ids []int64, all bool) {
	if p.Admin || p.all.Has(RightView) {
		return nil, true
	}
	return slices.Collect(maps.Keys(p.groups)), false
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
