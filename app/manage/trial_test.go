package manage

import (
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
)

// TestAJobThatMovesAwayIsNotTried: its new group may be one in which the principal may run nothing, and the address is the old one's.
func TestAJobThatMovesAwayIsNotTried(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		id := b.create(t, func(in *JobInput) {
			in.Glue, in.Handler, in.GlueSource, in.GlueRemark = wire.GlueShell, "", "date", "first"
		})
		b.engine.live = []scheduler.AddressState{{Address: "http://10.0.0.1:9999/", Live: true}}
		try := func() error {
			_, err := b.Jobs.TryScript(t.Context(), b.admin, id, TrialInput{Source: "date -u", Address: "10.0.0.1:9999"})
			return err
		}
		if err := try(); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.ExecContext(t.Context(), "DELETE FROM punctual_trial"); err != nil { // the engine has one run
			t.Fatal(err)
		}
		b.engine.onTrigger = func() error {
			_, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET job_group = job_group + 1 WHERE id = ?", id)
			return err
		}
		if err := try(); kind(err) != "409 problem.changed" {
			t.Errorf("moved meanwhile: %s", kind(err))
		}
	})
}
