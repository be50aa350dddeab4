package flow

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const draftText = `# Closing the day
on_failure: stop # ask Mina before you change this

steps:
  # Rates come first
  - id: fetch
    job: 7  # the ECB's
    parameter: '{"day": "${{ planned | yyyy-MM-dd, -1d }}"}'

  # Checked twice a year
  - id: check
    needs: fetch
    job:
        id: 8   # wide
    # of no field
    retries: 2

  - id: release
    name: "Let it go"
    needs: [check, fetch]
    if: steps.check.state == "success" && steps["fetch"].code == 200
    approve: {message: "Pay ${{ steps.check.output.sum }}? See steps.check in the manual"}
# the end
`

// TestADraftChangesTheLinesOfOneStep holds the rest of the text byte for byte.
func TestADraftChangesTheLinesOfOneStep(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		text   string
		change func(t *testing.T, d *Draft)
		want   string
	}{
		{"nothing", draftText, func(*testing.T, *Draft) {}, draftText},
		{"nothing at the margin", "steps:\n- id: a\n  job: 1\n\n\n- id: b\n  job: 2", func(*testing.T, *Draft) {}, "steps:\n- id: a\n  job: 1\n\n\n- id: b\n  job: 2\n"},
		{"a text", draftText, func(t *testing.T, d *Draft) { ok(t, d.Set("check", FieldIf, "failure()", false)) },
			strings.Replace(draftText, "    needs: fetch\n    job:\n        id: 8   # wide\n", "    needs: fetch\n    if: failure()\n    job:\n      id: 8 # wide\n", 1)},
		{"a number, with its comment", draftText, func(t *testing.T, d *Draft) { ok(t, d.Set("fetch", FieldJob, "9", true)) },
			strings.Replace(draftText, "job: 7  # the ECB's", "job: 9 # the ECB's", 1)},
		{"a text that looks like a number", "steps:\n  - id: a\n    job: 1\n", func(t *testing.T, d *Draft) { ok(t, d.Set("a", FieldParam, "007", false)) }, "steps:\n  - id: a\n    job: 1\n    parameter: \"007\"\n"},
		{"lines", "steps:\n  - id: a\n    job: 1\n", func(t *testing.T, d *Draft) { ok(t, d.Set("a", FieldParam, "one\n  two", false)) }, "steps:\n  - id: a\n    job: 1\n    parameter: |-\n      one\n        two\n"},
		{"a part and back", "steps:\n  - id: a\n    job: 1\n", func(t *testing.T, d *Draft) {
			ok(t, d.Set("a", "foreach.items", "1..3", false))
			ok(t, d.Set("a", "foreach.max", "5", true))
			ok(t, d.Set("a", "foreach.items", "", false))
			ok(t, d.Set("a", "foreach.max", "", true))
		}, "steps:\n  - id: a\n    job: 1\n"},
		{"a flag", "steps:\n  - id: a\n    job: 1\n", func(t *testing.T, d *Draft) { ok(t, d.Set("a", FieldContinue, "true", true)) }, "steps:\n  - id: a\n    job: 1\n    continue_on_error: true\n"},
		{"no flag", "steps:\n  - id: a\n    continue_on_error: true # for now\n    job: 1\n", func(t *testing.T, d *Draft) { ok(t, d.Set("a", FieldContinue, "", true)) }, "steps:\n  - id: a\n    job: 1\n"},
		{"a flag in JSON", `{"steps": [{"id": "a", "job": 1}]}`, func(t *testing.T, d *Draft) { ok(t, d.Set("a", FieldContinue, "true", true)) },
			"{\n  \"steps\": [\n    {\n      \"id\": \"a\",\n      \"job\": 1,\n      \"continue_on_error\": true\n    }\n  ]\n}\n"},
		{"the next step", draftText, func(t *testing.T, d *Draft) {
			id, err := d.Add(KindJob)
			if ok(t, err); id != "step4" {
				t.Errorf("its id is %s", id)
			}
		}, strings.Replace(draftText, "# the end\n", "\n  - id: step4\n    needs: release\n    job:\n# the end\n", 1)},
		{"the first step", "# of the night\n", func(t *testing.T, d *Draft) { _, err := d.Add(KindWait); ok(t, err) }, "# of the night\nsteps:\n  - id: step1\n    wait: {}\n"},
		{"a step less, with its comment", draftText, func(t *testing.T, d *Draft) { ok(t, d.Remove("check")) },
			strings.Replace(strings.Replace(draftText, draftText[strings.Index(draftText, "  # Checked"):strings.Index(draftText, "  - id: release")], "", 1), "[check, fetch]", "[fetch]", 1)},
		{"the last step", "steps: # all\n  - id: a\n    job: 1\n", func(t *testing.T, d *Draft) { ok(t, d.Remove("a")) }, "steps: [] # all\n"},
		{"and another first one", "steps: [] # all\n", func(t *testing.T, d *Draft) { _, err := d.Add(KindApprove); ok(t, err) }, "steps: # all\n  - id: step1\n    approve: {}\n"},
		{"up", "steps:\n  # one\n  - id: a\n    job: 1\n\n  # two\n  - id: b\n    job: 2\n", func(_ *testing.T, d *Draft) { d.Move("b", -1); d.Move("b", -1) },
			"steps:\n  # two\n  - id: b\n    job: 2\n\n  # one\n  - id: a\n    job: 1\n"},
		{"another name everywhere", draftText, func(t *testing.T, d *Draft) {
			if renamed, err := d.Rename("check", "verify"); !renamed || err != nil {
				t.Errorf("%v %v", renamed, err)
			}
		}, strings.NewReplacer("id: check", "id: verify", "job:\n        id: 8   # wide", "job:\n      id: 8 # wide", "[check,", "[verify,", "steps.check.state", "steps.verify.state", "steps.check.output", "steps.verify.output").Replace(draftText)},
		{"another name in outputs", "outputs: {a: steps.check.code}\nsteps:\n  - id: check\n    job: 1\n", func(t *testing.T, d *Draft) {
			if renamed, err := d.Rename("check", "verify"); !renamed || err != nil {
				t.Errorf("%v %v", renamed, err)
			}
		}, "outputs: {a: steps.verify.code}\nsteps:\n  - id: verify\n    job: 1\n"},
		{"first outputs", draftText, func(t *testing.T, d *Draft) {
			ok(t, d.SetOutputs([]Output{{Name: "sum", Value: "steps.check.output.sum"}, {Name: "yes", Value: "'a: b # c'"}}))
		}, draftText + "outputs:\n  sum: steps.check.output.sum\n  yes: '''a: b # c'''\n"},
		{"other outputs", "outputs: # of the day\n  a: 1\n  # of nothing\n\n  b: >-\n    2\n\n# the steps\nsteps:\n- id: a\n  job: 1\n", func(t *testing.T, d *Draft) { ok(t, d.SetOutputs([]Output{{Name: "c", Value: "3"}})) },
			"\n# the steps\nsteps:\n- id: a\n  job: 1\noutputs:\n  c: \"3\"\n"},
		{"no outputs", "steps:\n- id: a\n  job: 1\n'outputs': {\n  a: 1\n}\non_failure: stop", func(t *testing.T, d *Draft) { ok(t, d.SetOutputs(nil)) }, "steps:\n- id: a\n  job: 1\non_failure: stop\n"},
		{"a name that is taken, or none", draftText, func(t *testing.T, d *Draft) {
			for _, to := range []string{"FETCH", "1st", "", "a b"} {
				if renamed, err := d.Rename("check", to); renamed || err != nil {
					t.Errorf("%q: %v %v", to, renamed, err)
				}
			}
		}, draftText},
		{"needs", "steps:\n  - id: a\n    job: 1\n  - id: b\n    job: 1\n  - id: c\n    needs: # why\n      - a # because\n    job: 1\n", func(t *testing.T, d *Draft) {
			ok(t, d.SetNeeds("c", []string{"a", "b"}))
			ok(t, d.SetNeeds("b", []string{"a"}))
		}, "steps:\n  - id: a\n    job: 1\n  - id: b\n    needs: a\n    job: 1\n  - id: c\n    needs: # why\n      - a # because\n      - b\n    job: 1\n"},
		{"another kind, without what it cannot have", draftText, func(t *testing.T, d *Draft) {
			ok(t, d.SetKind("fetch", KindWait))
			ok(t, d.Set("fetch", "wait.seconds", "60", true))
		}, strings.Replace(draftText, draftText[strings.Index(draftText, "    job: 7"):strings.Index(draftText, "\n  # Checked")], "    wait:\n      seconds: 60\n", 1)},
		{"of the whole", draftText, func(_ *testing.T, d *Draft) { d.SetOnFailure(OnFailureContinue) }, strings.Replace(draftText, "stop #", "continue #", 1)},
		{"of a whole that did not say", "steps:\n- id: a\n  job: 1\n", func(_ *testing.T, d *Draft) { d.SetOnFailure(OnFailureContinue) }, "on_failure: continue\nsteps:\n- id: a\n  job: 1\n"},
		{"steps on one line", "steps: [{id: a, job: 1}, {id: b, job: 2}] # short\n", func(t *testing.T, d *Draft) { ok(t, d.Remove("a")) }, "steps: # short\n  - id: b\n    job: 2\n"},
		{"JSON", `{"steps": [{"id": "a", "job": 1, "parameter": "true"}, {"id": "b", "needs": "a", "job": 2}]}`, func(t *testing.T, d *Draft) {
			ok(t, d.Set("b", FieldIf, "always()", false))
			d.SetOnFailure(OnFailureContinue)
		}, "{\n  \"on_failure\": \"continue\",\n  \"steps\": [\n    {\n      \"id\": \"a\",\n      \"job\": 1,\n      \"parameter\": \"true\"\n    },\n    {\n      \"id\": \"b\",\n      \"needs\": \"a\",\n      \"if\": \"always()\",\n      \"job\": 2\n    }\n  ]\n}\n"},
		{"lines of Windows", "steps:\r\n  - id: a\r\n    job: 1\r\n", func(t *testing.T, d *Draft) { ok(t, d.Set("a", FieldRetries, "3", true)) }, "steps:\n  - id: a\n    job: 1\n    retries: 3\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, err := OpenDraft(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			tt.change(t, d)
			got, err := d.Text()
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if _, err := OpenDraft(got); err != nil {
				t.Errorf("what was written cannot be read: %v", err)
			}
		})
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func TestWhatCannotBeReadIsNoDraft(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"steps:\n  - id: [", "steps: 3\n", "steps:\n  - id: a\n    colour: red\n", "on_failure: stop\n", "a: &b c\n"} {
		if _, err := OpenDraft(text); err == nil {
			t.Errorf("opened %q", text)
		}
	}
}

// TestDraftsSayWhatWasChanged changes a definition and the text of it in the same ways. They go on saying the same, and comments stay.
func TestDraftsSayWhatWasChanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var want Definition
		var text strings.Builder
		margin := rapid.SampledFrom([]string{"", "  ", "      "}).Draw(t, "margin")
		text.WriteString("steps:\n")
		for i := range rapid.IntRange(1, 6).Draw(t, "steps") {
			id := "s" + strconv.Itoa(i)
			s := Step{ID: id, Job: &JobRef{ID: 1}}
			text.WriteString(strings.Repeat("\n", rapid.IntRange(0, 2).Draw(t, "blank")) + margin + "# before " + id + "\n" + margin + "- id: " + id + "\n" + margin + "  job: 1 # of " + id + "\n")
			if i > 0 && rapid.Bool().Draw(t, "needs") {
				s.Needs = []string{"s" + strconv.Itoa(rapid.IntRange(0, i-1).Draw(t, "need"))}
				text.WriteString(margin + "  needs: " + s.Needs[0] + "\n")
			}
			if rapid.Bool().Draw(t, "param") {
				param := rapid.SampledFrom([]string{"x: y # no", "# lead\n\ntail\n", " led", "a\n", "", "null", "- id: s0\n\n\n"}).Draw(t, "text")
				s.Param = &param
				text.WriteString(margin + "  parameter: " + strconv.Quote(param) + "\n")
			}
			want.Steps = append(want.Steps, s)
		}
		var last string
		text.WriteString("# the end\n")
		last = text.String()
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			d, err := OpenDraft(last)
			if err != nil {
				t.Fatalf("open: %v\n%s", err, last)
			}
			if len(want.Steps) == 0 {
				break
			}
			i := rapid.IntRange(0, len(want.Steps)-1).Draw(t, "step")
			s := &want.Steps[i]
			switch rapid.SampledFrom([]string{"text", "needs", "move", "remove", "rename", "add"}).Draw(t, "change") {
			case "text":
				value := rapid.SampledFrom([]string{"# one\ntwo", "plain", "true", "'quoted'", "a: b", "tail\n\n", "  led\nlow\n"}).Draw(t, "value")
				s.Param = &value
				err = d.Set(s.ID, FieldParam, value, false)
			case "needs":
				s.Needs = nil
				for j := range want.Steps {
					if j != i && rapid.Bool().Draw(t, "one") {
						s.Needs = append(s.Needs, want.Steps[j].ID)
					}
				}
				err = d.SetNeeds(s.ID, s.Needs)
			case "move":
				d.Move(s.ID, 1)
				if i+1 < len(want.Steps) {
					want.Steps[i], want.Steps[i+1] = want.Steps[i+1], want.Steps[i]
				}
			case "remove":
				err = d.Remove(s.ID)
				id := s.ID
				want.Steps = slices.Delete(want.Steps, i, i+1)
				for j := range want.Steps {
					want.Steps[j].Needs = slices.DeleteFunc(want.Steps[j].Needs, func(n string) bool { return n == id })
				}
			case "rename":
				old, to := s.ID, s.ID+"x"
				taken := slices.ContainsFunc(want.Steps, func(other Step) bool { return other.ID == to })
				var renamed bool
				if renamed, err = d.Rename(old, to); renamed == taken {
					t.Fatalf("renamed: %t, to a name that is taken: %t", renamed, taken)
				}
				if taken {
					break
				}
				s.ID = to
				for j := range want.Steps {
					for k, n := range want.Steps[j].Needs {
						if n == old {
							want.Steps[j].Needs[k] = to
						}
					}
				}
			case "add":
				needs := want.Steps[len(want.Steps)-1].ID
				id, err := d.Add(KindApprove)
				if err != nil {
					t.Fatal(err)
				}
				want.Steps = append(want.Steps, Step{ID: id, Needs: []string{needs}, Approve: &Approve{}})
			}
			if err != nil {
				t.Fatal(err)
			}
			if last, err = d.Text(); err != nil {
				t.Fatal(err)
			}
			got, err := Parse([]byte(last))
			if err != nil {
				t.Fatalf("%v\n%s", err, last)
			}
			gotText, _ := got.Text("yaml")
			wantText, _ := want.Text("yaml")
			if string(gotText) != string(wantText) {
				t.Fatalf("the text\n%s\nsays\n%s\nwant\n%s", last, gotText, wantText)
			}
			for i := range want.Steps {
				if s := &want.Steps[i]; s.Job != nil && strings.Count(last, "# of "+strings.TrimRight(s.ID, "x")+"\n") != 1 {
					t.Fatalf("the comment of %s is gone, or there twice:\n%s", s.ID, last)
				}
			}
			if !strings.HasSuffix(last, "# the end\n") {
				t.Fatalf("the end is gone:\n%s", last)
			}
		}
	})
}

// TestADraftStaysReadable whatever the form does to it, step after step: in JSON too, where a new step names no job yet, and before the mark that ends a
// document of YAML.
func TestADraftStaysReadable(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"steps:\n  - id: a\n    job: 1\n    parameter: x # c1\n  - id: b\n    job: 2\n",
		"---\nsteps:\n  - id: a\n    job: 1\n  - id: b\n    job: 2\n...\n",
		"# head\nsteps:\n- id: a\n  job: 1\n- id: b\n  needs: [a]\n  job: {app_name: x, description: y}\noutputs: {x: 1}\n",
		`{"steps":[{"id":"a","job":1},{"id":"b","flow":null}],"outputs":{"x":"1"}}`,
		`{"steps":[{"id":"a","job":1,"parameter":"~"},{"id":"b","job":"2","if":"null"}]}`,
		"steps:\n  - id: a\n    job: 1\n    parameter: |\n      a\n      # no comment\n\n  - {id: b, job: 2}\n",
		"steps:\n  -\n    id: a\n    job: 1\n  -\n    id: b\n    job: 2\n    # of b\n  # of the list\n",
	} {
		deeds := []func(d *Draft) error{
			func(d *Draft) error { return d.Set("a", FieldParam, "map(x, #.y)\n\U0001F600", false) },
			func(d *Draft) error { return d.Set("a", FieldName, "a: b #c", false) },
			func(d *Draft) error { return d.SetOutputs([]Output{{Name: "z", Value: "join(['a'], ' #.y')"}}) },
			func(d *Draft) error { _, err := d.Add(KindJob); return err },
			func(d *Draft) error { _, err := d.Rename("a", "aa"); return err },
			func(d *Draft) error { return d.SetKind("b", KindFlow) },
			func(d *Draft) error { d.Move("aa", 1); return nil },
			func(d *Draft) error { return d.Set("aa", FieldParam, "", false) },
			func(d *Draft) error { _, err := d.Add(KindApprove); return err },
			func(d *Draft) error { return d.SetOutputs(nil) },
			func(d *Draft) error { d.SetOnFailure(OnFailureContinue); return nil },
			func(d *Draft) error { return d.Remove("aa") },
		}
		now := text
		for i, do := range deeds {
			d, err := OpenDraft(now)
			if err != nil {
				t.Fatalf("%q, before %d: %v\n%s", text, i, err, now)
			}
			if err := do(d); err != nil {
				t.Fatalf("%q, %d: %v", text, i, err)
			}
			if now, err = d.Text(); err != nil {
				t.Fatalf("%q, after %d: %v", text, i, err)
			}
			if strings.HasPrefix(text, "{") && !json.Valid([]byte(now)) {
				t.Fatalf("%q, after %d: no JSON:\n%s", text, i, now)
			}
		}
		if def, err := Parse([]byte(now)); err != nil || len(def.Steps) != 3 || def.Steps[0].ID != "b" {
			t.Errorf("%q: %v\n%s", text, err, now)
		}
	}
}
