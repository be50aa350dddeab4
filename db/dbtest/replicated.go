package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor/executortest"
)

// Replicated are two servers, of which the second copies what the first has committed, a moment later and asked by nobody:
// asynchronous replication, as most clusters of MySQL have it.
type Replicated struct {
	tb              testing.TB
	source, replica *Server
	ports           [2]string
}

// NewReplicated starts a source and its replica for one test.
func NewReplicated(tb testing.TB) *Replicated {
	tb.Helper()
	if outside != "" {
		tb.Skip("this test wants servers of its own to stop and kill, and TEST_DATABASE_URL names another")
	}
	r := &Replicated{tb: tb}
	for i := range r.ports {
		port := executortest.FreePort(tb)
		s, err := prepare(chosen())
		check(tb, err)
		tb.Cleanup(s.remove)
		s.args = []string{"--skip-networking=OFF", "--bind-address=127.0.0.1", "--port=" + port, fmt.Sprintf("--server-id=%d", i+1), "--log-bin=log", "--binlog-format=ROW"}
		check(tb, s.install())
		check(tb, s.start())
		r.ports[i] = port
		if i == 0 {
			r.source = s
		} else {
			r.replica = s
		}
	}
	for _, s := range []*Server{r.source, r.replica} { // who comes over TCP is another than who comes through the socket
		r.exec(s, "SET sql_log_bin = 0; CREATE USER '"+tcpAccount+"'@'127.0.0.1'; GRANT ALL ON *.* TO '"+tcpAccount+"'@'127.0.0.1' WITH GRANT OPTION")
	}
	r.exec(r.replica, fmt.Sprintf(r.words("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=%s, MASTER_USER='"+tcpAccount+"', MASTER_LOG_FILE='log.000001', MASTER_LOG_POS=4; START SLAVE"), r.ports[0]))
	r.exec(r.replica, "SET GLOBAL read_only = 1")
	return r
}

// words are a statement in the words of the server: MySQL has others than MariaDB since 8.4.
func (r *Replicated) words(statement string) string {
	if _, maria := chosen().(interface{ maria() }); maria {
		return statement
	}
	return strings.NewReplacer("CHANGE MASTER", "CHANGE REPLICATION SOURCE", "MASTER_", "SOURCE_", "SLAVE", "REPLICA").Replace(statement)
}

// exec runs statements on one connection.
func (r *Replicated) exec(s *Server, statements string) {
	r.tb.Helper()
	pool, err := sql.Open("mysql", s.DSN(""))
	check(r.tb, err)
	defer pool.Close()
	conn, err := pool.Conn(context.Background())
	check(r.tb, err)
	defer conn.Close()
	for statement := range strings.SplitSeq(statements, "; ") {
		if _, err := conn.ExecContext(context.Background(), statement); err != nil {
			r.tb.Fatalf("%s: %v\nserver's log: %s", statement, err, s.log())
		}
	}
}

// URL is that of an empty database, as an operator writes it who names both.
func (r *Replicated) URL() string {
	r.tb.Helper()
	r.exec(r.source, "CREATE DATABASE t CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci")
	return "mysql://" + tcpAccount + "@" + net.JoinHostPort("127.0.0.1", r.ports[0]) + "," + net.JoinHostPort("127.0.0.1", r.ports[1]) + "/t"
}

// FallBehind has the replica copy nothing from now on: what is committed now is on the source alone.
func (r *Replicated) FallBehind() {
	r.tb.Helper()
	r.exec(r.replica, r.words("STOP SLAVE"))
}

// Replica asks the replica one number.
func (r *Replicated) Replica(ctx context.Context, query string) (n int64, err error) {
	pool, err := sql.Open("mysql", r.replica.DSN("t"))
	if err != nil {
		return 0, err
	}
	err = pool.QueryRowContext(ctx, query).Scan(&n)
	return n, errors.Join(err, pool.Close())
}

// Failover kills the source and makes the replica what everybody works on.
func (r *Replicated) Failover() {
	r.tb.Helper()
	r.source.Kill()
	r.exec(r.replica, "SET GLOBAL read_only = 0")
}
