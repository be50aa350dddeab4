package db_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
)

// twoPools are two programs on one database, which has a row to fight for.
func twoPools(t *testing.T) (first, second *db.Pool) {
	t.Helper()
	dsn := dbtest.MariaDB(t)
	first, second = dbtest.Open(t, db.Config{URL: dsn}), dbtest.Open(t, db.Config{URL: dsn})
	if err := first.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustExec(t, first.DB, "INSERT INTO punctual_setting (name, value, updated_at) VALUES ('row', '', 0)")
	return first, second
}

const touch = "UPDATE punctual_setting SET updated_at = updated_at + 1 WHERE name = 'row'"

// lockRow begins a transaction that has locked the row and does nothing more.
func lockRow(t *testing.T, pool *db.Pool, before ...string) *sql.Tx {
	t.Helper()
	tx, err := pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	if !endsIdle(pool) {
		before = nil
	}
	for _, statement := range append(before, touch) {
		if _, err := tx.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return tx
}

// endsIdle says that the server ends idle transactions by itself.
func endsIdle(pool *db.Pool) bool { return strings.HasPrefix(pool.Product(), "MariaDB") }

// forget makes a session one of a server that ends no idle transactions, as MySQL's are.
const forget = "SET SESSION idle_write_transaction_timeout = 0, idle_transaction_timeout = 0"

// TestALockedRowIsAnError meets a row that stays locked: the transaction ends within seconds, whole.
func TestALockedRowIsAnError(t *testing.T) {
	t.Parallel()
	holder, other := twoPools(t)
	lockRow(t, holder, forget)
	// Somebody whose session is not the pool's has waited for the row before, and goes on with that.
	patient, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer patient.Close()
	if _, err := patient.ExecContext(t.Context(), "SET SESSION innodb_lock_wait_timeout = 600"); err != nil {
		t.Fatal(err)
	}
	waits, giveUp := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() {
		_, err := patient.ExecContext(waits, touch)
		waited <- err
	}()
	began, tries, limit := time.Now(), 0, 0
	err = other.Tx(t.Context(), func(tx *sql.Tx) error {
		tries++
		if err := tx.QueryRowContext(t.Context(), "SELECT @@innodb_lock_wait_timeout").Scan(&limit); err != nil {
			return err
		}
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO punctual_setting (name, value, updated_at) VALUES ('half', '', 0)"); err != nil {
			return err
		}
		_, err := tx.ExecContext(t.Context(), touch)
		return err
	})
	if took := time.Since(began); !db.IsLocked(err) || !db.IsTransient(err) || tries != 1 || took < time.Second || limit != 2 {
		t.Errorf("after %v and %d tries, each for %d s: %v, want a locked row after about 2 s and one try", took, tries, limit, err)
	}
	select {
	case err := <-waited:
		t.Errorf("who waits for longer had it before: %v", err)
	default:
	}
	giveUp()
	if n := count(t, other.DB, "punctual_setting WHERE name = 'half'"); n != 0 {
		t.Error("what the transaction did before the wait is still there")
	}
}

// TestAnIdleTransactionIsEnded has a program stop in the middle of a transaction.
func TestAnIdleTransactionIsEnded(t *testing.T) {
	t.Parallel()
	holder, other := twoPools(t)
	if !endsIdle(holder) {
		t.Skipf("%s does not: the other admins do it, see TestEndSessions", holder.Product())
	}
	var after int
	if err := holder.QueryRowContext(t.Context(), "SELECT @@idle_write_transaction_timeout").Scan(&after); err != nil || after != 2 {
		t.Errorf("its server ends one after %d s, %v", after, err)
	}
	tx := lockRow(t, holder)
	awaitRow(t, other)
	if _, err := tx.ExecContext(t.Context(), touch); err == nil {
		t.Error("the transaction goes on as if nothing had been")
	}
	if err := holder.Tx(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), touch)
		return err
	}); err != nil {
		t.Errorf("the pool afterwards: %v", err)
	}
}

// awaitRow changes the row as soon as it can be. Whoever has locked it would keep it for longer than a test has patience.
func awaitRow(t *testing.T, pool *db.Pool) {
	t.Helper()
	began := time.Now()
	for {
		_, err := pool.ExecContext(t.Context(), touch)
		if err == nil {
			t.Logf("free after %v", time.Since(began).Round(10*time.Millisecond))
			return
		}
		if !db.IsLocked(err) || time.Since(began) > executortest.Patience {
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
	}
}

// TestEndSessions ends what a program that stopped has open, on a server that does not do it by itself.
func TestEndSessions(t *testing.T) {
	t.Parallel()
	holder, other := twoPools(t)
	elsewhere := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t)}) // as the database that this one was copied from
	if err := elsewhere.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	var tx *sql.Tx
	var list string
	for busy := true; busy; {
		began := time.Now()
		tx = lockRow(t, holder, forget)
		holder.SetMaxIdleConns(0) // those that have been idle for as long as the test needed to come here
		if list = holder.Sessions(); list == "" || !strings.Contains(list, ":") {
			t.Fatalf("the holder's sessions are %q", list)
		}
		n, err := other.EndSessions(t.Context(), list)
		// A server counts in whole seconds, of which a second and a bit may be two.
		if busy = n > 0 && time.Since(began) > time.Second; err != nil || n > 0 && !busy {
			t.Errorf("ended %d sessions that were busy a moment ago, %v", n, err)
		}
	}
	if n, err := other.EndSessions(t.Context(), other.Sessions()); err != nil || n != 0 {
		t.Errorf("ended %d of its own sessions, %v", n, err)
	}
	if n, err := other.EndSessions(t.Context(), "ffffffff"+list[strings.Index(list, ":"):]); err != nil || n != 0 {
		t.Errorf("ended %d sessions of another server, %v", n, err)
	}
	executortest.Eventually(t, "end of the sessions", func() error {
		n, err := other.EndSessions(t.Context(), list)
		if err == nil && n == 0 {
			err = executortest.ErrNotYet
		}
		return err
	})
	if n, err := other.EndSessions(t.Context(), elsewhere.Sessions()); err != nil || n != 0 || elsewhere.Sessions() == "" { // idle for longer than those
		t.Errorf("ended %d sessions of another database on the server, %v", n, err)
	}
	awaitRow(t, other)
	if err := tx.Commit(); err == nil {
		t.Error("the transaction that was ended commits")
	}
	if err := holder.PingContext(t.Context()); err != nil {
		t.Errorf("the holder afterwards: %v", err)
	}
	for _, nonsense := range []string{"", ":", "x:1", "1,2", list + ":,;"} {
		if _, err := other.EndSessions(t.Context(), nonsense); err != nil {
			t.Errorf("%q: %v", nonsense, err)
		}
	}
}

// TestSessionsAreListed opens and closes connections.
func TestSessionsAreListed(t *testing.T) {
	t.Parallel()
	pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t)})
	<-pool.SessionsChanged()
	one, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	two, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	<-pool.SessionsChanged()
	var id string
	if err := two.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	if list := pool.Sessions(); strings.Count(list, ",") != 1 || !strings.Contains(list, id) {
		t.Errorf("two sessions, of which one is %s: %q", id, list)
	}
	_ = two.Raw(func(any) error { return errBad })
	two.Close()
	pool.SetMaxIdleConns(0)
	one.Close()
	if list := pool.Sessions(); list != "" {
		t.Errorf("no session: %q", list)
	}
	embedded := dbtest.Open(t, db.Config{DataDir: t.TempDir()})
	if list := embedded.Sessions(); list != "" || embedded.SessionsChanged() != nil {
		t.Errorf("the embedded database has sessions: %q", list)
	}
	if n, err := embedded.EndSessions(t.Context(), "x:1"); n != 0 || err != nil {
		t.Errorf("ended %d of the embedded database's sessions, %v", n, err)
	}
}

var errBad = errors.New("bad")

// TestNothingWaitsForANetworkThatIsGone has the network swallow what is sent, at each step of a transaction.
func TestNothingWaitsForANetworkThatIsGone(t *testing.T) {
	t.Parallel()
	cfg, err := mysql.ParseDSN(dbtest.MariaDB(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := dbtest.NewProxy(t, cfg.Net, cfg.Addr)
	pool := dbtest.Open(t, db.Config{URL: "mysql://root@" + proxy.Addr() + "/" + cfg.DBName})
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"statement", "commit", "rollback"} {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		passed := executortest.Watch()
		err := pool.Tx(ctx, func(tx *sql.Tx) error {
			if at == "statement" {
				proxy.Swallow()
			}
			_, err := tx.ExecContext(ctx, touch)
			proxy.Swallow()
			if at == "rollback" {
				return errBad
			}
			return err
		})
		// A rollback is given two seconds, of which nobody needs to know what came of it.
		if took := passed(); err == nil || took > 8*time.Second {
			t.Errorf("%s: %v after %v", at, err, took)
		}
		cancel()
		proxy.Restore()
		if _, err := pool.ExecContext(t.Context(), touch); err != nil {
			t.Errorf("%s: when the network is back: %v", at, err)
		}
	}
}

// TestAPreparedStatementMeetsAChangedTable: while an admin runs another one migrates, and builds or removes indexes.
func TestAPreparedStatementMeetsAChangedTable(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.MySQL)
	db.KeepAtOnce(pool)
	mustExec(t, pool.DB, "CREATE TABLE kept (id BIGINT PRIMARY KEY, a INT, KEY of_a (a))")
	mustExec(t, pool.DB, "INSERT INTO kept VALUES (1, 5)")
	for _, c := range []struct {
		change string
		want   []int64
	}{
		{"", []int64{1, 5}},
		{"ALTER TABLE kept ADD COLUMN b INT NOT NULL DEFAULT 7", []int64{1, 5, 7}},
		{"DROP INDEX of_a ON kept", []int64{1, 5, 7}},
		{"ALTER TABLE kept DROP COLUMN b, MODIFY id VARCHAR(20)", []int64{1, 5}},
	} {
		if c.change != "" {
			mustExec(t, pool.DB, c.change)
		}
		rows, err := pool.QueryContext(t.Context(), "SELECT * FROM kept FORCE INDEX (of_a) WHERE a = ?", 5)
		if err != nil {
			t.Fatalf("after %q: %v", c.change, err)
		}
		columns, err := rows.Columns()
		if err != nil || !rows.Next() {
			t.Fatalf("after %q: %v %v", c.change, err, rows.Err())
		}
		got, into := make([]int64, len(columns)), make([]any, len(columns))
		for i := range into {
			into[i] = &got[i]
		}
		if err := errors.Join(rows.Scan(into...), rows.Close()); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("after %q: %v, %v; want %v", c.change, got, err, c.want)
		}
	}
}

// TestNothingIsPreparedOnAGaleraCluster: there another node's change goes first, and the next statement of a transaction hears that it was undone
// for it. Where that were one of those that only prepare, what followed would be committed without what came before.
func TestNothingIsPreparedOnAGaleraCluster(t *testing.T) {
	g := dbtest.NewGalera(t)
	name := g.Database(t)
	pool := dbtest.Open(t, db.Config{URL: g.URL(name, g.Addr(0))})
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	db.KeepAtOnce(pool)
	here, there := dbtest.Open(t, db.Config{URL: g.URL(name, g.Addr(0))}), dbtest.Open(t, db.Config{URL: g.URL(name, g.Addr(1))})
	mustExec(t, pool.DB, "INSERT INTO punctual_setting (name, value, updated_at) VALUES ('row', '', 0)")
	awaitCount(t, there, "name = 'row'", 1)
	tx, err := pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), touch); err != nil {
		t.Fatal(err)
	}
	mustExec(t, there.DB, "UPDATE punctual_setting SET value = 'theirs' WHERE name = 'row'")
	awaitCount(t, here, "name = 'row' AND value = 'theirs'", 1)
	if _, err := tx.ExecContext(t.Context(), "INSERT INTO punctual_setting (name, value, updated_at) VALUES (?, '', 0)", "after"); !db.IsTransient(err) {
		t.Errorf("the next statement of a transaction that was undone: %v", err)
	}
	_ = tx.Rollback()
	if n := count(t, pool.DB, "punctual_setting WHERE name = 'after'"); n != 0 {
		t.Error("what came after is there without what came before")
	}
	var variable string
	var prepared int
	if err := pool.QueryRowContext(t.Context(), "SHOW STATUS LIKE 'Com_stmt_prepare'").Scan(&variable, &prepared); err != nil || prepared > 0 {
		t.Errorf("%d statements were prepared: %v", prepared, err)
	}
}

// awaitCount waits until so many settings are as a condition says.
func awaitCount(t *testing.T, pool *db.Pool, where string, want int) {
	t.Helper()
	executortest.Eventually(t, where, func() error {
		if count(t, pool.DB, "punctual_setting WHERE "+where) != want {
			return executortest.ErrNotYet
		}
		return nil
	})
}
