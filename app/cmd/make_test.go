package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestTheFirstBuildSaysWhatItDoes runs make with a compiler that is none: the first build takes minutes, in which somebody wants to
// know what is going on; later ones are silent.
func TestTheFirstBuildSaysWhatItDoes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("make"); err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no make")
	}
	dir := t.TempDir()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	compiler := `#!/bin/sh
[ -z "$FAIL" ] || { echo "dial tcp: i/o timeout" >&2; exit 1; }
while [ $# -gt 0 ]; do [ "$1" = -o ] && touch "$2"; shift; done
`
	for name, text := range map[string]string{"Makefile": string(makefile), "path/go": compiler} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	build := func(env ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "make", "--no-print-directory", "build", "VERSION=v0")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), append(env, "MAKEFLAGS=", "PATH="+filepath.Join(dir, "path")+":"+os.Getenv("PATH"))...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if said, err := build("FAIL=yes"); err == nil || !strings.Contains(said, "README.md says how") {
		t.Errorf("a build that fails: %v, %s", err, said)
	}
	if said, err := build(); err != nil || !strings.Contains(said, "some minutes") || !strings.Contains(said, "bin/punctual-executor") {
		t.Errorf("the first build: %v, %s", err, said)
	}
	if said, err := build(); err != nil || said != "" {
		t.Errorf("a later build: %v, %q", err, said)
	}
}
