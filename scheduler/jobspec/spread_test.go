package jobspec

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

func TestSpreadMovesLaterInsideItsHour(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	times := func(conf string) []time.Time {
		t.Helper()
		var list []time.Time
		s := Schedule{Type: ScheduleCron, Conf: conf, Zone: time.UTC}
		for at, err := s.Next(from.Add(-time.Nanosecond)); at.Before(from.AddDate(0, 0, 2)); at, err = s.Next(at) {
			if err != nil || at.IsZero() {
				t.Fatalf("%s: %v", conf, err)
			}
			list = append(list, at)
		}
		return list
	}
	for _, conf := range []string{"0 0 2 * * ?", "30 50 2,14 ? * *", "0 0 9-17 * * ?", "0 59 23 * * ?", "59 59 23 * * ?", "0 0/5 * * * ?", "20 3/15 9-17 * * ?", "0 */30 * * * ?", "0 * 2 * * ?", "5 * * * * ? *", "0 0/1 * * * ?"} {
		for _, window := range []time.Duration{time.Second, time.Minute, 17 * time.Minute, time.Hour} {
			before := times(conf)
			period := before[1].Sub(before[0])
			for seed := range int64(40) {
				moved, ok := SpreadCron(conf, window, seed)
				if !ok {
					t.Fatalf("%s is left alone", conf)
				}
				after := times(moved)
				if len(after) != len(before) {
					t.Fatalf("%s becomes %s: %d times for %d", conf, moved, len(after), len(before))
				}
				for i := range after {
					if !after[i].Truncate(time.Hour).Equal(before[i].Truncate(time.Hour)) {
						t.Fatalf("%s becomes %s: %v for %v", conf, moved, after[i], before[i])
					}
					// What comes every so many minutes may come round to the beginning of its period.
					if by := after[i].Sub(before[i]); period >= time.Hour && (by < 0 || by >= window) {
						t.Fatalf("%s becomes %s: moved by %v in a window of %v", conf, moved, by, window)
					}
				}
				if again, _ := SpreadCron(conf, window, seed); again != moved {
					t.Fatalf("%s becomes %s and %s", conf, moved, again)
				}
			}
		}
	}
}

func TestSpreadLeavesAloneWhatItCannotMove(t *testing.T) {
	t.Parallel()
	for _, conf := range []string{"", "0 0 2 * *", "0 0,30 * * * ?", "0 0-10 * * * ?", "0/30 * * * * ?", "* * * * * ?", "0 0/7 * * * ?", "0 20/15 * * * ?", "0 x * * * ?", "0 0/0 * * * ?", "0 -1 * * * ?", "0 +1 2 * * ?", "60 0 2 * * ?"} {
		if moved, ok := SpreadCron(conf, time.Hour, 7); ok {
			t.Errorf("%q becomes %q", conf, moved)
		}
	}
	if moved, ok := SpreadCron("0 0 2 * * ?", 0, 7); ok {
		t.Errorf("without a window it becomes %q", moved)
	}
}

// TestSpreadIsEven: of a thousand jobs at one second no second has more than a handful, and no minute of the hour many more than its share.
func TestSpreadIsEven(t *testing.T) {
	t.Parallel()
	seconds, minutes := map[string]int{}, map[string]int{}
	for i := range int64(1000) {
		moved, ok := SpreadCron("0 0 2 * * ?", time.Hour, 1+i)
		if !ok {
			t.Fatal(moved)
		}
		var second, minute int
		if _, err := fmt.Sscan(moved, &second, &minute); err != nil {
			t.Fatal(err)
		}
		seconds[moved]++
		minutes[fmt.Sprint(minute)]++
	}
	most := func(of map[string]int) int { return slices.Max(slices.Collect(maps.Values(of))) }
	if most(seconds) > 12 || most(minutes) > 60 {
		t.Errorf("%d in a second, %d in a minute", most(seconds), most(minutes))
	}
}
