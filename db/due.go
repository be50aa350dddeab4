package db

import (
	"cmp"
	"context"
	"math"
	"time"
)

// Started jobs have one of two statuses, since an XXL-JOB admin must take flows for stopped. The index of what is due begins with the status, so
// each is a walk of its own, and the two are put together here. There are few flows: mostly the second walk is one look that finds nothing.

// ListDue is [Queries.ListDueJobs] for all started jobs of ours.
func ListDue(ctx context.Context, pool *Pool, page ListDueJobsParams) ([]ListDueJobsRow, error) {
	return bothStarted(pool, int(page.Limit), func(hidden int64) ([]ListDueJobsRow, error) {
		page.Hidden = hidden
		if len(page.Held) == 0 {
			page.Held = []int64{math.MinInt64} // no group has it
		}
		return New().ListDueJobs(ctx, pool, page)
	}, func(r *ListDueJobsRow) (next, id int64) { return r.TriggerNextTime, r.ID })
}

// ListDueWithin is [Queries.ListJobsDueWithin] for all started jobs of ours.
func ListDueWithin(ctx context.Context, pool *Pool, page ListJobsDueWithinParams) ([]ListJobsDueWithinRow, error) {
	return bothStarted(pool, int(page.Limit), func(hidden int64) ([]ListJobsDueWithinRow, error) {
		page.Hidden = hidden
		return New().ListJobsDueWithin(ctx, pool, page)
	}, func(r *ListJobsDueWithinRow) (next, id int64) { return r.TriggerNextTime, r.ID })
}

// bothStarted reads the first of the jobs with either status, in the order of what is due next. Beside XXL-JOB admins the one is theirs.
func bothStarted[T any](pool *Pool, limit int, read func(hidden int64) ([]T, error), place func(*T) (next, id int64)) ([]T, error) {
	hidden, err := read(1)
	if err != nil || pool.Beside() {
		return hidden, err
	}
	rows, err := read(0)
	if err != nil || len(hidden) == 0 {
		return rows, err
	}
	return merged(rows, hidden, limit, func(a, b *T) int {
		nextA, idA := place(a)
		nextB, idB := place(b)
		return cmp.Or(cmp.Compare(nextA, nextB), cmp.Compare(idA, idB))
	}), nil
}

// merged puts two sorted lists together, and cuts them at a limit.
func merged[T any](a, b []T, limit int, compare func(a, b *T) int) []T {
	all := make([]T, 0, min(len(a)+len(b), limit))
	for len(all) < limit && len(a)+len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && compare(&a[0], &b[0]) < 0 {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return all
}

// Undecided is the first fire of a job that is not decided yet, from its columns: its next time, or where a pause holds it back, so that its
// next time is the end of the pause, the first fire that the pause held. A fixed rate keeps the beat of this time, not of the other.
func Undecided(next, pausedAt, pausedNext int64) time.Time {
	if pausedAt > 0 && next == pausedNext {
		return time.UnixMilli(pausedAt)
	}
	return time.UnixMilli(next)
}
