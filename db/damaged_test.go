package db_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

// TestWhoHasADamagedFileIsToldWhatHelps: whoever starts on it, and whoever only reads it.
func TestWhoHasADamagedFileIsToldWhatHelps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pool := dbtest.Open(t, db.Config{DataDir: dir})
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "punctual.db")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	torn := append([]byte(nil), whole...)
	copy(torn[100:], strings.Repeat("x", 4000)) // the list of its tables
	for name, content := range map[string][]byte{"no database": []byte(strings.Repeat("somebody's text\n", 400)), "a torn one": torn} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, read := range []bool{false, true} {
			pool, err := db.Open(t.Context(), db.Config{DataDir: dir, ReadOnly: read})
			if err == nil {
				_ = pool.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "punctual restore FILE --over-newer") || !strings.Contains(err.Error(), file) {
				t.Errorf("%s, only read: %v: %v", name, read, err)
			}
		}
	}
}

// TestWhoReadsWhereNothingIsIsToldSo: a file that was cut to nothing is no installation of an older program.
func TestWhoReadsWhereNothingIsIsToldSo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "punctual.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	pool := dbtest.Open(t, db.Config{DataDir: dir, ReadOnly: true})
	if err := pool.CheckCurrent(t.Context()); !errors.Is(err, db.ErrNotOurs) || !strings.Contains(err.Error(), "restore a backup") {
		t.Errorf("%v, want %v", err, db.ErrNotOurs)
	}
}
