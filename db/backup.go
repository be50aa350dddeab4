package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db/sqlite"
)

// What keeps a restore from replacing the database in place.
var (
	ErrNewer  = errors.New("the database in place is newer than the backup") // what it has and the backup has not would be lost
	ErrUnread = errors.New("what the database in place holds cannot be read")
)

// Backup writes the embedded database in dir, as it is at one moment, to the file at to, which must not be there yet. An admin may
// work on it meanwhile. The file is only its owner's, and there only when it is whole. It returns the file's size in bytes.
func Backup(ctx context.Context, dir, to string) (size int64, err error) {
	from := filepath.Join(dir, fileName)
	if err := embeddedIn(dir); err != nil {
		return 0, err
	}
	if _, err := os.Lstat(to); err == nil {
		return 0, fmt.Errorf("%s is there already: %w", to, os.ErrExist)
	}
	part := to + ".part"
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // which SQLite fills, and leaves to its owner
	if err != nil {
		return 0, fmt.Errorf("create backup: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(part)
		}
	}()
	defer f.Close()
	if err := sqlite.Copy(ctx, from, part); err != nil {
		return 0, fmt.Errorf("copy %s: %w", from, err)
	}
	if _, err := backupState(ctx, part, true); err != nil {
		return 0, fmt.Errorf("check backup: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(part, to)
	}
	if err == nil {
		err = syncDir(filepath.Dir(to))
	}
	if err != nil {
		return 0, fmt.Errorf("keep backup: %w", err)
	}
	return info.Size(), nil
}

// state is what a backup and a database in place are compared by. All of it only grows.
type state struct {
	migration, run, audit int64 // the highest numbers there ever were
}

// beyond says what it has that the other has not; "" for nothing.
func (s state) beyond(other state) string {
	var more []string
	for _, c := range []struct {
		what         string
		have, others int64
	}{{"its last run has the number", s.run, other.run}, {"its last entry of the audit log", s.audit, other.audit}, {"its schema", s.migration, other.migration}} {
		if c.have > c.others {
			more = append(more, fmt.Sprintf("%s %d, the backup's %d", c.what, c.have, c.others))
		}
	}
	return strings.Join(more, "; ")
}

// backupState checks a file that nobody changes, and reads its state.
func backupState(ctx context.Context, path string, quiet bool) (s state, err error) {
	options := url.Values{}
	if quiet {
		options.Set("immutable", "1")
	}
	err = sqlite.Plain(ctx, path, options, func(conn *sql.Conn) error {
		var sound string
		if err := conn.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&sound); err != nil {
			return fmt.Errorf("%s is no SQLite file, or a damaged one: %w", path, err)
		}
		if sound != "ok" {
			return fmt.Errorf("%s is damaged: %s", path, sound)
		}
		err := conn.QueryRowContext(ctx, "SELECT (SELECT COALESCE(MAX(version_id), 0) FROM "+versionTable+`),
			COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'xxl_job_log'), 0), COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'punctual_audit'), 0)`).
			Scan(&s.migration, &s.run, &s.audit)
		if err != nil {
			return fmt.Errorf("%s is no database of Punctual's: %w", path, err)
		}
		return nil
	})
	return s, err
}

// runGap is how far the numbers of runs jump when a database is restored. Runs since the backup had numbers that it knows nothing of;
// given again, an executor would take a new run for an old one, and a late result for that of another run.
const runGap = 1_000_000

// RestoreNote is what the audit log of a restored database says of it, beside the name of the backup.
type RestoreNote struct {
	By, Action, Kind string
	Settings         map[string]string // what the settings are to say from the first moment
}

// The migrations that made the settings and the audit log.
const (
	settingsSince = 6
	auditSince    = 31
)

// readyName is beside the embedded database while a backup that is ready takes its place, which is more than one step. Whoever finds it there
// without another process at it finds a restore that was killed between two of them: the database may be gone, or there without its log of changes.
const readyName = fileName + ".restored"

// halfRestored refuses to go on with what a restore that was killed has left.
func halfRestored(dir string) error {
	path := filepath.Join(dir, fileName)
	if _, err := os.Lstat(filepath.Join(dir, readyName)); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("look for a restore that was ended half-way: %w", err)
	}
	return fmt.Errorf("a restore into %s was ended half-way: run punctual restore FILE again, which keeps what is there; what the first one moved away is %s.before-…", dir, path)
}

// Restore puts the backup at from in the place of the embedded database in dir, which nobody may be using. What was there is kept
// beside it under the name that is returned ("": there was nothing), also the log of changes of a database that is gone. It does so with a database that is newer than the backup only if
// overNewer says so; otherwise the error is [ErrNewer]. The audit log gets the note.
func Restore(ctx context.Context, dir, from string, note RestoreNote, overNewer bool) (kept string, err error) {
	if info, err := os.Stat(from + "-wal"); err == nil && info.Size() > 0 {
		return "", fmt.Errorf("%s-wal is beside it: that is a copy of a database in use and not a backup; copy both into a folder, and start there or back up from it", from)
	}
	backup, err := backupState(ctx, from, true)
	if err != nil {
		return "", err
	}
	if known := slices.Max(knownVersions()); backup.migration > known {
		return "", fmt.Errorf("the backup is of a newer program (schema %d, this program knows %d): restore it with that one", backup.migration, known)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("create data directory: %w", err)
	}
	path := filepath.Join(dir, fileName)
	before, _ := os.Stat(path)
	lock, err := lockDir(dir, path, nil) // which makes the file if it is not there
	if err != nil {
		return "", err
	}
	defer func() {
		if before == nil && err != nil {
			_ = os.Remove(path)
		}
		err = errors.Join(err, lock.Close())
	}()
	there := before != nil && before.Size() > 0
	if there && !overNewer {
		inPlace, err := backupState(ctx, path, false)
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrUnread, err)
		}
		if more := inPlace.beyond(backup); more != "" {
			return "", fmt.Errorf("%w: %s", ErrNewer, more)
		}
	}
	part := path + ".restoring"
	defer os.Remove(part)
	like := dir // whose owner the database gets
	if there {
		like = path
	}
	if err := copyFile(from, part, like); err != nil {
		return "", fmt.Errorf("copy backup: %w", err)
	}
	err = sqlite.Plain(ctx, part, nil, func(conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, "UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'xxl_job_log'", runGap)
		for name, value := range note.Settings {
			if err == nil && backup.migration >= settingsSince {
				_, err = conn.ExecContext(ctx, "INSERT OR REPLACE INTO punctual_setting (name, value, updated_at) VALUES (?, ?, ?)", name, value, time.Now().UnixMilli())
			}
		}
		if err != nil || backup.migration < auditSince {
			return err
		}
		_, err = conn.ExecContext(ctx, "INSERT INTO punctual_audit (made_at, user_name, action, object_kind, object_name) VALUES (?, ?, ?, ?, ?)",
			time.Now().UnixMilli(), note.By, note.Action, note.Kind, filepath.Base(from))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("prepare backup: %w", err)
	}
	ready := filepath.Join(dir, readyName)
	if err := os.Rename(part, ready); err != nil {
		return "", fmt.Errorf("put the backup in place: %w", err)
	}
	if err := syncDir(dir); err != nil {
		return "", errors.Join(err, os.Remove(ready))
	}
	beside := path + ".before-" + time.Now().UTC().Format("20060102T150405Z")
	for _, ending := range []string{"-shm", "-wal", ""} { // the log of changes belongs to it: SQLite would write one that stayed into the backup
		if info, err := os.Stat(path + ending); err != nil || info.Size() == 0 {
			continue
		}
		if err := os.Rename(path+ending, beside+ending); err != nil {
			if kept == "" {
				_ = os.Remove(ready) // nothing was moved, so that the database is as it was
			}
			return kept, fmt.Errorf("keep the database in place: %w", err)
		}
		kept = beside + ending
	}
	if err := os.Rename(ready, path); err != nil {
		return kept, fmt.Errorf("put the backup in place: %w", err)
	}
	return kept, syncDir(dir)
}

// copyFile copies a file for the owner of what is at like alone, and waits for the disk. What an earlier try left is replaced.
func copyFile(from, to, like string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	out, err := makeFor(like, to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return errors.Join(out.Sync(), out.Close())
}

// syncDir waits until names in a folder are on the disk, where folders can be asked for that.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = f.Sync() // Windows cannot
	return f.Close()
}
