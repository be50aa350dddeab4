package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestACommandMakesNoDatabase types what somebody types who has forgotten the settings of the service. An empty database made for the
// occasion would say that the user does not exist, or that there are no jobs.
func TestACommandMakesNoDatabase(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "jobs.yaml")
	if err := os.WriteFile(file, []byte("punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs: [{description: d, author: a, handler: h, schedule: NONE}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"user reset-password admin", "user reset-second-factor admin", "export", "doctor", "audit --from 1h", "audit-log verify",
		"log partitions", "migrate back", "migrate finish", "migrate groups", "import " + file, "import " + file + " --apply", "user create-token deploy terraform", "user create-token ops x",
	} {
		dir := t.TempDir()
		var out bytes.Buffer
		code := run(append(strings.Fields(args), "--data-dir", dir), &out, &out)
		if said := out.String(); code == 0 || !strings.Contains(said, "there is no embedded database in "+dir+" (PUNCTUAL_DATA_DIR") || !strings.Contains(said, "punctual migrate") {
			t.Errorf("%s: %d, %s", args, code, said)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s leaves %v (%v)", args, left, err)
		}
	}
}

// TestACommandBeginsNoInstallation in a database on a server in which there is none, and adopts none of an XXL-JOB admin.
func TestACommandBeginsNoInstallation(t *testing.T) {
	t.Parallel()
	url := dbtest.MariaDB(t)
	file := filepath.Join(t.TempDir(), "jobs.yaml")
	if err := os.WriteFile(file, []byte("punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs: [{description: d, author: a, handler: h, schedule: NONE}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pool := dbtest.Open(t, db.Config{URL: url})
	for _, state := range []string{"empty", "an XXL-JOB admin's"} {
		if state != "empty" {
			if _, err := pool.ExecContext(t.Context(), "CREATE TABLE xxl_job_info (id INT PRIMARY KEY)"); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range []string{"user reset-password admin", "export", "import " + file, "import " + file + " --apply", "user create-token deploy terraform", "migrate finish", "hold"} {
			var out bytes.Buffer
			if code := run(append(strings.Fields(args), "--database-url", url), &out, &out); code == 0 || !strings.Contains(out.String(), "punctual migrate") {
				t.Errorf("%s: %s: %d, %s", state, args, code, out.String())
			}
			var tables int
			if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name <> 'xxl_job_info'").Scan(&tables); err != nil || tables > 0 {
				t.Errorf("%s: %s leaves %d tables (%v)", state, args, tables, err)
			}
		}
	}
}
