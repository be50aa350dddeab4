package cronjob_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/manage/cronjob"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/scheduler/cron"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

var update = flag.Bool("update", false, "write the files that are compared with")

var usual = cronjob.Options{AppName: "in-cluster", Author: "ann", Zone: "Etc/UTC"}

func TestManifests(t *testing.T) {
	raw, err := os.ReadFile("testdata/manifests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]func(*cronjob.Options){
		"commands": func(*cronjob.Options) {}, "http": func(o *cronjob.Options) { o.HTTP = "punctual-http" }, "pods": func(o *cronjob.Options) { o.Pods = true },
	} {
		opts := usual
		o(&opts)
		file, notes, err := cronjob.Convert(string(raw), opts)
		if err != nil {
			t.Fatal(err)
		}
		written, err := jobfile.Write(file, jobfile.YAML)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := jobfile.Parse(written); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := string(written)
		for _, n := range notes {
			got += fmt.Sprintf("# line %d: %s: %s (left out: %v)\n", n.Line, n.Name, n.Text, n.LeftOut)
		}
		path := filepath.Join("testdata", name+".yaml")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// manifest is a CronJob with a part of its spec, and one of its container.
func manifest(spec, container string) string {
	return fmt.Sprintf("apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: x}\nspec:\n  schedule: '0 0 * * *'\n%s\n  jobTemplate:\n    spec:\n      template:\n        spec:\n          containers:\n            - {image: i, %s}\n", spec, container)
}

// converted is the only job of a manifest.
func converted(t *testing.T, text string, o cronjob.Options) jobfile.Job {
	t.Helper()
	file, notes, err := cronjob.Convert(text, o)
	if err != nil || len(file.Groups) != 1 || len(file.Groups[0].Jobs) != 1 {
		t.Fatalf("%v %v %+v\n%s", err, notes, file, text)
	}
	return file.Groups[0].Jobs[0]
}

// TestSuspendedIsWhatKubernetesTakesForIt, which reads YAML 1.1: one that is not told from the others would be started with them.
func TestSuspendedIsWhatKubernetesTakesForIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"true": cronjob.TagSuspended, "yes": cronjob.TagSuspended, "On": cronjob.TagSuspended, "false": cronjob.Tag, "no": cronjob.Tag, "": cronjob.Tag} {
		if got := converted(t, manifest("  suspend: "+text, "command: [a]"), usual).Values.Get("tags"); got != want {
			t.Errorf("suspend: %s: %s, want %s", text, got, want)
		}
	}
}

func TestWhatCannotBeAJob(t *testing.T) {
	for name, text := range map[string]string{
		"a CronJob without a name":                "kind: CronJob\nspec: {schedule: '0 0 * * *'}",
		"its schedule is no text":                 "kind: CronJob\nmetadata: {name: x}",
		`"Mars/Base" is no time zone`:             manifest("  timeZone: Mars/Base", "command: [a]"),
		`"Local" is no time zone`:                 manifest("  timeZone: Local", "command: [a]"),
		`concurrencyPolicy "Never" is none`:       manifest("  concurrencyPolicy: Never", "command: [a]"),
		"characters that no script has":           manifest("", `command: [a, "b\ec"]`),
		"it has no command":                       manifest("", `args: [a]`),
		"has 0 containers":                        "kind: CronJob\nmetadata: {name: x}\nspec: {schedule: '0 0 * * *'}",
		"parallelism is 3":                        strings.Replace(manifest("", "command: [a]"), "      template:\n", "      parallelism: 3\n      template:\n", 1),
		`"0 25 * * *" cannot be read: "25"`:       strings.Replace(manifest("", "command: [a]"), "0 0 * * *", "0 25 * * *", 1),
		`"@reboot" cannot be read`:                strings.Replace(manifest("", "command: [a]"), "0 0 * * *", "@reboot", 1),
		"these weekdays as well (0 0 */2 * 1)":    strings.Replace(manifest("", "command: [a]"), "0 0 * * *", "0 0 */2 * 1", 1),
		"longer than a job's may be":              strings.Replace(manifest("", "command: [a]"), "0 0 * * *", strings.Repeat("1,3,", 40)+"5 1,3,5,7,9,11,13,15,17,19,21,23 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 1,3,5,7,9,11 *", 1),
		"is no YAML":                              "kind: CronJob\nmetadata: {name: {{ .Release.Name }}",
		"a CronJob without a name that":           "kind: CronJob\nmetadata: {name: UPPER}\n",
		"this is no YAML, and nothing behind it ": "\t",
	} {
		file, notes, err := cronjob.Convert(text, usual)
		if err != nil || len(file.Groups) != 0 || len(notes) != 1 || !notes[0].LeftOut || !strings.Contains(notes[0].Text, name) {
			t.Errorf("%s: %v %v %v", name, err, file, notes)
		}
	}
	for _, text := range []string{"", "kind: Service", "7", "[]", "kind: [CronJob]", "a: &a [*a]"} {
		if file, notes, err := cronjob.Convert(text, usual); len(file.Groups) != 0 || len(notes) == 0 && !errors.Is(err, cronjob.ErrNone) {
			t.Errorf("%q: %v %v %v", text, file, notes, err)
		}
	}
}

// TestTheScriptDoesWhatTheContainerDid: its words and variables are those that Kubernetes would give it.
func TestTheScriptDoesWhatTheContainerDid(t *testing.T) {
	for container, want := range map[string]string{
		`command: [printf, '<%s>', "it's", "a  b", '$HOME', '$(date)', '']`:                                                               "<it's><a  b><$HOME><$(date)><>",
		`env: [{name: A, value: one}, {name: B, value: "$(A) $(C) $$(A)"}], command: [printf, '<%s>'], args: ['$(B)', 'x$(A)y', '$$(A)']`: "<one $(C) $(A)><xoney><$(A)>",
		`command: [sh, -c, 'echo $(( 1 + 1 )); exit 0']`:                                                                                  "2\n",
		`command: [/bin/bash, -c, 'printf "$0,$1"', zero, one]`:                                                                           "zero,one",
		`command: [sh, -c, 'printf "<$1>"']`:                                                                                              "<>",
		`env: [{name: A, value: "$(A)"}, {name: 1X, value: b}], command: [sh, -c, 'printf "$A"']`:                                         "$(A)",
		`workingDir: /, command: [pwd]`:                                                                                                   "/\n",
		`workingDir: /there/is/none, command: [pwd]`:                                                                                      "failed: exit status 1",
		`env: [{name: FROM_ELSEWHERE, valueFrom: {configMapKeyRef: {name: a, key: b}}}], command: [pwd]`:                                  "failed: exit status 127",
	} {
		script := converted(t, manifest("", container), usual).Values.Get("script")
		cmd := exec.Command("bash", "-c", script, "script", "parameter", "0", "1")
		out, err := cmd.Output()
		if got := string(out); err != nil && want != fmt.Sprintf("failed: %v", err) || err == nil && got != want {
			t.Errorf("%s: %q, %v, want %q\n%s", container, got, err, want, script)
		}
	}
}

// TestAPodIsStartedAndWaitedFor has the script talk to a kubectl that plays a cluster.
func TestAPodIsStartedAndWaitedFor(t *testing.T) {
	opts := usual
	opts.Pods = true
	script := converted(t, strings.Replace(manifest("", "command: [a]"), "name: x", "name: report, namespace: shop", 1), opts).Values.Get("script")
	for name, tt := range map[string]struct {
		states []string // what the job is, each time that it is asked for
		code   int
		want   string
	}{
		"that succeeds":            {[]string{"", "Complete"}, 0, "the output"},
		"that fails":               {[]string{"", "FailureTarget", "FailureTarget Failed"}, 1, "the output"},
		"while the API is away":    {[]string{"!", "!", "Complete"}, 0, "the output"},
		"that is gone":             {[]string{"!"}, 1, "nothing is known of the job report-42"},
		"that cannot be created":   {[]string{"create"}, 1, ""},
		"whose output is not read": {[]string{"logs", "Complete"}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write := func(name, text string) {
				t.Helper()
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil { //nolint:gosec // a program
					t.Fatal(err)
				}
			}
			write("sleep", "#!/bin/bash\n")
			write("states", strings.Join(tt.states, "\n")+"\n")
			write("kubectl", `#!/bin/bash
echo "$*" >> calls
[[ "$1 $2" == "--namespace shop" ]] || exit 9
state=$(head -n 1 states)
case $3 in
create) [[ $state != create && "$*" == *"job report-42 --from=cronjob/report" ]] ;;
logs) [[ $state != logs ]] && echo the output ;;
get)
  [[ $(wc -l < states) == 1 ]] || sed -i 1d states
  [[ $state != '!' ]] && echo "$state" ;;
delete) ;;
esac
`)
			cmd := exec.Command("bash", "-c", script)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "PUNCTUAL_LOG_ID=42")
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != tt.code || !strings.Contains(string(out), tt.want) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

func FuzzConvert(f *testing.F) {
	raw, err := os.ReadFile("testdata/manifests.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for part := range strings.SplitSeq(string(raw), "\n---\n") {
		f.Add(part)
	}
	f.Add(string(raw))
	f.Add("a: &a {kind: List, items: [*a, *a]}\nkind: List\nitems: [*a]")
	f.Add(`{"kind":"CronJobList","items":[{"kind":"CronJob","metadata":{"name":"x"},"spec":{"schedule":"@every 1h"}}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, o := range []cronjob.Options{usual, {AppName: "a", HTTP: "http", Author: "b", Zone: "Asia/Shanghai"}, {AppName: "a", Author: "b", Pods: true}} {
			file, _, err := cronjob.Convert(text, o)
			if err != nil {
				continue
			}
			written, err := jobfile.Write(file, jobfile.YAML)
			if err != nil {
				t.Fatal(err)
			}
			back, err := jobfile.Parse(written)
			if err != nil {
				t.Fatalf("%v\n%s", err, written)
			}
			for _, g := range back.Groups {
				for _, j := range g.Jobs {
					if text := j.Values.Get("cron"); text != "" {
						if _, err := cron.Parse(text); err != nil {
							t.Fatalf("%s: %v", text, err)
						}
					}
					spec, faults := jobspec.Read(func(f *jobspec.Field) string { return j.Values.Get(f.File) }, nil)
					if faults = append(faults, jobspec.Validate(spec.Normalize().WithDefaults())...); len(faults) > 0 {
						t.Fatalf("%+v\n%s", faults, written)
					}
				}
			}
		}
	})
}
