package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheDatabaseItselfIsForEmergencies: what reads or writes jobs past every admin says when it is meant, and what is usually meant.
func TestTheDatabaseItselfIsForEmergencies(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	for _, command := range []string{"export", "import"} {
		var out, said bytes.Buffer
		if code := run([]string{command, "--help"}, &out, &said); code != 0 || said.Len() > 0 {
			t.Fatalf("%s: exit code %d: %s", command, code, said.String())
		}
		file := filepath.Join("testdata", command+"-help.txt")
		if *update {
			if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), out.String()); diff != "" {
			t.Errorf("%s --help (-want +got):\n%s", command, diff)
		}
		if !strings.Contains(out.String(), "emergency") {
			t.Errorf("%s --help names no emergency", command)
		}
	}
}

// TestTheCodeIsThatOfTheRun: what a script sees of a run that it waits for is how the program ends.
func TestTheCodeIsThatOfTheRun(t *testing.T) {
	state := ""
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := `{"id":4,"state":"` + state + `","ended":true,"message":"so it was","follower_ids":[],"shards":[]}`
		switch {
		case r.Method == http.MethodPost && state == "refused":
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusConflict)
			answer = `{"title":"It cannot be done","status":409}`
		case r.Method == http.MethodPost:
			answer = `{"runs":[4]}`
		case r.URL.Path == "/api/v1/jobs/1":
			answer = `{"id":1}`
		case state == "hanging" && r.URL.Query().Has("wait"):
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(admin.Close)
	for _, tt := range []struct {
		state string
		code  int
		args  []string
	}{{"success", 0, nil}, {"failed", 1, nil}, {"refused", 2, nil}, {"discarded", 2, nil}, {"timeout", 124, nil}, {"hanging", 124, []string{"--timeout", "50ms"}}} {
		state = tt.state
		var out, said bytes.Buffer
		args := append([]string{"run", "1", "--wait", "--url", admin.URL, "--token", "pnc_x"}, tt.args...)
		if code := run(args, &out, &said); code != tt.code {
			t.Errorf("%s ends with %d, want %d:\n%s%s", tt.state, code, tt.code, out.String(), said.String())
		}
	}
}
