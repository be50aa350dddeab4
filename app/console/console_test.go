package console

import (
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/note"
	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/ui"
)

func TestStatesOfRuns(t *testing.T) {
	t.Parallel()
	const sent = "trigger type: CRON\nadmin: a\nresult: 200 Success"
	tests := []struct {
		name  string
		facts runFacts
		want  ui.State
	}{
		{"planned", runFacts{}, ui.StateWaiting},
		{"taken by an executor", runFacts{triggerCode: 200, triggerNote: sent}, ui.StateSent},
		{"reported success", runFacts{triggerCode: 200, handleCode: 200}, ui.StateSuccess},
		{"reported success before its sending was recorded", runFacts{handleCode: 200}, ui.StateSuccess},
		{"reported failure", runFacts{triggerCode: 200, handleCode: 500, handleNote: "exit code 1"}, ui.StateFailed},
		{"a code of the job's author", runFacts{triggerCode: 200, handleCode: 7}, ui.StateFailed},
		{"timed out", runFacts{triggerCode: 200, handleCode: 502}, ui.StateTimeout},
		{"killed here", runFacts{triggerCode: 200, handleCode: 500, handleNote: "killed by ann: ok"}, ui.StateKilled},
		{"killed before it was sent", runFacts{triggerCode: 500, triggerNote: "admin: a\nresult: killed by ann before it was sent"}, ui.StateKilled},
		{"killed, told by our executor", runFacts{triggerCode: 200, handleCode: 500, handleNote: "scheduling center kill job. [job running, killed]"}, ui.StateKilled},
		{"killed by an XXL-JOB admin", runFacts{triggerCode: 200, handleCode: 500, handleNote: "人为操作，主动终止:Success"}, ui.StateKilled},
		{"lost", runFacts{triggerCode: 200, handleCode: 500, handleNote: "result lost: executor x is gone"}, ui.StateLost},
		{"lost, says an XXL-JOB admin", runFacts{triggerCode: 200, handleCode: 500, handleNote: "<br>任务结果丢失，标记失败"}, ui.StateLost},
		{"no executor took it", runFacts{triggerCode: 500, triggerNote: "result: no executor is registered"}, ui.StateSendFailed},
		{"passed over", runFacts{triggerCode: 500, triggerNote: "result: skipped: 3 fires"}, ui.StateSkipped},
		{"a misfire that could not be sent", runFacts{triggerCode: 500, triggerNote: "trigger type: MISFIRE\nresult: no executor is registered"}, ui.StateSendFailed},
	}
	for _, tt := range tests {
		if got := tt.facts.state(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	for _, s := range ui.States() {
		if hasFailed(s) && s == ui.StateSuccess {
			t.Error("a success counts as failed")
		}
	}
}

func TestTheMessageOfARun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		facts runFacts
		want  string
	}{
		{"nothing about a plain success", runFacts{triggerCode: 200, handleCode: 200, triggerNote: "result: 200 Success"}, ""},
		{"what the executor said", runFacts{triggerCode: 200, handleCode: 200, handleNote: "\n42 rows\nmore"}, "42 rows"},
		{"why it was not sent", runFacts{triggerCode: 500, triggerNote: "admin: a\nresult: no executor"}, "no executor"},
		{"what an XXL-JOB admin noted", runFacts{triggerCode: 500, triggerNote: "任务触发类型：Cron触发<br>调度机器：x"}, "任务触发类型：Cron触发"},
	}
	for _, tt := range tests {
		if got := tt.facts.message(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestTimeRanges(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("UTC+8", 8*60*60)
	now := time.Date(2026, 3, 1, 0, 30, 0, 0, zone)
	day := func(month, day, hour, minute, second int) time.Time {
		return time.Date(2026, time.Month(month), day, hour, minute, second, 0, zone)
	}
	tests := []struct {
		filter       link.RunFilter
		since, until time.Time
	}{
		{link.RunFilter{}, day(2, 28, 0, 30, 0), time.Time{}},
		{link.RunFilter{Range: link.RangeHour}, day(2, 28, 23, 30, 0), time.Time{}},
		{link.RunFilter{Range: link.RangeToday}, day(3, 1, 0, 0, 0), day(3, 1, 23, 59, 59)},
		{link.RunFilter{Range: link.RangeYesterday}, day(2, 28, 0, 0, 0), day(2, 28, 23, 59, 59)},
		{link.RunFilter{Range: link.RangeWeek}, day(2, 22, 0, 30, 0), time.Time{}},
		{link.RunFilter{Range: link.RangeAll}, time.Time{}, time.Time{}},
		{link.RunFilter{Range: link.RangeCustom, From: "2026-01-02T03:04", To: "2026-01-02T03:05"}, day(1, 2, 3, 4, 0), day(1, 2, 3, 5, 59)},
		{link.RunFilter{Range: link.RangeCustom, From: "yesterday", To: "99999"}, time.Time{}, time.Time{}},
	}
	for _, tt := range tests {
		since, until := timeRange(tt.filter, now)
		if !since.Equal(tt.since) || !until.Equal(tt.until) {
			t.Errorf("%+v: %s to %s, want %s to %s", tt.filter, since, until, tt.since, tt.until)
		}
	}
	for _, name := range link.Ranges() {
		if name == link.RangeAll || name == link.RangeCustom {
			continue
		}
		if since, _ := timeRange(link.RunFilter{Range: name}, now); since.IsZero() {
			t.Errorf("range %s has no beginning", name)
		}
	}
}

func TestLogLines(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		piece wire.LogResult
		from  int
		lines []string
		next  int
	}{
		{"lines", wire.LogResult{FromLineNum: 3, ToLineNum: 4, LogContent: "a\nb\n"}, 3, []string{"a", "b"}, 5},
		{"a line without its end", wire.LogResult{FromLineNum: 1, ToLineNum: 1, LogContent: "a\r"}, 1, []string{"a"}, 2},
		{"an empty line is a line", wire.LogResult{FromLineNum: 1, ToLineNum: 2, LogContent: "\nx\n"}, 1, []string{"", "x"}, 3},
		{"nothing new, says an old executor", wire.LogResult{FromLineNum: 5, ToLineNum: 4}, 5, nil, 5},
		{"nothing new, says a newer one", wire.LogResult{FromLineNum: 5, ToLineNum: 0}, 5, nil, 5},
	}
	for _, tt := range tests {
		lines, next := logLines(tt.piece, tt.from)
		if !slices.Equal(lines, tt.lines) || next != tt.next {
			t.Errorf("%s: %q, %d; want %q, %d", tt.name, lines, next, tt.lines, tt.next)
		}
	}
}

func TestSmallThings(t *testing.T) {
	t.Parallel()
	for stored, want := range map[string]string{"0/3": "1/3", "": "", "x/3": "", "2": ""} {
		if got := shardText(stored); got != want {
			t.Errorf("shard %q: %q, want %q", stored, got, want)
		}
	}
	if took, ok := answerTook("15:04:05.000 (12 ms)"); !ok || took != 12*time.Millisecond {
		t.Errorf("took %s, %v", took, ok)
	}
	for _, odd := range []string{"", "15:04:05.000", "15:04:05 (x ms)"} {
		if _, ok := answerTook(odd); ok {
			t.Errorf("%q was read", odd)
		}
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for zone, want := range map[*time.Location]string{time.UTC: "UTC", time.FixedZone("Asia/Shanghai", 8*3600): "Asia/Shanghai"} {
		if got := zoneName(zone, now); got != want {
			t.Errorf("zone %q, want %q", got, want)
		}
	}
	if began, end := (runFacts{triggerCode: 200, handleCode: 200, triggered: sql.NullTime{}}).span(nil); !began.IsZero() || !end.IsZero() {
		t.Error("a row without any time has a span")
	}
}

func TestStreamsAreCounted(t *testing.T) {
	t.Parallel()
	l := newStreamLimit()
	for range maxStreamsPerUser {
		if !l.enter(1) {
			t.Fatal("refused too early")
		}
	}
	if l.enter(1) {
		t.Error("one user has too many")
	}
	if !l.enter(2) {
		t.Error("another user is refused")
	}
	l.leave(2)
	for range maxStreamsPerUser {
		l.leave(1)
	}
	if len(l.byUser) != 0 || l.all != 0 {
		t.Errorf("left over: %+v", l)
	}
	for user := range int64(maxStreams) {
		l.enter(user)
	}
	if l.enter(-1) {
		t.Error("the process has too many")
	}
}

func TestAStripTellsEveryEndApart(t *testing.T) {
	t.Parallel()
	newestFirst := []db.Outcome{
		{TriggerCode: 200}, {TriggerCode: 200, HandleCode: 200}, {TriggerCode: 200, HandleCode: 500, Note: "killed by ann: ok"},
		{TriggerCode: 200, HandleCode: 500, Note: "boom"}, {TriggerCode: 500, Skipped: true}, {TriggerCode: 500}, {TriggerCode: 500, Killed: true}, {TriggerCode: 200, HandleCode: 502},
	}
	want := jobs.Strip{jobs.MarkBad, jobs.MarkKilled, jobs.MarkBad, jobs.MarkSkipped, jobs.MarkBad, jobs.MarkKilled, jobs.MarkGood, jobs.MarkOpen}
	if diff := cmp.Diff(want, stripOf(newestFirst)); diff != "" {
		t.Error(diff)
	}
}

func TestATimeOfDayIsTheOneNextToAMoment(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("UTC+8", 8*60*60)
	day := func(d, hour, minute int) time.Time { return time.Date(2026, 3, d, hour, minute, 0, 0, zone) }
	for _, tt := range []struct {
		text       string
		near, want time.Time
	}{
		{"09:30:00.000", day(5, 9, 31), day(5, 9, 30)},
		{"23:59:00.000", day(5, 0, 1), day(4, 23, 59)},
		{"00:01:00.000", day(5, 23, 59), day(6, 0, 1)},
		{"soon", day(5, 9, 0), time.Time{}},
	} {
		if got := clockNear(tt.text, tt.near); !got.Equal(tt.want) {
			t.Errorf("%s near %s is %s, want %s", tt.text, tt.near, got, tt.want)
		}
	}
}

func TestAddressesThatAreCountedAreThoseListed(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	state := func(a scheduler.AddressState, beat time.Duration) groups.Address {
		if beat > 0 {
			a.LastBeat = now.Add(-beat)
		}
		return groups.Address{URL: a.Address, State: addressState(a, now)}
	}
	all := []groups.Address{
		state(scheduler.AddressState{Address: "beats", Live: true}, 10*time.Second),
		state(scheduler.AddressState{Address: "missed a beat", Live: true}, 50*time.Second),
		state(scheduler.AddressState{Address: "silent", Gone: true}, 3*time.Minute),
		state(scheduler.AddressState{Address: "refuses", Live: true, Suspect: true}, 10*time.Second),
		state(scheduler.AddressState{Address: "by hand"}, 0),
		state(scheduler.AddressState{Address: "taken out", Live: true, Disabled: true}, 10*time.Second),
		state(scheduler.AddressState{Address: "taken out, silent", Gone: true, Disabled: true}, 3*time.Minute),
	}
	tests := []struct {
		name    string
		state   string
		of      []groups.Address
		started int64
		want    []string
		count   int64
	}{
		{"online", link.ExecutorsOnline, all, 1, []string{"beats", "missed a beat", "by hand"}, 3},
		{"lost", link.ExecutorsLost, all, 1, []string{"missed a beat", "silent", "refuses"}, 3},
		{"none lost", link.ExecutorsLost, all[:1], 1, nil, 0},
		{"nobody, and jobs that wait", link.ExecutorsLost, nil, 2, nil, 1},
		{"nobody, and nothing to do", link.ExecutorsLost, nil, 0, nil, 0},
		{"nobody is not online", link.ExecutorsOnline, nil, 2, nil, 0},
		{"all taken out on purpose", link.ExecutorsLost, all[5:], 2, nil, 0},
	}
	for _, tt := range tests {
		kept, n := narrowed(tt.of, tt.state, tt.started)
		var got []string
		for _, a := range kept {
			got = append(got, a.URL)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || n != tt.count {
			t.Errorf("%s: counted %d, want %d; (-want +got)\n%s", tt.name, n, tt.count, diff)
		}
	}
}

func TestTheLastRunOfAJobIsOneWhoseTimeHasCome(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(100_000)
	failed, waits, late := db.Outcome{ID: 1, TriggerCode: 200, HandleCode: 500, PlannedAt: 98_000}, db.Outcome{ID: 3, PlannedAt: 104_000}, db.Outcome{ID: 2, PlannedAt: 99_000}
	for _, tt := range []struct {
		name string
		list []db.Outcome
		want int64
	}{
		{"claimed ahead", []db.Outcome{waits, failed}, 1},
		{"due and not sent", []db.Outcome{waits, late, failed}, 2},
		{"ended", []db.Outcome{failed}, 1},
		{"the first one ever", []db.Outcome{waits}, 3},
	} {
		if got := lastOutcome(tt.list, now); got.ID != tt.want {
			t.Errorf("%s: run %d, want %d", tt.name, got.ID, tt.want)
		}
	}
}

func TestTheAdviceOfARun(t *testing.T) {
	t.Parallel()
	page := layout.Page{Printer: locales.New().Printer(locales.English)}
	story := func(state ui.State, trigger, address string) runs.Story {
		return runs.Story{Row: runs.Row{State: state, Trigger: trigger, Address: address, Group: "Orders"}}
	}
	tests := []struct {
		name   string
		story  runs.Story
		result string
		due    time.Duration
		want   string // the key
	}{
		{"nobody there", story(ui.StateSendFailed, "CRON", ""), note.NoExecutor.With(), 0, "advice.noexecutor"},
		{"refused", story(ui.StateSendFailed, "CRON", "http://10.0.0.1:9999/"), "500 busy", 0, "advice.sendfailed"},
		{"one too many", story(ui.StateSendFailed, "CRON", ""), note.Discarded.With(note.Full.With(3, 3)), 0, "advice.discarded"},
		{"found too late", story(ui.StateSendFailed, "CRON", ""), note.TooLate.With("8m0s", "DO_NOTHING"), 0, "advice.skipped"},
		{"unknown", story(ui.StateSendFailed, "CRON", ""), "something else", 0, ""},
		{"passed over", story(ui.StateSkipped, "MISFIRE", ""), "skipped: 3 fires", 0, "advice.skipped"},
		{"stopped", story(ui.StateSkipped, "CRON", ""), "job stopped: x", 0, ""},
		{"a retry that waits", story(ui.StateWaiting, "RETRY", ""), "", time.Minute, "advice.retrywaits"},
		{"a retry that leaves", story(ui.StateWaiting, "RETRY", ""), "", time.Second, ""},
		{"claimed ahead", story(ui.StateWaiting, "CRON", ""), "", 4 * time.Second, ""},
	}
	for _, tt := range tests {
		want := ""
		if tt.want != "" {
			want = page.T(tt.want, "Group", "Orders", "Address", tt.story.Address, "At", "")
		}
		if got := advice(page, tt.story, tt.result, tt.due); got != want {
			t.Errorf("%s: %q, want %q", tt.name, got, want)
		}
	}
}
