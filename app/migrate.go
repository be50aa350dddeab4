package app

import (
	"context"
	"errors"
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
