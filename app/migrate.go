package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
)

// lookForNodes is how long a hand-over looks for a sign of life of the admins, which beat every second.
const lookForNodes = 3 * time.Second

// HandBack makes the database ready for the XXL-JOB admin that it was adopted from; see [db.Pool.HandBack].
func HandBack(ctx context.Context, o Options, afterCrash bool) (h db.Handed, err error) {
	o.existing = true
	if o, err = o.withDefaults(); err != nil {
		return h, err
	}
	pool, err := openPool(ctx, o)
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	return pool.HandBack(ctx, lookForNodes, afterCrash)
}

// FinishAdoption says that there is no way back to XXL-JOB any more.
func FinishAdoption(ctx context.Context, o Options) error {
	return withService(ctx, o, func(s *manage.Service, p auth.Principal, _ *db.Pool) error {
		err := s.Adoption.Finish(ctx, p)
		if err != nil && problem.From(err).Kind == problem.NotFound {
			return db.ErrNeverAdopted
		}
		return err
	})
}

// BeginBeside adopts the database of XXL-JOB admins that go on working; see [db.Pool.BeginBeside]. It returns where it is.
func BeginBeside(ctx context.Context, o Options) (where string, err error) {
	err = beside(ctx, o, func(pool *db.Pool) error {
		where = pool.String()
		err := pool.BeginBeside(ctx, commandLine, lookForNodes)
		if _, off := errors.AsType[*db.ZoneError](err); off {
			return &OptionsError{Err: err}
		}
		return err
	})
	return where, err
}

// EndBeside ends the work beside XXL-JOB admins; see [db.Pool.EndBeside].
func EndBeside(ctx context.Context, o Options) (theirs int64, err error) {
	err = beside(ctx, o, func(pool *db.Pool) error {
		theirs, err = pool.EndBeside(ctx, lookForNodes)
		return err
	})
	return theirs, err
}

func beside(ctx context.Context, o Options, do func(*db.Pool) error) (err error) {
	if o, err = o.withDefaults(); err != nil {
		return err
	}
	if o.DatabaseURL == "" {
		return wrong("there is no XXL-JOB without a database: set PUNCTUAL_DATABASE_URL to that of the XXL-JOB admin")
	}
	pool, err := openPool(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	return do(pool)
}

// BesideGroups lists the executor groups with whose they are, beside XXL-JOB admins.
func BesideGroups(ctx context.Context, o Options) (list []manage.BesideGroup, err error) {
	err = withService(ctx, o, func(s *manage.Service, p auth.Principal, _ *db.Pool) error {
		var ok bool
		if list, ok, err = s.Adoption.Beside(ctx, p); err == nil && !ok {
			return db.ErrNotBeside
		}
		return err
	})
	return list, err
}

// HandOver hands the groups of app names, or all that are not there yet, to Punctual or back. It gives how many groups and jobs those
// were.
func HandOver(ctx context.Context, o Options, appNames []string, all, back bool) (groups int, jobs int64, err error) {
	err = withService(ctx, o, func(s *manage.Service, p auth.Principal, _ *db.Pool) error {
		list, ok, err := s.Adoption.Beside(ctx, p)
		if err != nil {
			return err
		} else if !ok {
			return db.ErrNotBeside
		}
		var ids []int64
		for _, g := range list {
			if all && g.Ours == back && g.AppName != manage.HTTPAppName || slices.Contains(appNames, g.AppName) {
				ids = append(ids, g.ID)
			}
		}
		for _, name := range appNames {
			if !slices.ContainsFunc(list, func(g manage.BesideGroup) bool { return g.AppName == name }) {
				return wrong("no executor has the app name %q", name)
			}
		}
		groups = len(ids)
		jobs, err = s.Adoption.HandOver(ctx, p, ids, back)
		if why := errors.Unwrap(err); why != nil && problem.From(err).Kind == problem.Conflict {
			return why // in the words of the command line
		}
		return err
	})
	return groups, jobs, err
}
