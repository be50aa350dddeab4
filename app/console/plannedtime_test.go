package console

import (
	"strconv"
	"testing"
	"time"
)

// TestAPlannedTimeOfAnHourThatComesTwice is the one that the form was drawn with, or the second one.
func TestAPlannedTimeOfAnHourThatComesTwice(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) time.Time {
		t.Helper()
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	first, second := at("2026-10-25T02:30:00.25+02:00"), at("2026-10-25T02:30:00.25+01:00")
	for _, c := range []struct {
		name, typed string
		meant       time.Time
		want        time.Time
	}{
		{"as drawn, the first", "2026-10-25T02:30:00", first, first},
		{"as drawn, the second", "2026-10-25T02:30:00", second, second},
		{"as a browser shortens it", "2026-10-25T02:30", first, first},
		{"typed", "2026-10-25T02:30:00", time.Time{}, second.Truncate(time.Second)},
		{"another one typed", "2026-10-25T02:31:00", first, second.Add(time.Minute).Truncate(time.Second)},
		{"behind that hour", "2026-10-25T03:00:00", first, at("2026-10-25T03:00:00+01:00")},
		{"before it", "2026-10-25T01:59:59", first, at("2026-10-25T01:59:59+02:00")},
		{"the day before", "2026-10-24T02:30:00", time.Time{}, at("2026-10-24T02:30:00+02:00")},
		{"an hour that is left out", "2026-03-29T03:30:00", time.Time{}, at("2026-03-29T03:30:00+02:00")},
		{"on the day before that", "2026-03-28T03:30:00", time.Time{}, at("2026-03-28T03:30:00+01:00")},
		{"none", "", first, time.Time{}},
		{"nonsense", "some day", first, time.Time{}},
	} {
		meant := ""
		if !c.meant.IsZero() {
			meant = strconv.FormatInt(c.meant.UnixMilli(), 10)
		}
		if got := plannedTime(c.typed, meant, berlin); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got.In(berlin), c.want)
		}
	}
}
