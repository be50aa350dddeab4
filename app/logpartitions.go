package app

import (
	"context"
	"errors"
	"time"

	"github.com/punctual-job/punctual/db"
)

// withLog opens the database for a look at its log.
func withLog(ctx context.Context, o Options, do func(*db.Pool) error) (err error) {
	o.existing = true
	if o, err = o.withDefaults(); err != nil {
		return err
	}
	pool, err := openPool(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	if err := pool.CheckCurrent(ctx); err != nil {
		return err
	}
	return do(pool)
}

// LogPartitions lists the partitions of the log of runs.
func LogPartitions(ctx context.Context, o Options) (list []db.LogPartition, err error) {
	err = withLog(ctx, o, func(pool *db.Pool) error {
		if pool.Dialect() == db.SQLite {
			return db.ErrEmbedded
		}
		list, err = pool.LogPartitions(ctx)
		return err
	})
	return list, err
}

// PlanLog says what [PartitionLog] would do; see [db.Pool.PlanLog].
func PlanLog(ctx context.Context, o Options, width int64) (plan db.LogPlan, err error) {
	err = withLog(ctx, o, func(pool *db.Pool) error {
		plan, err = pool.PlanLog(ctx, width, time.Now())
		return err
	})
	return plan, err
}

// PartitionLog carries a plan out; see [db.Pool.PartitionLog].
func PartitionLog(ctx context.Context, o Options, plan db.LogPlan, copying bool) error {
	return withLog(ctx, o, func(pool *db.Pool) error { return pool.PartitionLog(ctx, plan, copying, lookForNodes) })
}

// ExtendLog adds partitions to a log that has some; see [db.Pool.ExtendStoppedLog].
func ExtendLog(ctx context.Context, o Options) (added int, err error) {
	err = withLog(ctx, o, func(pool *db.Pool) error {
		added, err = pool.ExtendStoppedLog(ctx, lookForNodes)
		return err
	})
	return added, err
}

// JoinLog makes the log one table again; see [db.Pool.JoinLog].
func JoinLog(ctx context.Context, o Options) error {
	return withLog(ctx, o, func(pool *db.Pool) error { return pool.JoinLog(ctx, lookForNodes) })
}
