package db

import "context"

// countParts is how many parts of the newest runs are counted at the same time.
const countParts = 4

// NthNewestRunID finds the id of the run after the newest n of everything, or [ErrNotFound] where there are no more than n. Runs that
// come meanwhile are spared on top of them.
//
// Ids follow each other closely, so nearly all of the n lie above the highest id less n: those are counted in parts, side by side, and
// only what is missing is walked through.
func NthNewestRunID(ctx context.Context, pool *Pool, n int64) (int64, error) {
	q := New()
	top, err := q.MaxRunID(ctx, pool)
	if err != nil {
		return 0, Error(err)
	}
	from := max(top-n, 0)
	counts := make([]int64, countParts)
	err = pool.sideBySide(ctx, countParts, func(i int) (err error) {
		counts[i], err = q.CountRunsBetween(ctx, pool, CountRunsBetweenParams{
			After: from + (top-from)*int64(i)/countParts, Upto: from + (top-from)*int64(i+1)/countParts,
		})
		return err
	})
	if err != nil {
		return 0, Error(err)
	}
	for _, c := range counts {
		n -= c
	}
	id, err := q.NthRunIDUpTo(ctx, pool, NthRunIDUpToParams{Upto: from, Offset: int32(n)})
	return id, Error(err)
}
