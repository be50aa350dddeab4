//go:build go1.26

package process

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slowReader takes little at a time, and notes whether the program was over while much was still to come.
type slowReader struct {
	marker string
	total  int
	got    int
	early  bool
}

// between is more than fits between the program and us: a pipe and a copying buffer.
const between = 256 << 10

func (r *slowReader) Write(p []byte) (int, error) {
	r.got += len(p)
	if _, err := os.Stat(r.marker); err == nil && r.got < r.total-between {
		r.early = true
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	return len(p), nil
}

// Output is not collected anywhere: a program that prints faster than its log takes it waits.
func TestASlowLogSlowsTheProgram(t *testing.T) {
	t.Parallel()
	bash, err := Find("bash")
	if err != nil {
		t.Skip("no bash: apt install bash")
	}
	out := &slowReader{marker: filepath.Join(t.TempDir(), "done"), total: 8 << 20}
	result := Run(t.Context(), Program{Path: bash, Args: []string{"-c", `head -c 8388608 /dev/zero; touch "$1"`, "bash", out.marker}, Out: out, Mark: "test"})
	if result.ExitCode != 0 || result.Err != nil {
		t.Fatalf("%+v", result)
	}
	if out.got != out.total || out.early {
		t.Errorf("%d of %d bytes; the program ended before they were read: %v", out.got, out.total, out.early)
	}
}

// enough ends a run when its output says so.
type enough struct {
	said strings.Builder
	end  context.CancelFunc
}

func (e *enough) Write(p []byte) (int, error) {
	e.said.Write(p)
	if strings.Contains(e.said.String(), "alone\n") {
		e.end()
	}
	return len(p), nil
}

// What a program leaves behind is asked to stop too before it is ended, also when the run is ended after the program has.
func TestWhatAProgramLeavesIsAskedToStop(t *testing.T) {
	t.Parallel()
	bash, err := Find("bash")
	if err != nil {
		t.Skip("no bash: apt install bash")
	}
	asked := filepath.Join(t.TempDir(), "asked")
	ctx, end := context.WithCancel(t.Context())
	defer end()
	child := `(exec 2>/dev/null; trap ': >"$1"; exit' TERM; while kill -0 $$ 2>/dev/null; do sleep 0.01; done; echo alone; while :; do sleep 0.01; done) &`
	Run(ctx, Program{Path: bash, Args: []string{"-c", child, "bash", asked}, Out: &enough{end: end}, Mark: "left " + asked})
	if _, err := os.Stat(asked); err != nil {
		t.Error("it was ended without a chance to stop")
	}
}

// logged is a log that takes its time for each piece.
type logged struct {
	takes time.Duration
	text  strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	time.Sleep(l.takes)
	return l.text.Write(p)
}

// TestASlowLogHasAllThatAProgramPrinted, however long it takes after the program's end: that nobody holds the output any more is known only then.
// What others print is waited for as long as they may hold it, whether they say something or nothing, and no flood is read for ever.
func TestASlowLogHasAllThatAProgramPrinted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		takes time.Duration
		print func(io.WriteCloser, chan struct{})
		want  string
		most  time.Duration
		held  bool
	}{
		"a slow log": {10 * time.Second, func(w io.WriteCloser, over chan struct{}) {
			_, _ = io.WriteString(w, "first\n")
			close(over)
			_, _ = io.WriteString(w, "in the pipe\n")
			_, _ = io.WriteString(w, "and more\n")
			_ = w.Close()
		}, "first\nin the pipe\nand more\n", 30 * time.Second, false},
		"somebody who says nothing": {0, func(w io.WriteCloser, over chan struct{}) {
			_, _ = io.WriteString(w, "first\n")
			close(over)
		}, "first\n", Grace, true},
		"somebody who says something": {0, func(w io.WriteCloser, over chan struct{}) {
			close(over)
			for {
				time.Sleep(2 * time.Second)
				if _, err := io.WriteString(w, "a line\n"); err != nil {
					return
				}
			}
		}, "a line\n", Grace, true},
		"somebody who ends": {0, func(w io.WriteCloser, over chan struct{}) {
			close(over)
			time.Sleep(2 * time.Second)
			_ = w.Close()
		}, "", 2 * time.Second, false},
		"a flood": {0, func(w io.WriteCloser, over chan struct{}) {
			close(over)
			time.Sleep(time.Nanosecond) // until that is known
			for text := make([]byte, 32<<10); ; {
				if _, err := w.Write(text); err != nil {
					return
				}
			}
		}, string(make([]byte, maxLeft)), 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, w := net.Pipe()
				over, log, began := make(chan struct{}), &logged{takes: tt.takes}, time.Now()
				var printer sync.WaitGroup
				printer.Go(func() { tt.print(w, over) })
				held := pass(r, log, over)
				if took := time.Since(began); held != tt.held || took != tt.most || log.text.String() != tt.want {
					t.Errorf("held %v after %v; the log has %d bytes: %.100q", held, took, log.text.Len(), log.text.String())
				}
				printer.Wait()
			})
		})
	}
}
