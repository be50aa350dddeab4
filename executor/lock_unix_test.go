//go:build go1.26 && unix

package executor

import (
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestAFolderThatIsGivenBackIsFree while a script that is being started has the lock's file, however long it takes to become itself.
func TestAFolderThatIsGivenBackIsFree(t *testing.T) {
	dir := t.TempDir()
	lock, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	script, err := syscall.Dup(int(lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(script)
	t.Cleanup(func() { _ = syscall.Close(script) })
	unlockDir(lock)
	if lock, err = lockDir(dir); err != nil {
		t.Fatal(err)
	}
	unlockDir(lock)
}

// TestAFolderThatAStartingScriptStillHoldsIsWaitedFor copies the lock's descriptor, as every script that is started does until it has become
// itself. It is not parallel to the tests that start scripts: theirs would hold it too, and not on this clock.
func TestAFolderThatAStartingScriptStillHoldsIsWaitedFor(t *testing.T) {
	for _, c := range []struct {
		name  string
		holds time.Duration
		want  error
	}{
		{"a script that starts", 100 * time.Millisecond, nil},
		{"another executor", time.Minute, syscall.EWOULDBLOCK},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				lock, err := lockDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				script, err := syscall.Dup(int(lock.Fd()))
				if err != nil {
					t.Fatal(err)
				}
				syscall.CloseOnExec(script)
				if err := lock.Close(); err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(c.holds, func() { _ = syscall.Close(script) })
				lock, err = lockDir(dir)
				if !errors.Is(err, c.want) {
					t.Errorf("locked with %v, want %v", err, c.want)
				}
				if err == nil {
					_ = lock.Close()
				}
			})
		})
	}
}
