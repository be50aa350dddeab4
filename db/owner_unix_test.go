//go:build !windows

package db

import (
	"errors"
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
		if _, err := Restore(t.Context(), dir, to, note, true); err != nil {
			t.Fatal(err)
		}
		ofService(way, fileName, lockName)
		if err := os.Remove(filepath.Join(dir, fileName)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAFileThatCannotBeGivenIsNotLeft: it would be taken for one that is there at the next try, which nobody could tell from a good one.
func TestAFileThatCannotBeGivenIsNotLeft(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // only root gives files away
	}
	path := filepath.Join(t.TempDir(), fileName)
	if _, err := makeFor(filepath.Join(t.TempDir(), "gone"), path); err == nil {
		t.Error("it was given to nobody")
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is left: %v", err)
	}
}

// TestTheLockIsNotWrittenThroughALink: the directory is the service's, and root who works in it writes over no file that the service names.
func TestTheLockIsNotWrittenThroughALink(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("of somebody else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, filepath.Join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	if pool, err := Open(t.Context(), Config{DataDir: dir}); err == nil {
		pool.Close()
		t.Error("a link is taken for the lock")
	}
	if text, err := os.ReadFile(other); string(text) != "of somebody else" {
		t.Errorf("it holds %q now (%v)", text, err)
	}
}
