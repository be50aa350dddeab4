package account

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/punctual-job/punctual/scheduler/calendar"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func ms(text string) int64 {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return at.UnixMilli()
}

// times are the fires in words, with their fates.
func times(t *testing.T, definitions []Definition, from, to, now string, loc *time.Location) []string {
	t.Helper()
	fires, ok := Fires(definitions, ms(from), ms(to), ms(now), 10_000)
	if !ok {
		t.Fatal("too many fires")
	}
	list := make([]string, len(fires))
	for i, f := range fires {
		list[i] = time.UnixMilli(f.At).In(loc).Format("02T15:04:05") + []string{"", " dropped", " uncertain", " awaited"}[f.fate]
	}
	return list
}

func TestFires(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	hourly := jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 0 * * * ?"}
	rate := jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "1800"}
	weekdays := &calendar.Calendar{Name: "weekdays", Week: calendar.Weekdays[1:6]}
	if err := weekdays.Check(); err != nil {
		t.Fatal(err)
	}
	day := func(clock string) int64 { return ms("2026-03-05T" + clock + "Z") }
	for _, c := range []struct {
		name          string
		definitions   []Definition
		from, to, now string
		loc           *time.Location
		want          []string
	}{
		{"nothing after now, and what no admin has come to waits",
			[]Definition{{Schedule: hourly, Started: true, First: day("01:00:00"), Claimed: day("04:00:00")}},
			"2026-03-05T02:00:00Z", "2026-03-06T00:00:00Z", "2026-03-05T05:30:00Z", time.UTC,
			[]string{"05T02:00:00", "05T03:00:00", "05T04:00:00 awaited", "05T05:00:00 awaited"}},
		{"an edit in the middle",
			[]Definition{
				{Schedule: hourly, Started: true, First: day("01:00:00"), Until: day("03:30:00"), Claimed: day("04:00:00"), Ended: Edited},
				{Schedule: rate, Started: true, First: day("04:00:01"), Since: day("03:30:00"), Made: day("03:30:00"), Claimed: day("06:00:00")}},
			"2026-03-05T02:00:00Z", "2026-03-05T05:01:00Z", "2026-03-05T07:00:00Z", time.UTC,
			[]string{"05T02:00:00", "05T03:00:00", "05T04:00:01", "05T04:30:01", "05T05:00:01"}},
		{"what was claimed ahead of a stop still counts, what was overdue at it was dropped",
			[]Definition{
				{Schedule: rate, Started: true, First: day("01:00:00"), Until: day("01:59:59"), Claimed: day("02:30:00"), Ended: Stopped},
				{Started: false, Since: day("01:59:59"), Until: day("05:00:00"), Ended: Edited},
				{Schedule: rate, Started: true, First: day("05:30:00"), Since: day("05:00:00"), Until: day("06:45:00"), Claimed: day("05:30:00"), Ended: Removed}},
			"2026-03-05T01:30:00Z", "2026-03-05T08:00:00Z", "2026-03-05T08:00:00Z", time.UTC,
			[]string{"05T01:30:00", "05T02:00:00", "05T05:30:00 dropped", "05T06:00:00 dropped", "05T06:30:00 dropped"}},
		{"somebody else's change is known from when it was noticed",
			[]Definition{
				{Schedule: rate, Started: true, First: day("01:00:00"), Until: day("03:00:00"), Ended: Noticed},
				{Schedule: hourly, Started: true, First: day("04:00:00"), Since: day("01:45:00"), Made: day("03:00:00"), Claimed: day("05:00:00")}},
			"2026-03-05T01:00:00Z", "2026-03-05T04:30:00Z", "2026-03-05T05:00:00Z", time.UTC,
			[]string{"05T01:00:00", "05T01:30:00", "05T02:00:00 uncertain", "05T02:30:00 uncertain", "05T04:00:00"}},
		{"an hour that is left out and one that is doubled",
			[]Definition{{Schedule: jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 30 2 * * ?", Zone: berlin}, Started: true, First: ms("2026-03-28T01:30:00Z"), Claimed: 1 << 60}},
			"2026-03-28T00:00:00Z", "2026-03-31T00:00:00Z", "2026-04-01T00:00:00Z", berlin,
			[]string{"28T02:30:00", "30T02:30:00"}},
		{"the doubled hour fires once",
			[]Definition{{Schedule: jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "0 30 2 * * ?", Zone: berlin}, Started: true, First: ms("2026-10-24T00:30:00Z"), Claimed: 1 << 60}},
			"2026-10-24T00:00:00Z", "2026-10-26T22:00:00Z", "2026-10-27T00:00:00Z", berlin,
			[]string{"24T02:30:00", "25T02:30:00", "26T02:30:00"}},
		{"a window ends it",
			[]Definition{{Schedule: jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "3600", End: time.UnixMilli(day("03:00:00"))}, Started: true, First: day("01:00:00"),
				Until: day("03:00:01"), Claimed: day("03:00:00") + 1, Ended: Edited}},
			"2026-03-05T00:00:00Z", "2026-03-06T00:00:00Z", "2026-03-07T00:00:00Z", time.UTC,
			[]string{"05T01:00:00", "05T02:00:00", "05T03:00:00"}},
		{"a fixed rate keeps to its calendar also where the time begins on a day off",
			[]Definition{{Schedule: jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: "28800", Calendar: weekdays, Rule: jobspec.CalendarWorkdays}, Started: true, First: ms("2026-03-02T01:00:00Z"), Claimed: 1 << 60}},
			"2026-03-07T00:00:00Z", "2026-03-09T12:00:00Z", "2026-03-10T00:00:00Z", time.UTC, // from a Saturday on
			[]string{"09T01:00:00", "09T09:00:00"}},
		{"once",
			[]Definition{{Schedule: jobspec.Schedule{Type: jobspec.ScheduleOnce, Conf: "2026-03-05T01:00:00Z"}, Started: true, First: day("01:00:00"), Claimed: 1 << 60}},
			"2026-03-05T00:00:00Z", "2026-03-06T00:00:00Z", "2026-03-07T00:00:00Z", time.UTC, []string{"05T01:00:00"}},
		{"what cannot be read has none",
			[]Definition{{Schedule: jobspec.Schedule{Type: jobspec.ScheduleCron, Conf: "nonsense"}, Started: true, First: day("01:00:00"), Claimed: day("01:00:00"), Until: day("01:00:00"), Ended: Edited}},
			"2026-03-05T00:00:00Z", "2026-03-06T00:00:00Z", "2026-03-07T00:00:00Z", time.UTC, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, times(t, c.definitions, c.from, c.to, c.now, c.loc)); diff != "" {
				t.Errorf("fires (-want +got):\n%s", diff)
			}
		})
	}
}

// world is an engine that nobody has looked into: it decides as it likes when, by the rule alone that what is more than five
// seconds late is a misfire.
type world struct {
	every, first, now int64
	once              bool // FIRE_ONCE_NOW
	next, id          int64
	runs              []Run
	want              map[int64]Class
	who               map[int64]int64
}

func (w *world) claim() {
	var late []int64
	for w.next < w.now-5000 {
		late = append(late, w.next)
		w.next += w.every
	}
	if len(late) > 0 {
		w.id++
		from, to := late[0], late[len(late)-1]
		key, class, r := event.SkippedFires, Skipped, Run{ID: w.id, Planned: to, Type: jobspec.TriggerMisfire, TriggerCode: 500, Outcome: event.Skipped}
		if w.once {
			key, class, r = event.StandsFor, Stands, Run{ID: w.id, Planned: w.now, SentAt: w.now + 3, Type: jobspec.TriggerMisfire, TriggerCode: 200}
		}
		r.Events = event.List{event.New(time.UnixMilli(w.now), key, len(late), false, from, to)}
		w.runs = append(w.runs, r)
		for _, at := range late {
			w.want[at], w.who[at] = class, w.id
		}
	}
	for w.next <= w.now+2000 {
		w.id++
		sent := max(w.next, w.now) + 1
		w.runs = append(w.runs, Run{ID: w.id, Planned: w.next, SentAt: sent, Type: jobspec.TriggerCron, TriggerCode: 200, Outcome: event.Succeeded})
		w.want[w.next], w.who[w.next] = OnTime, w.id
		if sent-w.next > 1000 {
			w.want[w.next] = Late
		}
		w.next += w.every
	}
}

// TestEveryFireOfAWorldIsAccountedFor lives through random outages of a random world and holds the account against what the world
// itself knows; then it takes runs away and doubles others.
func TestEveryFireOfAWorldIsAccountedFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		every := int64(rapid.IntRange(1, 30).Draw(t, "every"))
		start := int64(1_000_000)
		w := &world{every: every * 1000, first: start, next: start, now: start, once: rapid.Bool().Draw(t, "once"), want: make(map[int64]Class), who: make(map[int64]int64)}
		for range rapid.IntRange(1, 12).Draw(t, "claims") {
			w.now += int64(rapid.SampledFrom([]int{500, 500, 500, 3000, 20_000, 100_000}).Draw(t, "pause"))
			w.claim()
		}
		from := start + int64(rapid.IntRange(0, 50_000).Draw(t, "from"))
		to := from + int64(rapid.IntRange(1, 300_000).Draw(t, "length"))
		definition := Definition{Schedule: jobspec.Schedule{Type: jobspec.ScheduleFixRate, Conf: fmt.Sprint(every)}, Started: true, First: start, Claimed: w.next}
		gone := map[int64]bool{}
		if rapid.Bool().Draw(t, "lose") && len(w.runs) > 1 {
			i := rapid.IntRange(0, len(w.runs)-1).Draw(t, "which")
			gone[w.runs[i].ID] = true
			w.runs = slices.Delete(w.runs, i, i+1)
		}
		twice := map[int64]bool{}
		if rapid.Bool().Draw(t, "double") {
			r := rapid.SampledFrom(w.runs).Draw(t, "doubled")
			w.id++
			twice[r.ID] = true
			r.ID = w.id
			w.runs = append(w.runs, r)
		}
		now := w.now + 60_000
		fires, ok := Fires([]Definition{definition}, from, to, now, 100_000)
		if !ok {
			t.Fatal("too many fires")
		}
		findings := (&Ledger{Fires: fires, Runs: w.runs, From: from, To: to, Now: now}).Settle()
		got := make(map[int64]Class)
		for _, f := range findings {
			got[f.At] = f.Class
		}
		for at := start; at < to; at += w.every {
			if at < from || at > now {
				continue
			}
			want, known := w.want[at]
			switch who := w.who[at]; {
			case !known:
				want = Pending
			case gone[who]:
				want = Missing
			case twice[who]:
				want = Doubled
			}
			if got[at] != want {
				t.Fatalf("the fire at %d is %s, want %s; runs %+v", at, got[at], want, w.runs)
			}
			delete(got, at)
		}
		if len(got) > 0 {
			t.Fatalf("findings of no fire: %v", got)
		}
	})
}

func TestSettle(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(0)
	sent := func(id, planned int64) Run {
		return Run{ID: id, Planned: planned, SentAt: planned + 5, Type: jobspec.TriggerCron, TriggerCode: 200, Outcome: event.Succeeded}
	}
	with := func(r Run, change func(*Run)) Run {
		change(&r)
		return r
	}
	misfire := func(id, planned int64) Run {
		return Run{ID: id, Planned: planned, Type: jobspec.TriggerMisfire, TriggerCode: 500}
	}
	for _, c := range []struct {
		name string
		runs []Run
		want string // for the fires at 10,000, 20,000, 30,000, 40,000
	}{
		{"nothing is on record", nil, "missing missing missing missing"},
		{"on time, late and not sent yet", []Run{sent(1, 10_000), with(sent(2, 20_000), func(r *Run) { r.SentAt = 21_001 }),
			{ID: 3, Planned: 30_000, Type: jobspec.TriggerCron}, sent(4, 40_000)}, "ontime#1 late#2 late#3(unsent) ontime#4"},
		{"not sent, lost, killed before it was sent and killed after",
			[]Run{with(sent(1, 10_000), func(r *Run) {
				r.Outcome, r.TriggerCode, r.Events = event.NotSent, 500, event.List{event.New(at, event.NoExecutor)}
			}), with(sent(2, 20_000), func(r *Run) {
				r.Outcome, r.Events = event.Lost, event.List{event.New(at, event.LostRun, "gone", "a")}
			}), with(sent(3, 30_000), func(r *Run) {
				r.Outcome, r.SentAt, r.Events = event.Killed, 0, event.List{event.New(at, event.KilledAt, "ann", "unsent")}
			}), with(sent(4, 40_000), func(r *Run) { r.Outcome = event.Killed })}, "notsent#1(noexecutor) lost#2(lost) notsent#3(killed) ontime#4"},
		{"rows without reasons: a skipped fire stands for those before it", []Run{sent(1, 10_000), misfire(2, 30_000), sent(3, 40_000)},
			"ontime#1 skipped#2(codes) skipped#2(codes) ontime#3"},
		{"rows without reasons: a run that stands for others comes after them, and after those that were not late enough",
			[]Run{sent(1, 10_000), sent(2, 40_000), with(misfire(3, 41_000), func(r *Run) { r.TriggerCode, r.SentAt = 200, 41_001 })},
			"ontime#1 stands#3(codes) stands#3(codes) ontime#2"},
		{"more than anybody counted", []Run{with(misfire(1, 20_000), func(r *Run) {
			r.Outcome, r.Events = event.Skipped, event.List{event.New(at, event.SkippedFires, 2, true, 10_000, 20_000, "DO_NOTHING")}
		}), sent(2, 40_000)}, "skipped#1(skipped) skipped#1(skipped) skipped#1(skipped) ontime#2"},
		{"the shards of a broadcast are one fire, the worst counts",
			[]Run{with(sent(1, 10_000), func(r *Run) { r.Shard = "0/2" }), with(sent(2, 10_000), func(r *Run) { r.Shard, r.Outcome = "1/2", event.Lost }),
				with(sent(3, 20_000), func(r *Run) { r.Shard = "0/2" }), with(sent(4, 20_000), func(r *Run) { r.Shard = "0/2" }), sent(5, 30_000), sent(6, 40_000)},
			"lost#2 doubled#3(twice) ontime#5 ontime#6"},
		{"a run of its own beside one that stands for it", []Run{sent(1, 10_000), sent(2, 20_000), sent(3, 30_000), with(misfire(4, 50_000), func(r *Run) {
			r.TriggerCode, r.SentAt, r.Events = 200, 50_001, event.List{event.New(at, event.StandsFor, 2, false, 30_000, 40_000)}
		})}, "ontime#1 ontime#2 doubled#3(twice) stands#4(stands)"},
		{"runs for which nothing was planned", []Run{sent(1, 10_000), sent(2, 15_000), sent(3, 20_000), sent(4, 30_000), sent(5, 40_000)},
			"ontime#1 unplanned#2 ontime#3 ontime#4 ontime#5"},
		{"an XXL-JOB admin's runs", []Run{{ID: 1, At: 10_000, TriggerCode: 200}, {ID: 2, At: 23_000, TriggerCode: 200}, sent(3, 30_000), sent(4, 40_000)},
			"ontime#1(foreign) late#2(foreign) ontime#3 ontime#4"},
		{"a retry and a run by hand are not fires", []Run{sent(1, 10_000), with(sent(2, 20_000), func(r *Run) { r.Type = jobspec.TriggerRetry }),
			with(sent(3, 30_000), func(r *Run) { r.Type = jobspec.TriggerManual }), sent(4, 40_000)}, "ontime#1 missing missing ontime#4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := Ledger{Runs: c.runs, From: 10_000, To: 50_000, Now: 100_000}
			for at := int64(10_000); at < 50_000; at += 10_000 {
				l.Fires = append(l.Fires, Fire{At: at})
			}
			got := ""
			for _, f := range l.Settle() {
				got += " " + f.Class.String()
				if f.Run != 0 {
					got += fmt.Sprintf("#%d", f.Run)
				}
				if f.Why.Key != "" {
					got += "(" + string(f.Why.Key) + ")"
				}
			}
			if got != " "+c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestAReportJoinsStretchesAndBoundsItsList(t *testing.T) {
	t.Parallel()
	r := NewReport(0, 100, 2)
	job := Job{ID: 1, Name: "a"}
	e := event.New(time.UnixMilli(5), event.SkippedFires, 3)
	r.Add(job, []Finding{{1, OnTime, 1, event.Event{}}, {2, Skipped, 2, e}, {3, Skipped, 2, e}})
	r.Add(job, []Finding{{4, Skipped, 2, e}, {5, Missing, 0, event.Event{}}, {6, Missing, 0, event.Event{}}, {7, OnTime, 3, event.Event{}}, {8, Missing, 0, event.Event{}}})
	r.Add(Job{ID: 2}, []Finding{{8, Missing, 0, event.Event{}}, {9, Missing, 0, event.Event{}}})
	r.Close()
	want := []Entry{{job, Skipped, 2, 4, 3, 2, e}, {job, Missing, 5, 6, 2, 0, event.Event{}}, {job, Missing, 8, 8, 1, 0, event.Event{}}}
	if diff := cmp.Diff(want, r.Entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if r.Left != 2 || r.Fires != 10 || r.Counts[Missing] != 5 || !r.Faulty() {
		t.Errorf("report %+v", r)
	}
}
