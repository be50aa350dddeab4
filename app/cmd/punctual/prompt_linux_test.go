package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/executor/executortest"
)

// terminal is one that a test types into. What a program shows on it, and what it echoes, comes out of said.
type terminal struct {
	t           *testing.T
	keys, other *os.File // our side and the program's
	said        bytes.Buffer
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keys.Close() })
	if err := unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	return &terminal{t: t, keys: keys, other: other}
}

// echoes says whether the terminal shows what is typed.
func (x *terminal) echoes() bool {
	x.t.Helper()
	state, err := unix.IoctlGetTermios(int(x.other.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

// until reads what is shown until a text was there once more.
func (x *terminal) until(text string) {
	x.t.Helper()
	one := make([]byte, 1)
	for from := x.said.Len(); !strings.Contains(x.said.String()[from:], text); {
		if n, err := x.keys.Read(one); n == 0 {
			x.t.Fatalf("%v after %q", err, x.said.String())
		}
		x.said.Write(one)
	}
}

// hidden waits until the terminal shows nothing any more, as somebody does who is slower than a program.
func (x *terminal) hidden() {
	x.t.Helper()
	executortest.Eventually(x.t, "terminal that shows nothing", func() error {
		if x.echoes() {
			return fmt.Errorf("it shows what is typed after %q", x.said.String())
		}
		return nil
	})
}

func (x *terminal) press(keys string) {
	x.t.Helper()
	if _, err := x.keys.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// start runs the program at the terminal, which sends it signals as one does.
func (x *terminal) start(args ...string) (end func() (code int, out string)) {
	x.t.Helper()
	program, err := os.Executable()
	if err != nil {
		x.t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"PLAY_PUNCTUAL=1", "PATH=" + os.Getenv("PATH"), "HOME=" + x.t.TempDir()}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = x.other, &out, x.other
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return func() (int, string) {
		_ = cmd.Wait()
		return cmd.ProcessState.ExitCode(), out.String()
	}
}

// TestAPasswordIsTypedAtATerminal types two, which the terminal does not show, one that is mistyped, and an interrupt.
func TestAPasswordIsTypedAtATerminal(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	a, err := app.New(t.Context(), app.Options{DataDir: data, Listen: "127.0.0.1:0", Sample: app.SampleOff, HTTPJobs: app.SampleOff})
	if err == nil {
		err = errors.Join(a.Start(t.Context()), a.Stop(t.Context()))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		what, first, second string
		code                int
		out, err            string
	}{
		{"the same twice", "some-lamp-otter-1\n", "some-lamp-otter-1\n", 0, "the password is changed", ""},
		{"a mistake that is deleted", "some-lamq\x7fp-otter-1\n", "some-lamp-otter-1\n", 0, "the password is changed", ""},
		{"two that differ", "some-lamp-otter-1\n", "some-lamp-otter-2\n", 2, "", "not the same"},
		{"nothing", "\n", "\n", 2, "", "no password was typed"},
		{"a common one", "password\n", "password\n", 2, "", "easy to guess"},
		{"an interrupt", "some-lamp\x03", "", 130, "", ""},
	} {
		x := newTerminal(t)
		end := x.start("user", "reset-password", "admin", "--data-dir", data, "--prompt", "--log-level", "error")
		x.until("New password: ")
		x.hidden()
		x.press(tt.first)
		if tt.second != "" {
			x.until("Again: ")
			x.hidden()
			x.press(tt.second)
		}
		code, out := end()
		if tt.err != "" {
			x.until(tt.err)
		}
		if code != tt.code || !strings.Contains(out, tt.out) || strings.Contains(out+x.said.String(), "lam") {
			t.Errorf("%s: %d, %q, the terminal showed %q", tt.what, code, out, x.said.String())
		}
		if !x.echoes() {
			t.Errorf("%s: the terminal shows nothing any more afterwards", tt.what)
		}
	}
}

// TestATokenThatIsNotTyped: whoever interrupts the question has a terminal that shows what they type.
func TestATokenThatIsNotTyped(t *testing.T) {
	t.Parallel()
	x := newTerminal(t)
	end := x.start("login", "--paste", "http://127.0.0.1:1")
	x.until("Token: ")
	x.hidden()
	x.press("\x03")
	if code, _ := end(); code != 130 {
		t.Errorf("interrupted: exit code %d", code)
	}
	if !x.echoes() {
		t.Error("the terminal goes on showing nothing")
	}
}
