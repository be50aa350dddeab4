package manage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
)

// Teams are the use cases of named sets of users. A team has rights by group as a user has; what somebody may do is what they may as
// themselves and as a member of each of their teams, added up.
type Teams struct {
	cfg     Config
	queries *db.Queries
	audit   *Audit
}

// What can be wrong of a team, beside [UserRights].
const (
	TeamName    = "name"
	TeamMembers = "member"
)

const (
	maxTeams    = 1000 // in all
	maxTeamName = 50
)

// TeamRights are a team's name and what its members may do.
type TeamRights struct {
	ID     int64
	Name   string
	Rights map[int64]auth.Rights // by group
	Ruled  bool                  // of a user's team: a rule of the sign-in file put them there
}

// Member is somebody in a team.
type Member struct {
	UserID   int64
	Name     string
	Disabled bool
	Ruled    bool // a rule of the sign-in file put them there, and takes them out
}

// Team is a team as administrators see one.
type Team struct {
	TeamRights
	Members []Member // by name
}

// Version changes with every change an administrator makes.
func (t Team) Version() string {
	return digest(fmt.Sprintf("%s|%s|%s", t.Name, rightsText(t.Rights), strings.Join(t.memberNames(), ",")))
}

func (t Team) memberNames() []string {
	var names []string
	for _, m := range t.Members {
		names = append(names, m.Name)
	}
	return names
}

func (t Team) snapshot() Snapshot {
	return Snapshot{"name": t.Name, "members": strings.Join(t.memberNames(), ", "), "rights": rightsText(t.Rights)}
}

func teamNames(teams []TeamRights) []string {
	names := make([]string, len(teams))
	for i, t := range teams {
		names[i] = t.Name
	}
	return names
}

// TeamInput is a team as an administrator wants to save one.
type TeamInput struct {
	Name    string
	Members []int64 // those whom a rule put there stay, named or not
	Rights  map[int64]auth.Rights
	Version string // what [Team.Version] said when the form was drawn; empty asks for no check
}

// List is every team, by name.
func (s *Teams) List(ctx context.Context, p auth.Principal) ([]Team, error) {
	if err := requireAuditor(p); err != nil {
		return nil, err
	}
	teams, err := listTeams(ctx, s.queries, s.cfg.Pool)
	if err != nil {
		return nil, err
	}
	rows, err := s.queries.ListTeamMembers(ctx, s.cfg.Pool)
	if err != nil {
		return nil, fmt.Errorf("list members of teams: %w", db.Error(err))
	}
	list := make([]Team, len(teams))
	for i, t := range teams {
		list[i] = Team{TeamRights: t}
		for _, m := range rows {
			if m.TeamID == t.ID {
				list[i].Members = append(list[i].Members, Member{UserID: m.UserID, Name: m.Username, Disabled: m.Disabled != 0, Ruled: m.Ruled != 0})
			}
		}
	}
	return list, nil
}

// listTeams are all teams with their rights.
func listTeams(ctx context.Context, q *db.Queries, pool db.DBTX) ([]TeamRights, error) {
	rows, err := q.ListTeams(ctx, pool, maxTeams)
	if err != nil {
		return nil, fmt.Errorf("list teams: %w", db.Error(err))
	}
	permissions, err := q.ListTeamPermissions(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("list permissions of teams: %w", db.Error(err))
	}
	list := make([]TeamRights, len(rows))
	for i, r := range rows {
		list[i] = TeamRights{ID: r.ID, Name: r.Name, Rights: teamRights(permissions, r.ID)}
	}
	return list, nil
}

func teamRights(rows []db.TeamPermission, team int64) map[int64]auth.Rights {
	rights := make(map[int64]auth.Rights)
	for _, row := range rows {
		if r := auth.Rights(row.Rights & 0xff).Normal(); row.TeamID == team && r != 0 {
			rights[row.GroupID] = r
		}
	}
	return rights
}

// teamsOf are the teams of a user.
func (s *Users) teamsOf(ctx context.Context, tx db.DBTX, userID int64) ([]TeamRights, error) {
	rows, err := s.queries.ListTeamsOfUser(ctx, tx, userID)
	if err != nil {
		return nil, fmt.Errorf("list teams: %w", db.Error(err))
	}
	if len(rows) == 0 {
		return nil, nil
	}
	permissions, err := s.queries.ListTeamPermissionsOfUser(ctx, tx, userID)
	if err != nil {
		return nil, fmt.Errorf("list permissions of teams: %w", db.Error(err))
	}
	teams := make([]TeamRights, len(rows))
	for i, r := range rows {
		teams[i] = TeamRights{ID: r.ID, Name: r.Name, Rights: teamRights(permissions, r.ID), Ruled: r.Ruled != 0}
	}
	return teams, nil
}

// teamsByUser are everybody's teams.
func (s *Users) teamsByUser(ctx context.Context) (map[int64][]TeamRights, error) {
	teams, err := listTeams(ctx, s.queries, s.cfg.Pool)
	if err != nil {
		return nil, err
	}
	members, err := s.queries.ListTeamMembers(ctx, s.cfg.Pool)
	if err != nil {
		return nil, fmt.Errorf("list members of teams: %w", db.Error(err))
	}
	byUser := make(map[int64][]TeamRights)
	for _, t := range teams {
		for _, m := range members {
			if m.TeamID == t.ID {
				byUser[m.UserID] = append(byUser[m.UserID], t)
			}
		}
	}
	return byUser, nil
}

// Own are the teams of p, for their profile.
func (s *Users) Own(ctx context.Context, p auth.Principal) ([]TeamRights, error) {
	return s.teamsOf(ctx, s.cfg.Pool, p.UserID)
}

// Get is one team.
func (s *Teams) Get(ctx context.Context, p auth.Principal, id int64) (Team, error) {
	if err := requireAuditor(p); err != nil {
		return Team{}, err
	}
	return s.read(ctx, s.cfg.Pool, id)
}

func (s *Teams) read(ctx context.Context, tx db.DBTX, id int64) (Team, error) {
	r, err := s.queries.GetTeam(ctx, tx, id)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return Team{}, problem.New(problem.NotFound, "problem.team.gone")
	} else if err != nil {
		return Team{}, fmt.Errorf("read team: %w", err)
	}
	permissions, err := s.queries.ListPermissionsOfTeam(ctx, tx, id)
	if err != nil {
		return Team{}, fmt.Errorf("list permissions of a team: %w", db.Error(err))
	}
	members, err := s.queries.ListMembersOfTeam(ctx, tx, id)
	if err != nil {
		return Team{}, fmt.Errorf("list members of a team: %w", db.Error(err))
	}
	t := Team{TeamRights: TeamRights{ID: r.ID, Name: r.Name, Rights: teamRights(permissions, r.ID)}}
	for _, m := range members {
		t.Members = append(t.Members, Member{UserID: m.UserID, Name: m.Username, Disabled: m.Disabled != 0, Ruled: m.Ruled != 0})
	}
	return t, nil
}

// Save makes a team (0), or changes one. What its members may do changes at once, on pages that are open too.
func (s *Teams) Save(ctx context.Context, p auth.Principal, id int64, in TeamInput) (saved int64, err error) {
	if err := requireAdmin(p); err != nil {
		return 0, err
	}
	in.Name = strings.TrimSpace(in.Name)
	if fields := in.check(); len(fields) > 0 {
		return 0, problem.InvalidFields(fields...)
	}
	err = s.cfg.Pool.InTurn(ctx, ObjectTeam, func(ctx context.Context, tx *sql.Tx) error {
		entry := Entry{Action: ActionCreate, Kind: ObjectTeam, ID: id, Name: in.Name}
		var had map[int64]auth.Rights
		if id != 0 {
			old, err := s.read(ctx, tx, id)
			if err != nil {
				return err
			}
			if in.Version != "" && in.Version != old.Version() {
				wanted, err := s.wanted(ctx, tx, old, in)
				if err != nil {
					return err
				}
				return changedSince(old.Version(), old.snapshot(), wanted.snapshot())
			}
			entry.Action, entry.Before, had = ActionUpdate, old.snapshot(), old.Rights
		}
		err := holdGroups(ctx, tx, in.Rights, had)
		if err != nil {
			return err
		}
		if entry.ID, err = s.write(ctx, tx, id, in); err != nil {
			return err
		}
		now, err := s.read(ctx, tx, entry.ID)
		if err != nil {
			return err
		}
		entry.After, saved = now.snapshot(), entry.ID
		return s.audit.Record(ctx, tx, p, entry)
	})
	return saved, during("save team", err)
}

// wanted is a team as it would be saved.
func (s *Teams) wanted(ctx context.Context, tx *sql.Tx, old Team, in TeamInput) (Team, error) {
	t := Team{TeamRights: TeamRights{ID: old.ID, Name: in.Name, Rights: normal(in.Rights)}}
	for _, m := range old.Members {
		if m.Ruled {
			in.Members = append(in.Members, m.UserID)
		}
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(in.Members))) {
		u, err := s.queries.GetUser(ctx, tx, id)
		if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
			return t, fmt.Errorf("read user: %w", err)
		} else if err == nil {
			t.Members = append(t.Members, Member{UserID: id, Name: u.Username})
		}
	}
	slices.SortFunc(t.Members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return t, nil
}

func (in TeamInput) check() []problem.Field {
	switch {
	case in.Name == "":
		return []problem.Field{{Name: TeamName, Key: "job.error.required"}}
	case utf8.RuneCountInString(in.Name) > maxTeamName:
		return []problem.Field{{Name: TeamName, Key: "job.error.too_long", Args: []any{"Max", maxTeamName}}}
	case !utf8.ValidString(in.Name) || strings.ContainsFunc(in.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return []problem.Field{{Name: TeamName, Key: "team.error.name"}}
	}
	return nil
}

// write makes the rows of a team what they are to be, and returns its id.
func (s *Teams) write(ctx context.Context, tx *sql.Tx, id int64, in TeamInput) (int64, error) {
	var err error
	if id == 0 {
		teams, err := s.queries.ListTeams(ctx, tx, maxTeams)
		if err != nil {
			return 0, err
		}
		if len(teams) >= maxTeams {
			return 0, problem.New(problem.Conflict, "problem.team.many", "Max", maxTeams)
		}
		id, err = s.queries.InsertTeam(ctx, tx, db.InsertTeamParams{Name: in.Name, CreatedAt: s.cfg.Now().UnixMilli()})
		if errors.Is(db.Error(err), db.ErrDuplicate) {
			return 0, taken()
		} else if err != nil {
			return 0, err
		}
	} else if _, err = s.queries.RenameTeam(ctx, tx, db.RenameTeamParams{ID: id, Name: in.Name}); errors.Is(db.Error(err), db.ErrDuplicate) {
		return 0, taken()
	} else if err != nil {
		return 0, err
	}
	if _, err := s.queries.DeletePermissionsOfTeam(ctx, tx, id); err != nil {
		return 0, err
	}
	for group, r := range normal(in.Rights) {
		if err := s.queries.InsertTeamPermission(ctx, tx, db.InsertTeamPermissionParams{TeamID: id, GroupID: group, Rights: int64(r)}); err != nil {
			return 0, err
		}
	}
	if _, err := s.queries.DeleteTeamMembersOf(ctx, tx, id); err != nil {
		return 0, err
	}
	var missing []problem.Field
	slices.Sort(in.Members)
	for _, user := range slices.Compact(in.Members) {
		if _, err := s.queries.GetUser(ctx, tx, user); errors.Is(db.Error(err), db.ErrNotFound) {
			missing = append(missing, problem.Field{Name: TeamMembers, Key: "team.error.member", Args: []any{"ID", strconv.FormatInt(user, 10)}})
			continue
		} else if err != nil {
			return 0, err
		}
		if err := s.queries.InsertTeamMember(ctx, tx, db.InsertTeamMemberParams{TeamID: id, UserID: user}); err != nil {
			return 0, err
		}
	}
	if len(missing) > 0 {
		return 0, problem.InvalidFields(missing...)
	}
	return id, nil
}

func taken() error {
	return problem.InvalidFields(problem.Field{Name: TeamName, Key: "team.error.taken"})
}

// Delete removes a team. Its members lose what they may only as such.
func (s *Teams) Delete(ctx context.Context, p auth.Principal, id int64) error {
	return s.DeleteVersion(ctx, p, id, "")
}

// DeleteVersion is Delete for a team that is still what [Team.Version] said; empty asks for no check.
func (s *Teams) DeleteVersion(ctx context.Context, p auth.Principal, id int64, version string) error {
	if err := requireAdmin(p); err != nil {
		return err
	}
	err := s.cfg.Pool.InTurn(ctx, ObjectTeam, func(ctx context.Context, tx *sql.Tx) error {
		old, err := s.read(ctx, tx, id)
		if err != nil {
			return err
		}
		if version != "" && version != old.Version() {
			return problem.New(problem.Conflict, "problem.changed")
		}
		if _, err := s.queries.DeleteTeam(ctx, tx, id); err != nil {
			return err
		}
		if _, err := s.queries.DeletePermissionsOfTeam(ctx, tx, id); err != nil {
			return err
		}
		if _, err := s.queries.DeleteAllTeamMembersOf(ctx, tx, id); err != nil {
			return err
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionDelete, Kind: ObjectTeam, ID: id, Name: old.Name, Before: old.snapshot()})
	})
	if err != nil {
		return fmt.Errorf("delete team %s: %w", strconv.FormatInt(id, 10), err)
	}
	return nil
}
