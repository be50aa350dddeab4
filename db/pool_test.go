package db_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

func TestErrors(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		ctx := t.Context()
		var name string
		err := pool.QueryRowContext(ctx, "SELECT username FROM xxl_job_user WHERE id = 1").Scan(&name)
		if err := db.Error(fmt.Errorf("find user: %w", err)); !errors.Is(err, db.ErrNotFound) || !errors.Is(err, sql.ErrNoRows) {
			t.Errorf("missing row: %v is not ErrNotFound", err)
		}
		insert := func(name string) error {
			_, err := pool.ExecContext(ctx, "INSERT INTO xxl_job_user (username, password, role) VALUES (?, '', 0)", name)
			return db.Error(err)
		}
		if err := insert("Alice"); err != nil {
			t.Fatal(err)
		}
		if err := insert("alice"); !errors.Is(err, db.ErrDuplicate) {
			t.Errorf("second alice in another case: %v is not ErrDuplicate", err)
		}
		_, err = pool.ExecContext(ctx, "INSERT INTO xxl_job_lock (lock_name) VALUES ('schedule_lock')")
		if !errors.Is(db.Error(err), db.ErrDuplicate) {
			t.Errorf("primary key: %v is not ErrDuplicate", err)
		}
		_, err = pool.ExecContext(ctx, "SELECT nothing FROM nowhere")
		if err == nil || errors.Is(db.Error(err), db.ErrDuplicate) || db.IsTransient(err) || db.IsUnavailable(err) {
			t.Errorf("a wrong statement is classified: %v", err)
		}
		gone, cancel := context.WithCancel(ctx)
		cancel()
		if err := pool.Tx(gone, func(*sql.Tx) error { return nil }); !errors.Is(err, context.Canceled) || db.IsUnavailable(err) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

// TestTxDeadlock makes two transactions take two rows in opposite order; both must succeed in the end.
func TestTxDeadlock(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		mustExec(t, pool.DB, "INSERT INTO punctual_setting (name, value, updated_at) VALUES ('a', '', 0), ('b', '', 0)")
		var both sync.WaitGroup
		tries := 0
		var mu sync.Mutex
		var holdFirst sync.WaitGroup // done when both hold their first row
		holdFirst.Add(2)
		for _, order := range [][2]string{{"a", "b"}, {"b", "a"}} {
			both.Go(func() {
				first := true
				err := pool.Tx(t.Context(), func(tx *sql.Tx) error {
					mu.Lock()
					tries++
					mu.Unlock()
					for i, name := range order {
						if _, err := tx.ExecContext(t.Context(), "UPDATE punctual_setting SET updated_at = updated_at + 1 WHERE name = ?", name); err != nil {
							return err
						}
						if i == 0 && first && pool.Dialect() == db.MySQL {
							first = false
							holdFirst.Done()
							holdFirst.Wait()
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		want := 2
		if pool.Dialect() == db.MySQL {
			want = 3
		}
		if tries < want {
			t.Errorf("tries = %d, want at least %d", tries, want)
		}
		var sum int
		if err := pool.QueryRowContext(t.Context(), "SELECT CAST(SUM(updated_at) AS SIGNED) FROM punctual_setting").Scan(&sum); err != nil || sum != 4 {
			t.Errorf("sum = %d, %v, want 4", sum, err)
		}
	})
}

// TestWhoLeavesATransactionIsToldSo has whoever asked leave at each point of a transaction: the error says that, whatever the driver calls it,
// and nothing is left in doubt, for nothing was committed.
func TestWhoLeavesATransactionIsToldSo(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		long := "SELECT SLEEP(60)"
		if pool.Dialect() == db.SQLite {
			long = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n"
		}
		for name, after := range map[string]func(ctx context.Context, leave func(), tx *sql.Tx) error{
			"before the commit": func(_ context.Context, leave func(), _ *sql.Tx) error {
				leave()
				return nil
			},
			"before a statement": func(ctx context.Context, leave func(), tx *sql.Tx) error {
				leave()
				_, err := tx.ExecContext(ctx, "UPDATE punctual_setting SET updated_at = 1")
				return err
			},
			"in a statement": func(ctx context.Context, leave func(), tx *sql.Tx) error {
				time.AfterFunc(100*time.Millisecond, leave)
				_, err := tx.ExecContext(ctx, long)
				return err
			},
			"in a statement whose error is dropped": func(ctx context.Context, leave func(), tx *sql.Tx) error {
				time.AfterFunc(100*time.Millisecond, leave)
				_, _ = tx.ExecContext(ctx, long)
				return nil
			},
		} {
			ctx, leave := context.WithCancel(t.Context())
			err := pool.Tx(ctx, func(tx *sql.Tx) error {
				if _, err := tx.ExecContext(ctx, "INSERT INTO punctual_setting (name, value, updated_at) VALUES (?, '', 0)", name); err != nil {
					return err
				}
				return after(ctx, leave, tx)
			})
			leave()
			if !errors.Is(err, context.Canceled) || errors.Is(err, db.ErrUnconfirmed) {
				t.Errorf("%s: %v (%#v)", name, err, err)
			}
			var n int
			if err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_setting WHERE name = ?", name).Scan(&n); err != nil || n != 0 {
				t.Errorf("%s: %d rows, %v", name, n, err)
			}
		}
	})
}

func TestTxRetries(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		wrong := errors.New("wrong")
		tests := []struct {
			name string
			err  error
			want int
		}{
			{"a deadlock is tried again, but not for ever", &mysql.MySQLError{Number: 1213}, 6},
			{"a lost connection before the commit is tried again", fmt.Errorf("step: %w", driver.ErrBadConn), 6},
			{"a row that stayed locked ends it", &mysql.MySQLError{Number: 1205}, 1},
			{"any other error ends it", wrong, 1},
		}
		for _, tt := range tests {
			tries := 0
			err := pool.Tx(t.Context(), func(*sql.Tx) error {
				tries++
				return tt.err
			})
			if !errors.Is(err, tt.err) || tries != tt.want {
				t.Errorf("%s: %v after %d tries, want %d", tt.name, err, tries, tt.want)
			}
		}
		for name, change := range map[string]func(context.Context, func() error) error{
			"Tx": func(ctx context.Context, do func() error) error {
				return pool.Tx(ctx, func(*sql.Tx) error { return do() })
			},
			"One": func(ctx context.Context, do func() error) error {
				return pool.One(ctx, func(db.DBTX) error { return do() })
			},
			"Together": func(ctx context.Context, do func() error) error {
				return pool.Together(ctx, func(context.Context) error { return do() })
			},
		} {
			tries := 0
			err := change(db.Patient(t.Context()), func() error {
				if tries++; tries < 3 {
					return &mysql.MySQLError{Number: 1205}
				}
				return nil
			})
			if err != nil || tries != 3 {
				t.Errorf("%s of somebody who can wait, with a row that is locked twice: %v after %d tries", name, err, tries)
			}
			tries = 0
			if err := change(db.Patient(t.Context()), func() error { tries++; return wrong }); !errors.Is(err, wrong) || tries != 1 {
				t.Errorf("%s of somebody who can wait: %v after %d tries", name, err, tries)
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		tries := 0
		pool.Tx(ctx, func(*sql.Tx) error {
			tries++
			cancel(wrong)
			return &mysql.MySQLError{Number: 1213}
		})
		if tries != 1 {
			t.Errorf("tries after the context ended = %d, want 1", tries)
		}
	})
}

// TestASilentServerIsNotTriedForLong: who asks waits for all the tries.
func TestASilentServerIsNotTriedForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		err := db.Tries(t.Context(), func() (again bool, err error) {
			tries++
			time.Sleep(10 * time.Second)
			return true, driver.ErrBadConn
		})
		if !db.IsUnavailable(err) || tries != 2 {
			t.Errorf("%v after %d tries, want 2", err, tries)
		}
	})
}

// TestOneRetries as a transaction does, but for a lost connection: the statement may have been carried out.
func TestOneRetries(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		tests := []struct {
			name string
			err  error
			want int
		}{
			{"a deadlock is tried again, but not for ever", &mysql.MySQLError{Number: 1213}, 6},
			{"a lost connection ends it", fmt.Errorf("step: %w", mysql.ErrInvalidConn), 1},
			{"a row that stayed locked ends it", &mysql.MySQLError{Number: 1205}, 1},
			{"success ends it", nil, 1},
		}
		for _, tt := range tests {
			tries := 0
			err := pool.One(t.Context(), func(db.DBTX) error {
				tries++
				return tt.err
			})
			if !errors.Is(err, tt.err) || tries != tt.want {
				t.Errorf("%s: %v after %d tries, want %d", tt.name, err, tries, tt.want)
			}
		}
		mustExec(t, pool.DB, "INSERT INTO punctual_setting (name, value, updated_at) VALUES ('one', '', 0)")
		undone := errors.New("undone")
		err := pool.Together(t.Context(), func(ctx context.Context) error {
			if err := pool.One(ctx, func(tx db.DBTX) error {
				_, err := tx.ExecContext(ctx, "DELETE FROM punctual_setting WHERE name = 'one'")
				return err
			}); err != nil {
				return err
			}
			return undone
		})
		var n int
		if scan := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_setting WHERE name = 'one'").Scan(&n); scan != nil || !errors.Is(err, undone) || n != 1 {
			t.Errorf("in a transaction that is undone: %v, %v, %d rows", err, scan, n)
		}
	})
}

func TestTxRollsBack(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		insert := func(tx *sql.Tx) {
			if _, err := tx.ExecContext(t.Context(), "INSERT INTO punctual_setting (name, value) VALUES ('a', '')"); err != nil {
				t.Fatal(err)
			}
		}
		func() {
			defer func() { _ = recover() }()
			pool.Tx(t.Context(), func(tx *sql.Tx) error {
				insert(tx)
				panic("in the middle")
			})
		}()
		pool.Tx(t.Context(), func(tx *sql.Tx) error {
			insert(tx)
			return errors.New("no")
		})
		if n := count(t, pool.DB, "punctual_setting"); n != 0 {
			t.Errorf("rows = %d, want 0", n)
		}
	})
}

func TestWall(t *testing.T) {
	t.Parallel()
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	pool := dbtest.Open(t, db.Config{DataDir: t.TempDir(), Zone: shanghai})
	at := time.Date(2024, 2, 29, 20, 30, 5, 987654321, time.UTC)
	wall := pool.Wall(at)
	if want := time.Date(2024, 3, 1, 4, 30, 5, 0, time.UTC); !wall.Equal(want) || wall.Location() != time.UTC {
		t.Errorf("Wall = %v, want %v", wall, want)
	}
	if back := pool.FromWall(wall); !back.Equal(at.Truncate(time.Second)) {
		t.Errorf("FromWall = %v, want %v", back, at.Truncate(time.Second))
	}
	if none := pool.FromWall(time.Time{}); !none.IsZero() { // 0000-00-00 in MySQL
		t.Errorf("FromWall of no time = %v", none)
	}
}

// TestAWallClockTimeThatNoClockShowsIsLater, so that the midnight of a day without one is on that day.
func TestAWallClockTimeThatNoClockShowsIsLater(t *testing.T) {
	t.Parallel()
	for zone, day := range map[string]time.Time{
		"America/Santiago": time.Date(2026, 9, 6, 0, 0, 0, 0, time.UTC),
		"America/Havana":   time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC),
		"Africa/Cairo":     time.Date(2026, 4, 24, 0, 0, 0, 0, time.UTC),
	} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		pool := dbtest.Open(t, db.Config{DataDir: t.TempDir(), Zone: loc})
		if got, want := pool.Wall(pool.FromWall(day)), day.Add(time.Hour); !got.Equal(want) {
			t.Errorf("%s in %s is taken for %s, want %s", day, zone, got, want)
		}
	}
}

// TestDatetimeRoundTrip stores a wall-clock time and reads it back, as text too, on both databases.
func TestDatetimeRoundTrip(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		at := time.Date(2024, 2, 29, 20, 30, 5, 999e6, time.UTC)
		_, err := pool.ExecContext(t.Context(), "INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code) VALUES (1, 1, ?, 0, 0)", pool.Wall(at))
		if err != nil {
			t.Fatal(err)
		}
		var got time.Time
		var handled sql.NullTime
		var text string
		err = pool.QueryRowContext(t.Context(), "SELECT trigger_time, handle_time, DATE_FORMAT(trigger_time, '%Y-%m-%d %H:%i:%s') FROM xxl_job_log WHERE trigger_time <= ?",
			pool.Wall(at)).Scan(&got, &handled, &text)
		if err != nil {
			t.Fatal(err)
		}
		if back := pool.FromWall(got); !back.Equal(at.Truncate(time.Second)) {
			t.Errorf("read back %v, want %v", back, at.Truncate(time.Second))
		}
		if handled.Valid || text != "2024-03-01 04:30:05" {
			t.Errorf("handle_time = %v, text = %q", handled, text)
		}
	})
}

func TestDataDir(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "da ta?#%41")
	first := dbtest.Open(t, db.Config{DataDir: dir})
	if err := first.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := db.Open(t.Context(), db.Config{DataDir: dir})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d", os.Getpid())) {
		t.Errorf("second Open = %v, want a message that names this process", err)
	}
	for name, want := range map[string]os.FileMode{".": 0o700, "punctual.db": 0o600, "punctual.db-wal": 0o600, "punctual.lock": 0o600} {
		fi, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := fi.Mode().Perm(); got != want {
			t.Errorf("mode of %s = %o, want %o", name, got, want)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := db.Open(t.Context(), db.Config{DataDir: dir})
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestTheDatabaseIsLockedItself takes everything away from around an embedded database that is in use, and moves and links it:
// nobody else may use it. The second process is this test again.
func TestTheDatabaseIsLockedItself(t *testing.T) {
	if dir := os.Getenv("DB_TEST_SECOND"); dir != "" {
		pool, err := db.Open(t.Context(), db.Config{DataDir: dir})
		if err == nil {
			pool.Close()
		}
		fmt.Printf("opened: %v\n", err)
		return
	}
	t.Parallel()
	second := func(dir string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTheDatabaseIsLockedItself$")
		cmd.Env = append(os.Environ(), "DB_TEST_SECOND="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("the second process: %v: %s", err, out)
		}
		return string(out)
	}
	base := t.TempDir()
	dir := filepath.Join(base, "data")
	pool := dbtest.Open(t, db.Config{DataDir: dir})
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused := func(how, dir string) {
		t.Helper()
		if out := second(dir); !strings.Contains(out, "in use by") {
			t.Errorf("%s: %s", how, out)
		}
	}
	refused("as it is", dir)
	if err := os.Remove(filepath.Join(dir, "punctual.lock")); err != nil {
		t.Fatal(err)
	}
	refused("without its lock file", dir)
	moved := filepath.Join(base, "moved")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	refused("in a directory of another name", moved)
	if runtime.GOOS == "linux" {
		linked := filepath.Join(base, "linked")
		if err := os.Mkdir(linked, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(filepath.Join(moved, "punctual.db"), filepath.Join(linked, "punctual.db")); err != nil {
			t.Fatal(err)
		}
		refused("under a second name", linked)
	}
	copied := filepath.Join(base, "copied")
	if err := os.CopyFS(copied, os.DirFS(moved)); err != nil {
		t.Fatal(err)
	}
	if out := second(copied); !strings.Contains(out, "opened: <nil>") {
		t.Errorf("a copy is another database: %s", out)
	}
	if err := os.Rename(moved, dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"punctual.lock", "punctual.db-wal", "punctual.db-shm"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	refused("with nothing but the database left", dir)
}

// TestServerAway stops the server under an open pool and starts it again.
func TestServerAway(t *testing.T) {
	t.Parallel()
	server := dbtest.NewServer(t)
	pool := dbtest.Open(t, db.Config{URL: server.Database(t)})
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, end := range []func(){server.Stop, server.Kill} {
		end()
		err := pool.Tx(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), "INSERT INTO punctual_setting (name, value) VALUES ('x', '')")
			return err
		})
		if !db.IsUnavailable(err) {
			t.Errorf("server away: %v is not IsUnavailable", err)
		}
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		if n := count(t, pool.DB, "punctual_setting"); n != 0 {
			t.Errorf("rows = %d, want 0", n)
		}
	}
}

// TestOpenRefused shows what an operator reads first when something is wrong.
func TestOpenRefused(t *testing.T) {
	t.Parallel()
	dsn := dbtest.MariaDB(t)
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		cfg  db.Config
		want string
	}{
		{"an unknown database", db.Config{URL: "mysql://root@localhost/nowhere?socket=" + cfg.Addr}, "the database does not exist, create it first"},
		{"a wrong password", db.Config{URL: "mysql://root:secret@localhost/x?socket=" + cfg.Addr}, `user "root" was refused`},
		{"nobody listens", db.Config{URL: "mysql://root:secret@127.0.0.1:1/x"}, "open database x at 127.0.0.1:1: "},
		{"a data directory that is a file", db.Config{DataDir: file}, "create data directory: "},
		{"no data directory", db.Config{}, "needs a data directory"},
	}
	for _, tt := range tests {
		_, err := db.Open(t.Context(), tt.cfg)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}
