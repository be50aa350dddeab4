package dbtest

import (
	"database/sql"
	"testing"
)

func TestGaleraCluster(t *testing.T) {
	for name, start := range map[string]func(testing.TB) *Galera{"loopback": NewGalera, "apart": NewGaleraApart} {
		t.Run(name, func(t *testing.T) {
			g := start(t)
			name := g.Database(t)
			one, err := sql.Open("mysql", g.DSN(0, name))
			if err != nil {
				t.Fatal(err)
			}
			defer one.Close()
			if _, err := one.ExecContext(t.Context(), "CREATE TABLE x (id INT PRIMARY KEY)"); err != nil {
				t.Fatal(err)
			}
			three, err := sql.Open("mysql", g.DSN(2, "mysql")) // the other database may not have come here yet
			if err != nil {
				t.Fatal(err)
			}
			defer three.Close()
			three.SetMaxOpenConns(1)
			// What it is asked, and what it writes, waits for what others wrote before.
			if _, err := three.ExecContext(t.Context(), "SET SESSION wsrep_sync_wait = 7"); err != nil {
				t.Fatal(err)
			}
			if _, err := three.ExecContext(t.Context(), "INSERT INTO "+name+".x VALUES (1)"); err != nil {
				t.Fatal(err)
			}
		})
	}
}
