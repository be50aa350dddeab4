package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db/dbtest"
)

// TestFullDiskOfTheDatabase fills the disk of the database under load, and makes room again after a while. A server that does not live
// through that is started again, as its service would be.
func TestFullDiskOfTheDatabase(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T, *dbtest.Disk) (*database, *dbtest.Server){
		"embedded": func(t *testing.T, disk *dbtest.Disk) (*database, *dbtest.Server) {
			return openEmbedded(t, disk.Dir), nil
		},
		"server": func(t *testing.T, disk *dbtest.Disk) (*database, *dbtest.Server) {
			server := dbtest.NewServerOn(t, disk)
			return openDatabase(t, server.Database(t)), server
		},
		"server with a binary log": func(t *testing.T, disk *dbtest.Disk) (*database, *dbtest.Server) {
			server := dbtest.NewServerOn(t, disk, "--log-bin=log", "--server-id=1")
			return openDatabase(t, server.Database(t)), server
		},
	} {
		t.Run(name, func(t *testing.T) {
			waits(t)
			disk := dbtest.NewDisk(t)
			database, server := open(t, disk)
			l := newLoadOn(t, database, 1, 100, 26)
			a := l.start(t, 0)
			l.at(t, 2)
			disk.Fill()
			full := time.Now()
			a.waitUnready(t)
			t.Logf("not ready %v after the disk was full", time.Since(full).Round(time.Millisecond))
			until(t, full.Add(outage))
			if code := a.status("/readyz"); code != http.StatusServiceUnavailable {
				t.Errorf("readyz answers %d while the disk is still full", code)
			}
			disk.Free()
			if server != nil && server.Crashed() {
				t.Log("the server did not live through it")
				if err := server.Start(); err != nil {
					t.Fatal(err)
				}
			}
			a.waitReady(t)
			l.account(t)
			l.delivers(t)
			a.noPanic(t)
			a.terminate(t)
		})
	}
}
