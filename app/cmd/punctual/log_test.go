package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/db/dbtest"
)

// TestLogInPartitions: what the commands say and do, in the order in which somebody uses them.
func TestLogInPartitions(t *testing.T) {
	t.Parallel()
	url := dbtest.MigratedInFiles(t)
	do := func(wantCode int, want string, args ...string) {
		t.Helper()
		var out, said bytes.Buffer
		code := run(append(append([]string{"log"}, args...), "--database-url", url), &out, &said)
		if all := out.String() + said.String(); code != wantCode || !strings.Contains(all, want) {
			t.Fatalf("log %s: exit code %d, want %d: %s\nwant %q in it", strings.Join(args, " "), code, wantCode, all, want)
		}
	}
	do(0, "one table", "partitions")
	do(1, "not in partitions", "join", "--apply")
	do(1, "too small", "partition", "--runs", "5", "--apply")
	do(0, "Nothing was changed", "partition")
	do(0, "one table", "partitions")
	do(0, "Done.", "partition", "--runs", "2000000", "--copy", "--apply")
	do(0, "p2000000", "partitions")
	do(1, "already", "partition")
	do(0, "0 partitions were added", "partition", "--apply")
	do(1, "--apply", "join")
	do(0, "one table again", "join", "--apply")
	do(0, "one table", "partitions")

	var out, said bytes.Buffer
	if code := run([]string{"log", "partition", "--apply", "--data-dir", t.TempDir()}, &out, &said); code != 1 {
		t.Errorf("the embedded database: exit code %d: %s", code, out.String()+said.String())
	}
}
