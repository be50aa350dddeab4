package upkeep

import (
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestWhatIsDeletedIsNotForgottenByAnotherDeletion: two who delete the same runs at once may write down what they do in either order.
func TestWhatIsDeletedIsNotForgottenByAnotherDeletion(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		q := db.New()
		for _, note := range []struct {
			at time.Time
			by string
		}{{time.Unix(2000, 0), "ann"}, {time.Unix(3000, 0), "bob"}, {time.Unix(1000, 0), "eve"}} {
			if err := q.SetDeletion(t.Context(), pool, db.SetDeletionParams{What: DeletedByClearing, JobID: 7, BeforeAt: note.at.UnixMilli(), MadeBy: note.by, MadeAt: note.at.UnixMilli()}); err != nil {
				t.Fatal(err)
			}
		}
		d, err := q.GetDeletion(t.Context(), pool, db.GetDeletionParams{What: DeletedByClearing, JobID: 7})
		if want := time.Unix(3000, 0).UnixMilli(); err != nil || d.BeforeAt != want || d.MadeAt != want || d.MadeBy != "bob" {
			t.Errorf("noted: before %d by %s at %d, %v; want %d by bob", d.BeforeAt, d.MadeBy, d.MadeAt, err, want)
		}
	})
}
