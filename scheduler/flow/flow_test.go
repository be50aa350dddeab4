package flow

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func compile(t testing.TB, def *Definition) *Plan {
	t.Helper()
	p, faults := Compile(def)
	if faults != nil {
		t.Fatalf("%v\n%+v", faults, def)
	}
	return p
}

// conditions are what made-up steps ask; the states of others are no part of it, which with "any" depend on who is first.
var conditions = []string{"", "", "", "success()", "failure()", "always()", "any()", "success() || failure()", "failure() && !any()", "always() && flow.param == ''", "flow.param == ''", "flow.param != ''", "cancelled()", "!cancelled()", "success() || cancelled()"}

// madeUp is a definition of a few steps that need only earlier ones, written in any order.
func madeUp(t *rapid.T) *Definition {
	def := &Definition{OnFailure: rapid.SampledFrom(AllOnFailures).Draw(t, "on failure")}
	n := rapid.IntRange(1, 9).Draw(t, "steps")
	for i := range n {
		s := Step{ID: fmt.Sprintf("s%d", i), If: rapid.SampledFrom(conditions).Draw(t, "if"), ContinueOnError: rapid.IntRange(0, 3).Draw(t, "continue on error") == 0}
		for j := range i {
			if rapid.IntRange(0, 2).Draw(t, "needs") == 0 {
				s.Needs = append(s.Needs, fmt.Sprintf("s%d", j))
			}
		}
		if len(s.Needs) > 0 {
			s.Join = Join(rapid.IntRange(0, len(s.Needs)).Draw(t, "join"))
		}
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			s.Approve = &Approve{Message: "go on?"}
		case 1:
			s.Wait = &Wait{Seconds: 1}
		case 2:
			items := rapid.IntRange(0, 5).Draw(t, "items")
			s.Job = &JobRef{ID: 1}
			s.Foreach = &Foreach{Items: fmt.Sprintf("${{ 1..%d }}", items), Parallel: rapid.IntRange(0, 3).Draw(t, "parallel")}
		case 3:
			s.Flow = &JobRef{ID: 2}
		default:
			s.Job = &JobRef{ID: 1}
		}
		def.Steps = append(def.Steps, s)
	}
	def.Steps = rapid.Permutation(def.Steps).Draw(t, "order")
	return def
}

var ends = []State{Success, Success, Success, Failed, Cancelled, TimedOut, Skipped}

// play carries a run on to its end, and checks each decision.
type play struct {
	t       *rapid.T
	plan    *Plan
	run     Run
	started []int // how often each step was started since it last waited
	items   []int // how many items of it were
}

// decide applies one decision.
func (p *play) decide() Decision {
	t, before := p.t, Run{Steps: slices.Clone(p.run.Steps), Asked: p.run.Asked}
	d := p.plan.Next(p.run, Data{})
	if !cmp.Equal(before, p.run) {
		t.Fatal("deciding changed the run")
	}
	if again := p.plan.Next(p.run, Data{}); !cmp.Equal(d, again) {
		t.Fatalf("decided differently the second time:\n%s", cmp.Diff(d, again))
	}
	after := Run{Steps: slices.Clone(p.run.Steps), Asked: p.run.Asked}
	after.Apply(p.plan, d)
	for _, s := range d.Start {
		if p.run.Asked != AskedNothing && !p.cleansUp(s.Step) {
			t.Fatalf("step %d is started in a run that is to end", s.Step)
		}
		st := p.run.Steps[s.Step]
		if st.State == Waiting {
			if p.started[s.Step]++; p.started[s.Step] > 1 {
				t.Fatalf("step %d is started twice", s.Step)
			}
			p.hasItsNeeds(s.Step, after)
		}
		if each := p.plan.steps[s.Step].Foreach; each != nil {
			p.items[s.Step] += s.Items
			if now := after.Steps[s.Step].Items; s.Items < 1 || now.Open > each.parallel() || now.Waiting() < 0 {
				t.Fatalf("step %d starts %d items: %+v", s.Step, s.Items, now)
			}
		}
	}
	for _, e := range d.End {
		if p.run.Steps[e.Step].State.Ended() || !e.State.Ended() || e.Fault != nil {
			t.Fatalf("step %d ends again or wrongly: %+v", e.Step, e)
		}
	}
	for i, s := range p.run.Steps {
		if p.run.Asked != AskedNothing && s.State.Open() && !after.Steps[i].State.Ended() && !after.Steps[i].Ending && !p.cleansUp(i) {
			t.Fatalf("step %d goes on in a run that is to end", i)
		}
	}
	for _, i := range d.Cancel {
		if s := p.run.Steps[i]; !s.State.Open() || s.Ending || p.run.Asked == AskedNothing {
			t.Fatalf("step %d is cancelled", i)
		}
	}
	finished := !slices.ContainsFunc(after.Steps, func(s StepState) bool { return !s.State.Ended() })
	if finished != (d.Finish != Waiting) {
		t.Fatalf("finish %v, steps %+v", d.Finish, after.Steps)
	}
	p.run = after
	if d.Finish == Waiting {
		if next := p.plan.Next(p.run, Data{}); !next.Empty() {
			t.Fatalf("there is more to do once a decision is applied: %+v", next)
		}
	}
	return d
}

// cleansUp says whether a step asks whether the run is to end, and is for that.
func (p *play) cleansUp(i int) bool {
	return strings.Contains(p.plan.steps[i].If, "cancelled()") && !strings.HasPrefix(p.plan.steps[i].If, "!")
}

// hasItsNeeds checks that as many needs of a step that starts have ended as it asks for.
func (p *play) hasItsNeeds(i int, run Run) {
	s := &p.plan.steps[i]
	ended, succeeded := 0, 0
	for _, j := range s.needs {
		if run.Steps[j].State.Ended() {
			ended++
		}
		if run.Steps[j].State == Success || p.plan.Allows(j, run.Steps[j].State) {
			succeeded++
		}
	}
	if ended < len(s.needs) && (s.Join == JoinAll || succeeded < int(s.Join)) {
		p.t.Fatalf("step %d starts before its needs: %+v", i, run.Steps)
	}
}

// end lets one of the open steps end, and says whether there was one.
func (p *play) end(pick func(n int) int, how func(step int) State) bool {
	var open []int
	for i, s := range p.run.Steps {
		if s.State.Open() {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return false
	}
	i := open[pick(len(open))]
	if p.plan.steps[i].Foreach != nil {
		if !p.run.RecordItem(p.plan, i, how(i)) {
			p.t.Fatalf("an item of step %d cannot end: %+v", i, p.run.Steps[i])
		}
	} else if !p.run.Record(p.plan, i, how(i)) {
		p.t.Fatalf("step %d cannot end", i)
	}
	return true
}

func newPlay(t *rapid.T, plan *Plan) *play {
	n := len(plan.steps)
	return &play{t: t, plan: plan, run: plan.NewRun(), started: make([]int, n), items: make([]int, n)}
}

// TestEveryRunEnds plays made-up flows, in which people do what they may, and looks at each decision: nothing starts twice or before its
// needs, nothing starts in a run that is to end, and there is an end.
func TestEveryRunEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plan := compile2(t, madeUp(t))
		if plan == nil {
			return
		}
		p := newPlay(t, plan)
		for round := range 3 {
			p.toItsEnd(rapid.IntRange(0, 3).Draw(t, "asked") == 0)
			if round == 2 || !p.byHand(3) {
				break
			}
		}
	})
}

func compile2(t *rapid.T, def *Definition) *Plan {
	plan, faults := Compile(def)
	if faults != nil {
		t.Fatalf("%v\n%+v", faults, def)
	}
	return plan
}

func (p *play) toItsEnd(mayAsk bool) {
	t := p.t
	for range 200 {
		if d := p.decide(); d.Finish != Waiting {
			return
		}
		if mayAsk && rapid.IntRange(0, 4).Draw(t, "ask") == 0 {
			p.run.Asked = rapid.SampledFrom([]Asked{AskedStop, AskedTimeout}).Draw(t, "what")
			continue
		}
		if rapid.IntRange(0, 9).Draw(t, "by hand") == 0 {
			p.byHand(1)
			continue
		}
		if !p.end(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "which") }, func(int) State { return rapid.SampledFrom(ends).Draw(t, "how") }) {
			t.Fatalf("nothing is open, and the run has not ended: %+v", p.run)
		}
	}
	t.Fatalf("there is no end: %+v", p.run)
}

// byHand does what a person may do to a run: the first two deeds (0 and 1) while it goes on, all when it has ended.
func (p *play) byHand(most int) bool {
	t := p.t
	i := rapid.IntRange(0, len(p.run.Steps)-1).Draw(t, "step")
	before := slices.Clone(p.run.Steps)
	var err error
	switch rapid.IntRange(0, most).Draw(t, "deed") {
	case 0:
		err = p.run.Skip(p.plan, i)
	case 1:
		err = p.run.SetSuccess(p.plan, i)
	case 2:
		err = p.run.RerunFailed(p.plan)
	case 3:
		err = p.run.RerunFrom(p.plan, i)
	}
	if err != nil {
		if !cmp.Equal(before, p.run.Steps) {
			t.Fatalf("what is refused (%v) is done all the same", err)
		}
		return false
	}
	for i, s := range p.run.Steps {
		if s.State == Waiting {
			p.started[i] = 0
		}
	}
	return true
}

// TestTheOrderOfEndsDoesNotMatter plays a flow twice in which each step ends in a way that is given before, but at another time.
func TestTheOrderOfEndsDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		def := madeUp(t)
		def.OnFailure = OnFailureContinue // else what starts before the first failure does depend on it
		plan := compile2(t, def)
		given := make([]State, len(def.Steps))
		for i := range given {
			given[i] = rapid.SampledFrom(ends).Draw(t, "end")
		}
		var results [2]Run
		for i := range results {
			p := newPlay(t, plan)
			for d := p.decide(); d.Finish == Waiting; d = p.decide() {
				p.end(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "which") }, func(step int) State { return given[step] })
			}
			results[i] = p.run
		}
		if diff := cmp.Diff(results[0], results[1]); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestAFailureThatIsAllowedIsASuccess plays a flow in which such steps fail, and in which they succeed: the others do the same, and the flow
// ends in the same manner.
func TestAFailureThatIsAllowedIsASuccess(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plan := compile2(t, madeUp(t))
		given := make([]State, len(plan.steps))
		for i := range given {
			given[i] = rapid.SampledFrom(ends).Draw(t, "end")
			if plan.steps[i].ContinueOnError {
				given[i] = rapid.SampledFrom([]State{Failed, TimedOut}).Draw(t, "failure")
			}
		}
		var results [2]Run
		var finish [2]State
		for i, allowed := range []State{Waiting, Success} {
			p := newPlay(t, plan)
			for d := p.decide(); ; d = p.decide() {
				if finish[i] = d.Finish; d.Finish != Waiting {
					break
				}
				p.end(func(int) int { return 0 }, func(step int) State {
					if plan.steps[step].ContinueOnError && allowed == Success {
						return Success
					}
					return given[step]
				})
			}
			results[i] = p.run
			for k := range p.run.Steps { // this is where the two may differ
				if s := &p.run.Steps[k]; plan.Allows(k, s.State) {
					s.State, s.Items.Succeeded, s.Items.Failed = Success, s.Items.Succeeded+s.Items.Failed, 0
				}
			}
		}
		if diff := cmp.Diff(results[0], results[1]); diff != "" || finish[0] != finish[1] {
			t.Fatalf("%v and %v: %s", finish[0], finish[1], diff)
		}
	})
}

// TestALargeFlowIsDecidedQuickly has as many steps as there may be, each of which needs all before it.
func TestALargeFlowIsDecidedQuickly(t *testing.T) {
	t.Parallel()
	def := &Definition{}
	for i := range MaxSteps {
		s := Step{ID: fmt.Sprintf("s%d", i), Job: &JobRef{ID: 1}}
		for j := range i {
			s.Needs = append(s.Needs, fmt.Sprintf("s%d", j))
		}
		def.Steps = append(def.Steps, s)
	}
	plan := compile(t, def)
	run := plan.NewRun()
	starts := 0
	for d := plan.Next(run, Data{}); d.Finish == Waiting; d = plan.Next(run, Data{}) {
		run.Apply(plan, d)
		starts += len(d.Start)
		for _, s := range d.Start {
			run.Record(plan, s.Step, Success)
		}
	}
	if starts != MaxSteps {
		t.Errorf("%d starts", starts)
	}
	run = plan.NewRun()
	run.Steps[0] = StepState{State: Failed, Begun: true, Attempt: 1}
	if d := plan.Next(run, Data{}); len(d.End) != MaxSteps-1 || d.Finish != Failed {
		t.Errorf("%d skipped, finish %v", len(d.End), d.Finish)
	}
}

// TestResultsAreHandedOn to parameters, conditions, lists and questions.
func TestResultsAreHandedOn(t *testing.T) {
	t.Parallel()
	plan := compile(t, &Definition{Steps: []Step{
		{ID: "list", Job: &JobRef{ID: 1}},
		{ID: "each", Needs: []string{"list"}, Job: &JobRef{ID: 2}, Param: new(`{"file": "${{ item.name }}", "day": "${{ planned | yyyyMMdd }}", "key": "${{ secrets.KEY }}"}`),
			Foreach: &Foreach{Items: "${{ steps.list.output.files }}", Parallel: 2, Max: 3}},
		{ID: "big", Needs: []string{"list"}, If: "${{ steps.list.output.rows > 100 }}", Job: &JobRef{ID: 3}},
		{ID: "ask", Needs: []string{"list"}, Approve: &Approve{Message: "Pay ${{ steps.list.output.rows }}?"}},
		{ID: "late", Needs: []string{"list"}, Wait: &Wait{Until: "${{ planned | yyyy-MM-dd }} 06:00:00"}},
		{ID: "sum", Needs: []string{"each"}, Job: &JobRef{ID: 4}, Param: new("${{ sum(map(steps.each.items, int(.output.n))) }} ${{ flow.param }}")},
	}})
	zone := time.FixedZone("x", 8*3600)
	results := map[string]Result{"list": {Code: 200, Message: `{"files": [{"name": "a\"b"}, {"name": "c"}, {"name": "d"}], "rows": 12}`}}
	asked := make(map[string]int)
	data := Data{Param: "p", Planned: time.Date(2026, 3, 31, 1, 0, 0, 0, zone), Zone: zone, Results: func(ids []string) map[string]Result {
		for _, id := range ids {
			asked[id]++
		}
		return results
	}}
	run := plan.NewRun()
	run.Apply(plan, plan.Next(run, data))
	run.Record(plan, 0, Success)
	d := plan.Next(run, data)
	if diff := cmp.Diff(map[string]int{"list": 1}, asked); diff != "" {
		t.Errorf("asked for results of steps in one decision, four of whose expressions read them: %s", diff)
	}
	want := Decision{
		Start: []Start{
			{Step: 1, List: []any{map[string]any{"name": `a"b`}, map[string]any{"name": "c"}, map[string]any{"name": "d"}}, Items: 2, Text: `[{"name":"a\"b"},{"name":"c"},{"name":"d"}]`},
			{Step: 3, Text: "Pay 12?"},
			{Step: 4, Until: time.Date(2026, 3, 31, 6, 0, 0, 0, zone)},
		},
		End: []End{{Step: 2, State: Skipped}},
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Fatal(diff)
	}
	param, fault := plan.Params(run, data, 1).Of(d.Start[0].List[0])
	if fault != nil || *param != `{"file": "a\"b", "day": "20260331", "key": "${{ secrets.KEY }}"}` {
		t.Errorf("%v %v", param, fault)
	}
	run.Apply(plan, d)
	clear(asked)
	for range 3 {
		run.RecordItem(plan, 1, Success)
		if len(asked) > 0 {
			t.Errorf("the end of an item asks for %v, which no expression reads then", asked)
		}
		run.Apply(plan, plan.Next(run, data))
	}
	results["each"] = Result{Items: []Result{{State: Success, Output: map[string]string{"n": "1"}}, {State: Success, Output: map[string]string{"n": "2"}}, {State: Success, Message: `{"n": 3}`}}}
	run.Record(plan, 3, Success)
	run.Steps[1].State = Success
	run.Steps[5] = StepState{}
	if d := plan.Next(run, data); len(d.Start) != 1 || *d.Start[0].Param != "6 p" {
		t.Errorf("%+v", d)
	}
}

// TestALongQuestionIsCut where people would not read on.
func TestALongQuestionIsCut(t *testing.T) {
	t.Parallel()
	plan := compile(t, &Definition{Steps: []Step{{ID: "a", Approve: &Approve{Message: "${{ flow.param }}"}}}})
	d := plan.Next(plan.NewRun(), Data{Param: strings.Repeat("天", MaxMessage+1)})
	if got := d.Start[0].Text; utf8.RuneCountInString(got) != MaxMessage+1 || !strings.HasPrefix(got, "天天") || !strings.HasSuffix(got, "天…") {
		t.Errorf("%d bytes: %.20q", len(got), got)
	}
}

// TestWhatCannotBeEvaluatedFailsItsStep and says in which field, with the expression.
func TestWhatCannotBeEvaluatedFailsItsStep(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		step  Step
		field string
		key   string
	}{
		{"a condition", Step{If: "steps.a.output.x.y > 1", Job: &JobRef{ID: 1}}, FieldIf, CodeExpr + "value"},
		{"a condition that is neither true nor false", Step{If: "steps.a.code", Job: &JobRef{ID: 1}}, FieldIf, CodeExpr + "value"},
		{"a parameter", Step{Param: new("${{ int(steps.a.message) }}"), Job: &JobRef{ID: 1}}, FieldParam, CodeExpr + "value"},
		{"a parameter that asks for a secret", Step{Param: new("${{ steps.a.message }}"), Job: &JobRef{ID: 1}}, FieldParam, CodeExpr + "braces"},
		{"a parameter that is too long", Step{Param: new("${{ flow.param }}${{ flow.param }}"), Job: &JobRef{ID: 1}}, FieldParam, CodeParamLong},
		{"what is no list", Step{Foreach: &Foreach{Items: "steps.a.message"}, Job: &JobRef{ID: 1}}, FieldItems, CodeExpr + "value"},
		{"a list that is too long", Step{Foreach: &Foreach{Items: "1..4", Max: 3}, Job: &JobRef{ID: 1}}, FieldItems, CodeItems},
		{"a list longer than any may be", Step{Foreach: &Foreach{Items: "1..10001"}, Job: &JobRef{ID: 1}}, FieldItems, CodeItems},
		{"a question", Step{Approve: &Approve{Message: "${{ int('x') }}"}}, FieldMessage, CodeExpr + "value"},
		{"no moment", Step{Wait: &Wait{Until: "${{ steps.a.message }}!"}}, FieldUntil, CodeExpr + "braces"},
		{"a moment that is none", Step{Wait: &Wait{Until: "${{ steps.a.state }}"}}, FieldUntil, CodeMoment},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.step.ID, tt.step.Needs = "b", []string{"a"}
			plan := compile(t, &Definition{Steps: []Step{{ID: "a", Job: &JobRef{ID: 1}}, tt.step}})
			run := plan.NewRun()
			run.Steps[0] = StepState{State: Success, Attempt: 1, Begun: true}
			d := plan.Next(run, Data{Param: strings.Repeat("x", MaxParam/2+1), Results: func([]string) map[string]Result { return map[string]Result{"a": {Message: "${{ secrets.DB }}"}} }})
			if len(d.End) != 1 || d.End[0].State != Failed || d.Finish != Failed {
				t.Fatalf("%+v", d)
			}
			f := d.End[0].Fault
			if f == nil || f.Step != "b" || f.Name != tt.field || f.Key != tt.key {
				t.Errorf("%v", f)
			}
		})
	}
}
