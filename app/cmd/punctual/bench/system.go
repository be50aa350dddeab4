package bench

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/punctual-job/punctual/db"
)

const token = "bench-token"

// system is everything a scenario runs on: a database, the admin and an executor.
type system struct {
	dir         string
	database    string
	url         string // of the database; empty: embedded
	maria       *exec.Cmd
	admin       *exec.Cmd
	executor    *exec.Cmd
	address     string // the admin's
	second      string // of a second admin, if there is one
	other       *exec.Cmd
	control     string // the executor's
	balancer    string // by which the executor reaches the admins; empty: it knows them
	pulls, idle int    // executors that ask for their calls, with work and without
	plain       bool   // the one that is called does no more than XXL-JOB's protocol asks for
	binary      string
	others      string // folder in which the executors' is made; empty: in dir
	kept        bool   // its folder outlives it
	given       bool   // the database was somebody's, empty: what is made in it goes again
	profile     string // folder for profiles of the admin; empty: none
	pprof       string // where the admin gives them
}

// newSystem prepares a migrated database; nothing else runs yet.
func newSystem(ctx context.Context, s Settings, database string) (*system, error) {
	dir, err := os.MkdirTemp("", "punctual-bench")
	if err != nil {
		return nil, err
	}
	return newSystemIn(ctx, dir, s, database)
}

// newSystemIn is newSystem in a folder that may hold one from an earlier time.
func newSystemIn(ctx context.Context, dir string, s Settings, database string) (*system, error) {
	y := &system{dir: dir, database: database, binary: s.Binary, others: s.ExecutorDir, profile: s.Profile, plain: s.Plain}
	switch {
	case database == privateMaria:
		if err := y.startMaria(ctx, s.Memory, s.Binlog); err != nil {
			return nil, errors.Join(err, y.close())
		}
	case database == given:
		y.url = s.URL
		if err := y.mustBeEmpty(ctx); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		y.given = true
	}
	pool, err := y.open(ctx)
	if err == nil {
		err = errors.Join(pool.Migrate(ctx), s.noteDatabase(ctx, database, pool), pool.Close())
	}
	if err != nil {
		return nil, errors.Join(err, y.close())
	}
	return y, nil
}

func (y *system) open(ctx context.Context) (*db.Pool, error) {
	return db.Open(ctx, db.Config{URL: y.url, DataDir: filepath.Join(y.dir, "data"), Zone: time.UTC, Logger: slog.New(slog.DiscardHandler)})
}

// mustBeEmpty refuses a database that holds something.
func (y *system) mustBeEmpty(ctx context.Context) error {
	pool, err := y.open(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	tables, err := tablesOf(ctx, pool)
	if err == nil && len(tables) > 0 {
		err = fmt.Errorf("the database of --database-url holds %d tables: give one that is empty", len(tables))
	}
	return err
}

// tablesOf lists the tables of a MySQL database.
func tablesOf(ctx context.Context, pool *db.Pool) (names []string, err error) {
	rows, err := pool.QueryContext(ctx, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// dropAll empties a database that was empty when it was given.
func (y *system) dropAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	pool, err := y.open(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	tables, err := tablesOf(ctx, pool)
	if err != nil || len(tables) == 0 {
		return err
	}
	_, err = pool.ExecContext(ctx, "DROP TABLE `"+strings.Join(tables, "`, `")+"`")
	return err
}

// startMaria starts a private server with its defaults for durability (a flush at every commit).
func (y *system) startMaria(ctx context.Context, memory string, binlog bool) error {
	data, socket := filepath.Join(y.dir, "maria"), filepath.Join(y.dir, "s")
	// Servers that share a folder for temporary tables delete each other's when they start.
	tmp := filepath.Join(y.dir, "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return err
	}
	args := []string{"--no-defaults", "--datadir=" + data, "--tmpdir=" + tmp}
	if os.Geteuid() == 0 {
		args = append(args, "--user=root")
	}
	if _, err := os.Stat(filepath.Join(data, "ibdata1")); err != nil {
		out, err := exec.CommandContext(ctx, "mariadb-install-db", append(args, "--auth-root-authentication-method=normal", "--skip-test-db")...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("mariadb-install-db: %w: %s", err, out)
		}
	}
	program := "mariadbd"
	if _, err := exec.LookPath(program); err != nil {
		program = "/usr/sbin/mariadbd"
	}
	network, way := []string{"--skip-networking", "--skip-log-bin"}, "unix("+socket+")"
	if binlog {
		port, err := freePort()
		if err != nil {
			return err
		}
		network = []string{"--bind-address=127.0.0.1", "--port=" + port, "--log-bin=binlog", "--server-id=1", "--binlog-format=ROW", "--sync-binlog=1"}
		way = "tcp(127.0.0.1:" + port + ")"
	}
	y.maria = exec.Command(program, append(append(args, network...), "--socket="+socket, "--log-error="+filepath.Join(y.dir, "maria.log"),
		"--innodb-buffer-pool-size="+memory, "--innodb-log-file-size=512M", "--max-connections=200")...)
	dieWithUs(y.maria)
	if err := y.maria.Start(); err != nil {
		return err
	}
	root, err := sql.Open("mysql", "root@unix("+socket+")/")
	if err != nil {
		return err
	}
	defer root.Close()
	err = poll(ctx, 30*time.Second, func() error {
		_, err := root.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS bench CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci")
		return err
	})
	y.url = "root@" + way + "/bench"
	return err
}

// warm reads the whole log once, so that as much of it is in memory as it is after some days of work.
func (y *system) warm(ctx context.Context) error {
	pool, err := y.open(ctx)
	if err != nil {
		return err
	}
	var bytes sql.NullInt64
	for _, column := range []string{"trigger_msg", "job_id", "job_group", "handle_code", "trigger_time"} {
		if err := pool.QueryRowContext(ctx, "SELECT SUM(LENGTH("+column+")) FROM xxl_job_log").Scan(&bytes); err != nil {
			return errors.Join(err, pool.Close())
		}
	}
	return pool.Close()
}

// startAdmin starts the admin program and returns how long it took until it said it was ready.
func (y *system) startAdmin(ctx context.Context, extra ...string) (time.Duration, error) {
	return y.startAdminUntil(ctx, "/readyz", extra...)
}

// startAdminUntil is the same for another page that it must answer.
func (y *system) startAdminUntil(ctx context.Context, page string, extra ...string) (time.Duration, error) {
	port, err := freePort()
	if err != nil {
		return 0, err
	}
	y.address = "http://127.0.0.1:" + port
	log, err := os.Create(filepath.Join(y.dir, "admin.log"))
	if err != nil {
		return 0, err
	}
	defer log.Close()
	y.admin = exec.Command(y.binary, "serve")
	y.admin.Env = append(plainEnvironment(), "PUNCTUAL_LISTEN=127.0.0.1:"+port, "PUNCTUAL_DATABASE_URL="+y.url, "PUNCTUAL_DATA_DIR="+filepath.Join(y.dir, "data"),
		"PUNCTUAL_ACCESS_TOKEN="+token, "PUNCTUAL_ADMIN_PASSWORD=kettle-orbit-lamp-17", "PUNCTUAL_SAMPLE=off", "PUNCTUAL_HTTP_JOBS=off", "PUNCTUAL_TIME_ZONE=UTC", "PUNCTUAL_LOG_LEVEL=warn")
	if y.profile != "" {
		if port, err = freePort(); err != nil {
			return 0, err
		}
		y.pprof = "127.0.0.1:" + port
		y.admin.Env = append(y.admin.Env, "PUNCTUAL_PPROF=true", "PUNCTUAL_ADMIN_LISTEN="+y.pprof)
	}
	y.admin.Env = append(y.admin.Env, extra...)
	y.admin.Stdout, y.admin.Stderr = log, log
	dieWithUs(y.admin)
	began := time.Now()
	if err := y.admin.Start(); err != nil {
		return 0, err
	}
	err = answers(ctx, y.address+page)
	if err != nil {
		out, _ := os.ReadFile(filepath.Join(y.dir, "admin.log"))
		return 0, fmt.Errorf("admin not ready: %w\n%s", err, out)
	}
	return time.Since(began), nil
}

func (y *system) startExecutor(ctx context.Context, extra ...string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	y.control = "127.0.0.1:" + port
	admins := y.address
	if y.second != "" {
		admins += "," + y.second
	}
	if y.balancer != "" {
		admins = y.balancer
	}
	y.executor = exec.Command(self, append([]string{"bench-executor", "--admin", admins, "--token", token, "--dir", y.executorDir(), "--control", y.control,
		"--pull", strconv.Itoa(y.pulls), "--idle", strconv.Itoa(y.idle), "--plain=" + strconv.FormatBool(y.plain)}, extra...)...)
	y.executor.Env = plainEnvironment()
	y.executor.Stderr = os.Stderr
	dieWithUs(y.executor)
	if err := y.executor.Start(); err != nil {
		return err
	}
	return poll(ctx, 15*time.Second, func() error { _, err := y.stats(); return err })
}

// executorDir is where the executors keep their data.
func (y *system) executorDir() string {
	if y.others == "" {
		return filepath.Join(y.dir, "executor")
	}
	return filepath.Join(y.others, filepath.Base(y.dir))
}

// stats asks the executor what happened since the last time.
func (y *system) stats() (executorStats, error) {
	var s executorStats
	r, err := http.Get("http://" + y.control)
	if err != nil {
		return s, err
	}
	defer r.Body.Close()
	return s, json.NewDecoder(r.Body).Decode(&s)
}

// metrics reads the admin's counters whose names begin with punctual_, labels and all.
func (y *system) metrics() (map[string]float64, error) {
	address := y.address
	if y.pprof != "" { // they are there alone
		address = "http://" + y.pprof
	}
	r, err := http.Get(address + "/metrics")
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	m := make(map[string]float64)
	for line := range strings.Lines(string(body)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(name, "punctual_") {
			m[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	return m, nil
}

// usage is the CPU time and resident memory of a process.
func usage(cmd *exec.Cmd) (cpu time.Duration, rssMB float64) {
	if cmd == nil || cmd.Process == nil {
		return 0, 0
	}
	pid := strconv.Itoa(cmd.Process.Pid)
	if b, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil {
		fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		user, _ := strconv.Atoi(fields[11])
		sys, _ := strconv.Atoi(fields[12])
		cpu = time.Duration(user+sys) * 10 * time.Millisecond // clock ticks are 100 a second on Linux
	}
	return cpu, resident(cmd, "VmRSS:")
}

// resident is a line about memory of /proc/PID/status, in MB.
func resident(cmd *exec.Cmd, name string) float64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, name); ok {
			kb, _ := strconv.ParseFloat(strings.Fields(v)[0], 64)
			return kb / 1024
		}
	}
	return 0
}

func (y *system) stopAdmin() { stop(y.admin, syscall.SIGTERM); y.admin = nil }

func (y *system) close() error {
	stop(y.executor, syscall.SIGKILL)
	stop(y.admin, syscall.SIGKILL)
	stop(y.other, syscall.SIGKILL)
	if y.others != "" {
		defer os.RemoveAll(y.executorDir())
	}
	if y.given {
		return errors.Join(y.dropAll(context.Background()), os.RemoveAll(y.dir))
	}
	if y.kept {
		stop(y.maria, syscall.SIGTERM)
		return nil
	}
	stop(y.maria, syscall.SIGKILL)
	return os.RemoveAll(y.dir)
}

func stop(cmd *exec.Cmd, sig syscall.Signal) {
	if cmd != nil && cmd.Process != nil {
		if cmd.Process.Signal(sig) != nil { // where there are no signals
			_ = cmd.Process.Kill()
		}
		_ = cmd.Wait()
	}
}

func poll(ctx context.Context, limit time.Duration, try func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := try()
		if err == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// plainEnvironment is this process's without the settings of an installation, which are not those of the bench.
func plainEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PUNCTUAL_") })
}

// freePort is a port that nobody gets by chance before its program is there: it lies below the range from which systems take ports. Nor is it
// one that a test keeps for a program of its own, by the port of the same number of UDP.
func freePort() (string, error) {
	for range 200 {
		port := strconv.Itoa(20000 + rand.IntN(12000))
		kept, err := net.ListenPacket("udp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err == nil {
			err = l.Close()
		}
		if err = errors.Join(err, kept.Close()); err == nil {
			return port, nil
		}
	}
	return "", errors.New("no free port")
}
