package dbtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// outside is the URL of a server that somebody else runs: mysql://user:password@host:3306/ or a go-sql-driver DSN. The account may
// create and drop databases there.
var outside = os.Getenv("TEST_DATABASE_URL")

// Databases of tests are named for the time at which their binary began, so that those which a killed one left are found.
const (
	outsidePrefix = "punctual_test_"
	outsideStamp  = "200601021504"
	leftAfter     = 3 * time.Hour
)

// reach connects with an outside server.
func reach(rawURL string) (*Server, error) {
	cfg, err := parseOutside(rawURL)
	if err != nil {
		return nil, fmt.Errorf("TEST_DATABASE_URL: %w", err)
	}
	s := &Server{outside: cfg, prefix: outsidePrefix + time.Now().UTC().Format(outsideStamp) + "_" + strings.ToLower(rand.Text()[:6]) + "_"}
	if err := s.dropLeft(context.Background()); err != nil {
		return nil, fmt.Errorf("TEST_DATABASE_URL: %w", err)
	}
	return s, nil
}

func parseOutside(rawURL string) (*mysql.Config, error) {
	if !strings.Contains(rawURL, "://") {
		return mysql.ParseDSN(rawURL)
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "mysql" && u.Scheme != "mariadb" {
		return nil, fmt.Errorf("scheme %q is not mysql", u.Scheme)
	}
	query := u.Query()
	socket := query.Get("socket")
	query.Del("socket")
	cfg, err := mysql.ParseDSN("/?" + query.Encode())
	if err != nil {
		return nil, err
	}
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	cfg.Net, cfg.Addr = "tcp", u.Host
	if u.Port() == "" {
		cfg.Addr = u.Host + ":3306"
	}
	if socket != "" {
		cfg.Net, cfg.Addr = "unix", socket
	}
	return cfg, nil
}

// dropLeft drops what binaries left that were killed some hours ago; the copy that new databases are made from is always left.
func (s *Server) dropLeft(ctx context.Context) error {
	pool, err := sql.Open("mysql", s.DSN(""))
	if err != nil {
		return err
	}
	defer pool.Close()
	rows, err := pool.QueryContext(ctx, `SHOW DATABASES LIKE 'punctual\_test\_%'`)
	if err != nil {
		return err
	}
	defer rows.Close()
	var left []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		stamp, _, _ := strings.Cut(strings.TrimPrefix(name, outsidePrefix), "_")
		if at, err := time.Parse(outsideStamp, stamp); err == nil && time.Since(at) > leftAfter {
			left = append(left, name)
		}
	}
	for _, name := range left {
		if _, err := pool.ExecContext(ctx, "DROP DATABASE IF EXISTS `"+name+"`"); err != nil {
			return err
		}
	}
	return rows.Err()
}
