//go:build !windows

package db

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestALockThatAStartingChildStillHoldsIsWaitedFor copies the lock's descriptor, as every program that is started does until
// it has become itself. It is not parallel to the tests that start programs: theirs would hold it too, and not on this clock.
func TestALockThatAStartingChildStillHoldsIsWaitedFor(t *testing.T) {
	for _, c := range []struct {
		name  string
		holds time.Duration
		want  error
	}{
		{"a child that starts", 100 * time.Millisecond, nil},
		{"another program", time.Minute, errLocked},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), lockName)
				f, err := openLocked(path)
				if err != nil {
					t.Fatal(err)
				}
				child, err := syscall.Dup(int(f.Fd()))
				if err != nil {
					t.Fatal(err)
				}
				syscall.CloseOnExec(child)
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(c.holds, func() { syscall.Close(child) })
				f, err = openLocked(path)
				if !errors.Is(err, c.want) {
					t.Errorf("locked with %v, want %v", err, c.want)
				}
				if err == nil {
					f.Close()
				}
			})
		})
	}
}

// TestWhatIsGivenBackIsFree gives a database back while a program that is being started has the files open, however long it takes to become
// itself: whoever wants it next need not wait.
func TestWhatIsGivenBackIsFree(t *testing.T) {
	dir := t.TempDir()
	database := filepath.Join(dir, fileName)
	lock, err := lockDir(dir, database, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{lock.who, lock.database} {
		child, err := syscall.Dup(int(f.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		syscall.CloseOnExec(child)
		t.Cleanup(func() { syscall.Close(child) })
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := lockDir(dir, database, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
