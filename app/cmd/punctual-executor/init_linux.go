package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/punctual-job/punctual/executor/guard"
)

// asFirst is for the first process of a container. The kernel gives it the processes that scripts leave behind, to be waited for when they end,
// and keeps from it the signals that it has no handler for. So the program runs in a process of its own, and this one does no more than that.
// is is false where it is not the first, or could not start another.
func asFirst() (code int, is bool) {
	if os.Getpid() != 1 {
		return 0, false
	}
	self, err := os.Executable()
	if err != nil {
		return 0, false
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)
	child, err := syscall.ForkExec(self, os.Args, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setpgid: true}, // what is typed at a terminal comes once
	})
	if err != nil {
		signal.Stop(signals)
		return 0, false
	}
	_ = errors.Join(guard.Forget("PUNCTUAL_EXECUTOR_ACCESS_TOKEN"), guard.Undumpable()) // the program warns where that cannot be
	go func() {
		for s := range signals {
			if s, ok := s.(syscall.Signal); ok {
				_ = syscall.Kill(child, s)
			}
		}
	}()
	return reap(child), true
}

// reap waits for all processes until one has ended, and is its exit code as a shell gives it.
func reap(until int) (code int) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 1
		case pid == until && status.Signaled():
			return 128 + int(status.Signal())
		case pid == until:
			return status.ExitStatus()
		}
	}
}
