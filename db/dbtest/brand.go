package dbtest

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// brand is a make of server: what its programs are called and asked.
type brand interface {
	program() string // the server's path
	command(args ...string) *exec.Cmd
	install(data, temporary string) *exec.Cmd // fills a data directory; root may enter without a password, through the socket
	args() []string                           // more of them for a start
}

// chosen is what private servers are of: this machine's MariaDB, or what is in the folder TEST_DB_ROOT.
func chosen() brand {
	root := os.Getenv("TEST_DB_ROOT")
	if root == "" {
		return machines{}
	}
	if maria := (unpackedMariaDB{unpacked(root)}); exists(maria.program()) {
		return maria
	}
	return unpackedMySQL{unpacked(root)}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// machines is the MariaDB of this machine.
type machines struct{}

func (machines) program() string {
	if _, err := exec.LookPath("mariadbd"); err != nil {
		if exists("/usr/sbin/mariadbd") {
			return "/usr/sbin/mariadbd"
		}
	}
	return "mariadbd"
}

func (m machines) command(args ...string) *exec.Cmd {
	return exec.Command(m.program(), append([]string{"--no-defaults"}, args...)...)
}

func (machines) install(data, temporary string) *exec.Cmd {
	return exec.Command("mariadb-install-db", append([]string{"--no-defaults", "--datadir=" + data, "--auth-root-authentication-method=normal",
		"--skip-test-db", "--skip-name-resolve", "--innodb-log-file-size=16M", "--tmpdir=" + temporary}, userFlag()...)...)
}

func (machines) maria() {}

func (machines) args() []string { return []string{"--skip-log-bin", "--innodb-log-file-size=16M"} }

// unpacked is a folder with the files of a Debian package of a server and all that it needs, as .ci/database makes it. Its C library
// is newer than this machine's, so its own loader starts the program.
type unpacked string

func (u unpacked) path(elements ...string) string {
	return filepath.Join(append([]string{string(u)}, elements...)...)
}

// start starts one of the folder's programs, a server, whose texts are in share.
func (u unpacked) start(program, share string, args ...string) *exec.Cmd {
	libraries, loader := u.loader()
	return exec.Command(loader, append([]string{"--library-path", libraries, program, "--no-defaults", "--lc-messages-dir=" + share,
		"--character-sets-dir=" + filepath.Join(share, "charsets"), "--plugin-dir=" + u.path("usr/lib/mysql/plugin")}, args...)...)
}

// loader is the folder's, with the folder of its libraries. A folder without one is noticed when it is started.
func (u unpacked) loader() (libraries, path string) {
	found, err := filepath.Glob(u.path("usr/lib/*-linux-gnu/ld-linux*.so.*"))
	if err != nil || len(found) == 0 {
		return "", u.path("usr/lib/ld-linux.so")
	}
	return filepath.Dir(found[0]), found[0]
}

// unpackedMySQL is a folder with Debian's mysql-server-core.
type unpackedMySQL struct{ unpacked }

func (u unpackedMySQL) program() string { return u.path("usr/sbin/mysqld") }

func (u unpackedMySQL) command(args ...string) *exec.Cmd {
	return u.start(u.program(), u.path("usr/share/mysql"), append([]string{"--secure-file-priv=NULL", "--mysqlx=OFF"}, args...)...)
}

func (u unpackedMySQL) install(data, temporary string) *exec.Cmd {
	return u.command(append([]string{"--initialize-insecure", "--datadir=" + data, "--tmpdir=" + temporary, "--innodb-redo-log-capacity=16M",
		"--innodb-file-per-table=OFF"}, userFlag()...)...)
}

// args leave the binary log on, as it is by default; what is lost with the machine does not matter here.
func (unpackedMySQL) args() []string {
	return []string{"--innodb-redo-log-capacity=64M", "--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"}
}

// unpackedMariaDB is a folder with Debian's mariadb-server-core.
type unpackedMariaDB struct{ unpacked }

func (u unpackedMariaDB) program() string { return u.path("usr/sbin/mariadbd") }
func (u unpackedMariaDB) share() string   { return u.path("usr/share/mariadb") }

func (u unpackedMariaDB) command(args ...string) *exec.Cmd {
	return u.start(u.program(), u.share(), args...)
}

// install does what mariadb-install-db does, which would look for its programs on this machine.
func (u unpackedMariaDB) install(data, temporary string) *exec.Cmd {
	install := u.command(append([]string{"--bootstrap", "--datadir=" + data, "--tmpdir=" + temporary, "--skip-log-bin", "--innodb-log-file-size=16M"}, userFlag()...)...)
	install.Err = os.MkdirAll(filepath.Join(data, "mysql"), 0o700)
	statements := []io.Reader{strings.NewReader("USE mysql;\nSET @auth_root_socket=NULL;\n")}
	for _, name := range []string{"mariadb_system_tables.sql", "mariadb_performance_tables.sql", "mariadb_system_tables_data.sql"} {
		text, err := os.ReadFile(filepath.Join(u.share(), name))
		if err != nil {
			install.Err = err
		}
		statements = append(statements, bytes.NewReader(text))
	}
	install.Stdin = io.MultiReader(statements...)
	return install
}

func (unpackedMariaDB) maria() {}

func (unpackedMariaDB) args() []string { return machines{}.args() }
