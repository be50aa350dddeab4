//go:build go1.26 && unix

package executor_test

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/wire"
)

// TestScriptsAsRootAreWarnedAbout starts executors as whoever runs the test.
func TestScriptsAsRootAreWarnedAbout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*executor.Config)
		warned bool // as root
	}{
		"scripts":                    {func(c *executor.Config) { c.GlueEnabled = true }, true},
		"scripts as somebody else":   {func(c *executor.Config) { c.GlueEnabled, c.RunAs = true, "nobody" }, false},
		"neither scripts nor others": {func(c *executor.Config) { c.GlueEnabled = false }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said bytes.Buffer
			root := os.Geteuid() == 0
			b := setup(t, nil, func(config *executor.Config) {
				c.change(config)
				if !root {
					config.RunAs = ""
				}
				config.Logger = slog.New(slog.NewTextHandler(&said, nil))
			})
			if err := b.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.warned = c.warned && root
			if got := strings.Contains(said.String(), "scripts and commands run as root"); got != c.warned {
				t.Errorf("warned %v, want %v:\n%s", got, c.warned, said.String())
			}
		})
	}
}

func TestScriptsRunAsAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		if _, err := executor.New(executor.Config{AppName: "orders", RunAs: "root"}); err == nil || !strings.Contains(err.Error(), "only root") {
			t.Errorf("without root: %v", err)
		}
		t.Skip("only root can run programs as somebody else")
	}
	if _, err := executor.New(executor.Config{AppName: "orders", RunAs: "nobody-has-this-name"}); err == nil {
		t.Error("a user that there is not was accepted")
	}
	var dir string
	b := setup(t, nil, func(c *executor.Config) { c.RunAs, dir = "nobody", c.DataDir })
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // the test's own folder is in nobody's way
		t.Fatal(err)
	}
	req := script(1, wire.GlueShell, `id -un; id -Gn; echo "at $PWD $HOME $USER"
cat "$0" >/dev/null && echo reads itself
touch "$0" 2>/dev/null || echo cannot change itself
ls "`+dir+`" 2>&1
cat /proc/$PPID/environ 2>&1 | head -c 100
ls -ld "$(dirname "$0")"`)
	b.mustRun(t, req)
	b.wantResult(t, 1, 200, "")
	text := b.log(t, req)
	for _, want := range []string{"\nnobody\n", "reads itself", "cannot change itself", "nobody\n", "ls: cannot open directory", "/proc/", "ermission denied"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "journal") || strings.Contains(text, " root\n") {
		t.Errorf("it reaches the data folder, or keeps root's groups:\n%s", text)
	}
	// What clears temporary files takes the folder of the scripts along.
	_, rest, _ := strings.Cut(text, "script file:")
	file, _, _ := strings.Cut(rest, " ")
	if err := os.RemoveAll(file[:strings.LastIndexByte(file, '/')]); err != nil {
		t.Fatal(err)
	}
	again := script(2, wire.GlueShell, "echo once more")
	b.mustRun(t, again)
	b.wantResult(t, 2, 200, "")
	if text := b.log(t, again); !strings.Contains(text, "once more") {
		t.Errorf("after the folder went away:\n%s", text)
	}
}

// A kill leaves the folder of such scripts, passwords and all: the next start takes it away, and no other executor's.
func TestAStartRemovesAnotherUsersScriptsOfBefore(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can run programs as somebody else")
	}
	dataDir := t.TempDir()
	start := func(dir string) *executor.Executor {
		ex, err := executor.New(executor.Config{AppName: "orders", RunAs: "nobody", DataDir: dir, Listen: "127.0.0.1:0", InsecureNoToken: true, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if err := ex.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ex.Stop(t.Context()) })
		return ex
	}
	first := start(dataDir)
	folder := executor.ScriptsFolder(first)
	other := executor.ScriptsFolder(start(t.TempDir()))
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o750); err != nil { // as if it had been killed
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(folder) })
	start(dataDir)
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("another executor's: %v", err)
	}
}
