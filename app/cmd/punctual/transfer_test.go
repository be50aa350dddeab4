package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
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
	says(out, file+":10: There is no field “crom”. Did you mean “cron”?")
	says(said, "cannot be used; nothing was imported")

	write(text)
	out, said = do(1, "import", file)
	says(out, `refuse order-service: "Close the day", `+file+`:6: There is no executor order-service`)
	says(said, "2 of 2 jobs cannot be imported")
	out, _ = do(1, "import", file, "--create-groups")
	says(out, "create executor order-service\ncreate order-service: \"Close the day\"\nrefuse order-service: \"Broken\", "+file+":12, author: Fill this in.")
	says(out, "1 created, 0 changed, 0 as they are, 1 refused: would be done; --apply does it")
	do(1, "export") // since nothing was done

	out, _ = do(1, "import", file, "--create-groups", "--states", "--apply")
	says(out, "1 created, 0 changed, 0 as they are, 1 refused: done")
	exported, _ := do(0, "export", "--group", "order-service")
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

	_, said = do(2, "export", "--group", "ghost")
	says(said, `"ghost"`)
	_, said = do(2, "import", filepath.Join(dir, "nothing.yaml"))
	says(said, "nothing.yaml")
}

// TestManyJobsTravelAsAFolder: where no admin runs, more jobs than a file takes go into several files, and these into a database together.
func TestManyJobsTravelAsAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := filepath.Join(dir, "jobs")
	if err := os.Mkdir(files, 0o700); err != nil {
		t.Fatal(err)
	}
	do := func(wantCode int, args ...string) string {
		t.Helper()
		var said bytes.Buffer
		if code := run(append(args, "--data-dir", filepath.Join(dir, "data"), "--log-level", "error"), &said, &said); code != wantCode {
			t.Fatalf("%v: exit code %d, want %d\n%.2000s", args, code, wantCode, said.String())
		}
		return said.String()
	}
	for part, from := range []int{0, 1000} {
		var text strings.Builder
		text.WriteString("punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    title: Orders\n    jobs:\n")
		for i := range 1001 - part {
			fmt.Fprintf(&text, "      - {description: job %d, author: ann, schedule: NONE, handler: work, children: [{app_name: orders, description: last}]}\n", part+from+i)
		}
		if part == 1 {
			text.WriteString("      - {description: last, author: ann, schedule: NONE, handler: work}\n")
		}
		if err := os.WriteFile(filepath.Join(files, fmt.Sprintf("part%d.yaml", part)), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	do(0, "migrate", "up")
	if said := do(0, "import", files, "--create-groups", "--apply"); !strings.Contains(said, "2002 created, 0 changed, 0 as they are, 0 refused: done") {
		t.Fatalf("import says %.2000s", said)
	}
	for _, args := range [][]string{{"export"}, {"export", "--group", "orders"}} {
		if said := do(1, args...); !strings.Contains(said, "--dir FOLDER") || strings.Contains(said, "jobs export") {
			t.Errorf("%v says %s", args, said)
		}
	}
	out := filepath.Join(dir, "out")
	if said := do(0, "export", "--dir", out); !strings.Contains(said, "2002 jobs in 2 files") {
		t.Errorf("export says %s", said)
	}
	if said := do(0, "import", out); !strings.Contains(said, "0 created, 0 changed, 2002 as they are") {
		t.Errorf("what was exported is other than it was: %.2000s", said)
	}
	if said := do(2, "export", "--dir", out, "--group", "ghost"); !strings.Contains(said, "ghost") {
		t.Errorf("of no executor: %s", said)
	}
}

// TestJobsTravelWithoutAnAdmin on both databases: what cannot be read whole changes nothing, what is left out is said, and neither begins,
// nor misreads, a database of another time.
func TestJobsTravelWithoutAnAdmin(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]func(*testing.T) (db.Config, []string){
		"embedded": func(t *testing.T) (db.Config, []string) {
			dir := dbtest.Folder(t)
			return db.Config{DataDir: dir}, []string{"--data-dir", dir}
		},
		"mariadb": func(t *testing.T) (db.Config, []string) {
			url := dbtest.MariaDB(t)
			return db.Config{URL: url}, []string{"--database-url", url}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, settings := config(t)
			do := func(wantCode int, args ...string) string {
				t.Helper()
				var said bytes.Buffer
				if code := run(append(append(args, "--log-level", "error"), settings...), &said, &said); code != wantCode {
					t.Fatalf("%v: exit code %d, want %d\n%.2000s", args, code, wantCode, said.String())
				}
				return said.String()
			}
			says := func(said, want string) {
				t.Helper()
				if !strings.Contains(said, want) {
					t.Errorf("said\n%s\nwant %q", said, want)
				}
			}
			change := func(statement string) {
				t.Helper()
				pool, err := db.Open(t.Context(), at)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := pool.ExecContext(t.Context(), statement); err != nil {
					t.Error(err)
				}
				if err := pool.Close(); err != nil {
					t.Error(err)
				}
			}
			dir := t.TempDir()
			file := filepath.Join(dir, "jobs.yaml")
			write := func(text string) {
				t.Helper()
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			const text = `punctual_jobs: 1
executors:
  - {app_name: orders, title: Orders, jobs: [{description: 日终 🌒, author: ann, schedule: NONE, handler: close}]}
  - {app_name: stock, title: Stock, jobs: [{description: count, author: ann, schedule: NONE, handler: count}]}
`
			do(0, "migrate", "up")
			write(text)
			do(0, "import", file, "--create-groups", "--apply")

			for what, broken := range map[string]string{
				"half a file":     strings.Replace(text, "close", "later", 1)[:strings.LastIndex(text, "author")],
				"another version": strings.Replace(text, "punctual_jobs: 1", "punctual_jobs: 2", 1),
				"no version":      strings.Replace(text, "punctual_jobs: 1\n", "", 1),
				"nothing":         "",
			} {
				write(broken)
				if said := do(1, "import", file, "--create-groups", "--apply"); !strings.Contains(said, "nothing was imported") || !strings.Contains(said, file+":") {
					t.Errorf("%s says %s", what, said)
				}
			}
			write(text)
			says(do(0, "import", file), "0 created, 0 changed, 2 as they are, 0 refused")

			// An admin is at work: the embedded database is its own, of one on a server more may be.
			admin, err := db.Open(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			if name == "embedded" {
				says(do(1, "import", file, "--apply"), "in use")
				says(do(1, "export", "--dir", dir), "in use")
			} else {
				says(do(0, "import", file, "--apply"), "2 as they are")
			}
			if err := admin.Close(); err != nil {
				t.Fatal(err)
			}

			// Jobs of a group that is gone are in no file, which both ways say.
			change("DELETE FROM xxl_job_group WHERE app_name = 'stock'")
			says(do(0, "export"), "left out 1 job")
			folder := filepath.Join(dir, "folder")
			said := do(0, "export", "--dir", folder)
			says(said, "1 job in 1 file")
			says(said, "1 job is left out")
			if left, err := os.ReadDir(folder); err != nil || len(left) != 1 || left[0].Name() != "orders.yaml" {
				t.Errorf("the folder has %v (%v)", left, err)
			}
			says(do(0, "import", folder, "--by-id"), "0 created, 0 changed, 1 as they are")

			change("DELETE FROM punctual_version WHERE version_id BETWEEN 2 AND 50")
			says(do(1, "export"), "older than this program")
			says(do(1, "export", "--dir", filepath.Join(dir, "none")), "older than this program")
			says(do(1, "import", file), "older than this program")
			if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
				t.Error("a folder is made of a database that is not read")
			}
		})
	}
}
