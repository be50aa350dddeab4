package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app"
)

// TestBackupAndRestore backs up beside an admin that runs, and starts another on what is restored.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	const password = "some-lamp-otter-1"
	start := func(data string) (*app.App, error) {
		a, err := app.New(t.Context(), app.Options{DataDir: data, Listen: "127.0.0.1:0", Sample: app.SampleOff, HTTPJobs: app.SampleOff, AdminPassword: password, UnsafeDB: true})
		if err == nil {
			err = a.Start(t.Context())
		}
		return a, err
	}
	command := func(args ...string) (code int, said string) {
		var out bytes.Buffer
		code = run(args, &out, &out)
		return code, out.String()
	}
	data, restored, file := t.TempDir(), filepath.Join(t.TempDir(), "new"), filepath.Join(t.TempDir(), "backup.db")
	a, err := start(data)
	if err != nil {
		t.Fatal(err)
	}
	token := a.Token()
	if code, said := command("backup", file, "--data-dir", data); code != 0 || !strings.Contains(said, "checked") {
		t.Fatalf("%d: %s", code, said)
	}
	if code, said := command("restore", file, "--data-dir", data); code != 1 || !strings.Contains(said, "in use") {
		t.Errorf("over a running one: %d, %s", code, said)
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code, said := command("restore", file, "--data-dir", restored); code != 0 {
		t.Fatalf("%d: %s", code, said)
	}
	b, err := start(restored)
	if err != nil {
		t.Fatal(err)
	}
	if b.Token() != token || b.Welcome().FirstUser != "" {
		t.Error("the restored admin is another one")
	}
	if err := b.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"backup", "restore"} {
		if code, said := command(name, file+"2", "--database-url", "mysql://u:p@127.0.0.1:1/d"); code != 2 || !strings.Contains(said, "embedded") {
			t.Errorf("%s of a MySQL: %d, %s", name, code, said)
		}
	}
}
