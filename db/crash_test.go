package db_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

const crashEnv = "DB_CRASH_DIR"

// TestKillLosesNothing kills a process that writes to the embedded database, several times over: every row it
// had been told was stored is there, and the next process gets the directory.
func TestKillLosesNothing(t *testing.T) {
	if dir := os.Getenv(crashEnv); dir != "" {
		writeUntilKilled(t, dir)
		return
	}
	t.Parallel()
	dir := t.TempDir()
	pool := dbtest.Open(t, db.Config{DataDir: dir})
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		stored := killAfter(t, dir, 50*(round+1))
		pool := dbtest.Open(t, db.Config{DataDir: dir})
		if n := count(t, pool.DB, fmt.Sprintf("xxl_job_log WHERE id <= %d", stored)); n != stored {
			t.Errorf("round %d: %d of %d rows are there", round, n, stored)
		}
		var check string
		if err := pool.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&check); err != nil || check != "ok" {
			t.Errorf("round %d: integrity check = %s, %v", round, check, err)
		}
		if err := pool.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killAfter kills the writer when it has reported so many ids, and returns the last.
func killAfter(t *testing.T, dir string, reports int) int {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKillLosesNothing$")
	child.Env = append(os.Environ(), crashEnv+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	last := 0
	lines := bufio.NewScanner(out)
	for n := 0; n < reports && lines.Scan(); n++ {
		if last, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatalf("writer said %q", lines.Text())
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // "signal: killed"
	return last
}

func writeUntilKilled(t *testing.T, dir string) {
	pool := dbtest.Open(t, db.Config{DataDir: dir})
	for {
		res, err := pool.ExecContext(t.Context(), "INSERT INTO xxl_job_log (job_group, job_id, trigger_code, handle_code) VALUES (1, 1, 0, 0), (1, 2, 0, 0)")
		if err != nil {
			t.Fatal(err)
		}
		first, err := res.LastInsertId()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(first + 1)
	}
}
