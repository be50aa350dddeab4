package db

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// lockName is the file whose lock says that the embedded database is in use; it holds the process id of who uses it.
const lockName = "punctual.lock"

// lockDir makes the caller the only user of the embedded database in dir. Two processes would each keep runs in memory
// that the other does not know of.
func lockDir(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockName)
	f, err := openLocked(path)
	if errors.Is(err, errLocked) {
		who := "another process"
		if pid, err := os.ReadFile(path); err == nil && len(pid) > 0 {
			who = "process " + strings.TrimSpace(string(pid))
		}
		return nil, fmt.Errorf("the embedded database in %s is in use by %s; stop it first or choose another data directory", dir, who)
	}
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	// What the file holds is only for people, so that a full disk is no reason not to start.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}
