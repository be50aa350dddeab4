package scheduler

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// TestAFlowGivesItsOutputsToTheFlowAround it, as they are: a list there has items.
func TestAFlowGivesItsOutputsToTheFlowAround(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		list, each := b.addJob(nil), b.addJob(nil)
		inner := b.addFlow(flow.Definition{
			Steps:   []flow.Step{step("list", list)},
			Outputs: []flow.Output{{Name: "files", Value: "${{ steps.list.output.files }}"}, {Name: "of", Value: "flow.param"}, {Name: "day", Value: "planned('yyyy')"}},
		}, nil)
		fan := step("each", each, "inner")
		fan.Foreach, fan.Param = &flow.Foreach{Items: "steps.inner.output.files", Parallel: 1}, new("${{ item }} of ${{ steps.inner.output.of }}")
		within := flow.Step{ID: "inner", Flow: &flow.JobRef{ID: inner}, Param: new("x")}
		run := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{within, fan}}, nil))
		sub := b.runOf(run, "inner")
		b.finish(b.runOf(sub, "list"), 200, `{"files": ["a\"b", 2]}`)
		for i, want := range []string{`a"b of x`, "2 of x"} {
			b.await("the item is sent", func() bool {
				items := b.items(run, "each")
				return len(items) == i+1 && b.run(items[i].RunID).TriggerCode == 200
			})
			item := b.run(b.items(run, "each")[i].RunID)
			if string(item.ExecutorParam) != want {
				t.Errorf("an item got %q, want %q", item.ExecutorParam, want)
			}
			b.finish(item.ID, 200, "")
		}
		if r := b.ended(run); r.Outcome != event.Succeeded || r.HandleMsg != "" {
			t.Errorf("it ended as %v with %q", r.Outcome, r.HandleMsg)
		}
		year := b.engine.now().In(b.engine.cfg.JobZone).Format("2006")
		if r := b.ended(sub); string(r.HandleMsg) != `{"files":["a\"b",2],"of":"x","day":"`+year+`"}` {
			t.Errorf("the flow within gave %q", r.HandleMsg)
		}
	})
}

// TestAFlowWhoseOutputHasNoValueFails and says which, also where it is a step.
func TestAFlowWhoseOutputHasNoValueFails(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		inner := b.addFlow(flow.Definition{Steps: []flow.Step{step("count", b.addJob(nil))}, Outputs: []flow.Output{{Name: "rows", Value: "int(steps.count.message)"}}}, nil)
		run := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{{ID: "inner", Flow: &flow.JobRef{ID: inner}}}}, nil))
		sub := b.runOf(run, "inner")
		b.finish(b.runOf(sub, "count"), 200, "many")
		if r := b.ended(run); r.Outcome != event.Failed || b.run(sub).Outcome != event.Failed || b.states(sub) != "count success" {
			t.Fatalf("they ended as %v and %v", r.Outcome, b.run(sub).Outcome)
		}
		got := make(map[string]string)
		for _, language := range []string{"en", "zh-CN"} {
			_, got[language] = b.whyOfRun(sub, language)
			if _, around := b.whyOfRun(run, language); !strings.HasSuffix(around, got[language]) {
				t.Errorf("the flow around says %q", around)
			}
		}
		want := map[string]string{
			"en":    "An output has no value: outputs.rows (line 1): The expression “int(steps.count.message)” has no value: the text is no whole number.",
			"zh-CN": "输出无法求值：outputs.rows（第 1 行）：表达式“int(steps.count.message)”无法求值：文本不是整数。",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("it is told (-want +got):\n%s", diff)
		}
		if r := b.run(sub); !strings.HasPrefix(string(r.HandleMsg), "outputs.rows (line 1): the expression") || strings.Count(string(r.HandleMsg), "whole number") != 1 {
			t.Errorf("the column says %q", r.HandleMsg)
		}
	})
}

// TestTheOutputsOfADecidedFlowAreGiven by whoever writes its end: the admin that decided it died.
func TestTheOutputsOfADecidedFlowAreGiven(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.SweepEvery = time.Hour }, addressA)
		one := b.addJob(nil)
		for value, want := range map[string]event.Outcome{"steps.first.state": event.Succeeded, "int('x')": event.Failed} {
			run := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{step("first", one)}, Outputs: []flow.Output{{Name: "state", Value: value}}}, nil))
			b.runOf(run, "first")
			ends := flow.Success
			if want == event.Failed {
				ends = flow.Failed
			}
			b.exec("UPDATE punctual_flow_step SET state = ? WHERE flow_log_id = ?", int(flow.Success), run)
			b.exec("UPDATE punctual_flow_run SET state = 1, ends = ? WHERE log_id = ?", int(ends), run)
			if err := b.engine.flows.sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			r := b.run(run)
			if gave := string(r.HandleMsg); r.Outcome != want || want == event.Succeeded && gave != `{"state":"success"}` || want == event.Failed && !strings.HasPrefix(gave, "outputs.state (line 1): ") {
				t.Errorf("%s: it ended as %v with %q", value, r.Outcome, gave)
			}
		}
	})
}
