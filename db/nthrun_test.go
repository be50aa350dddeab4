package db_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// What is cleared hangs on this id: it may spare more than was asked for, and never less.
func TestNthNewestRunID(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		check := func(ids []int64) {
			t.Helper()
			for n := range int64(len(ids)) + 3 {
				got, err := db.NthNewestRunID(t.Context(), pool, n)
				switch {
				case n >= int64(len(ids)):
					if !errors.Is(err, db.ErrNotFound) {
						t.Errorf("after the newest %d of %d: %d, %v", n, len(ids), got, err)
					}
				case err != nil || got != ids[int64(len(ids))-1-n]:
					t.Errorf("after the newest %d of %v: %d, %v", n, ids, got, err)
				}
			}
		}
		check(nil)
		ids := bulkRuns(t, pool, make([]db.NewRun, 40)...)
		check(ids)
		// Gaps of all sizes, as clearing and retention leave them.
		gone := slices.Concat(ids[3:4], ids[8:25], ids[30:31], ids[33:35])
		if _, err := db.New().DeleteRuns(t.Context(), pool, gone); err != nil {
			t.Fatal(err)
		}
		ids = slices.DeleteFunc(ids, func(id int64) bool { return slices.Contains(gone, id) })
		check(ids)
	})
}
