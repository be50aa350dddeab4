package db

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lockedByte is the byte of the database file that says who uses it. SQLite's own locks are at 1 GiB, and no file is so long
// that it has this one.
const lockedByte = 1 << 61

// lockDatabase locks the database file itself until what it returns is closed or the process ends. The lock belongs to the
// open file: closing another handle of the same file, as SQLite does, does not undo it, as it would a POSIX lock.
func lockDatabase(path string) (*os.File, error) {
	f, err := openOrMake(path, 0)
	if err != nil {
		return nil, err
	}
	return locked(f, func() error { return setLock(f, unix.F_WRLCK) })
}

func unlockDatabase(f *os.File) error { return setLock(f, unix.F_UNLCK) }

func setLock(f *os.File, kind int16) error {
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: kind, Whence: io.SeekStart, Start: lockedByte, Len: 1})
}
