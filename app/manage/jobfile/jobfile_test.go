package jobfile

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/punctual-job/punctual/scheduler/document"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func sample() File {
	return File{Groups: []Group{
		{AppName: "orders", Title: "订单服务", Jobs: []Job{
			{
				ID: 7, State: Running, Values: Values{
					"description": {"Close the day"}, "author": {"ann"}, "tags": {"night", "007"}, "schedule": {"CRON"}, "cron": {"0 0 2 * * ?"},
					"time_zone": {"Asia/Shanghai"}, "not_before": {"2026-01-01T00:00:00+08:00"}, "misfire": {"DO_NOTHING"}, "kind": {"BEAN"}, "handler": {"closeDay"},
					"parameter": {"yes"}, "parameter_fixed": {"true"}, "route": {"FIRST"}, "block": {"SERIAL_EXECUTION"}, "timeout_seconds": {"60"}, "retries": {"2"}, "retry_backoff": {"10s,1m"},
					"max_concurrent": {"1"}, "concurrency": {"QUEUE"}, "warn_after_seconds": {"5"}, "expect_success_seconds": {"90000"}, "retention_days": {"7"},
					"alarm_email": {"ops@example.com"},
				},
				Children: []Ref{{AppName: "orders", Description: "# odd: name", ID: 8}, {ID: 99}},
			},
			{ID: 8, Values: Values{
				"description": {"# odd: name"}, "author": {"~"}, "schedule": {"FIX_RATE"}, "every_seconds": {"30"}, "kind": {"GLUE_SHELL"},
				"script": {"#!/bin/bash\nif true; then\n\techo \"a: b\"\nfi\n"}, "script_remark": {"first"},
			}},
		}},
		{AppName: "空", Jobs: []Job{{ID: 9, ScriptOmitted: true, Values: Values{"kind": {"GLUE_PYTHON"}}}}},
	}}
}

// same compares files without the places of their parts.
func same(a, b File) string {
	return cmp.Diff(a, b, cmpopts.IgnoreUnexported(Job{}, Defaults{}), cmpopts.EquateEmpty(), cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Line" }, cmp.Ignore()))
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	t.Parallel()
	for _, format := range []Format{YAML, JSON} {
		raw, err := Write(sample(), format)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(raw)
		if err != nil {
			t.Fatalf("%s: %v\n%s", format, err, raw)
		}
		if diff := same(sample(), got); diff != "" {
			t.Errorf("%s:\n%s\n%s", format, diff, raw)
		}
		again, err := Write(got, format)
		if err != nil || string(again) != string(raw) {
			t.Errorf("%s: written again it is another text:\n%s", format, cmp.Diff(string(raw), string(again)))
		}
	}
}

func TestScriptsAreReadableInYAML(t *testing.T) {
	t.Parallel()
	raw, err := Write(sample(), YAML)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"script: |\n          #!/bin/bash\n          if true; then\n", "parameter: \"yes\"\n", "description: '# odd: name'", "description: Close the day\n"} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("no %q in\n%s", want, raw)
		}
	}
}

// The example of the documentation is a file, and its table has every field.
func TestTheDocumentationIsRight(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../docs/jobfile.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	_, example, _ := strings.Cut(text, "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	f, err := Parse([]byte(example))
	if err != nil || len(f.Groups) != 1 || f.Groups[0].Jobs[0].Children[0].ID != 12 {
		t.Errorf("the example: %v %+v", err, f)
	}
	for _, name := range fieldNames {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("%s is not described", name)
		}
	}
}

var update = flag.Bool("update", false, "write the tables of the documentation anew")

// pages are those with the table of fields: its head, and the words of kinds that are not as they are in the code.
var pages = map[string]struct {
	head  string
	kinds map[string]string
}{
	"docs/jobfile.md":       {"| field | in the form | column | in XXL-JOB | holds | at most | at first |", nil},
	"docs/zh-CN/jobfile.md": {"| 字段 | 表单 | 数据列 | XXL-JOB | 内容 | 上限 | 初始值 |", map[string]string{"text": "文本", "number": "数字", "flag": "标志", "list": "列表", "moment": "时刻"}},
}

// fieldTable is the part of a page that follows from the table of fields.
func fieldTable(page string) string {
	table := pages[page].head + "\n|---|---|---|---|---|---|---|\n"
	for _, f := range jobspec.Fields {
		kind, limit := f.Kind.String(), ""
		if word := pages[page].kinds[kind]; word != "" {
			kind = word
		}
		if f.Kind == jobspec.Choice {
			kind = "`" + strings.Join(f.Options, "`, `") + "`"
		}
		if f.Max > 0 {
			limit = fmt.Sprint(f.Max)
		}
		table += fmt.Sprintf("| `%s` | `%s` | `%s` | %s | %s | %s | %s |\n", f.File, f.Name, f.Column, f.Wire, kind, limit, f.Default)
	}
	return table
}

func TestTheTablesOfTheDocumentationAreThoseOfTheFields(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- fields -->\n", "<!-- /fields -->\n"
	for page := range pages {
		path := "../../../" + page
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, _ := strings.Cut(string(raw), begin)
		got, after, ok := strings.Cut(rest, end)
		if want := fieldTable(page); !ok || got != want {
			if !*update {
				t.Errorf("the table of %s is not that of the fields; -update writes it:\n%s", page, cmp.Diff(want, got))
				continue
			}
			if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// awkwardTexts are scripts and names that a careless writer breaks.
var awkwardTexts = []string{
	"", " ", "\n", "a\n", "\na", "a\n\n", "a \nb", "  a\n b", "a\r\nb", "\ta", "a\tb\n\tc", "null", "~", "yes", "0x1F", "1e3", "2026-01-01", "- a", "a: b", "# a", "{", "[", "*a", "&a", "!a", "%", "@",
	"'", `"`, "`", `\`, "\u0000", "\u0085", "\u2028", "\uFEFF", "😀", "a\u200bb", "---", "...", "a\n---\nb", "|", ">", "?", ":", "\x7f", "\u00a0", strings.Repeat("长", 300), "\n\n  x", "x\n ", "a #b", "=", "<<",
}

func TestEveryTextSurvives(t *testing.T) {
	t.Parallel()
	for _, format := range []Format{YAML, JSON} {
		for _, text := range awkwardTexts {
			want := File{Groups: []Group{{AppName: "g", Jobs: []Job{{Values: Values{"description": {"d" + text}, "schedule": {"NONE"}, "parameter": {text + "x"}, "tags": {"t" + text}}}}}}}
			want.Groups[0].Jobs[0].Values.Set("script", text)
			raw, err := Write(want, format)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Parse(raw)
			if err != nil {
				t.Errorf("%s, %q: %v\n%s", format, text, err, raw)
			} else if diff := same(want, got); diff != "" {
				t.Errorf("%s, %q:\n%s\n%s", format, text, diff, raw)
			}
		}
	}
}

const faultyJob = "punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs:\n      - description: a\n        author: ann\n        schedule: NONE\n"

// faulty are files, and what is wrong with them.
var faulty = []struct{ name, text, want string }{
	{"nothing", " \n", "1 empty"},
	{"a comment", "# nothing\n", "1 empty"},
	{"not UTF-8", "punctual_jobs: 1\na: \xff\n", "2 utf8"},
	{"a list", "- a\n", "1 mapping[Field punctual_jobs]"},
	{"a text", "hello", "1 mapping[Field punctual_jobs]"},
	{"a good file", faultyJob, ""},
	{"another version", "punctual_jobs: 2\nexecutors: []\n", "1 version[Value 2]"},
	{"no version", "executors: []\n", "1 missing[Field punctual_jobs]"},
	{"an unknown field", faultyJob + "        color: red\n", "8 unknown[Field color]"},
	{"a misspelt field", faultyJob + "        shcedule: NONE\n", "8 near[Field shcedule Near schedule]"},
	{"a field twice", faultyJob + "        author: bob\n", "8 twice[Field author]"},
	{"no number", faultyJob + "        retries: many\n", "8 number[Field retries]"},
	{"a fraction", faultyJob + "        retries: 1.5\n", "8 number[Field retries]"},
	{"a number that is too large", faultyJob + "        retries: 99999999999999999999\n", "8 number[Field retries]"},
	{"no list", faultyJob + "        tags: a\n", "8 list[Field tags]"},
	{"a list for a text", faultyJob + "        handler: [a]\n", "8 text[Field handler]"},
	{"no flag", faultyJob + "        script_omitted: maybe\n", "8 flag[Field script_omitted]"},
	{"a state", faultyJob + "        state: asleep\n", "8 state[Value asleep]"},
	{"both scripts", faultyJob + "        script: x\n        script_omitted: true\n", "9 both_script"},
	{"a child without a name", faultyJob + "        children:\n          - app_name: x\n", "9 ref"},
	{"a child that is a text", faultyJob + "        children: [x]\n", "8 number[Field id]"},
	{"the same job", faultyJob + "      - description: a\n        schedule: NONE\n", "8 same_job[Name a First 5]"},
	{"the same id", faultyJob + "        id: 3\n      - description: b\n        schedule: NONE\n        id: 3\n", "11 same_id[ID 3 First 5]"},
	{"two faults", faultyJob + "        color: red\n        retries: x\n", "8 unknown[Field color] 9 number[Field retries]"},
	{"a null is nothing", faultyJob + "        handler:\n        retries: ~\n", ""},
	{"a null that is needed", "punctual_jobs: 1\nexecutors:\n", "2 missing[Field executors]"},
	{"an alias", faultyJob + "        handler: &a x\n        parameter: *a\n", "8 anchor"},
	{"a tag", faultyJob + "        handler: !!binary aGk=\n", "8 anchor"},
	{"two documents", faultyJob + "---\n" + faultyJob, "8 documents"},
	{"JSON", `{"punctual_jobs": 1, "executors": [{"app_name": "a", "jobs": [{"description": "x", "schedule": "NONE", "parameter": "\ud83d\ude00\/", "retries": 3}]}]}`, ""},
	{"a name that is empty", `{"punctual_jobs": 1, "executors": [{"app_name": "", "jobs": []}]}`, "1 missing[Field app_name]"},
	{"JSON with an unknown field", "{\"punctual_jobs\": 1,\n\"executors\": [\n{\"app_name\": \"a\",\n\t\"jobs\": [],\n\t\"x\": {}}]}", "5 unknown[Field x]"},
	{"JSON with a field twice", "{\"punctual_jobs\": 1,\n\"punctual_jobs\": 1, \"executors\": []}", "2 twice[Field punctual_jobs]"},
	{"JSON cut off", "{\"punctual_jobs\": 1,\n\"executors\": [\n", "3 syntax"},
	{"JSON with a comma too many", "{\"punctual_jobs\": 1,\n\"executors\": [],\n}", "3 syntax"},
	{"JSON with more behind it", "{\"punctual_jobs\": 1,\n\"executors\": []}\n{}", "3 syntax"},
	{"deep JSON", `{"executors":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}", "1 deep"},
	{"deep YAML", "executors: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "1 deep"},
	{"broken YAML", faultyJob + "       bad: indent\n", "8 syntax"},
	{"a tab", "punctual_jobs: 1\nexecutors:\n\t- a\n", "3 syntax"},
	{"the byte order mark of Windows", "\uFEFF" + strings.ReplaceAll(faultyJob, "\n", "\r\n"), ""},
}

func TestFaultsHaveLines(t *testing.T) {
	t.Parallel()
	for _, tt := range faulty {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse([]byte(tt.text))
			var got []string
			if faults, ok := errors.AsType[Faults](err); ok {
				for _, f := range faults {
					text := strings.TrimPrefix(f.Key, "import.error.")
					if len(f.Args) > 0 && f.Key != document.CodeSyntax {
						text += fmt.Sprint(f.Args)
					}
					got = append(got, fmt.Sprintf("%d %s", f.Line, text))
				}
			}
			if text := strings.Join(got, " "); text != tt.want {
				t.Errorf("%s, want %s; %v", text, tt.want, err)
			}
		})
	}
}

func TestTooMuchIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := Parse(make([]byte, MaxBytes+1)); err == nil {
		t.Error("a huge text was read")
	}
	f := File{Groups: []Group{{AppName: "a"}}}
	for i := range MaxJobs + 1 {
		f.Groups[0].Jobs = append(f.Groups[0].Jobs, Job{Values: Values{"description": {fmt.Sprint(i)}, "schedule": {"NONE"}}})
	}
	raw, err := Write(f, YAML)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(raw); err == nil || !strings.Contains(err.Error(), CodeMany) {
		t.Errorf("too many jobs: %v", err)
	}
}

// Whatever comes in, reading it ends, its faults have lines, and what was read can be written and read again.
func FuzzParse(f *testing.F) {
	for _, format := range []Format{YAML, JSON} {
		raw, err := Write(sample(), format)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	for _, text := range awkwardTexts {
		f.Add([]byte(`{"punctual_jobs":1,"executors":[{"app_name":""}]}`))
		f.Add([]byte("punctual_jobs: 1\nexecutors: [{app_name: a, jobs: [{description: x, schedule: NONE, script: " + text + "}]}]"))
	}
	f.Add([]byte(defaultsFile))
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := Parse(raw)
		if faults, ok := errors.AsType[Faults](err); ok {
			for _, fault := range faults {
				if fault.Line < 1 || fault.Line > strings.Count(string(raw), "\n")+2 {
					t.Errorf("line %d of %d", fault.Line, strings.Count(string(raw), "\n")+1)
				}
			}
		}
		if err != nil {
			return
		}
		for _, format := range []Format{YAML, JSON} {
			written, err := Write(file, format)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Parse(written)
			if err != nil {
				t.Fatalf("%s: %v\n%s", format, err, written)
			}
			if diff := same(file, again); diff != "" {
				t.Errorf("%s:\n%s", format, diff)
			}
		}
	})
}
