package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/wire"
)

// balancer gives each request to the next of the ports, as the simplest of load balancers does, whether somebody listens there or not.
func balancer(t *testing.T, ports ...string) string {
	t.Helper()
	var turn atomic.Uint32
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "127.0.0.1:" + ports[int(turn.Add(1))%len(ports)]})
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

func portsOf(addresses []string) (ports []string) {
	for _, a := range addresses {
		ports = append(ports, a[strings.LastIndexByte(a, ':')+1:])
	}
	return ports
}

// TestKillAdminsOfAnExecutorThatAsks kills admins at random moments under load, while the executor that they hand their runs to reaches them
// through a balancer only, each request another one.
func TestKillAdminsOfAnExecutorThatAsks(t *testing.T) {
	waits(t)
	l := newLoadOn(t, newDatabase(t, db.MySQL), 2, 100, 22, func(c *executor.Config) {
		c.Mode, c.Name, c.Admins = executor.Pull, "behind-nat", []string{balancer(t, portsOf(c.Admins)...)}
	})
	l.unsent = 25 // while an admin is away every other request ends at the balancer, and what waited too long says so
	admins := []*admin{l.start(t, 0), l.start(t, 1)}
	l.at(t, somewhen(t, 2))
	admins[0].kill()
	l.at(t, 8.5)
	admins[0] = l.start(t, 0)
	l.at(t, somewhen(t, 10))
	admins[1].kill()
	admins[1] = l.start(t, 1)
	l.account(t)
	for _, a := range admins {
		a.noPanic(t)
	}
}

// TestFreezeAnAdminOfAnExecutorThatAsks stops an admin for longer than the executor, the calls and the other admin wait, while it holds
// requests of the executor, and lets it go on: what it had is run once, by whomever, or said to be skipped.
func TestFreezeAnAdminOfAnExecutorThatAsks(t *testing.T) {
	t.Parallel()
	const from, length = 3, 20
	for name, test := range map[string]struct {
		dialect  db.Dialect
		admins   int
		balanced bool
	}{"one of two": {db.MySQL, 2, false}, "the only one": {db.SQLite, 1, false}, "one of two behind a balancer": {db.MySQL, 2, true}} {
		t.Run(name, func(t *testing.T) {
			waits(t)
			l := newLoadOn(t, newDatabase(t, test.dialect), test.admins, 60, from+length+10, func(c *executor.Config) {
				c.Mode, c.Name = executor.Pull, "behind-nat"
				if test.balanced { // which does not know that one is frozen
					c.Admins = []string{balancer(t, portsOf(c.Admins)...)}
				}
			})
			l.unsent = 25 // those that are due before the executor asks again, after it gave up the requests that the admin held
			admins := make([]*admin, test.admins)
			for i := range admins {
				admins[i] = l.start(t, i)
			}
			l.at(t, from+0.5)
			admins[0].freeze(t)
			l.at(t, from+length+0.5)
			admins[0].thaw(t)
			l.account(t)
			for _, a := range admins {
				a.noPanic(t)
			}
		})
	}
}

// TestKillAnExecutorThatAsks kills the program in the middle of a run, with another that waits, and starts it again: nothing listens, and
// what became of both is known at once.
func TestKillAnExecutorThatAsks(t *testing.T) {
	waits(t)
	b := newBundle(t, handler("slowJobHandler"), "pull://remote-1")
	x := startExecutor(t, executorSettings{admins: []string{b.admin.url}, appName: "group0", pull: "remote-1"})
	going := b.runOnce(t, b.jobs[0], "600")
	b.database.await(t, going, "sending", isSent)
	waiting := b.runOnce(t, b.jobs[0], "0")
	b.database.await(t, waiting, "sending", isSent)
	eventually(t, "output", func() error {
		if !strings.Contains(b.log(t, going), "0 of 600 seconds done") {
			return errNotYet
		}
		return nil
	})
	x.kill()
	again := startExecutor(t, x.settings)
	if r := b.database.await(t, going, "end", hasEnded); r.handled != wire.CodeFail || !strings.Contains(r.result, "the executor restarted while the run was going on") {
		t.Errorf("the run that was going on ended as %d %q", r.handled, r.result)
	}
	if r := b.database.await(t, waiting, "end", hasEnded); r.handled != wire.CodeSuccess {
		t.Errorf("the run that waited ended as %d %q", r.handled, r.result)
	}
	// One that is ended by hand, and a stop in order.
	long := b.runOnce(t, b.jobs[0], "600")
	b.database.await(t, long, "sending", isSent)
	b.must(t, fmt.Sprintf("/runs/%d/kill", long), url.Values{})
	if r := b.database.await(t, long, "end", hasEnded); r.handled != wire.CodeFail {
		t.Errorf("the run that was ended by hand: %+v", r)
	}
	again.terminate(t)
	b.noPanic(t)
}
