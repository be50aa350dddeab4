package e2e

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
)

// goneOn is how long an admin may take until it works with another node of the database, when the one it worked with has died
// or has been cut off. Galera itself waits five seconds until it goes on without a node.
const goneOn = 10 * time.Second

// newGaleraDatabase makes a migrated database on a cluster, which programs reach at these addresses. The tests look at it on
// the last node.
func newGaleraDatabase(t *testing.T, g *dbtest.Galera, addresses []string) *database {
	t.Helper()
	name := g.Database(t)
	d := &database{url: g.URL(name, addresses...), dsn: g.DSN(len(g.Nodes)-1, name)}
	d.seed(t, func(context.Context, *db.Pool) error { return nil })
	d.read(t)
	return d
}

// startOn starts the i-th admin, which asks the i-th address first.
func (l *load) startOn(t *testing.T, i int, addresses []string) *admin {
	t.Helper()
	s := l.database.settings()
	turned := slices.Concat(addresses[i:], addresses[:i])
	s.databaseURL, s.port = strings.ReplaceAll(s.databaseURL, strings.Join(addresses, ","), strings.Join(turned, ",")), l.ports[i]
	return startAdmin(t, s)
}

// goesOn checks that from goneOn after a moment of the load on, everything is on time, and that each admin has a part in it. A node that
// comes back changes the cluster once more, in which the others may stand still as well: what is due within goneOn of that is not judged.
func (l *load) goesOn(t *testing.T, since time.Time, back ...time.Time) {
	t.Helper()
	owners := make(map[string]int)
	var last, usual time.Duration
	tooLate := 0
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.database.runs(t) {
		planned := time.UnixMilli(r.planned)
		if _, ok := l.received[r.id]; !ok {
			continue // what was not sent at all is for account to judge
		}
		late := l.lateness(r)
		switch {
		case planned.Before(since.Add(-time.Second)) && planned.After(l.begin.Add(time.Second)):
			usual = max(usual, late)
		case planned.After(since) && late > usual+othersLate:
			last = max(last, planned.Sub(since))
		}
		if planned.Before(since.Add(goneOn)) {
			continue
		}
		rejoins := slices.ContainsFunc(back, func(at time.Time) bool { return planned.After(at) && planned.Before(at.Add(goneOn)) })
		if late > usual+othersLate && !rejoins {
			if tooLate++; tooLate <= 3 {
				t.Errorf("a fire planned for %v after the node was lost arrived %v late: %s", planned.Sub(since), late, r.message)
			}
		}
		owners[l.portOf(t, r.owner)]++
	}
	if tooLate > 3 {
		t.Errorf("%d fires were too late", tooLate)
	}
	for i, port := range l.ports {
		if owners[port] == 0 {
			t.Errorf("admin %d has no part in what was due %v after the node was lost", i, goneOn)
		}
	}
	t.Logf("the last fire that was late was planned for %v after the node was lost; before, the latest was %v late; then by admin: %v",
		last.Round(time.Millisecond), usual.Round(time.Millisecond), owners)
}

// portOf is the port of the admin that a node of the cluster is.
func (l *load) portOf(t *testing.T, node int64) string {
	t.Helper()
	if l.nodes == nil {
		l.nodes = make(map[int64]string)
	}
	port, known := l.nodes[node]
	if !known {
		for _, p := range l.ports {
			if l.database.count(t, "SELECT COUNT(*) FROM punctual_node WHERE id = ? AND address LIKE ?", node, "%:"+p) > 0 {
				port = p
			}
		}
		l.nodes[node] = port
	}
	return port
}

// TestGaleraNodeDies kills the database node that one of two admins works with. Both have a URL of all three.
func TestGaleraNodeDies(t *testing.T) {
	waitsWithMany(t)
	g := dbtest.NewGalera(t)
	addresses := []string{g.Addr(0), g.Addr(1), g.Addr(2)}
	l := newLoadOn(t, newGaleraDatabase(t, g, addresses), 2, 60, 26)
	admins := []*admin{l.startOn(t, 0, addresses), l.startOn(t, 1, addresses)}
	l.at(t, somewhen(t, 4))
	g.Nodes[0].Kill()
	lost := time.Now()
	l.account(t)
	l.goesOn(t, lost)
	for _, a := range admins {
		a.noPanic(t)
	}
}

// TestGaleraPartition takes the network between the database nodes from the one that one of two admins works with, and gives
// it back. Programs reach all of them all the time.
func TestGaleraPartition(t *testing.T) {
	waitsWithMany(t)
	g := dbtest.NewGaleraApart(t)
	l, admins, _ := newGaleraLoad(t, g, 32)
	l.at(t, somewhen(t, 4))
	g.CutOff(t, 0)
	lost := time.Now()
	minority(t, g, 0, lost)
	l.at(t, 18)
	g.Heal(t, 0)
	back := time.Now()
	l.account(t)
	l.goesOn(t, lost, back)
	for _, a := range admins {
		a.noPanic(t)
	}
}

// TestGaleraNodeVanishes takes all network from the database node that one of two admins works with, as when its machine loses
// power: nobody is told, neither the other nodes nor the admin.
func TestGaleraNodeVanishes(t *testing.T) {
	waitsWithMany(t)
	g := dbtest.NewGaleraApart(t)
	l, admins, proxies := newGaleraLoad(t, g, 20)
	l.at(t, somewhen(t, 4))
	g.CutOff(t, 0)
	proxies[0].Swallow()
	lost := time.Now()
	minority(t, g, 0, lost)
	l.account(t)
	l.goesOn(t, lost)
	for _, a := range admins {
		a.noPanic(t)
	}
}

// newGaleraLoad starts two admins that reach the nodes of a cluster through proxies, the first of them the first node first.
func newGaleraLoad(t *testing.T, g *dbtest.Galera, seconds int) (l *load, admins []*admin, proxies []*dbtest.Proxy) {
	t.Helper()
	addresses := make([]string, len(g.Nodes))
	for i := range g.Nodes {
		proxies = append(proxies, g.Proxy(t, i))
		addresses[i] = proxies[i].Addr()
	}
	l = newLoadOn(t, newGaleraDatabase(t, g, addresses), 2, 60, seconds)
	return l, []*admin{l.startOn(t, 0, addresses), l.startOn(t, 1, addresses)}, proxies
}

// minority waits until a node that was cut off knows it, and checks that it takes no writes.
func minority(t *testing.T, g *dbtest.Galera, i int, since time.Time) {
	t.Helper()
	eventually(t, "end of the node's being part of the majority", func() error {
		if g.Primary(t, i) {
			return errNotYet
		}
		return nil
	})
	t.Logf("the node noticed %v after it was cut off", time.Since(since).Round(time.Millisecond))
	alone, err := sql.Open("mysql", g.DSN(i, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	_, err = alone.ExecContext(t.Context(), "CREATE DATABASE written_by_a_minority")
	if refused, ok := errors.AsType[*mysql.MySQLError](err); !ok || refused.Number != 1047 {
		t.Errorf("a node without a majority answers to a write: %v", err)
	}
}
