package db_test

import (
	"bytes"
	"context"
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

// TestWhereADatabaseWasLostNoneBegins: jobs, users and runs would be gone without a word. What is left of it is as it was afterwards, and the backup
// that is put in its place is not mixed with it.
func TestWhereADatabaseWasLostNoneBegins(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(t *testing.T, file string) error{
		"cut": func(_ *testing.T, file string) error { return os.Truncate(file, 0) },
		"cut, its log of changes too": func(_ *testing.T, file string) error {
			return errors.Join(os.Truncate(file, 0), os.Remove(file+"-wal"))
		},
		"gone": func(_ *testing.T, file string) error { return os.Remove(file) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, dir := t.TempDir(), t.TempDir()
			pool := dbtest.Open(t, db.Config{DataDir: from})
			if err := pool.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := db.New().InsertGroup(t.Context(), pool, db.InsertGroupParams{AppName: "orders", Title: "before"}); err != nil {
				t.Fatal(err)
			}
			backup := filepath.Join(t.TempDir(), "backup.db")
			if _, err := db.Backup(t.Context(), from, backup); err != nil {
				t.Fatal(err)
			}
			if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_group SET title = 'after'"); err != nil {
				t.Fatal(err)
			}
			for _, ending := range []string{"", "-wal"} { // as a crash leaves them: a database that is closed has no log of changes any more
				content, err := os.ReadFile(filepath.Join(from, "punctual.db"+ending))
				if err != nil || len(content) == 0 {
					t.Fatalf("%q: %d bytes, %v", ending, len(content), err)
				}
				if err := os.WriteFile(filepath.Join(dir, "punctual.db"+ending), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			file := filepath.Join(dir, "punctual.db")
			if err := lose(t, file); err != nil {
				t.Fatal(err)
			}
			log, _ := os.ReadFile(file + "-wal")
			for range 2 { // the first try leaves nothing that the second would go by
				pool, err := db.Open(t.Context(), db.Config{DataDir: dir})
				if err == nil {
					_ = pool.Close()
				}
				if err == nil || !strings.Contains(err.Error(), "punctual restore FILE") || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "delete "+file) {
					t.Fatalf("it begins: %v", err)
				}
			}
			if after, _ := os.ReadFile(file + "-wal"); !bytes.Equal(after, log) {
				t.Errorf("of its log of changes %d bytes are left of %d", len(after), len(log))
			}
			kept, err := db.Restore(t.Context(), dir, backup, db.RestoreNote{By: "root", Action: "restore", Kind: "database"}, false)
			if err != nil || (kept != "") != (len(log) > 0) {
				t.Fatalf("restore: %q, %v", kept, err)
			}
			if saved, err := os.ReadFile(kept); len(log) > 0 && (err != nil || !bytes.Equal(saved, log)) {
				t.Errorf("%s is not the log of changes: %v", kept, err)
			}
			restored := dbtest.Open(t, db.Config{DataDir: dir})
			var title, sound string
			if err := restored.QueryRowContext(t.Context(), "SELECT title FROM xxl_job_group WHERE app_name = 'orders'").Scan(&title); err != nil || title != "before" {
				t.Errorf("the group is %q, %v", title, err)
			}
			if err := restored.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&sound); err != nil || sound != "ok" {
				t.Errorf("%s, %v", sound, err)
			}
		})
	}
}

// TestAStartThatCameToNothingLeavesNoDatabaseThatWasLost: who ended it before it began can start again.
func TestAStartThatCameToNothingLeavesNoDatabaseThatWasLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ended, end := context.WithCancel(t.Context())
	end()
	if pool, err := db.Open(ended, db.Config{DataDir: dir}); err == nil {
		_ = pool.Close()
		t.Fatal("it began")
	}
	if err := dbtest.Open(t, db.Config{DataDir: dir}).Migrate(t.Context()); err != nil {
		t.Error(err)
	}
}
