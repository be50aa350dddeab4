package runstate

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/event"
)

// teller tells events as a page in English does.
var teller = event.Teller{Printer: locales.New().Printer(locales.English), Zone: time.UTC}

func happened(key event.Key, args ...any) event.List {
	return event.List{event.New(time.UnixMilli(1_000), key, args...)}
}

func TestStatesOfRuns(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		run  Run
		want State
	}{
		{"planned", Run{}, Waiting},
		{"taken by an executor", Run{TriggerCode: 200}, Sent},
		{"reported success", Run{Outcome: event.Succeeded, TriggerCode: 200, HandleCode: 200}, Success},
		{"reported success before its sending was recorded", Run{Outcome: event.Succeeded, HandleCode: 200}, Success},
		{"reported failure", Run{Outcome: event.Failed, TriggerCode: 200, HandleCode: 500, HandleNote: "exit code 1"}, Failed},
		{"a code of the job's author", Run{Outcome: event.Failed, TriggerCode: 200, HandleCode: 7}, Failed},
		{"timed out", Run{Outcome: event.TimedOut, TriggerCode: 200, HandleCode: 502}, Timeout},
		{"killed", Run{Outcome: event.Killed, TriggerCode: 200, HandleCode: 500, HandleNote: "ok"}, Killed},
		{"killed, and its executor says success", Run{Outcome: event.Killed, TriggerCode: 200, HandleCode: 200}, Killed},
		{"killed before it was sent", Run{Outcome: event.Killed, TriggerCode: 500}, Killed},
		{"lost", Run{Outcome: event.Lost, TriggerCode: 200, HandleCode: 500}, Lost},
		{"no executor took it", Run{Outcome: event.NotSent, TriggerCode: 500}, SendFailed},
		{"nobody knows whether it arrived", Run{Outcome: event.Unconfirmed, TriggerCode: 500}, Unconfirmed},
		{"passed over", Run{Outcome: event.Skipped, TriggerCode: 500}, Skipped},
		{"one too many", Run{Outcome: event.Discarded, TriggerCode: 500}, Discarded},
		{"a schedule that cannot be read", Run{Outcome: event.Stopped, TriggerCode: 500}, Stopped},
		{"a retry that was not needed", Run{Outcome: event.Cancelled, TriggerCode: 500}, Cancelled},
		{"an executor that says our words", Run{Outcome: event.Failed, TriggerCode: 200, HandleCode: 500, HandleNote: "killed by ann\nresult lost: x\n任务结果丢失，标记失败"}, Failed},
		{"of a newer version", Run{Outcome: 99, TriggerCode: 200, HandleCode: 500}, Failed},
	}
	for _, tt := range tests {
		if got := tt.run.State(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	for _, o := range event.AllOutcomes() {
		if f := (Run{Outcome: o}); o != event.Open && f.State().Open() {
			t.Errorf("outcome %s is shown as open", o)
		}
	}
}

func TestStatesOfAdoptedRuns(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		run  Run
		want State
	}{
		{"success", Run{TriggerCode: 200, HandleCode: 200}, Success},
		{"failure", Run{TriggerCode: 200, HandleCode: 500, HandleNote: "boom"}, Failed},
		{"timed out", Run{TriggerCode: 200, HandleCode: 502}, Timeout},
		{"killed, told by its executor", Run{TriggerCode: 200, HandleCode: 500, HandleNote: "scheduling center kill job. [job running, killed]"}, Killed},
		{"killed by an XXL-JOB admin", Run{TriggerCode: 200, HandleCode: 500, HandleNote: "人为操作，主动终止:Success"}, Killed},
		{"killed by Punctual before it wrote outcomes", Run{TriggerCode: 200, HandleCode: 500, HandleNote: "killed by ann: ok"}, Killed},
		{"killed by it before it was sent", Run{TriggerCode: 500, TriggerNote: "admin: a\nresult: killed by ann before it was sent"}, Killed},
		{"lost, says an XXL-JOB admin", Run{TriggerCode: 200, HandleCode: 500, HandleNote: "<br>任务结果丢失，标记失败"}, Lost},
		{"lost, says Punctual of before", Run{TriggerCode: 200, HandleCode: 500, HandleNote: "result lost: executor x is gone"}, Lost},
		{"passed over by Punctual of before", Run{TriggerCode: 500, TriggerNote: "result: skipped: 3 fires"}, Skipped},
		{"no executor took it", Run{TriggerCode: 500, TriggerNote: "trigger type: MISFIRE\nresult: no executor is registered"}, SendFailed},
	}
	for _, tt := range tests {
		if got := tt.run.State(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestMessagesOfAdoptedRunsBecomeText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []string
	}{
		{"plain lines stay", "admin: a\nresult: <b>x</b> & y", []string{"admin: a", "result: <b>x</b> & y"}},
		{"a stack trace keeps its generics", "Map<String, List<Integer>>\n\n\tat x\r\n", []string{"Map<String, List<Integer>>", "\tat x"}},
		{"upstream's markup becomes lines", `调度机器：1<br><br><span style="color:#00c0ef;" > >>>>触发调度<<<< </span><br>路由策略：第一个`, []string{"调度机器：1", ">>>>触发调度<<<<", "路由策略：第一个"}},
		{"entities are read", "a &lt;ok&gt; &amp; b<br>", []string{"a <ok> & b"}},
		{"a script is only text without its tags", `<br><script>alert(1)</script>`, []string{"alert(1)"}},
		{"an event handler goes with its tag", `x<br><img src=x onerror=alert(1)>y`, []string{"x", "y"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Lines(tt.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestTheMessageOfARun(t *testing.T) {
	t.Parallel()
	retry := happened(event.Retry, 5, 77)
	tests := []struct {
		name string
		run  Run
		want string
	}{
		{"nothing about a plain success", Run{Outcome: event.Succeeded, TriggerCode: 200, HandleCode: 200, Events: happened(event.Sent, "http://a/", time.Second, 200)}, ""},
		{"what the executor said", Run{Outcome: event.Succeeded, TriggerCode: 200, HandleCode: 200, HandleNote: "\n42 rows\nmore"}, "42 rows"},
		{"not what the engine added to it", Run{Outcome: event.Failed, TriggerCode: 200, HandleCode: 500, HandleNote: retry.In(time.UTC), Events: retry}, ""},
		{"for how many it stands", Run{Outcome: event.Succeeded, TriggerCode: 200, HandleCode: 200, Events: happened(event.StandsFor, 2, false, time.UnixMilli(0), time.UnixMilli(60_000))}, "Stands for 2 fires planned from 1970-01-01 00:00:00 to 1970-01-01 00:01:00"},
		{"why it was not sent", Run{Outcome: event.NotSent, TriggerCode: 500, TriggerNote: "result: something else", Events: happened(event.NoExecutor)}, "Not sent: no executor is registered"},
		{"why it was given up", Run{Outcome: event.Lost, TriggerCode: 200, HandleCode: 500, Events: slices.Concat(happened(event.LostRun, event.LostGone, "http://a/"), retry)}, "Result lost: http://a/ is gone: it cannot be reached any more"},
		{"who ended it", Run{Outcome: event.Killed, TriggerCode: 200, HandleCode: 500, HandleNote: "ok", Events: happened(event.KilledAt, "ann", event.KilledRunning)}, "Ended by ann while its executor had it"},
		{"who wants it ended", Run{TriggerCode: 200, Events: happened(event.KillAsked, "ann")}, "ann wants it ended"},
		{"what the executor said, of an outcome that a later version knows", Run{Outcome: 77, TriggerCode: 200, HandleCode: 500, HandleNote: "out of paper"}, "out of paper"},
		{"and of none that there is", Run{Outcome: -1, TriggerCode: 200, HandleCode: 500, HandleNote: "out of paper"}, "out of paper"},
		{"what an XXL-JOB admin noted", Run{TriggerCode: 500, TriggerNote: "任务触发类型：Cron触发<br>调度机器：x"}, "任务触发类型：Cron触发"},
		{"what Punctual noted before it wrote events", Run{TriggerCode: 500, TriggerNote: "admin: a\nresult: no executor"}, "no executor"},
	}
	for _, tt := range tests {
		if got := tt.run.Message(teller); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestWhatAnExecutorSaidIsKeptApart(t *testing.T) {
	t.Parallel()
	list := slices.Concat(happened(event.Claimed, "admin-1", 3), happened(event.KilledAt, "ann", event.KilledRunning), happened(event.Child, 5, 77))
	f := Run{HandleNote: "first line\n\tat x\n" + list[1:].In(time.UTC), Events: list}
	if diff := cmp.Diff([]string{"first line", "\tat x"}, f.Words()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFollowersAreRead(t *testing.T) {
	t.Parallel()
	f := Run{Events: slices.Concat(happened(event.Retry, 5, 77), happened(event.NoChild, event.NoChildJob, 9), happened(event.Child, 6, 78)), HandleNote: "retry: job 5, run 99"}
	if want := []int64{77, 78}; !slices.Equal(f.Followers(), want) {
		t.Errorf("got %v, want %v", f.Followers(), want)
	}
	f.Events = nil
	for range 1000 {
		f.Events = append(f.Events, happened(event.Child, 1, 2)...)
	}
	if got := f.Followers(); len(got) != maxFollows {
		t.Errorf("%d followers", len(got))
	}
}

func TestARunWithoutTimesTookNone(t *testing.T) {
	t.Parallel()
	bare := Run{TriggerCode: 200, HandleCode: 200}
	if began, end := bare.Span(); !began.IsZero() || !end.IsZero() {
		t.Error("a row without any time has a span")
	}
}

func TestABroadcastStandsWhereItsPartsDo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		parts     []State
		want      State
		succeeded int
	}{
		{[]State{Success, Success}, Success, 2},
		{[]State{Success, Lost, Success}, Failed, 2},
		{[]State{Failed, Waiting, Success}, Sent, 1},
		{[]State{Sent, Killed}, Sent, 0},
	} {
		if got, n := Broadcast(tt.parts); got != tt.want || n != tt.succeeded {
			t.Errorf("%v: %s with %d, want %s with %d", tt.parts, got, n, tt.want, tt.succeeded)
		}
	}
}

func TestWhetherTheExecutorReportedItself(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		run  Run
		want bool
	}{
		{"no result", Run{TriggerCode: 200}, false},
		{"success", Run{HandleCode: 200}, true},
		{"failure", Run{Outcome: event.Failed, HandleCode: 500}, true},
		{"timed out", Run{Outcome: event.TimedOut, HandleCode: 502}, true},
		{"killed", Run{Outcome: event.Killed, HandleCode: 500}, false},
		{"lost", Run{Outcome: event.Lost, HandleCode: 500}, false},
		{"failure in an executor's words that look like ours", Run{Outcome: event.Failed, HandleCode: 500, HandleNote: "result lost: x"}, true},
		{"open with events, in such words", Run{HandleCode: 500, HandleNote: "result lost: x", Events: happened(event.Sent, "http://a/", time.Second, 200)}, true},
		{"failure, adopted", Run{HandleCode: 500, HandleNote: "boom"}, true},
		{"killed, adopted", Run{HandleCode: 500, HandleNote: "killed by ann: ok"}, false},
		{"lost, adopted", Run{HandleCode: 500, HandleNote: "任务结果丢失，标记失败"}, false},
	}
	for _, tt := range tests {
		if got := tt.run.ReportedBack(); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestTheTimesOfARun(t *testing.T) {
	t.Parallel()
	ms := time.UnixMilli
	triggered, handled := time.Unix(100, 0), time.Unix(200, 0)
	tests := []struct {
		name              string
		run               Run
		start, began, end time.Time
	}{
		{"planned, sent and finished", Run{TriggerCode: 200, HandleCode: 200, Planned: 99_001, Sent: 100_002, Finished: 150_003, Triggered: triggered, Handled: handled}, ms(99_001), ms(100_002), ms(150_003)},
		{"not finished: its end is nobody's", Run{TriggerCode: 200, Planned: 99_001, Sent: 100_002, Finished: 150_003, Triggered: triggered, Handled: handled}, ms(99_001), ms(100_002), time.Time{}},
		{"an XXL-JOB admin's, to the second", Run{TriggerCode: 200, HandleCode: 200, Triggered: triggered, Handled: handled}, triggered, triggered, handled},
		{"an XXL-JOB admin's that was not sent", Run{TriggerCode: 500, Triggered: triggered}, triggered, time.Time{}, time.Time{}},
		{"ours that was not sent has no beginning", Run{TriggerCode: 200, HandleCode: 500, Planned: 1, Triggered: triggered, Handled: handled}, ms(1), time.Time{}, handled},
		{"ours whose sending was recorded keeps that", Run{TriggerCode: 200, HandleCode: 200, Sent: 100_002, Triggered: triggered, Handled: handled}, triggered, ms(100_002), handled},
	}
	for _, tt := range tests {
		began, end := tt.run.Span()
		if start := tt.run.Start(); !start.Equal(tt.start) || !began.Equal(tt.began) || !end.Equal(tt.end) {
			t.Errorf("%s: planned %v, began %v, ended %v", tt.name, start, began, end)
		}
	}
}

func TestWhatMayHaveOutputOrReported(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name             string
		run              Run
		output, reported bool
	}{
		{"waits", Run{Address: "http://a/"}, false, false},
		{"sent", Run{Address: "http://a/", TriggerCode: 200}, true, false},
		{"sent nowhere", Run{TriggerCode: 200}, false, false},
		{"a result before its sending was recorded", Run{Address: "http://a/", HandleCode: 200}, true, true},
		{"nobody knows whether it arrived", Run{Address: "http://a/", TriggerCode: 500, Outcome: event.Unconfirmed}, true, true},
		{"not sent", Run{Address: "http://a/", TriggerCode: 500, Outcome: event.NotSent}, false, true},
	}
	for _, tt := range tests {
		if got := tt.run.HasOutput(); got != tt.output {
			t.Errorf("%s: output %v", tt.name, got)
		}
		if got := tt.run.Reported(); got != tt.reported {
			t.Errorf("%s: reported %v", tt.name, got)
		}
	}
}

// An adopted reason is for what was not sent: a run that waits, was taken or has a result has another story.
func TestAnAdoptedReasonIsOfWhatWasNotSent(t *testing.T) {
	t.Parallel()
	for _, run := range []Run{{}, {TriggerCode: 200}, {TriggerCode: 500, HandleCode: 500}} {
		run.TriggerNote = "result: no executor"
		if got := run.Message(teller); got != "" {
			t.Errorf("%+v: %q", run, got)
		}
	}
	const head = `任务触发类型：Cron触发<br>调度机器：10.0.0.1<br>执行器-地址列表：null<br><br><span style="color:#00c0ef;" > >>>>>>>>>>>触发调度<<<<<<<<<<< </span><br>`
	const retried = `<br><br><span style="color:#F39C12;" > >>>>>>>>>>>失败重试触发<<<<<<<<<<< </span><br>`
	for note, want := range map[string]string{
		"":                                       "",
		"one line of somebody else\nand another": "one line of somebody else",
		head + `触发调度：<br>address：http://10.0.0.1:9999/<br>code：500<br>msg：xxl-job remoting error(Connection refused), for url : http://10.0.0.1:9999/run`: "xxl-job remoting error(Connection refused), for url : http://10.0.0.1:9999/run",
		head + "触发调度：<br>address：a<br>code：500<br>msg：java.net.ConnectException: refused\n\tat java.base/sun.nio.ch.Net\n" + retried:                      "java.net.ConnectException: refused",
		head + "调度失败：执行器地址为空<br><br>" + retried:                                                                                                           "调度失败：执行器地址为空",
		head + "<br>执行器地址：a<br>JobHandler：h<br>任务参数：p<br>调度备注：error, 触发调度：<br>address：a<br>code：500<br>msg：block strategy effect：Discard Later":           "block strategy effect：Discard Later",
		head + "触发调度：<br>address：a<br>code：500<br>msg：null":                                                                                               "code：500",
		head: "任务触发类型：Cron触发",
	} {
		if got := (&Run{TriggerCode: 500, TriggerNote: note}).Message(teller); got != want {
			t.Errorf("%s:\nsays %q, want %q", note, got, want)
		}
	}
	stands := happened(event.StandsFor, 2, false, time.UnixMilli(0), time.UnixMilli(60_000))
	if why, ok := (&Run{Outcome: event.Succeeded, Events: stands}).Reason(); !ok || why.Key != event.StandsFor {
		t.Errorf("stands for others: %v, %v", why, ok)
	}
	if why, ok := (&Run{Outcome: event.NotSent, Events: append(happened(event.NoExecutor), stands...)}).Reason(); !ok || why.Key != event.NoExecutor {
		t.Errorf("not sent: %v, %v", why, ok)
	}
}
