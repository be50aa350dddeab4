package db_test

import (
	"net"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/db"
)

func TestURL(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, url, want string }{
		{"a URL", "mysql://u:p@db.example:3307/punctual", "u p tcp:db.example:3307 punctual "},
		{"the port is 3306 unless said", "mysql://u@db/punctual", "u  tcp:db:3306 punctual "},
		{"a password with reserved characters, escaped", "mysql://u:p%40%2F%3A%3F@db/x", "u p@/:? tcp:db:3306 x "},
		{"a password with an @, not escaped", "mysql://u:p@ss:w@db/x", "u p@ss:w tcp:db:3306 x "},
		{"a password with a percent sign, not escaped", "mysql://u:100%!@db/x", "u 100%! tcp:db:3306 x "},
		{"IPv6", "mysql://u:p@[::1]:3306/x", "u p tcp:[::1]:3306 x "},
		{"a socket", "mysql://u:p@localhost/x?socket=/run/mysqld/mysqld.sock", "u p unix:/run/mysqld/mysqld.sock x "},
		{"a DSN", "u:p@tcp(db:3306)/x?charset=utf8", "u p tcp:db:3306 x "},
		{"a JDBC URL", "jdbc:mysql://db:3306/xxl_job?useUnicode=true&characterEncoding=UTF-8&autoReconnect=true&serverTimezone=Asia/Shanghai&user=root&password=a%26b",
			"root a&b tcp:db:3306 xxl_job Asia/Shanghai"},
		{"a JDBC zone as an offset", "jdbc:mysql://db/xxl_job?serverTimezone=GMT%2B8", "  tcp:db:3306 xxl_job GMT+8"},
		{"several hosts", "mysql://u:p@h1:3307,h2/x", "u p tcp:h1:3307,h2:3306 x "},
		{"several hosts, with IPv6", "mysql://u:p@[::1]:3307, [fd00::2],h3/x", "u p tcp:[::1]:3307,[fd00::2]:3306,h3:3306 x "},
		{"several hosts and a password with an @ and a comma", "mysql://u:p@s,s@h1,h2/x", "u p@s,s tcp:h1:3306,h2:3306 x "},
		{"several hosts in a DSN", "u:p@tcp(h1,h2:3307)/x", "u p tcp:h1:3306,h2:3307 x "},
		{"several hosts in a JDBC URL", "jdbc:mysql://h1:3306,h2:3307/xxl_job?user=a", "a  tcp:h1:3306,h2:3307 xxl_job "},
		{"several hosts in a JDBC URL that says what for", "jdbc:mysql:replication://h1,h2/xxl_job?user=a", "a  tcp:h1:3306,h2:3306 xxl_job "},
		{"several hosts in MariaDB's JDBC URL", "jdbc:mariadb:sequential://h1,h2/xxl_job?user=a", "a  tcp:h1:3306,h2:3306 xxl_job "},
		{"MariaDB's JDBC URL", "jdbc:mariadb://db/xxl_job?user=a", "a  tcp:db:3306 xxl_job "},
	}
	for _, tt := range tests {
		user, password, address, name, zone, err := db.ParseURL(tt.url)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := strings.Join([]string{user, password, address, name, zone}, " "); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestURLRefused(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://u:secret@db/x", "mysql://u:secret@db", "mysql://u:secret@db:port/x", "u:secret@tcp(db:3306)", "u:secret@db/x",
		"mysql://u:secret@db/x?timeout=soon", "jdbc:mysql://address=(host=a)(port=3306),address=(host=b)/x?password=secret",
		"mysql://u:secret@a,,b/x", "mysql://u:secret@a,b:port/x", "u:secret@tcp(a,b:port)/x", "jdbc:mysql://db/x?password=secret&serverTimezone=Mars",
		"mysql://u:secret@[::1/x", "mysql://u:secret%zz\x7f@h o/x", "http://u:secret@tcp(x)/y", "mysql://db:secret",
	} {
		_, err := db.Open(t.Context(), db.Config{URL: url})
		if err == nil {
			t.Errorf("%s: no error", url)
			continue
		}
		if s := err.Error(); strings.Contains(s, "secret") || strings.Contains(s, "\n") || !strings.HasPrefix(s, "database URL: ") {
			t.Errorf("%s: error %q", url, s)
		}
	}
}

// FuzzURL has the parser read anything. What it takes has at least one address with a port, and no error tells a password.
func FuzzURL(f *testing.F) {
	for _, seed := range []string{
		"mysql://u:pw@db.example:3307/punctual", "mysql://u:pw@h1:3306,h2,[::1]:3307/x?timeout=1s", "u:pw@tcp(h1,h2:1)/x",
		"jdbc:mysql://h1,h2:3306/xxl_job?user=a&password=b&serverTimezone=GMT%2B8", "jdbc:mariadb:sequential://[::1],b/x", "mysql://u@h/x?socket=/s",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		_, _, addresses, name, _, err := db.ParseURL(raw)
		if err == nil && name == "" {
			t.Errorf("%q: no database", raw)
		}
		if network, list, _ := strings.Cut(addresses, ":"); err == nil && network == "tcp" {
			for address := range strings.SplitSeq(list, ",") {
				if _, _, err := net.SplitHostPort(address); err != nil {
					t.Errorf("%q: address %q: %v", raw, address, err)
				}
			}
		}
		// A password of which nothing can be misread.
		_, _, _, _, _, err = db.ParseURL("mysql://user:" + "Se-cr-et@" + raw)
		if err != nil && strings.Contains(err.Error(), "Se-cr-et") {
			t.Errorf("the password is in %q", err)
		}
	})
}
