package db_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
)

// TestAnotherServerIsTaken has the server that serves go in different ways; a second one is there.
func TestAnotherServerIsTaken(t *testing.T) {
	t.Parallel()
	cfg, err := mysql.ParseDSN(dbtest.MariaDB(t))
	if err != nil {
		t.Fatal(err)
	}
	one, two := dbtest.NewProxy(t, cfg.Net, cfg.Addr), dbtest.NewProxy(t, cfg.Net, cfg.Addr)
	const secret = "Se-cr-et"
	mustOpen := func() *db.Pool {
		return dbtest.Open(t, db.Config{URL: "mysql://root@" + one.Addr() + "," + two.Addr() + "/" + cfg.DBName})
	}
	pool := mustOpen()
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	write := func(limit time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		return pool.Tx(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE punctual_setting SET updated_at = 1")
			return err
		})
	}
	serves := func(p *dbtest.Proxy) {
		t.Helper()
		if !strings.HasSuffix(pool.String(), " at "+p.Addr()+" (one of 2)") {
			t.Errorf("the pool is %s; want %s", pool, p.Addr())
		}
	}
	// Some connections are open when it happens.
	var held []*sql.Conn
	for range 4 {
		conn, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
	}
	for _, conn := range held {
		conn.Close()
	}
	serves(one)

	// Its packets vanish. The first call pays with its time, the others do not.
	one.Swallow()
	if err := write(500 * time.Millisecond); err == nil {
		t.Error("a write into a network that is gone succeeds")
	}
	began := time.Now()
	if err := write(20 * time.Second); err != nil {
		t.Errorf("after the fail-over: %v", err)
	}
	t.Logf("served by the second after %v", time.Since(began).Round(10*time.Millisecond))
	serves(two)

	// It comes back, and the other breaks its connections.
	one.Restore()
	two.Cut()
	if err := write(20 * time.Second); err != nil {
		t.Errorf("after broken connections: %v", err)
	}

	// Both are gone: an error that says so without the password, and does not wait for ever.
	one.Swallow()
	two.Swallow()
	passed := executortest.Watch()
	_, err = db.Open(t.Context(), db.Config{URL: "mysql://root:" + secret + "@" + one.Addr() + "," + two.Addr() + "/" + cfg.DBName})
	if err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), two.Addr()) || !db.IsUnavailable(err) || strings.Contains(err.Error(), "\n") {
		t.Errorf("both gone: %v", err)
	}
	if took := passed(); took > 15*time.Second {
		t.Errorf("it took %v to say so", took)
	}
}

// TestAServerThatCannotWriteIsLeft makes the server read-only: with one server that is an error, with two the other is asked.
func TestAServerThatCannotWriteIsLeft(t *testing.T) {
	t.Parallel()
	server := dbtest.NewServer(t)
	spare := dbtest.NewServer(t)
	first, second := proxied(t, server), proxied(t, spare)
	pool := dbtest.Open(t, db.Config{URL: "mysql://root@" + first + "," + second + "/mysql"})
	if !strings.HasSuffix(pool.String(), " at "+first+" (one of 2)") {
		t.Fatalf("it is %s", pool)
	}
	mustExec(t, pool.DB, "SET GLOBAL read_only = 1")
	// Connections that were open notice at their first refused statement; root is never refused, so a new one is made.
	pool.SetMaxIdleConns(0)
	pool.SetMaxIdleConns(4)
	if err := pool.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(pool.String(), " at "+second+" (one of 2)") {
		t.Errorf("%s serves although it is read-only", pool)
	}
	alone, err := db.Open(t.Context(), db.Config{URL: "mysql://root@" + first + "/mysql"})
	if err != nil {
		t.Fatalf("a lone server is all there is: %v", err)
	}
	alone.Close()
}

// proxied is an address at which a server can be reached.
func proxied(t *testing.T, s *dbtest.Server) string {
	t.Helper()
	cfg, err := mysql.ParseDSN(s.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	return dbtest.NewProxy(t, cfg.Net, cfg.Addr).Addr()
}
