package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"

	modernc "modernc.org/sqlite"
)

// Options says how a file is opened. The zero value is meant for production.
type Options struct {
	// Readers is how many reads run at once, by default twice the processors, between 4 and 16.
	Readers int
	// ReadOnly refuses every change. The file must be there.
	ReadOnly bool
	// Unsafe turns off waiting for the disk, and keeps what is temporary in memory: a power cut may then lose the file. For tests.
	Unsafe bool
}

// Connector opens one SQLite file for database/sql. Closing the sql.DB made from it closes it.
type Connector struct {
	base    driver.Connector
	plans   planCache
	writer  *sessionPool
	readers *sessionPool
}

// NewConnector prepares to open the file at path, which is created when first used.
func NewConnector(path string, opt Options) (*Connector, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("resolve database path: %w", err)
	}
	synchronous, temporary := "FULL", "DEFAULT"
	if opt.Unsafe {
		synchronous, temporary = "OFF", "MEMORY"
	}
	q := url.Values{"_txlock": {"immediate"}, "_time_format": {"datetime"}, "_pragma": {
		// First, so that the switch to WAL already waits for a backup tool that holds the file.
		"busy_timeout(5000)",
		"journal_mode(WAL)",
		"synchronous(" + synchronous + ")",
		"temp_store(" + temporary + ")",
		"cache_size(-16384)",
		"foreign_keys(1)",
		"journal_size_limit(67108864)",
	}}
	if opt.ReadOnly {
		// Not opened as read-only: a reader of a WAL file takes part in its book-keeping (-shm).
		q = url.Values{"_txlock": {"deferred"}, "_time_format": {"datetime"}, "mode": {"rw"},
			"_pragma": {"busy_timeout(5000)", "query_only(1)", "cache_size(-16384)"}}
	}
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(abs), RawQuery: q.Encode()}
	base, err := modernc.NewConnector(dsn.String())
	if err != nil {
		return nil, err
	}
	c := &Connector{base: base}
	c.writer = newSessionPool(1, c.openSession)
	c.readers = newSessionPool(cmp.Or(opt.Readers, min(max(2*runtime.GOMAXPROCS(0), 4), 16)), c.openSession)
	return c, nil
}

// Connect implements [driver.Connector]. It opens nothing: the first statement does.
func (c *Connector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &conn{connector: c}, nil
}

// Driver implements [driver.Connector].
func (c *Connector) Driver() driver.Driver { return c.base.Driver() }

// Close implements [io.Closer], which sql.DB.Close calls. What is still in use is closed when it is given back.
func (c *Connector) Close() error {
	// The writer goes last: the last connection to a WAL file folds the log into it.
	err := c.readers.close()
	return cmp.Or(c.writer.close(), err)
}

func (c *Connector) openSession(ctx context.Context) (*session, error) {
	raw, err := c.base.Connect(ctx)
	if err != nil {
		return nil, err
	}
	full, ok := raw.(rawConn)
	if !ok {
		raw.Close()
		return nil, fmt.Errorf("sqlite driver connection %T lacks a method this package needs", raw)
	}
	return &session{raw: full}, nil
}
