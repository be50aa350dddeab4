package manage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/db"
)

// The values of a user's column disabled. Whoever has another than active has no session, and their tokens do not count.
const (
	active       = 0
	disabledHere = 1 // by an administrator, who ends it
	// disabledLeft is somebody whom their directory does not know any more, or whom no rule lets in. It ends when they are let in again.
	disabledLeft = 2
)

// firstRecheck is how long after its start an admin asks the directories for the first time.
const firstRecheck = time.Minute

// Watch asks the directories again and again about those whom they let in, until ctx ends. Providers cannot be asked.
func (s *Directories) Watch(ctx context.Context) {
	var all sync.WaitGroup
	for _, l := range s.cfg.Directories.LDAP() {
		all.Go(func() {
			for wait := firstRecheck; ; wait = l.Recheck() {
				select {
				case <-ctx.Done():
					return
				case <-time.After(wait):
				}
				if err := s.recheck(ctx, l); err != nil && ctx.Err() == nil {
					s.cfg.Logger.Warn("a directory could not be asked about all of the people whom it let in: of whom it says nothing stay what they are", "directory", l.Name(), "error", err)
				}
			}
		})
	}
	all.Wait()
}

// Recheck asks every directory at once about those whom it let in.
func (s *Directories) Recheck(ctx context.Context) error {
	var errs []error
	for _, l := range s.cfg.Directories.LDAP() {
		errs = append(errs, s.recheck(ctx, l))
	}
	return errors.Join(errs...)
}

// recheck asks a directory about everybody whom it let in, and does what a sign-in would do then: who is not let in any more has no session
// and no right, and their tokens do not count; the others have the name, the role, the rights and the teams that the rules give them now.
func (s *Directories) recheck(ctx context.Context, l *directory.LDAP) error {
	began := s.cfg.Now().UnixMilli()
	users, err := s.letIn(ctx, l.Name())
	if err != nil {
		return err
	}
	if len(users) == 0 {
		return nil
	}
	known := make([]directory.Known, len(users))
	for i, u := range users {
		known[i] = directory.Known{ID: u.DirectoryID, Key: u.IdentityKey, Name: u.Username}
	}
	said, err := l.Again(ctx, known)
	if err != nil {
		return err
	}
	if err := believable(users, said); err != nil {
		return err
	}
	groups, err := s.queries.ListGroups(ctx, s.cfg.Pool)
	if err != nil {
		return fmt.Errorf("list groups: %w", db.Error(err))
	}
	teams, err := s.queries.ListTeams(ctx, s.cfg.Pool, maxTeams)
	if err != nil {
		return fmt.Errorf("list teams: %w", db.Error(err))
	}
	var errs []error
	faults := 0
	for i, u := range users {
		if said[i].Fault != nil {
			if faults++; faults == 1 {
				errs = append(errs, fmt.Errorf("user %d, who stays what they are: %w", u.ID, said[i].Fault))
			}
			continue
		}
		said[i].Provider, said[i].Key = l.Name(), u.IdentityKey
		if err := s.follow(ctx, u, said[i], groups, teams, began); err != nil {
			errs = append(errs, fmt.Errorf("user %d: %w", u.ID, err))
		}
	}
	if faults > 1 {
		errs = append(errs, fmt.Errorf("and so %d more", faults-1))
	}
	return errors.Join(errs...)
}

// letIn are all whom a directory let in, but for those whom an administrator has shut out.
func (s *Directories) letIn(ctx context.Context, provider string) (all []db.ListDirectoryUsersRow, err error) {
	for next := (db.ListDirectoryUsersParams{Provider: provider, Limit: usersPage}); ; {
		rows, err := s.queries.ListDirectoryUsers(ctx, s.cfg.Pool, next)
		if err != nil {
			return nil, fmt.Errorf("list users: %w", db.Error(err))
		}
		all = append(all, rows...)
		if len(rows) < usersPage {
			return all, nil
		}
		next.AfterID = rows[len(rows)-1].ID
	}
}

// errNobody means that a directory lets in nobody of whom it let in before.
var errNobody = errors.New("it lets in nobody any more, which is taken for a fault of the directory or of what the account that searches may see there")

// believable refuses what would shut out everybody at once.
func believable(users []db.ListDirectoryUsersRow, said []directory.Standing) error {
	n, in := 0, 0
	for i, u := range users {
		if u.Disabled == active && said[i].Fault == nil {
			n++
			if said[i].There && said[i].In {
				in++
			}
		}
	}
	if n > 1 && in == 0 {
		return errNobody
	}
	return nil
}

// follow brings a user up to date with what their directory said of them after a moment.
func (s *Directories) follow(ctx context.Context, u db.ListDirectoryUsersRow, said directory.Standing, groups []db.Group, teams []db.Team, began int64) error {
	if !said.There || !said.In {
		if !said.There {
			said.Name, said.ID = u.Username, u.DirectoryID
		}
		said.Grant = directory.Grant{}
	}
	if same, err := s.upToDate(ctx, u, said, groups, teams); err != nil || same {
		return err
	}
	err := s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		if _, err := s.queries.HoldUser(ctx, tx, u.ID); err != nil { // or what an administrator does at this moment would be undone
			return err
		}
		now, err := s.queries.GetUser(ctx, tx, u.ID)
		if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		if now.Disabled == disabledHere || now.LoginAt >= began { // what they signed in with is newer
			return nil
		}
		if said.There && said.In {
			_, err = s.keep(ctx, tx, said.Identity, u.ID, active)
		} else {
			err = s.shutOut(ctx, tx, said.Identity, u.ID)
		}
		return err
	})
	if fault, ok := errors.AsType[*directory.Error](err); ok {
		return fault
	}
	return err
}

// upToDate says whether a user is what their directory says.
func (s *Directories) upToDate(ctx context.Context, u db.ListDirectoryUsersRow, said directory.Standing, groups []db.Group, teams []db.Team) (bool, error) {
	state := int64(active)
	if !said.In {
		state = disabledLeft
	}
	if u.Disabled != state || u.DirectoryID != said.ID || u.Username != said.Name {
		return false, nil
	}
	now, err := s.users.read(ctx, s.cfg.Pool, u.ID)
	if err != nil {
		return false, err
	}
	rights := make(map[int64]auth.Rights)
	if !said.Grant.Admin {
		rights = rightsIn(groups, said.Grant)
	}
	return role(now.Admin, now.Auditor) == role(said.Grant.Admin, said.Grant.Auditor) && rightsText(now.Rights) == rightsText(rights) && sameTeams(now.Teams, said.Grant.Teams, teams), nil
}

// sameTeams says whether somebody is in those of the teams that rules name, and by rules in no others. A team that there is not counts for nothing.
func sameTeams(now []TeamRights, named []string, teams []db.Team) bool {
	due := make(map[int64]bool)
	for _, t := range teams {
		if slices.ContainsFunc(named, func(name string) bool { return strings.EqualFold(t.Name, name) }) {
			due[t.ID] = true
		}
	}
	for _, t := range now {
		if t.Ruled && !due[t.ID] {
			return false
		}
		delete(due, t.ID)
	}
	return len(due) == 0
}

// shutOut ends all that somebody can do here who is not let in any more.
func (s *Directories) shutOut(ctx context.Context, tx *sql.Tx, id directory.Identity, userID int64) error {
	if err := s.users.endSessions(ctx, tx, userID, ""); err != nil {
		return err
	}
	id.Grant = directory.Grant{}
	_, err := s.keep(ctx, tx, id, userID, disabledLeft)
	return err
}
