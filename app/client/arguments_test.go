package client

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestArgumentsOfAssistants are taken, or refused in words that say which has to be what.
func TestArgumentsOfAssistants(t *testing.T) {
	t.Parallel()
	text := "now"
	for given, want := range map[string]outputWanted{
		`{"run_id":7}`:    {oneRun: oneRun{7}},
		`{"run_id":7.0}`:  {oneRun: oneRun{7}},
		`{"run_id":70e1}`: {oneRun: oneRun{700}},
		`{"run_id":9223372036854775807,"end":null,"lines":null}`: {oneRun: oneRun{9223372036854775807}},
		`{"run_id":9007199254740993,"end":true}`:                 {oneRun: oneRun{9007199254740993}, End: true},
	} {
		if got, err := argued[outputWanted](t, given); err != nil || got != want {
			t.Errorf("%s: %+v, %v", given, got, err)
		}
	}
	if got, err := argued[triggerWanted](t, `{"job_id":1,"parameter":null}`); err != nil || got.Param != nil {
		t.Errorf("no parameter: %+v, %v", got, err)
	}
	if got, err := argued[triggerWanted](t, `{"job_id":1,"parameter":"now"}`); err != nil || got.Param == nil || *got.Param != text {
		t.Errorf("a parameter: %+v, %v", got, err)
	}
	for given, says := range map[string]string{
		``:                                 "run_id: it is needed: the number of the run",
		`{}`:                               "run_id: it is needed: the number of the run",
		`null`:                             "run_id: it is needed: the number of the run",
		`{"run_id":null}`:                  "run_id: it is needed: the number of the run",
		`[1]`:                              "the arguments are one object, with each by its name",
		`"run_id"`:                         "the arguments are one object, with each by its name",
		`{"run_id":"7"}`:                   `run_id: write a whole number such as 7, and not "7"`,
		`{"run_id":1.5}`:                   "run_id: write a whole number such as 7, and not 1.5",
		`{"run_id":true}`:                  "run_id: write a whole number such as 7, and not true",
		`{"run_id":[1]}`:                   "run_id: write a whole number such as 7, and not [1]",
		`{"run_id":0}`:                     "run_id: use 1 at least, and not 0",
		`{"run_id":-1}`:                    "run_id: use 1 at least, and not -1",
		`{"run_id":-1e99}`:                 "run_id: use 1 at least, and not -1e99",
		`{"run_id":-1e999}`:                "run_id: use 1 at least, and not -1e999",
		`{"run_id":-0.5}`:                  "run_id: use 1 at least, and not -0.5",
		`{"run_id":1e30}`:                  "run_id: 1e30 is too large a number",
		`{"run_id":1e999}`:                 "run_id: 1e999 is too large a number",
		`{"run_id":99999999999999999999}`:  "run_id: 99999999999999999999 is too large a number",
		`{"run_id":1,"end":"yes"}`:         `end: write true or false, and not "yes"`,
		`{"run_id":1,"Run_ID":2}`:          "Run_ID: this tool takes no such argument, but end, from_line, lines, run_id",
		`{"run_id":{},"lines":"","end":1}`: "end: write true or false, and not 1\nlines: write a whole number such as 7, and not \"\"\nrun_id: write a whole number such as 7, and not {}",
		`{"run_id":1,"` + strings.Repeat("x", 50) + `":1}`: strings.Repeat("x", 40) + "… (10 more characters): this tool takes no such argument, but end, from_line, lines, run_id",
	} {
		if got, err := argued[outputWanted](t, given); err == nil || err.Error() != says {
			t.Errorf("%s: %+v, %v", given, got, err)
		}
	}
	if _, err := argued[searchWanted](t, `{"run_id":1,"text":5}`); err == nil || err.Error() != "text: write a text in quotation marks, and not 5" {
		t.Error(err)
	}
	if _, err := argued[triggerWanted](t, `{"job_id":1,"parameter":{"a":1}}`); err == nil || err.Error() != `parameter: write a text in quotation marks, and not {"a":1}` {
		t.Error(err)
	}
	if _, err := argued[noInput](t, `{"id":1}`); err == nil || err.Error() != "id: this tool takes no arguments" {
		t.Error(err)
	}
}

func argued[In any](t *testing.T, args string) (in In, err error) {
	t.Helper()
	takes, err := taken[In]()
	if err != nil {
		t.Fatal(err)
	}
	return in, read(json.RawMessage(args), takes, &in)
}

func BenchmarkTaken(b *testing.B) {
	for b.Loop() {
		if _, err := taken[jobsWanted](); err != nil {
			b.Fatal(err)
		}
	}
}
