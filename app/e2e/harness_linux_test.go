package e2e

import (
	"fmt"
	"os/exec"
	"syscall"
	"testing"
)

// dieWithTest makes a program end with the test binary, however that ends.
func dieWithTest(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// mountTmpfs mounts a small disk.
func mountTmpfs(dir string, bytes int) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", bytes))
}

func unmount(t testing.TB, dir string) {
	if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
		t.Errorf("unmount %s: %v", dir, err)
	}
}
