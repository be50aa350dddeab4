package dbtest_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
)

const childEnv = "DBTEST_CHILD"

// TestServerDiesWithBinary kills a test binary that uses a server, and waits for the server's files to go.
func TestServerDiesWithBinary(t *testing.T) {
	if os.Getenv("TEST_DATABASE_URL") != "" {
		t.Skip("the server is not this binary's")
	}
	dsn := dbtest.MariaDB(t)
	if os.Getenv(childEnv) != "" {
		cfg, err := mysql.ParseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("socket", cfg.Addr)
		os.Stdin.Read(make([]byte, 1)) // until killed
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestServerDiesWithBinary$")
	child.Env = append(os.Environ(), childEnv+"=1")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	socket := ""
	for lines := bufio.NewScanner(out); socket == "" && lines.Scan(); {
		socket, _ = strings.CutPrefix(lines.Text(), "socket ")
		if socket == lines.Text() {
			socket = ""
		}
	}
	if _, err := os.Stat(socket); err != nil {
		t.Fatal(err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // "signal: killed"
	executortest.Eventually(t, "end of the server's files", func() error {
		if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s is still there: %w", socket, err)
		}
		return nil
	})
}

// TestServerKeepsDataOverCrash kills a server and starts it again.
func TestServerKeepsDataOverCrash(t *testing.T) {
	t.Parallel()
	server := dbtest.NewServer(t)
	pool := dbtest.Open(t, db.Config{URL: server.Database(t)})
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.ExecContext(t.Context(), "INSERT INTO punctual_setting (name, value) VALUES ('a', 'b')"); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	var value string
	if err := pool.QueryRowContext(t.Context(), "SELECT value FROM punctual_setting WHERE name = 'a'").Scan(&value); err != nil || value != "b" {
		t.Errorf("value = %q, %v", value, err)
	}
}

func BenchmarkNew(b *testing.B) {
	for _, dialect := range []db.Dialect{db.SQLite, db.MySQL} {
		b.Run(string(dialect), func(b *testing.B) {
			for b.Loop() {
				dbtest.New(b, dialect)
			}
		})
	}
}
