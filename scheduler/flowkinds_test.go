package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// items are the rows of a foreach.
func (b *bundle) items(run int64, step string) []db.FlowStep {
	b.t.Helper()
	rows, err := b.engine.queries.ListFlowItems(b.t.Context(), b.pool, db.ListFlowItemsParams{FlowLogID: run, Step: step, AfterItem: -1, Limit: 1000})
	if err != nil {
		b.t.Fatal(err)
	}
	return rows
}

// report ends a run as an executor of ours does.
func (b *bundle) report(id int64, code int, msg string, outputs map[string]string) {
	b.t.Helper()
	if err := b.engine.Complete(b.t.Context(), []wire.Callback{{LogID: id, HandleCode: code, HandleMsg: msg, Outputs: outputs}}); err != nil {
		b.t.Fatal(err)
	}
}

// TestAForeachRunsItsItemsSoManyAtATime, each with its parameter, joins them, and gives their results to what comes after.
func TestAForeachRunsItsItemsSoManyAtATime(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		list, each, sum := b.addJob(nil), b.addJob(nil), b.addJob(nil)
		fan := step("each", each, "list")
		fan.Foreach = &flow.Foreach{Items: "steps.list.output", Parallel: 2}
		fan.Param = new("day ${{ item }}")
		join := step("sum", sum, "each")
		join.Param = new("${{ steps.each.items[4].output.rows }} ${{ steps.list.message }}")
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("list", list), fan, join}}, nil)
		run := b.trigger(job)
		b.finish(b.runOf(run, "list"), 200, `["mon","tue","wed","thu","fri"]`)
		done := make(map[int64]bool)
		for range 5 {
			var open []db.FlowStep
			b.await("items are sent", func() bool {
				open = open[:0]
				for _, item := range b.items(run, "each") {
					if item.State == int64(flow.Running) && b.run(item.RunID).TriggerCode == 200 {
						open = append(open, item)
					}
				}
				return len(open) == min(2, 5-len(done))
			})
			item := open[0]
			if r := b.run(item.RunID); string(r.ExecutorParam) != "day "+[]string{"mon", "tue", "wed", "thu", "fri"}[item.Item] || done[item.RunID] {
				t.Errorf("item %d got %q", item.Item, r.ExecutorParam)
			}
			done[item.RunID] = true
			b.report(item.RunID, 200, "", map[string]string{"rows": fmt.Sprint(item.Item)})
		}
		id := b.runOf(run, "sum")
		if r := b.run(id); string(r.ExecutorParam) != `4 ["mon","tue","wed","thu","fri"]` {
			t.Errorf("the join got %q", r.ExecutorParam)
		}
		b.finish(id, 200, "")
		if r := b.ended(run); r.Outcome != event.Succeeded {
			t.Errorf("the flow ended as %v", r.Outcome)
		}
		if s := b.steps(run)["each"]; s.Succeeded != 5 || s.Total != 5 || s.Going != 0 {
			t.Errorf("the step counted %+v", s)
		}
	})
}

// TestARunSaysHowManyItemsFailed where the step with them has nothing to say itself.
func TestARunSaysHowManyItemsFailed(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		each := step("each", b.addJob(nil))
		each.Foreach = &flow.Foreach{Items: "1..3"}
		run := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{each}}, nil))
		b.await("all are sent", func() bool {
			sent := 0
			for _, item := range b.items(run, "each") {
				if b.run(item.RunID).TriggerCode == 200 {
					sent++
				}
			}
			return sent == 3
		})
		for i, item := range b.items(run, "each") {
			b.finish(item.RunID, []int{500, 200, 500}[i], "")
		}
		r := b.ended(run)
		if why, told := b.events(run).Reason(r.Outcome); !told || why.Key != event.FlowItems || why.Text(0) != "each" || why.Number(1) != 2 || why.Number(2) != 3 {
			t.Errorf("it ended as %v and says %v", r.Outcome, why)
		}
	})
}

func TestAnApprovalWaitsForAPerson(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		alarms := &heard{}
		b := setup(t, pool, func(c *Config) { c.Alarms = alarms }, addressA)
		one := b.addJob(nil)
		ask := flow.Step{ID: "ask", Approve: &flow.Approve{Message: "pay ${{ flow.param }}?"}}
		job := b.addFlow(flow.Definition{Steps: []flow.Step{ask, step("pay", one, "ask")}}, nil)
		for _, yes := range []bool{true, false} {
			run := b.trigger(job)
			b.await("it waits for a person", func() bool { return b.steps(run)["ask"].State == int64(flow.Approval) })
			if got := b.steps(run)["ask"].Param; got != "pay of the flow?" {
				t.Errorf("it asks %q", got)
			}
			if a := alarms.last(); a.Cause != AlarmApproval || a.JobID != job || a.LogID != run || len(a.Events) != 1 || a.Events[0].Text(0) != "ask" || a.Events[0].Text(1) != "pay of the flow?" {
				t.Errorf("somebody is told %+v", a)
			}
			recorded := false
			deed := StepDeed{Run: run, Step: "ask", User: "ada", Remark: "fine", Within: func(context.Context, *sql.Tx) error { recorded = true; return nil }}
			if err := b.engine.flows.Approve(t.Context(), deed, yes); err != nil || !recorded {
				t.Fatalf("approve: %v, recorded %v", err, recorded)
			}
			if s := b.steps(run)["ask"]; s.DecidedBy != "ada" || s.Remark != "fine" {
				t.Errorf("it does not say who decided: %+v", s)
			}
			if err := b.engine.flows.Approve(t.Context(), deed, yes); !errors.Is(err, ErrNoQuestion) && !errors.Is(err, ErrFlowEnded) {
				t.Errorf("twice: %v", err)
			}
			want := event.Failed
			if yes {
				b.finish(b.runOf(run, "pay"), 200, "")
				want = event.Succeeded
			}
			if r := b.ended(run); r.Outcome != want {
				t.Errorf("approved %v, it ended as %v: %s", yes, r.Outcome, b.states(run))
			} else if why, told := b.events(run).Reason(r.Outcome); told == yes || !yes && (why.Key != event.FlowRejected || why.Text(0) != "ask" || why.Text(1) != "ada" || !strings.Contains(string(r.HandleMsg), "ask: fine")) {
				t.Errorf("approved %v, it says %v and %q", yes, why, r.HandleMsg)
			}
		}
	})
}

// TestTimesOfAFlowCome: of an approval that nobody answers, of a wait, and of a step and a flow that take too long.
func TestTimesOfAFlowCome(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		steps   func(job int64) []flow.Step
		timeout int64
		states  string
		ends    event.Outcome
	}{
		"a wait is over":        {func(int64) []flow.Step { return []flow.Step{{ID: "a", Wait: &flow.Wait{Seconds: 1}}} }, 0, "a success", event.Succeeded},
		"a moment that is past": {func(int64) []flow.Step { return []flow.Step{{ID: "a", Wait: &flow.Wait{Until: "2001-01-01 00:00:00"}}} }, 0, "a success", event.Succeeded},
		"nobody answers, which is no": {func(int64) []flow.Step {
			return []flow.Step{{ID: "a", Approve: &flow.Approve{TimeoutSeconds: 1}}}
		}, 0, "a rejected", event.Failed},
		"nobody answers, which is yes": {func(int64) []flow.Step {
			return []flow.Step{{ID: "a", Approve: &flow.Approve{TimeoutSeconds: 1, Default: flow.AnswerApprove}}}
		}, 0, "a success", event.Succeeded},
		"a step takes too long": {func(job int64) []flow.Step {
			s := step("a", job)
			s.TimeoutSeconds = 1
			return []flow.Step{s, step("b", job, "a")}
		}, 0, "a timeout, b skipped", event.Failed},
		"a step of items takes too long": {func(job int64) []flow.Step {
			s := step("a", job)
			s.TimeoutSeconds, s.Foreach = 1, &flow.Foreach{Items: "1..3", Parallel: 2}
			return []flow.Step{s, step("b", job, "a")}
		}, 0, "a timeout, b skipped", event.Failed},
		"the flow takes too long": {func(job int64) []flow.Step { return []flow.Step{step("a", job), step("b", job, "a")} }, 1, "a cancelled, b cancelled", event.TimedOut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, nil, addressA)
				job := b.addFlow(flow.Definition{Steps: tc.steps(b.addJob(nil))}, func(p *db.InsertJobParams) { p.ExecutorTimeout = tc.timeout })
				run := b.trigger(job)
				if r := b.ended(run); r.Outcome != tc.ends || b.states(run) != tc.states {
					t.Errorf("ended as %v: %s", r.Outcome, b.states(run))
				}
				want := map[string]event.Key{"a rejected": event.FlowSilent, "a timeout, b skipped": event.FlowLate}[tc.states]
				if why, _ := b.events(run).Reason(event.Failed); why.Key != want {
					t.Errorf("it says %v, want %s", why, want)
				}
			})
		})
	}
}

// TestAFlowIsAStepOfAnother, whose steps are a broadcast.
func TestAFlowIsAStepOfAnother(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA, addressB)
		all := b.addJob(func(p *db.InsertJobParams) { p.ExecutorRouteStrategy = jobspec.RouteShardingBroadcast })
		last := b.addJob(nil)
		after := step("after", last, "all")
		after.Param = new("${{ steps.all.items[1].message }} of ${{ len(steps.all.items) }}")
		inner := b.addFlow(flow.Definition{Steps: []flow.Step{step("all", all), after}}, nil)
		outer := b.addFlow(flow.Definition{Steps: []flow.Step{{ID: "inner", Flow: &flow.JobRef{ID: inner}}, step("last", last, "inner")}}, nil)
		run := b.trigger(outer)
		sub := b.runOf(run, "inner")
		if b.run(sub).JobID != inner {
			t.Fatalf("the step runs job %d", b.run(sub).JobID)
		}
		b.runOf(sub, "all")
		b.await("both shards are sent", func() bool { return len(b.runsOf(all)) == 2 && b.runsOf(all)[1].TriggerCode == 200 })
		for i, shard := range b.runsOf(all) {
			b.finish(shard.ID, 200, fmt.Sprint("shard ", i))
			if got := b.states(sub); i == 0 && got != "all running, after waiting" {
				t.Errorf("after the first shard: %s", got)
			}
		}
		id := b.runOf(sub, "after")
		if r := b.run(id); r.ExecutorParam != "shard 1 of 2" {
			t.Errorf("what comes after got %q", r.ExecutorParam)
		}
		b.finish(id, 200, "")
		b.finish(b.runOf(run, "last"), 200, "")
		if r := b.ended(run); r.Outcome != event.Succeeded || b.run(sub).Outcome != event.Succeeded {
			t.Errorf("they ended as %v and %v", r.Outcome, b.run(sub).Outcome)
		}
	})
}

func TestWhatIsToBeDoneAgainOfAFlowIsARunOfItsOwn(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		one, two, three := b.addJob(nil), b.addJob(nil), b.addJob(nil)
		second := step("second", two, "first")
		second.Foreach, second.Param = &flow.Foreach{Items: "steps.first.output.list"}, new("${{ item }}")
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("first", one), second, step("third", three, "second")}, OnFailure: flow.OnFailureContinue}, nil)
		run := b.trigger(job)
		b.finish(b.runOf(run, "first"), 200, `{"list": ["a", "b", "c"]}`)
		b.await("the items are sent", func() bool { return len(b.runsOf(two)) == 3 && b.runsOf(two)[2].TriggerCode == 200 })
		if _, err := b.engine.flows.Repeat(t.Context(), Repeat{Run: run, User: "ada"}); !errors.Is(err, ErrFlowGoesOn) {
			t.Errorf("while it goes on: %v", err)
		}
		for i, item := range b.runsOf(two) {
			b.finish(item.ID, []int{200, 500, 200}[i], "")
		}
		if r := b.ended(run); r.Outcome != event.Failed {
			t.Fatalf("it ended as %v", r.Outcome)
		}
		b.over(run)
		again, err := b.engine.flows.Repeat(t.Context(), Repeat{Run: run, User: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		b.await("the item is sent again", func() bool { return len(b.runsOf(two)) == 4 && b.runsOf(two)[3].TriggerCode == 200 })
		if r := b.runsOf(two)[3]; r.ExecutorParam != "b" {
			t.Errorf("done again is %q", r.ExecutorParam)
		}
		b.finish(b.runsOf(two)[3].ID, 200, "")
		b.finish(b.runOf(again, "third"), 200, "")
		if r := b.ended(again); r.Outcome != event.Succeeded || len(b.runsOf(one)) != 1 || len(b.items(again, "second")) != 3 {
			t.Errorf("it ended as %v; the first step ran %d times; %d items", r.Outcome, len(b.runsOf(one)), len(b.items(again, "second")))
		}
		b.over(again)
		from, err := b.engine.flows.Repeat(t.Context(), Repeat{Run: again, From: "third", User: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		b.finish(b.runOf(from, "third"), 200, "")
		if r := b.ended(from); r.Outcome != event.Succeeded || len(b.runsOf(two)) != 4 || len(b.runsOf(three)) != 2 {
			t.Errorf("from the third step: %v, %d, %d", r.Outcome, len(b.runsOf(two)), len(b.runsOf(three)))
		}
	})
}

// TestWhatDidNotBeginIsDoneAgain: a run that was to do a part of a flow again, and was discarded or ended while it waited for its place, does not go
// on. What it was to do can be asked for once more.
func TestWhatDidNotBeginIsDoneAgain(t *testing.T) {
	t.Parallel()
	for from, block := range map[string]wire.Block{"second": wire.BlockDiscardLater, "": wire.BlockSerial} {
		t.Run(string(block), func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, nil, addressA)
				one, two := b.addJob(nil), b.addJob(nil)
				job := b.addFlow(flow.Definition{Steps: []flow.Step{step("first", one), step("second", two, "first")}}, func(p *db.InsertJobParams) {
					p.ExecutorBlockStrategy = db.Text(block)
				})
				run := b.trigger(job)
				b.finish(b.runOf(run, "first"), 200, "")
				b.finish(b.runOf(run, "second"), 500, "no")
				b.ended(run)
				b.over(run)
				other := b.trigger(job) // has the place of the flow
				b.runOf(other, "first")
				given, err := b.engine.flows.Repeat(t.Context(), Repeat{Run: run, From: "second", User: "ada"})
				if err != nil {
					t.Fatal(err)
				}
				if block == wire.BlockSerial {
					if _, err := b.engine.flows.Repeat(t.Context(), Repeat{Run: given, User: "ada"}); !errors.Is(err, ErrFlowGoesOn) {
						t.Errorf("while it waits: %v", err)
					}
					if err := b.engine.Kill(t.Context(), given, "ada"); err != nil {
						t.Fatal(err)
					}
				}
				b.await("it has ended", func() bool { r := b.run(given); return ended(&r) })
				b.finish(b.runOf(other, "first"), 200, "")
				b.finish(b.runOf(other, "second"), 200, "")
				b.ended(other)
				again, err := b.engine.flows.Repeat(t.Context(), Repeat{Run: given, From: from, User: "ada"})
				if err != nil {
					t.Fatalf("of a run that ended as %v: %v", b.run(given).Outcome, err)
				}
				b.finish(b.runOf(again, "second"), 200, "")
				if r := b.ended(again); r.Outcome != event.Succeeded || len(b.runsOf(one)) != 2 || len(b.runsOf(two)) != 3 {
					t.Errorf("it ended as %v; the first step ran %d times, the second %d times", r.Outcome, len(b.runsOf(one)), len(b.runsOf(two)))
				}
			})
		})
	}
}

// over waits until the end of a flow's run is noted.
func (b *bundle) over(run int64) {
	b.t.Helper()
	b.await("it is over", func() bool {
		f, err := b.engine.queries.GetFlowRun(b.t.Context(), b.pool, run)
		return err == nil && f.State == flowOver
	})
}

// TestAStepIsSkippedOrTakenForASuccessByHand, while another step keeps the run going.
func TestAStepIsSkippedOrTakenForASuccessByHand(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		one, two, three := b.addJob(nil), b.addJob(nil), b.addJob(nil)
		def := flow.Definition{OnFailure: flow.OnFailureContinue, Steps: []flow.Step{step("bad", one), step("long", two), step("after", three, "bad"), step("left", three, "long")}}
		run := b.trigger(b.addFlow(def, nil))
		long := b.runOf(run, "long")
		b.finish(b.runOf(run, "bad"), 500, "no")
		b.await("what comes after is skipped", func() bool { return b.steps(run)["after"].State == int64(flow.Skipped) })
		if err := b.engine.flows.SetStepSuccess(t.Context(), StepDeed{Run: run, Step: "long", User: "ada"}); !errors.Is(err, ErrStepNotSo) {
			t.Errorf("of a step that goes on: %v", err)
		}
		if err := b.engine.flows.SetStepSuccess(t.Context(), StepDeed{Run: run, Step: "bad", User: "ada"}); err != nil {
			t.Fatal(err)
		}
		b.finish(b.runOf(run, "after"), 200, "")
		if err := b.engine.flows.SkipStep(t.Context(), StepDeed{Run: run, Step: "left", User: "ada"}); err != nil {
			t.Fatal(err)
		}
		b.finish(long, 200, "")
		if r := b.ended(run); r.Outcome != event.Succeeded || b.states(run) != "bad success, long success, after success, left skipped" {
			t.Errorf("it ended as %v: %s", r.Outcome, b.states(run))
		}
	})
}

// TestHowManyRunsOfAFlowThereAre is by the block strategy, as an executor would.
func TestHowManyRunsOfAFlowThereAre(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		block         wire.Block
		full          jobspec.Concurrency
		first, second event.Outcome
	}{
		{wire.BlockSerial, jobspec.ConcurrencyQueue, event.Succeeded, event.Succeeded},
		{wire.BlockSerial, jobspec.ConcurrencyDiscard, event.Succeeded, event.Discarded},
		{wire.BlockDiscardLater, jobspec.ConcurrencyQueue, event.Succeeded, event.Discarded},
		{wire.BlockCoverEarly, jobspec.ConcurrencyQueue, event.Killed, event.Succeeded},
		{wire.BlockCoverEarly, jobspec.ConcurrencyDiscard, event.Killed, event.Succeeded}, // or both would be lost
	} {
		t.Run(string(tc.block)+" "+string(tc.full), func(t *testing.T) {
			t.Parallel()
			dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
				b := setup(t, pool, nil, addressA)
				job := b.addFlow(flow.Definition{Steps: []flow.Step{step("a", b.addJob(nil))}}, func(p *db.InsertJobParams) {
					p.ExecutorBlockStrategy, p.ConcurrencyPolicy = db.Text(tc.block), string(tc.full)
				})
				first := b.trigger(job)
				sent := b.runOf(first, "a")
				second := b.trigger(job)
				if tc.first == event.Succeeded {
					if tc.second == event.Discarded {
						b.ended(second)
					} else if n := len(b.steps(second)); n != 0 {
						t.Errorf("the second run began beside the first, with %d steps", n)
					}
					b.finish(sent, 200, "")
				}
				if r := b.ended(first); r.Outcome != tc.first {
					t.Errorf("the first run ended as %v", r.Outcome)
				}
				if tc.second == event.Succeeded {
					b.finish(b.runOf(second, "a"), 200, "")
				}
				if r := b.ended(second); r.Outcome != tc.second {
					t.Errorf("the second run ended as %v", r.Outcome)
				}
			})
		})
	}
}

// TestADefinitionThatCannotBeReadEndsItsRun, and says why, in XXL-JOB's column in words too.
func TestADefinitionThatCannotBeReadEndsItsRun(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, func(c *Config) { c.English = locales.New().Printer("en") }, addressA)
		job := b.addFlow(flow.Definition{}, func(p *db.InsertJobParams) { p.GlueSource = "steps: 7" })
		run := b.trigger(job)
		if r := b.ended(run); r.Outcome != event.NotSent || !b.has(run, event.NoFlow) {
			t.Errorf("it ended as %v: %s", r.Outcome, b.events(run))
		} else if said := string(r.TriggerMsg); !strings.Contains(said, "cannot be read: Line 1: “steps” takes a list.") {
			t.Errorf("the column says %q", said)
		}
	})
}

func TestARunKeepsTheDefinitionThatItBeganWith(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		one := b.addJob(nil)
		job := b.addFlow(flow.Definition{Steps: []flow.Step{step("a", one), step("b", one, "a")}}, nil)
		run := b.trigger(job)
		first := b.runOf(run, "a")
		b.exec("UPDATE xxl_job_info SET glue_source = 'steps: [{id: other, wait: {seconds: 1}}]', glue_updatetime = ? WHERE id = ?", pool.Wall(time.Now().Add(time.Hour)), job)
		b.finish(first, 200, "")
		b.finish(b.runOf(run, "b"), 200, "")
		if r := b.ended(run); r.Outcome != event.Succeeded || strings.Contains(b.states(run), "other") {
			t.Errorf("it ended as %v: %s", r.Outcome, b.states(run))
		}
		if next := b.trigger(job); true {
			b.await("the next goes by the new one", func() bool { return strings.Contains(b.states(next), "other") })
		}
	})
}

// TestAListThatCannotBeStoredFailsItsStep and keeps nothing else from being recorded: the decision stands in the transaction that records the
// results of all runs that ended with it.
func TestAListThatCannotBeStoredFailsItsStep(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		one, each := b.addJob(nil), b.addJob(nil)
		for items, want := range map[string]string{
			"[1, 0 / 0]": "the number has no end", "[2 ** 10000]": "the number has no end", "map(1..300, steps.first.message)": "does too much",
		} {
			fan := step("each", each, "first")
			fan.Foreach = &flow.Foreach{Items: items}
			run := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{step("first", one), fan}}, nil))
			b.finish(b.runOf(run, "first"), 200, strings.Repeat("a", 4000))
			if r := b.ended(run); r.Outcome != event.Failed || !strings.Contains(string(r.HandleMsg), want) {
				t.Errorf("%s: it ended as %v: %s", items, r.Outcome, r.HandleMsg)
			}
		}
	})
}

// TestAPartOfATextIsStored: a parameter that is made of the beginning of a word is text in every database.
func TestAPartOfATextIsStored(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		one := b.addJob(nil)
		second := step("second", one, "first")
		second.Param = new("${{ steps.first.message[0:1] }}")
		run := b.trigger(b.addFlow(flow.Definition{Steps: []flow.Step{step("first", one), second}}, nil))
		b.finish(b.runOf(run, "first"), 200, "天地玄黄")
		if got := b.run(b.runOf(run, "second")).ExecutorParam; got != "天" {
			t.Errorf("the second step got %q", got)
		}
	})
}

// TestFlowsThatStartEachOtherEnd: nobody may save them, but two who save at the same time, or a job that is given another name, can make them.
func TestFlowsThatStartEachOtherEnd(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil, addressA)
		within := func(id, name string) flow.Definition {
			return flow.Definition{Steps: []flow.Step{{ID: id, Flow: &flow.JobRef{AppName: "orders", Description: name}}}}
		}
		named := func(name string) func(*db.InsertJobParams) {
			return func(p *db.InsertJobParams) { p.JobDesc, p.MaxConcurrent = name, 10 }
		}
		b.addFlow(within("third", "first flow"), named("third flow"))
		b.addFlow(within("second", "third flow"), named("second flow"))
		run := b.trigger(b.addFlow(within("first", "second flow"), named("first flow")))
		if r := b.ended(run); r.Outcome != event.Failed || !strings.Contains(string(r.HandleMsg), "first: second: third: flow orders / first flow would start itself") {
			t.Errorf("it ended as %v: %s", r.Outcome, r.HandleMsg)
		}
		gone := b.addFlow(within("a", "nothing of that name"), nil)
		if r := b.ended(b.trigger(gone)); !strings.Contains(string(r.HandleMsg), "job orders / nothing of that name does not exist") {
			t.Errorf("it does not say which job there is not: %s", r.HandleMsg)
		}
	})
}

// TestRunsThatNobodyCanDecideAboutKeepNoOtherFromItsTime: those whose definition cannot be read, or of which the database takes nothing, are due for ever.
func TestRunsThatNobodyCanDecideAboutKeepNoOtherFromItsTime(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		first := setup(t, pool, nil, addressA)
		def := flow.Definition{Steps: []flow.Step{{ID: "pause", Wait: &flow.Wait{Seconds: 3600}}}}
		job := first.addFlow(def, nil)
		run, stuck := first.trigger(job), first.trigger(first.addFlow(def, nil))
		for _, id := range []int64{run, stuck} {
			first.await("the flow waits", func() bool { return first.states(id) == "pause running" })
		}
		if err := first.engine.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		text := first.definition("later", "steps:\n  - id: first\n    quantum: 7\n")
		unread := make([]db.FlowRun, 1100)
		for i := range unread {
			unread[i] = db.FlowRun{LogID: run + 1000 + int64(i), JobID: job, TextID: text, WakeAt: 1}
		}
		for part := range slices.Chunk(unread, 500) {
			if err := db.InsertFlowRuns(ctx, pool, part); err != nil {
				t.Fatal(err)
			}
		}
		first.exec("UPDATE punctual_flow_step SET due_at = 2 WHERE flow_log_id = ?", run)
		first.exec("UPDATE punctual_flow_run SET wake_at = 2 WHERE log_id = ?", run)
		first.exec("UPDATE punctual_flow_run SET wake_at = 2 WHERE log_id = ?", stuck)
		first.refuse("punctual_flow_run", "BEFORE UPDATE", fmt.Sprintf("NEW.log_id = %d", stuck))
		e := newEngine(t, pool, first.executors, nil)
		b := &bundle{t: t, pool: pool, executors: first.executors, group: first.group, engine: e}
		b.startEngine(e)
		if r := b.ended(run); r.Outcome != event.Succeeded {
			t.Errorf("the flow ended as %v", r.Outcome)
		}
	})
}

// TestARunByADefinitionThatCannotBeRead ends when somebody wants it: one of a later version began it, and that is not there any more.
func TestARunByADefinitionThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		first := setup(t, pool, nil, addressA)
		run := first.trigger(first.addFlow(flow.Definition{Steps: []flow.Step{step("first", first.addJob(nil))}}, nil))
		going := first.runOf(run, "first")
		if err := first.engine.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		first.exec("UPDATE punctual_flow_text SET source = ?", "steps:\n  - id: first\n    quantum: 7\n")
		b := &bundle{t: t, pool: pool, executors: first.executors, group: first.group}
		b.engine = newEngine(t, pool, b.executors, nil)
		b.startEngine(b.engine)
		if err := b.engine.Kill(t.Context(), run, "ada"); err != nil {
			t.Fatal(err)
		}
		if r := b.ended(run); r.Outcome != event.Killed || !b.has(run, event.KillAsked) {
			t.Errorf("the run is %v", r.Outcome)
		}
		if r := b.ended(going); r.Outcome != event.Killed {
			t.Errorf("what its step ran is %v", r.Outcome)
		}
	})
}
