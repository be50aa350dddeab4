package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
)

// whyOfRun is the event that the end of a run came of, and what it is told as in a language.
func (b *bundle) whyOfRun(run int64, language string) (event.Event, string) {
	b.t.Helper()
	r := b.ended(run)
	record := runstate.Run{Outcome: r.Outcome, Events: event.Parse(string(r.Events)), TriggerCode: r.TriggerCode, HandleCode: r.HandleCode, HandleNote: string(r.HandleMsg)}
	why, _ := record.Reason()
	if words := record.Words(); len(words) > 0 {
		b.t.Errorf("the run says %q in words of its own", words)
	}
	return why, record.Message(event.Teller{Printer: locales.New().Printer(language)})
}

// TestWhyAStepFailedIsKeptAsAnEvent: where no executor has said it. Of flows within flows the way to the step is told. An old admin reads it in English.
func TestWhyAStepFailedIsKeptAsAnEvent(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		const group = 4711 // which there is not
		nobody := b.addJob(func(p *db.InsertJobParams) { p.JobGroup = group })
		inner := b.addFlow(flow.Definition{Steps: []flow.Step{step("deep", nobody)}}, nil)
		middle := b.addFlow(flow.Definition{Steps: []flow.Step{{ID: "inner", Flow: &flow.JobRef{ID: inner}}}}, nil)
		outer := b.addFlow(flow.Definition{Steps: []flow.Step{{ID: "middle", Flow: &flow.JobRef{ID: middle}}}}, nil)
		run := b.trigger(outer)
		for language, want := range map[string]string{
			"en":    fmt.Sprintf("Step middle / inner / deep failed: Not sent: executor group %d does not exist", group),
			"zh-CN": fmt.Sprintf("步骤 middle / inner / deep 失败：未发送：执行器 %d 不存在", group),
			"zh-TW": fmt.Sprintf("步驟 middle / inner / deep 失敗：未送出：執行器 %d 不存在", group),
		} {
			if why, got := b.whyOfRun(run, language); got != want || why.Key != event.FlowCause {
				t.Errorf("%s: the flow says %q, want %q", language, got, want)
			}
		}
		english := fmt.Sprintf("not sent: executor group %d does not exist", group)
		if r := b.run(run); string(r.HandleMsg) != "middle: inner: deep: "+english {
			t.Errorf("the column says %q", r.HandleMsg)
		}
		sub := b.steps(run)["middle"].RunID
		deep := b.steps(b.steps(sub)["inner"].RunID)["deep"]
		if why, rest, ok := flow.WhyOf(string(deep.Output)); !ok || why.Key != event.NoGroup || rest != "" || string(deep.Message) != english {
			t.Errorf("the step has %q, %q", deep.Output, deep.Message)
		}
		if why, _, ok := flow.WhyOf(string(b.steps(run)["middle"].Output)); !ok || why.Key != event.FlowCause || why.Text(0) != "inner / deep" {
			t.Errorf("the step of the flow within has %q", b.steps(run)["middle"].Output)
		}
	})
}

// TestWhyAStepFailedIsKeptBesideWhatOthersGave: of a broadcast, and of a run that somebody ended or that was given up.
func TestWhyAStepFailedIsKeptBesideWhatOthersGave(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA, addressB)
		all := b.addJob(func(p *db.InsertJobParams) { p.ExecutorRouteStrategy = jobspec.RouteShardingBroadcast })
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("all", all)}}, nil)
		run := b.trigger(job)
		b.runOf(run, "all")
		b.await("both shards are sent", func() bool { return len(b.runsOf(all)) == 2 && b.runsOf(all)[1].TriggerCode == wire.CodeSuccess })
		shards := b.runsOf(all)
		b.report(shards[0].ID, 200, "", map[string]string{"rows": "7"})
		lost := finishing{id: shards[1].ID, code: wire.CodeFail, given: event.Lost, why: event.List{event.New(b.engine.now(), event.LostRun, event.LostGone, addressB)}}
		if err := b.engine.complete(t.Context(), []finishing{lost}); err != nil {
			t.Fatal(err)
		}
		if why, got := b.whyOfRun(run, "zh-CN"); why.Key != event.FlowCause || !strings.HasPrefix(got, "步骤 all 失败：任务结果丢失") {
			t.Errorf("the flow says %q", got)
		}
		// Where the move's own admin does not come to it, the sweep of another one says the same by what stands in the row.
		swept, err := b.engine.flows.resultOfRun(t.Context(), flowEnd{log: run, ends: flow.Failed, step: "all"})
		if cause, ok := swept.why.Last(event.FlowCause); err != nil || !ok || !strings.Contains(cause.Text(1), string(event.LostRun)) {
			t.Errorf("the sweep says %v, %v", swept.why, err)
		}
		why, rest, ok := flow.WhyOf(string(b.steps(run)["all"].Output))
		if !ok || why.Key != event.LostRun || !strings.Contains(rest, `"rows":"7"`) || strings.Contains(rest, "why") {
			t.Errorf("the step has %q", b.steps(run)["all"].Output)
		}
		one := b.addJob(nil)
		job = b.addFlow(flow.Definition{Steps: []flow.Step{step("first", one)}}, nil)
		run = b.trigger(job)
		if err := b.engine.Kill(t.Context(), b.runOf(run, "first"), "ada"); err != nil {
			t.Fatal(err)
		}
		b.ended(run)
		if why, _, ok := flow.WhyOf(string(b.steps(run)["first"].Output)); !ok || why.Key != event.KilledAt || why.Text(0) != "ada" {
			t.Errorf("the step that somebody ended has %q", b.steps(run)["first"].Output)
		}
		run = b.trigger(job)
		b.finish(b.runOf(run, "first"), 500, "no disk")
		if r := b.ended(run); !strings.Contains(string(r.HandleMsg), "first: no disk") || b.has(run, event.FlowCause) || b.steps(run)["first"].Output != "" {
			t.Errorf("what an executor said is kept as %q, %q", r.HandleMsg, b.steps(run)["first"].Output)
		}
	})
}

// TestWhatIsWrongInADefinitionIsTheCauseOfItsRun: an expression without a value.
func TestWhatIsWrongInADefinitionIsTheCauseOfItsRun(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		one := b.addJob(nil)
		second := step("second", one, "first")
		second.If = "steps.first.message > 3"
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("first", one), second}}, nil)
		outer := b.addFlow(flow.Definition{Steps: []flow.Step{{ID: "inner", Flow: &flow.JobRef{ID: job}}}}, nil)
		run := b.trigger(outer)
		sub := b.runOf(run, "inner")
		b.finish(b.runOf(sub, "first"), 200, "many")
		got := make(map[string]string)
		for _, language := range []string{"en", "zh-CN"} {
			_, got[language] = b.whyOfRun(run, language)
			_, text := b.whyOfRun(sub, language)
			if strings.Replace(got[language], "inner / ", "", 1) != text {
				t.Errorf("%s: the flow within says %q, the one around it %q", language, text, got[language])
			}
		}
		want := map[string]string{
			"en":    "Step inner / second failed: if (line 1): The expression “steps.first.message > 3” has no value: a text and a number have no order.",
			"zh-CN": "步骤 inner / second 失败：if（第 1 行）：表达式“steps.first.message > 3”无法求值：文本与数字不能比较大小。",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("it is told (-want +got):\n%s", diff)
		}
		each := step("each", one)
		each.Foreach = &flow.Foreach{Items: "1..10001"}
		long := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{each}}, nil))
		for language, want := range map[string]string{
			"en":    "Step each failed: items (line 1): The list has 10,001 items, and at most 10,000 are allowed.",
			"zh-TW": "步驟 each 失敗：items（第 1 行）：清單有 10,001 項，最多允許 10,000 項。",
		} {
			if _, got := b.whyOfRun(long, language); got != want {
				t.Errorf("%s: it is told as %q, want %q", language, got, want)
			}
		}
		if r := b.run(run); !strings.Contains(string(r.HandleMsg), "a text and a number have no order") {
			t.Errorf("the column says %q", r.HandleMsg)
		}
	})
}

// TestWhatCannotBeReadIsToldInTheReadersLanguage: a definition, and a schedule. XXL-JOB's column has it in English.
func TestWhatCannotBeReadIsToldInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		odd := b.addJob(func(p *db.InsertJobParams) { p.ScheduleType, p.ScheduleConf = jobspec.ScheduleCron, "0 61 * * * ?" })
		b.start(odd, time.Now())
		b.await("the job is stopped", func() bool { return len(b.runsOf(odd)) == 1 })
		for run, want := range map[int64]struct{ zh, column string }{
			b.trigger(b.addFlow(flow.Definition{}, func(p *db.InsertJobParams) { p.GlueSource = "steps:\n  - {id: a, job: 1, needs: b}" })): {
				"未开始：无法读取工作流定义：步骤 a 的 needs（第 2 行）：依赖的步骤“b”不存在。", "line 2: step a: needs: flow.error.needs",
			},
			b.runsOf(odd)[0].ID: {"任务已停止：", "job stopped: cron"},
		} {
			why, got := b.whyOfRun(run, "zh-CN")
			if why.Text(0) == "" || !strings.HasPrefix(got, want.zh) || strings.Contains(got, "cron") {
				t.Errorf("%s is told as %q", why, got)
			}
			if r := b.run(run); !strings.Contains(string(r.TriggerMsg), want.column) {
				t.Errorf("the column says %q", r.TriggerMsg)
			}
		}
	})
}

// TestAStepThatRanOutOfTimeSaysThat: and not, in the engine's words, that its flow ended the attempt that waited.
func TestAStepThatRanOutOfTimeSaysThat(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		one := step("first", b.addJob(nil))
		retries := int64(3)
		one.Retries, one.RetryBackoff, one.TimeoutSeconds = &retries, "1h", 1
		run := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{one}}, nil))
		b.finish(b.runOf(run, "first"), 500, "no disk")
		if why, got := b.whyOfRun(run, "zh-CN"); why.Key != event.FlowLate || got != "步骤 first 超时" {
			t.Errorf("it says %q", got)
		}
		if s := b.steps(run)["first"]; s.State != int64(flow.TimedOut) || s.Message != "" || s.Output != "" {
			t.Errorf("the step is %s and has %q, %q", flow.State(s.State), s.Message, s.Output)
		}
	})
}

// TestAFailedFlowNamesAStep: also where none failed in this run of it, or another one was set right by hand.
func TestAFailedFlowNamesAStep(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		one, two := b.addJob(nil), b.addJob(nil)
		names := func(run int64, step, words string) {
			t.Helper()
			r := b.ended(run)
			if e, ok := b.events(run).Last(event.FlowFailed); !ok || e.Text(0) != step || !strings.Contains(string(r.HandleMsg), words) {
				t.Errorf("it ended as %v with %v and %q, want step %s", r.Outcome, e, r.HandleMsg, step)
			}
		}
		run := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{step("first", one), step("second", two, "first")}}, nil))
		b.finish(b.runOf(run, "first"), 500, "no disk")
		names(run, "first", "first: no disk")
		b.await("it is over", func() bool {
			row, err := b.engine.queries.GetFlowRun(t.Context(), pool, run)
			return err == nil && row.State == flowOver
		})
		again, err := b.engine.Flows().Repeat(t.Context(), Repeat{Run: run, From: "second", User: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		names(again, "first", "first: no disk")

		def := flow.Definition{OnFailure: flow.OnFailureContinue, Steps: []flow.Step{step("first", one), step("second", two), step("third", one)}}
		run = b.trigger(b.addFlow(def, nil))
		third := b.runOf(run, "third")
		b.finish(b.runOf(run, "first"), 500, "no disk")
		b.finish(b.runOf(run, "second"), 500, "no paper")
		if err := b.engine.Flows().SetStepSuccess(t.Context(), StepDeed{Run: run, Step: "first", User: "ada"}); err != nil {
			t.Fatal(err)
		}
		b.finish(third, 200, "")
		names(run, "second", "second: no paper")
	})
}
