package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/db"
)

// TestJobsTravelAsAFile imports a file into an empty database, changes it, and exports what came of it.
func TestJobsTravelAsAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, file := filepath.Join(dir, "data"), filepath.Join(dir, "jobs.yaml")
	do := func(wantCode int, args ...string) (out, err string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if code := run(append(args, "--data-dir", data, "--log-level", "error"), &stdout, &stderr); code != wantCode {
			t.Fatalf("%v: exit code %d, want %d\n%s%s", args, code, wantCode, stdout.String(), stderr.String())
		}
		return stdout.String(), stderr.String()
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	says := func(said, want string) {
		t.Helper()
		if !strings.Contains(said, want) {
			t.Errorf("said\n%s\nwant %q", said, want)
		}
	}
	const text = `punctual_jobs: 1
executors:
  - app_name: order-service
    title: Orders
    jobs:
      - description: Close the day
        author: ann
        state: running
        schedule: CRON
        cron: 0 0 2 * * ?
        handler: closeDay
      - description: Broken
        schedule: CRON
        cron: 0 0 25 * * ?
        handler: broken
`
	do(0, "migrate", "up")
	if _, said := do(1, "export"); !strings.Contains(said, "job") {
		t.Errorf("an empty export says %s", said)
	}
	write(strings.ReplaceAll(text, "cron:", "crom:"))
	out, said := do(1, "import", file, "--apply")
	says(out, "line 10: There is no field “crom”. Did you mean “cron”?")
	says(said, "cannot be used; nothing was imported")

	write(text)
	out, said = do(1, "import", file)
	says(out, `refuse order-service: "Close the day", line 6: There is no executor order-service`)
	says(said, "2 of 2 jobs cannot be imported")
	out, _ = do(1, "import", file, "--create-executors")
	says(out, "create executor order-service\ncreate order-service: \"Close the day\"\nrefuse order-service: \"Broken\", line 12, author: Fill this in.")
	says(out, "1 created, 0 changed, 0 as they are, 1 refused: would be done; --apply does it")
	do(1, "export") // since nothing was done

	out, _ = do(1, "import", file, "--create-executors", "--states", "--apply")
	says(out, "1 created, 0 changed, 0 as they are, 1 refused: done")
	exported, _ := do(0, "export", "--executor", "order-service")
	says(exported, "description: Close the day")
	says(exported, "state: running")

	// What was exported changes nothing where it came from.
	write(exported)
	out, _ = do(0, "import", file, "--by-id", "--states", "--apply")
	if out != "0 created, 0 changed, 1 as they are, 0 refused: done\n" {
		t.Errorf("said\n%s", out)
	}
	write(strings.ReplaceAll(exported, "handler: closeDay", "handler: closeDay2"))
	out, _ = do(0, "import", file, "--apply")
	says(out, `"closeDay" -> "closeDay2"`)
	out, _ = do(0, "export", "--format", "json")
	says(out, `"handler": "closeDay2"`)

	pool, err := db.Open(t.Context(), db.Config{DataDir: data})
	if err != nil {
		t.Fatal(err)
	}
	_, said = do(1, "export") // an admin runs: what it knows is asked of it
	says(said, "in use")
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}

	_, said = do(2, "export", "--executor", "ghost")
	says(said, `"ghost"`)
	_, said = do(2, "import", filepath.Join(dir, "nothing.yaml"))
	says(said, "nothing.yaml")
}
