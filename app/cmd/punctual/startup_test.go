package main

import (
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/locales"
)

// parse reads a command line as the program does.
func parse(t *testing.T, args ...string) (app.Options, error) {
	t.Helper()
	var c commands
	parser, err := kong.New(&c, words, kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(append([]string{"serve"}, args...)); err != nil {
		t.Fatal(err)
	}
	return c.Serve.options(streams{nil, io.Discard, io.Discard})
}

func TestWhatNobodySaysIsLeftToTheSettings(t *testing.T) {
	o, err := parse(t)
	if err != nil || o.Glue != nil || o.AlarmDenyPrivate != nil || o.RetentionDays != 0 || o.CallTimeout != 0 || o.AlarmLanguage != "" || o.PublicURL != "" || o.Allow != "" {
		t.Errorf("without a word: %+v, %v", o, err)
	}
	t.Setenv("PUNCTUAL_GLUE", "false")
	t.Setenv("PUNCTUAL_ALARM_DENY_PRIVATE", "true")
	t.Setenv("PUNCTUAL_LOG_RETENTION_DAYS", "-1")
	if o, err = parse(t); err != nil || o.Glue == nil || *o.Glue || o.AlarmDenyPrivate == nil || !*o.AlarmDenyPrivate || o.RetentionDays != -1 {
		t.Errorf("from the environment: %v, %v, %d, %v", o.Glue, o.AlarmDenyPrivate, o.RetentionDays, err)
	}
	if o, err = parse(t, "--glue", "--no-alarm-deny-private", "--retention-days", "7"); err == nil && (o.Glue == nil || !*o.Glue || o.AlarmDenyPrivate == nil || *o.AlarmDenyPrivate || o.RetentionDays != 7) || err != nil {
		t.Errorf("flags: %v, %v, %d, %v", o.Glue, o.AlarmDenyPrivate, o.RetentionDays, err)
	}
}

// TestAnEmptyVariableIsNotSet starts it as an env file with blanks does, up to a wrong setting.
func TestAnEmptyVariableIsNotSet(t *testing.T) {
	for _, name := range []string{"PUNCTUAL_GLUE", "PUNCTUAL_TRUST_PROXY", "PUNCTUAL_LOG_RETENTION_DAYS", "PUNCTUAL_DRAIN_TIMEOUT", "PUNCTUAL_LOG_FORMAT", "PUNCTUAL_LOG_LEVEL", "PUNCTUAL_SAMPLE", "OTEL_SDK_DISABLED"} {
		t.Setenv(name, "")
	}
	var said strings.Builder
	if code := run([]string{"serve", "--data-dir", t.TempDir(), "--tls-cert", "there-is-none.pem"}, io.Discard, &said); code != 2 || !strings.Contains(said.String(), "a TLS certificate and its key go together") {
		t.Errorf("exit code %d: %s", code, said.String())
	}
}

func TestTheSettingsPageHearsNoSecret(t *testing.T) {
	t.Setenv("PUNCTUAL_ACCESS_TOKEN", "xSECRETx")
	o, err := parse(t, "--database-url", "mysql://u:xSECRETx@h/d", "--admin-password", "xSECRETx", "--listen", ":9", "--tls-cert", "a.pem")
	if err != nil {
		t.Fatal(err)
	}
	set := make(map[string]string)
	for _, s := range o.Startup {
		if strings.Contains(s.Value, "SECRET") {
			t.Errorf("%s is told", s.Name)
		}
		if s.Set {
			set[s.Name] = s.Value
		}
	}
	for name, want := range map[string]string{"PUNCTUAL_ACCESS_TOKEN": "", "PUNCTUAL_DATABASE_URL": "", "PUNCTUAL_ADMIN_PASSWORD": "", "PUNCTUAL_LISTEN": ":9", "PUNCTUAL_TLS_CERT": "a.pem"} {
		if got, ok := set[name]; !ok || got != want {
			t.Errorf("%s: %q, %v; want %q", name, got, ok, want)
		}
	}
	if len(set) != 5 {
		t.Errorf("chosen: %v", set)
	}
}

// Every variable has its line in docs/operations.md and its words on the settings page, and every setting that a variable can
// fix names one that exists.
func TestEveryVariableIsExplained(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, m := range regexp.MustCompile("(?m)^\\| `((?:PUNCTUAL|OTEL)_[A-Z_]+)` \\|").FindAllStringSubmatch(string(raw), -1) {
		documented = append(documented, m[1])
	}
	settings := make(map[string]bool)
	for _, s := range manage.AllSettings() {
		if s.Env != "" {
			settings[s.Env] = true
		}
		if !strings.Contains(string(raw), "`"+s.Name+"`") {
			t.Errorf("docs/operations.md does not name the setting %s", s.Name)
		}
	}
	p := locales.New().Printer(locales.English)
	var there []string
	for _, v := range variables(reflect.ValueOf(serveCmd{})) {
		there = append(there, v.name)
		if key := "settings.option." + v.name; !settings[v.name] && p.T(key) == "!"+key+"!" {
			t.Errorf("the settings page has no words for %s", v.name)
		}
		delete(settings, v.name)
	}
	for name := range settings {
		t.Errorf("%s fixes a setting and is no variable", name)
	}
	slices.Sort(there)
	slices.Sort(documented)
	if !slices.Equal(there, documented) {
		t.Errorf("variables of the program:\n%s\nin docs/operations.md:\n%s", strings.Join(there, "\n"), strings.Join(documented, "\n"))
	}
}
