//go:build unix

package executor

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockDir keeps a second executor from using the same data folder. The lock goes with the process, however it ends.
func lockDir(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("data folder %s is used by another executor: %w", dir, err)
	}
	return file, nil
}
