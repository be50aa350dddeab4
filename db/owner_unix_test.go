//go:build !windows

package db

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestWhatRootMakesIsTheServices makes and restores a database as an operator does, who is root where the service is not. Where the
// test is not root's, all belongs to whoever runs it.
func TestWhatRootMakesIsTheServices(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	service := os.Geteuid()
	if service == 0 {
		service = 65534
	}
	if err := os.Chown(dir, service, -1); err != nil {
		t.Fatal(err)
	}
	ofService := func(when string, names ...string) {
		t.Helper()
		for _, name := range names {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if owner := info.Sys().(*syscall.Stat_t).Uid; int(owner) != service || info.Mode().Perm() != 0o600 {
				t.Errorf("%s %s belongs to %d with %s, want %d", when, name, owner, info.Mode(), service)
			}
		}
	}
	pool := embedded(t, dir)
	addRun(t, pool)
	ofService("made,", fileName, fileName+"-wal", fileName+"-shm", lockName)
	to := filepath.Join(t.TempDir(), "backup.db")
	if _, err := Backup(t.Context(), dir, to); err != nil {
		t.Fatal(err)
	}
	addRun(t, pool)
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{"restored in the place of one,", "restored in an empty folder,"} {
		if _, err := Restore(t.Context(), dir, to, true); err != nil {
			t.Fatal(err)
		}
		ofService(way, fileName, lockName)
		if err := os.Remove(filepath.Join(dir, fileName)); err != nil {
			t.Fatal(err)
		}
	}
}
