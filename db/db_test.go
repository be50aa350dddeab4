package db_test

import (
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

func TestMigrateTwice(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		if err := pool.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_lock").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n != 1 {
			t.Errorf("rows in xxl_job_lock = %d, want 1", n)
		}
	})
}
