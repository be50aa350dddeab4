package jobspec

import (
	"testing"
	"time"
)

func TestTheTimeOutsidePauses(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	h := func(hours float64) time.Time { return day.Add(time.Duration(hours * float64(time.Hour))) }
	one := func(from, until time.Time) *Pause {
		return &Pause{Scope: PauseAll, Strategy: PauseSkip, From: from, Until: until, Zone: time.UTC}
	}
	nightly := &Pause{Scope: PauseAll, Strategy: PauseSkip, From: day, Cron: "0 0 22 * * ?", Length: 4 * time.Hour, Zone: time.UTC}
	for _, c := range []struct {
		name        string
		pauses      Pauses
		from, until float64
		all, last   float64
	}{
		{"no pause", nil, 1, 5, 4, 4},
		{"another time", Pauses{one(h(7), h(8))}, 1, 5, 4, 4},
		{"before", Pauses{one(h(0), h(1))}, 1, 5, 4, 4},
		{"one between", Pauses{one(h(2), h(3.5))}, 1, 5, 2.5, 1.5},
		{"two that meet", Pauses{one(h(2), h(3)), one(h(3), h(4))}, 1, 5, 2, 1},
		{"two apart", Pauses{one(h(4), h(4.5)), one(h(2), h(3))}, 1, 5, 2.5, 0.5},
		{"from within", Pauses{one(h(0), h(3))}, 1, 5, 2, 2},
		{"still", Pauses{one(h(2), h(9))}, 1, 5, 1, 0},
		{"without an end", Pauses{one(h(2), time.Time{})}, 1, 5, 1, 0},
		{"begins now", Pauses{one(h(5), time.Time{})}, 1, 5, 4, 4},
		{"is over now", Pauses{one(h(2), h(5))}, 1, 5, 1, 0},
		{"never begun", Pauses{one(h(4), h(3))}, 1, 5, 4, 4},
		{"three nights", Pauses{nightly}, 12, 12 + 72, 60, 10},
	} {
		all, last := c.pauses.Running(h(c.from), h(c.until))
		if all.Hours() != c.all || last.Hours() != c.last {
			t.Errorf("%s: %v in all and %v at last, want %v h and %v h", c.name, all, last, c.all, c.last)
		}
	}
	for _, c := range []struct {
		pauses Pauses
		want   [][2]float64
	}{
		{nil, nil},
		{Pauses{one(h(7), h(8)), one(h(2), h(3)), one(h(3), h(4))}, [][2]float64{{2, 4}, {7, 8}}},
		{Pauses{one(h(0), h(1)), one(h(100), h(101))}, nil},
		{Pauses{one(h(30), time.Time{}), nightly}, [][2]float64{{22, 26}, {30, 0}}},
		{Pauses{nightly}, [][2]float64{{22, 26}, {46, 50}}},
	} {
		list := c.pauses.Between(h(1), h(50), 9)
		if len(list) != len(c.want) {
			t.Errorf("%d stretches, want %v", len(list), c.want)
			continue
		}
		for i, s := range list {
			if !s.From.Equal(h(c.want[i][0])) || s.Until.IsZero() != (c.want[i][1] == 0) || !s.Until.IsZero() && !s.Until.Equal(h(c.want[i][1])) {
				t.Errorf("stretch %d is %v to %v, want %v", i, s.From, s.Until, c.want[i])
			}
		}
		if n := len(c.pauses.Between(h(1), h(50), 1)); n > 1 {
			t.Errorf("%d where one is the most", n)
		}
	}
	// Windows without an end of the look are no endless loop.
	often := &Pause{Scope: PauseAll, Strategy: PauseSkip, From: day, Cron: "0 * * * * ?", Length: time.Second, Zone: time.UTC}
	if all, last := (Pauses{often}).Running(day, day.AddDate(0, 1, 0)); all < 29*24*time.Hour || last <= 0 {
		t.Errorf("a month of windows: %v in all, %v at last", all, last)
	}
}
