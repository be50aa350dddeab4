//go:build go1.26

package guard

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestMain lets the test program play the process that forgets.
func TestMain(m *testing.M) {
	if os.Getenv("GUARD_PLAYS") != "" {
		play()
		return
	}
	os.Exit(m.Run())
}

func play() {
	if err := Forget("SECRET_ONE", "SECRET_THREE", "NEVER_SET"); err != nil {
		fmt.Println("forget:", err)
	}
	if err := Undumpable(); err != nil {
		fmt.Println("undumpable:", err)
	}
	fmt.Println("ready", os.Getenv("SECRET_ONE")+os.Getenv("SECRET_THREE"), os.Getenv("KEPT"))
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// started starts the player, as a user if that is possible, and gives its process once it has forgotten.
func started(t *testing.T, as *syscall.Credential) (pid int, said string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if as != nil { // who cannot go through the folders to the test program
		copied := filepath.Join(os.TempDir(), fmt.Sprintf("guard-test-%d", os.Getpid()))
		raw, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied, raw, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(copied) })
		program = copied
	}
	cmd := exec.Command(program)
	cmd.Env = []string{"GUARD_PLAYS=1", "SECRET_ONE=xSECRETx", "KEPT=still", "SECRET_THREE=ySECRETy", "SECRET_THREE_MORE=not this"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	cmd.Dir = "/"
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	buffer := make([]byte, 1000)
	n, err := out.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, string(buffer[:n])
}

func TestSecretsLeaveTheEnvironmentThatOthersSee(t *testing.T) {
	t.Parallel()
	pid, said := started(t, nil)
	if said != "ready  still\n" {
		t.Errorf("the process said %q", said)
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if os.Getuid() != 0 {
		if err == nil {
			t.Error("another process of the user reads the environment")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte("SECRETx")) || bytes.Contains(raw, []byte("SECRETy")) {
		t.Errorf("root still reads %q", raw)
	}
	if !bytes.Contains(raw, []byte("KEPT=still")) || !bytes.Contains(raw, []byte("SECRET_THREE_MORE=not this")) {
		t.Errorf("what is no secret is gone: %q", raw)
	}
}

func TestProcessesOfTheSameUserAreKeptOut(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can play two processes of another user")
	}
	nobody := &syscall.Credential{Uid: 65534, Gid: 65534}
	pid, said := started(t, nobody)
	if said != "ready  still\n" {
		t.Errorf("the process said %q", said)
	}
	for _, file := range []string{"environ", "mem", "maps"} {
		cat := exec.Command("head", "-c", "1", fmt.Sprintf("/proc/%d/%s", pid, file))
		cat.SysProcAttr = &syscall.SysProcAttr{Credential: nobody}
		if out, err := cat.CombinedOutput(); err == nil || !strings.Contains(string(out), "ermission denied") {
			t.Errorf("its user reads %s: %q, %v", file, out, err)
		}
	}
}
