package console

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/timeline"
)

func TestBarsAtTheSameTimeStandAboveEachOther(t *testing.T) {
	t.Parallel()
	bar := func(x, w float64) timeline.Bar { return timeline.Bar{X: x, Run: x + 1, W: w} }
	tests := []struct {
		name  string
		bars  []timeline.Bar
		most  int
		want  []int
		lanes int
	}{
		{"none", nil, 4, []int{}, 1},
		{"one after the other", []timeline.Bar{bar(0, 9), bar(10, 5), bar(20, 1)}, 4, []int{0, 0, 0}, 1},
		{"one waits while another runs", []timeline.Bar{bar(0, 9), bar(9, 5)}, 4, []int{0, 1}, 2},
		{"a lane is used again", []timeline.Bar{bar(0, 50), bar(5, 5), bar(20, 5)}, 4, []int{0, 1, 1}, 2},
		{"more than there is room for", []timeline.Bar{bar(0, 50), bar(1, 50), bar(2, 50), bar(3, 1)}, 2, []int{0, 1, 1, 1}, 2},
	}
	for _, tt := range tests {
		lanes := stack(tt.bars, tt.most)
		got := make([]int, len(tt.bars))
		for i, b := range tt.bars {
			got[i] = b.Lane
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || lanes != tt.lanes {
			t.Errorf("%s: %d lanes, want %d %s", tt.name, lanes, tt.lanes, diff)
		}
	}
}

func TestMomentsOfAnotherDayHaveIt(t *testing.T) {
	t.Parallel()
	at := func(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC) }
	for _, tt := range []struct {
		from, until, at time.Time
		want            string
	}{
		{at(27, 9), at(27, 11), at(27, 10), "10:00:00"},
		{at(27, 9), at(27, 11), at(25, 10), "11-25 10:00:00"}, // when a pause began that goes on
		{at(26, 23), at(27, 1), at(27, 0), "11-27 00:00:00"},
	} {
		v := timeView{from: tt.from, until: tt.until}
		if got := v.clock(tt.at.In(time.FixedZone("UTC+8", 8*60*60))); got != tt.want {
			t.Errorf("%v in a picture from %v to %v: got %s, want %s", tt.at, tt.from, tt.until, got, tt.want)
		}
	}
}

func TestTheGridStandsAtFullTimesOfTheClock(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) time.Time {
		parsed, err := time.ParseInLocation(link.MinuteLayout, text, berlin)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	tests := []struct {
		name        string
		from, until string
		now         float64
		want        []string
	}{
		{"an hour", "2026-03-04T09:07", "2026-03-04T10:22", 80, []string{"09:10", "09:20", "09:30", "09:40", "09:50", "10:00", "", "10:20"}},
		{"labels beside now", "2026-03-04T09:07", "2026-03-04T10:22", 76, []string{"09:10", "09:20", "09:30", "09:40", "09:50", "", "", "10:20"}},
		{"a day", "2026-03-04T09:07", "2026-03-05T15:07", -1, []string{"12:00", "18:00", "03-05", "06:00", "12:00"}},
		{"over the change of the clock", "2026-03-28T20:30", "2026-03-29T08:30", -1, []string{"22:00", "03-29", "03:00", "04:00", "06:00", "08:00"}},
	}
	for _, tt := range tests {
		var got []string
		last := -1.0
		for _, tick := range timeTicks(at(tt.from), at(tt.until), tt.now) {
			got = append(got, tick.Label)
			if tick.X <= last || tick.X >= 100 {
				t.Errorf("%s: a line at %v behind one at %v", tt.name, tick.X, last)
			}
			last = tick.X
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestShortRunsOfAKindAreOneBar(t *testing.T) {
	t.Parallel()
	one := func(state string, x, w float64) span {
		return span{Bar: timeline.Bar{X: x, Run: x, W: w, Tone: state, URL: state}, state: state, n: 1}
	}
	bars := []span{one("ok", 1, 0.1), one("ok", 1.2, 0.1), one("bad", 1.3, 0.1), one("ok", 1.4, 0.1), one("ok", 2, 0.1), one("ok", 2.1, 5), one("ok", 7.2, 0.1)}
	var got []int
	for _, b := range groupBars(bars) {
		got = append(got, b.n)
	}
	if diff := cmp.Diff([]int{3, 1, 1, 1, 1}, got); diff != "" {
		t.Error(diff)
	}
}

func TestARangeNamesTheYearThatIsNotThisOne(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct{ from, until, want string }{
		{"2026-03-04T01:00:00Z", "2026-03-04T02:00:00Z", "03-04 01:00 02:00"},
		{"2026-03-03T23:00:00Z", "2026-03-04T02:00:00Z", "03-03 23:00 03-04 02:00"},
		{"2025-03-03T23:00:00Z", "2025-03-03T23:30:00Z", "2025-03-03 23:00 23:30"},
		{"2025-12-31T23:00:00Z", "2026-01-01T01:00:00Z", "2025-12-31 23:00 2026-01-01 01:00"},
	} {
		from, err := time.Parse(time.RFC3339, tc.from)
		if err != nil {
			t.Fatal(err)
		}
		until, err := time.Parse(time.RFC3339, tc.until)
		if err != nil {
			t.Fatal(err)
		}
		if first, last := spanOf(from, until, now); first+" "+last != tc.want {
			t.Errorf("%s to %s: %s %s, want %s", tc.from, tc.until, first, last, tc.want)
		}
	}
}
