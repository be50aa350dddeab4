package db_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestMigrateRoutesOfAllCausesNameNone: those that were there before a cause hear of it too, unless somebody has chosen among them.
func TestMigrateRoutesOfAllCausesNameNone(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		mustExec(t, pool.DB, `INSERT INTO punctual_alarm_route (channel_id, scope, scope_id, causes) VALUES
			(1, 'all', 0, 'failed,timeout,lost,dispatch,slow,silent,deadline,recovered'), (2, 'all', 0, 'failed,timeout,lost,dispatch,slow,silent,recovered'),
			(3, 'all', 0, 'failed,timeout,lost,dispatch,misfire,slow,silent,deadline,recovered'), (4, 'all', 0, 'approval'), (5, 'all', 0, '')`)
		mustExec(t, pool.DB, "DELETE FROM "+db.TestVersionTable+" WHERE version_id = 300")
		if err := pool.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		rows, err := db.New().ListAlarmRoutes(t.Context(), pool)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range rows {
			got = append(got, r.Causes)
		}
		want := []string{"", "failed,timeout,lost,dispatch,slow,silent,recovered", "failed,timeout,lost,dispatch,misfire,slow,silent,deadline,recovered", "approval", ""}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
