package db_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestMigrateKeepsTheRightToStartAndStop brings up to date what a program left in which that was part of the right to run.
func TestMigrateKeepsTheRightToStartAndStop(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		mustExec(t, pool.DB, "INSERT INTO punctual_permission (user_id, group_id, rights) VALUES (1, 1, 1), (1, 2, 3), (1, 3, 5), (2, 1, 15)")
		mustExec(t, pool.DB, "INSERT INTO punctual_api_token (user_id, name, hash, rights, group_ids) VALUES (1, 'view', 'a', 1, ''), (1, 'run', 'b', 3, ''), (1, 'edit', 'c', 5, '')")
		mustExec(t, pool.DB, "DELETE FROM "+db.TestVersionTable+" WHERE version_id IN (160, 161)")
		if err := pool.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := make(map[string]int64)
		for _, query := range []string{"SELECT CONCAT(user_id, ' ', group_id), rights FROM punctual_permission", "SELECT name, rights FROM punctual_api_token"} {
			rows, err := pool.QueryContext(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
				var name string
				var rights int64
				if err := rows.Scan(&name, &rights); err != nil {
					t.Fatal(err)
				}
				got[name] = rights
			}
			if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
		}
		want := map[string]int64{"1 1": 1, "1 2": 19, "1 3": 5, "2 1": 31, "view": 1, "run": 19, "edit": 5}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
