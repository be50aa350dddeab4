package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app"
)

// TestMain lets the test program play the real one.
func TestMain(m *testing.M) {
	if os.Getenv("PLAY_PUNCTUAL") != "" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// playing puts a punctual into a folder that is this test program, which plays it where PLAY_PUNCTUAL is set.
func playing(t *testing.T, dir string) (program string) {
	t.Helper()
	self, err := os.Executable()
	if err == nil {
		program = filepath.Join(dir, "punctual")
		err = os.Symlink(self, program)
	}
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func TestCommands(t *testing.T) {
	data := t.TempDir()
	tests := []struct {
		name string
		args []string
		code int
		out  string // the whole output, or its beginning with …
		err  string // part of the one line on stderr
	}{
		{"version", []string{"version"}, 0, "…", ""},
		{"version as a flag", []string{"--version"}, 0, "…", ""},
		{"next times", []string{"cron", "next", "0 0 2 * * ?", "--zone", "Asia/Shanghai", "--after", "2026-01-01T00:00:00Z", "-n", "2"}, 0,
			"2026-01-02T02:00:00+08:00\n2026-01-03T02:00:00+08:00\n", ""},
		{"a schedule that ends", []string{"cron", "next", "0 0 0 1 1 ? 2027", "--zone", "UTC", "--after", "2026-01-01T00:00:00Z"}, 0, "2027-01-01T00:00:00Z\n", ""},
		{"no cron", []string{"cron", "next", "0 0 25 * * ?"}, 1, "", `hour "25"`},
		{"five fields", []string{"cron", "next", "* * * * *"}, 1, "", "has 5 fields"},
		{"a cron without a value", []string{"cron", "next", "0 0 0 1 L ?"}, 1, "", "month"},
		{"no crontab", []string{"cron", "convert", "testdata/nothing", "--group", "shop"}, 1, "", "testdata/nothing"},
		{"no zone of a crontab", []string{"cron", "convert", "--group", "shop", "--zone", "Mars"}, 2, "", "Mars"},
		{"no zone", []string{"cron", "next", "0 0 2 * * ?", "--zone", "Mars"}, 2, "", "Mars"},
		{"no time", []string{"cron", "next", "0 0 2 * * ?", "--after", "today"}, 2, "", "today"},
		{"no moment", []string{"runs", "--since", "yesterday"}, 2, "", `--since: "yesterday" is not a moment; write one such as 2026-12-31T23:30:00+08:00`},
		{"no length of time", []string{"pauses", "create", "--all", "--reason", "x", "--for", "2x"}, 2, "", `--for: "2x" is not a length of time; write one such as 90s, 10m or 1h30m`},
		{"no number of a run", []string{"runs", "show", "abc"}, 2, "", `<id>: "abc" is not a whole number; write one such as 10`},
		{"a number in many", []string{"runs", "kill", "1", "2,3"}, 2, "", `"2,3" is not a whole number`},
		{"a number that is too large", []string{"runs", "show", "9223372036854775808"}, 2, "", "is not a whole number"},
		{"no number of days", []string{"tokens", "create", "x", "--days", "a week"}, 2, "", `--days: "a week" is not a whole number`},
		{"no value of a text", []string{"jobs", "--tag"}, 2, "", "--tag: it wants a value\n"},
		{"no value of a number", []string{"jobs", "--limit"}, 2, "", "--limit: it wants a value\n"},
		{"no value of a moment", []string{"runs", "--since"}, 2, "", "--since: it wants a value\n"},
		{"a value like a flag", []string{"run", "1", "--param", "-5"}, 2, "", "--param: it wants a value; one that begins with - stands behind an =, as in --param=-5\n"},
		{"nothing named", []string{"jobs", "show"}, 2, "", "<job> is missing: punctual jobs show <job> [flags]\n"},
		{"half of it named", []string{"backfills", "stop", "1"}, 2, "", "<id> is missing: punctual backfills stop <job> <id> [flags]\n"},
		{"nothing of two", []string{"user", "create-token"}, 2, "", "<account> and <name> are missing: punctual user create-token <account> <name> [flags]\n"},
		{"no scope of a pause", []string{"pauses", "create", "--reason", "x"}, 2, "", "--job=JOB or --group=GROUP or --tag=STRING or --all\n"},
		{"a context and an address", []string{"jobs", "--context", "test", "--url", "https://jobs.example.com", "--token", "pnc_x"}, 1, "", `both the context "test" and the address https://jobs.example.com`},
		{"less than all", []string{"jobs", "--limit=-1"}, 2, "", "--limit: 0 is for all, and there is no less"},
		{"less than all items", []string{"runs", "steps", "7", "each", "--limit=-500"}, 2, "", "there is no less"},
		{"none at all", []string{"cron", "next", "0 0 2 * * ?", "-n", "0"}, 2, "", "-n 0"},
		{"an unknown flag", []string{"serve", "--nonsense"}, 2, "", "nonsense"},
		{"an unknown command", []string{"dance"}, 2, "", "dance"},
		{"a slip", []string{"jbos"}, 2, "", `unexpected argument jbos, did you mean "punctual jobs"?`},
		{"a slip before flags", []string{"--log-level", "info", "srve"}, 2, "", `did you mean "punctual serve"?`},
		{"a slip below a command", []string{"runs", "lgos", "4"}, 2, "", `unexpected argument lgos, did you mean "punctual runs logs"?`},
		{"a slip two words deep", []string{"alarms", "chanels"}, 2, "", `did you mean "punctual alarms channels"?`},
		{"a slip for what is hidden", []string{"bench-executr"}, 2, "", "unexpected argument bench-executr\n"},
		{"a wrong level", []string{"serve", "--log-level", "loud"}, 2, "", "PUNCTUAL_LOG_LEVEL"},
		{"a wrong format", []string{"serve", "--log-format", "xml"}, 2, "", "log-format"},
		{"a wrong zone", []string{"serve", "--time-zone", "Mars/Olympus"}, 2, "", "PUNCTUAL_TIME_ZONE"},
		{"a wrong address", []string{"serve", "--listen", "8080"}, 2, "", "host:port"},
		{"a wrong rule", []string{"serve", "--executor-allow", "http://x"}, 2, "", "PUNCTUAL_EXECUTOR_ALLOW"},
		{"a wrong sample", []string{"serve", "--sample", "maybe"}, 2, "", "sample"},
		{"a short password", []string{"serve", "--admin-password", "123456"}, 2, "", "password"},
		{"a wrong time", []string{"serve", "--call-timeout", "fast"}, 2, "", "fast"},
		{"migrate", []string{"migrate", "--data-dir", data}, 0, "up to date: …", ""},
		{"a user that does not exist", []string{"user", "reset-password", "ghost", "--data-dir", data}, 2, "", "ghost"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out, err bytes.Buffer
			code := run(tt.args, &out, &err)
			if code != tt.code {
				t.Errorf("exit code %d, want %d; %s", code, tt.code, err.String())
			}
			want, prefix := strings.CutSuffix(tt.out, "…")
			if prefix && !strings.HasPrefix(out.String(), want) || !prefix && out.String() != want {
				t.Errorf("printed %q, want %q", out.String(), tt.out)
			}
			if tt.code != 0 && (strings.Count(err.String(), "\n") != 1 || !strings.Contains(err.String(), tt.err)) {
				t.Errorf("said %q, want one line with %q", err.String(), tt.err)
			}
		})
	}
}

func TestAPasswordIsReadFromStandardInput(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	reset := func(stdin string, args ...string) (code int, stdout, stderr string) {
		var out, err bytes.Buffer
		code = runWith(append([]string{"user", "reset-password", "admin", "--data-dir", data}, args...), strings.NewReader(stdin), &out, &err)
		return code, out.String(), err.String()
	}
	a, err := app.New(t.Context(), app.Options{DataDir: data, Listen: "127.0.0.1:0", Sample: app.SampleOff, HTTPJobs: app.SampleOff})
	if err == nil {
		err = errors.Join(a.Start(t.Context()), a.Stop(t.Context()))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		stdin, arg string
		code       int
		out, err   string
	}{
		{"some-lamp-otter-1\r\nnext line\n", "--stdin", 0, "is changed", ""},
		{"password\n", "--stdin", 2, "", "easy to guess"},
		{"short", "--stdin", 2, "", "8 to 1000"},
		{"\n", "--stdin", 2, "", "no password"},
		{"some-lamp-otter-1\n", "--prompt", 2, "", "no terminal"},
	} {
		code, out, err := reset(tt.stdin, tt.arg)
		if code != tt.code || !strings.Contains(out, tt.out) || !strings.Contains(err, tt.err) || strings.Contains(out+err, "lamp") {
			t.Errorf("%q %s: %d, %q, %q", tt.stdin, tt.arg, code, out, err)
		}
	}
	if code, _, err := reset("x", "--stdin", "--password", "some-lamp-otter-1"); code != 2 || !strings.Contains(err, "choose one") {
		t.Errorf("two ways: %d, %s", code, err)
	}
	if code, out, _ := reset("ignored"); code != 0 || len(strings.TrimSpace(out)) < 20 {
		t.Errorf("a random one: %d, %q", code, out)
	}
}

// TestTheFirstTokenNeedsNoBrowser sets an installation up as a program does: with a token that is made before anything was started.
func TestTheFirstTokenNeedsNoBrowser(t *testing.T) {
	data := t.TempDir()
	create := func(args ...string) (code int, stdout, stderr string) {
		var out, err bytes.Buffer
		code = run(append([]string{"user", "create-token", "--data-dir", data, "--log-level", "error"}, args...), &out, &err)
		return code, strings.TrimSpace(out.String()), err.String()
	}
	var migrated, said bytes.Buffer
	if code := run([]string{"migrate", "--data-dir", data, "--log-level", "error"}, &migrated, &said); code != 0 {
		t.Fatal(said.String())
	}
	// The first start makes a person of this name, who is the only one that can sign in then.
	if code, out, err := create("admin", "terraform"); code != 2 || out != "" || !strings.Contains(err, "the name admin is kept for the first administrator") {
		t.Errorf("for admin, whom nobody has made yet: %d, %q, %q", code, out, err)
	}
	tokens := make(map[string]string)
	for _, args := range [][]string{{"deploy", "terraform"}, {"deploy", "less", "--scope", "run", "--days", "0"}, {"reader", "board", "--scope", "view"}} {
		code, token, said := create(args...)
		if code != 0 || !strings.HasPrefix(token, "pnc_") || strings.Contains(said, token) {
			t.Fatalf("%q: %d, %q, %q", args, code, token, said)
		}
		tokens[args[1]] = token
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const password = "some-lamp-otter-1"
	a, err := app.New(t.Context(), app.Options{DataDir: data, Listener: listener, AdminPassword: password, Sample: app.SampleOff, HTTPJobs: app.SampleOff})
	if err == nil {
		err = a.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PUNCTUAL_URL", "http://"+listener.Addr().String())
	asked := func(token, path string) string {
		t.Setenv("PUNCTUAL_TOKEN", tokens[token])
		var out, err bytes.Buffer
		if code := run([]string{"api", path, "-o", "json"}, &out, &err); code != 0 {
			t.Errorf("%s: %d, %s", path, code, err.String())
		}
		return out.String()
	}
	for _, tt := range []struct {
		token, path string
		says        []string
	}{
		{"terraform", "/whoami", []string{`"admin": true`, "deploy"}},
		{"less", "/whoami", []string{`"admin": false`, `"run"`}},
		{"terraform", "/audit?object_kind=apitoken", []string{"command line"}},
		{"terraform", "/users", []string{`"name": "admin"`}}, // the first start still makes the first administrator
	} {
		for _, want := range tt.says {
			if got := asked(tt.token, tt.path); !strings.Contains(got, want) {
				t.Errorf("%s of %s has no %s:\n%s", tt.path, tt.token, want, got)
			}
		}
	}
	if err := a.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"admin", "x"}, "admin is a person"},
		{[]string{"reader", "x"}, "Only an administrator’s token"}, // it was made for less, and is not raised
		{[]string{"deploy", "x", "--days", "4000"}, "--days 4000: "},
		{[]string{"another", "x", "--scope", "view", "--days", "4000"}, "0 to 3660"},
		{[]string{"deploy", "x", "--scope", "all"}, "must be one of"},
		{[]string{"No", "x"}, `<account> "No": 4–20 characters: a lower-case letter`},
		{[]string{"deploy", " "}, `<name> " ": Fill this in.`},
	} {
		if code, out, err := create(tt.args...); code != 2 || out != "" || !strings.Contains(err, tt.says) {
			t.Errorf("%q: %d, %q, %q", tt.args, code, out, err)
		}
	}
	// What was refused has left no account behind, which would be one for less.
	if code, token, said := create("another", "x"); code != 0 || !strings.HasPrefix(token, "pnc_") {
		t.Errorf("another, once more: %d, %q, %q", code, token, said)
	}
}

func TestSettingsComeFromTheEnvironment(t *testing.T) {
	t.Setenv("PUNCTUAL_LISTEN", "nonsense")
	t.Setenv("PUNCTUAL_DATA_DIR", t.TempDir())
	var out, err bytes.Buffer
	if code := run(nil, &out, &err); code != 2 || !strings.Contains(err.String(), "nonsense") {
		t.Errorf("exit code %d, %s", code, err.String())
	}
}

func TestAMisspeltVariableIsNamed(t *testing.T) {
	t.Setenv("PUNCTUAL_LISTN", ":1")
	t.Setenv("PUNCTUAL_DB", "x")
	t.Setenv("PUNCTUAL_EXECUTOR_ADMIN", "http://localhost")                                    // the executor's
	for _, of := range []string{"URL", "TOKEN", "CONTEXT", "CONTEXTS", "SOURCE", "REVISION"} { // the commands' that speak to an admin
		t.Setenv("PUNCTUAL_"+of, "x")
	}
	t.Setenv("PUNCTUAL_EXECUTOR_ALOW", "*")
	var out, err bytes.Buffer
	if code := run([]string{"migrate", "--data-dir", t.TempDir()}, &out, &err); code != 0 {
		t.Fatal(err.String())
	}
	for _, want := range []string{"variable=PUNCTUAL_LISTN meant=PUNCTUAL_LISTEN", "variable=PUNCTUAL_DB meant=\"unknown", "variable=PUNCTUAL_EXECUTOR_ALOW meant=PUNCTUAL_EXECUTOR_ALLOW"} {
		if !strings.Contains(err.String(), want) {
			t.Errorf("%q is not in\n%s", want, err.String())
		}
	}
	if n := strings.Count(err.String(), "counts for nothing"); n != 3 {
		t.Errorf("%d variables are named:\n%s", n, err.String())
	}
}

func TestMigrationsAreOneLine(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	for start, want := range []int{1, 0} {
		var out, err bytes.Buffer
		if code := run([]string{"migrate", "--data-dir", data}, &out, &err); code != 0 {
			t.Fatal(err.String())
		}
		if n := strings.Count(err.String(), "\n"); n != want || n > 0 && !strings.Contains(err.String(), "migrations=") {
			t.Errorf("start %d says\n%s", start+1, err.String())
		}
	}
}

func TestPathsAreSaidInFull(t *testing.T) {
	t.Chdir(t.TempDir())
	var out, err bytes.Buffer
	if code := run([]string{"migrate", "--data-dir", "here"}, &out, &err); code != 0 {
		t.Fatal(err.String())
	}
	where, said := strings.CutPrefix(strings.TrimSpace(out.String()), "up to date: ")
	if !said || !filepath.IsAbs(where) {
		t.Errorf("said %q", out.String())
	}
	if _, err := os.Stat(where); err != nil {
		t.Error(err)
	}
}

func TestTheSampleTakesTrueAndFalse(t *testing.T) {
	for text, want := range map[string]bool{"true": true, "on": true, "1": true, "false": false, "off": false, "0": false} {
		t.Setenv("PUNCTUAL_SAMPLE", text)
		o, err := parse(t, "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		o.UnsafeDB = true
		a, err := app.New(t.Context(), o)
		if err == nil {
			err = a.Start(t.Context())
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if has := a.Welcome().Sample != ""; has != want {
			t.Errorf("%s: sample %v", text, has)
		}
		if err := a.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestTheWelcomeIsFramed(t *testing.T) {
	t.Parallel()
	var w bytes.Buffer
	welcome(&w, app.Welcome{URL: "http://localhost:8080", Database: "data/punctual.db", FirstUser: "admin", FirstPassword: "secret"})
	lines := strings.Split(strings.TrimSpace(w.String()), "\n")
	for _, line := range lines {
		if len([]rune(line)) != len([]rune(lines[0])) {
			t.Errorf("the frame is crooked:\n%s", w.String())
		}
	}
	if !strings.Contains(w.String(), "secret") || !strings.Contains(w.String(), "only once") {
		t.Errorf("said %s", w.String())
	}
	w.Reset()
	welcome(&w, app.Welcome{URL: "http://localhost:8080", Database: "data/punctual.db"})
	if strings.Contains(w.String(), "Password") {
		t.Errorf("a later start said %s", w.String())
	}
}

func TestTheSecretKeyComesFromTheVariableOrTheFile(t *testing.T) {
	t.Parallel()
	const key = "0123456789abcdef0123456789abcdef"
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		c    serveCmd
		want string // of the error; "": the key is read
	}{
		"variable":      {serveCmd{SecretKey: key}, ""},
		"file":          {serveCmd{SecretKeyFile: file}, ""},
		"both":          {serveCmd{SecretKey: key, SecretKeyFile: file}, "choose one"},
		"no such file":  {serveCmd{SecretKeyFile: file + "x"}, "PUNCTUAL_SECRET_KEY_FILE"},
		"an empty file": {serveCmd{SecretKeyFile: os.DevNull}, "is empty"},
		"too short":     {serveCmd{SecretKey: "secret"}, "PUNCTUAL_SECRET_KEY: a secret key has 6 characters"},
	}
	for name, tt := range tests {
		keys, err := secretKeys(tt.c.SecretKey, tt.c.SecretKeyFile)
		switch {
		case tt.want == "" && (err != nil || len(keys) != 1 || keys[0] != key):
			t.Errorf("%s: %v, %v", name, keys, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want it to say %q", name, err, tt.want)
		}
	}
}

func TestTheLicencesOfAllModulesArePrinted(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if code := run([]string{"licences"}, &out, &errs); code != 0 {
		t.Fatalf("%d: %s", code, errs.String())
	}
	for _, module := range []string{"======== Go ========", "github.com/labstack/echo/v4 v4", "modernc.org/sqlite v1", "github.com/go-sql-driver/mysql v1", "Permission is hereby granted", "Mozilla Public License"} {
		if !strings.Contains(out.String(), module) {
			t.Errorf("%q is not there", module)
		}
	}
}
