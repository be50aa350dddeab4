package app

import (
	"context"
	"errors"

	"github.com/punctual-job/punctual/app/auditlog"
)

// VerifyAudit checks the chain of the audit log. It only reads, also beside an admin that runs.
func VerifyAudit(ctx context.Context, o Options, known auditlog.Place) (_ *auditlog.Report, err error) {
	o.readOnly = true
	if o, err = o.withDefaults(); err != nil {
		return nil, err
	}
	pool, err := openPool(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	if err := pool.CheckCurrent(ctx); err != nil {
		return nil, err
	}
	return auditlog.New(pool, o.Logger).Verify(ctx, known)
}
