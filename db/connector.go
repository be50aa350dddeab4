package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

// connector makes the connections of a pool to whichever of its servers can serve: the one that did last is asked first.
// With several servers, one that is read-only, or a Galera node that is not part of its cluster's majority, cannot.
type connector struct {
	hosts    []*host
	tls      string       // as the address asks for it: empty, true, skip-verify, preferred
	last     atomic.Int64 // index of the host that served last
	keepFrom int          // see kept
	sessions *sessions    // where connections are listed and held to the rules; nil: neither
	logger   *slog.Logger
}

// host is one of the servers.
type host struct {
	address string
	driver  driver.Connector
	lost    atomic.Int64 // counts up when it has gone or cannot serve: connections made before are not used again
	failed  atomic.Int64 // counts up when one connection failed: the others must prove themselves before they are used
}

// Times for one server to accept a connection and to answer the first questions. Where there is another one to ask, waiting
// costs more than it can bring.
const (
	connectLimit     = 10 * time.Second
	connectLimitEach = 2 * time.Second
)

func newConnector(t *target, logger *slog.Logger, all *sessions) (*connector, error) {
	c := &connector{tls: t.cfg.TLSConfig, keepFrom: keepFrom, sessions: all, logger: logger}
	for _, address := range t.addresses {
		cfg := t.cfg.Clone()
		cfg.Addr = address
		inner, err := mysql.NewConnector(cfg)
		if err != nil {
			return nil, err
		}
		c.hosts = append(c.hosts, &host{address: address, driver: inner})
	}
	return c, nil
}

// Driver implements [driver.Connector].
func (c *connector) Driver() driver.Driver { return c.hosts[0].driver.Driver() }

// address is that of the server which served last.
func (c *connector) address() string { return c.hosts[c.last.Load()].address }

// Connect implements [driver.Connector].
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	last := int(c.last.Load())
	var errs []error
	for i := range c.hosts {
		k := (last + i) % len(c.hosts)
		conn, err := c.connect(ctx, c.hosts[k])
		if err == nil {
			if c.last.CompareAndSwap(int64(last), int64(k)) && k != last {
				c.logger.Warn("connected to another database server", "host", c.hosts[k].address, "instead_of", c.hosts[last].address, "error", errors.Join(errs...))
			}
			return conn, nil
		}
		if len(c.hosts) > 1 {
			err = fmt.Errorf("%s: %w", c.hosts[k].address, err)
		}
		if errs = append(errs, err); ctx.Err() != nil {
			break
		}
	}
	if len(errs) == 1 {
		return nil, errs[0]
	}
	return nil, &hostsError{errs}
}

// hostsError is why none of several servers could be connected to, on one line.
type hostsError struct{ errs []error }

func (e *hostsError) Error() string {
	texts := make([]string, len(e.errs))
	for i, err := range e.errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (e *hostsError) Unwrap() []error { return e.errs }

func (c *connector) connect(ctx context.Context, h *host) (driver.Conn, error) {
	limit := connectLimit
	if len(c.hosts) > 1 {
		limit = connectLimitEach
	}
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s := &session{host: h, made: h.lost.Load(), proved: h.failed.Load(), all: c.sessions}
	err := c.open(ctx, s)
	if err == nil {
		return s, nil
	}
	if s.mysqlConn != nil {
		_ = s.mysqlConn.Close()
	}
	if outer.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil, errSilent // not the caller's deadline, and it says something about the server
	}
	return nil, err
}

// errSilent is the error of a server that did not answer in time.
var errSilent = fmt.Errorf("the server does not answer: %w", io.ErrUnexpectedEOF)

// open connects, asks the server about itself, and makes the session ready.
func (c *connector) open(ctx context.Context, s *session) error {
	conn, err := s.host.driver.Connect(ctx)
	if err != nil {
		return err
	}
	var ok bool
	if s.mysqlConn, ok = conn.(mysqlConn); !ok {
		_ = conn.Close()
		return fmt.Errorf("the driver's connections cannot do all that is needed: %T", conn)
	}
	if len(c.hosts) == 1 && c.sessions == nil {
		return nil
	}
	// Before anything else: a node that is not ready refuses the rest. Servers of other kinds do not know the variable, or have it off.
	wsrep, err := first(ctx, s.mysqlConn, "SHOW GLOBAL VARIABLES LIKE 'wsrep_on'")
	if err != nil {
		return err
	}
	galera := len(wsrep) == 2 && (strings.EqualFold(wsrep[1], "ON") || wsrep[1] == "1")
	if len(c.hosts) > 1 {
		if err := canServe(ctx, s.mysqlConn, galera); err != nil {
			return err
		}
	}
	if c.sessions == nil {
		return nil
	}
	row, err := first(ctx, s.mysqlConn, "SELECT CAST(CONNECTION_ID() AS SIGNED), @@auto_increment_increment, VERSION(), @@hostname, @@port, @@socket")
	if err != nil {
		return err
	}
	if len(row) != 6 {
		return errors.New("the server does not say who it is")
	}
	if _, err := fmt.Sscan(row[0]+" "+row[1], &s.id, &s.idStep); err != nil {
		return fmt.Errorf("read the connection's id: %w", err)
	}
	s.server = serverName(strings.Join(row[3:], " "))
	if err := hold(ctx, s.mysqlConn, row[2]); err != nil {
		return err
	}
	if !galera {
		s.kept = newKept(row[2], c.keepFrom)
	}
	c.sessions.add(s)
	return nil
}

// canServe reports why the server cannot do an admin's work: it is a replica, or outside of its cluster.
func canServe(ctx context.Context, conn mysqlConn, galera bool) error {
	if galera {
		ready, err := first(ctx, conn, "SHOW STATUS LIKE 'wsrep_ready'")
		if err != nil {
			return err
		}
		if len(ready) == 2 && strings.EqualFold(ready[1], "OFF") {
			// Galera's own answer, so that callers know what it is.
			return &mysql.MySQLError{Number: 1047, Message: "the node is not part of its cluster's majority"}
		}
	}
	readOnly, err := first(ctx, conn, "SELECT @@GLOBAL.read_only")
	if err != nil {
		return err
	}
	if len(readOnly) == 1 && readOnly[0] != "0" && !strings.EqualFold(readOnly[0], "OFF") {
		return &mysql.MySQLError{Number: 1290, Message: "the server is read-only"}
	}
	return nil
}

// first is the first row of an answer, as text; nil when there is none.
func first(ctx context.Context, conn mysqlConn, query string) ([]string, error) {
	rows, err := conn.QueryContext(ctx, query, nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	values := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(values); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	row := make([]string, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case []byte:
			row[i] = string(v)
		case nil:
		default:
			row[i] = fmt.Sprint(v)
		}
	}
	return row, nil
}
