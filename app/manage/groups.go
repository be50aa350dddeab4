package manage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/invalid"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Ways a group gets its addresses, as xxl_job_group.address_type has them (docs/compat.md §3.7).
const (
	AddressAuto   = 0 // executors register
	AddressManual = 1 // somebody types them
)

// Groups are the use cases of executor groups. Everybody sees the groups they may use; only administrators change them.
type Groups struct {
	cfg     Config
	queries *db.Queries
	audit   *Audit
}

// The names of a group's fields, by which a problem.Field finds its place in a form.
const (
	GroupAppName   = "app_name"
	GroupTitle     = "title"
	GroupType      = "type"
	GroupAddresses = "addresses"
	// GroupKeepOutput is of a choice.
	GroupKeepOutput = "keep_output"
	// GroupMaxRunning is a number.
	GroupMaxRunning = "max_running"
)

// GroupInput is a group as somebody wants to save it.
type GroupInput struct {
	AppName   string
	Title     string
	Manual    bool
	Addresses string // of a manual group, in any layout
	GroupOptions
	// Version is what [GroupVersion] said when the form was drawn; empty asks for no check.
	Version string
	// AnyName takes the app names that XXL-JOB's server takes and its form does not: programs name groups by their
	// application, with capitals, dots and underscores.
	AnyName bool
}

// GroupOptions are what is decided for the groups of an app name beyond XXL-JOB's columns. Who changes a group by less than all of it
// starts from those it has.
type GroupOptions struct {
	// IdleIsLost gives up a run without a result once its executor has nothing of the job any more. Otherwise it is waited
	// for while the executor has its log, as XXL-JOB does: results may come later than the handler's end.
	IdleIsLost bool
	// TokenManages lets whoever has the group's own token manage its jobs, as in XXL-JOB 3.5. Otherwise that takes an API token.
	TokenManages bool
	// ScriptReview makes a change of a script wait for a second person.
	ScriptReview bool
	// KeepOutput says of which runs the output is kept, unless a job says so; empty: as the settings say.
	KeepOutput jobspec.Keep
	// MaxRunning is how many runs of all its jobs there may be at a time, in the whole cluster; 0: as many as come.
	MaxRunning int
}

// maxGroupRunning is the highest limit of a group.
const maxGroupRunning = 99_999

func (in GroupInput) options() GroupOptions {
	o := in.GroupOptions
	o.KeepOutput = in.keep()
	return o
}

// GroupVersion changes with every change of a group by a person: the way to notice that two edit at the same time. The
// registry writes the addresses of automatic groups all the time, so those and the time of change do not count.
func GroupVersion(g db.Group, o GroupOptions) string {
	v := fmt.Sprintf("%s|%s|%d|%v", g.AppName, g.Title, g.AddressType, o)
	if g.AddressType == AddressManual {
		v += "|" + string(g.AddressList)
	}
	return digest(v)
}

// List is every group the principal may use, in the order of upstream: by app name.
func (s *Groups) List(ctx context.Context, p auth.Principal) ([]db.Group, error) {
	all, err := s.queries.ListGroups(ctx, s.cfg.Pool)
	if err != nil {
		return nil, fmt.Errorf("list groups: %w", db.Error(err))
	}
	visible := all[:0]
	for _, g := range all {
		if p.CanUseGroup(g.ID) {
			visible = append(visible, g)
		}
	}
	return visible, nil
}

// Get is one group.
func (s *Groups) Get(ctx context.Context, p auth.Principal, id int64) (db.Group, error) {
	gone := problem.New(problem.NotFound, "problem.group.gone")
	if !p.CanUseGroup(id) {
		return db.Group{}, gone
	}
	g, err := s.queries.GetGroup(ctx, s.cfg.Pool, id)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return g, gone
	}
	return g, err
}

// Options are what is decided for the groups of an app name.
func (s *Groups) Options(ctx context.Context, appName string) (GroupOptions, error) {
	return s.options(ctx, s.cfg.Pool, appName)
}

func (s *Groups) options(ctx context.Context, on db.DBTX, appName string) (GroupOptions, error) {
	all, err := s.allOptions(ctx, on)
	if err != nil {
		return GroupOptions{}, err
	}
	return all(appName), nil
}

// AllOptions are those of every group, by its app name, in one read.
func (s *Groups) AllOptions(ctx context.Context) (func(appName string) GroupOptions, error) {
	return s.allOptions(ctx, s.cfg.Pool)
}

func (s *Groups) allOptions(ctx context.Context, on db.DBTX) (func(appName string) GroupOptions, error) {
	all, err := s.queries.ListGroupOptions(ctx, on)
	if err != nil {
		return nil, fmt.Errorf("read options of groups: %w", db.Error(err))
	}
	return func(appName string) GroupOptions {
		for _, o := range all {
			if strings.EqualFold(o.AppName, appName) {
				return GroupOptions{IdleIsLost: o.IdleIsLost != 0, TokenManages: o.TokenManages != 0, ScriptReview: o.ScriptReview != 0, KeepOutput: jobspec.Keep(o.KeepOutput),
					MaxRunning: int(o.MaxRunning)}
			}
		}
		return GroupOptions{}
	}, nil
}

// setOptions keeps a row only of a group that differs from XXL-JOB, so that one which is left behind means nothing.
func (s *Groups) setOptions(ctx context.Context, tx *sql.Tx, in GroupInput) error {
	if in.options() == (GroupOptions{}) {
		_, err := s.queries.DeleteGroupOptions(ctx, tx, in.AppName)
		return err
	}
	return s.queries.SetGroupOptions(ctx, tx, db.SetGroupOptionsParams{
		AppName: in.AppName, IdleIsLost: flag(in.IdleIsLost), TokenManages: flag(in.TokenManages), ScriptReview: flag(in.ScriptReview), KeepOutput: string(in.keep()),
		MaxRunning: int64(in.MaxRunning), UpdatedAt: s.cfg.Now().UnixMilli(),
	})
}

// dropOptions forgets what is decided for an app name, unless a group other than this one has it: XXL-JOB lets them share.
func (s *Groups) dropOptions(ctx context.Context, tx *sql.Tx, appName string, id int64) error {
	sharing, err := s.queries.CountGroupsByAppName(ctx, tx, db.CountGroupsByAppNameParams{AppName: appName, ExceptID: id})
	if err != nil || sharing > 0 {
		return err
	}
	_, err = s.queries.DeleteGroupOptions(ctx, tx, appName)
	return err
}

// Addresses is the state of a group's addresses.
func (s *Groups) Addresses(p auth.Principal, id int64) []scheduler.AddressState {
	if !p.CanUseGroup(id) {
		return nil
	}
	return s.cfg.Engine.Addresses(id)
}

// Slots tells how full a group's limit of runs at a time is.
func (s *Groups) Slots(ctx context.Context, p auth.Principal, id int64) (scheduler.SlotsTaken, error) {
	if !p.CanUseGroup(id) {
		return scheduler.SlotsTaken{}, nil
	}
	return s.cfg.Engine.GroupSlots(ctx, id)
}

// Refused are the calls of executors that no admin took lately, of the groups in of; administrators see all.
func (s *Groups) Refused(ctx context.Context, p auth.Principal, of []db.Group) ([]scheduler.RefusedCalls, error) {
	calls, err := s.cfg.Engine.RefusedCalls(ctx)
	if err != nil {
		return nil, fmt.Errorf("list refused calls: %w", db.Error(err))
	}
	return slices.DeleteFunc(calls, func(r scheduler.RefusedCalls) bool {
		known := slices.ContainsFunc(of, func(g db.Group) bool { return strings.EqualFold(g.AppName, r.Caller.AppName) })
		return known && r.Why == scheduler.RefusedUnknown || !known && !p.Admin // the first: it was created since
	}), nil
}

// ByAppName are the groups of an app name, for programs that speak for a group: one, unless XXL-JOB filled the database.
func (s *Groups) ByAppName(ctx context.Context, appName string) ([]db.Group, error) {
	all, err := s.queries.ListGroups(ctx, s.cfg.Pool)
	return slices.DeleteFunc(all, func(g db.Group) bool { return !strings.EqualFold(g.AppName, appName) }), during("list groups", err)
}

// CountJobs is how many jobs belong to a group.
func (s *Groups) CountJobs(ctx context.Context, id int64) (int64, error) {
	n, err := s.queries.CountJobsOfGroup(ctx, s.cfg.Pool, id)
	return n, db.Error(err)
}

// CountAll is how many groups there are, whoever may use them: the last one cannot be deleted.
func (s *Groups) CountAll(ctx context.Context) (int64, error) {
	n, err := s.queries.CountGroups(ctx, s.cfg.Pool)
	return n, db.Error(err)
}

// Create makes a group and returns its id.
func (s *Groups) Create(ctx context.Context, p auth.Principal, in GroupInput) (int64, error) {
	if err := requireAdmin(p); err != nil {
		return 0, err
	}
	in, list, fields := s.check(in, "")
	if len(fields) > 0 {
		return 0, problem.InvalidFields(fields...)
	}
	var id int64
	err := s.cfg.Pool.InTurn(ctx, ObjectGroup, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.unique(ctx, tx, in.AppName, 0); err != nil {
			return err
		}
		var err error
		id, err = s.queries.InsertGroup(ctx, tx, db.InsertGroupParams{
			AppName: in.AppName, Title: in.Title, AddressType: addressType(in), AddressList: db.Text(list), UpdateTime: s.wall(),
		})
		if err != nil {
			return err
		}
		if err := s.setOptions(ctx, tx, in); err != nil {
			return err
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionCreate, Kind: ObjectGroup, ID: id, Name: in.Title, After: groupSnapshot(in.row(list), in.options())})
	})
	if err != nil {
		return 0, fmt.Errorf("create group: %w", err)
	}
	s.cfg.Pool.AfterCommit(ctx, s.changed)
	return id, nil
}

// changed has this admin go by groups that were changed. That it could not is no reason to do again what is done.
func (s *Groups) changed(ctx context.Context) {
	if err := s.cfg.Engine.GroupsChanged(ctx); err != nil {
		s.cfg.Logger.Warn("go by groups that were changed", "error", err) // they are read anew soon
	}
}

// Update changes a group. An automatic group keeps the addresses that the registry gave it. A group that gets another app
// name loses its own access token, which goes with the name.
func (s *Groups) Update(ctx context.Context, p auth.Principal, id int64, in GroupInput) error {
	if err := requireAdmin(p); err != nil {
		return err
	}
	orphan := "" // an app name that no group has any more
	err := s.cfg.Pool.InTurn(ctx, ObjectGroup, func(ctx context.Context, tx *sql.Tx) error {
		old, err := s.queries.GetGroup(ctx, tx, id)
		if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
			return problem.New(problem.NotFound, "problem.group.gone")
		} else if err != nil {
			return err
		}
		was, err := s.options(ctx, tx, old.AppName)
		if err != nil {
			return err
		}
		in, list, fields := s.check(in, old.AppName)
		if version := GroupVersion(old, was); in.Version != "" && in.Version != version {
			return changedSince(version, groupSnapshot(old, was), groupSnapshot(in.row(list), in.options()))
		}
		if len(fields) > 0 {
			return problem.InvalidFields(fields...)
		}
		orphan = ""
		if in.AppName != old.AppName {
			sharing, err := s.queries.CountGroupsByAppName(ctx, tx, db.CountGroupsByAppNameParams{AppName: old.AppName, ExceptID: id})
			if err != nil {
				return err
			}
			if sharing == 0 && !strings.EqualFold(in.AppName, old.AppName) { // else executors have the name that they had
				orphan = old.AppName
			}
			if err := s.unique(ctx, tx, in.AppName, id); err != nil {
				return err
			}
			if err := s.dropOptions(ctx, tx, old.AppName, id); err != nil {
				return err
			}
		}
		if err := s.setOptions(ctx, tx, in); err != nil {
			return err
		}
		if !in.Manual && old.AddressType == AddressAuto && strings.EqualFold(in.AppName, old.AppName) {
			list = string(old.AddressList)
		}
		_, err = s.queries.UpdateGroup(ctx, tx, db.UpdateGroupParams{
			ID: id, AppName: in.AppName, Title: in.Title, AddressType: addressType(in), AddressList: db.Text(list), UpdateTime: s.wall(),
		})
		if err != nil {
			return err
		}
		return s.audit.Record(ctx, tx, p, Entry{
			Action: ActionUpdate, Kind: ObjectGroup, ID: id, Name: in.Title, Before: groupSnapshot(old, was), After: groupSnapshot(in.row(list), in.options()),
		})
	})
	if err != nil {
		return fmt.Errorf("update group: %w", err)
	}
	if orphan != "" {
		// The old name's own token would go on letting its bearer in as a group that is none.
		if err := s.cfg.Tokens.Drop(ctx, orphan); err != nil {
			return err
		}
	}
	s.changed(ctx)
	return nil
}

// Delete removes a group that no job belongs to, and what its executors registered. The last group stays, as upstream
// has it: there is always one to create a job in.
func (s *Groups) Delete(ctx context.Context, p auth.Principal, id int64) error {
	return s.DeleteVersion(ctx, p, id, "")
}

// DeleteVersion is Delete for a group that is still what [GroupVersion] said; empty asks for no check.
func (s *Groups) DeleteVersion(ctx context.Context, p auth.Principal, id int64, version string) error {
	if err := requireAdmin(p); err != nil {
		return err
	}
	orphan := "" // an app name that no group has any more
	webhooks := false
	err := s.cfg.Pool.InTurn(ctx, ObjectGroup, func(ctx context.Context, tx *sql.Tx) error {
		orphan = ""
		g, err := s.queries.GetGroup(ctx, tx, id)
		if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
			return problem.New(problem.NotFound, "problem.group.gone")
		} else if err != nil {
			return err
		}
		if err := s.queries.TakeTurn(ctx, tx, ObjectUser); err != nil { // somebody may be changing one: they hold the groups of their rights after it too
			return err
		}
		if _, err := s.queries.HoldGroup(ctx, tx, id); err != nil { // a job that is on its way to it is counted then
			return err
		}
		jobs, err := s.queries.CountJobsOfGroup(ctx, tx, id)
		if err != nil {
			return err
		}
		if jobs > 0 {
			return problem.New(problem.Conflict, "problem.group.jobs", "Count", jobs)
		}
		all, err := s.queries.CountGroups(ctx, tx)
		if err != nil {
			return err
		}
		if all == 1 {
			return problem.New(problem.Conflict, "problem.group.last")
		}
		if _, err := s.queries.DeleteGroup(ctx, tx, id); err != nil {
			return err
		}
		if err := s.cfg.Alarms.ForgetGroup(ctx, tx, id); err != nil {
			return err
		}
		if err := endPausesOf(ctx, tx, p, s.cfg.Now(), jobspec.PauseGroup, id); err != nil {
			return err
		}
		if _, err := s.queries.DeletePermissionsOfGroup(ctx, tx, id); err != nil {
			return err
		}
		if _, err := s.queries.DeleteTeamPermissionsOfGroup(ctx, tx, id); err != nil {
			return err
		}
		if err := s.queries.DeleteGroupGate(ctx, tx, id); err != nil {
			return err
		}
		if err := s.queries.DeleteCodeHandlersOf(ctx, tx, id); err != nil {
			return err
		}
		if _, err := s.queries.DeleteSecretsOf(ctx, tx, id); err != nil {
			return err
		}
		if webhooks, err = s.dropMentions(ctx, tx, p, id); err != nil {
			return err
		}
		was, err := s.options(ctx, tx, g.AppName)
		if err != nil {
			return err
		}
		if version != "" && version != GroupVersion(g, was) {
			return problem.New(problem.Conflict, "problem.changed")
		}
		err = s.audit.Record(ctx, tx, p, Entry{Action: ActionDelete, Kind: ObjectGroup, ID: id, Name: g.Title, Before: groupSnapshot(g, was)})
		if err != nil {
			return err
		}
		if err := s.dropOptions(ctx, tx, g.AppName, id); err != nil {
			return err
		}
		// Another group may share the app name in a database that upstream wrote.
		sharing, err := s.queries.CountGroupsByAppName(ctx, tx, db.CountGroupsByAppNameParams{AppName: g.AppName, ExceptID: id})
		if err != nil || sharing > 0 {
			return err
		}
		orphan = g.AppName
		_, err = s.queries.DeleteRegistryOfKey(ctx, tx, g.AppName)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete group: %w", err)
	}
	// Only now: a token that stays behind is found again by who creates the group anew, one that went too early locks out.
	if orphan != "" {
		if err := s.cfg.Tokens.Drop(ctx, orphan); err != nil {
			return err
		}
	}
	if webhooks {
		s.cfg.reloadWebhooks(ctx)
	}
	s.changed(ctx)
	return nil
}

// appNameRule is upstream's form rule (docs/compat.md §5.7) with its length.
var appNameRule = regexp.MustCompile(`^[a-z][a-z0-9-]{3,63}$`)

// anyAppNameRule is what of upstream's server rule (4 to 64 characters of any kind) fits into lists, lines and pages.
var anyAppNameRule = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{3,63}$`)

const maxGroupTitle = 64

// Check is what making a group would be refused for.
func (s *Groups) Check(in GroupInput) []problem.Field {
	_, _, faults := s.check(in, "")
	return faults
}

// check reads and judges a group. A name that the group has already is kept even if it would not be given today.
func (s *Groups) check(in GroupInput, oldName string) (GroupInput, string, []problem.Field) {
	in.AppName, in.Title = strings.TrimSpace(in.AppName), strings.TrimSpace(in.Title)
	var fields []problem.Field
	add := func(name, key string, args ...any) {
		fields = append(fields, problem.Field{Name: name, Key: key, Args: args})
	}
	rule, broken := appNameRule, "group.error.appname"
	if in.AnyName {
		rule, broken = anyAppNameRule, "group.error.anyname"
	}
	switch {
	case in.AppName == "":
		add(GroupAppName, "job.error.required")
	case in.AppName != oldName && !rule.MatchString(in.AppName):
		add(GroupAppName, broken)
	}
	if k := in.KeepOutput; k != "" && !slices.Contains(jobspec.AllKeeps, k) {
		add(GroupKeepOutput, "settings.error.choice")
	}
	if in.MaxRunning < 0 || in.MaxRunning > maxGroupRunning {
		add(GroupMaxRunning, "group.error.max_running", "Max", maxGroupRunning)
	}
	switch {
	case in.Title == "":
		add(GroupTitle, "job.error.required")
	case utf8.RuneCountInString(in.Title) > maxGroupTitle:
		add(GroupTitle, "job.error.too_long", "Max", maxGroupTitle)
	case !invalid.IsLine(in.Title):
		add(GroupTitle, "job.error.characters")
	}
	list := ""
	if in.Manual {
		addresses, bad := normalAddresses(in.Addresses)
		list = strings.Join(addresses, ",")
		switch {
		case bad != "":
			add(GroupAddresses, "group.error.address", "Value", bad)
		case slices.ContainsFunc(addresses, s.cfg.Settings.refuses):
			add(GroupAddresses, "group.error.denied")
		case len(addresses) == 0:
			add(GroupAddresses, "job.error.required")
		case len(list) > 60_000: // the column holds 65,535 bytes
			add(GroupAddresses, "job.error.too_long", "Max", 60_000)
		}
	}
	return in, list, fields
}

func (s *Groups) unique(ctx context.Context, tx *sql.Tx, appName string, except int64) error {
	n, err := s.queries.CountGroupsByAppName(ctx, tx, db.CountGroupsByAppNameParams{AppName: appName, ExceptID: except})
	if err != nil {
		return err
	}
	if n > 0 {
		return problem.InvalidFields(problem.Field{Name: GroupAppName, Key: "group.error.taken"})
	}
	return nil
}

func (s *Groups) wall() sql.NullTime { return nullTime(s.cfg.Pool.Wall(s.cfg.Now())) }

// row is the group that an input makes.
func (in GroupInput) row(list string) db.Group {
	return db.Group{AppName: in.AppName, Title: in.Title, AddressType: addressType(in), AddressList: db.Text(list)}
}

func addressType(in GroupInput) int64 {
	if in.Manual {
		return AddressManual
	}
	return AddressAuto
}

// GroupAddressList is the stored list of a group's addresses.
func GroupAddressList(g db.Group) []string { return splitAddresses(string(g.AddressList)) }

// Updated is when a group was changed last; zero when the table does not say.
func (s *Groups) Updated(g db.Group) time.Time { return s.cfg.Pool.InstantOf(g.UpdateTime) }

// keep is [GroupInput.KeepOutput] as it is stored: empty where it says nothing.
func (in GroupInput) keep() jobspec.Keep {
	if in.KeepOutput.Inherits() {
		return ""
	}
	return in.KeepOutput
}
