package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// asked runs "punctual complete", and gives the candidates without their help.
func asked(t *testing.T, last string, words ...string) (found []string) {
	t.Helper()
	var out, said strings.Builder
	if code := run(append([]string{"complete", "--last=" + last, "--"}, words...), &out, &said); code != 0 {
		t.Fatalf("exit code %d: %s", code, said.String())
	}
	for line := range strings.Lines(out.String()) {
		value, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		found = append(found, value)
	}
	return found
}

func TestComplete(t *testing.T) {
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer pnc_x" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.URL.Path == "/api/v1/jobs" && r.URL.Query().Get("text") == "日" {
			_, _ = w.Write([]byte(`{"items":[{"id":7,"description":"日终结算"},{"id":8,"description":"生日"}]}`))
			return
		}
		if r.URL.Path == "/api/v1/calendars" && r.URL.RawQuery != "" {
			w.WriteHeader(http.StatusUnprocessableEntity) // it has no pages
			return
		}
		_, _ = w.Write([]byte(`{"items":[{"id":1,"name":"cn"},{"id":2,"name":"plant"}]}`))
	}))
	t.Cleanup(admin.Close)
	contexts := filepath.Join(t.TempDir(), "contexts.yaml")
	if err := os.WriteFile(contexts, []byte("current: live\ncontexts:\n- {name: live, url: '"+admin.URL+"', token: pnc_x}\n- {name: trial, url: 'http://127.0.0.1:1'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PUNCTUAL_CONTEXTS", contexts)
	for _, name := range []string{"PUNCTUAL_CONTEXT", "PUNCTUAL_URL", "PUNCTUAL_TOKEN"} { // of whoever runs the tests
		t.Setenv(name, "")
	}
	for _, tt := range []struct {
		last  string
		words []string
		want  []string
	}{
		{"jo", nil, []string{"jobs"}},
		{"st", []string{"jobs"}, []string{"start", "stop"}},
		{"", []string{"jobs", "--state"}, []string{"running", "stopped", "paused", "review", "any"}},
		{"--state=ru", []string{"jobs"}, []string{"--state=running"}},
		{"ru", []string{"jobs", "--state", "="}, []string{"running"}}, // as bash takes it apart
		{"=", []string{"jobs", "--state"}, []string{"running", "stopped", "paused", "review", "any"}},
		{"y", []string{"jobs", "-o"}, []string{"yaml"}},
		{"--lim", []string{"jobs", "list", "--state", "running"}, []string{"--limit"}},
		{"--lim", []string{"jobs", "--"}, nil},
		{"--nonsense=", []string{"jobs"}, nil},
		{"日", []string{"jobs", "show"}, []string{"日终结算"}},
		{"日", []string{"jobs", "start", "日终结算"}, []string{"日终结算"}},
		{"日", []string{"jobs", "show", "日终结算"}, nil}, // it takes one
		{"", []string{"calendars", "show"}, []string{"cn", "plant"}},
		{"", []string{"calendars", "show", "--context", "trial"}, nil}, // nobody answers
		{"", []string{"context", "use"}, []string{"live", "trial"}},
		{"t", []string{"jobs", "--context"}, []string{"trial"}},
		{"comple", nil, []string{"completion"}}, // what completes is nobody's word
		{"", []string{"nonsense", "--nor", "-x=1", "", "-"}, []string{"serve"}},
	} {
		got := asked(t, tt.last, tt.words...)
		if tt.words != nil && tt.words[0] == "nonsense" && len(got) > 0 {
			got = got[:1] // it goes on from the top, and falls over nothing
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q after %q: %q, want %q", tt.last, tt.words, got, tt.want)
		}
	}
}

// TestShellsComplete asks real shells, with a punctual in their path that is this test.
func TestShellsComplete(t *testing.T) {
	bin := t.TempDir()
	playing(t, bin)
	for shell, tt := range map[string]struct{ script, want string }{
		"bash": {`source <(punctual completion bash)
ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _punctual; printf '%s|' "${COMPREPLY[@]}"; }
complete -p punctual >/dev/null && ask punctual jobs st; ask punctual jobs --state = ru; ask punctual context use 'a'; ask punctual context use "'a"; ask punctual context use 'a\ '`, `start|stop|running|a\ b|a b|a\ b|`},
		"zsh": {`compdef() { [[ $1$2 == _punctualpunctual ]] && print -n ok: }
compadd() { print -rn -- "${(j:|:)values}|"; }
source <(punctual completion zsh)
ask() { words=("$@"); CURRENT=$#; _punctual; }
ask punctual jobs st; ask punctual jobs --state=ru; ask punctual context use a; ask punctual context use "'a"; ask punctual context use 'a\ '`, `ok:start|stop|--state=running|a b|a b|a b|`},
		"fish": {`punctual completion fish | source
for line in 'punctual jobs st' 'punctual jobs --state=ru' 'punctual context use a' "punctual context use 'a" 'punctual context use a\\ '
  complete -C $line | string replace -r '\t.*' '' | string join '|'; or true
end`, "start|stop\n--state=running\na b\na b\na b\n"},
	} {
		t.Run(shell, func(t *testing.T) {
			program, err := exec.LookPath(shell)
			if err != nil {
				t.Skip("there is no " + shell)
			}
			home := t.TempDir()
			if err := os.WriteFile(home+"/contexts.yaml", []byte("contexts: [{name: a b}, {name: other}]\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			none := map[string]string{"bash": "--norc", "zsh": "-f", "fish": "--no-config"}[shell]
			cmd := exec.CommandContext(t.Context(), program, none, "-c", tt.script)
			cmd.Env = []string{"PLAY_PUNCTUAL=1", "PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "PUNCTUAL_CONTEXTS=" + home + "/contexts.yaml", "LC_ALL=C.UTF-8"}
			out, err := cmd.CombinedOutput()
			if err != nil || string(out) != tt.want {
				t.Errorf("%v, completed\n%s\nwant\n%s", err, out, tt.want)
			}
		})
	}
}

// TestNamesAreOnlyNamesInBash: what stands in the line after Tab is the name and nothing else, whichever quote was begun: nothing in it is expanded,
// and nothing is run, neither when it is completed nor when the line is.
func TestNamesAreOnlyNamesInBash(t *testing.T) {
	program, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	bin, home := t.TempDir(), t.TempDir()
	playing(t, bin)
	names := []string{"a$(touch ran)", "b`touch ran`", `c"quoted" name`, "d日终结算 对账", "e!bang it's", `f\back;slash|pipe&`, "g$HOME", "h'one"}
	var contexts strings.Builder
	contexts.WriteString("contexts:\n")
	for _, name := range names {
		contexts.WriteString("- {name: '" + strings.ReplaceAll(name, "'", "''") + "'}\n")
	}
	if err := os.WriteFile(home+"/contexts.yaml", []byte(contexts.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	script := `source <(punctual completion bash)
for quote in '' \' \"; do
  for begin in a 'a$(' b 'b` + "`" + `' c 'c"' d d日 e f 'f\' g 'g$' h; do
    case $quote in
      \') typed="'$begin" ;;
      \") typed=${begin//\\/\\\\} typed=${typed//\"/\\\"} typed=${typed//\$/\\\$} typed=\"${typed//\` + "`" + `/\\\` + "`" + `} ;;
      *) printf -v typed %q "$begin" ;;
    esac
    COMP_WORDS=(punctual '"con"text' use "$typed") COMP_CWORD=3
    _punctual
    eval "set -- $quote${COMPREPLY[0]}$quote" # as the line is run
    printf '%s|' "$@"
  done
  echo
done`
	cmd := exec.CommandContext(t.Context(), program, "--norc", "-c", script)
	cmd.Dir = home
	cmd.Env = []string{"PLAY_PUNCTUAL=1", "PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "PUNCTUAL_CONTEXTS=" + home + "/contexts.yaml", "LC_ALL=C.UTF-8"}
	out, err := cmd.CombinedOutput()
	line := ""
	for i, times := range []int{2, 2, 2, 2, 1, 2, 2, 1} {
		line += strings.Repeat(names[i]+"|", times)
	}
	if err != nil || string(out) != strings.Repeat(line+"\n", 3) {
		t.Errorf("%v\n%s\nwant three times\n%s", err, out, line)
	}
	if _, err := os.Stat(home + "/ran"); err == nil {
		t.Error("a part of a name was run")
	}
}

// TestWhatIsNamedIsCompleted: wherever a command takes a job or a group of executors, its names are completed and the help calls it by its name.
func TestWhatIsNamedIsCompleted(t *testing.T) {
	t.Parallel()
	kinds := map[string][2]string{"jobRef": {"jobs", "JOB"}, "groupRef": {"groups", "GROUP"}}
	seen := 0
	look := func(command *kong.Node, v *kong.Value, flag *kong.Flag) {
		of := v.Target.Type()
		if of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		kind, named := kinds[of.Name()]
		if !named {
			return
		}
		seen++
		if got := v.Tag.Get("complete"); got != kind[0] {
			t.Errorf("%s: %s is completed with %q, want %q", command.Path(), v.Summary(), got, kind[0])
		}
		if flag != nil && flag.PlaceHolder != kind[1] {
			t.Errorf("%s: the help writes %s, want --%s=%s", command.Path(), flag, flag.Name, kind[1])
		}
	}
	parser, err := kong.New(new(commands), words, kong.Name("punctual"))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range parser.Model.Leaves(false) {
		for _, arg := range command.Positional {
			look(command, arg, nil)
		}
		for _, flag := range command.Flags {
			look(command, flag.Value, flag)
		}
	}
	if seen < 20 {
		t.Errorf("only %d were found", seen)
	}
}
