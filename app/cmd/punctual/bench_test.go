package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestBenchMeasuresARealSystem: the program starts itself with a temporary database and an executor, whatever the installation around it is
// set to, and the figures are those of runs that were executed.
func TestBenchMeasuresARealSystem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := playing(t, dir)
	cmd := exec.CommandContext(t.Context(), program, "bench", "--only", "lateness at 100/", "--seconds", "2", "--output", "json")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PLAY_PUNCTUAL=1", "TMPDIR="+t.TempDir(), "PUNCTUAL_DATABASE_URL=mysql://nobody:nothing@127.0.0.1:1/live", "PUNCTUAL_TLS_CERT=/none")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var read struct {
		Machine   struct{ Cores int }
		Databases map[string]string
		Results   []struct {
			Scenario string
			Figures  []struct {
				Name  string
				Value float64
			}
		}
	}
	if err := json.Unmarshal(out, &read); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if read.Machine.Cores == 0 || read.Databases["embedded"] == "" || len(read.Results) != 1 || read.Results[0].Scenario != "lateness at 100/s" {
		t.Fatalf("%s", out)
	}
	for _, want := range []string{"executed", "lateness_p99", "admin_memory"} {
		if !slices.ContainsFunc(read.Results[0].Figures, func(f struct {
			Name  string
			Value float64
		}) bool {
			return f.Name == want && f.Value > 0
		}) {
			t.Errorf("no %s: %s", want, out)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 {
		t.Errorf("it left %v", left)
	}
}
