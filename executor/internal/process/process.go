// Package process runs a program for a job, so that it can be ended with everything it started.
//
// A program gets a process group of its own. When its context ends, the group and every process that carries the run's
// mark in its environment (on Linux: that finds children which made a session of their own) are asked to stop with
// SIGTERM, and after a grace the ones that are left are ended with SIGKILL.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// MarkVariable is the environment variable that holds the mark of a run.
const MarkVariable = "PUNCTUAL_RUN"

// Grace is the time between SIGTERM and SIGKILL, and the time that children which outlive the program may hold its
// output before we stop listening.
const Grace = 3 * time.Second

// Program is what to run.
type Program struct {
	Path string
	Args []string
	Env  []string // in addition to the cleaned environment of this process
	Mark string   // unique to the run
	Out  io.Writer
	As   *Account // whose program it is; nil: the user of this process
}

// Result tells how a program ended.
type Result struct {
	ExitCode int // -1 if it did not start or was ended by a signal
	// Background says that the program is over, but something it started goes on and held its output.
	Background bool
	Err        error // why it did not start, or the signal; nil for any exit code
}

// Run runs p until it ends. When ctx ends first, it returns when the whole tree is gone.
func Run(ctx context.Context, p Program) Result {
	if err := ctx.Err(); err != nil {
		return Result{ExitCode: -1, Err: context.Cause(ctx)}
	}
	cmd := exec.CommandContext(ctx, p.Path, p.Args...)
	cmd.Env = append(slices.Concat(cleanEnviron(os.Environ()), p.As.environ(), p.Env), MarkVariable+"="+p.Mark)
	cmd.Stdout, cmd.Stderr = p.Out, p.Out // one pipe for both: lines stay in order, and a slow reader slows the program
	cmd.WaitDelay = Grace
	ownGroup(cmd)
	as(cmd, p.As)
	var asked time.Time // to stop
	cmd.Cancel = func() error {
		asked = time.Now()
		terminate(cmd.Process, p.Mark)
		return nil
	}
	if err := cmd.Start(); err != nil {
		return Result{ExitCode: -1, Err: err}
	}
	err := cmd.Wait()
	if ctx.Err() != nil {
		if asked.IsZero() && alive(cmd.Process.Pid, p.Mark) { // the program had ended before ctx did
			_ = cmd.Cancel()
		}
		endTree(cmd.Process.Pid, p.Mark, asked.Add(Grace))
	}
	result := Result{ExitCode: cmd.ProcessState.ExitCode(), Background: errors.Is(err, exec.ErrWaitDelay)}
	if result.ExitCode < 0 {
		result.Err = err
	}
	return result
}

// cleanEnviron drops what is not for jobs: this program's own settings, which hold its secrets.
func cleanEnviron(environ []string) []string {
	return slices.DeleteFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, "PUNCTUAL_") })
}

// endTree waits for what SIGTERM has reached until the deadline, and ends the rest.
func endTree(pid int, mark string, deadline time.Time) {
	for alive(pid, mark) && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond) // there is no way to be told of the end of a grandchild
	}
	// A process may start another one between our look and our signal.
	for range 20 {
		if !alive(pid, mark) {
			return
		}
		kill(pid, mark)
		time.Sleep(20 * time.Millisecond)
	}
}

// EndMarked ends what an earlier life of this program has left behind, and returns how many processes that were.
func EndMarked(marks []string) int {
	ended := 0
	for range 20 {
		n := killMarked(marks)
		if n == 0 {
			break
		}
		ended = max(ended, n)
		time.Sleep(20 * time.Millisecond)
	}
	return ended
}

// Find returns the first of names that is a program here.
func Find(names ...string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no %s is installed", strings.Join(names, " or "))
}
