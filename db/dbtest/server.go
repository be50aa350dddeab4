package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Server is a private server on a socket in a temporary directory, or the one that TEST_DATABASE_URL names.
type Server struct {
	brand brand
	dir   string

	outside *mysql.Config // how to reach a server that is not ours to start and stop; else nil
	prefix  string        // of the names of its databases

	args   []string              // more of them, see Start
	launch func(*exec.Cmd) error // starts the process; nil: as it is

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended

	// lifeline is the write end of a pipe that a small watcher process reads. However this process ends, the pipe
	// breaks, and the watcher kills the server and removes its files.
	lifeline io.Closer
	next     atomic.Int64
}

const missing = "mariadbd is not installed (apt-get install mariadb-server gives it), or TEST_DB_ROOT has no server"

// shared is the binary's one server, started by the first test that asks.
var shared = sync.OnceValues(func() (*Server, error) {
	if outside != "" {
		return reach(outside)
	}
	return start()
})

var errMissing = errors.New(missing)

// MariaDB returns the DSN of an empty database on the binary's shared server, dropped when the test ends.
func MariaDB(tb testing.TB) string {
	tb.Helper()
	s, err := shared()
	check(tb, err)
	return s.Database(tb)
}

// NewServer starts a server for one test, which may stop and kill it as it likes, with more arguments.
func NewServer(tb testing.TB, args ...string) *Server {
	tb.Helper()
	if outside != "" {
		tb.Skip("this test wants a server of its own to stop and kill, and TEST_DATABASE_URL names another")
	}
	s, err := start(args...)
	check(tb, err)
	tb.Cleanup(s.remove)
	return s
}

// NewServerOn starts a server for one test whose data are on the disk, with more arguments.
func NewServerOn(tb testing.TB, disk *Disk, args ...string) *Server {
	tb.Helper()
	if outside != "" {
		tb.Skip("this test wants a server on a disk of its own, and TEST_DATABASE_URL names another")
	}
	s, err := prepare(chosen())
	check(tb, err)
	tb.Cleanup(s.remove)
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("the end of the server's log: %s", s.log())
		}
	})
	s.args = append([]string{"--innodb-file-per-table=ON"}, args...) // so that files grow in small steps
	check(tb, os.Symlink(disk.Dir, s.data()))
	check(tb, s.install())
	check(tb, s.Start())
	return s
}

func check(tb testing.TB, err error) {
	tb.Helper()
	switch {
	case errors.Is(err, errMissing) && os.Getenv("TEST_DB") != "required":
		tb.Skip(missing)
	case err != nil:
		tb.Fatalf("start a database server: %v", err)
	}
}

// Database creates an empty database for the test and returns its DSN.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	name := fmt.Sprintf("%st%d", s.prefix, s.next.Add(1))
	if err := s.create(context.Background(), name); err != nil {
		tb.Fatalf("create test database: %v\nserver's log: %s", err, s.log())
	}
	tb.Cleanup(func() {
		if s.running() {
			_ = s.exec(context.Background(), "DROP DATABASE "+name)
		}
	})
	return s.DSN(name)
}

func (s *Server) create(ctx context.Context, name string) error {
	return s.exec(ctx, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci")
}

// DSN returns the address of a database on this server.
func (s *Server) DSN(database string) string {
	if s.outside != nil {
		cfg := s.outside.Clone()
		cfg.DBName = database
		return cfg.FormatDSN()
	}
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr, cfg.DBName = "root", "unix", s.socket(), database
	return cfg.FormatDSN()
}

func (s *Server) exec(ctx context.Context, statement string) error {
	pool, err := sql.Open("mysql", s.DSN(""))
	if err != nil {
		return err
	}
	defer pool.Close()
	_, err = pool.ExecContext(ctx, statement)
	return err
}

func (s *Server) data() string    { return filepath.Join(s.dir, "d") }
func (s *Server) socket() string  { return filepath.Join(s.dir, "s") }
func (s *Server) pidFile() string { return filepath.Join(s.dir, "pid") }

// start installs and starts a server.
func start(args ...string) (*Server, error) {
	s, err := prepare(chosen())
	if err != nil {
		return nil, err
	}
	s.args = args
	if err = s.install(); err == nil {
		err = s.Start()
	}
	if err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

// prepare makes the directory of a server.
func prepare(of brand) (*Server, error) {
	if _, err := exec.LookPath(of.program()); err != nil {
		return nil, errMissing
	}
	// Memory if there is some: the tests are about statements, and a disk only makes them slower. The path is
	// short because a socket's may have 107 bytes.
	// TEST_DB_DIR puts it on a disk, for benchmarks whose commits are to wait for one.
	base := os.Getenv("TEST_DB_DIR")
	if fi, err := os.Stat("/dev/shm"); base == "" && err == nil && fi.IsDir() {
		base = "/dev/shm"
	}
	dir, err := os.MkdirTemp(base, "pdb")
	if err != nil {
		return nil, err
	}
	s := &Server{brand: of, dir: dir}
	if err := s.watch(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

// watch starts the process that outlives this one just long enough to clean up.
func (s *Server) watch() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := exec.Command("sh", "-c", `cat >/dev/null; kill -9 $(cat "$1/pid") 2>/dev/null; rm -rf "$1"`, "sh", s.dir)
	cmd.Stdin = r
	// A session of its own, so that Ctrl-C reaches the tests and not the watcher.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	r.Close()
	if err != nil {
		w.Close()
		return err
	}
	go cmd.Wait()
	s.lifeline = w
	return nil
}

// install fills the data directory. root may enter without a password, but only through the socket.
func (s *Server) install() error {
	cmd := s.brand.install(s.data(), s.dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, out)
	}
	return nil
}

// userFlag is what the server wants when root starts it, as in a container.
func userFlag() []string {
	if u, err := user.Current(); err == nil && u.Uid == "0" {
		return []string{"--user=" + u.Username}
	}
	return nil
}

// Start starts the server, which keeps its data from before, and waits until it answers.
func (s *Server) Start() error { return s.start() }

func (s *Server) start(once ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	args := []string{
		// A tmpdir of its own: a starting server removes the temporary tables it finds there, and a neighbour that is using
		// them crashes.
		"--tmpdir=" + s.dir,
		"--datadir=" + s.data(), "--socket=" + s.socket(), "--pid-file=" + filepath.Join(s.dir, "server.pid"),
		"--log-error=" + filepath.Join(s.dir, "log.err"), "--skip-networking", "--skip-name-resolve",
		"--innodb-buffer-pool-size=128M", "--performance-schema=OFF", "--max-connections=500",
		"--innodb-lock-wait-timeout=10", "--innodb-file-per-table=OFF",
		// Statistics that are kept are rows for each index of each table, and tests make 75 tables each: nearly half of that. Tests that
		// look at plans keep theirs.
		"--innodb-stats-persistent=OFF",
	}
	cmd := s.brand.command(slices.Concat(args, s.brand.args(), userFlag(), s.args, once)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	launch := (*exec.Cmd).Start
	if s.launch != nil {
		launch = s.launch
	}
	if err := launch(cmd); err != nil {
		return err
	}
	if err := os.WriteFile(s.pidFile(), []byte(strconv.Itoa(cmd.Process.Pid)), 0o600); err != nil {
		cmd.Process.Kill()
		return err
	}
	done := make(chan struct{})
	go func() {
		cmd.Wait()
		close(done)
	}()
	s.cmd, s.done = cmd, done
	return s.ready(done)
}

// ready asks until the server answers. Nothing announces that it does, so this is a poll.
func (s *Server) ready(done <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.exec(ctx, "DO 1")
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-done:
			return fmt.Errorf("the server ended at once: %s", s.log())
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer: %w", err)
		}
	}
}

// log returns the end of what the server wrote about itself.
func (s *Server) log() []byte {
	log, _ := os.ReadFile(filepath.Join(s.dir, "log.err"))
	return log[max(0, len(log)-4096):]
}

// Stop shuts the server down in order.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Crashed says whether the server has ended by itself.
func (s *Server) Crashed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
		return s.cmd != nil
	default:
		return false
	}
}

// Kill ends the server as a crash would.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

func (s *Server) end(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Signal(sig)
	<-s.done
	s.cmd = nil
}

func (s *Server) running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cmd != nil || s.outside != nil
}

func (s *Server) remove() {
	s.Kill()
	os.RemoveAll(s.dir)
	s.lifeline.Close()
}
