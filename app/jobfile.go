package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/app/manage/transfer"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/document"
)

// commandLine is who changes something without a session. Whoever has the database may do anything with it; the audit log
// says that it was done this way.
const commandLine = "command line"

// bystander stands in for an engine that runs elsewhere, if it runs: admins look for changed jobs and executors by themselves.
type bystander struct{ manage.Engine }

func (bystander) JobsChanged()                        {}
func (bystander) StartWaiting(int64)                  {}
func (bystander) Load() scheduler.Load                { return scheduler.Load{} }
func (bystander) GroupsChanged(context.Context) error { return nil }
func (bystander) PausesChanged(context.Context) error { return nil }

// JobTexts makes files of jobs.
type JobTexts func(manage.JobFilter, jobfile.Format) (out transfer.Export, text []byte, next int64, err error)

// ExportJobs has a command make files of the jobs of all executors, or of the one (only) with an app name.
func ExportJobs(ctx context.Context, o Options, appName string, do func(groups []db.Group, only int64, texts JobTexts) error) error {
	return withPool(ctx, o, (*db.Pool).CheckCurrent, func(s *manage.Service, p auth.Principal, pool *db.Pool) error {
		groups, err := s.Groups.List(ctx, p)
		if err != nil {
			return err
		}
		var only int64
		if appName != "" {
			var names []string
			for _, g := range groups {
				names = append(names, g.AppName)
			}
			named := slices.DeleteFunc(slices.Clone(groups), func(g db.Group) bool { return g.AppName != appName })
			switch near := document.Nearest(appName, names); {
			case len(named) == 0 && near != "":
				return wrong("no executor has the app name %q; did you mean %q?", appName, near)
			case len(named) == 0:
				return wrong("no executor has the app name %q", appName)
			case len(named) > 1:
				return wrong("%d executors have the app name %q; name one that is alone with it", len(named), appName)
			}
			only = named[0].ID
		}
		files := jobFiles(s, pool)
		return do(groups, only, func(f manage.JobFilter, format jobfile.Format) (transfer.Export, []byte, int64, error) {
			return files.Text(ctx, p, f, format)
		})
	})
}

// ImportJobs says what importing a file would do, and does it if apply is set.
func ImportJobs(ctx context.Context, o Options, f jobfile.File, opts transfer.Options, apply bool) (plan transfer.Plan, err error) {
	prepare := (*db.Pool).CheckCurrent
	if apply {
		prepare = migrateOurs
	}
	err = withPool(ctx, o, prepare, func(s *manage.Service, p auth.Principal, pool *db.Pool) error {
		files := jobFiles(s, pool)
		var err error
		if plan, err = files.Plan(ctx, p, f, opts); err != nil || !apply {
			return err
		}
		plan, err = files.Import(ctx, p, f, opts, plan.Digest)
		return err
	})
	return plan, err
}

// jobFiles are the use cases of files of jobs.
func jobFiles(s *manage.Service, pool *db.Pool) *transfer.Service {
	return transfer.New(transfer.Config{Pool: pool, Jobs: s.Jobs, Groups: s.Groups, Settings: s.Settings})
}

// withService opens the database for a command that changes something in an installation, and brings it up to date.
func withService(ctx context.Context, o Options, do func(*manage.Service, auth.Principal, *db.Pool) error) error {
	return withPool(ctx, o, migrateOurs, do)
}

// migrateOurs brings an installation up to date. It begins none: that would be empty, and not the one that was meant.
func migrateOurs(pool *db.Pool, ctx context.Context) error {
	if err := pool.CheckOurs(ctx); err != nil {
		return err
	}
	return migrate(ctx, pool)
}

// withPool opens the database for a command, prepares it, and does something there.
func withPool(ctx context.Context, o Options, prepare func(*db.Pool, context.Context) error, do func(*manage.Service, auth.Principal, *db.Pool) error) (err error) {
	o.existing = true
	if o, err = o.withDefaults(); err != nil {
		return err
	}
	pool, err := openPool(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	if err := prepare(pool, ctx); err != nil {
		return err
	}
	held, err := manage.NewSettings(pool, o.Logger, time.Now, o.fixed())
	if err != nil {
		return &OptionsError{Err: err}
	}
	if err := held.Load(ctx); err != nil {
		return err
	}
	return do(manage.New(manage.Config{Pool: pool, Engine: bystander{}, Settings: held, Logger: o.Logger, Passwords: auth.NewPasswords(1).Keep(pool.WayBack)}),
		auth.NewPrincipal(0, commandLine, auth.RoleAdmin, ""), pool)
}
