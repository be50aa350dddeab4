//go:build go1.26

package process

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// slowReader takes little at a time, and notes whether the program was over while much was still to come.
type slowReader struct {
	marker string
	total  int
	got    int
	early  bool
}

// between is more than fits between the program and us: a pipe and a copying buffer.
const between = 256 << 10

func (r *slowReader) Write(p []byte) (int, error) {
	r.got += len(p)
	if _, err := os.Stat(r.marker); err == nil && r.got < r.total-between {
		r.early = true
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	return len(p), nil
}

// Output is not collected anywhere: a program that prints faster than its log takes it waits.
func TestASlowLogSlowsTheProgram(t *testing.T) {
	t.Parallel()
	bash, err := Find("bash")
	if err != nil {
		t.Skip("no bash: apt install bash")
	}
	out := &slowReader{marker: filepath.Join(t.TempDir(), "done"), total: 8 << 20}
	result := Run(t.Context(), Program{Path: bash, Args: []string{"-c", `head -c 8388608 /dev/zero; touch "$1"`, "bash", out.marker}, Out: out, Mark: "test"})
	if result.ExitCode != 0 || result.Err != nil {
		t.Fatalf("%+v", result)
	}
	if out.got != out.total || out.early {
		t.Errorf("%d of %d bytes; the program ended before they were read: %v", out.got, out.total, out.early)
	}
}

// enough ends a run when its output says so.
type enough struct {
	said strings.Builder
	end  context.CancelFunc
}

func (e *enough) Write(p []byte) (int, error) {
	e.said.Write(p)
	if strings.Contains(e.said.String(), "alone\n") {
		e.end()
	}
	return len(p), nil
}

// What a program leaves behind is asked to stop too before it is ended, also when the run is ended after the program has.
func TestWhatAProgramLeavesIsAskedToStop(t *testing.T) {
	t.Parallel()
	bash, err := Find("bash")
	if err != nil {
		t.Skip("no bash: apt install bash")
	}
	asked := filepath.Join(t.TempDir(), "asked")
	ctx, end := context.WithCancel(t.Context())
	defer end()
	child := `(exec 2>/dev/null; trap ': >"$1"; exit' TERM; while kill -0 $$ 2>/dev/null; do sleep 0.01; done; echo alone; while :; do sleep 0.01; done) &`
	Run(ctx, Program{Path: bash, Args: []string{"-c", child, "bash", asked}, Out: &enough{end: end}, Mark: "left " + asked})
	if _, err := os.Stat(asked); err != nil {
		t.Error("it was ended without a chance to stop")
	}
}
