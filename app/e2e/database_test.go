package e2e

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// database is what one or more admins of a test work on.
type database struct {
	url string // empty: embedded
	dsn string // where the tests look at it; empty: url
	dir string // of the embedded one
	sql *sql.DB
}

// newDatabase makes a migrated database.
func newDatabase(t testing.TB, dialect db.Dialect) *database {
	t.Helper()
	if dialect == db.MySQL {
		return openDatabase(t, dbtest.MariaDB(t))
	}
	return openDatabase(t, "")
}

func openDatabase(t testing.TB, dsn string) *database {
	t.Helper()
	if dsn == "" {
		return openEmbedded(t, t.TempDir())
	}
	return (&database{url: dsn}).open(t)
}

// openEmbedded makes a migrated database in a folder.
func openEmbedded(t testing.TB, dir string) *database {
	t.Helper()
	return (&database{dir: dir}).open(t)
}

func (d *database) open(t testing.TB) *database {
	t.Helper()
	d.seed(t, func(context.Context, *db.Pool) error { return nil })
	d.read(t)
	return d
}

// read opens the connections that the tests look at the database with.
func (d *database) read(t testing.TB) {
	t.Helper()
	d.sql = d.connect(t, "query_only(1)")
}

// connect opens connections beside the programs, one of which holds the lock of an embedded database's folder: SQLite allows it, and
// the tests are not an admin.
func (d *database) connect(t testing.TB, pragmas ...string) *sql.DB {
	t.Helper()
	driver, source := "mysql", cmp.Or(d.dsn, d.url)
	if d.url == "" {
		driver = "sqlite"
		source = "file:" + filepath.Join(d.dir, "punctual.db") + "?" + url.Values{"_pragma": append(pragmas, "busy_timeout(5000)")}.Encode()
	}
	pool, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	return pool
}

// settings are those of an admin on this database.
func (d *database) settings() adminSettings { return adminSettings{databaseURL: d.url, dataDir: d.dir} }

// seed opens the database, brings it up to date and calls fill. No admin may run on an embedded one meanwhile.
func (d *database) seed(t testing.TB, fill func(ctx context.Context, pool *db.Pool) error) {
	t.Helper()
	pool, err := db.Open(t.Context(), db.Config{URL: d.url, DataDir: d.dir, Zone: time.UTC, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := pool.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := fill(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
}

// addGroup inserts an executor group; with addresses it has those and takes no registrations.
func addGroup(ctx context.Context, pool *db.Pool, appName, addresses string) (int64, error) {
	p := db.InsertGroupParams{AppName: appName, Title: appName, AddressList: db.Text(addresses), UpdateTime: wall(pool, time.Now())}
	if addresses != "" {
		p.AddressType = 1
	}
	return db.New().InsertGroup(ctx, pool, p)
}

// addJob inserts a stopped job of a fixed rate, once an hour, unless change makes it another.
func addJob(ctx context.Context, pool *db.Pool, group int64, change func(*db.InsertJobParams)) (int64, error) {
	now := wall(pool, time.Now())
	p := db.InsertJobParams{
		JobGroup: group, JobDesc: "job", AddTime: now, UpdateTime: now, Author: "e2e", ScheduleType: jobspec.ScheduleFixRate,
		ScheduleConf: "3600", MisfireStrategy: jobspec.MisfireDoNothing, ExecutorRouteStrategy: jobspec.RouteFirst,
		ExecutorHandler: "count", ExecutorBlockStrategy: db.Text(wire.BlockSerial), GlueType: wire.GlueBean, GlueUpdateTime: now,
	}
	if change != nil {
		change(&p)
	}
	return db.New().InsertJob(ctx, pool, p)
}

// startJob makes a job due at a moment.
func startJob(ctx context.Context, pool *db.Pool, id int64, next time.Time) error {
	n, err := db.New().StartJob(ctx, pool, db.StartJobParams{ID: id, NextTime: next.UnixMilli(), UpdateTime: wall(pool, time.Now())})
	if err == nil && n != 1 {
		err = fmt.Errorf("job %d was not stopped", id)
	}
	return err
}

func wall(pool *db.Pool, at time.Time) sql.NullTime {
	return sql.NullTime{Time: pool.Wall(at), Valid: true}
}

// run is a row of xxl_job_log.
type run struct {
	id, job, planned, sent, owner int64
	code, handled                 int64
	kind                          jobspec.TriggerType
	address, message, result      string
	outcome                       event.Outcome
	events                        event.List
}

// runs reads all runs in the order of their ids.
func (d *database) runs(t testing.TB) []run {
	t.Helper()
	// Not the test's context: what is left when a test fails is read in its cleanup.
	rows, err := d.sql.QueryContext(context.Background(), `SELECT id, job_id, planned_at, sent_at, owner_node, trigger_code, handle_code, trigger_type,
		COALESCE(executor_address, ''), COALESCE(trigger_msg, ''), COALESCE(handle_msg, ''), outcome, COALESCE(events, '')
		FROM xxl_job_log ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []run
	for rows.Next() {
		var r run
		var events string
		if err := rows.Scan(&r.id, &r.job, &r.planned, &r.sent, &r.owner, &r.code, &r.handled, &r.kind, &r.address, &r.message, &r.result, &r.outcome, &events); err != nil {
			t.Fatal(err)
		}
		r.events = event.Parse(events)
		all = append(all, r)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// count is a number the database knows.
func (d *database) count(t testing.TB, query string, args ...any) (n int64) {
	t.Helper()
	if err := d.sql.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// settled waits until all runs are decided: sent and reported, or failed.
func (d *database) settled(t testing.TB) {
	t.Helper()
	eventually(t, "end of all runs", func() error {
		// In this order: what is claimed between the two is counted as open.
		due := d.count(t, "SELECT COUNT(*) FROM xxl_job_info WHERE trigger_status > 0") // flows have 2
		open := d.count(t, "SELECT COUNT(*) FROM xxl_job_log WHERE handle_code = 0 AND trigger_code IN (0, 200)")
		if open > 0 || due > 0 {
			return fmt.Errorf("%d runs are open, %d jobs still scheduled", open, due)
		}
		return nil
	})
}
