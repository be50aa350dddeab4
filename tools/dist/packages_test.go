package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// machine is this one in a mount namespace of its own: what is installed there is gone when the test ends, and nobody else sees it.
type machine struct {
	pid  string // of a process that holds the namespace
	root string // where its root directory is mounted
}

// borrowMachine lays a file system in memory over this machine's. It takes root, and Debian's package manager.
func borrowMachine(t *testing.T) *machine {
	t.Helper()
	for _, tool := range []string{"unshare", "nsenter", "chroot", "dpkg", "systemd-analyze", "runuser"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s", tool)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("a package is tried as root")
	}
	m := &machine{root: filepath.Join(t.TempDir(), "root")}
	if err := os.Mkdir(m.root, 0o755); err != nil {
		t.Fatal(err)
	}
	hold := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-ec", `
		mount -t tmpfs tmpfs "$1"; mkdir "$1/upper" "$1/work" "$1/root"
		mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
		mount -t proc proc "$1/root/proc"; mount --rbind /dev "$1/root/dev"; mount -t tmpfs tmpfs "$1/root/run"
		echo mounted; exec sleep 600`, "sh", m.root)
	held := &process{cmd: hold}
	hold.Stdout, hold.Stderr = &held.said, &held.said
	if err := hold.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hold.Process.Kill(); _ = hold.Wait() })
	waitUntil(t, "mounts", func() bool {
		if strings.Contains(held.said.String(), "mounted") {
			return true
		}
		if strings.Contains(held.said.String(), "mount:") || strings.Contains(held.said.String(), "unshare:") {
			t.Skipf("this machine lets nobody mount: %s", held.said.String())
		}
		return false
	})
	m.pid = strconv.Itoa(hold.Process.Pid)
	m.root = filepath.Join(m.root, "root")
	return m
}

// command is a program on that machine.
func (m *machine) command(args ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"-t", m.pid, "-m", "chroot", m.root}, args...)...)
}

// run runs a program there, which must succeed, and returns what it said.
func (m *machine) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := m.command(args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// put writes a file there.
func (m *machine) put(t *testing.T, path, text string) {
	t.Helper()
	cmd := m.command("tee", path)
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.Output(); err != nil {
		t.Fatalf("%s: %v %s", path, err, out)
	}
}

var unitLine = regexp.MustCompile(`(?m)^(ExecStart|User|Environment|EnvironmentFile)=-?(.*)$`)

// startService starts a program as its unit has it: there is no service manager on that machine.
func (m *machine) startService(t *testing.T, name string) *process {
	t.Helper()
	unit := make(map[string]string)
	for _, found := range unitLine.FindAllStringSubmatch(m.run(t, "cat", "/usr/lib/systemd/system/"+name+".service"), -1) {
		unit[found[1]] = found[2]
	}
	script := fmt.Sprintf("set -a; %s; . %s; set +a; cd /var/lib/%s; exec %s", unit["Environment"], unit["EnvironmentFile"], name, unit["ExecStart"])
	return start(t, m.command("setpriv", "--reuid="+unit["User"], "--regid="+unit["User"], "--init-groups", "env", "-i", "PATH=/usr/bin:/bin", "sh", "-c", script))
}

const debJob = `punctual_jobs: 1
executors:
  - app_name: deb-test
    title: Deb
    jobs:
      - description: said by the package
        author: test
        state: running
        schedule: CRON
        cron: "* * * * * ?"
        kind: GLUE_SHELL
        script: |
          echo "hello from $(id -un) in $(pwd)"
`

// shellOf is the example in bash of a page that has a text.
func shellOf(t *testing.T, root, page, has string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?ms)^```bash\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(block[1], has) {
			return block[1]
		}
	}
	t.Fatalf("%s has no commands with %s", page, has)
	return ""
}

// TestTheDebsAreInstalledUpgradedAndPurged goes the way of an operator, with both packages.
func TestTheDebsAreInstalledUpgradedAndPurged(t *testing.T) {
	m := needTwoReleases(t)
	box := borrowMachine(t)
	install := func(dir string) string {
		t.Helper()
		for _, name := range []string{"punctual", "punctual-executor"} {
			data, err := os.ReadFile(find(t, dir, name+"_*_"+runtime.GOARCH+".deb"))
			if err != nil {
				t.Fatal(err)
			}
			box.put(t, "/root/"+name+".deb", string(data))
		}
		return box.run(t, "dpkg", "--install", "/root/punctual.deb", "/root/punctual-executor.deb")
	}
	if said := install(m.once); !strings.Contains(said, "systemctl enable --now punctual") {
		t.Errorf("an installation does not say how to begin:\n%s", said)
	}

	// What is installed belongs to whom it shall, and systemd takes the units.
	if got := box.run(t, "stat", "-c", "%U:%G %a %n", "/etc/punctual/punctual.env", "/etc/punctual/executor.env", "/var/lib/punctual", "/var/lib/punctual-executor", "/usr/bin/punctual"); got !=
		"root:punctual 640 /etc/punctual/punctual.env\nroot:punctual-executor 640 /etc/punctual/executor.env\npunctual:punctual 700 /var/lib/punctual\n"+
			"punctual-executor:punctual-executor 700 /var/lib/punctual-executor\nroot:root 755 /usr/bin/punctual\n" {
		t.Errorf("installed as\n%s", got)
	}
	for unit, worst := range map[string]int{"punctual.service": 25, "punctual-executor.service": 50} { // tenths; 100 is no protection at all
		path := "/usr/lib/systemd/system/" + unit
		if out, err := box.command("systemd-analyze", "verify", path).CombinedOutput(); err != nil || strings.Contains(string(out), unit) {
			t.Errorf("systemd-analyze verify %s: %v\n%s", unit, err, out)
		}
		if out, err := box.command("systemd-analyze", "security", "--offline=true", "--threshold="+strconv.Itoa(worst), path).CombinedOutput(); err != nil {
			t.Errorf("systemd-analyze security %s: %v\n%s", unit, err, out)
		}
	}

	// Without a token the executor does not start, and says why.
	early := box.startService(t, "punctual-executor")
	if err := early.cmd.Wait(); err == nil || early.cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("an executor without a token: %v", err)
	}

	adminPort, executorPort := freePort(t), freePort(t)
	const token, password = "some-lamp-otter-1", "some-lamp-otter-2"
	box.run(t, "sed", "-i", "s/^PUNCTUAL_LISTEN=.*/PUNCTUAL_LISTEN=127.0.0.1:"+adminPort+"/", "/etc/punctual/punctual.env")
	box.put(t, "/etc/punctual/token", token)
	box.put(t, "/etc/punctual/password", password)
	box.run(t, "chgrp", "punctual", "/etc/punctual/token", "/etc/punctual/password")
	box.run(t, "sh", "-c", "chmod 640 /etc/punctual/token /etc/punctual/password; cat >>/etc/punctual/punctual.env <<END\nPUNCTUAL_ACCESS_TOKEN_FILE=/etc/punctual/token\nPUNCTUAL_ADMIN_PASSWORD_FILE=/etc/punctual/password\nEND")
	box.run(t, "sed", "-i", "-e", "s/:8080/:"+adminPort+"/", "-e", "s/=:9999/=127.0.0.1:"+executorPort+"/", "-e", "s/^PUNCTUAL_EXECUTOR_APP_NAME=.*/PUNCTUAL_EXECUTOR_APP_NAME=deb-test/", "/etc/punctual/executor.env")
	install640 := box.command("install", "-m", "640", "-g", "punctual-executor", "/dev/stdin", "/etc/punctual/executor.token")
	install640.Stdin = strings.NewReader(token)
	if out, err := install640.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	// It starts, and an operator logs in.
	admin := box.startService(t, "punctual")
	admin.waitFor(t, "Punctual is running")
	console := "http://127.0.0.1:" + adminPort
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	page := func(r *http.Response, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v\n%s", r.Request.URL, r.Status, err, body)
		}
		return string(body)
	}
	logIn := func() {
		t.Helper()
		if at := page(browser.PostForm(console+"/login", url.Values{"name": {"admin"}, "password": {password}})); strings.Contains(at, `type="password"`) {
			t.Fatalf("the login leads to\n%s", at)
		}
	}
	logIn()
	admin.stop(t)

	// A job comes in as a file, and runs.
	box.put(t, "/var/lib/jobs.yaml", debJob) // where its user may read it
	box.run(t, "runuser", "-u", "punctual", "--", "env", "PUNCTUAL_DATA_DIR=/var/lib/punctual", "punctual", "import", "--apply", "--states", "--create-groups", "/var/lib/jobs.yaml")
	admin = box.startService(t, "punctual")
	admin.waitFor(t, "Punctual is running")
	executor := box.startService(t, "punctual-executor")
	hello := "hello from punctual-executor"
	waitUntil(t, "the job's output", func() bool {
		out, _ := box.command("grep", "-rhs", hello, "/var/lib/punctual-executor").Output()
		return strings.Contains(string(out), hello)
	})
	// Its data is backed up and put back by root, with the commands of the manual, and it goes on.
	asPunctual := shellOf(t, m.root, "docs/install.md", "as_punctual()")
	if said := box.run(t, "sh", "-c", asPunctual+"install -d -o punctual -m 700 /backup; as_punctual backup /backup/it.db"); !strings.Contains(said, "Admins     1") || !strings.Contains(said, "checked") {
		t.Errorf("with the settings of the service:\n%s", said)
	}
	admin.stop(t)
	box.run(t, "punctual", "restore", "--over-newer", "--data-dir", "/var/lib/punctual", "/backup/it.db")
	admin = box.startService(t, "punctual")
	admin.waitFor(t, "Punctual is running")
	waitUntil(t, "the run on the page", func() bool {
		return strings.Contains(page(browser.Get(console+"/runs")), "said by the package")
	})
	admin.stop(t)
	executor.stop(t)

	// The next release takes over settings and data.
	next := filepath.Join(t.TempDir(), "next")
	if err := git(m.root, "tag", "-f", "v1.3.0"); err != nil {
		t.Fatal(err)
	}
	if err := git(m.root, "tag", "-d", "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	if err := (&dist{root: m.root, out: next}).make(testContext, here); err != nil {
		t.Fatal(err)
	}
	if said := install(next); strings.Contains(said, "systemctl enable") {
		t.Errorf("an upgrade says how to begin:\n%s", said)
	}
	if v := box.run(t, "punctual", "version"); !strings.HasPrefix(v, "v1.3.0 ") {
		t.Errorf("after the upgrade: %s", v)
	}
	admin = box.startService(t, "punctual")
	admin.waitFor(t, "Punctual is running")
	if !strings.Contains(page(browser.Get(console+"/jobs")), "said by the package") {
		t.Error("the job is gone after the upgrade, or the session is")
	}
	admin.stop(t)

	// Removing keeps the data, purging does not.
	box.run(t, "dpkg", "--remove", "punctual", "punctual-executor")
	box.run(t, "test", "-s", "/var/lib/punctual/punctual.db")
	box.run(t, "rm", "/etc/punctual/token", "/etc/punctual/password")
	box.run(t, "dpkg", "--purge", "punctual-executor")
	if got := box.run(t, "stat", "-c", "%U:%G %a", "/etc/punctual/executor.token"); got != "root:root 640\n" {
		t.Errorf("a secret of the operator's is left to %s, a group that may be anybody's", got)
	}
	box.run(t, "rm", "/etc/punctual/executor.token")
	box.run(t, "dpkg", "--purge", "punctual")
	for _, path := range []string{"/var/lib/punctual", "/var/lib/punctual-executor", "/etc/punctual", "/usr/bin/punctual", "/usr/lib/systemd/system/punctual.service"} {
		if box.command("test", "-e", path).Run() == nil {
			t.Errorf("%s is left after the purge", path)
		}
	}
	if out, err := box.command("getent", "passwd", "punctual", "punctual-executor").Output(); err == nil {
		t.Errorf("left after the purge: %s", out)
	}
}

// TestTheRpmsHoldWhatTheDebsHold reads them with the tool of their kind.
func TestTheRpmsHoldWhatTheDebsHold(t *testing.T) {
	m := needRelease(t)
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skip("there is no rpm")
	}
	for _, name := range []string{"punctual", "punctual-executor"} {
		path := find(t, m.once, name+"-1.2.3-1.*.rpm")
		out, err := exec.Command("rpm", "--query", "--package", "--list", "--nosignature", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"/usr/bin/" + name, "/usr/lib/systemd/system/" + name + ".service", "/etc/punctual/", "/var/lib/" + name} {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s has no %s:\n%s", name, want, out)
			}
		}
		out, err = exec.Command("rpm", "--query", "--package", "--scripts", "--nosignature", path).Output()
		if err != nil || !strings.Contains(string(out), "useradd --system --gid "+name) {
			t.Errorf("%s has no scripts (%v):\n%s", name, err, out)
		}
	}
}
