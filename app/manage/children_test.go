package manage

import (
	"strconv"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

func TestJobsDoNotStartThemselves(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		child := func(id int64) func(*JobInput) {
			return func(in *JobInput) { in.ChildJobIDs = strconv.FormatInt(id, 10) }
		}
		last := b.create(t, nil)
		middle := b.create(t, child(last))
		first := b.create(t, child(middle))
		for _, tt := range []struct {
			name      string
			job, kids int64
			want      string
		}{
			{"a grandchild starts its grandparent", last, first, "422 children:job.error.child_cycle"},
			{"a child starts its parent", last, middle, "422 children:job.error.child_cycle"},
			{"two ways to the same child", first, last, "ok"},
		} {
			if got := kind(b.Jobs.Update(t.Context(), b.user, tt.job, b.job(child(tt.kids)))); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
		if err := b.Jobs.Start(t.Context(), b.user, first); err != nil {
			t.Fatal(err)
		}
		at := time.UnixMilli(b.read(t, first).TriggerNextTime)
		for except, want := range map[int64]int64{0: 1, first: 0} {
			if n, err := b.Jobs.DueAt(t.Context(), at, except); err != nil || n != want {
				t.Errorf("%d jobs besides %d, %v", n, except, err)
			}
		}
	})
}
