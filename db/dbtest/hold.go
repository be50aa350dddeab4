package dbtest

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/executortest"
)

// Hold has a transaction of a pool keep its locks for as long as the test takes. MariaDB ends those of our sessions that say nothing for two
// seconds: a busy machine would lose one, and whoever must not wait for it would not, as its lock is gone when their own wait is over.
func Hold(t testing.TB, pool *db.Pool, tx *sql.Tx) {
	t.Helper()
	if pool.Dialect() == db.SQLite {
		return
	}
	if _, err := tx.ExecContext(t.Context(), "SET @nothing = 0 /*M! , SESSION idle_write_transaction_timeout = 0, SESSION idle_transaction_timeout = 0 */"); err != nil {
		t.Fatal(err)
	}
}

// AwaitStatement waits until another session of a pool's database is at a statement that has one of these texts, as one is that waits for a lock. The
// values are not in the text of one that the server has prepared. A session has the text for a moment after its answer: who has just sent one of these
// sends another before, such as Hold.
func AwaitStatement(t testing.TB, pool *db.Pool, texts ...string) {
	t.Helper()
	executortest.Eventually(t, "statement with "+strings.Join(texts, " or "), func() error {
		for _, text := range texts {
			var n int
			err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE ?", "%"+text+"%").Scan(&n)
			if err != nil || n > 0 {
				return err
			}
		}
		return executortest.ErrNotYet
	})
}
