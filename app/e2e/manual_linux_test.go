package e2e

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"go.yaml.in/yaml/v3"

	"github.com/punctual-job/punctual/app/auditlog"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// root is the folder of the repository.
const root = "../.."

// example is a command of the manual: a line of an example in sh with those that continue it, or an example in bash as a whole.
type example struct{ page, text string }

var (
	blocks    = regexp.MustCompile("(?ms)^ *```(\\w*)\n(.*?)^ *```")
	continued = regexp.MustCompile(`\\\n\s*`)
	comment   = regexp.MustCompile(`(?m)\s+#( .*|[^"']*)$|^#.*$`)
	firstWord = regexp.MustCompile(`^(?:\w+=(?:'[^']*'|"[^"]*"|\S*)\s+)*([\w./*-]+)`)
)

// examplesOf are the commands of the English pages and of the README. The Chinese ones have the same, but for comments: docs.TestBothLanguagesSayTheSame.
// An example that has commands and is not said to be in sh or bash would be missed, so it is none.
func examplesOf(t *testing.T) (all []example) {
	t.Helper()
	pages, err := filepath.Glob(root + "/docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	unmarked := make(map[string]string)
	for _, file := range append(pages, root+"/README.md") {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		page := filepath.Base(file)
		for _, b := range blocks.FindAllStringSubmatch(string(raw), -1) {
			switch b[1] {
			case "bash":
				all = append(all, example{page, b[2]})
			case "sh":
				for line := range strings.Lines(continued.ReplaceAllString(b[2], "")) {
					if line = strings.TrimSpace(comment.ReplaceAllString(strings.TrimSpace(line), "")); line != "" {
						all = append(all, example{page, line})
						known[filepath.Base(firstWord.FindStringSubmatch(line)[1])] = true
					}
				}
			case "":
				for line := range strings.Lines(b[2]) {
					if m := firstWord.FindStringSubmatch(line); m != nil {
						unmarked[m[1]] = page + ": " + line
					}
				}
			}
		}
		for line := range strings.Lines(blocks.ReplaceAllString(string(raw), "")) {
			if m := firstWord.FindStringSubmatch(strings.TrimPrefix(line, "    ")); m != nil && strings.HasPrefix(line, "    ") {
				unmarked[m[1]] = page + ": " + line
			}
		}
	}
	for name, where := range unmarked {
		if known[filepath.Base(name)] {
			t.Errorf("a command in an example that is not marked as sh: %s", where)
		}
	}
	if len(all) < 170 {
		t.Fatalf("%d commands were found", len(all))
	}
	return all
}

// elsewhere are the tests that run all commands of a page which begin so.
var elsewhere = []struct{ page, begins, test string }{
	{"api.md", "curl ", "TestTheRequestsOfTheManual"},
	{"webhooks.md", "curl ", "TestTheRequestsOfTheManual"},
	{"operations.md", "curl ", "TestTheRequestsOfXXLJobsPrograms"},
	{"migration.md", "curl ", "TestTheRequestsOfXXLJobsPrograms"},
	{"http-jobs.md", "curl ", "TestTheReportOfTheManual"},
	{"cli.md", "punctual ", "TestTheCommandsOfTheManual"},
	{"runbooks.md", "punctual ", "TestTheRunbooks"},
	{"jobfile.md", "punctual ", "TestThePipelinesOfTheManual"},
	{"assistants.md", "punctual ", "TestTheManualOfAssistants"},
	{"from-crontab.md", "crontab ", "TestTheWayFromACrontab"},
	{"from-crontab.md", "punctual ", "TestTheWayFromACrontab"},
	{"from-kubernetes.md", "kubectl ", "TestTheWayFromKubernetes"},
	{"from-kubernetes.md", "punctual ", "TestTheWayFromKubernetes"},
	{"executor-go.md", "go get ", "TestTheExecutorAsksNothingOfAProgram"}, // of a release that is kept in a folder
	{"executor-java.md", "mvn ", "TestJavaAgent"},
}

// asPunctual is the function of install.md that runs a command as the service does.
const asPunctual = `as_punctual() {
  runuser -u punctual -- sh -ac 'PUNCTUAL_DATA_DIR=/var/lib/punctual; . /etc/punctual/punctual.env; exec punctual "$@"' sh "$@"
}
as_punctual doctor
`

// excepted are the commands that cannot be run here as they stand, with the reason, and what is looked at instead.
var excepted = map[example]struct {
	why   string
	check func(t *testing.T, command string)
}{
	{"README.md", "docker load -i punctual_*_amd64.image.tar && docker run -p 8080:8080 punctual:VERSION"}: {"no Docker daemon; TestTheImageRuns starts the image", dockerTakes},
	{"install.md", "docker load -i punctual_VERSION_linux_amd64.image.tar"}:                                {"as above", dockerTakes},
	{"install.md", "docker run -p 8080:8080 -v punctual:/data punctual:VERSION"}:                           {"as above", dockerTakes},
	{"install.md", "apt install ./punctual_VERSION_amd64.deb"}:                                             {"it changes the machine; TestTheDebsAreInstalledUpgradedAndPurged does it in a root of its own", nil},
	{"install.md", "systemctl enable --now punctual"}:                                                      {"no systemd", unitIsEnabled},
	{"install.md", "systemctl enable --now punctual-executor"}:                                             {"no systemd", unitIsEnabled},
	{"install.md", asPunctual}:                                {"there is no user punctual; TestTheDebsAreInstalledUpgradedAndPurged runs it in a root of its own", nil},
	{"install.md", "minisign -Vm SHA256SUMS -p punctual.pub"}: {"the program is in few distributions; TestTheChecksumsAreSigned verifies as it does", nil},
	{"install.md", `helm install -n punctual punctual deploy/helm/punctual --set image.tag=VERSION --set executor.enabled=true --set executor.image.tag=VERSION`}: {"no cluster; TestTheChartIsKubernetes renders the chart with these values' like and holds it against the schemas", chartHas},
	{"hardening.md", "go test ./app -run 'TestPublicExploitsAreRefused/.*/CVE-2024-24113'"}:                                                                       {"it is a test", testIsThere},
	{"migration.md", "go test ./db -run '^$' -bench Adoption -benchtime 1x"}:                                                                                      {"it measures for minutes", testIsThere},
}

// TestTheCommandsOfTheExamples runs what stands in the examples of the manual, page by page, as a reader would: with the programs of this
// tree, where it says db or /etc in a folder and on a database of the test. Whatever somebody adds is run too, or has to be named above.
func TestTheCommandsOfTheExamples(t *testing.T) {
	t.Parallel()
	tests := declaredTests(t)
	pages := make(map[string][]string)
	used := make(map[int]bool)
	found := make(map[example]bool)
	for _, e := range examplesOf(t) {
		found[e] = true
		if i := slices.IndexFunc(elsewhere, func(r struct{ page, begins, test string }) bool {
			return r.page == e.page && strings.HasPrefix(e.text, r.begins)
		}); i >= 0 {
			used[i] = true
			continue
		}
		if x, ok := excepted[e]; ok {
			if x.check != nil {
				t.Run(e.page+" "+e.text, func(t *testing.T) { t.Parallel(); x.check(t, e.text) })
			}
			continue
		}
		if e.page == "performance.md" {
			continue // TestTheMeasurementsOfTheManual
		}
		pages[e.page] = append(pages[e.page], e.text)
	}
	for e := range excepted {
		if !found[e] {
			t.Errorf("excepted, and in no example: %s: %s", e.page, e.text)
		}
	}
	for i, r := range elsewhere {
		if !used[i] || !tests[r.test] {
			t.Errorf("%s, %s: there is no such command, or no %s", r.page, r.begins, r.test)
		}
	}
	for page, commands := range pages {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			for _, command := range commands {
				m.do(t, command)
			}
		})
	}
}

// declaredTests are the names of all tests of this repository.
func declaredTests(t *testing.T) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		raw, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(`).FindAllSubmatch(raw, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// testIsThere finds the test or benchmark that a go test command names.
func testIsThere(t *testing.T, command string) {
	m := regexp.MustCompile(`go test (\S+) .*(Test\w+|Adoption)`).FindStringSubmatch(command)
	if m == nil {
		t.Fatalf("%s names none", command)
	}
	if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
		t.Error(err)
	}
	for name := range declaredTests(t) {
		if strings.Contains(name, m[2]) {
			return
		}
	}
	t.Errorf("there is no %s", m[2])
}

// dockerTakes has the client read its arguments; it ends where it looks for the daemon.
func dockerTakes(t *testing.T, command string) {
	if _, err := exec.LookPath("docker"); err != nil {
		t.Skip("docker is missing")
	}
	m := newMachine(t)
	m.write(t, "punctual_VERSION_linux_amd64.image.tar", "")
	for part := range strings.SplitSeq(command, " && ") {
		if out, err := m.shell(t, "DOCKER_HOST=unix://"+m.dir+"/none.sock "+part); err == nil || !strings.Contains(out, "docker daemon") {
			t.Errorf("%s: %v %s", part, err, out)
		}
	}
}

// unitIsEnabled does what the command does before it asks systemd to start the unit.
func unitIsEnabled(t *testing.T, command string) {
	if _, err := exec.LookPath("systemctl"); err != nil {
		t.Skip("systemctl is missing")
	}
	m := newMachine(t)
	name := command[strings.LastIndex(command, " ")+1:] + ".service"
	unit, err := os.ReadFile(filepath.Join(root, "deploy/systemd", name))
	if err != nil {
		t.Fatal(err)
	}
	m.write(t, "usr/lib/systemd/system/"+name, string(unit))
	if out, err := m.shell(t, strings.Replace(command, "systemctl enable --now", "systemctl --root="+m.dir+" enable", 1)); err != nil {
		t.Errorf("%v %s", err, out)
	}
	if _, err := os.Lstat(filepath.Join(m.dir, "etc/systemd/system/multi-user.target.wants", name)); err != nil {
		t.Error(err)
	}
}

// chartHas looks for each value that a helm command sets among those of the chart.
func chartHas(t *testing.T, command string) {
	raw, err := os.ReadFile(filepath.Join(root, "deploy/helm/punctual/values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(raw, &values); err != nil {
		t.Fatal(err)
	}
	set := regexp.MustCompile(`--set ([\w.]+)=`).FindAllStringSubmatch(command, -1)
	for _, name := range set {
		at := any(values)
		for part := range strings.SplitSeq(name[1], ".") {
			inside, _ := at.(map[string]any)
			var has bool
			if at, has = inside[part]; !has {
				t.Errorf("the chart has no value %s", name[1])
			}
		}
	}
	if len(set) != 3 {
		t.Errorf("it sets %q", set)
	}
}

// machine is a reader's: a folder with the programs in bin, beside an admin that somebody runs.
type machine struct {
	dir   string
	admin *admin
	data  *database
	env   []string
	said  map[string]string // what earlier commands of the page left to later ones
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{dir: t.TempDir(), said: make(map[string]string)}
	for _, name := range []string{"punctual", "punctual-executor"} {
		m.link(t, "bin/"+name, program(t, name))
	}
	m.env = []string{"PATH=" + filepath.Join(m.dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + m.dir, "PUNCTUAL_SAMPLE=off", "PUNCTUAL_HTTP_JOBS=off"}
	for _, name := range []string{"GOPATH", "GOMODCACHE", "GOCACHE", "GOFLAGS"} {
		out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		m.env = append(m.env, name+"="+strings.TrimSpace(string(out)))
	}
	return m
}

func (m *machine) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) link(t *testing.T, name, to string) {
	t.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
}

// shell runs a command and returns all that it printed.
func (m *machine) shell(t *testing.T, command string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-e", "-o", "pipefail", "-c", command, "example", "north", "0", "1") // what a script is given
	cmd.Dir, cmd.Env = m.dir, m.env
	cmd.Stdin = strings.NewReader("a-token-that-is-pasted\n")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// must is shell for what has to work.
func (m *machine) must(t *testing.T, command string) string {
	t.Helper()
	out, err := m.shell(t, command)
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return out
}

// running is the admin that commands of executors and clients are about, with a group of theirs.
func (m *machine) running(t *testing.T) *admin {
	t.Helper()
	if m.admin == nil {
		m.data = newDatabase(t, db.SQLite)
		m.data.seed(t, func(ctx context.Context, pool *db.Pool) error {
			for _, name := range []string{"nightly", "orders"} {
				if _, err := addGroup(ctx, pool, name, ""); err != nil {
					return err
				}
			}
			return nil
		})
		m.admin = startAdmin(t, m.data.settings())
	}
	return m.admin
}

// xxlJob is a database as XXL-JOB 2.3 has it, with a job.
func xxlJob(t *testing.T) string {
	t.Helper()
	url := dbtest.MariaDB(t)
	pool := dbtest.Open(t, db.Config{URL: url})
	for _, statement := range []string{
		"CREATE TABLE xxl_job_group (id INT PRIMARY KEY AUTO_INCREMENT, app_name VARCHAR(64) NOT NULL, title VARCHAR(12) NOT NULL, address_type TINYINT NOT NULL DEFAULT 0, address_list TEXT, update_time DATETIME)",
		"CREATE TABLE xxl_job_registry (id INT PRIMARY KEY AUTO_INCREMENT, registry_group VARCHAR(50) NOT NULL, registry_key VARCHAR(255) NOT NULL, registry_value VARCHAR(255) NOT NULL, update_time DATETIME)",
		"CREATE TABLE xxl_job_info (id INT PRIMARY KEY AUTO_INCREMENT, job_group INT NOT NULL, job_desc VARCHAR(255) NOT NULL, add_time DATETIME, update_time DATETIME, author VARCHAR(64), alarm_email VARCHAR(255), schedule_type VARCHAR(50) NOT NULL DEFAULT 'NONE', schedule_conf VARCHAR(128), misfire_strategy VARCHAR(50) NOT NULL DEFAULT 'DO_NOTHING', executor_route_strategy VARCHAR(50), executor_handler VARCHAR(255), executor_param VARCHAR(512), executor_block_strategy VARCHAR(50), executor_timeout INT NOT NULL DEFAULT 0, executor_fail_retry_count INT NOT NULL DEFAULT 0, glue_type VARCHAR(50) NOT NULL, glue_source MEDIUMTEXT, glue_remark VARCHAR(128), glue_updatetime DATETIME, child_jobid VARCHAR(255), trigger_status TINYINT NOT NULL DEFAULT 0, trigger_last_time BIGINT NOT NULL DEFAULT 0, trigger_next_time BIGINT NOT NULL DEFAULT 0)",
		"CREATE TABLE xxl_job_log (id BIGINT PRIMARY KEY AUTO_INCREMENT, job_group INT NOT NULL, job_id INT NOT NULL, executor_address VARCHAR(255), executor_handler VARCHAR(255), executor_param VARCHAR(512), executor_sharding_param VARCHAR(20), executor_fail_retry_count INT NOT NULL DEFAULT 0, trigger_time DATETIME, trigger_code INT NOT NULL, trigger_msg TEXT, handle_time DATETIME, handle_code INT NOT NULL, handle_msg TEXT, alarm_status TINYINT NOT NULL DEFAULT 0, KEY I_trigger_time (trigger_time), KEY I_handle_code (handle_code))",
		"CREATE TABLE xxl_job_user (id INT PRIMARY KEY AUTO_INCREMENT, username VARCHAR(50) NOT NULL, password VARCHAR(50) NOT NULL, role TINYINT NOT NULL, permission VARCHAR(255))",
		"INSERT INTO xxl_job_group (id, app_name, title) VALUES (1, 'orders', 'Orders')",
		"INSERT INTO xxl_job_info (id, job_group, job_desc, schedule_type, schedule_conf, glue_type, trigger_status, trigger_next_time) VALUES (7, 1, 'close the day', 'CRON', '0 0 2 * * ?', 'BEAN', 1, 4102444800000)",
	} {
		if _, err := pool.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return url
}

var (
	startsAdmin    = regexp.MustCompile(`(?:^|&& )(?:\w+=(?:'[^']*'|\S*)\s+)*(?:\S*/)?(?:punctual|make run)$`)
	startsExecutor = regexp.MustCompile(`(^|[ /])punctual-executor\s*$`)
	databaseURL    = regexp.MustCompile(`'?mysql://[^'\s]+'?`)
)

// do runs a command of a page.
func (m *machine) do(t *testing.T, command string) {
	t.Helper()
	command = strings.NewReplacer("/etc/punctual", m.dir+"/etc", "/backup/", m.dir+"/", "-g punctual-executor", "-g "+groupOf(t), "/srv/shop", m.dir+"/shop", "VERSION", "1.0").Replace(command)
	for _, folder := range []string{"etc", "shop"} {
		if err := os.MkdirAll(filepath.Join(m.dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.prepare(t, command)
	switch {
	case startsAdmin.MatchString(command):
		m.startsAdmin(t, command)
	case startsExecutor.MatchString(command):
		m.startsExecutor(t, command)
	case strings.HasPrefix(command, "punctual migrate ") || strings.HasPrefix(command, "punctual log "):
		of := strings.Fields(command)[1]
		if m.said[of] == "" {
			if m.said[of] = dbtest.MigratedInFiles(t); of == "migrate" {
				m.said[of] = xxlJob(t)
			}
		}
		if of == "log" {
			command += " --database-url '" + m.said[of] + "'"
		}
		if strings.HasSuffix(command, "log partition --apply") {
			command += " --runs 2000000 --copy" // a log as small as this one is not divided otherwise
		}
		command = strings.Replace(databaseURL.ReplaceAllString(command, "'"+m.said[of]+"'"), "--for 24h", "--for 1s", 1)
		out, err := m.shell(t, command)
		if exit, _ := errors.AsType[*exec.ExitError](err); err != nil && !(exit != nil && exit.ExitCode() == 4) { // there is something to look at
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	case strings.HasPrefix(command, "mysqldump ") || strings.HasPrefix(command, "gunzip ") || strings.HasPrefix(command, "mysql "):
		m.mysql(t, command)
	case strings.HasPrefix(command, "punctual audit") || strings.HasPrefix(command, "punctual backup ") || strings.HasPrefix(command, "punctual restore "):
		m.onItsDatabase(t, command)
	default:
		m.must(t, command)
	}
}

func groupOf(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "id", "-gn").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// prepare puts there what a reader has when they come to a command: what they have fetched, and stand-ins for what is theirs.
func (m *machine) prepare(t *testing.T, command string) {
	t.Helper()
	switch {
	case strings.HasPrefix(command, "tar "):
		m.must(t, `mkdir -p punctual_1.0_linux_amd64 && cp -L bin/* punctual_1.0_linux_amd64/ && tar -czf punctual_1.0_linux_amd64.tar.gz punctual_1.0_linux_amd64 && rm -r punctual_1.0_linux_amd64`)
	case strings.HasPrefix(command, "sha256sum "):
		m.must(t, `echo text > a.tar.gz && sha256sum a.tar.gz > SHA256SUMS && echo "$(printf %064d 0)  another.deb" >> SHA256SUMS`)
	case strings.HasPrefix(command, "./punctual"):
		m.link(t, "punctual", program(t, "punctual"))
	case strings.Contains(command, "make run"):
		makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
		if err != nil {
			t.Fatal(err)
		}
		m.write(t, "Makefile", string(makefile))
		// The compiler is one that has compiled this tree already.
		m.write(t, "bin/go", `#!/bin/sh
while [ "$1" != -o ]; do shift; done
[ -e "$2" ]
`)
	case strings.HasPrefix(command, "go work vendor"):
		if err := os.Remove(filepath.Join(m.dir, "bin/go")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		m.write(t, "go.work", "go 1.26\nuse ./a\n")
		m.write(t, "a/go.mod", "module example.com/a\ngo 1.26\n")
		m.write(t, "a/a.go", "package a\n")
	case strings.HasPrefix(command, "journalctl "):
		m.write(t, "bin/journalctl", "#!/bin/sh\ncat first.log\n")
		if _, err := os.Stat(filepath.Join(m.dir, "first.log")); err == nil { // it is there from the command before
			return
		}
		m.env = append(m.env, "PUNCTUAL_LISTEN=127.0.0.1:0")
		m.must(t, `(punctual > first.log 2>&1 & p=$!; until grep -q Password first.log; do sleep 0.05; done; kill $p; wait $p; true)`) // timeout passes the signal on twice, and the second one ends a program at once
	case strings.Contains(command, "php artisan"):
		m.write(t, "bin/php", "#!/bin/sh\n[ \"$*\" = \"artisan orders:close --branch=north\" ]\n")
	case strings.Contains(command, "psql "):
		m.env = append(m.env, "PUNCTUAL_LOG_ID=1", "PUNCTUAL_JOB_ID=1")
		m.write(t, "bin/psql", "#!/bin/sh\n[ \"$8\" = \"select close_day('north')\" ]\n")
	case strings.HasPrefix(command, "kubectl "):
		if _, err := exec.LookPath("kubectl"); err != nil {
			t.Skip("kubectl is missing")
		}
		m.write(t, "bin/kubectl", "#!/bin/sh\nPATH='"+os.Getenv("PATH")+"' exec kubectl \"$@\" --dry-run=client -o yaml --validate=false\n") // no cluster
	}
}

// start begins a command that does not end by itself. When the test does, what it has started is ended in order.
func (m *machine) start(t *testing.T, env []string, command string) *process {
	t.Helper()
	p := &process{cmd: exec.Command("bash", "-e", "-c", command), ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = m.dir, env, &p.stdout, &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait() // until all of them have ended
		close(p.ended)
	}()
	t.Cleanup(func() {
		for _, with := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			_ = syscall.Kill(-p.cmd.Process.Pid, with) // they may be gone already
			select {
			case <-p.ended:
				return
			case <-time.After(patience):
				t.Errorf("%s does not end", command)
			}
		}
	})
	return p
}

// startsAdmin runs a command that is an admin, until it is ready.
func (m *machine) startsAdmin(t *testing.T, command string) {
	t.Helper()
	if databaseURL.MatchString(command) {
		command = databaseURL.ReplaceAllString(command, "'"+dbtest.MariaDB(t)+"'")
	}
	port := executortest.FreePort(t)
	env := append(slices.Clone(m.env), "PUNCTUAL_LISTEN=127.0.0.1:"+port, "PUNCTUAL_DATA_DIR="+t.TempDir())
	p := m.start(t, env, command)
	a := &admin{process: p, url: "http://127.0.0.1:" + port, port: port}
	eventually(t, "ready: "+command, func() error {
		select {
		case <-p.ended:
			t.Fatalf("%s: %v\n%s%s", command, p.err, p.stdout.String(), p.stderr.String())
		default:
		}
		if code := a.status("/readyz"); code != http.StatusOK {
			return fmt.Errorf("status %d", code)
		}
		return nil
	})
}

// startsExecutor runs a command that is an executor, until it is registered.
func (m *machine) startsExecutor(t *testing.T, command string) {
	t.Helper()
	a := m.running(t)
	m.write(t, "etc/executor.token", testToken)
	command = regexp.MustCompile(`(ADMIN=)\S+`).ReplaceAllString(command, "${1}"+a.url)
	command = regexp.MustCompile(`(ACCESS_TOKEN=)\S+`).ReplaceAllString(command, "${1}"+testToken)
	if os.Getuid() == 0 { // who may run scripts as somebody else
		command = strings.Replace(command, "RUN_AS=jobs", "RUN_AS=nobody", 1)
	} else {
		command = strings.Replace(command, "export PUNCTUAL_EXECUTOR_RUN_AS=jobs\n", "", 1)
	}
	app := regexp.MustCompile(`APP_NAME=(\w+)`).FindStringSubmatch(command)[1]
	registered := func() (n int) {
		if err := m.data.sql.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_registry WHERE registry_key = ?", app).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := registered()
	env := append(slices.Clone(m.env), "PUNCTUAL_EXECUTOR_DATA_DIR="+t.TempDir())
	if !strings.Contains(command, "_LISTEN=") && !strings.Contains(command, "_PULL=") {
		env = append(env, "PUNCTUAL_EXECUTOR_LISTEN=127.0.0.1:"+executortest.FreePort(t))
	}
	p := m.start(t, env, command)
	eventually(t, "registered: "+command, func() error {
		select {
		case <-p.ended:
			t.Fatalf("%s: %v\n%s", command, p.err, p.stderr.String())
		default:
		}
		if n := registered(); n <= before {
			return fmt.Errorf("%d are registered as %s", n, app)
		}
		return nil
	})
}

// mysql runs the commands of MySQL on a server of the test, where its account needs no password to be typed.
func (m *machine) mysql(t *testing.T, command string) {
	t.Helper()
	name, _, _ := strings.Cut(command, " ")
	if strings.HasPrefix(command, "gunzip ") {
		name = "mysql"
	}
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is missing", name)
	}
	if m.said["client"] == "" {
		cfg, err := mysql.ParseDSN(dbtest.Migrated(t))
		if err != nil {
			t.Fatal(err)
		}
		host, port, _ := strings.Cut(cfg.Addr, ":")
		if m.said["client"] = fmt.Sprintf("--protocol=tcp -h %s -P %s -u %s --password='%s'", host, port, cfg.User, cfg.Passwd); cfg.Net == "unix" {
			m.said["client"] = fmt.Sprintf("--socket=%s -u %s --password='%s'", cfg.Addr, cfg.User, cfg.Passwd)
		}
		m.said["name"] = cfg.DBName
	}
	if strings.HasPrefix(command, "gunzip ") { // into an empty one
		m.said["name"] += "_again"
		again := m.said["name"]
		m.must(t, fmt.Sprintf("mysql %s -e 'CREATE DATABASE %s'", m.said["client"], again))
		drop := exec.Command("bash", "-c", fmt.Sprintf("mysql %s -e 'DROP DATABASE %s'", m.said["client"], again))
		t.Cleanup(func() {
			if out, err := drop.CombinedOutput(); err != nil {
				t.Errorf("%v %s", err, out)
			}
		})
	}
	out := m.must(t, regexp.MustCompile(`-h db -u \w+ -p xxl_job\b`).ReplaceAllString(command, m.said["client"]+" "+m.said["name"]))
	switch {
	case strings.Contains(command, "SELECT MAX") && !strings.Contains(out, "MAX(id)"):
		t.Errorf("%s says %q", command, out)
	case strings.Contains(command, "AUTO_INCREMENT"):
		next := m.must(t, fmt.Sprintf("mysql %s -N -e 'SHOW CREATE TABLE %s.xxl_job_log'", m.said["client"], m.said["name"]))
		if !strings.Contains(next, "AUTO_INCREMENT=1234567") {
			t.Errorf("%s leaves %s", command, next)
		}
	}
}

// onItsDatabase runs what opens the embedded database: beside an admin where that goes, else when it has ended.
func (m *machine) onItsDatabase(t *testing.T, command string) {
	t.Helper()
	a := m.running(t)
	m.env = append(m.env, "PUNCTUAL_DATA_DIR="+m.data.dir)
	if !strings.HasPrefix(command, "punctual backup ") {
		select {
		case <-a.ended:
		default:
			a.terminate(t)
		}
	}
	switch {
	case strings.HasPrefix(command, "punctual backup "):
		m.said["backup"] = strings.TrimPrefix(command, "punctual backup ")
	case strings.HasPrefix(command, "punctual restore --hold "): // as a copy, beside what it is of
		m.env = append(m.env, "PUNCTUAL_DATA_DIR="+t.TempDir())
		command = "punctual restore --hold " + m.said["backup"]
	case strings.HasPrefix(command, "punctual restore "):
		command = "punctual restore " + m.said["backup"]
	case strings.Contains(command, "--job"):
		m.data.seed(t, func(ctx context.Context, pool *db.Pool) error {
			return pool.Tx(ctx, func(tx *sql.Tx) error {
				now := wall(pool, time.Now())
				_, err := db.NewSchedules(pool, time.UTC, time.Now).Create(ctx, tx, db.InsertJobParams{
					JobGroup: 1, JobDesc: "close the day", AddTime: now, UpdateTime: now, Author: "e2e", ScheduleType: jobspec.ScheduleFixRate, ScheduleConf: "3600",
					MisfireStrategy: jobspec.MisfireDoNothing, ExecutorRouteStrategy: jobspec.RouteFirst, ExecutorHandler: "count", ExecutorBlockStrategy: db.Text(wire.BlockSerial), GlueType: wire.GlueBean, GlueUpdateTime: now,
				})
				return err
			})
		})
	case strings.Contains(command, "--known"):
		m.must(t, "punctual user reset-password admin") // of which there is an entry
		m.data.seed(t, func(ctx context.Context, pool *db.Pool) error {
			return auditlog.New(pool, slog.New(slog.DiscardHandler)).ExtendAll(ctx)
		})
		known := regexp.MustCompile(`\d+:[0-9a-f]{64}`).FindString(m.must(t, "punctual audit-log verify"))
		command = regexp.MustCompile(`--known \S+`).ReplaceAllString(command, "--known "+known)
	}
	m.must(t, command)
}

// small makes a measurement one of seconds. What a command names itself besides comes first, and the last one counts.
const small = " --seconds 1 --jobs 2000 --runs 2000 --text 1 --executors 2 --pollers 10 --memory 64M"

// TestTheMeasurementsOfTheManual takes those of docs/performance.md in small: each command ends with figures. How large they are says
// nothing here. They take a quarter of an hour, so that this asks each command for its help alone, which it gives once its flags are
// read; with PUNCTUAL_TEST_BENCH (make test/bench) they are run.
func TestTheMeasurementsOfTheManual(t *testing.T) {
	t.Parallel()
	whole := os.Getenv("PUNCTUAL_TEST_BENCH") != ""
	if _, err := exec.LookPath("mariadbd"); err != nil {
		t.Skip("mariadbd is missing")
	}
	measured := 0
	for _, e := range examplesOf(t) {
		if e.page != "performance.md" {
			continue
		}
		measured++
		m := newMachine(t)
		command := strings.NewReplacer("/var/tmp/pages", m.dir+"/pages", "/dev/shm/executors", m.dir+"/executors", "--waiting 3000000", "--waiting 1000", "--waiting 3600000", "--waiting 1000").Replace(e.text)
		command = databaseURL.ReplaceAllString(command, "'"+dbtest.MariaDB(t)+"'")
		if made, ok := strings.CutPrefix(command, "make bench BENCH='"); ok { // whose programs are there, and which needs none of Debian's then
			command = "punctual bench " + strings.TrimSuffix(made, "'")
		}
		if !strings.Contains(command, "--only") {
			command += ` --only "lateness at 100/"`
		}
		if !whole {
			m.must(t, command+small+" --help")
			continue
		}
		out := m.must(t, command+small)
		if !strings.Contains(out, "ms") && !strings.Contains(out, `"results"`) {
			t.Errorf("%s measures nothing:\n%s", command, out)
		}
	}
	if measured < 10 {
		t.Errorf("%d measurements were found", measured)
	}
}
