package executor

import (
	"os"
	"path/filepath"
)

// lockDir makes the lock file; Windows keeps others from replacing the open journal by itself.
func lockDir(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
}

func unlockDir(lock *os.File) { _ = lock.Close() }
