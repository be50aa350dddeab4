package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db/dbtest"
)

// outage is how long the database stays away. It is real time: leases, connection pools and retries must outlast it.
const outage = 20 * time.Second

// TestDatabaseAway stops the database under load and starts it again.
func TestDatabaseAway(t *testing.T) {
	waits(t)
	server := dbtest.NewServer(t)
	l := newLoadOn(t, openDatabase(t, server.Database(t)), 1, 100, 26)
	a := l.start(t, 0)
	l.at(t, 2)
	release := l.holdRuns()
	eventually(t, "of each job a run that began and has no result", func() error {
		if l.executor.Stats().Running < 100 {
			return errNotYet
		}
		return nil
	})
	server.Stop()
	stopped := time.Now()
	a.waitUnready(t)
	if code := a.status("/login"); code >= 500 && code != http.StatusServiceUnavailable {
		t.Errorf("a page answers %d while the database is away", code)
	}
	release()
	eventually(t, "results that nobody takes", func() error {
		if l.executor.Stats().Undelivered < 100 {
			return errNotYet
		}
		return nil
	})
	until(t, stopped.Add(outage))
	if code := a.status("/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("readyz answers %d at the end of the outage", code)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	a.waitReady(t)
	t.Logf("ready %v after the database was back", time.Since(back).Round(time.Millisecond))
	l.account(t)
	l.delivers(t)
	a.noPanic(t)
	a.terminate(t)
}
