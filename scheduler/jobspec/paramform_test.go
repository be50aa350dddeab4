package jobspec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

const asked = `date: {type: date, required: true, label: Business day}
region: {choices: [eu, us]}
limit: {type: number}
dry: {type: flag, help: Only says what it would do.}
note:
`

func TestAFormOfAParameterIsRead(t *testing.T) {
	t.Parallel()
	form, fault := jobspec.ReadParamForm(asked)
	if fault != nil || len(form) != 5 || form[0].Shown() != "Business day" || !form[0].Required || form[4].Type != jobspec.ParamText || form[1].Shown() != "region" {
		t.Fatalf("%+v %v", form, fault)
	}
	if form, fault := jobspec.ReadParamForm(`{"a": {"type": "number"}, "b": {}}`); fault != nil || len(form) != 2 || form[1].Name != "b" {
		t.Errorf("JSON: %+v %v", form, fault)
	}
	if form, fault := jobspec.ReadParamForm(" \n"); fault != nil || form != nil {
		t.Errorf("nothing: %+v %v", form, fault)
	}
	var thirty string
	for i := range 30 {
		thirty += fmt.Sprintf("b%d:\n", i)
	}
	for text, want := range map[string]string{
		"- date\n":                        "import.error.mapping",
		"date: day\n":                     "import.error.mapping",
		"date: {typ: date}\n":             "import.error.near",
		"date: {type: day}\n":             jobspec.CodeUnknown,
		"1st: {}\n":                       jobspec.CodeParamName,
		"a: {}\na: {}\n":                  "import.error.twice",
		"a: {required: maybe}\n":          "import.error.flag",
		"a: {choices: eu}\n":              "import.error.list",
		"a: {choices: [x], type: date}\n": jobspec.CodeParamChoices,
		"a: [\n":                          "import.error.syntax",
		"a: {choices: [" + strings.Repeat("x,", 101) + "]}\n": jobspec.CodeParamMany,
		"a:\n" + thirty: jobspec.CodeParamMany,
	} {
		if _, fault := jobspec.ReadParamForm(text); fault == nil || fault.Key != want || fault.Line == 0 {
			t.Errorf("%q: %+v, not %s", text, fault, want)
		}
	}
}

// TestAParameterIsJudgedByItsForm also where a value is an expression that gets its text when the run is sent.
func TestAParameterIsJudgedByItsForm(t *testing.T) {
	t.Parallel()
	form, _ := jobspec.ReadParamForm(asked)
	for param, want := range map[string]string{
		`{"date":"2026-02-28"}`: "",
		`{"date":"2026-02-28","region":"eu","limit":1.5,"dry":false,"note":"<&>"}`:                                        "",
		`{"date":"${{ planned | yyyy-MM-dd, -1d }}","limit":"${{ secrets.LIMIT }}","dry":"${{ x }}","region":"${{ x }}"}`: "",
		``:                                    "date=" + jobspec.CodeParamRequired,
		`{"date":null}`:                       "date=" + jobspec.CodeParamRequired,
		`{"date":""}`:                         "date=" + jobspec.CodeParamRequired,
		`{"date":"2026-02-30"}`:               "date=" + jobspec.CodeParamDate,
		`{"date":20260228}`:                   "date=" + jobspec.CodeParamDate,
		`{"date":"2026-02-28","region":"cn"}`: "region=" + jobspec.CodeParamChoice,
		`{"date":"2026-02-28","region":1}`:    "region=" + jobspec.CodeParamText,
		`{"date":"2026-02-28","limit":"5"}`:   "limit=" + jobspec.CodeParamNumber,
		`{"date":"2026-02-28","dry":"true"}`:  "dry=" + jobspec.CodeParamFlag,
		`{"date":"2026-02-28","note":[1]}`:    "note=" + jobspec.CodeParamText,
		`{"dat":"2026-02-28"}`:                "date=" + jobspec.CodeParamRequired + " =" + jobspec.CodeParamUnknown,
		`2026-02-28`:                          "=" + jobspec.CodeParamObject,
		`[]`:                                  "=" + jobspec.CodeParamObject,
		`null`:                                "=" + jobspec.CodeParamObject,
		`{"date":"2026-02-28"} {}`:            "=" + jobspec.CodeParamObject,
	} {
		var got []string
		for _, f := range form.Check(param) {
			got = append(got, f.Name+"="+f.Key)
		}
		if said := strings.Join(got, " "); said != want {
			t.Errorf("%s: %q, not %q", param, said, want)
		}
	}
	if faults := jobspec.ParamForm(nil).Check("any text"); len(faults) != 0 {
		t.Errorf("without a form: %v", faults)
	}
}

// TestWhatIsTypedBecomesAParameter and back again.
func TestWhatIsTypedBecomesAParameter(t *testing.T) {
	t.Parallel()
	form, _ := jobspec.ReadParamForm(asked)
	typed := map[string]string{"date": " 2026-02-28 ", "limit": "1e3", "dry": "true", "note": `say "<hi>"`, "else": "x"}
	const want = `{"date":"2026-02-28","limit":1e3,"dry":true,"note":"say \"<hi>\""}`
	param := form.Param(func(name string) string { return typed[name] })
	if param != want || len(form.Check(param)) != 0 {
		t.Errorf("%s", param)
	}
	values := form.Values(param)
	if again := form.Param(func(name string) string { return values[name] }); again != want {
		t.Errorf("again: %s", again)
	}
	if empty := form.Param(func(string) string { return "" }); empty != `{"dry":false}` {
		t.Errorf("empty: %s", empty)
	}
	for text, want := range map[string]string{"five": `"five"`, "0x10": `"0x10"`, `"5"`: `"\"5\""`, "NaN": `"NaN"`, "-0.5": "-0.5", "null": `"null"`, "true": `"true"`, "1 2": `"1 2"`, "${{ x }}": `"${{ x }}"`} {
		number := form.Param(func(name string) string {
			if name == "limit" {
				return text
			}
			return ""
		})
		if number != `{"limit":`+want+`,"dry":false}` {
			t.Errorf("%s becomes %s", text, number)
		}
	}
	if flag := form.Param(func(string) string { return "yes" }); !strings.Contains(flag, `"dry":"yes"`) {
		t.Errorf("what is no flag is taken for one: %s", flag)
	}
	if faults := form.Check(`{"date":"2026-02-28","z":1,"b":1,"a":1,"c":1}`); len(faults) != 1 || faults[0].Args[1] != "a" {
		t.Errorf("of several that are unknown not the first is named: %v", faults)
	}
	if values := form.Values("any text"); len(values) != 0 {
		t.Errorf("of a text that is no object: %v", values)
	}
}

// TestAScheduledJobHasTheParameterThatItAsksFor, and one that runs by hand alone may leave it to whoever runs it.
func TestAScheduledJobHasTheParameterThatItAsksFor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		schedule    jobspec.ScheduleType
		param, form string
		want        string
		fixed       bool
	}{
		{jobspec.ScheduleNone, "", asked, "", false},
		{jobspec.ScheduleNone, "", asked, "param " + jobspec.CodeParamRequired, true}, // nobody could run it
		{jobspec.ScheduleNone, `{"region":"eu"}`, asked, "param " + jobspec.CodeParamRequired, false},
		{jobspec.ScheduleCron, "", asked, "param " + jobspec.CodeParamRequired, false},
		{jobspec.ScheduleCron, `{"date":"${{ planned | yyyy-MM-dd }}"}`, asked, "", false},
		{jobspec.ScheduleCron, "", "a:\n", "", false},
		{jobspec.ScheduleCron, "any text", "", "", false},
		{jobspec.ScheduleCron, "", "- a", "param_form " + jobspec.CodeParamForm, false},
		{jobspec.ScheduleNone, "", "a: {help: " + strings.Repeat("x", 4000) + "}", "param_form " + jobspec.CodeTooLong, false},
	} {
		j := jobspec.Job{Name: "pay", Author: "ann", ScheduleType: tt.schedule, ScheduleConf: "0 0 2 * * ?", Handler: "pay", Param: tt.param, ParamForm: tt.form, ParamFixed: tt.fixed}.WithDefaults()
		if tt.schedule == jobspec.ScheduleNone {
			j.ScheduleConf = ""
		}
		var got []string
		for _, f := range jobspec.Validate(j) {
			got = append(got, f.Name+" "+f.Key)
		}
		if said := strings.Join(got, ", "); said != tt.want {
			t.Errorf("%s %q with %q: %q, not %q", tt.schedule, tt.param, tt.form, said, tt.want)
		}
	}
}

// TestAChoiceMayBeginWithABlank: one that is offered can be chosen.
func TestAChoiceMayBeginWithABlank(t *testing.T) {
	t.Parallel()
	form, fault := jobspec.ReadParamForm(`{"region": {"choices": [" eu", "us"]}}`)
	if fault != nil {
		t.Fatal(fault)
	}
	for typed, want := range map[string]string{" eu": `{"region":" eu"}`, " us ": `{"region":"us"}`} {
		param := form.Param(func(string) string { return typed })
		if faults := form.Check(param); param != want || len(faults) > 0 {
			t.Errorf("%q: %s %v", typed, param, faults)
		}
	}
}

// TestAParameterHasEachFieldOnce: of two values that it has for one, the form would judge the one and the handler take the other.
func TestAParameterHasEachFieldOnce(t *testing.T) {
	t.Parallel()
	form, _ := jobspec.ReadParamForm(`{"region": {"choices": ["eu", "us"]}, "note": {}}`)
	for param, want := range map[string]string{`{"region":"moon","region":"eu"}`: "import.error.twice", `{"region":"eu","note":"region"}`: "", `{"note":"a","note":"a"}`: "import.error.twice"} {
		if faults := form.Check(param); len(faults) > 0 != (want != "") || len(faults) > 0 && faults[0].Key != want {
			t.Errorf("%s: %v, want %q", param, faults, want)
		}
	}
}
