package db

import (
	"context"
	"io/fs"
	"strings"
)

// AdoptSteps runs the first n steps of an adoption and returns how many there are, as a start that was cut short would.
func AdoptSteps(ctx context.Context, p *Pool, n int) (int, error) {
	found, err := readSchema(ctx, p.DB)
	if err != nil {
		return 0, err
	}
	steps, err := adoptionSteps(found)
	if err != nil {
		return 0, err
	}
	for _, s := range steps[:min(n, len(steps))] {
		if err := s.run(ctx, p, p.DB); err != nil {
			return 0, err
		}
	}
	return len(steps), nil
}

// KeepAtOnce has a pool's sessions prepare what may be prepared when it comes for the first time. There is one session.
func KeepAtOnce(p *Pool) {
	p.connector.keepFrom = 1
	p.SetMaxIdleConns(0) // ends those there are
	p.SetMaxIdleConns(1)
	p.SetMaxOpenConns(1)
}

// MigrationText returns one migration file of MySQL.
func MigrationText(name string) (string, error) {
	content, err := fs.ReadFile(migrationFiles, "migrations/mysql/"+name)
	return string(content), err
}

// ParseURL shows how an address is understood: the DSN's account, address, database, and the zone.
func ParseURL(raw string) (user, password, address, name, zone string, err error) {
	t, err := parseURL(raw)
	if err != nil {
		return "", "", "", "", "", err
	}
	if t.zone != nil {
		zone = t.zone.String()
	}
	return t.cfg.User, t.cfg.Passwd, t.cfg.Net + ":" + strings.Join(t.addresses, ","), t.cfg.DBName, zone, nil
}

// TestVersionTable is the name of the table that records migrations.
const TestVersionTable = versionTable

// TestLockTable is the name of the table whose row is the migration lock.
const TestLockTable = lockTable

// SetGalera has a pool believe that its server is a node of a Galera cluster.
func (p *Pool) SetGalera(on bool) { p.galera = on }

// MixDistances has a pool find that one of its sessions has another distance between ids than the others.
func (p *Pool) MixDistances() {
	odd := &session{idStep: p.sessions.distance() + 1}
	p.sessions.add(odd)
	p.sessions.remove(odd)
}

var FindingOf = findingOf

// SortPlain is the way of SortJobs for plain filters.
func SortPlain(ctx context.Context, tx DBTX, f JobFilter, offset, limit int64) ([]int64, error) {
	return f.walk(ctx, tx, offset, limit)
}

// FewJobs sets up to how many jobs of some groups are sorted without an index.
func (p *Pool) FewJobs(n int64) { p.fewJobs = n }

// NewestFirst sets how many of the newest jobs are looked at before the index on the names.
func (p *Pool) NewestFirst(n int64) { p.newestFirst = n }

// ByName has FindJobs walk through the index on the names, as SearchJobs and SortJobs do for a text.
func (f JobFilter) ByName(dialect Dialect) JobFilter {
	f.names, f.dialect = true, dialect
	return f
}

// Handlers and TagLists are the columns by whose indexes jobs are looked for, in the two steps below.
var (
	Handlers = handlers
	TagLists = tagLists
)

// Values are those that a pattern matches.
func (c indexed) Values(ctx context.Context, tx DBTX, dialect Dialect, pattern string) ([]string, bool, error) {
	return c.values(ctx, tx, dialect, pattern)
}

// Jobs are those that have one of them.
func (c indexed) Jobs(ctx context.Context, tx DBTX, dialect Dialect, pattern string) ([]int64, bool, error) {
	return c.jobs(ctx, tx, dialect, pattern)
}

// Newest is what SearchJobs looks at before the index on the names, up to a job.
func (f JobFilter) Newest(p *Pool, last int64) JobFilter { return f.newest(p, last) }

// SortByName is the way of SortJobs for a text.
func SortByName(ctx context.Context, tx DBTX, f JobFilter, offset, limit int64) ([]int64, error) {
	return f.sorted(ctx, tx, anyStatus, f.where(false), offset, limit)
}

// DeferAbove sets from how many runs on a pool leaves indexes for later.
func (p *Pool) DeferAbove(runs int64) { p.deferAbove = runs }

// Tries tries something as a transaction is tried.
func Tries(ctx context.Context, once func() (again bool, err error)) error {
	return new(Pool).tries(ctx, once)
}
