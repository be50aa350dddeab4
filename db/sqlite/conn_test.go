package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/punctual-job/punctual/db/sqlite"
)

func open(t testing.TB, opt sqlite.Options) *sql.DB {
	t.Helper()
	c, err := sqlite.NewConnector(filepath.Join(t.TempDir(), "a b?.db"), opt)
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(c)
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	exec(t, pool, "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, n BIGINT NOT NULL DEFAULT 0, at DATETIME)")
	return pool
}

type executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func exec(t testing.TB, on executor, query string, args ...any) sql.Result {
	t.Helper()
	res, err := on.ExecContext(context.Background(), query, args...)
	if err != nil {
		t.Fatalf("%.80s: %v", query, err)
	}
	return res
}

func number(t testing.TB, pool *sql.DB, query string, args ...any) int {
	t.Helper()
	var n int
	if err := pool.QueryRowContext(context.Background(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestPragmas(t *testing.T) {
	t.Parallel()
	pool := open(t, sqlite.Options{})
	for name, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "busy_timeout": "5000", "cache_size": "-16384", "foreign_keys": "1", "journal_size_limit": "67108864",
	} {
		var got string
		if err := pool.QueryRow("PRAGMA " + name).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %s, %v, want %s", name, got, err, want)
		}
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	pool := open(t, sqlite.Options{})
	tests := []struct {
		name   string
		query  string
		id     int64
		noID   bool
		rows   int64
		before string
	}{
		{name: "DDL changes no row", query: "CREATE INDEX i ON t (n)"},
		{name: "a single insert", query: "INSERT INTO t (name) VALUES ('a')", id: 1, rows: 1},
		{name: "several rows give the first id", query: "INSERT INTO t (name) VALUES ('b'), ('c'), ('d')", id: 2, rows: 3},
		{name: "rows of a select too", query: "INSERT INTO t (n) SELECT n FROM t WHERE name > 'b'", id: 5, rows: 2},
		{name: "ids that were deleted do not come back", before: "DELETE FROM t WHERE id > 4", query: "INSERT INTO t (name) VALUES ('e')", id: 7, rows: 1},
		{name: "insert ignore of a row that is there", query: "INSERT IGNORE INTO t (name) VALUES ('a')"},
		{name: "insert ignore of a new row; the ignored one has used up an id, as on MySQL", query: "INSERT IGNORE INTO t (name) VALUES ('f')", id: 9, rows: 1},
		{name: "no id for an upsert", query: "INSERT INTO t (name, n) VALUES ('a', 5) ON DUPLICATE KEY UPDATE n = n + VALUES(n)", noID: true, rows: 1},
		{name: "an update counts what matches, changed or not", query: "UPDATE t SET n = n WHERE id <= 3", rows: 3},
		{name: "an update of nothing", query: "UPDATE t SET n = 1 WHERE id < 0"},
		{name: "a delete with a limit", query: "DELETE FROM t WHERE id > 0 ORDER BY id DESC LIMIT 2", rows: 2},
		{name: "a select that is executed", query: "SELECT 1"},
	}
	for _, tt := range tests {
		if tt.before != "" {
			exec(t, pool, tt.before)
		}
		res := exec(t, pool, tt.query)
		id, err := res.LastInsertId()
		if id != tt.id || (err != nil) != tt.noID {
			t.Errorf("%s: id = %d, %v, want %d", tt.name, id, err, tt.id)
		}
		if rows, err := res.RowsAffected(); rows != tt.rows || err != nil {
			t.Errorf("%s: rows = %d, %v, want %d", tt.name, rows, err, tt.rows)
		}
	}
	if n := number(t, pool, "SELECT n FROM t WHERE name = 'a'"); n != 5 {
		t.Errorf("n after upsert = %d, want 5", n)
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	pool := open(t, sqlite.Options{})
	at := time.Date(2024, 3, 1, 4, 30, 5, 999999999, time.FixedZone("", 8*60*60))
	exec(t, pool, "INSERT INTO t (name, at) VALUES (?, ?)", []byte("字节"), at)
	exec(t, pool, "INSERT INTO t (name, at) VALUES (?, ?)", []byte(nil), sql.NullTime{})
	var text string
	var got time.Time
	err := pool.QueryRow("SELECT CAST(at AS CHAR), at FROM t WHERE name = ? AND at <= ?", "字节", at).Scan(&text, &got)
	if err != nil || text != "2024-02-29 20:30:05" || !got.Equal(at.Truncate(time.Second)) || got.Location() != time.UTC {
		t.Errorf("got %q, %v, %v", text, got, err)
	}
	if n := number(t, pool, "SELECT COUNT(*) FROM t WHERE name IS NULL AND at IS NULL"); n != 1 {
		t.Errorf("rows of NULLs = %d, want 1", n)
	}
	if n := number(t, pool, "SELECT COUNT(*) FROM t WHERE name LIKE ?", `字\%`); n != 0 {
		t.Errorf("an escaped wildcard matched")
	}
}

// TestWriterWaits holds the writer pool and checks who waits for it, and how long.
func TestWriterWaits(t *testing.T) {
	t.Parallel()
	pool := open(t, sqlite.Options{})
	ctx := t.Context()
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, tx, "INSERT INTO t (name) VALUES ('uncommitted')")

	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := pool.ExecContext(short, "INSERT INTO t (name) VALUES ('late')"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("single write while the pool is held: %v", err)
	}
	if _, err := pool.BeginTx(short, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("transaction while the pool is held: %v", err)
	}
	// More writers than there would ever be connections wait, and reads still pass.
	var writers sync.WaitGroup
	waiting, stop := context.WithCancel(ctx)
	for range 200 {
		writers.Go(func() {
			if _, err := pool.ExecContext(waiting, "INSERT INTO t (name) VALUES ('never')"); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled writer: %v", err)
			}
		})
	}
	for range 100 {
		if n := number(t, pool, "SELECT COUNT(*) FROM t"); n != 0 {
			t.Fatalf("a read saw %d uncommitted rows", n)
		}
	}
	read, err := pool.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read.ExecContext(ctx, "INSERT INTO t (name) VALUES ('x')"); err == nil {
		t.Error("a read-only transaction wrote")
	}
	stop()
	writers.Wait()
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := read.Commit(); err != nil {
		t.Fatal(err)
	}
	exec(t, pool, "INSERT INTO t (name) VALUES ('after')")
	if n := number(t, pool, "SELECT COUNT(*) FROM t"); n != 2 {
		t.Errorf("rows = %d, want 2", n)
	}
}

// TestReadOnlySnapshot reads twice in one transaction while others write.
func TestReadOnlySnapshot(t *testing.T) {
	t.Parallel()
	pool := open(t, sqlite.Options{Unsafe: true})
	read, err := pool.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer read.Rollback()
	for range 2 {
		var n int
		if err := read.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t").Scan(&n); err != nil || n != 0 {
			t.Errorf("rows in the snapshot = %d, %v, want 0", n, err)
		}
		exec(t, pool, "INSERT INTO t (n) VALUES (1)")
	}
}

// TestLostTransaction interrupts a statement inside a transaction, which makes SQLite roll it back: what follows must not run by itself.
func TestLostTransaction(t *testing.T) {
	t.Parallel()
	pool := open(t, sqlite.Options{})
	tx, err := pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, tx, "INSERT INTO t (name) VALUES ('first')")
	for limit := 20 * time.Millisecond; ; limit *= 2 {
		short, cancel := context.WithTimeout(t.Context(), limit)
		_, err = tx.ExecContext(short, "INSERT INTO t (n) WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c")
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("endless insert: %v", err)
		}
		var n int
		if err := tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t").Scan(&n); err != nil || n != 1 || limit > time.Minute {
			break // else it had not begun in its time, on a machine that is busy
		}
	}
	if _, err := tx.ExecContext(t.Context(), "INSERT INTO t (name) VALUES ('second')"); err == nil {
		t.Error("a statement ran after its transaction was lost")
	}
	if err := tx.Commit(); err == nil {
		t.Error("a lost transaction was committed")
	}
	if n := number(t, pool, "SELECT COUNT(*) FROM t"); n != 0 {
		t.Errorf("rows = %d, want 0", n)
	}
	exec(t, pool, "INSERT INTO t (name) VALUES ('third')")
}

// TestConstraintKeepsTransaction: an error of one statement leaves the others, as on MySQL.
func TestConstraintKeepsTransaction(t *testing.T) {
	t.Parallel()
	pool := open(t, sqlite.Options{})
	tx, err := pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, tx, "INSERT INTO t (name) VALUES ('a')")
	if _, err := tx.ExecContext(t.Context(), "INSERT INTO t (name) VALUES ('b'), ('a')"); err == nil {
		t.Error("a duplicate was accepted")
	}
	exec(t, tx, "INSERT INTO t (name) VALUES ('c')")
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if n := number(t, pool, "SELECT COUNT(*) FROM t"); n != 2 {
		t.Errorf("rows = %d, want 2: the failed statement leaves nothing", n)
	}
}

// TestRowsWithinRows uses one query inside the loop over its own rows, and writes meanwhile, in one transaction.
func TestRowsWithinRows(t *testing.T) {
	t.Parallel()
	pool := open(t, sqlite.Options{})
	exec(t, pool, "INSERT INTO t (n) VALUES (1), (2), (3)")
	tx, err := pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	const query = "SELECT id FROM t WHERE n >= ? ORDER BY id"
	outer, err := tx.QueryContext(t.Context(), query, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer outer.Close()
	var pairs []string
	for outer.Next() {
		var a int
		if err := outer.Scan(&a); err != nil {
			t.Fatal(err)
		}
		inner, err := tx.QueryContext(t.Context(), query, 3)
		if err != nil {
			t.Fatal(err)
		}
		for inner.Next() {
			var b int
			if err := inner.Scan(&b); err != nil {
				t.Fatal(err)
			}
			pairs = append(pairs, fmt.Sprint(a, b))
		}
		if err := inner.Err(); err != nil {
			t.Fatal(err)
		}
		exec(t, tx, "UPDATE t SET at = ? WHERE id = ?", time.Now(), a)
	}
	if err := outer.Err(); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(pairs, ","), "1 3,2 3,3 3"; got != want {
		t.Errorf("pairs = %s, want %s", got, want)
	}
}

func TestManyPlaceholders(t *testing.T) {
	t.Parallel()
	pool := open(t, sqlite.Options{Unsafe: true})
	const rows = 500
	query, args := batch(rows, 20, 0)
	exec(t, pool, "CREATE TABLE w (id INTEGER PRIMARY KEY AUTOINCREMENT"+columns(20)+")")
	id, err := exec(t, pool, query, args...).LastInsertId()
	if err != nil || id != 1 {
		t.Errorf("first id = %d, %v", id, err)
	}
	if n := number(t, pool, "SELECT COUNT(*) FROM w"); n != rows {
		t.Errorf("rows = %d, want %d", n, rows)
	}
}

func columns(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ", c%d TEXT", i)
	}
	return b.String()
}

func batch(rows, cols, from int) (string, []any) {
	var b strings.Builder
	b.WriteString("INSERT INTO w (")
	for i := range cols {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "c%d", i)
	}
	b.WriteString(") VALUES ")
	var args []any
	for r := range rows {
		if r > 0 {
			b.WriteByte(',')
		}
		b.WriteString("(?" + strings.Repeat(",?", cols-1) + ")")
		for c := range cols {
			args = append(args, from+r*cols+c)
		}
	}
	return b.String(), args
}

// TestConcurrentUse mixes writers, transactions and readers; increments must neither be lost nor torn.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	pool := open(t, sqlite.Options{Unsafe: true, Readers: 2})
	exec(t, pool, "INSERT INTO t (id, n) VALUES (1, 0), (2, 0)")
	const workers, each = 8, 25
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range each {
				if (w+i)%2 == 0 {
					if _, err := pool.ExecContext(t.Context(), "UPDATE t SET n = n + 1 WHERE id <= 2"); err != nil {
						t.Error(err)
					}
				} else if err := addInTx(t.Context(), pool); err != nil {
					t.Error(err)
				}
				var torn int
				if err := pool.QueryRowContext(t.Context(), "SELECT MAX(n) - MIN(n) FROM t").Scan(&torn); err != nil || torn != 0 {
					t.Errorf("torn = %d, %v", torn, err)
				}
			}
		})
	}
	all.Wait()
	if n := number(t, pool, "SELECT CAST(SUM(n) AS SIGNED) FROM t"); n != 2*workers*each {
		t.Errorf("sum = %d, want %d", n, 2*workers*each)
	}
}

func addInTx(ctx context.Context, pool *sql.DB) error {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for id := 1; id <= 2; id++ {
		var n int
		if err := tx.QueryRowContext(ctx, "SELECT n FROM t WHERE id = ? FOR UPDATE", id).Scan(&n); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE t SET n = ? WHERE id = ?", n+1, id); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// TestStatementMemory uses more and longer statements than a session remembers, several times.
func TestStatementMemory(t *testing.T) {
	t.Parallel()
	pool := open(t, sqlite.Options{Unsafe: true, Readers: 1})
	for round := range 3 {
		for i := range 300 {
			pad := strings.Repeat(" ", (i%3)*3000)
			if n := number(t, pool, fmt.Sprintf("SELECT %s %d + ?", pad, i/9), round); n != i/9+round {
				t.Fatalf("got %d, want %d", n, i/9+round)
			}
		}
	}
}

func TestPreparedStatement(t *testing.T) {
	t.Parallel()
	pool := open(t, sqlite.Options{})
	stmt, err := pool.PrepareContext(t.Context(), "INSERT IGNORE INTO t (name) VALUES (?)")
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	for range 2 {
		if _, err := stmt.ExecContext(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	if n := number(t, pool, "SELECT COUNT(*) FROM t"); n != 1 {
		t.Errorf("rows = %d, want 1", n)
	}
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	c, err := sqlite.NewConnector(filepath.Join(t.TempDir(), "no", "such", "dir.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(c)
	defer pool.Close()
	if err := pool.PingContext(t.Context()); err == nil {
		t.Error("Ping opened a file in a directory that does not exist")
	}
}

// TestCloseInUse closes the pool while a query is open; the session goes when the rows do.
func TestCloseInUse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	c, err := sqlite.NewConnector(path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(c)
	exec(t, pool, "CREATE TABLE t (n INT)")
	exec(t, pool, "INSERT INTO t VALUES (1), (2)")
	rows, err := pool.QueryContext(t.Context(), "SELECT n FROM t")
	if err != nil {
		t.Fatal(err)
	}
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	rows.Close()
	if _, err := pool.ExecContext(t.Context(), "INSERT INTO t VALUES (3)"); err == nil {
		t.Error("a closed pool wrote")
	}
}
