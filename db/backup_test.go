package db

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// embedded opens the embedded database of a folder, brought up to date.
func embedded(t *testing.T, dir string) *Pool {
	t.Helper()
	pool, err := Open(t.Context(), Config{DataDir: dir, Unsafe: true, Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = pool.Migrate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	return pool
}

// note is who restores a database, in the words of the use cases.
var note = RestoreNote{By: "somebody", Action: "restore", Kind: "database"}

func addRun(t *testing.T, pool *Pool) (id int64) {
	t.Helper()
	result, err := pool.ExecContext(t.Context(), "INSERT INTO xxl_job_log (job_group, job_id, trigger_code, handle_code) VALUES (1, 1, 200, 200)")
	if err == nil {
		id, err = result.LastInsertId()
	}
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func countSettings(t *testing.T, pool *Pool, like string) (n int) {
	t.Helper()
	if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_setting WHERE name LIKE ?", like).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestABackupBesideAnAdminIsOfOneMoment backs up while two rows at a time are written: a backup has both of a pair, or none.
func TestABackupBesideAnAdminIsOfOneMoment(t *testing.T) {
	t.Parallel()
	pool := embedded(t, t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			_ = pool.Tx(ctx, func(tx *sql.Tx) error {
				for _, kind := range []string{"left-", "right-"} {
					if _, err := tx.ExecContext(ctx, "INSERT INTO punctual_setting (name, value) VALUES (?, 'x')", kind+string(rune('a'+i%26))+strings.Repeat("x", i/26)); err != nil {
						return err
					}
				}
				return nil
			})
		}
	})
	for range 5 {
		dir := t.TempDir()
		to := filepath.Join(dir, "backup.db")
		size, err := Backup(t.Context(), filepath.Dir(pool.String()), to)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(to)
		if err != nil || info.Size() != size || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v; %d bytes were said", info, err, size)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("beside the backup: %v, %v", left, err)
		}
		restored := filepath.Join(t.TempDir(), "data")
		if kept, err := Restore(t.Context(), restored, to, note, false); err != nil || kept != "" {
			t.Fatalf("%q, %v", kept, err)
		}
		copied := embedded(t, restored)
		if left, right := countSettings(t, copied, "left-%"), countSettings(t, copied, "right-%"); left != right {
			t.Errorf("half of a transaction is in the backup: %d and %d", left, right)
		}
	}
	stop()
	writer.Wait()
}

func TestARestoreRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pool := embedded(t, dir)
	addRun(t, pool)
	to := filepath.Join(t.TempDir(), "backup.db")
	if _, err := Backup(t.Context(), dir, to); err != nil {
		t.Fatal(err)
	}
	if _, err := Backup(t.Context(), dir, to); !errors.Is(err, os.ErrExist) {
		t.Errorf("over another backup: %v", err)
	}
	if _, err := Backup(t.Context(), t.TempDir(), to+"2"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	if _, err := Restore(t.Context(), dir, to, note, true); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("over a database in use: %v", err)
	}
	last := addRun(t, pool)
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), dir, to, note, false); !errors.Is(err, ErrNewer) || !strings.HasSuffix(err.Error(), "its last run has the number 2, the backup's 1") {
		t.Errorf("over a newer one: %v", err)
	}
	kept, err := Restore(t.Context(), dir, to, note, true)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(kept); err != nil || info.Size() == 0 {
		t.Errorf("what was there: %v, %v", info, err)
	}
	pool = embedded(t, dir)
	if next := addRun(t, pool); next <= last {
		t.Errorf("a run of before the restore had the number %d, the next one has %d", last, next)
	}
	var who, what string
	if err := pool.QueryRowContext(t.Context(), "SELECT user_name, action || ' ' || object_kind || ' ' || object_name FROM punctual_audit").Scan(&who, &what); err != nil || who != "somebody" || what != "restore database "+filepath.Base(to) {
		t.Errorf("the audit log says %q by %q (%v)", what, who, err)
	}

	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := t.TempDir()
	if err := copyFile(text, filepath.Join(damaged, fileName), text); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), damaged, to, note, false); !errors.Is(err, ErrUnread) {
		t.Errorf("over a damaged one: %v", err)
	}
	if _, err := Restore(t.Context(), damaged, to, note, true); err != nil {
		t.Errorf("over a damaged one, when it was said: %v", err)
	}
	empty := t.TempDir()
	if _, err := Restore(t.Context(), empty, text, note, false); err == nil {
		t.Error("a text is restored")
	}
	newer := embedded(t, t.TempDir())
	if _, err := newer.ExecContext(t.Context(), "INSERT INTO "+versionTable+" (version_id, is_applied) VALUES (99999, 1)"); err != nil {
		t.Fatal(err)
	}
	if _, err := Backup(t.Context(), filepath.Dir(newer.String()), text+".newer"); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), empty, text+".newer", note, false); err == nil || !strings.Contains(err.Error(), "newer program") {
		t.Errorf("of a newer program: %v", err)
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("refusals leave %v (%v)", left, err)
	}
}

// TestARestoreThatWasKilledIsNoticed between any two of its last steps: nothing goes on with what is there, nothing is begun, and a second
// restore puts it right.
func TestARestoreThatWasKilledIsNoticed(t *testing.T) {
	t.Parallel()
	for name, moved := range map[string][]string{"before anything was moved": nil, "after the log of changes was": {"-wal"}, "after the database was": {"-wal", ""}} {
		dir := t.TempDir()
		pool := embedded(t, dir)
		addRun(t, pool)
		backup := filepath.Join(t.TempDir(), "backup.db")
		if _, err := Backup(t.Context(), dir, backup); err != nil {
			t.Fatal(err)
		}
		if err := pool.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, fileName)
		if err := os.WriteFile(path+"-wal", []byte("changes"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := copyFile(backup, filepath.Join(dir, readyName), dir); err != nil {
			t.Fatal(err)
		}
		for _, ending := range moved {
			if err := os.Rename(path+ending, path+".before-20260102T030405Z"+ending); err != nil {
				t.Fatal(err)
			}
		}
		before := files(t, dir)
		for how, cfg := range map[string]Config{"a start": {}, "a command": {Existing: true}, "a reader": {ReadOnly: true}} {
			cfg.DataDir, cfg.Logger = dir, slog.New(slog.DiscardHandler)
			if pool, err := Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "run punctual restore FILE again") {
				t.Errorf("%s, %s: %v", name, how, err)
				if err == nil {
					pool.Close()
				}
			}
		}
		if _, err := Backup(t.Context(), dir, backup+"2"); err == nil || !strings.Contains(err.Error(), "half-way") {
			t.Errorf("%s, a backup: %v", name, err)
		}
		if after := files(t, dir); after != before {
			t.Errorf("%s: the refusals make %s of %s", name, after, before)
		}
		if len(moved) == 0 {
			_ = os.Remove(path + "-wal") // which was no log of changes
		}
		held := note
		held.Settings = map[string]string{"hold": "a drill"}
		if _, err := Restore(t.Context(), dir, backup, held, false); err != nil {
			t.Errorf("%s, again: %v", name, err)
		}
		again := embedded(t, dir)
		if next := addRun(t, again); next <= runGap || countSettings(t, again, "hold") != 1 {
			t.Errorf("%s: what is in place is not what was restored, its next run has the number %d", name, next)
		}
		if left := files(t, dir); strings.Contains(left, readyName) {
			t.Errorf("%s: %s is left", name, left)
		}
	}
}

// files are the names in a folder, but for that of the lock.
func files(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != lockName {
			names = append(names, e.Name())
		}
	}
	return strings.Join(names, " ")
}

// TestAFirstStartThatWasKilledIsGoneOnWith, also before there was anything in its database; without that mark an empty one is one that was lost.
func TestAFirstStartThatWasKilledIsGoneOnWith(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, fileName)
	for step, do := range []func() error{
		func() error { return nil },
		func() error { lock, err := lockDir(dir, path, nil); return errors.Join(err, lock.Close()) }, // a killed one has it no longer
	} {
		if _, err := begin(dir, nil); err != nil {
			t.Fatal(err)
		}
		if err := do(); err != nil {
			t.Fatal(err)
		}
		pool, err := Open(t.Context(), Config{DataDir: dir, Unsafe: true, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("step %d: nothing is in the database, and the mark is gone: %v, %v", step, info, err)
		}
		if err := pool.Migrate(t.Context()); err != nil {
			t.Errorf("step %d: %v", step, err)
		}
		if err := pool.Close(); err != nil {
			t.Fatal(err)
		}
		if left := files(t, dir); left != fileName {
			t.Errorf("step %d: %s", step, left)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	// Whoever comes while another process is at it begins nothing, and leaves no mark for what that one makes.
	who, err := openLocked(filepath.Join(dir, lockName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Config{DataDir: dir, Logger: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("beside another process: %v", err)
	}
	if err := errors.Join(unlock(who), who.Close()); err != nil {
		t.Fatal(err)
	}
	if left := files(t, dir); left != "" {
		t.Errorf("who was too late leaves %s", left)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Config{DataDir: dir, Logger: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("one that was lost: %v", err)
	}
}
