package expr

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

var shanghai = zoneOf("Asia/Shanghai")

func zoneOf(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return zone
}

func TestPlannedTimesAreWritten(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 31, 1, 5, 9, 70_000_000, shanghai)
	for _, tt := range []struct{ text, want string }{
		{"nothing $ {{ planned }} here", "nothing $ {{ planned }} here"},
		{"${{ planned }}", "2026-03-31T01:05:09+08:00"},
		{"${{planned}}", "2026-03-31T01:05:09+08:00"},
		{"${{ planned | yyyy-MM-dd, -1d }}", "2026-03-30"},
		{"day=${{ planned|yyyyMMdd }} next=${{ planned|yyyyMMdd,+1d }}", "day=20260331 next=20260401"},
		{"${{ planned | yyyy-MM-dd HH:mm:ss.SSS }}", "2026-03-31 01:05:09.070"},
		{"${{ planned | yy/M/d H:m:s }}", "26/3/31 1:5:9"},
		{"${{ planned | yyyy-MM-dd'T'HH:mm }}", "2026-03-31T01:05"},
		{"${{ planned | 'o''clock, 'HH'' }}", "o'clock, 01'"},
		{"${{ planned | yyyy年MM月dd日 }}", "2026年03月31日"},
		{"${{ planned | epoch }}", "1774890309"},
		{"${{ planned | epochMillis, +1s }}", "1774890310070"},
		{"${{ planned | yyyy-MM-dd, -1M }}", "2026-02-28"}, // the last day of a month that is too short
		{"${{ planned | yyyy-MM-dd, -1M monthStart }}", "2026-02-01"},
		{"${{ planned | yyyy-MM-dd, monthEnd+1d }}", "2026-04-01"},
		{"${{ planned | yyyy-MM-dd, -2y -1w }}", "2024-03-24"},
		{"${{ planned | HH:mm, +2h-30m }}", "02:35"},
		{"${{ planned | yyyyMMdd HH, , UTC }}", "20260330 17"},
		{"${{ planned | yyyyMMdd, -1d, America/New_York }}", "20260329"},
		{"${{ planned | , -1d }}", "2026-03-30T01:05:09+08:00"},
		{"${{ foo }} ${{ planned.x }} ${{ plannedx }} ${{", "${{ foo }} ${{ planned.x }} ${{ plannedx }} ${{"},
		{"${{ planned | YYYY }}", "${{ planned | YYYY }}"},
		{"${{ ${{ planned | dd }} }}", "${{ 31 }}"},
		{"}} ${{ planned | dd }}}", "}} 31}"},
		{`{"d":"${{ planned | dd }}"}`, `{"d":"31"}`},
	} {
		if got := FillPlanned(tt.text, at, shanghai); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestADayIsTheCalendarsWhereTheClockChanges(t *testing.T) {
	t.Parallel()
	berlin := zoneOf("Europe/Berlin")
	at := time.Date(2026, 3, 29, 12, 0, 0, 0, berlin) // the day has 23 hours
	if got := FillPlanned("${{ planned | HH, -1d }} ${{ planned | HH, -24h }}", at, berlin); got != "12 11" {
		t.Errorf("%q", got)
	}
}

// TestADateIsTheOneThatWasMeantWhereTheTimeIsLeftOut: from half past midnight, a day back leads into an hour that clocks leap over.
func TestADateIsTheOneThatWasMeantWhereTheTimeIsLeftOut(t *testing.T) {
	t.Parallel()
	santiago, berlin := zoneOf("America/Santiago"), zoneOf("Europe/Berlin")
	for _, tt := range []struct {
		text string
		at   time.Time
		want string
	}{
		{"${{ planned | yyyyMMdd HHmm, -1d }}", time.Date(2026, 9, 7, 0, 30, 0, 0, santiago), "20260906 0130"},
		{"${{ planned | yyyyMMdd HHmm, +1w }}", time.Date(2026, 8, 30, 0, 0, 0, 0, santiago), "20260906 0100"},
		{"${{ planned | yyyyMMdd HHmm, +1M }}", time.Date(2026, 8, 6, 0, 0, 0, 0, santiago), "20260906 0100"},
		{"${{ planned | yyyyMMdd HHmm.SSS, +1y }}", time.Date(2025, 9, 6, 23, 59, 59, 7e6, santiago), "20260906 2359.007"},
		{"${{ planned | yyyyMMdd HHmm, -1d }}", time.Date(2026, 3, 30, 2, 30, 0, 0, berlin), "20260329 0330"},
		{"${{ planned | , -1d }}", time.Date(2026, 10, 26, 2, 30, 0, 0, berlin), "2026-10-25T02:30:00+01:00"}, // the second one, as for cron
		{"${{ planned | , -0d }}", time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC).In(berlin), "2026-10-25T02:30:00+02:00"},
	} {
		if got := FillPlanned(tt.text, tt.at, tt.at.Location()); got != tt.want {
			t.Errorf("%s at %v: %q, want %q", tt.text, tt.at, got, tt.want)
		}
	}
}

func TestFaultsNameTheirPart(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Fault{
		"${{ planned }} ${{ planned yyyy }}":                 {PartWhole, "yyyy"},
		"${{ planned | yyyy, -1d, UTC, x }}":                 {PartWhole, "x"},
		"${{ planned | yyyy-DD-dd }}":                        {PartFormat, "DD"},
		"${{ planned | yyyyy }}":                             {PartFormat, "yyyyy"},
		"${{ planned | yyyy'T }}":                            {PartFormat, "yyyy'T"},
		"${{ planned | -1d }}":                               {PartFormat, ""}, // see below
		"${{ planned | yyyy, 1d }}":                          {PartOffset, "1d"},
		"${{ planned | yyyy, -1 }}":                          {PartOffset, "-1"},
		"${{ planned | yyyy, -1D }}":                         {PartOffset, "-1D"},
		"${{ planned | yyyy, -10000d }}":                     {PartOffset, "-10000d"},
		"${{ planned | yyyy, -d }}":                          {PartOffset, "-d"},
		"${{ planned | yyyy, +1d+1d+1d+1d+1d+1d+1d+1d+1d }}": {PartOffset, "+1d"},
		"${{ planned | yyyy, -1d, Mars/Base }}":              {PartZone, "Mars/Base"},
		"${{ planned | yyyy, -1d, Local }}":                  {PartZone, "Local"},
		"${{ planned | yyyy, -1d, localtime }}":              {PartZone, "localtime"},
	} {
		fault := CheckPlanned(text)
		if want == (Fault{PartFormat, ""}) { // "-1d" is a format: a dash, a one, the day
			if fault != nil {
				t.Errorf("%s: %v", text, fault)
			}
			continue
		}
		if fault == nil || *fault != want {
			t.Errorf("%s: %v, want %v", text, fault, want)
		}
	}
	for _, text := range []string{"", "${{ foo }}", "${{ planned", "${{ planned | yyyy }", "{{ planned | X }}", "${{ secrets.A }}"} {
		if fault := CheckPlanned(text); fault != nil {
			t.Errorf("%s: %v", text, fault)
		}
	}
}

func TestAValueIsNotReadAgain(t *testing.T) {
	t.Parallel()
	got := Fill("${{ a }} ${{ ${{ a }} }}", func(inside string) (string, bool) { return "${{ a }}", inside == "a" })
	if got != "${{ a }} ${{ ${{ a }} }}" {
		t.Errorf("%q", got)
	}
	// What looks like another expression once this one is filled stays text.
	if got := FillPlanned("${{ secrets.${{ planned | 'A' }} }}", time.Unix(0, 0), time.UTC); got != "${{ secrets.A }}" {
		t.Errorf("%q", got)
	}
}

func FuzzFillPlanned(f *testing.F) {
	for _, text := range []string{"", "${{ planned | yyyy-MM-dd'T'HH:mm:ss.SSS, -1M monthEnd +2h, Asia/Shanghai }}", `{"a":"${{ planned | '"' }}"}`,
		"${{ ${{ planned }} }} }}", "${{ planned |,, }}", "${{ planned | '', +9999y-9999M }}", "${{\nplanned\t|\r\nepoch }}",
		`{"a":${{ planned }},"b\\":["x\"${{ planned | '"' }}",${{ "\n }}]}`} {
		f.Add(text, int64(1_774_890_309_070))
	}
	f.Fuzz(func(t *testing.T, text string, ms int64) {
		at := time.UnixMilli(ms % (1 << 46))
		filled := FillPlanned(text, at, shanghai)
		if filled != FillPlanned(text, at, shanghai) {
			t.Error("filled differently the second time")
		}
		if !HasPlanned(text) && filled != text {
			t.Errorf("%q becomes %q", text, filled)
		}
		if json.Valid([]byte(text)) && !json.Valid([]byte(filled)) {
			t.Errorf("%q is JSON, %q is not", text, filled)
		}
		if once := replace(text, func(string, string) (string, bool) { return "[]", true }); HasPlanned(text) && strings.HasPrefix(text, "{") && json.Valid([]byte(once)) {
			all := Fill(text, func(inside string) (string, bool) { return inside, true })
			if !json.Valid([]byte(all)) {
				t.Errorf("%q would be JSON, %q is not", text, all)
			}
		}
		if CheckPlanned(text) == nil && strings.Count(text, open) == 1 && HasPlanned(text) && strings.Contains(filled, open) {
			t.Errorf("%q is sound, but not filled: %q", text, filled)
		}
	})
}
