package scheduler

import (
	"testing"
	"time"
)

func TestThePulseIsOfTheLastHour(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 4, 5, 6, 30, 0, time.UTC)
	p := newPulse(start)
	if got := p.read(start); got.Sent != 0 || got.P99 != 0 || len(got.Minutes) != pulseMinutes || !got.Since.Equal(start) {
		t.Errorf("at the start: %+v", got)
	}
	for range 98 {
		p.add(start, 2*time.Millisecond)
	}
	p.add(start.Add(time.Minute), time.Second)
	p.add(start.Add(time.Minute), time.Second)
	got := p.read(start.Add(90 * time.Second))
	if len(got.Minutes) != pulseMinutes || got.Sent != 100 {
		t.Fatalf("after 90 s: %+v", got)
	}
	if last := got.Minutes[pulseMinutes-3:]; last[0].Sent != 98 || last[1].Sent != 2 || last[2].Sent != 0 {
		t.Errorf("the last minutes are %+v", last)
	}
	within := func(name string, got, want time.Duration) {
		t.Helper()
		if got < want || got > want*6/5 {
			t.Errorf("%s is %s, want about %s", name, got, want)
		}
	}
	within("half", got.P50, 2*time.Millisecond)
	within("nearly all", got.P99, time.Second)
	within("the second minute's half", got.Minutes[pulseMinutes-2].P50, time.Second)
	if rate := got.PerSecond(start.Add(100 * time.Second)); rate != 1 {
		t.Errorf("%g in a second", rate)
	}
	// An hour later the ring has come round, and nothing of it counts any more.
	if got := p.read(start.Add(2 * time.Hour)); got.Sent != 0 || len(got.Minutes) != pulseMinutes {
		t.Errorf("two hours later: %d in %d minutes", got.Sent, len(got.Minutes))
	}
	p.add(start.Add(time.Hour), -time.Second)
	if got := p.read(start.Add(time.Hour)); got.Sent != 3 || got.Minutes[pulseMinutes-1].P99 != pulseFirst {
		t.Errorf("in the hour after: %+v", got)
	}
}

func TestEveryLatenessHasABin(t *testing.T) {
	t.Parallel()
	for late, want := range map[time.Duration]int{-time.Hour: 0, 0: 0, pulseFirst: 0, pulseFirst + 1: 1, 600 * time.Microsecond: 1, 1000 * time.Hour: pulseBins - 1} {
		if got := pulseBin(late); got != want {
			t.Errorf("%s: bin %d, want %d", late, got, want)
		}
	}
}
