//go:build unix && !linux

package db

import (
	"os"
	"path/filepath"
	"syscall"
)

// lockDatabase locks the directory that the database is in: on these systems a lock of the file would be in the way of
// SQLite's own.
func lockDatabase(path string) (*os.File, error) {
	f, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	return locked(f, func() error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) })
}

func unlockDatabase(f *os.File) error { return unlock(f) }
