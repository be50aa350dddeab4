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
	reader, writer, err := os.Pipe() // one for both: lines stay in order, and a slow log slows the program
	if err != nil {
		return Result{ExitCode: -1, Err: err}
	}
	cmd.Stdout, cmd.Stderr = writer, writer
	cmd.WaitDelay = Grace
	ownGroup(cmd)
	as(cmd, p.As)
	var asked time.Time // to stop
	cmd.Cancel = func() error {
		asked = time.Now()
		terminate(cmd.Process, p.Mark)
		return nil
	}
	err = cmd.Start()
	_ = writer.Close()
	if err != nil {
		_ = reader.Close()
		return Result{ExitCode: -1, Err: err}
	}
	over, held := make(chan struct{}), make(chan bool, 1)
	go func() { held <- pass(reader, p.Out, over) }()
	err = cmd.Wait()
	close(over)
	var background, all bool
	select {
	case background = <-held:
		all = true
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		if asked.IsZero() && alive(cmd.Process.Pid, p.Mark) { // the program had ended before ctx did
			_ = cmd.Cancel()
		}
		endTree(cmd.Process.Pid, p.Mark, asked.Add(Grace))
	}
	if !all {
		<-held
	}
	result := Result{ExitCode: cmd.ProcessState.ExitCode(), Background: background}
	if result.ExitCode < 0 {
		result.Err = err
	}
	return result
}

// piped is where a program's output comes from.
type piped interface {
	io.ReadCloser
	SetReadDeadline(t time.Time) error
}

// maxLeft is how much is read once a program is over: no pipe holds more of what it has printed, and the rest is of others.
const maxLeft = 1 << 20

// pass gives to what a program prints, until nobody holds the pipe any more. Once the program is over, it waits for others for Grace at most, and says
// whether they still held it. How long the log takes for what was printed does not count.
func pass(from piped, to io.Writer, over <-chan struct{}) (held bool) {
	defer func() { _ = from.Close() }()
	go func() {
		<-over
		if from.SetReadDeadline(time.Now()) != nil { // a system that knows none for pipes
			time.AfterFunc(Grace, func() { _ = from.Close() })
		}
	}()
	buffer := make([]byte, 32<<10)
	ended, wait, left := false, Grace, maxLeft
	for {
		began := time.Now()
		if ended {
			_ = from.SetReadDeadline(began.Add(wait))
		}
		n, err := from.Read(buffer)
		if ended {
			wait, left = wait-time.Since(began), left-n
		}
		if n > 0 {
			_, _ = to.Write(buffer[:n]) // what cannot be written is the log's to tell
		}
		switch {
		case !ended && errors.Is(err, os.ErrDeadlineExceeded):
			ended = true
		case err != nil:
			return !errors.Is(err, io.EOF)
		case ended && (wait <= 0 || left <= 0):
			return true
		}
	}
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
