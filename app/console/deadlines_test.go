package console

import (
	"testing"
	"time"
)

func TestAClockOfAnotherDayThanTheDeadlineHasItsDate(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 8*3600)
	clock := clockIn(zone, time.Date(2026, 3, 4, 6, 0, 0, 0, zone))
	for at, want := range map[time.Time]string{
		time.Date(2026, 3, 4, 6, 0, 7, 0, zone):      "06:00:07",
		time.Date(2026, 3, 3, 17, 0, 0, 0, time.UTC): "01:00",
		time.Date(2026, 3, 3, 22, 0, 0, 0, zone):     "03-03 22:00",
		time.Date(2026, 3, 5, 1, 2, 3, 0, zone):      "03-05 01:02:03",
	} {
		if got := clock(at); got != want {
			t.Errorf("%v: %s, want %s", at, got, want)
		}
	}
}
