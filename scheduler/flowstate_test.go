package scheduler

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// stateOf is a run of a definition whose steps are in some states.
func stateOf(t *testing.T, definition string, steps ...db.FlowStep) *flowState {
	t.Helper()
	def, err := flow.Parse([]byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	plan, faults := flow.Compile(def)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	f := &flowState{row: db.FlowRun{State: flowGoing}, plan: &flowPlan{def: def, plan: plan, place: make(map[string]int)}}
	for i := range def.Steps {
		f.plan.place[def.Steps[i].ID] = i
		step := steps[i]
		step.Step, step.Item = def.Steps[i].ID, -1
		f.steps = append(f.steps, &flowStep{FlowStep: step, place: i})
		f.run.Steps = append(f.run.Steps, stateOfRow(&step, false))
	}
	return f
}

// TestAFlowNamesTheStepThatFailedFirst, of those whose failure counts, where it was not noted as they failed.
func TestAFlowNamesTheStepThatFailedFirst(t *testing.T) {
	t.Parallel()
	const steps = "steps: [{id: a, wait: {seconds: 60}, continue_on_error: true}, {id: b, wait: {seconds: 60}}, {id: c, wait: {seconds: 60}}, {id: d, wait: {seconds: 60}}]"
	row := func(state flow.State, ended int64) db.FlowStep {
		return db.FlowStep{State: int64(state), EndedAt: ended, Message: "why"}
	}
	for name, tt := range map[string]struct {
		steps []db.FlowStep
		known string
		ends  flow.State
		want  string
	}{
		"the earliest":                   {[]db.FlowStep{row(flow.Failed, 1), row(flow.Success, 2), row(flow.Failed, 9), row(flow.TimedOut, 3)}, "", flow.Failed, "d"},
		"the first of those of a moment": {[]db.FlowStep{row(flow.Failed, 1), row(flow.Failed, 5), row(flow.Failed, 5), row(flow.Failed, 5)}, "", flow.Failed, "b"},
		"none that counts":               {[]db.FlowStep{row(flow.Failed, 1), row(flow.Success, 2), row(flow.Success, 3), row(flow.Skipped, 4)}, "", flow.Failed, ""},
		"one is known":                   {[]db.FlowStep{row(flow.Failed, 1), row(flow.Failed, 2), row(flow.Failed, 3), row(flow.Failed, 4)}, "c", flow.Failed, "c"},
		"it succeeded all the same":      {[]db.FlowStep{row(flow.Failed, 1), row(flow.Failed, 2), row(flow.Success, 3), row(flow.Success, 4)}, "", flow.Success, ""},
	} {
		f := stateOf(t, steps, tt.steps...)
		f.row.FailedStep, f.row.Ends = tt.known, int64(tt.ends)
		f.nameFailure()
		if f.row.FailedStep != tt.want || (f.why != "") != (tt.want != "" && tt.known == "") {
			t.Errorf("%s: step %q, because %q", name, f.row.FailedStep, f.why)
		}
	}
}

func TestAFlowNamesItsFirstStep(t *testing.T) {
	t.Parallel()
	f := stateOf(t, "steps: [{id: a, wait: {seconds: 60}}, {id: b, wait: {seconds: 60}}]", db.FlowStep{State: int64(flow.Failed), EndedAt: 1}, db.FlowStep{State: int64(flow.Failed), EndedAt: 2})
	f.row.Ends = int64(flow.Failed)
	if f.nameFailure(); f.row.FailedStep != "a" {
		t.Errorf("step %q", f.row.FailedStep)
	}
}

// TestWhenAFlowIsLookedAtAgain: at the first of its times, and soon where a step was to end and has not.
func TestWhenAFlowIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000)
	at, running := now.UnixMilli(), int64(flow.Running)
	for name, tt := range map[string]struct {
		row   db.FlowRun
		asked flow.Asked
		a, b  db.FlowStep
		want  int64
	}{
		"never":                        {db.FlowRun{State: flowGoing}, flow.AskedNothing, db.FlowStep{State: running}, db.FlowStep{State: running}, 0},
		"at its deadline":              {db.FlowRun{State: flowGoing, Deadline: at + 5}, flow.AskedNothing, db.FlowStep{State: running, DueAt: at + 6}, db.FlowStep{State: running}, at + 5},
		"at a step's time":             {db.FlowRun{State: flowGoing, Deadline: at + 5}, flow.AskedNothing, db.FlowStep{State: running, DueAt: at + 4}, db.FlowStep{State: running, DueAt: at + 3}, at + 3},
		"its deadline is over":         {db.FlowRun{State: flowGoing, Deadline: at + 5}, flow.AskedTimeout, db.FlowStep{State: running, DueAt: at + 6}, db.FlowStep{State: running}, at + 6},
		"a step is to end":             {db.FlowRun{State: flowGoing}, flow.AskedStop, db.FlowStep{State: running, Ending: endingAsked, DueAt: at + 1}, db.FlowStep{State: running}, at + askEndAgain.Milliseconds()},
		"a step was to end, and has":   {db.FlowRun{State: flowGoing}, flow.AskedStop, db.FlowStep{State: int64(flow.Cancelled), Ending: endingAsked}, db.FlowStep{State: running}, 0},
		"what is decided has no times": {db.FlowRun{State: flowDecided, Deadline: at + 5}, flow.AskedNothing, db.FlowStep{State: running, DueAt: at + 6}, db.FlowStep{State: running}, 0},
	} {
		f := stateOf(t, "steps: [{id: a, job: 7}, {id: b, job: 8}]", tt.a, tt.b)
		f.row, f.run.Asked = tt.row, tt.asked
		if got := f.wakeAt(now); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// TestTimesOfAFlowComeToTheMillisecond: its deadline, those of its steps, and when it looks again after those that were to end.
func TestTimesOfAFlowComeToTheMillisecond(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000)
	at := now.UnixMilli()
	type took struct {
		Asked         flow.Asked
		Touched, Kill bool
		Wait          flow.State
		Due           int64 // of the job's step
	}
	running := int64(flow.Running)
	for name, tt := range map[string]struct {
		row       db.FlowRun
		asked     flow.Asked
		wait, job db.FlowStep
		want      took
	}{
		"nothing is due":                  {db.FlowRun{Deadline: at + 1, WakeAt: at + 1}, flow.AskedNothing, db.FlowStep{State: running, DueAt: at + 1}, db.FlowStep{State: running, DueAt: at + 1}, took{Wait: flow.Running, Due: at + 1}},
		"no times at all":                 {db.FlowRun{}, flow.AskedNothing, db.FlowStep{State: running}, db.FlowStep{State: running, Ending: endingAsked}, took{Wait: flow.Running}},
		"the deadline":                    {db.FlowRun{Deadline: at}, flow.AskedNothing, db.FlowStep{State: running}, db.FlowStep{State: running}, took{Asked: flow.AskedTimeout, Touched: true, Wait: flow.Running}},
		"the deadline of one being ended": {db.FlowRun{Deadline: at}, flow.AskedStop, db.FlowStep{State: running}, db.FlowStep{State: running}, took{Asked: flow.AskedStop, Wait: flow.Running}},
		"a look at what was to end":       {db.FlowRun{WakeAt: at}, flow.AskedNothing, db.FlowStep{State: running}, db.FlowStep{State: running, Ending: endingAsked}, took{Touched: true, Kill: true, Wait: flow.Running}},
		"a look, and nothing was to end":  {db.FlowRun{WakeAt: at}, flow.AskedNothing, db.FlowStep{State: running}, db.FlowStep{State: running}, took{Touched: true, Wait: flow.Running}},
		"a look at what has ended":        {db.FlowRun{WakeAt: at}, flow.AskedNothing, db.FlowStep{State: running}, db.FlowStep{State: int64(flow.Cancelled), Ending: endingAsked}, took{Touched: true, Wait: flow.Running}},
		"a wait is over":                  {db.FlowRun{}, flow.AskedNothing, db.FlowStep{State: running, DueAt: at}, db.FlowStep{State: running}, took{Touched: true, Wait: flow.Success}},
		"a step takes too long":           {db.FlowRun{}, flow.AskedNothing, db.FlowStep{State: running}, db.FlowStep{State: running, DueAt: at}, took{Touched: true, Kill: true, Wait: flow.Running}},
		"one that has ended does not":     {db.FlowRun{}, flow.AskedNothing, db.FlowStep{State: running}, db.FlowStep{State: int64(flow.Success), DueAt: at}, took{Wait: flow.Running, Due: at}},
	} {
		f := stateOf(t, "steps: [{id: w, wait: {seconds: 60}}, {id: j, job: 7}]", tt.wait, tt.job)
		f.row, f.run.Asked = tt.row, tt.asked
		f.takeTimes(now)
		got := took{f.run.Asked, f.touched, f.kill, flow.State(f.steps[0].State), f.steps[1].DueAt}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAStepIsWrittenAsItWasDecided: its times are those of its first beginning and its end, and a row that stays as it was is not written.
func TestAStepIsWrittenAsItWasDecided(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000)
	at := now.UnixMilli()
	items := flow.Items{Total: 9, Open: 4, Succeeded: 3, Failed: 1, Cancelled: 1}
	for name, tt := range map[string]struct {
		row     db.FlowStep
		now     flow.StepState
		foreach bool
		want    db.FlowStep
	}{
		"it begins":                       {db.FlowStep{}, flow.StepState{State: flow.Running, Attempt: 1}, false, db.FlowStep{State: int64(flow.Running), Attempt: 1, BeganAt: at}},
		"it goes on":                      {db.FlowStep{State: int64(flow.Running), BeganAt: 5}, flow.StepState{State: flow.Running}, false, db.FlowStep{State: int64(flow.Running), BeganAt: 5}},
		"it ends":                         {db.FlowStep{State: int64(flow.Running), BeganAt: 5, DueAt: at + 9}, flow.StepState{State: flow.Failed}, false, db.FlowStep{State: int64(flow.Failed), BeganAt: 5, EndedAt: at}},
		"it has ended":                    {db.FlowStep{State: int64(flow.Failed), EndedAt: 7}, flow.StepState{State: flow.Success, ByHand: true}, false, db.FlowStep{State: int64(flow.Success), EndedAt: 7, ByHand: 1}},
		"it waits":                        {db.FlowStep{}, flow.StepState{State: flow.Waiting}, false, db.FlowStep{}},
		"it is to end":                    {db.FlowStep{State: int64(flow.Running), BeganAt: 5}, flow.StepState{State: flow.Running, Ending: true}, false, db.FlowStep{State: int64(flow.Running), BeganAt: 5, Ending: endingAsked}},
		"it takes too long":               {db.FlowStep{State: int64(flow.Running), BeganAt: 5, Ending: endingLate}, flow.StepState{State: flow.Running, Ending: true, Late: true}, false, db.FlowStep{State: int64(flow.Running), BeganAt: 5, Ending: endingLate}},
		"with its items":                  {db.FlowStep{State: int64(flow.Running), BeganAt: 5}, flow.StepState{State: flow.Running, Items: items}, true, db.FlowStep{State: int64(flow.Running), BeganAt: 5, Total: 9, Going: 4, Succeeded: 3, Failed: 1, Cancelled: 1}},
		"its shards are others' business": {db.FlowStep{State: int64(flow.Running), BeganAt: 5, Total: 2, Going: 2}, flow.StepState{State: flow.Running}, false, db.FlowStep{State: int64(flow.Running), BeganAt: 5, Total: 2, Going: 2}},
	} {
		s := &flowStep{FlowStep: tt.row}
		s.keep(tt.now, tt.foreach, now)
		if diff := cmp.Diff(tt.want, s.FlowStep); diff != "" || s.changed != (tt.want != tt.row) {
			t.Errorf("%s: changed %t (-want +got):\n%s", name, s.changed, diff)
		}
		s = &flowStep{FlowStep: tt.row, changed: true}
		if s.keep(tt.now, tt.foreach, now); !s.changed {
			t.Errorf("%s: what was changed before is forgotten", name)
		}
		back := stateOfRow(&tt.want, tt.foreach)
		want := tt.now
		want.Begun = tt.want.BeganAt > 0
		if diff := cmp.Diff(want, back); diff != "" {
			t.Errorf("%s: read again (-want +got):\n%s", name, diff)
		}
	}
}

// TestARunThatFollowsAnotherOfItsStep: the step has the newest of its runs, waits for those of a later broadcast, and ends one that was made
// before it was to end.
func TestARunThatFollowsAnotherOfItsStep(t *testing.T) {
	t.Parallel()
	running := int64(flow.Running)
	type after struct {
		Run, Going, Total int64
		Changed, Kill     bool
	}
	for name, tt := range map[string]struct {
		step  db.FlowStep
		state int64 // of the flow's run
		run   int64
		more  int64
		want  after
	}{
		"a retry":                         {db.FlowStep{State: running, RunID: 5, Going: 1, Total: 1}, flowGoing, 7, 0, after{7, 1, 1, true, false}},
		"an older one, told later":        {db.FlowStep{State: running, RunID: 7, Going: 1, Total: 1}, flowGoing, 5, 0, after{7, 1, 1, true, false}},
		"of a broadcast, one shard's":     {db.FlowStep{State: running, RunID: 5, Going: 2, Total: 3}, flowGoing, 7, 0, after{5, 2, 3, false, false}},
		"a broadcast anew":                {db.FlowStep{State: running, RunID: 5, Going: 1, Total: 4}, flowGoing, 7, 2, after{5, 3, 3, true, false}},
		"its step is to end":              {db.FlowStep{State: running, RunID: 5, Going: 1, Total: 1, Ending: endingAsked}, flowGoing, 7, 0, after{7, 1, 1, true, true}},
		"its step has ended":              {db.FlowStep{State: int64(flow.Failed), RunID: 5}, flowGoing, 7, 0, after{5, 0, 0, false, false}},
		"its flow's run is decided about": {db.FlowStep{State: running, RunID: 5, Going: 1, Total: 1}, flowDecided, 7, 0, after{5, 1, 1, false, false}},
	} {
		f := stateOf(t, "steps: [{id: a, job: 7}]", tt.step)
		f.row.State = tt.state
		m := &flowMove{states: map[int64]*flowState{0: f}, rows: map[int64]*flowStep{3: f.steps[0]}, more: make(map[int64]int64)}
		if tt.more > 0 {
			m.more[3] = tt.more
		}
		m.goOn(3, tt.run)
		s := f.steps[0]
		if got := (after{s.RunID, s.Going, s.Total, s.changed, f.kill}); got != tt.want || f.touched != tt.want.Changed {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

// TestResultsOfShardsAreKept one by one, each with whether it succeeded, as far as there is room for them.
func TestResultsOfShardsAreKept(t *testing.T) {
	t.Parallel()
	text := addOutput("", true, true, &stepEnd{shard: 1, code: 500, message: "no", outcome: event.Failed})
	text = addOutput(text, true, true, &stepEnd{shard: 0, code: 200, message: "yes", outcome: event.Succeeded, output: map[string]string{"rows": "7"}})
	want := []flow.Result{{State: flow.Success, Code: 200, Message: "yes", Output: map[string]string{"rows": "7"}}, {State: flow.Failed, Code: 500, Message: "no"}}
	if got := resultOf(&db.FlowStep{Output: db.Text(text)}); cmp.Diff(want, got.Items) != "" {
		t.Errorf("of two shards: %+v", got.Items)
	}
	// Of one run why it ended is kept where it says what became of the step, and what it gave.
	for _, says := range []bool{true, false} {
		text := addOutput("", false, says, &stepEnd{why: "timeout", output: map[string]string{"rows": "7"}})
		if got := resultOf(&db.FlowStep{Output: db.Text(text)}); got.Output["rows"] != "7" || got.Items != nil || strings.Contains(text, "timeout") != says {
			t.Errorf("of one run: %s", text)
		}
	}
	if got := addOutput("", false, true, new(stepEnd)); got != "" {
		t.Errorf("of nothing: %s", got)
	}
	// What would not fit any more leaves what there is.
	fits := func(n int) string {
		return addOutput("", false, false, &stepEnd{output: map[string]string{"k": strings.Repeat("x", n)}})
	}
	most := flow.MaxResultSize - len(fits(0))
	if got := fits(most); len(got) != flow.MaxResultSize {
		t.Errorf("the longest that fits has %d bytes", len(got))
	}
	if got := addOutput(text, false, false, &stepEnd{output: map[string]string{"k": strings.Repeat("x", flow.MaxResultSize)}}); got != text {
		t.Errorf("%d bytes are kept beside what was there", len(got))
	}
}

// TestWhatARunThatEndsMakesOfItsStep: a step is done when all its runs are, and succeeded when all of them did, or were not needed.
func TestWhatARunThatEndsMakesOfItsStep(t *testing.T) {
	t.Parallel()
	one := db.FlowStep{State: int64(flow.Running), Going: 1, Total: 1}
	with := func(change func(*db.FlowStep)) db.FlowStep {
		s := one
		change(&s)
		return s
	}
	type after struct {
		State   flow.State
		Going   int64
		Code    int64
		Message string
	}
	for name, tt := range map[string]struct {
		step db.FlowStep
		end  stepEnd
		want after
	}{
		"it succeeded":                   {one, stepEnd{outcome: event.Succeeded, code: 200, message: "done"}, after{flow.Success, 0, 200, "done"}},
		"a retry that was not needed":    {one, stepEnd{outcome: event.Cancelled}, after{flow.Success, 0, 0, ""}},
		"it failed":                      {one, stepEnd{outcome: event.Failed, code: 500, message: "no"}, after{flow.Failed, 0, 500, "no"}},
		"it was lost":                    {one, stepEnd{outcome: event.Lost}, after{flow.Failed, 0, 0, ""}},
		"it ran out of its own time":     {one, stepEnd{outcome: event.TimedOut, code: 502}, after{flow.TimedOut, 0, 502, ""}},
		"the flow ended it":              {with(func(s *db.FlowStep) { s.Ending = endingAsked }), stepEnd{outcome: event.Failed, code: 500, message: "interrupted", why: "x"}, after{flow.Cancelled, 0, 500, ""}},
		"the step's time was over":       {with(func(s *db.FlowStep) { s.Ending = endingLate }), stepEnd{outcome: event.Killed, code: 500}, after{flow.TimedOut, 0, 500, ""}},
		"it succeeded before that":       {with(func(s *db.FlowStep) { s.Ending = endingLate }), stepEnd{outcome: event.Succeeded, code: 200}, after{flow.Success, 0, 200, ""}},
		"a shard, and others go on":      {with(func(s *db.FlowStep) { s.Going, s.Total = 2, 2 }), stepEnd{outcome: event.Failed, code: 500, message: "no"}, after{flow.Running, 1, 500, "no"}},
		"the last shard, all good":       {with(func(s *db.FlowStep) { s.Total, s.Code = 2, 200 }), stepEnd{outcome: event.Succeeded, code: 200, message: "second"}, after{flow.Success, 0, 200, ""}},
		"the last shard, not the others": {with(func(s *db.FlowStep) { s.Total, s.Failed, s.Code, s.Message = 2, 1, 500, "no" }), stepEnd{outcome: event.Succeeded, code: 200}, after{flow.Failed, 0, 500, "no"}},
		"nothing of it goes on":          {with(func(s *db.FlowStep) { s.Going, s.Total = 3, 3 }), stepEnd{outcome: event.Lost, gone: true}, after{flow.Failed, 0, 0, ""}},
		"its step has ended":             {with(func(s *db.FlowStep) { s.State, s.Going = int64(flow.Skipped), 0 }), stepEnd{outcome: event.Failed, code: 500}, after{flow.Skipped, 0, 0, ""}},
	} {
		f := stateOf(t, "steps: [{id: a, job: 7}]", tt.step)
		m := &flowMove{now: time.UnixMilli(1_000_000), states: map[int64]*flowState{0: f}, rows: map[int64]*flowStep{3: f.steps[0]}}
		tt.end.step = 3
		m.endStep(&tt.end)
		s := f.steps[0]
		if got := (after{flow.State(s.State), s.Going, s.Code, string(s.Message)}); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
		if failed := tt.want.State.IsFailure(); (f.row.FailedStep != "") != failed {
			t.Errorf("%s: the step that failed first is %q", name, f.row.FailedStep)
		}
	}
}

// TestAnItemEndsAsItsStepIsTo: what an executor says of a run that it was asked to end, or that ended with another one of its job, is no failure of its own.
func TestAnItemEndsAsItsStepIsTo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ending int64
		end    stepEnd
		want   flow.State
		step   flow.Items
	}{
		"it failed by itself":          {0, stepEnd{outcome: event.Failed}, flow.Failed, flow.Items{Total: 3, Open: 1, Failed: 1}},
		"its step was stopped":         {endingAsked, stepEnd{outcome: event.Failed}, flow.Cancelled, flow.Items{Total: 3, Open: 1, Cancelled: 1}},
		"its step's time was over":     {endingLate, stepEnd{outcome: event.Killed, why: "x"}, flow.TimedOut, flow.Items{Total: 3, Open: 1, Failed: 1}},
		"it was quicker than the stop": {endingAsked, stepEnd{outcome: event.Succeeded}, flow.Success, flow.Items{Total: 3, Open: 1, Succeeded: 1}},
	} {
		f := stateOf(t, "steps: [{id: a, job: 7, foreach: {items: 1..3}}]", db.FlowStep{State: int64(flow.Running), Going: 2, Total: 3, Ending: tt.ending})
		f.run.Steps[0] = stateOfRow(&f.steps[0].FlowStep, true)
		item := &flowStep{FlowStep: db.FlowStep{State: int64(flow.Running), Going: 1, Total: 1}}
		m := &flowMove{now: time.UnixMilli(1_000_000), states: map[int64]*flowState{0: f}, rows: map[int64]*flowStep{3: item}}
		tt.end.step = 3
		m.endStep(&tt.end)
		if got := flow.State(item.State); got != tt.want || f.run.Steps[0].Items != tt.step || item.Output != "" {
			t.Errorf("%s: %v, of its step %+v, with %q", name, got, f.run.Steps[0].Items, item.Output)
		}
	}
}

// TestARunThatIsNotDecidedAboutStaysAsItIs: its rows are deleted, or it is decided already. What ends, goes on or is done to it changes nothing.
func TestARunThatIsNotDecidedAboutStaysAsItIs(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{true, false} {
		f := stateOf(t, "steps: [{id: a, job: 7}]", db.FlowStep{State: int64(flow.Running), RunID: 5, Going: 1, Total: 1})
		f.row.State = flowDecided
		m := &flowMove{states: map[int64]*flowState{0: f}, rows: map[int64]*flowStep{3: f.steps[0]}}
		if gone {
			m.states = nil
		}
		was := f.steps[0].FlowStep
		m.endStep(&stepEnd{step: 3, outcome: event.Failed, code: 500})
		m.goOn(3, 7)
		if err := m.do(flowDeed{asked: flow.AskedStop, by: "ada", do: func(*flowState) error { return ErrStepNotSo }}); err != nil {
			t.Errorf("gone %t: a deed is done: %v", gone, err)
		}
		if f.touched || f.run.Asked != flow.AskedNothing || f.row.StoppedBy != "" || f.steps[0].changed || f.steps[0].FlowStep != was {
			t.Errorf("gone %t: it is %+v, its step %+v", gone, f.row, f.steps[0])
		}
	}
}

// TestWhoAsksARunToEndFirstIsNamed, and what nobody asks to end is not.
func TestWhoAsksARunToEndFirstIsNamed(t *testing.T) {
	t.Parallel()
	type after struct {
		Asked   flow.Asked
		By      string
		Touched bool
	}
	nothing := func(*flowState) error { return nil }
	for name, tt := range map[string]struct {
		before flow.Asked
		deed   flowDeed
		want   after
	}{
		"the first":                {flow.AskedNothing, flowDeed{asked: flow.AskedStop, by: "ada"}, after{flow.AskedStop, "ada", true}},
		"a second":                 {flow.AskedStop, flowDeed{asked: flow.AskedStop, by: "ada"}, after{flow.AskedStop, "bob", false}},
		"its time is over already": {flow.AskedTimeout, flowDeed{asked: flow.AskedStop, by: "ada"}, after{flow.AskedTimeout, "bob", false}},
		"something else":           {flow.AskedNothing, flowDeed{do: nothing, by: "ada"}, after{flow.AskedNothing, "bob", true}},
		"nothing":                  {flow.AskedNothing, flowDeed{by: "ada"}, after{flow.AskedNothing, "bob", false}},
	} {
		f := stateOf(t, "steps: [{id: a, job: 7}]", db.FlowStep{State: int64(flow.Running)})
		f.run.Asked, f.row.StoppedBy = tt.before, "bob"
		m := &flowMove{states: map[int64]*flowState{0: f}}
		if err := m.do(tt.deed); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := (after{f.run.Asked, f.row.StoppedBy, f.touched}); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

// TestAStepThatCannotStartFailedFirst, also where one that ran beside it fails later.
func TestAStepThatCannotStartFailedFirst(t *testing.T) {
	t.Parallel()
	f := stateOf(t, "steps: [{id: runs, job: 7}, {id: cannot, job: 8, if: int(flow.param) > 0}]", db.FlowStep{State: int64(flow.Running), Going: 1, Total: 1}, db.FlowStep{})
	f.param = "none"
	m := &flowMove{now: time.UnixMilli(1_000_000), states: map[int64]*flowState{0: f}, rows: map[int64]*flowStep{3: f.steps[0]}}
	fs := newFlows(flowsConfig{})
	if err := fs.decide(t.Context(), nil, m, f); err != nil {
		t.Fatal(err)
	}
	m.now = m.now.Add(time.Second)
	m.endStep(&stepEnd{step: 3, outcome: event.Failed, code: 500, message: "later"})
	if err := fs.decide(t.Context(), nil, m, f); err != nil {
		t.Fatal(err)
	}
	if f.row.State != flowDecided || f.row.FailedStep != "cannot" || !strings.HasPrefix(f.why, "if ") {
		t.Errorf("it is %+v, because %q", f.row, f.why)
	}
}

// TestWhichRunsAStepHas: the first of those that are made for it, and so many as go on; they do not hold on to it.
func TestWhichRunsAStepHas(t *testing.T) {
	t.Parallel()
	one, all := &flowStep{FlowStep: db.FlowStep{ID: 1, RunID: 3, Total: 1}}, &flowStep{FlowStep: db.FlowStep{ID: 2, Total: 9}}
	m := &flowMove{}
	for id, s := range []*flowStep{all, one, all} {
		m.runs = append(m.runs, &dispatch{id: int64(id + 5), of: &flowStart{step: s}})
	}
	moves := m.stepMoves()
	if len(moves) != 2 || moves[0].Now != &one.FlowStep || moves[1].Now != &all.FlowStep {
		t.Errorf("changed are %+v", moves)
	}
	if one.RunID != 6 || one.Going != 1 || one.Total != 0 || all.RunID != 5 || all.Going != 2 || all.Total != 2 {
		t.Errorf("they are %+v and %+v", one.FlowStep, all.FlowStep)
	}
	for _, d := range m.runs {
		if d.of != nil {
			t.Errorf("run %d holds on to its step", d.id)
		}
	}
}
