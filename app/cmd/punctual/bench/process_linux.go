package bench

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// measured says whether processes' CPU time and memory are known here.
const measured = true

// dieWithUs has a process end when this program does, however that is.
func dieWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// mostMemory is the most that a process had, in MB.
func mostMemory(p *os.ProcessState) string {
	if use, ok := p.SysUsage().(*syscall.Rusage); ok {
		return fmt.Sprint(use.Maxrss / 1024)
	}
	return "?"
}
