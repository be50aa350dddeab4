package db

import (
	"context"
	"fmt"
	"time"
)

// Now is the time of the database's own clock, on MySQL and its kin. It depends on no zone.
func (p *Pool) Now(ctx context.Context) (time.Time, error) {
	var micros int64
	err := p.QueryRowContext(ctx, "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))").Scan(&micros)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the database's clock: %w", Error(err))
	}
	return time.UnixMicro(micros), nil
}
