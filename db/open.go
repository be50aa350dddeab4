package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/punctual-job/punctual/db/sqlite"
)

// Config says which database to open.
type Config struct {
	// URL is empty for the embedded database, else mysql://user:password@host:port/name, a go-sql-driver DSN, or
	// an XXL-JOB admin's jdbc:mysql:// URL.
	URL string
	// DataDir is where the embedded database lives. It is created if it is missing.
	DataDir string
	// Zone is the installation's zone. Without it a JDBC URL's serverTimezone counts, then the process's own.
	Zone *time.Location
	// MaxConns bounds the connections, by default 16 on MySQL. On SQLite it bounds only who may wait.
	MaxConns int
	// Logger tells about migrations and waits; nil is slog.Default.
	Logger *slog.Logger
	// ReadOnly opens the embedded database to look into it, also while an admin runs on it. What is to be read with a MySQL URL
	// is as safe from changes as the caller makes it.
	ReadOnly bool
	// Existing refuses to make an embedded database where there is none.
	Existing bool
	// Unsafe lets the embedded database skip waiting for the disk, for tests only.
	Unsafe bool
}

const (
	// MySQLConns are how many connections an admin takes of a server at most, but for a few while it changes tables. They saturate two cores.
	MySQLConns  = 16
	searches    = 2   // at a time, each on several of them
	sqliteConns = 512 // tickets, not connections: see package sqlite
)

// Open opens the database and checks that it answers. It changes nothing in it: see [Pool.Migrate].
func Open(ctx context.Context, cfg Config) (*Pool, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.URL == "" {
		return openSQLite(ctx, cfg)
	}
	return openMySQL(ctx, cfg)
}

// fileName is the embedded database's file in the data directory.
const fileName = "punctual.db"

func openSQLite(ctx context.Context, cfg Config) (_ *Pool, err error) {
	if cfg.DataDir == "" {
		return nil, errors.New("the embedded database needs a data directory")
	}
	if cfg.ReadOnly {
		return openSQLiteToRead(ctx, cfg)
	}
	path := filepath.Join(cfg.DataDir, fileName)
	if cfg.Existing {
		if err := embeddedIn(cfg.DataDir); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("create data directory: %w", err)
	}
	var before os.FileInfo
	var begun bool
	lock, err := lockDir(cfg.DataDir, path, func() (err error) {
		before, _ = os.Stat(path)
		begun, err = begin(cfg.DataDir, before)
		return err
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if info, _ := os.Stat(path); err != nil && begun && info != nil && info.Size() == 0 {
			_ = os.Remove(path) // the lock made it, and the next start would take it for a database that was lost
		}
		if begun { // after the file
			_ = os.Remove(filepath.Join(cfg.DataDir, begunName))
		}
		if err != nil {
			lock.Close()
		}
	}()
	if err := halfRestored(cfg.DataDir); err != nil { // not before the lock: the restore may still be at it
		return nil, err
	}
	if err := lostContent(path, before, begun); err != nil {
		return nil, err
	}
	if err := ownFile(path); err != nil {
		return nil, err
	}
	connector, err := sqlite.NewConnector(path, sqlite.Options{Unsafe: cfg.Unsafe})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return newSQLite(ctx, cfg, path, connector, sync.OnceValue(lock.Close))
}

// begunName is beside the embedded database until something is in it for the first time. So a first start that was killed before that is told
// from a database that was lost.
const begunName = fileName + ".new"

// begin notes that a database is begun where there is none, and reports whether one is. before is how the file was.
func begin(dir string, before os.FileInfo) (begun bool, err error) {
	path := filepath.Join(dir, begunName)
	if before != nil {
		_, err := os.Lstat(path)
		return err == nil, nil
	}
	f, err := openOrMake(path, 0)
	if err != nil {
		return false, fmt.Errorf("begin a database: %w", err)
	}
	return true, f.Close()
}

// lostContent refuses to begin a new installation where one has lost its database: where the file is there and empty, as a full disk or a copy that
// broke off leaves it, or where there is none, and its log of changes is, which SQLite would delete. before is how the file was before it was locked,
// begun whether nothing was in it yet.
func lostContent(path string, before os.FileInfo, begun bool) error {
	const restore = "put a backup in its place with punctual restore FILE, or, if there is no installation to be saved, delete %s"
	if before != nil && before.Size() == 0 && !begun {
		return fmt.Errorf("the embedded database %s is empty, which no new one is: "+restore, path, path)
	}
	log := path + "-wal"
	if info, err := os.Stat(log); before == nil && err == nil && info.Size() > 0 {
		return fmt.Errorf("the embedded database %s is gone, and %s is still there: "+restore, path, log, log)
	}
	return nil
}

// embeddedIn reports that there is no embedded database in a folder. Whoever typed a command without the service's settings learns what
// it went by.
func embeddedIn(dir string) error {
	if err := halfRestored(dir); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, fileName)); err != nil {
		return fmt.Errorf("there is no embedded database in %s (PUNCTUAL_DATA_DIR, where no PUNCTUAL_DATABASE_URL is set): give the settings of the admin, or begin an installation with punctual migrate (%w)", dir, err)
	}
	return nil
}

// openSQLiteToRead opens the embedded database without taking it: SQLite lets a reader in beside whoever writes.
func openSQLiteToRead(ctx context.Context, cfg Config) (*Pool, error) {
	path := filepath.Join(cfg.DataDir, fileName)
	if err := embeddedIn(cfg.DataDir); err != nil {
		return nil, err
	}
	connector, err := sqlite.NewConnector(path, sqlite.Options{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return newSQLite(ctx, cfg, path, connector, nil)
}

func newSQLite(ctx context.Context, cfg Config, path string, connector *sqlite.Connector, release func() error) (*Pool, error) {
	where := path
	if whole, err := filepath.Abs(path); err == nil { // else the path as it is will do
		where = whole
	}
	pool := &Pool{
		DB: sql.OpenDB(connector), dialect: SQLite, zone: cmp.Or(cfg.Zone, time.Local), logger: cfg.Logger, searching: make(chan struct{}, searches), fewJobs: fewJobs, newestFirst: newestFirst,
		describe: where, release: release,
	}
	pool.calendars.pool = pool
	pool.SetMaxOpenConns(cmp.Or(cfg.MaxConns, sqliteConns))
	pool.SetMaxIdleConns(cmp.Or(cfg.MaxConns, sqliteConns))
	var version string
	if err := pool.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		pool.DB.Close()
		if isDamaged(err) {
			return nil, fmt.Errorf("%s is damaged, or is no database: stop what uses it and put a backup in its place with punctual restore FILE --over-newer, which keeps what is there beside it (%w)", where, err)
		}
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	pool.product = "SQLite " + version
	return pool, nil
}

// ownFile creates the file for its owner alone; SQLite gives the files beside it (-wal, -shm) the same mode.
func ownFile(path string) error {
	f, err := openOrMake(path, 0)
	if err != nil {
		return fmt.Errorf("open database file: %w", err)
	}
	defer f.Close()
	if err := f.Chmod(0o600); err != nil {
		return fmt.Errorf("protect database file: %w", err)
	}
	return nil
}

func openMySQL(ctx context.Context, cfg Config) (*Pool, error) {
	t, err := parseURL(cfg.URL)
	if err != nil {
		return nil, err
	}
	t.cfg.Logger = driverLogger{cfg.Logger}
	all := newSessions()
	connector, err := newConnector(t, cfg.Logger, all)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	conns := cmp.Or(cfg.MaxConns, MySQLConns)
	pool := &Pool{
		DB: sql.OpenDB(connector), dialect: MySQL, zone: cmp.Or(cfg.Zone, t.zone, time.Local), logger: cfg.Logger, searching: make(chan struct{}, searches),
		describe: t.cfg.DBName, connector: connector, sessions: all, deferAbove: deferAbove, fewJobs: fewJobs, newestFirst: newestFirst,
	}
	pool.admin = func() *sql.DB { return openAdmin(t, cfg.Logger) }
	pool.calendars.pool = pool
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	// Below MySQL's wait_timeout of eight hours and the idle limits of common proxies; also moves on after a fail-over.
	pool.SetConnMaxIdleTime(5 * time.Minute)
	pool.SetConnMaxLifetime(30 * time.Minute)
	var increment int64
	var version string
	if err := pool.QueryRowContext(ctx, "SELECT @@auto_increment_increment, VERSION()").Scan(&increment, &version); err != nil {
		pool.DB.Close()
		return nil, fmt.Errorf("open database %s: %w", pool, explain(err, t.cfg))
	}
	pool.distance.now = increment
	if pool.galera, err = onGalera(ctx, pool.DB); err != nil {
		pool.DB.Close()
		return nil, fmt.Errorf("open database %s: %w", pool, explain(err, t.cfg))
	}
	pool.product = productName(version)
	return pool, nil
}

// onGalera asks whether the server is a node of a Galera cluster. Other servers do not know the variable, or have it off.
func onGalera(ctx context.Context, pool *sql.DB) (bool, error) {
	var name, value string
	err := pool.QueryRowContext(ctx, "SHOW GLOBAL VARIABLES LIKE 'wsrep_on'").Scan(&name, &value)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return strings.EqualFold(value, "ON") || value == "1", err
}

// productName reads what a server says of itself: "8.0.36-0ubuntu1", or "11.4.2-MariaDB-log", of old times with a 5.5.5- before it.
func productName(version string) string {
	name := "MySQL "
	if strings.Contains(version, "MariaDB") {
		name, version = "MariaDB ", strings.TrimPrefix(version, "5.5.5-")
	}
	number, _, _ := strings.Cut(version, "-")
	return name + number
}

// openAdmin opens connections on which a statement may take as long as it takes: adding an index to a big log takes minutes.
func openAdmin(t *target, logger *slog.Logger) *sql.DB {
	patient := *t
	patient.cfg = t.cfg.Clone()
	patient.cfg.ReadTimeout, patient.cfg.WriteTimeout = 0, 0
	connector, err := newConnector(&patient, logger, nil)
	if err != nil {
		// The same configuration was accepted when the pool was opened.
		panic(err)
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(4)
	return pool
}

// explain adds what to do to the errors an operator meets first.
func explain(err error, cfg *mysql.Config) error {
	switch n, _ := codes(err); n {
	case 1049:
		return fmt.Errorf("the database does not exist, create it first: CREATE DATABASE `%s` CHARACTER SET utf8mb4: %w", cfg.DBName, err)
	case 1044, 1045, 1698:
		return fmt.Errorf("user %q was refused, check the account and its password: %w", cfg.User, err)
	case 1040, 1203:
		return fmt.Errorf("the server has no connection left, of which an admin takes up to %d: raise max_connections, or max_user_connections: %w", MySQLConns, err)
	}
	return err
}

// driverLogger lets the driver's rare remarks (a broken packet, a busy buffer) into the program's log.
type driverLogger struct{ logger *slog.Logger }

func (l driverLogger) Print(v ...any) {
	l.logger.Debug("mysql driver: " + fmt.Sprint(v...))
}
