package db

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/punctual-job/punctual/db/sqlite"
)

// target is a parsed MySQL address.
type target struct {
	cfg       *mysql.Config
	addresses []string       // of the servers, in the order in which they are tried; a socket's path if cfg.Net is unix
	zone      *time.Location // what a JDBC URL said its DATETIME columns hold; nil if it said nothing
}

// Limits on one read or write of the network, so that a server that vanished without a word is noticed.
// The longest statement on these connections is a page over a big log; migrations have connections of their own.
const (
	dialTimeout = 10 * time.Second
	ioTimeout   = 40 * time.Second
)

// GivesUpWithin is how long somebody may have to wait, of whom no deadline is known, to be told that the database does not answer.
const GivesUpWithin = max(ioTimeout+checkLimit+connectLimit, sqlite.WaitsFor)

// parseURL reads what an operator wrote: mysql://user:password@host:port/name?param=value, the JDBC URL of an XXL-JOB
// admin, or a go-sql-driver DSN. No error repeats the password.
func parseURL(raw string) (*target, error) {
	t, err := parseAny(strings.TrimSpace(raw))
	if err != nil {
		return nil, fmt.Errorf("database URL: %w (want mysql://user:password@host:3306/database)", err)
	}
	if t.cfg.DBName == "" {
		return nil, errors.New("database URL: the database's name is missing (want mysql://user:password@host:3306/database)")
	}
	force(t.cfg)
	return t, nil
}

func parseAny(raw string) (*target, error) {
	lower := strings.ToLower(raw)
	if scheme, rest, ok := strings.Cut(raw, "://"); ok && jdbcSchemes[strings.ToLower(scheme)] {
		return parseJDBC(rest)
	}
	for _, scheme := range []string{"mysql://", "mariadb://"} {
		if strings.HasPrefix(lower, scheme) {
			return parseMySQL(raw[len(scheme):])
		}
	}
	if scheme, _, ok := strings.Cut(lower, "://"); ok && !strings.ContainsAny(scheme, "@(/") {
		return nil, fmt.Errorf("scheme %q is not supported", scheme)
	}
	cfg, err := mysql.ParseDSN(raw)
	if err != nil {
		return nil, err
	}
	t := &target{cfg: cfg, addresses: []string{cfg.Addr}}
	if cfg.Net == "tcp" && strings.Contains(cfg.Addr, ",") {
		if t.addresses, err = hostPorts(cfg.Addr); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// jdbcSchemes are the ways to begin a JDBC URL. What they say about which server is for what is found out by asking them.
var jdbcSchemes = map[string]bool{
	"jdbc:mysql": true, "jdbc:mysql:loadbalance": true, "jdbc:mysql:replication": true,
	"jdbc:mariadb": true, "jdbc:mariadb:sequential": true, "jdbc:mariadb:loadbalance": true, "jdbc:mariadb:replication": true,
}

func parseMySQL(rest string) (*target, error) {
	u, addresses, err := parseAuthority(rest)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	socket := q.Get("socket")
	q.Del("socket")
	cfg, err := mysql.ParseDSN("/?" + q.Encode())
	if err != nil {
		return nil, err
	}
	setAuthority(cfg, u)
	if socket != "" {
		cfg.Net, addresses = "unix", []string{socket}
	}
	return &target{cfg: cfg, addresses: addresses}, nil
}

// parseJDBC takes from a JDBC URL what means something here: the address, the account, whether to use TLS, and the zone.
func parseJDBC(rest string) (*target, error) {
	u, addresses, err := parseAuthority(rest)
	if err != nil {
		return nil, err
	}
	t := &target{cfg: mysql.NewConfig(), addresses: addresses}
	setAuthority(t.cfg, u)
	for key, values := range u.Query() {
		value := values[len(values)-1]
		switch strings.ToLower(key) {
		case "user":
			t.cfg.User = value
		case "password":
			t.cfg.Passwd = value
		case "usessl", "requiressl":
			if strings.EqualFold(value, "true") && t.cfg.TLSConfig == "" {
				t.cfg.TLSConfig = "skip-verify"
			}
		case "sslmode":
			switch strings.ToUpper(value) {
			case "PREFERRED":
				t.cfg.TLSConfig = "preferred"
			case "REQUIRED", "TRUST":
				t.cfg.TLSConfig = "skip-verify"
			case "VERIFY_CA", "VERIFY_IDENTITY", "VERIFY-CA", "VERIFY-FULL":
				t.cfg.TLSConfig = "true"
			}
		case "servertimezone", "connectiontimezone":
			if t.zone, err = jdbcZone(value); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

func jdbcZone(name string) (*time.Location, error) {
	switch {
	case strings.EqualFold(name, "LOCAL"), strings.EqualFold(name, "SERVER"):
		return nil, nil
	case strings.HasPrefix(name, "GMT") && len(name) > 3, strings.HasPrefix(name, "UTC") && len(name) > 3:
		// "GMT%2B8", "GMT+8", "GMT+08:00"; an unescaped plus arrives as a space.
		offset := strings.Replace(name[3:], " ", "+", 1)
		for _, layout := range []string{"-07:00", "-0700", "-07"} {
			if len(offset) == 2 {
				offset = offset[:1] + "0" + offset[1:]
			}
			if at, err := time.Parse(layout, offset); err == nil {
				_, seconds := at.Zone()
				return time.FixedZone(name, seconds), nil
			}
		}
		return nil, fmt.Errorf("unknown time zone %q", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %q", name)
	}
	return zone, nil
}

// parseAuthority reads everything after the scheme; its errors never hold the text, which holds the password. The URL it
// returns has no host: those are the addresses.
func parseAuthority(rest string) (u *url.URL, addresses []string, err error) {
	// url.Parse takes the first @ that may end a password; people write unescaped ones, so escape all but the last.
	authority, path, _ := strings.Cut(rest, "/")
	info, hosts := "", authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, password, ok := strings.Cut(authority[:at], ":")
		account := url.User(unescape(user))
		if ok {
			account = url.UserPassword(unescape(user), unescape(password))
		}
		info, hosts = account.String()+"@", authority[at+1:]
	}
	if addresses, err = hostPorts(hosts); err != nil {
		return nil, nil, err
	}
	u, err = url.Parse("mysql://" + info + "/" + path)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok && !strings.Contains(ue.Err.Error(), "userinfo") {
			return nil, nil, errors.New("it cannot be read: check host, port and escapes")
		}
		return nil, nil, errors.New("it cannot be read")
	}
	return u, addresses, nil
}

// hostPorts reads a list such as "db1:3306,db2,[::1]:3307". The port is 3306 unless it is said, and a single host may be left out.
func hostPorts(list string) ([]string, error) {
	parts := strings.Split(list, ",")
	addresses := make([]string, len(parts))
	for i, part := range parts {
		part = strings.TrimSpace(part)
		if strings.ContainsAny(part, "()=") {
			return nil, errors.New("write the hosts as host:port,host:port")
		}
		if part == "" && len(parts) > 1 {
			return nil, errors.New("the list of hosts has an empty one")
		}
		u, err := url.Parse("mysql://" + part + "/")
		if err != nil || u.User != nil || u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
			return nil, errors.New("it cannot be read: check host, port and escapes")
		}
		addresses[i] = net.JoinHostPort(cmp.Or(u.Hostname(), "127.0.0.1"), cmp.Or(u.Port(), "3306"))
		if _, _, err := net.SplitHostPort(addresses[i]); err != nil { // brackets where none belong
			return nil, errors.New("it cannot be read: check host, port and escapes")
		}
	}
	return addresses, nil
}

// unescape undoes percent escapes where the text has valid ones, and takes it as it is where not.
func unescape(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

func setAuthority(cfg *mysql.Config, u *url.URL) {
	if u.User != nil {
		cfg.User = u.User.Username()
		cfg.Passwd, _ = u.User.Password()
	}
	cfg.Net = "tcp"
	cfg.DBName = strings.Trim(u.Path, "/")
}

// force sets what the program relies on, whatever the URL says.
func force(cfg *mysql.Config) {
	cfg.ParseTime = true
	cfg.Loc = time.UTC
	cfg.ClientFoundRows = true   // affected rows mean matched rows, as on SQLite
	cfg.InterpolateParams = true // one round trip per statement, and no limit of 65,535 placeholders
	cfg.MultiStatements = false  // it would save the round trip of START TRANSACTION, and let whatever got into a statement begin another
	cfg.Timeout = cmp.Or(cfg.Timeout, dialTimeout)
	cfg.ReadTimeout = cmp.Or(cfg.ReadTimeout, ioTimeout)
	cfg.WriteTimeout = cmp.Or(cfg.WriteTimeout, ioTimeout)
	if cfg.Params == nil {
		cfg.Params = make(map[string]string)
	}
	// The same rules on every server: text that is too long is an error and not cut, and quotes mean what the queries mean.
	cfg.Params["sql_mode"] = "'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'"
	cfg.Params["time_zone"] = "'+00:00'"
	// Never fails for a known charset.
	_ = cfg.Apply(mysql.Charset("utf8mb4", ""))
}
