package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"github.com/punctual-job/punctual/scheduler/document"
	"github.com/punctual-job/punctual/scheduler/expr"
)

// withoutLines compares definitions wherever they were read.
var withoutLines = cmp.Options{cmpopts.IgnoreUnexported(Definition{}, Step{}, Output{}), cmpopts.IgnoreFields(Step{}, "Line"), cmpopts.EquateEmpty()}

const whole = `on_failure: continue
steps:
  - id: extract
    name: 抽取
    job:
      app_name: orders
      description: Extract
      id: 12
    parameter: '{"day": "${{ planned | yyyy-MM-dd, -1d }}"}'
    timeout_seconds: 600
    retries: 0
    retry_backoff: 30s*2<=1h
    continue_on_error: true
  - id: each
    needs:
      - extract
    job: 13
    parameter: ${{ item }}
    foreach:
      items: ${{ steps.extract.output.files }}
      parallel: 5
      max: 100
  - id: approve
    needs:
      - extract
      - each
    join: any
    if: steps.extract.output.rows > 0
    approve:
      message: Pay ${{ steps.extract.output.rows }}?
      timeout_seconds: 3600
      default: approve
  - id: pause
    needs:
      - extract
      - each
      - approve
    join: 2
    wait:
      seconds: 60
  - id: until
    wait:
      until: ${{ planned | yyyy-MM-dd }} 06:00:00
  - id: sub
    needs:
      - until
    if: always()
    flow: 14
    parameter: ""
outputs:
  files: ${{ steps.extract.output.files }}
  rows: int(steps.extract.output.rows)
`

func TestADefinitionIsReadAndWritten(t *testing.T) {
	t.Parallel()
	def, err := Parse([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	compile(t, def)
	if def.Steps[0].LineOf(FieldTimeout) != 10 || def.Steps[2].LineOf(FieldDefault) != 32 || def.Steps[0].LineOf(FieldContinue) != 13 || def.Steps[1].LineOf(FieldRetries) != 14 {
		t.Errorf("%+v", def.Steps)
	}
	written, err := def.Text(document.YAML)
	if diff := cmp.Diff(whole, string(written)); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	asJSON, err := json.Marshal(def)
	if err != nil || strings.Contains(string(asJSON), "\n") {
		t.Errorf("%v %s", err, asJSON)
	}
	var fromJSON, fromYAML Definition
	if err := json.Unmarshal(asJSON, &fromJSON); err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.Marshal(map[string]any{"flow": def})
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Flow *Definition }
	if err := yaml.Unmarshal(asYAML, &file); err != nil {
		t.Fatal(err)
	}
	fromYAML = *file.Flow
	for name, other := range map[string]*Definition{"JSON": &fromJSON, "YAML": &fromYAML} {
		if diff := cmp.Diff(def, other, withoutLines); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if err := json.Unmarshal([]byte(`{"steps": [{"id": "a", "color": 1}]}`), &fromJSON); !errors.As(err, new(Faults)) {
		t.Errorf("%v", err)
	}
}

// TestFaultsNameTheirStepAndLine has every fault of a text and of a definition.
func TestFaultsNameTheirStepAndLine(t *testing.T) {
	t.Parallel()
	const a, b = "steps:\n  - id: a\n    job: 1\n", "  - id: b\n    needs: a\n    job: 1\n"
	for _, tt := range []struct{ name, text, want string }{
		{"a good one", a + b, ""},
		{"nothing", " ", " 1  empty"},
		{"no mapping", "- a", " 1  mapping [Field flow]"},
		{"no steps", "on_failure: stop", " 1  missing [Field steps]"},
		{"an empty list of steps", "steps: []", " 1 steps required"},
		{"a field of the flow after its steps", a + "colour: red\n", " 4  unknown [Field colour]"},
		{"one of two steps on a line", `{"steps": [{"id": "a", "job": "x"}, {"id": "b", "job": 1}]}`, "a 1  number [Field job]"},
		{"each of two steps on a line", `{"steps": [{"id": "a", "job": "x"}, {"id": "b", "job": "y"}], "on_failure": []}`, "a 1  number [Field job]; b 1  number [Field job];  1  text [Field on_failure]"},
		{"a misspelt field", a + "    reties: 3\n", "a 4  near [Field reties Near retries]"},
		{"an unknown field", a + b + "    colour: red\n", "b 7  unknown [Field colour]"},
		{"a field twice", a + "    job: 2\n", "a 4  twice [Field job]"},
		{"no id", "steps:\n  - job: 1\n", " 2  missing [Field id]"},
		{"an empty id", "steps:\n  - id: ''\n    job: 1\n", " 2 id required"},
		{"an id with a hyphen", "steps:\n  - id: a-b\n    job: 1\n", "a-b 2 id id [Value a-b]"},
		{"an id that begins with a digit", "steps:\n  - id: 1a\n    job: 1\n", "1a 2 id id [Value 1a]"},
		{"an id twice", a + "  - id: A\n    job: 2\n", "A 4 id same_id [Value A]"},
		{"a name of two lines", a + "    name: \"x\\ny\"\n", "a 4 name characters"},
		{"a name that is too long", a + "    name: " + strings.Repeat("x", 256) + "\n", "a 4 name too_long [Max 255]"},
		{"a step that there is not", a + "    needs: [c]\n", "a 4 needs needs [Value c]"},
		{"a step in other letters", a + "  - id: b\n    needs: A\n    job: 1\n", "b 5 needs needs [Value A]"},
		{"a need twice", a + "  - id: b\n    needs: [a, a]\n    job: 1\n", "b 5 needs needs_twice [Value a]"},
		{"itself", "steps:\n  - id: a\n    needs: a\n    job: 1\n", "a 3 needs cycle [Ring a → a]"},
		{"a circle", "steps:\n  - id: a\n    needs: c\n    job: 1\n  - id: b\n    needs: a\n    job: 1\n  - id: c\n    needs: b\n    job: 1\n", "a 3 needs cycle [Ring b → c → a → b]"},
		{"a word that is no join", a + "    join: some\n", "a 4  join_word [Value some]"},
		{"a join of none", a + "    join: 0\n", "a 4  join_word [Value 0]"},
		{"a join of more than there are", a + "  - id: b\n    needs: a\n    join: 2\n    job: 1\n", "b 6 join join [Max 1]"},
		{"a back-off that cannot be read", a + "    retry_backoff: soon\n", "a 4 retry_backoff backoff [Value soon]"},
		{"a back-off that is too long", a + "    retry_backoff: " + strings.Repeat("1s,", 43) + "1s\n", "a 4 retry_backoff too_long [Max 128]"},
		{"the back-off of an approval", "steps:\n  - id: a\n    approve: {}\n    retry_backoff: 1m\n", "a 4 retry_backoff not_of [Field retry_backoff Kind approve]"},
		{"neither true nor false", a + "    continue_on_error: maybe\n", "a 4  flag [Field continue_on_error]"},
		{"a step that does nothing", a + "  - id: b\n", "b 4 id no_kind"},
		{"a step that does two things", a + "    wait: {seconds: 1}\n", "a 4 wait kinds [First job Second wait]"},
		{"a job without its executor", "steps:\n  - id: a\n    job: {description: x}\n", "a 3  ref"},
		{"a job without anything", "steps:\n  - id: a\n    job: {}\n", "a 3  ref"},
		{"a job that is no number", "steps:\n  - id: a\n    job: x\n", "a 3  number [Field job]"},
		{"a time-out that is too long", a + "    timeout_seconds: 31536001\n", "a 4 timeout_seconds out_of_range [Min 0 Max 31536000]"},
		{"retries below none", a + "    retries: -1\n", "a 4 retries out_of_range [Min 0 Max 9999]"},
		{"a foreach without items", a + "    foreach: {parallel: 3}\n", "a 4  missing [Field items]"},
		{"items that are empty", a + "    foreach: {items: ' '}\n", "a 4 items required"},
		{"too many at a time", a + "    foreach: {items: '[1]', parallel: 1001}\n", "a 4 parallel out_of_range [Min 0 Max 1000]"},
		{"too many items", a + "    foreach: {items: '[1]', max: 10001}\n", "a 4 max out_of_range [Min 0 Max 10000]"},
		{"an approval with a parameter", "steps:\n  - id: a\n    approve: {}\n    parameter: x\n", "a 4 parameter not_of [Field parameter Kind approve]"},
		{"an approval with retries", "steps:\n  - id: a\n    approve: {}\n    retries: 1\n", "a 4 retries not_of [Field retries Kind approve]"},
		{"an answer that is none", "steps:\n  - id: a\n    approve: {default: maybe}\n", "a 3 default unknown [Value maybe Values reject, approve]"},
		{"a wait for nothing", "steps:\n  - id: a\n    wait: {}\n", "a 3 wait wait"},
		{"a wait for two things", "steps:\n  - id: a\n    wait: {seconds: 1, until: '2026-01-01 00:00:00'}\n", "a 3 wait wait"},
		{"a moment that is none", "steps:\n  - id: a\n    wait: {until: tomorrow}\n", "a 3 until moment [Value tomorrow]"},
		{"what may become of a failure", "on_failure: retry\n" + a, " 1 on_failure unknown [Value retry Values stop, continue]"},
		{"an expression that cannot be read", a + "    if: 1 +\n", "a 4 if expr.syntax [Expression 1 + Text  Reason { flow.reason.library [Detail unexpected token EOF] }]"},
		{"an unknown name", a + "    if: foo\n", "a 4 if expr.name [Expression foo Text foo Reason ]"},
		{"an item outside of a foreach", a + "    parameter: ${{ item }}\n", "a 4 parameter expr.item [Expression item Text  Reason ]"},
		{"a secret in a condition", a + "    if: secrets.DB == ''\n", "a 4 if expr.secret [Expression secrets.DB == '' Text  Reason ]"},
		{"a secret in a list", a + "    foreach: {items: '${{ secrets.DB }}'}\n", "a 4 items expr.secret [Expression secrets.DB Text  Reason ]"},
		{"a secret in a question", "steps:\n  - id: a\n    approve: {message: '${{ secrets.DB }}'}\n", "a 3 message expr.secret [Expression secrets.DB Text  Reason ]"},
		{"a step that is read and not there", a + "    parameter: ${{ steps.c.state }}\n", "a 4 parameter expr.step [Expression steps.c.state Text c Reason ]"},
		{"a step that is read and not before", a + "  - id: b\n    job: 1\n    if: steps.a.code == 1\n", "b 6 if not_before [Value a Expression steps.a.code == 1]"},
		{"a planned time that cannot be read", a + "    parameter: ${{ planned | YYYY }}\n", "a 4 parameter planned.format [Value YYYY]"},
		{"a step that never starts", a + "    if: 1 > 2\n" + b, "a 4 if never; b 6 needs never"},
		{"a step that starts after one that never does", a + "    if: ${{ false }}\n  - id: b\n    needs: a\n    if: always()\n    job: 1\n", "a 4 if never"},
		{"JSON", "{\"steps\": [\n{\"id\": \"a\", \"job\": 1},\n{\"id\": \"b\",\n\"needs\": [\"x\"], \"job\": 1}]}", "b 4 needs needs [Value x]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			def, err := Parse([]byte(tt.text))
			faults, _ := errors.AsType[Faults](err)
			if err == nil {
				_, faults = Compile(def)
			}
			if got := said(faults); got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
	many := "steps:\n"
	for i := range MaxSteps + 1 {
		many += fmt.Sprintf("  - {id: s%d, job: 1}\n", i)
	}
	if _, err := Parse([]byte(many)); err == nil || said(err.(Faults)) != " 202  many [Max 200]" {
		t.Errorf("%v", err)
	}
	if _, err := Parse([]byte(strings.Repeat(" ", MaxBytes+1))); err == nil {
		t.Error("a text that is too long is read")
	}
}

// TestBoundsHoldAtTheirEdges has what is as long, as many or as large as may be, which holds, and one more, which names its step, line and bound.
func TestBoundsHoldAtTheirEdges(t *testing.T) {
	t.Parallel()
	const job, ask, each = "steps:\n  - id: a\n    job: 1\n", "steps:\n  - id: a\n    approve:\n", "steps:\n  - id: a\n    job: 1\n    foreach:\n      items: '[1]'\n"
	number := func(n int) string { return strconv.Itoa(n) }
	letters := func(n int) string { return "'" + strings.Repeat("超", n) + "'" }
	steps := func(n int) (text string) {
		for i := range n {
			text += fmt.Sprintf("\n  - {id: s%d, job: 1}", i)
		}
		return text
	}
	for _, tt := range []struct {
		before string
		value  func(n int) string
		most   int
		want   string // of one more
	}{
		{"steps:", steps, MaxSteps, " 202  many [Max 200]"},
		{"steps:\n  - job: 1\n    id: ", func(n int) string { return strings.Repeat("x", n) }, MaxID, strings.Repeat("x", MaxID+1) + " 3 id id [Value " + strings.Repeat("x", MaxID+1) + "]"},
		{job + "    name: ", letters, MaxName, "a 4 name too_long [Max 255]"},
		{job + "    timeout_seconds: ", number, MaxSeconds, "a 4 timeout_seconds out_of_range [Min 0 Max 31536000]"},
		{job + "    retries: ", number, MaxRetries, "a 4 retries out_of_range [Min 0 Max 9999]"},
		{job + "    retry_backoff: ", func(n int) string { return strings.Repeat("1s,", 42) + "1" + strings.Repeat("0", n-128) + "s" }, MaxBackoff, "a 4 retry_backoff too_long [Max 128]"},
		{job + "    if: ", func(n int) string { return `"'` + strings.Repeat("x", n-8) + `' != ''"` }, expr.MaxText,
			"a 4 if expr.long [Expression '" + strings.Repeat("x", 59) + "… Text  Reason ]"},
		{ask + "      message: ", letters, MaxMessage, "a 4 message too_long [Max 2000]"},
		{ask + "      timeout_seconds: ", number, MaxSeconds, "a 4 timeout_seconds out_of_range [Min 0 Max 31536000]"},
		{"steps:\n  - id: a\n    wait:\n      seconds: ", number, MaxSeconds, "a 4 seconds out_of_range [Min 0 Max 31536000]"},
		{each + "      parallel: ", number, MaxParallel, "a 6 parallel out_of_range [Min 0 Max 1000]"},
		{each + "      max: ", number, MaxItems, "a 6 max out_of_range [Min 0 Max 10000]"},
	} {
		of := func(n int) string {
			def, err := Parse([]byte(tt.before + tt.value(n) + "\n"))
			faults, _ := errors.AsType[Faults](err)
			if err == nil {
				_, faults = Compile(def)
			}
			return said(faults)
		}
		if got := of(tt.most); got != "" {
			t.Errorf("%q, %d: %s", tt.before, tt.most, got)
		}
		if got := of(tt.most + 1); got != tt.want {
			t.Errorf("%q, %d: %s\nwant %s", tt.before, tt.most+1, got, tt.want)
		}
	}
	full := "steps: [{id: a, job: 1}]\n#"
	if _, err := Parse([]byte(full + strings.Repeat("x", MaxBytes-len(full)))); err != nil {
		t.Errorf("a text of %d bytes: %v", MaxBytes, err)
	}
	if _, err := Parse([]byte(full + strings.Repeat("x", MaxBytes-len(full)+1))); err == nil || said(err.(Faults)) != " 1  size [Max 1]" {
		t.Errorf("a text of one more: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(`{"steps": [{"id": "a", "job": 1, "foreach": {"items": "1..3"}}, {"id": "b", "needs": "a", "join": 1, "approve": {}}]}`))
	f.Add([]byte("steps:\n  - id: a\n    wait: {until: \"${{ planned | 'x }}\"}\n    if: ${{ failure() }} ${{ x }}\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		def, err := Parse(raw)
		if err != nil {
			if faults, ok := errors.AsType[Faults](err); !ok || len(faults) == 0 {
				t.Fatalf("%T", err)
			}
			return
		}
		plan, faults := Compile(def)
		if (plan == nil) == (faults == nil) {
			t.Fatalf("%v %v", plan, faults)
		}
		for _, as := range []document.Format{document.YAML, document.JSON} {
			written, err := def.Text(as)
			if err != nil {
				t.Fatal(err)
			}
			again, err := Parse(written)
			if err != nil {
				t.Fatalf("%v\n%s", err, written)
			}
			if diff := cmp.Diff(def, again, withoutLines); diff != "" {
				t.Fatalf("%s\n%s", diff, written)
			}
		}
		if plan != nil {
			run := plan.NewRun()
			for range 3 {
				run.Apply(plan, plan.Next(run, Data{}))
			}
		}
	})
}
