package jobfile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const defaultsFile = `punctual_jobs: 1
executors:
  - app_name: orders
    jobs:
      - {description: all, cron: '0 0 2 * * ?'}
      - {description: own, schedule: FIX_RATE, every_seconds: 30, author: bob, retries: 0, tags: [], runbook: '', state: stopped, misfire: DO_NOTHING}
      - {description: script, schedule: NONE, kind: GLUE_SHELL, script: x}
    defaults: {author: ann, retries: 3, misfire: FIRE_LAST}
  - app_name: stock
    jobs:
      - {description: outer, author: null, cron: '0 0 3 * * ?'}
defaults:
  author: eve
  schedule: CRON
  state: running
  tags: [night, eu]
  handler: work
  runbook: https://example.com
  misfire_last: 5
  misfire: FIRE_LAST
`

func TestJobsHaveWhatTheySayNothingOf(t *testing.T) {
	t.Parallel()
	f, err := Parse([]byte(defaultsFile))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range f.Groups {
		for _, j := range g.Jobs {
			text := j.Description() + " " + j.State
			for _, name := range []string{"author", "schedule", "retries", "tags", "handler", "runbook", "misfire", "misfire_last"} {
				text += fmt.Sprintf(" %s=%s", name, j.Values.Get(name))
			}
			got = append(got, text)
		}
	}
	want := []string{
		"all running author=ann schedule=CRON retries=3 tags=night,eu handler=work runbook=https://example.com misfire=FIRE_LAST misfire_last=5",
		"own stopped author=bob schedule=FIX_RATE retries= tags= handler=work runbook= misfire=DO_NOTHING misfire_last=",
		"script stopped author=ann schedule=NONE retries=3 tags=night,eu handler= runbook=https://example.com misfire=FIRE_LAST misfire_last=5",
		"outer running author=eve schedule=CRON retries= tags=night,eu handler=work runbook=https://example.com misfire=FIRE_LAST misfire_last=5",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if line := f.Groups[1].Jobs[0].LineOf("author"); line != 13 {
		t.Errorf("what is wrong with a default is told in line %d", line)
	}
	again, err := Write(f, YAML)
	if err != nil || strings.Contains(string(again), "defaults") {
		t.Errorf("%v: what is written says everything of each job:\n%s", err, again)
	}
}

func TestDefaultsOfAnotherFile(t *testing.T) {
	t.Parallel()
	jobs := []byte("punctual_jobs: 1\ndefaults: {state: running, misfire_last: 3}\nexecutors:\n  - app_name: orders\n    jobs:\n      - {description: a, schedule: NONE, alarm_email: []}\n" +
		"      - {description: b, author: ann, cron: '0 0 2 * * ?'}\n")
	shared := []byte("punctual_jobs: 1\ndefaults: {author: eve, alarm_email: [ops@example.com], schedule: CRON, misfire: FIRE_LAST}\nexecutors: []\n")
	for _, order := range [][][]byte{{jobs, shared}, {shared, jobs}} {
		files, wrong := ParseTogether(order...)
		if len(wrong[0])+len(wrong[1]) > 0 {
			t.Fatal(wrong)
		}
		g := append(files[0].Groups, files[1].Groups...)
		a, b := g[0].Jobs[0], g[0].Jobs[1]
		if a.Values.Get("author") != "eve" || a.Values.Get("alarm_email") != "" || a.State != Stopped || b.Values.Get("author") != "ann" || b.Values.Get("alarm_email") != "ops@example.com" {
			t.Errorf("%v %s, %v %s", a.Values, a.State, b.Values, b.State)
		}
		if b.Values.Get("schedule") != "CRON" || b.State != Running || b.Values.Get("misfire_last") != "3" {
			t.Errorf("the defaults of both together: %v %s", b.Values, b.State)
		}
		if a.LineOf("author") != 6 || b.LineOf("alarm_email") != 7 {
			t.Error("what is wrong with it is told elsewhere than at the job")
		}
	}
	if _, wrong := ParseTogether(shared, jobs, shared); len(wrong[0])+len(wrong[1]) > 0 || len(wrong[2]) != 4 || wrong[2][0].Line != 2 || wrong[2][0].Key != CodeTwice {
		t.Errorf("two that say the same: %v", wrong)
	}
	if _, wrong := ParseTogether(jobs); len(wrong[0]) != 1 || wrong[0][0].Line != 7 {
		t.Errorf("a schedule that stands nowhere: %v", wrong)
	}
}

func TestWrongDefaults(t *testing.T) {
	t.Parallel()
	const head = "punctual_jobs: 1\n"
	for text, want := range map[string]string{
		head:                   "line 1: import.error.missing [Field executors]",
		head + "defaults: 7\n": "line 2: import.error.mapping [Field defaults]",
		head + "default: {author: a}\nexecutors: []\n":                                            "line 2: import.error.near [Field default Near defaults]",
		head + "defaults: {description: a}\n":                                                     "line 2: import.error.own [Field description]",
		head + "defaults: {cron: a, id: 7, script: a}\n":                                          "line 2: import.error.own [Field cron]; line 2: import.error.own [Field id]; line 2: import.error.own [Field script]",
		head + "defaults: {state: asleep}\n":                                                      "line 2: import.error.state [Value asleep]",
		head + "defaults: {retries: many}\n":                                                      "line 2: import.error.number [Field retries]",
		head + "defaults: {author: a, author: b}\n":                                               "line 2: import.error.twice [Field author]",
		head + "executors:\n  - {app_name: a, jobs: [{description: a}], defaults: {author: a}}\n": "line 3: import.error.missing [Field schedule]",
	} {
		if _, err := Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
