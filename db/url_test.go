package db_test

import (
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
		"mysql://u:secret@db/x?timeout=soon", "jdbc:mysql://u:secret@a:3306,b:3306/x", "jdbc:mysql://db/x?password=secret&serverTimezone=Mars",
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
