package app

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestTheDoctorSaysThatADiskIsFull(t *testing.T) {
	t.Parallel()
	const gb = 1 << 30
	for _, c := range []struct {
		name string
		s    space
		want string
		full bool
	}{
		{"nothing is known", space{}, "", false},
		{"half full", space{total: 100 * gb, free: 50 * gb}, "", false},
		{"half of a small one", space{total: gb, free: gb / 2}, "", false},
		{"low", space{total: 100 * gb, free: gb - 1}, "has 1023 MB left of 102400", false},
		{"full", space{total: 100 * gb, free: 16<<20 - 1}, "has 15 MB left", true},
		{"no inodes", space{total: 100 * gb, free: 50 * gb, files: 1000, freeFiles: 99}, "has 99 inodes left", true},
		{"inodes", space{total: 100 * gb, free: 50 * gb, files: 1000, freeFiles: 100}, "", false},
		{"read-only", space{total: 100 * gb, free: 50 * gb, readOnly: true}, "is mounted read-only", true},
	} {
		if got, full := c.s.judge(); got != c.want || full != c.full {
			t.Errorf("%s: %q, %t", c.name, got, full)
		}
	}
	dir := t.TempDir()
	gone := filepath.Join(dir, "gone")
	var r DoctorReport
	r.disks(Options{DataDir: dir, OutputStore: gone})
	if _, err := spaceOf(gone); err != nil && !slices.Contains(keysOf(r.CheckFindings), "disk.low") {
		t.Errorf("of a folder that is gone: %+v", r.Points)
	}
	if s, err := spaceOf(os.TempDir()); err != nil || s.free > s.total {
		t.Errorf("here: %+v, %v", s, err)
	}
}
