package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestABlackHoleOnTheWayToExecutors has the packets to the executors of some groups go nowhere: to one no connection is made, and
// on those to the other nothing arrives any more. Twice as much is due for these as for a healthy group, by every kind of
// route.
func TestABlackHoleOnTheWayToExecutors(t *testing.T) {
	waits(t)
	const fires, holes = 26, 60
	l := newLoad(t, db.MySQL, 1, 60, fires)
	stub := executortest.NewStub(t)
	network := dbtest.NewProxy(t, "tcp", strings.TrimSuffix(strings.TrimPrefix(stub.URL, "http://"), "/"))
	swallowed := "http://" + network.Addr() + "/"
	deaf := deafPort(t)
	routes := []jobspec.Route{jobspec.RouteFirst, jobspec.RouteRound, jobspec.RouteFailover, jobspec.RouteBusyover, jobspec.RouteConsistentHash}
	l.database.seed(t, func(ctx context.Context, pool *db.Pool) error {
		for i, addresses := range []string{swallowed, deaf + "," + swallowed} {
			group, err := addGroup(ctx, pool, fmt.Sprintf("hole%d", i), addresses)
			if err != nil {
				return err
			}
			for k := range holes {
				id, err := addJob(ctx, pool, group, func(p *db.InsertJobParams) {
					p.ScheduleConf, p.ExecutorRouteStrategy = "1", routes[k%len(routes)]
					p.EndAt = l.begin.Add((fires - 1) * every).UnixMilli()
				})
				if err != nil {
					return err
				}
				if err := startJob(ctx, pool, id, l.begin.Add(time.Duration(k)*every/holes)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	a := l.startCalm(t, l.database.settings(), func(*admin) {})
	l.at(t, 6) // some connections are there
	latest := func() (n int, late time.Duration) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, d := range l.late {
			late = max(late, d)
		}
		return len(l.late), late
	}
	_, usual := latest()
	began, passed := time.Now(), executortest.Watch()
	network.Swallow()
	l.at(t, fires+1)
	const want = 60 * fires
	l.receives(t, want)
	heldUp := time.Since(began) - passed() // what a busy machine held up, in all: one such moment after the other adds to what is late
	n, late := latest()
	if n != want {
		t.Errorf("the healthy executor received %d runs, want %d", n, want)
	}
	t.Logf("the latest of the healthy executor's %d runs was %v late, before the hole %v; the machine stood still for %v", n, late.Round(time.Millisecond), usual.Round(time.Millisecond), heldUp.Round(time.Millisecond))
	if late > usual+heldUp+othersLate {
		t.Errorf("a healthy executor's run was %v late", late)
	}
	a.waitReady(t) // it does all it can
	a.noPanic(t)
}
