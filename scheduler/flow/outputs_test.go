package flow

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/punctual-job/punctual/scheduler/expr"
)

// ended is a run of a definition whose steps have all succeeded but for some.
func ended(p *Plan, but map[string]State) Run {
	run := p.NewRun()
	for i := range run.Steps {
		run.Steps[i] = StepState{State: Success, Begun: true}
		if state, ok := but[p.def.Steps[i].ID]; ok {
			run.Steps[i].State = state
		}
	}
	return run
}

func parsed(t testing.TB, text string) *Plan {
	t.Helper()
	def, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return compile(t, def)
}

// TestAFlowGivesItsOutputs as JSON, in the order of the definition, with the values as they are.
func TestAFlowGivesItsOutputs(t *testing.T) {
	t.Parallel()
	p := parsed(t, `
steps:
  - {id: list, job: 1}
  - {id: skipped, needs: list, if: "false || steps.list.code == 1", job: 1}
outputs:
  files: ${{ steps.list.output.files }}
  count: len(steps.list.output.files)
  text: '"v" + string(steps.list.code) + "\n"'
  none: steps.skipped.output.rows
  state: steps.skipped.state
  ok: success() && !failure() && !cancelled() && any()
  day: planned("yyyy")
  param: flow.param
`)
	data := Data{Param: `"p"`, Results: func([]string) map[string]Result {
		return map[string]Result{"list": {Code: 200, Message: `{"files": ["a", "b"], "rows": 12345678901234567890}`}}
	}}
	run := ended(p, map[string]State{"skipped": Skipped})
	want := `{"files":["a","b"],"count":2,"text":"v200\n","none":null,"state":"skipped","ok":true,"day":"` + fmt.Sprint(data.Planned.UTC().Format("2006")) + `","param":"\"p\""}`
	if got, fault := p.Outputs(run, data); fault != nil || got != want {
		t.Errorf("%s %v\nwant %s", got, fault, want)
	}
	if d := p.Next(run, data); d.Finish != Success || d.Fault != nil {
		t.Errorf("%+v", d)
	}
	run.Steps[0].State, run.Steps[1].State = Failed, Skipped
	if d := p.Next(run, data); d.Finish != Failed || d.Fault != nil { // which has nothing to give
		t.Errorf("%+v", d)
	}
}

// TestAnOutputWithoutValueFailsTheRun and is named, with its line.
func TestAnOutputWithoutValueFailsTheRun(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"int(steps.a.message)":         "outputs.bad (line 5): the expression “int(steps.a.message)” has no value",
		"steps.a.output.none.deeper":   "outputs.bad (line 5): the expression “steps.a.output.none.deeper” has no value",
		"steps.a.output.long":          "outputs.bad (line 5): the expression “steps.a.output.long” does too much, or its value is too large",
		"map(1..90000, toJSON(1..99))": "outputs.bad (line 5): the expression “map(1..90000, toJSON(1..99))” does too much, or its value is too large",
	} {
		p := parsed(t, "steps:\n  - {id: a, job: 1}\noutputs:\n  good: 1\n  bad: "+value+"\n")
		data := Data{Results: func([]string) map[string]Result {
			return map[string]Result{"a": {Message: "x", Output: map[string]string{"long": strings.Repeat("x", MaxOutputSize)}}}
		}}
		run := ended(p, nil)
		d := p.Next(run, data)
		if d.Finish != Failed || d.Fault == nil || !strings.HasPrefix(d.Fault.Said(), want) {
			t.Errorf("%s: %v %v", value, d.Finish, d.Fault.Said())
		}
		run.Apply(p, d)
		if text, fault := p.Outputs(run, data); text != "" || fault == nil || fault.Said() != d.Fault.Said() {
			t.Errorf("%s: again it is %q %v", value, text, fault)
		}
	}
}

func TestOutputsThatCannotBeSaved(t *testing.T) {
	t.Parallel()
	many := "outputs:\n"
	for i := range MaxOutputs + 1 {
		many += fmt.Sprintf("  o%d: 1\n", i)
	}
	for text, want := range map[string]string{
		"outputs:\n  a: steps.b.code\n":                         "2  " + CodeExpr + string(expr.KindStep),
		"outputs:\n  a: steps.a.code +\n":                       "2  " + CodeExpr + string(expr.KindSyntax),
		"outputs:\n  a: secrets.DB\n":                           "2  " + CodeExpr + string(expr.KindSecret),
		"outputs:\n  a: item\n":                                 "2  " + CodeExpr + string(expr.KindItem),
		"outputs:\n  a: ${{ 1 }} and ${{ 2 }}\n":                "2  " + CodeExpr + string(expr.KindSyntax),
		"outputs:\n  a-b: 1\n":                                  "2  " + CodeOutput,
		"outputs:\n  " + strings.Repeat("x", MaxID+1) + ": 1\n": "2  " + CodeOutput,
		"outputs:\n  a: ''\n":                                   "2  " + CodeRequired,
		"outputs:\n  a:\n":                                      "2  " + CodeRequired,
		many:                                                    "1  " + CodeOutputs,
		`{"outputs": {"a": "1", "A": "2"}, "steps": [{"id": "a", "job": 1}]}`: "",
		"outputs:\n  a: " + strings.Repeat("1+", expr.MaxText/2) + "1\n":      "2  " + CodeExpr + string(expr.KindLong),
		strings.Replace(many, "  o0: 1\n", "", 1):                             "",
	} {
		if text[0] != '{' {
			text += "steps:\n  - {id: a, job: 1}\n"
		}
		def, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		_, faults := Compile(def)
		var got []string
		for _, f := range faults {
			got = append(got, fmt.Sprintf("%d %s %s", f.Line, f.Step, f.Key))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
}

// TestOutputsAreJSON whatever the steps gave, the same each time, and no larger than they may be; and a step that runs the flow has them as they were.
func TestOutputsAreJSON(t *testing.T) {
	t.Parallel()
	p := parsed(t, `
steps:
  - {id: a, job: 1}
  - {id: b, needs: a, job: 1}
outputs:
  a: steps.a.output
  b: steps.b.message
  items: 'map(steps.a.items, #.message)'
  first: steps.a.output?.x
`)
	outer := parsed(t, "steps:\n  - {id: sub, flow: 1}\n  - {id: after, needs: sub, job: 1, parameter: '${{ toJSON(steps.sub.output) }}'}\n")
	rapid.Check(t, func(t *rapid.T) {
		result := func(name string) Result {
			r := Result{Message: rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`{"x": [1, null, "\u2028"]}`, `{"x": {"y": 1.50}}`, "[1]", "${{ secrets.A }}"})).Draw(t, name)}
			if rapid.Bool().Draw(t, name+" has outputs") {
				r.Output = rapid.MapOfN(rapid.String(), rapid.String(), 0, 5).Draw(t, name+" outputs")
			}
			for range rapid.IntRange(0, 3).Draw(t, name+" items") {
				r.Items = append(r.Items, Result{Message: rapid.String().Draw(t, name+" item")})
			}
			return r
		}
		results := map[string]Result{"a": result("a"), "b": result("b")}
		data := Data{Results: func([]string) map[string]Result { return results }}
		run := ended(p, nil)
		text, fault := p.Outputs(run, data)
		again, faultAgain := p.Outputs(run, data)
		if text != again || (fault == nil) != (faultAgain == nil) {
			t.Fatalf("%s %v, then %s %v", text, fault, again, faultAgain)
		}
		if d := p.Next(run, data); (d.Finish == Success) != (fault == nil) {
			t.Fatalf("%+v %v", d, fault)
		}
		if fault != nil {
			return
		}
		var values map[string]any
		if err := json.Unmarshal([]byte(text), &values); err != nil || len(text) > MaxOutputSize || len(values) != 4 {
			t.Fatalf("%s %v %v", text, err, slices.Sorted(maps.Keys(values)))
		}
		within := outer.NewRun()
		within.Steps[0] = StepState{State: Success, Begun: true}
		d := outer.Next(within, Data{Results: func([]string) map[string]Result { return map[string]Result{"sub": {Message: text}} }})
		if strings.Contains(text, "${{") { // no expression comes of it
			return
		}
		var handed map[string]any
		if len(d.Start) != 1 || json.Unmarshal([]byte(*d.Start[0].Param), &handed) != nil {
			t.Fatalf("%+v", d)
		}
		if a, b := fmt.Sprint(handed), fmt.Sprint(values); a != b {
			t.Fatalf("%s, handed on as %s", b, a)
		}
	})
}
