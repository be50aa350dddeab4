package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/punctual-job/punctual/executor/executortest"
)

// Galera is three private MariaDB servers that are one cluster: each has all data, and each may be written to.
type Galera struct {
	Nodes []*Server

	network *network // nil: they talk over the loopback interface
	ports   []string // of the servers, then of their group communication
	next    int
}

const (
	galeraNodes = 3
	tcpAccount  = "cluster"
	// Nobody is missed while the nodes join, however long a busy machine lets one wait; then Galera's own times hold.
	whileJoining = "evs.inactive_timeout=PT60S;evs.suspect_timeout=PT30S;pc.wait_prim_timeout=PT60S"
	afterwards   = "evs.suspect_timeout=PT5S;evs.inactive_timeout=PT15S"
	// stateTransfer copies nothing: the servers begin with the same data, and what was written since the first began comes from
	// its cache. It needs no rsync and no second.
	stateTransfer = `#!/bin/sh
while [ $# -gt 0 ]; do case $1 in --role) role=$2 ;; --datadir) dir=$2 ;; --gtid) gtid=$2 ;; esac; shift; done
if [ "$role" = joiner ]; then echo "ready none"; cat "$dir/position"; else echo "done $gtid"; fi
`
)

// galeraLibrary is where Debian's galera-4 puts it.
const galeraLibrary = "/usr/lib/galera/libgalera_smm.so"

// galeraBrand is this machine's MariaDB, whatever the other tests run on.
var galeraBrand brand = machines{}

// NewGalera starts a cluster for one test, whose servers listen on ports of the loopback interface. It takes some ten seconds.
func NewGalera(tb testing.TB) *Galera {
	tb.Helper()
	return newGalera(tb, nil)
}

// NewGaleraApart starts a cluster each of whose servers has a network of its own, so that a test can cut one off from the
// others while programs still reach it: see [Galera.CutOff]. It needs the right to make networks, as root mostly has it.
func NewGaleraApart(tb testing.TB) *Galera {
	tb.Helper()
	needGalera(tb)
	network, err := newNetwork()
	if err != nil {
		tb.Skipf("no networks can be made here, which wants root and iproute2: %v", err)
	}
	tb.Cleanup(network.remove)
	return newGalera(tb, network)
}

func needGalera(tb testing.TB) {
	tb.Helper()
	if _, err := os.Stat(galeraLibrary); err != nil {
		missing := "galera-4 is not installed (apt-get install galera-4 gives it)"
		if os.Getenv("TEST_DB") == "required" {
			tb.Fatal(missing)
		}
		tb.Skip(missing)
	}
	if _, err := exec.LookPath(galeraBrand.program()); err != nil {
		check(tb, errMissing)
	}
}

func newGalera(tb testing.TB, network *network) *Galera {
	tb.Helper()
	needGalera(tb)
	var g *Galera
	var err error
	// A node that was taken for dead while it joined leaves the others without a majority. So a second try is a new cluster.
	for range 3 {
		g = &Galera{network: network}
		for range galeraNodes {
			s, err := prepare(galeraBrand)
			check(tb, err)
			tb.Cleanup(s.remove)
			g.Nodes = append(g.Nodes, s)
		}
		if err = g.start(tb); err == nil {
			return g
		}
		for i, s := range g.Nodes {
			tb.Logf("node %d: %s", i+1, s.log())
			s.Kill()
		}
	}
	tb.Fatalf("start a Galera cluster: %v", err)
	return nil
}

func (g *Galera) start(tb testing.TB) error {
	tb.Helper()
	for range 3 * galeraNodes {
		g.ports = append(g.ports, executortest.FreePort(tb))
	}
	tools := filepath.Join(g.Nodes[0].dir, "bin")
	if err := errors.Join(os.Mkdir(tools, 0o755), os.WriteFile(filepath.Join(tools, "wsrep_sst_same"), []byte(stateTransfer), 0o755)); err != nil {
		return err
	}
	members := make([]string, galeraNodes)
	for i := range members {
		members[i] = net.JoinHostPort(g.host(i), g.ports[galeraNodes+i])
	}
	for i, s := range g.Nodes {
		s.args = []string{
			"--skip-networking=OFF", "--bind-address=127.0.0.1", "--port=" + g.ports[i], "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2",
			"--innodb-flush-log-at-trx-commit=0", "--wsrep-on=ON", "--wsrep-provider=" + galeraLibrary, "--wsrep-cluster-name=" + filepath.Base(g.Nodes[0].dir),
			"--wsrep-node-name=" + fmt.Sprintf("node%d", i+1), "--wsrep-node-address=" + members[i],
			"--wsrep-cluster-address=gcomm://" + strings.Join(members, ","), "--wsrep-sst-method=same",
			"--wsrep-provider-options=gmcast.listen_addr=tcp://" + members[i] + ";ist.recv_addr=" + net.JoinHostPort(g.host(i), g.ports[2*galeraNodes+i]) + ";gcache.size=32M;" + whileJoining,
		}
		s.launch = func(cmd *exec.Cmd) error {
			cmd.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"))
			if g.network != nil {
				return g.network.launch(cmd, i, g.host(i))
			}
			return cmd.Start()
		}
	}
	if err := g.sameData(); err != nil {
		return err
	}
	for i := range g.Nodes { // one after the other: two that join at once wait for each other
		if err := g.join(i); err != nil {
			return fmt.Errorf("node %d: %w", i+1, err)
		}
	}
	for _, s := range g.Nodes {
		if err := s.exec(context.Background(), "SET GLOBAL wsrep_provider_options = '"+afterwards+"'"); err != nil {
			return err
		}
	}
	// Who comes over TCP is another than who comes through the socket.
	for _, host := range []string{"127.0.0.1", "localhost"} {
		account := fmt.Sprintf("'%s'@'%s'", tcpAccount, host)
		if err := errors.Join(g.exec("CREATE USER "+account), g.exec("GRANT ALL ON *.* TO "+account)); err != nil {
			return err
		}
	}
	return nil
}

// join starts a server and waits until it is part of the cluster.
func (g *Galera) join(i int) error {
	var first []string
	if i == 0 {
		first = []string{"--wsrep-new-cluster"}
	}
	if err := g.Nodes[i].start(first...); err != nil {
		return err
	}
	return g.Nodes[i].synced(i + 1)
}

func (g *Galera) exec(statement string) error {
	return g.Nodes[0].exec(context.Background(), statement)
}

// host is the address of a node for the others.
func (g *Galera) host(i int) string {
	if g.network != nil {
		return g.network.host(i)
	}
	return "127.0.0.1"
}

// sameData installs the first server, has it begin a cluster, and copies its files to the others.
func (g *Galera) sameData() error {
	s := g.Nodes[0]
	if err := s.install(); err != nil {
		return err
	}
	if err := s.start("--wsrep-new-cluster"); err != nil {
		return err
	}
	s.Stop()
	data := filepath.Join(s.dir, "d")
	state, err := os.ReadFile(filepath.Join(data, "grastate.dat"))
	if err != nil {
		return err
	}
	position := regexp.MustCompile(`uuid: *(\S+)\s*seqno: *(\d+)`).FindSubmatch(state)
	if position == nil {
		return fmt.Errorf("the state of a server that was stopped is unknown: %q", state)
	}
	if err := os.WriteFile(filepath.Join(data, "position"), fmt.Appendf(nil, "%s:%s\n", position[1], position[2]), 0o600); err != nil {
		return err
	}
	for _, name := range []string{"galera.cache", "gvwstate.dat"} {
		if err := os.Remove(filepath.Join(data, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	for _, other := range g.Nodes[1:] {
		if err := os.CopyFS(filepath.Join(other.dir, "d"), os.DirFS(data)); err != nil {
			return err
		}
	}
	return nil
}

// synced waits until a node is part of a cluster of so many.
func (s *Server) synced(size int) error {
	pool, err := sql.Open("mysql", s.DSN(""))
	if err != nil {
		return err
	}
	defer pool.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if s.wsrep(ctx, pool, "wsrep_ready") == "ON" && s.wsrep(ctx, pool, "wsrep_cluster_size") == strconv.Itoa(size) {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.done:
			return errors.New("it ended")
		case <-ctx.Done():
			return errors.New("it does not join the cluster")
		}
	}
}

func (s *Server) wsrep(ctx context.Context, pool *sql.DB, name string) (value string) {
	_ = pool.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&name, &value) // no answer is one too
	return value
}

// Primary reports whether a node belongs to the part of the cluster that may write.
func (g *Galera) Primary(tb testing.TB, i int) bool {
	tb.Helper()
	pool, err := sql.Open("mysql", g.Nodes[i].DSN(""))
	if err != nil {
		tb.Fatal(err)
	}
	defer pool.Close()
	return g.Nodes[i].wsrep(tb.Context(), pool, "wsrep_cluster_status") == "Primary"
}

// Database creates an empty database and returns the name.
func (g *Galera) Database(tb testing.TB) string {
	tb.Helper()
	g.next++
	name := fmt.Sprintf("t%d", g.next)
	if err := g.exec("CREATE DATABASE " + name + " CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"); err != nil {
		tb.Fatalf("create test database: %v", err)
	}
	return name
}

// Addr is the host and port of a node for programs. A cluster that is apart has none: see [Galera.Proxy].
func (g *Galera) Addr(i int) string { return net.JoinHostPort("127.0.0.1", g.ports[i]) }

// Proxy is a way for programs to a node, which does not lead through the network of the cluster.
func (g *Galera) Proxy(tb testing.TB, i int) *Proxy {
	tb.Helper()
	return NewProxy(tb, "unix", g.Nodes[i].socket())
}

// URL is that of a database on these addresses, as an operator writes it.
func (g *Galera) URL(database string, addresses ...string) string {
	return "mysql://" + tcpAccount + "@" + strings.Join(addresses, ",") + "/" + database
}

func (g *Galera) DSN(i int, database string) string {
	cfg, err := mysql.ParseDSN(g.Nodes[i].DSN(database))
	if err != nil {
		panic(err) // it was just made
	}
	return cfg.FormatDSN()
}

// CutOff takes the cable of a node of a cluster that is apart.
func (g *Galera) CutOff(tb testing.TB, i int) {
	tb.Helper()
	if err := g.network.plug(i, false); err != nil {
		tb.Fatal(err)
	}
}

// Heal plugs it in again.
func (g *Galera) Heal(tb testing.TB, i int) {
	tb.Helper()
	if err := g.network.plug(i, true); err != nil {
		tb.Fatal(err)
	}
}
