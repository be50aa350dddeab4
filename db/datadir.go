package db

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// lockName is the file that holds the process id of who uses the embedded database. It is locked too, which keeps out
// programs of before the database itself was.
const lockName = "punctual.lock"

// dirLock is what makes this process the only user of an embedded database.
type dirLock struct{ who, database *os.File }

// Close gives the database back. The files are unlocked first: closing them does not do that while a program that is being started has
// them too.
func (l *dirLock) Close() error {
	if l.database == nil {
		return errors.Join(unlock(l.who), l.who.Close())
	}
	return errors.Join(unlockDatabase(l.database), l.database.Close(), unlock(l.who), l.who.Close())
}

// openOrMake opens a file of the data directory to write to it, and makes it for the directory's owner if it is not there. how are more
// flags of opening it.
func openOrMake(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|how, 0)
	if !errors.Is(err, os.ErrNotExist) {
		return f, err
	}
	f, err = makeFor(filepath.Dir(path), path)
	if errors.Is(err, os.ErrExist) { // another process was faster
		return os.OpenFile(path, os.O_RDWR|how, 0)
	}
	return f, err
}

// makeFor makes a file for its owner alone, who is that of what is at like; see [giveTo].
func makeFor(like, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err := giveTo(f, like); err != nil {
		f.Close()
		os.Remove(path) // the next try would find it, and take it for one that is well
		return nil, fmt.Errorf("give %s to the owner of %s: %w", path, like, err)
	}
	return f, nil
}

// lockDir makes the caller the only user of the embedded database in dir. Two processes would each keep runs in memory
// that the other does not know of. What counts is a lock of the database itself: whoever deletes the other file, renames the
// directory or links the database into another one is still kept out. A copy is another database. Before the database is made for its lock, where
// there is none, first is called, if it is not nil, when nobody else is there.
func lockDir(dir, database string, first func() error) (*dirLock, error) {
	path := filepath.Join(dir, lockName)
	l := new(dirLock)
	var err error
	if l.who, err = openLocked(path); err == nil {
		if first != nil {
			err = first()
		}
		if err == nil {
			l.database, err = lockDatabase(database)
		}
		if err != nil {
			l.who.Close()
		}
	}
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
	if l.who.Truncate(0) == nil {
		_, _ = l.who.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return l, nil
}
