//go:build unix

package executor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A program that an executor starts has its open files for a moment, the lock included, until it has become itself. So the lock of one that was
// killed just now may look held.
const (
	lockTries = 50
	lockPause = 10 * time.Millisecond
)

// lockDir keeps a second executor from using the same data folder. The lock goes with the process, however it ends.
func lockDir(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for range lockTries {
		if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			break
		}
		time.Sleep(lockPause)
	}
	_ = file.Close()
	return nil, fmt.Errorf("data folder %s is used by another executor: %w", dir, err)
}

// unlockDir gives a folder back, also while a script that is being started has the lock's file too.
func unlockDir(lock *os.File) {
	_ = syscall.Flock(int(lock.Fd()), syscall.LOCK_UN)
	_ = lock.Close()
}
