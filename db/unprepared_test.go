package db_test

import (
	"database/sql"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestAProxyThatPreparesNothing: some proxies in front of a server, and servers that speak its protocol, know no such command or refuse it in
// words of their own. What they are asked again and again is sent as text there, also in the middle of a transaction.
func TestAProxyThatPreparesNothing(t *testing.T) {
	t.Parallel()
	for name, number := range map[string]uint16{"no such command": 1047, "not supported": 1235, "an error of its own": 1105} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, err := mysql.ParseDSN(dbtest.MariaDB(t))
			if err != nil {
				t.Fatal(err)
			}
			var refused atomic.Int64
			pool := dbtest.Open(t, db.Config{URL: "mysql://root@" + refusing(t, cfg, number, &refused) + "/" + cfg.DBName})
			pool.SetMaxOpenConns(1)
			if _, err := pool.ExecContext(t.Context(), "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)"); err != nil {
				t.Fatal(err)
			}
			err = pool.Tx(t.Context(), func(tx *sql.Tx) error {
				for i := range 10 {
					if _, err := tx.ExecContext(t.Context(), "INSERT INTO t (id, n) VALUES (?, ?)", i, i); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 10 {
				var n int
				if err := pool.QueryRowContext(t.Context(), "SELECT n FROM t WHERE id = ?", i).Scan(&n); err != nil || n != i {
					t.Fatalf("row %d: %d, %v", i, n, err)
				}
			}
			if n := refused.Load(); n != 2 {
				t.Errorf("it was asked %d times to prepare one of two statements", n)
			}
		})
	}
}

// refusing is the address of a proxy that answers each wish to prepare a statement with an error.
func refusing(t *testing.T, cfg *mysql.Config, number uint16, refused *atomic.Int64) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer client.Close()
				server, err := net.Dial(cfg.Net, cfg.Addr)
				if err != nil {
					return
				}
				all.Go(func() { _, _ = io.Copy(client, server); client.Close() })
				defer server.Close()
				for {
					const prepare = 0x16
					packet, err := readPacket(client)
					if err == nil && packet[3] == 0 && packet[4] == prepare {
						refused.Add(1)
						_, err = client.Write(errorPacket(number))
					} else if err == nil {
						_, err = server.Write(packet)
					}
					if err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() }) // after the pool has closed its connections
	return l.Addr().String()
}

// readPacket reads one of MySQL's packets with its header: three bytes of length and the number in its exchange, in which a command is 0.
func readPacket(from io.Reader) ([]byte, error) {
	packet := make([]byte, 4)
	if _, err := io.ReadFull(from, packet); err != nil {
		return nil, err
	}
	packet = append(packet, make([]byte, int(packet[0])|int(packet[1])<<8|int(packet[2])<<16)...)
	_, err := io.ReadFull(from, packet[4:])
	return packet, err
}

func errorPacket(number uint16) []byte {
	payload := append(binary.LittleEndian.AppendUint16([]byte{0xff}, number), "#HY000no"...)
	return append([]byte{byte(len(payload)), 0, 0, 1}, payload...)
}
