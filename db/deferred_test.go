package db_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestIndexesOfABigLogAreBuiltAfterTheStart: nobody waits for them, and no change of the log makes writers wait.
func TestIndexesOfABigLogAreBuiltAfterTheStart(t *testing.T) {
	t.Parallel()
	fresh := schemaOf(t, dbtest.New(t, db.MySQL).DB)
	for _, name := range []string{"2.3.0", "3.3.2", "3.4.2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			pool := dbtest.Open(t, db.Config{URL: dbtest.MariaDB(t), Logger: slog.New(slog.NewTextHandler(&log, nil))})
			pool.DeferAbove(-1)
			e := eraNamed(name)
			e.create(t, pool.DB)
			e.fill(t, pool.DB)
			for range 2 { // a second start finds them still to be built
				if err := pool.Migrate(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, building := pool.Building(); !building {
					t.Error("nothing is left to be built")
				}
				if schema := strings.Join(schemaOf(t, pool.DB), " "); strings.Contains(schema, "job_id,id,handle_code,trigger_time,outcome") {
					t.Error("the index was built at the start")
				}
				if err := pool.CheckCurrent(t.Context()); err != nil {
					t.Errorf("it is called too old: %v", err)
				}
			}
			if err := pool.BuildIndexes(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, building := pool.Building(); building {
				t.Error("they are built, and it says that they are not")
			}
			if diff := cmp.Diff(fresh, schemaOf(t, pool.DB)); diff != "" {
				t.Errorf("the schema differs from a fresh one (-fresh +adopted):\n%s", diff)
			}
			for line := range strings.Lines(log.String()) {
				if strings.Contains(line, "they wait") && strings.Contains(line, "xxl_job_log") && !strings.Contains(line, "report") {
					t.Errorf("writers of the log wait: %s", line)
				}
			}
			if chars, fits := pool.FitsParam(strings.Repeat("键", 10_001)); fits != (name == "3.4.2") || chars > 0 == fits {
				t.Errorf("room for %d characters", chars)
			}
			if err := pool.BuildIndexes(t.Context()); err != nil {
				t.Errorf("again: %v", err)
			}
		})
	}
}
