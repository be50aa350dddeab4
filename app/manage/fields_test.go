package manage

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// What is stored and kept elsewhere by the fields of a job (versions in open forms, audit entries) may not change by itself.
func TestWhatIsMadeOfAJobStaysAsItIs(t *testing.T) {
	t.Parallel()
	out := make(map[string]any)
	for _, j := range dbtest.Jobs() {
		out[j.JobDesc] = map[string]any{"version": JobVersion(j), "facts": jobSnapshot(j)}
	}
	got, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "jobs.json")
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func BenchmarkJobFromRow(b *testing.B) {
	j := dbtest.Jobs()[0]
	b.ReportAllocs()
	for b.Loop() {
		in := jobspecOf(j)
		sink = &in
	}
}

var sink *jobspec.Job

func jobspecOf(j db.Job) jobspec.Job { return inputOf(j).Job }
