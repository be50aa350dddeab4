package app

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/account"
)

// AccountFires accounts for the fires that were planned for a time, of all jobs or of one, which is given by its id or its name. It
// only reads, also beside an admin that runs.
func AccountFires(ctx context.Context, o Options, r manage.AccountRequest, job string) (_ *account.Report, err error) {
	o, pool, err := openToRead(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	if r.Job, err = jobNamed(ctx, pool, job); err != nil {
		return nil, err
	}
	held, err := manage.NewSettings(pool, o.Logger, time.Now, o.fixed())
	if err != nil {
		return nil, &OptionsError{Err: err}
	}
	service := manage.New(manage.Config{Pool: pool, Engine: bystander{}, Settings: held, Logger: o.Logger})
	return service.Accounts.Account(ctx, auth.NewPrincipal(0, commandLine, auth.RoleAdmin, ""), r)
}

// openToRead opens a database for a command that only reads, also beside an admin that runs.
func openToRead(ctx context.Context, o Options) (Options, *db.Pool, error) {
	o.readOnly = true
	o, err := o.withDefaults()
	if err != nil {
		return o, nil, err
	}
	pool, err := openPool(ctx, o)
	if err != nil {
		return o, nil, err
	}
	if err := pool.CheckCurrent(ctx); err != nil {
		return o, nil, errors.Join(err, pool.Close())
	}
	return o, pool, nil
}

// jobNamed is the id of the job that somebody means; 0 if they mean none.
func jobNamed(ctx context.Context, pool *db.Pool, job string) (int64, error) {
	if job == "" {
		return 0, nil
	}
	if id, err := strconv.ParseInt(job, 10, 64); err == nil && id > 0 {
		return id, nil
	}
	ids, err := db.New().ListScheduledJobsNamed(ctx, pool, db.ListScheduledJobsNamedParams{JobDesc: job, Limit: 10})
	if err != nil {
		return 0, db.Error(err)
	}
	switch len(ids) {
	case 0:
		return 0, wrong("no job is called %q", job)
	case 1:
		return ids[0], nil
	}
	return 0, wrong("%d jobs are or were called %q; name one by its id: %v", len(ids), job, ids)
}
