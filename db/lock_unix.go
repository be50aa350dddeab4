//go:build !windows

package db

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// A program that a process starts has its open files for a moment, locks included, until it has become itself. So the lock of one that
// was killed just now may look held.
const (
	lockTries = 50
	lockPause = 10 * time.Millisecond
)

var errLocked = errors.New("locked by another process")

// openLocked opens the file and locks it until it is closed or the process ends, however it ends. It is written to, so no link is followed:
// where root works in the directory of a service, that could name any file of the machine.
func openLocked(path string) (*os.File, error) {
	f, err := openOrMake(path, syscall.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	return locked(f, func() error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) })
}

func unlock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// locked tries to lock a file for a while, and closes it when that cannot be.
func locked(f *os.File, try func() error) (*os.File, error) {
	var err error
	for range lockTries {
		if err = try(); !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EACCES) {
			break
		}
		time.Sleep(lockPause)
	}
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EACCES) {
		return nil, errLocked
	}
	return nil, err
}

// giveTo has a file that root made belong to whoever owns what is at path: a service could not open what its operator, as root, made
// among its files.
func giveTo(f *os.File, path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s has no owner", path)
	}
	return f.Chown(int(owner.Uid), int(owner.Gid))
}
