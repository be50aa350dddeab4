package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTokensThatOthersCanReadAreNamed once, by the commands that use them, and on standard error alone.
func TestTokensThatOthersCanReadAreNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "contexts.yaml")
	t.Setenv("PUNCTUAL_CONTEXTS", path)
	if err := os.WriteFile(path, []byte("current: a\ncontexts: [{name: a, url: 'http://127.0.0.1:1', token: pnc_x}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		mode  os.FileMode
		token string // of the environment
		args  []string
		want  int
	}{
		{0o644, "", []string{"jobs"}, 1},
		{0o640, "", []string{"executors", "show", "1"}, 1},
		{0o604, "", []string{"diff", "-f", "/nowhere", "--source", "s"}, 1},
		{0o600, "", []string{"jobs"}, 0},
		{0o644, "pnc_other", []string{"jobs"}, 0},
		{0o644, "", []string{"context"}, 0},
		{0o644, "", []string{"complete", "--last=", "jobs", "show"}, 0},
	} {
		if err := os.Chmod(path, tt.mode); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PUNCTUAL_TOKEN", tt.token)
		var out, said bytes.Buffer
		runWith(tt.args, strings.NewReader(""), &out, &said)
		if got := strings.Count(said.String(), "chmod 600 "+path); got != tt.want || strings.Contains(out.String(), "chmod") {
			t.Errorf("%v, mode %o: said %d times: %s%s", tt.args, tt.mode, got, said.String(), out.String())
		}
	}
}
