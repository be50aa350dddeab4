//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks the tree to stop.
func terminate(p *os.Process, mark string) {
	_ = syscall.Kill(-p.Pid, syscall.SIGTERM)
	signalMarked([]string{mark}, syscall.SIGTERM)
}

// kill ends the tree.
func kill(pid int, mark string) {
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	signalMarked([]string{mark}, syscall.SIGKILL)
}

// alive says whether anything of the tree is left.
func alive(pid int, mark string) bool {
	return syscall.Kill(-pid, 0) == nil || len(marked([]string{mark})) > 0
}

func killMarked(marks []string) int { return signalMarked(marks, syscall.SIGKILL) }

func signalMarked(marks []string, signal syscall.Signal) int {
	pids := marked(marks)
	for _, pid := range pids {
		_ = syscall.Kill(pid, signal)
	}
	return len(pids)
}
