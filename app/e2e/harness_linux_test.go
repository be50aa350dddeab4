package e2e

import (
	"os/exec"
	"syscall"
)

// dieWithTest makes a program end with the test binary, however that ends.
func dieWithTest(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
