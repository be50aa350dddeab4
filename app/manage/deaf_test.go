package manage

import (
	"errors"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestWhatIsDoneIsNoFailure because this admin could not read it anew at once: whoever is told so does it again.
func TestWhatIsDoneIsNoFailure(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		b.engine.deaf = errors.New("the database is away")
		group, err := b.Groups.Create(t.Context(), b.admin, GroupInput{AppName: "late", Title: "late"})
		if err != nil || group == 0 {
			t.Fatalf("group %d, %v", group, err)
		}
		pause, err := b.Pauses.Create(t.Context(), b.admin, PauseInput{Scope: jobspec.PauseGroup, Target: group, From: b.now.Add(time.Hour), Strategy: jobspec.PauseSkip, Reason: "x"})
		if err != nil || pause == 0 {
			t.Fatalf("pause %d, %v", pause, err)
		}
		job := b.create(t, nil)
		if err := b.Jobs.Start(t.Context(), b.admin, job); err != nil {
			t.Fatal(err)
		}
		bulk, err := b.Jobs.Bulk(t.Context(), b.admin, Bulk{Do: BulkPause, IDs: []int64{job}, Pause: PauseInput{Strategy: jobspec.PauseSkip, Reason: "x"}})
		if err != nil || len(bulk) != 1 || bulk[0].Err != nil {
			t.Errorf("%+v, %v", bulk, err)
		}
		for what, err := range map[string]error{
			"end": b.Pauses.End(t.Context(), b.admin, pause), "change": b.Groups.Update(t.Context(), b.admin, group, GroupInput{AppName: "late", Title: "later"}), "delete": b.Groups.Delete(t.Context(), b.admin, group),
		} {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}
