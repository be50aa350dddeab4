package db

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"
)

// migrationFiles holds one folder of goose migrations per dialect; the numbers in both agree.
//
//go:embed migrations/mysql/*.sql migrations/sqlite/*.sql
var migrationFiles embed.FS

const (
	versionTable = "punctual_version"
	lockTable    = "punctual_migration_lock"
	// baseline is the migration after which an XXL-JOB database is ours.
	baseline = 1
)

// Migrate brings the database to the schema this program needs: an empty one is filled, one of XXL-JOB 2.2 to 3.5 is
// adopted with all its rows, an older one of ours is brought forward. Several processes may call it at once, and one that
// was cut short is finished by the next. It never goes back: an older program finds columns it does not read.
func (p *Pool) Migrate(ctx context.Context) error {
	if p.dialect == SQLite {
		if err := p.migrate(ctx, p.DB, nil); err != nil {
			return err
		}
		return p.settle(ctx)
	}
	if err := p.CheckLog(ctx); err != nil {
		return err
	}
	if err := p.mendLog(ctx); err != nil {
		return err
	}
	if current, err := p.isCurrent(ctx); err != nil {
		return err
	} else if current {
		return p.settle(ctx)
	}
	later, err := p.laterMigrations(ctx, p.DB)
	if err != nil {
		return err
	}
	if err := p.lockedMigrate(ctx, later); err != nil {
		return err
	}
	if len(later) > 0 {
		p.built.Store(builtBegun)
	}
	return p.settle(ctx)
}

// lockedMigrate migrates while no other admin does, all but what is left for later.
func (p *Pool) lockedMigrate(ctx context.Context, later []int64) error {
	return p.underMigrationLock(ctx, func(admin *sql.DB) error { return p.migrate(ctx, admin, later) })
}

// underMigrationLock does something to the tables while nobody else does, with connections that have no time limits.
func (p *Pool) underMigrationLock(ctx context.Context, do func(admin *sql.DB) error) error {
	admin := p.admin()
	defer admin.Close()
	// One row in a table, since GET_LOCK holds on one node only. A holder that died is replaced after its lease.
	locker, err := lock.NewMySQLTableLocker(
		lock.WithTableName(lockTable),
		lock.WithTableLeaseDuration(15*time.Second), lock.WithTableHeartbeatInterval(3*time.Second),
		lock.WithTableLockTimeout(200*time.Millisecond, 5*60*10), // ten minutes
		lock.WithTableUnlockTimeout(200*time.Millisecond, 50),
		lock.WithTableLogger(p.logger),
	)
	if err != nil {
		return fmt.Errorf("prepare migration lock: %w", err)
	}
	if err := locker.Lock(ctx, admin); err != nil {
		return fmt.Errorf("wait for another admin's migration: %w", err)
	}
	err = do(admin)
	if unlock := locker.Unlock(context.WithoutCancel(ctx), admin); unlock != nil {
		p.logger.Warn("release migration lock", "error", unlock)
	}
	return err
}

// settle is what every start does: it reads what is kept in memory, and looks through a database that was XXL-JOB's.
func (p *Pool) settle(ctx context.Context) error {
	if err := errors.Join(p.findJobCron(ctx), p.findParam(ctx), p.findBeside(ctx), p.Calendars().Refresh(ctx)); err != nil {
		return err
	}
	return p.lookThrough(ctx)
}

func (p *Pool) migrate(ctx context.Context, target *sql.DB, later []int64) error {
	gooseDialect := database.DialectSQLite3
	if p.dialect == MySQL {
		gooseDialect = database.DialectMySQL
	}
	store, err := database.NewStore(gooseDialect, versionTable)
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	files, err := fs.Sub(migrationFiles, "migrations/"+string(p.dialect))
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	// Migrations do not build on each other beyond the tables they name, so one that came from a branch that was merged
	// later is made up for.
	provider, err := goose.NewProvider("", target, files, goose.WithStore(store), goose.WithDisableGlobalRegistry(true), goose.WithAllowOutofOrder(true), goose.WithExcludeVersions(later))
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	if p.dialect == MySQL {
		if _, err := provider.GetDBVersion(ctx); err != nil { // which makes its table
			return fmt.Errorf("read schema version: %w", err)
		}
		ours, err := isOurs(ctx, target)
		if err != nil {
			return err
		}
		if !ours {
			if err := p.adopt(ctx, target); err != nil {
				return fmt.Errorf("adopt the XXL-JOB database %s: %w", p, err)
			}
		}
	}
	began, done, newest := time.Now(), 0, int64(0)
	defer func() {
		if done > 0 {
			p.logger.Info("migrated database", "migrations", done, "version", newest, "took", time.Since(began).Round(time.Millisecond))
		}
	}()
	for {
		results, err := provider.Up(ctx)
		partial, cut := errors.AsType[*goose.PartialError](err)
		if cut {
			results = partial.Applied
		}
		for _, r := range results {
			p.logger.Debug("migration", "version", r.Source.Version, "took", r.Duration)
			done, newest = done+1, max(newest, r.Source.Version)
		}
		switch {
		case err == nil:
			return p.verify(ctx, target)
		case !cut:
			return fmt.Errorf("migrate database: %w", err)
		case !alreadyDone(partial.Err):
			return fmt.Errorf("migrate database with %s: %w", path.Base(partial.Failed.Source.Path), partial.Err)
		}
		// A start was cut short between the change, which commits by itself on MySQL, and the note of it. Every file is a
		// single ALTER, so that its first column or index being there means that all of it is.
		p.logger.Info("found a migration done but not noted", "version", partial.Failed.Source.Version)
		if err := store.Insert(ctx, target, database.InsertRequest{Version: partial.Failed.Source.Version}); err != nil {
			return fmt.Errorf("note migration %d: %w", partial.Failed.Source.Version, err)
		}
	}
}

// isOurs says that the tables have been brought to the baseline, and not handed back since.
func isOurs(ctx context.Context, target *sql.DB) (bool, error) {
	var n int
	err := target.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+versionTable+" WHERE version_id = ? AND is_applied", baseline).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("read schema version: %w", Error(err))
	}
	return n > 0, nil
}

// ErrOutdated means that the database has not been brought up to what this program needs.
var ErrOutdated = errors.New("the database is older than this program; bring it up to date first: start the new program, or punctual migrate")

// CheckCurrent reports [ErrOutdated] for whoever only reads and so cannot [Pool.Migrate], and [ErrNotOurs]. It too reads what is kept in memory.
func (p *Pool) CheckCurrent(ctx context.Context) error {
	if err := p.CheckOurs(ctx); err != nil {
		return err
	}
	rows, err := p.QueryContext(ctx, "SELECT version_id FROM "+versionTable+" WHERE is_applied")
	if err != nil {
		return fmt.Errorf("read schema versions: %w", Error(err))
	}
	defer rows.Close()
	missing := knownVersions()
	for rows.Next() {
		var version int64
		if err := rows.Scan(&version); err != nil {
			return fmt.Errorf("read schema versions: %w", Error(err))
		}
		missing = slices.DeleteFunc(missing, func(v int64) bool { return v == version })
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read schema versions: %w", Error(err))
	}
	if !onlyLater(missing) {
		return ErrOutdated
	}
	return errors.Join(p.findParam(ctx), p.findBeside(ctx), p.Calendars().Refresh(ctx))
}

// ErrNotOurs means that the settings lead to a database in which nothing of ours is: an empty one, or an XXL-JOB admin's.
var ErrNotOurs = errors.New("there is no installation of Punctual in this database: give the settings of the admin, restore a backup if there was one, or begin one with punctual migrate")

// CheckOurs reports [ErrNotOurs] for whoever is to change an installation, and not to begin one.
func (p *Pool) CheckOurs(ctx context.Context) error {
	table := "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?"
	if p.dialect == SQLite {
		table = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
	}
	var n int
	if err := p.QueryRowContext(ctx, table, versionTable).Scan(&n); err != nil {
		return fmt.Errorf("look for an installation: %w", Error(err))
	}
	ours := false
	if n > 0 {
		var err error
		if ours, err = isOurs(ctx, p.DB); err != nil {
			return err
		}
	}
	if !ours {
		return fmt.Errorf("%s: %w", p, ErrNotOurs)
	}
	return nil
}

// alreadyDone reports MySQL's "duplicate column", "duplicate key name" and "check that the key to drop exists".
func alreadyDone(err error) bool {
	n, _ := codes(err)
	return n == 1060 || n == 1061 || n == 1091
}

// isCurrent reports whether nothing is to be done, without taking the lock: that is every start but the first.
func (p *Pool) isCurrent(ctx context.Context) (bool, error) {
	var tables int
	err := p.QueryRowContext(ctx, `SELECT COUNT(*) FROM information_schema.tables
		WHERE table_schema = DATABASE() AND table_name = ?`, versionTable).Scan(&tables)
	if err != nil || tables == 0 {
		return false, Error(err)
	}
	rows, err := p.QueryContext(ctx, "SELECT version_id FROM "+versionTable+" WHERE is_applied")
	if err != nil {
		return false, fmt.Errorf("read schema versions: %w", Error(err))
	}
	defer rows.Close()
	missing := knownVersions()
	newest := missing[len(missing)-1]
	for rows.Next() {
		var version int64
		if err := rows.Scan(&version); err != nil {
			return false, fmt.Errorf("read schema versions: %w", Error(err))
		}
		if version > newest {
			p.logger.Warn("the database was migrated by a newer program", "version", version, "known", newest)
		}
		missing = slices.DeleteFunc(missing, func(v int64) bool { return v == version })
	}
	if len(missing) > 0 && onlyLater(missing) {
		later, err := p.laterMigrations(ctx, p.DB)
		if err != nil || len(later) == 0 {
			return false, err
		}
		p.built.Store(builtBegun)
		return true, nil
	}
	return len(missing) == 0, Error(rows.Err())
}

// knownVersions are the numbers of the migrations, which both dialects have, in order.
func knownVersions() []int64 {
	entries, err := fs.ReadDir(migrationFiles, "migrations/mysql")
	if err != nil || len(entries) == 0 {
		panic("db: no migrations embedded")
	}
	versions := make([]int64, len(entries))
	for i, e := range entries {
		if versions[i], err = goose.NumericComponent(e.Name()); err != nil {
			panic(err)
		}
	}
	return versions
}
