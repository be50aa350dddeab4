package app

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// spaceOf asks the file system that a folder is on.
func spaceOf(dir string) (space, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return space{}, fmt.Errorf("%s: %w", dir, err)
	}
	block := uint64(s.Frsize)
	return space{
		total: s.Blocks * block, free: s.Bavail * block, files: s.Files, freeFiles: s.Ffree,
		readOnly: s.Flags&unix.ST_RDONLY != 0,
	}, nil
}
