package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/alarm"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/alarms"
	"github.com/punctual-job/punctual/views/groups"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/ui"
	"github.com/punctual-job/punctual/views/users"
)

// TestStepsHaveTheirDay draws a run that was planned before midnight of the reader's zone, and ended two days later.
func TestStepsHaveTheirDay(t *testing.T) {
	t.Parallel()
	planned := time.Date(2026, 11, 25, 15, 59, 59, 0, time.UTC)
	c := &timelines{frame: &frame{zone: time.FixedZone("UTC+8", 8*60*60)}}
	run := &runstate.Run{
		Planned: planned.UnixMilli(), Sent: planned.Add(2 * time.Second).UnixMilli(), Finished: planned.Add(49 * time.Hour).UnixMilli(), TriggerCode: wire.CodeSuccess, HandleCode: wire.CodeSuccess,
		Address: "http://10.0.0.1:9999/",
	}
	var at []string
	for _, s := range c.steps(layout.Page{Printer: locales.New().Printer(locales.English)}, run, runstate.Success, "", false) {
		at = append(at, s.At)
	}
	if diff := cmp.Diff([]string{"23:59:59.000", "2026-11-26 00:00:01.000", "2026-11-28 00:59:59.000"}, at); diff != "" {
		t.Error(diff)
	}
}

// TestAPageIsDrawnInTheYearOfItsReader, which begins in Shanghai eight hours before that of the server: by it a list leaves out the year of a time.
func TestAPageIsDrawnInTheYearOfItsReader(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Date(2027, 12, 31, 16, 2, 0, 0, time.UTC) }
	service := manage.New(manage.Config{Pool: dbtest.New(t, db.SQLite), Now: now})
	c := &frame{catalogue: locales.New(), zone: time.UTC, now: now, settings: service.Settings, channels: service.Channels, held: func() bool { return false }}
	for zone, want := range map[string]string{"": "2027-12-31T16:02:00.000Z", "Asia/Shanghai": "2028-01-01T00:02:00.000+08:00"} {
		req := httptest.NewRequest(http.MethodGet, link.JobsPath, nil)
		p := auth.NewPrincipal(7, "ann", auth.RoleUser, "")
		p.Zone = zone
		answer := httptest.NewRecorder()
		page := c.Page(echo.New().NewContext(req.WithContext(auth.NewContext(req.Context(), p)), answer))
		if got := answer.Header().Get("Punctual-Time"); page.Drawn != want || got != want {
			t.Errorf("in %q the page is drawn at %s, its parts at %s, want %s", zone, page.Drawn, got, want)
		}
	}
}

func TestQuietHoursHaveTwoEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		from, to         string
		wantFrom, wantTo int
	}{{"", "", alarm.NoTime, alarm.NoTime}, {"", "07:00", alarm.NoTime, 7 * 60}, {"22:30", " ", 22*60 + 30, alarm.NoTime}, {"00:00", "24:00", 0, 24 * 60}} {
		c := channelInput(alarms.FormPage{Values: alarms.FormValues{QuietFrom: tt.from, QuietTo: tt.to}})
		if c.QuietFrom != tt.wantFrom || c.QuietTo != tt.wantTo {
			t.Errorf("from %q to %q: got %d to %d, want %d to %d", tt.from, tt.to, c.QuietFrom, c.QuietTo, tt.wantFrom, tt.wantTo)
		}
	}
}

func TestEndsAreSaidToTheSecond(t *testing.T) {
	t.Parallel()
	clock := clockIn(time.FixedZone("UTC+8", 8*60*60), time.Date(2026, 11, 25, 22, 0, 0, 0, time.UTC))
	for want, second := range map[string]int{"06:05": 0, "06:05:07": 7} {
		if got := clock(time.Date(2026, 11, 25, 22, 5, second, 999, time.UTC)); got != want {
			t.Errorf("got %s, want %s", got, want)
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

// TestADayWithoutAMidnightIsWhole: in Santiago clocks go from 00:00 to 01:00.
func TestADayWithoutAMidnightIsWhole(t *testing.T) {
	t.Parallel()
	santiago, err := time.LoadLocation("America/Santiago")
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 9, 6, 12, 0, 0, 0, santiago)
	begins, ends := noon.Add(-11*time.Hour), noon.Add(12*time.Hour)
	if since, until := timeRange(link.RunFilter{Range: link.RangeToday}, noon); !since.Equal(begins) || !until.Equal(ends.Add(-time.Second)) {
		t.Errorf("today is %s to %s", since, until)
	}
	if since, until := timeRange(link.RunFilter{Range: link.RangeYesterday}, noon); !since.Equal(begins.Add(-24*time.Hour)) || !until.Equal(begins.Add(-time.Second)) {
		t.Errorf("yesterday is %s to %s", since, until)
	}
	if got, want := dayFilter(noon, time.UTC), between(begins, ends, time.UTC); got != want {
		t.Errorf("its runs are from %s to %s, want from %s to %s", got.From, got.To, want.From, want.To)
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
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for zone, want := range map[*time.Location]string{time.UTC: "UTC", time.FixedZone("Asia/Shanghai", 8*3600): "Asia/Shanghai"} {
		if got := zoneName(zone, now); got != want {
			t.Errorf("zone %q, want %q", got, want)
		}
	}
}

func TestBarsTellEveryEndApart(t *testing.T) {
	t.Parallel()
	newestFirst := []db.Outcome{
		{TriggerCode: 200}, {TriggerCode: 200, HandleCode: 200}, {TriggerCode: 200, HandleCode: 500, Note: "人为操作，主动终止"},
		{TriggerCode: 200, HandleCode: 500, Note: "boom"}, {TriggerCode: 500, Outcome: event.Skipped}, {TriggerCode: 500}, {TriggerCode: 500, Outcome: event.Killed},
		{TriggerCode: 200, HandleCode: 502}, {TriggerCode: 500, Outcome: event.Discarded}, {TriggerCode: 500, Outcome: event.Cancelled},
		{TriggerCode: 500, Outcome: event.Unconfirmed}, {TriggerCode: 200, HandleCode: 500, Outcome: event.Lost}, {TriggerCode: 500, Outcome: event.Stopped},
		{TriggerCode: 200, HandleCode: 500, Outcome: event.Failed, Events: event.List{event.New(time.UnixMilli(0), event.Retry, 5, 78)}.Stored()},
	}
	want := jobs.History{
		jobs.MarkRetried, jobs.MarkBad, jobs.MarkBad, jobs.MarkBad, jobs.MarkSkipped, jobs.MarkSkipped,
		jobs.MarkBad, jobs.MarkKilled, jobs.MarkBad, jobs.MarkSkipped, jobs.MarkBad, jobs.MarkKilled, jobs.MarkGood, jobs.MarkOpen,
	}
	if diff := cmp.Diff(want, historyOf(newestFirst)); diff != "" {
		t.Error(diff)
	}
}

// TestThePagesExplainEveryStandingOfAnAddress compares the states that the pages have a word, an icon and a help text for
// with those that the engine tells.
func TestThePagesExplainEveryStandingOfAnAddress(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	fresh, overdue := now.Add(-10*time.Second), now.Add(-50*time.Second)
	told := []groups.AddressState{}
	for _, a := range []scheduler.AddressState{
		{Live: true, LastBeat: fresh}, {Live: true, LastBeat: overdue}, {Gone: true, LastBeat: overdue}, {Asked: fresh, SilentSince: fresh, Fault: wire.FaultAnswer}, {},
		{Live: true, LastBeat: fresh, Suspect: true}, {LastBeat: fresh, TooOld: true, Suspect: true}, {Live: true, LastBeat: fresh, TooOld: true, Disabled: true},
	} {
		told = append(told, groups.AddressState(a.Standing(now)))
	}
	if diff := cmp.Diff(groups.AddressStates, told); diff != "" {
		t.Error(diff)
	}
}

func TestAddressesThatAreCountedAreThoseListed(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	state := func(a scheduler.AddressState, beat time.Duration) groups.Address {
		if beat > 0 {
			a.LastBeat = now.Add(-beat)
		}
		return groups.Address{URL: a.Address, State: groups.AddressState(a.Standing(now))}
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
		{"online", link.ExecutorsOnline, append(all[:len(all):len(all)], groups.Address{URL: "answers as something else", State: groups.AddressRefusing}), 1, []string{"beats", "missed a beat", "by hand"}, 3},
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

func TestTheAdviceOfARun(t *testing.T) {
	t.Parallel()
	page := layout.Page{Printer: locales.New().Printer(locales.English)}
	timeline := func(state runstate.State, trigger, address string) runs.Timeline {
		return runs.Timeline{Row: runs.Row{State: state, Trigger: trigger, Address: address, Group: "Orders"}}
	}
	const address = "http://10.0.0.1:9999/"
	tests := []struct {
		name     string
		timeline runs.Timeline
		why      event.Key // and its first word
		due      time.Duration
		want     string // the key
	}{
		{"nobody there", timeline(runstate.SendFailed, "CRON", ""), event.NoExecutor, 0, "advice.noexecutor"},
		{"refused", timeline(runstate.SendFailed, "CRON", address), event.Refused, 0, "advice.refused"},
		{"not reached", timeline(runstate.SendFailed, "CRON", address), event.Unreachable, 0, "advice.unreachable"},
		{"does not ask", timeline(runstate.SendFailed, "CRON", address), event.Silent, 0, "advice.silent"},
		{"refused, says an XXL-JOB admin", timeline(runstate.SendFailed, "CRON", address), "", 0, "advice.sendfailed"},
		{"its script", timeline(runstate.SendFailed, "CRON", address), event.NoSource, 0, ""},
		{"unknown", timeline(runstate.SendFailed, "CRON", ""), "", 0, ""},
		{"perhaps there", timeline(runstate.Unconfirmed, "CRON", address), event.Unanswered, 0, "advice.unconfirmed"},
		{"one too many", timeline(runstate.Discarded, "CRON", ""), event.Full, 0, "advice.discarded"},
		{"one too many of its executor", timeline(runstate.Discarded, "CRON", ""), event.GroupFull, 0, "advice.groupfull"},
		{"too many that wait for its executor", timeline(runstate.Discarded, "CRON", ""), event.GroupCrowded, 0, "advice.groupfull"},
		{"found too late", timeline(runstate.Skipped, "CRON", ""), event.TooLate, 0, "advice.skipped"},
		{"passed over", timeline(runstate.Skipped, "MISFIRE", ""), event.SkippedFires, 0, "advice.skipped"},
		{"sent before the database went back", timeline(runstate.Skipped, "MISFIRE", ""), event.MadeBefore, 0, "advice.madebefore"},
		{"left out by a pause", timeline(runstate.Skipped, "MISFIRE", ""), event.PausedFires, 0, ""},
		{"stopped", timeline(runstate.Stopped, "CRON", ""), event.JobStopped, 0, "advice.stopped"},
		{"not needed", timeline(runstate.Cancelled, "RETRY", ""), event.Withdrawn, 0, "advice.cancelled"},
		{"lost with its machine", timeline(runstate.Lost, "CRON", address), event.LostRun + " " + event.LostGone, 0, "advice.lost.gone"},
		{"forgotten", timeline(runstate.Lost, "CRON", address), event.LostRun + " " + event.LostIdle, 0, "advice.lost.idle"},
		{"forgotten with its folder", timeline(runstate.Lost, "CRON", address), event.LostRun + " " + event.LostForgot, 0, "advice.lost.forgot"},
		{"lost in silence", timeline(runstate.Lost, "CRON", address), event.LostRun + " " + event.LostSilent, 0, "advice.lost.silent"},
		{"lost while somebody wanted it ended", timeline(runstate.Killed, "CRON", address), event.LostRun + " " + event.LostGone, 0, "advice.lost.gone"},
		{"ended", timeline(runstate.Killed, "CRON", address), event.KilledAt, 0, ""},
		{"left open by an XXL-JOB admin", timeline(runstate.Lost, "CRON", address), event.LeftOpen, 0, "advice.lost.other"},
		{"given up by an XXL-JOB admin", timeline(runstate.Lost, "CRON", address), "", 0, "advice.lost.other"},
		{"lost, its results refused", timeline(runstate.Lost, "CRON", address), event.NotTold, 0, "advice.nottold"},
		{"a retry that waits", timeline(runstate.Waiting, "RETRY", ""), "", time.Minute, "advice.retrywaits"},
		{"a retry that leaves", timeline(runstate.Waiting, "RETRY", ""), "", time.Second, ""},
		{"claimed ahead", timeline(runstate.Waiting, "CRON", ""), "", 4 * time.Second, ""},
	}
	for _, tt := range tests {
		want := ""
		if tt.want != "" {
			want = page.T(tt.want, "Group", "Orders", "Address", tt.timeline.Address, "At", "")
		}
		key, cause, _ := strings.Cut(string(tt.why), " ")
		if got := advice(page, tt.timeline, event.New(time.UnixMilli(0), event.Key(key), cause), tt.due); got != want {
			t.Errorf("%s: %q, want %q", tt.name, got, want)
		}
	}
}

func TestTheTimelineIsWhatHappened(t *testing.T) {
	t.Parallel()
	c := &timelines{frame: &frame{zone: time.UTC}}
	page := layout.Page{Printer: locales.New().Printer(locales.English)}
	planned := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return planned.Add(time.Duration(ms) * time.Millisecond) }
	const a, b = "http://10.0.0.1:9999/", "http://10.0.0.2:9999/"
	claimed := event.New(at(-3000), event.Claimed, "admin-1", 1)
	routed := event.New(at(-2999), event.Routed, "ROUND", a, 2)
	sent := event.New(at(3), event.Sent, a, 12*time.Millisecond, 200)
	tests := []struct {
		name string
		run  runstate.Run
		want []string
	}{
		{"a success, and what followed", runstate.Run{Outcome: event.Succeeded, TriggerCode: 200, HandleCode: 200, Sent: at(3).UnixMilli(), Finished: at(1000).UnixMilli(),
			Events: event.List{claimed, routed, sent, event.New(at(1000), event.Child, 5, 77)}}, []string{
			"claimed done 01:59:57.000 3 s ahead by node admin-1 #1",
			"routed done 01:59:57.001 +1 ms Route strategy “Round robin”: http://10.0.0.1:9999/, one of 2",
			"planned done 02:00:00.000  ",
			"sent done 02:00:00.003 +3 ms ",
			"answered done 02:00:00.015 +12 ms ",
			"calledback done 02:00:01.000 +985 ms ",
			"follow done 02:00:01.000 +0 ms Child job 5: run 77",
		}},
		{"a run that goes on", runstate.Run{TriggerCode: 200, Events: event.List{claimed, routed, sent}, Sent: at(3).UnixMilli()}, []string{
			"claimed done 01:59:57.000 3 s ahead by node admin-1 #1",
			"routed done 01:59:57.001 +1 ms Route strategy “Round robin”: http://10.0.0.1:9999/, one of 2",
			"planned done 02:00:00.000  ",
			"sent done 02:00:00.003 +3 ms ",
			"answered done 02:00:00.015 +12 ms ",
			"calledback active   ",
		}},
		{"a run that waits", runstate.Run{Events: event.List{claimed}}, []string{
			"claimed done 01:59:57.000 3 s ahead by node admin-1 #1", "planned done 02:00:00.000  ", "routed active   ", "sent pending   ", "answered pending   ", "calledback pending   ",
		}},
		{"one that stands for others, and was taken over", runstate.Run{Outcome: event.Unconfirmed, TriggerCode: 500, Events: event.List{
			event.New(at(60_000), event.Claimed, "admin-1", 1), event.New(at(60_000), event.StandsFor, 12, false, at(0), at(11_000)),
			event.New(at(66_000), event.TakenOver, "admin-1", 1), event.New(at(66_010), event.Asked, a, event.AskLog, event.AnswerNo),
			event.New(at(66_020), event.Unanswered, b, 3*time.Second, wire.FaultLate, "deadline"), event.New(at(69_030), event.MayHave, b, wire.FaultRefused, "refused"),
		}}, []string{
			"planned done 02:00:00.000  ",
			"claimed done 02:01:00.000 +1 min by node admin-1 #1",
			"stands done 02:01:00.000 +0 ms Stands for 12 fires planned from 2026-03-01 02:00:00 to 2026-03-01 02:00:11",
			"takeover done 02:01:06.000 +6 s Taken over from admin-1, which is gone",
			"asked done 02:01:06.010 +10 ms Asked http://10.0.0.1:9999/ whether it has a log of the run: no",
			"sent done 02:01:06.020 +10 ms http://10.0.0.2:9999/",
			"answered failed 02:01:09.020 +3 s http://10.0.0.2:9999/ did not answer, but may have received it; no answer in time (3 s): deadline",
			"asked failed 02:01:09.030 +10 ms http://10.0.0.2:9999/ may have the run and does not answer, nobody listens there: refused",
		}},
		{"lost, and then not", runstate.Run{Outcome: event.Failed, TriggerCode: 200, HandleCode: 500, Sent: at(3).UnixMilli(), Finished: at(90_000).UnixMilli(),
			Events: event.List{sent, event.New(at(60_000), event.LostRun, event.LostSilent, a), event.New(at(60_000), event.Retry, 5, 78), event.New(at(90_000), event.Result, 500, "boom")}}, []string{
			"planned done 02:00:00.000  ",
			"sent done 02:00:00.003 +3 ms http://10.0.0.1:9999/",
			"answered done 02:00:00.015 +12 ms ",
			"lost failed 02:01:00.000 +59 s Result lost: http://10.0.0.1:9999/ does not answer",
			"follow done 02:01:00.000 +0 ms Retry: run 78 of job 5",
			"result done 02:01:30.000 +30 s A result came later: 500 boom",
		}},
		{"given up by an XXL-JOB admin, which reports nothing", runstate.Run{TriggerCode: 200, HandleCode: 500, HandleNote: "任务结果丢失，标记失败", Sent: at(3).UnixMilli(), Finished: at(600_000).UnixMilli(), Address: a}, []string{
			"planned done 02:00:00.000  ", "sent done 02:00:00.003 +3 ms http://10.0.0.1:9999/", "lost failed 02:10:00.000 +9 min 59 s 任务结果丢失，标记失败",
		}},
		{"ended by an XXL-JOB admin", runstate.Run{TriggerCode: 200, HandleCode: 500, HandleNote: "人为操作，主动终止:Success", Sent: at(3).UnixMilli(), Finished: at(5000).UnixMilli(), Address: a}, []string{
			"planned done 02:00:00.000  ", "sent done 02:00:00.003 +3 ms http://10.0.0.1:9999/", "kill failed 02:00:05.000 +4.9 s 人为操作，主动终止:Success",
		}},
		{"ended, as its executor reports", runstate.Run{TriggerCode: 200, HandleCode: 500, HandleNote: "scheduling center kill job. [job running, killed]", Sent: at(3).UnixMilli(), Finished: at(5000).UnixMilli(), Address: a}, []string{
			"planned done 02:00:00.000  ", "sent done 02:00:00.003 +3 ms http://10.0.0.1:9999/", "calledback failed 02:00:05.000 +4.9 s 500",
		}},
		{"given up after its report was refused", runstate.Run{Outcome: event.Lost, TriggerCode: 200, HandleCode: 500, Sent: at(3).UnixMilli(), Finished: at(60_000).UnixMilli(),
			Events: event.List{sent, event.New(at(60_000), event.LostRun, event.LostIdle, a), event.New(at(9000), event.NotTold, "10.0.0.1", event.NotToldToken)}}, []string{
			"planned done 02:00:00.000  ",
			"sent done 02:00:00.003 +3 ms http://10.0.0.1:9999/",
			"answered done 02:00:00.015 +12 ms ",
			"nottold failed 02:00:09.000 +8.9 s A call of 10.0.0.1 was refused: its access token is wrong",
			"lost failed 02:01:00.000 +51 s Result lost: http://10.0.0.1:9999/ has nothing of this job any more, and no result came",
		}},
		{"left out", runstate.Run{Outcome: event.Skipped, TriggerCode: 500, Events: event.List{event.New(at(9000), event.SkippedFires, 1, false, at(0), at(0), "DO_NOTHING")}}, []string{
			"planned done 02:00:00.000  ", "passed skipped 02:00:09.000 +9 s Skipped: the fire planned for 2026-03-01 02:00:00; the misfire strategy is “Do nothing”",
		}},
		{"flow that goes on", runstate.Run{TriggerCode: 200, Sent: at(3).UnixMilli(), Events: event.List{event.New(at(3), event.FlowBegan, 5)}}, []string{
			"planned done 02:00:00.000  ", "flow done 02:00:00.003 +3 ms Begun, 5 steps", "ended active   ",
		}},
		{"flow that waits", runstate.Run{}, []string{"planned done 02:00:00.000  ", "flow active   ", "ended pending   "}},
		{"flow that failed", runstate.Run{Outcome: event.Failed, TriggerCode: 200, HandleCode: 500, Sent: at(3).UnixMilli(), Finished: at(90).UnixMilli(), Events: event.List{event.New(at(3), event.FlowBegan, 5)}}, []string{
			"planned done 02:00:00.000  ", "flow done 02:00:00.003 +3 ms Begun, 5 steps", "ended failed 02:00:00.090 +87 ms ",
		}},
		{"of an XXL-JOB admin", runstate.Run{TriggerCode: 200, HandleCode: 500, Sent: at(3).UnixMilli(), Finished: at(50).UnixMilli(), Address: a}, []string{
			"planned done 02:00:00.000  ", "sent done 02:00:00.003 +3 ms http://10.0.0.1:9999/", "calledback failed 02:00:00.050 +47 ms 500",
		}},
	}
	for _, tt := range tests {
		tt.run.Planned = planned.UnixMilli()
		var got []string
		for _, s := range c.steps(page, &tt.run, tt.run.State(), "", tt.name[:4] == "flow") {
			got = append(got, strings.Join([]string{s.Name, string(s.State), s.At, s.Delta, s.Detail}, " "))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestEveryEventHasItsPlaceInTheTimeline(t *testing.T) {
	t.Parallel()
	drawn := []event.Key{event.Claimed, event.Routed, event.Sent, event.Refused, event.Unanswered}                 // as more than one step, or with more to tell
	elsewhere := []event.Key{event.Overdue, event.Longer, event.Asks, event.NoSuccess, event.DueBy, event.NotDone} // of alarms, never of a run
	for key := range event.Specs {
		_, named := stepOf[key]
		if want := !slices.Contains(drawn, key) && !slices.Contains(elsewhere, key); named != want {
			t.Errorf("%s has a step: %v", key, named)
		}
	}
}

// TestFormsAreBoundByTheirTags posts every field of a form: its part of the struct has it, and nothing else has changed.
func TestFormsAreBoundByTheirTags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fields  []string
		to      any
		unbound string
	}{
		{[]string{groups.FieldAppName, groups.FieldTitle, groups.FieldType, groups.FieldAddresses, groups.FieldIdle, groups.FieldTokenManages, groups.FieldScriptReview, groups.FieldKeepOutput, groups.FieldMaxRunning, groups.FieldVersion}, new(groups.FormValues), ""},
		{[]string{users.FieldName, users.FieldPassword, users.FieldRole, users.FieldState, users.FieldVersion, users.FieldBreakGlass, "Provider", "Service"}, new(users.FormValues), "Provider Service "},
		{[]string{
			alarms.FieldName, alarms.FieldKind, alarms.FieldGroup, alarms.FieldLanguage, alarms.FieldEnabled, alarms.FieldForJobs, alarms.FieldEveryJob, alarms.FieldJob, alarms.FieldQuietFrom, alarms.FieldQuietTo,
			alarms.FieldQuietMode, alarms.FieldHost, alarms.FieldPort, alarms.FieldSecurity, alarms.FieldSkipVerify, alarms.FieldUsername, alarms.FieldPassword, alarms.FieldFrom,
			alarms.FieldRecipients, alarms.FieldURL, alarms.FieldSecret, alarms.FieldChat, alarms.FieldTemplate, alarms.FieldSubject, alarms.FieldText, alarms.FieldRemoveSecret, alarms.FieldRemovePassword, alarms.FieldVersion,
		}, new(alarms.FormValues), ""},
	} {
		form := make(url.Values)
		for _, name := range tt.fields {
			form.Set(name, "a\r\nb")
		}
		post := func(kind, body string) error {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
			r.Header.Set(echo.HeaderContentType, kind)
			return readForm(func(ec echo.Context) error { return bind(ec, tt.to) })(echo.New().NewContext(r, httptest.NewRecorder()))
		}
		if err := post(echo.MIMEApplicationJSON, `{"Provider":"x","Name":"x"}`); problem.From(err).Kind != problem.Malformed || !reflect.ValueOf(tt.to).Elem().IsZero() {
			t.Errorf("%T from JSON: %+v, %v", tt.to, tt.to, err)
		}
		if err := post(echo.MIMEApplicationForm, form.Encode()); err != nil {
			t.Fatal(err)
		}
		unbound := ""
		for field, value := range reflect.ValueOf(tt.to).Elem().Fields() {
			switch v := value.Interface().(type) {
			case string:
				if v != "a\nb" {
					unbound += field.Name + " "
				}
			case ui.Checked:
				if !v {
					unbound += field.Name + " "
				}
			default:
				unbound += field.Name + " "
			}
		}
		if unbound != tt.unbound {
			t.Errorf("%T: not bound: %q, want %q", tt.to, unbound, tt.unbound)
		}
	}
}

// TestEveryStateOfARunCanBeAskedFor by the filter of the run list.
func TestEveryStateOfARunCanBeAskedFor(t *testing.T) {
	t.Parallel()
	asked := map[runstate.State]bool{runstate.Success: true} // as a result
	for _, r := range link.Results() {
		if got := link.RunsFrom(url.Values{"result": {r}}); got.Result != r {
			t.Errorf("%s is read as %q", r, got.Result)
		}
		asked[runstate.State(link.ResultState(r))] = true
	}
	for _, s := range runstate.All() {
		if !asked[s] {
			t.Errorf("nothing asks for %s", s)
		}
	}
}

// TestAnOutputThatCannotBeReadIsNotADeedThatFailed: nothing was to be done but to read it.
func TestAnOutputThatCannotBeReadIsNotADeedThatFailed(t *testing.T) {
	t.Parallel()
	page := layout.Page{Printer: locales.New().Printer("en")}
	away := &scheduler.ExecutorError{Address: "http://a/", Err: errors.New("refused")}
	if got := unread(page, away, 0); got != "http://a/ cannot be asked for the output at the moment: refused" {
		t.Error(got)
	}
	// And that there is no copy is not the executor's doing.
	if got, want := unread(page, away, 3*time.Minute), "The store of kept outputs has not worked for 3 min: a copy is there when it works again. http://a/ cannot be asked for the output at the moment: refused"; got != want {
		t.Error(got)
	}
	if got := unread(page, problem.New(problem.NotFound, "log.empty.none"), 0); got != page.T("log.empty.none") {
		t.Error(got)
	}
}

func TestAPlaceIsFoundByTheBeginningsOfItsWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, part string
		want       bool
	}{
		{"tonight", "night", false}, {"tonight", "TO", true}, {"What runs tonight", "tonight", true}, {"night of the tonight", "night", true}, {"tonight night", "night", true},
		{"调度日志", "日志", true}, {"新建Webhook", "webhook", true}, {"API tokens", "tok", true}, {"24 hours", "4", true}, {"Ürün", "ü", true}, {"", "a", false},
	} {
		if got := beginsWord(tt.text, tt.part); got != tt.want {
			t.Errorf("%q in %q: %v", tt.part, tt.text, got)
		}
	}
}

// TestAFaultIsSaidInOneLanguage: what this program found by itself has no English sentence behind it; what a library or the other side said stays.
func TestAFaultIsSaidInOneLanguage(t *testing.T) {
	t.Parallel()
	catalogue := locales.New()
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, lang := range locales.Languages() {
		teller := event.Teller{Printer: catalogue.Printer(lang), Zone: time.UTC}
		for _, key := range []event.Key{event.Unreachable, event.Unanswered} {
			for err, says := range map[error]bool{
				&wire.CallError{Stage: wire.StageDecode, Err: wire.ErrTooOld}:                                 true,
				fmt.Errorf("%w: %w", wire.ErrNotFetched, context.DeadlineExceeded):                            true,
				&wire.SilentError{Since: at}:                                                                  true,
				&wire.CallError{Stage: wire.StageDial, Err: errors.New("dial tcp: lookup a: no such host x")}: false,
			} {
				told := teller.Tell(event.New(at, key, "http://a:9999/", time.Second, wire.FaultOf(err), err))
				if got := !strings.Contains(told, err.Error()); got != says {
					t.Errorf("%s, %v: %q", lang, err, told)
				}
				if says && strings.TrimRight(told, ":： ") != told {
					t.Errorf("%s: %q leads to nothing", lang, told)
				}
			}
		}
		for _, f := range wire.AllFaults {
			if word := teller.Printer.Word("fault.", string(f)); word == string(f) || word == "" {
				t.Errorf("%s has no words for %s", lang, f)
			}
		}
	}
}

func TestAJobThatFailsCountsWhatHasEnded(t *testing.T) {
	got := failingOf([]jobs.RunLine{{Mark: jobs.MarkOpen}, {Mark: jobs.MarkBad, LogID: 8}, {Mark: jobs.MarkOpen}, {Mark: jobs.MarkKilled}})
	if got == nil || got.Run.LogID != 8 || got.Count != 1 || got.Of != 2 {
		t.Errorf("%+v, want one failure of two that ended", got)
	}
}

// TestACronTextOfAChineseInputMethodIsRead as it is meant, by the preview as by what is saved.
func TestACronTextOfAChineseInputMethodIsRead(t *testing.T) {
	t.Parallel()
	const typed, want = "0 0/5 3　＊ 1，7 ？", "0 0/5 3 * 1,7 ?"
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/jobs", strings.NewReader(url.Values{jobs.FieldCron: {typed}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	err := readForm(func(ec echo.Context) error {
		if got := typedValues(ec)[jobs.FieldCron]; got != want {
			t.Errorf("%q is read as %q, want %q", typed, got, want)
		}
		return nil
	})(echo.New().NewContext(r, httptest.NewRecorder()))
	if err != nil {
		t.Fatal(err)
	}
}

// TestAFormIsText, with the line ends of one, whatever bytes a program posts.
func TestAFormIsText(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "/jobs?name=%fe", strings.NewReader("param=%ff%e5%a5%bd&script=a%0D%0Ab"))
	r.Header.Set(echo.HeaderContentType, echo.MIMEApplicationForm)
	if err := parseForm(echo.New().NewContext(r, httptest.NewRecorder())); err != nil {
		t.Fatal(err)
	}
	if got := [3]string{r.Form.Get("name"), r.Form.Get("param"), r.Form.Get("script")}; got != [3]string{"\uFFFD", "\uFFFD好", "a\nb"} {
		t.Errorf("%q", got)
	}
}
