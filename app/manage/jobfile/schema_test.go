package jobfile

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func resolved(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema(locales.New().Printer("en").T), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// valueOf is a text in YAML or JSON as a validator takes it.
func valueOf(t *testing.T, text string) any {
	t.Helper()
	var value, plain any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, &plain)
	}
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// TestTheSchemaTakesTheFilesOfTheManual, and what an export writes.
func TestTheSchemaTakesTheFilesOfTheManual(t *testing.T) {
	t.Parallel()
	s := resolved(t)
	texts := map[string]string{"defaults": defaultsFile}
	for _, format := range []Format{YAML, JSON} {
		file := sample()
		file.Groups = file.Groups[:1] // the other has a job as others write it, which is refused
		raw, err := Write(file, format)
		if err != nil {
			t.Fatal(err)
		}
		texts["an export as "+string(format)] = string(raw)
	}
	for _, folder := range []string{"../../../docs/*.md", "../../../docs/zh-CN/*.md"} {
		pages, err := filepath.Glob(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			raw, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for i, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(raw), -1) {
				if strings.Contains(block[1], "punctual_jobs:") {
					texts[fmt.Sprint(page, " ", i)] = block[1]
				}
			}
		}
	}
	if len(texts) < 9 {
		t.Errorf("%d files", len(texts))
	}
	for name, text := range texts {
		if _, err := Parse([]byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Validate(valueOf(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTheSchemaKeepsToTheBounds of every field, and says something about each.
func TestTheSchemaKeepsToTheBounds(t *testing.T) {
	t.Parallel()
	s := resolved(t)
	fits := func(field string, value any) bool {
		job := map[string]any{"description": "x", "schedule": "NONE", "kind": "GLUE_SHELL"}
		job[field] = value
		switch field {
		case "every_seconds":
			job["schedule"] = "FIX_RATE"
		case "at":
			job["schedule"] = "ONCE"
		}
		raw, err := json.Marshal(map[string]any{"punctual_jobs": 1, "executors": []any{map[string]any{"app_name": "a", "jobs": []any{job}}}})
		if err != nil {
			t.Fatal(err)
		}
		return s.Validate(valueOf(t, string(raw))) == nil
	}
	for _, f := range jobspec.Fields {
		var good, bad []any
		switch f.Kind {
		case jobspec.Number:
			good, bad = []any{0, f.Max, fmt.Sprint(f.Max), nil}, []any{-1, f.Max + 1, 1.5, "many", []any{}, true}
		case jobspec.Flag:
			good, bad = []any{true, false, nil}, []any{"true", 1, "maybe"}
		case jobspec.List:
			good, bad = []any{[]any{}, []any{"a", 7}, nil}, []any{"a", map[string]any{}, []any{[]any{}}}
		case jobspec.Choice:
			bad = []any{"NOTHING", strings.ToLower(f.Options[0]), 1, []any{f.Options[0]}}
			for _, option := range f.Options {
				if f.Name != jobspec.FieldScheduleType || option == string(jobspec.ScheduleNone) { // the others ask for more
					good = append(good, option)
				}
			}
		case jobspec.Text, jobspec.Moments:
			if bad = []any{[]any{}, map[string]any{}}; f.Name == jobspec.FieldChildren {
				bad, good = []any{"1,2", 7, []any{"x"}, []any{map[string]any{"app_name": "x"}}, []any{0}}, []any{[]any{7, "7", map[string]any{"app_name": "x", "description": "y", "id": 3}, map[string]any{"id": 3}}, nil}
				break
			}
			if good = []any{"a", 7, true}; f.Max > 0 && f.Max < jobspec.MaxSourceBytes {
				good, bad = append(good, strings.Repeat("长", f.Max)), append(bad, strings.Repeat("长", f.Max+1))
			}
			if f.Required {
				bad = append(bad, "")
			}
		}
		for _, value := range good {
			if !fits(f.File, value) {
				t.Errorf("%s: %.60v is refused", f.File, value)
			}
		}
		for _, value := range bad {
			if fits(f.File, value) {
				t.Errorf("%s: %.60v is taken", f.File, value)
			}
		}
	}
	if text := string(Schema(locales.New().Printer("en").T)); strings.Contains(text, ": null") || strings.Contains(text, "jobs.field.") {
		t.Error("a field is not described")
	}
}

// TestTheSchemaRefusesWhatIsRefused where a file is read, but for what is said about its text.
func TestTheSchemaRefusesWhatIsRefused(t *testing.T) {
	t.Parallel()
	s := resolved(t)
	unseen := []string{CodeSameJob, CodeSameID, CodeSameGroup, CodeTwice, "import.error.anchor", "import.error.documents", "import.error.syntax", "import.error.missing"} // of others in the file, of its writing, or of defaults
	for _, text := range []string{
		"color: red", "shcedule: NONE", "retries: many", "retries: 1.5", "tags: a", "handler: [a]", "script_omitted: maybe", "state: asleep", "script: x\n        script_omitted: true", "children:\n          - app_name: x", "children: [x]",
		"schedule: CRON", "schedule: FIX_RATE", "schedule: ONCE", "schedule: CRON\n        cron: 0 0 2 * * ?\n        at: 2026-12-31 23:00:00", "schedule: NONE\n        every_seconds: 3", "kind: BEAN\n        script: x", "kind: BEAN\n        script_omitted: true",
	} {
		file := "punctual_jobs: 1\nexecutors:\n  - app_name: orders\n    jobs:\n      - description: a\n        " + text + "\n"
		if err := s.Validate(valueOf(t, file)); err == nil {
			t.Errorf("the schema takes %s", text)
		}
	}
	for _, text := range []string{
		"[]", "hello", "punctual_jobs: 2\nexecutors: []", "executors: []", "punctual_jobs: 1", "punctual_jobs: 1\nexecutors:", "punctual_jobs: 1\nexecutors: [{jobs: []}]", "punctual_jobs: 1\nexecutors: [{app_name: ''}]", "punctual_jobs: 1\nexecutors: [{app_name: a, x: {}}]",
		"punctual_jobs: 1\nexecutors: [{app_name: a, jobs: [{schedule: NONE}]}]", "punctual_jobs: 1\nexecutors: [{app_name: a, jobs: [{description: ~, schedule: NONE}]}]", "punctual_jobs: 1\ndefaults: {cron: '0 0 2 * * ?'}", "punctual_jobs: 1\ndefaults: {id: 3}", "punctual_jobs: 1\ndefaults: {retries: x}",
	} {
		if err := s.Validate(valueOf(t, text)); err == nil {
			t.Errorf("the schema takes %s", text)
		}
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("it is read: %s", text)
		}
	}
	for _, tt := range faulty {
		if _, err := Parse([]byte(tt.text)); err == nil || slices.ContainsFunc(unseen, func(code string) bool { return strings.Contains(err.Error(), code) }) {
			continue
		}
		var value any
		if yaml.Unmarshal([]byte(tt.text), &value) == nil && s.Validate(valueOf(t, tt.text)) == nil {
			t.Errorf("the schema takes %s", tt.name)
		}
	}
}
