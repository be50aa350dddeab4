package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestARunningAdminShowsNoSecret(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("a long password in a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "serve", "--listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--sample", "off", "--log-level", "error")
	cmd.Env = []string{"PLAY_PUNCTUAL=1", "PUNCTUAL_ACCESS_TOKEN=xSECRETxxSECRETx", "PUNCTUAL_SECRET_KEY=xSECRETxxSECRETxxSECRETxxSECRETxx", "PUNCTUAL_ADMIN_PASSWORD_FILE=" + password, "PATH=" + os.Getenv("PATH")}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan() && !strings.HasPrefix(lines.Text(), "╰"); {
		said.WriteString(lines.Text() + "\n")
	}
	if !strings.Contains(said.String(), "as set in PUNCTUAL_ADMIN_PASSWORD") {
		t.Errorf("the password did not come from the file:\n%s", said.String())
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid))
	if os.Geteuid() != 0 && err == nil {
		t.Error("another process of the user reads the environment")
	}
	if strings.Contains(string(environ), "xSECRETx") {
		t.Errorf("the environment still shows %q", environ)
	}
}
