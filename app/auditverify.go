package app

import (
	"context"
	"errors"

	"github.com/punctual-job/punctual/app/auditlog"
)

// VerifyAudit checks the chain of the audit log. It only reads, also beside an admin that runs.
func VerifyAudit(ctx context.Context, o Options, known auditlog.Place) (_ *auditlog.Report, err error) {
	o, pool, err := openToRead(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	return auditlog.New(pool, o.Logger).Verify(ctx, known)
}
