package dbtest

import (
	"os"
	"os/exec"
	"path/filepath"
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
	return unpacked(root)
}

// machines is the MariaDB of this machine.
type machines struct{}

func (machines) program() string {
	if _, err := exec.LookPath("mariadbd"); err != nil {
		if _, err := os.Stat("/usr/sbin/mariadbd"); err == nil {
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

func (machines) args() []string { return []string{"--skip-log-bin", "--innodb-log-file-size=16M"} }

// unpacked is the MySQL in a folder with the files of Debian's mysql-server-core and all that it needs, as .ci/mysql makes it. The
// folder's C library is newer than this machine's, so its own loader starts the program.
type unpacked string

func (u unpacked) program() string { return filepath.Join(string(u), "usr/sbin/mysqld") }

func (u unpacked) command(args ...string) *exec.Cmd {
	libraries, loader := u.loader()
	share := filepath.Join(string(u), "usr/share/mysql")
	return exec.Command(loader, append([]string{"--library-path", libraries, u.program(), "--no-defaults",
		"--lc-messages-dir=" + share, "--character-sets-dir=" + filepath.Join(share, "charsets"), "--plugin-dir=" + filepath.Join(string(u), "usr/lib/mysql/plugin"),
		"--secure-file-priv=NULL", "--mysqlx=OFF"}, args...)...)
}

// loader is the folder's, with the folder of its libraries. A folder without one is noticed when it is started.
func (u unpacked) loader() (libraries, path string) {
	found, err := filepath.Glob(filepath.Join(string(u), "usr/lib/*-linux-gnu/ld-linux*.so.*"))
	if err != nil || len(found) == 0 {
		return "", filepath.Join(string(u), "usr/lib/ld-linux.so")
	}
	return filepath.Dir(found[0]), found[0]
}

func (u unpacked) install(data, temporary string) *exec.Cmd {
	return u.command(append([]string{"--initialize-insecure", "--datadir=" + data, "--tmpdir=" + temporary, "--innodb-redo-log-capacity=16M",
		"--innodb-file-per-table=OFF"}, userFlag()...)...)
}

// args leave the binary log on, as it is by default; what is lost with the machine does not matter here.
func (unpacked) args() []string {
	return []string{"--innodb-redo-log-capacity=64M", "--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"}
}
