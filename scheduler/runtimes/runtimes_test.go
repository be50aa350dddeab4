package runtimes

import (
	"testing"
	"time"
)

// TestWhatIsUsualOfAJob has durations, newest first, and what they say of the job and of one more run.
func TestWhatIsUsualOfAJob(t *testing.T) {
	t.Parallel()
	series := func(n int, each time.Duration, more ...time.Duration) []time.Duration {
		for range n {
			more = append(more, each)
		}
		return more
	}
	fast := series(50, 1400*time.Millisecond)
	tests := []struct {
		name          string
		newest        []time.Duration
		p50, p95      time.Duration
		trend, unlike float64 // of a run of 8.8 s
	}{
		{"none", nil, 0, 0, 0, 0},
		{"one says little", fast[:1], 1400 * time.Millisecond, 1400 * time.Millisecond, 0, 0},
		{"as ever", fast, 1400 * time.Millisecond, 1400 * time.Millisecond, 0, 8.8 / 1.4},
		{"slower", series(40, time.Second, series(10, 3*time.Second)...), time.Second, 3 * time.Second, 3, 8.8},
		{"faster", series(40, 3*time.Second, series(10, time.Second)...), 3 * time.Second, 3 * time.Second, 1.0 / 3, 0},
		{"tiny differences are none", series(40, 10*time.Millisecond, series(10, 40*time.Millisecond)...), 10 * time.Millisecond, 40 * time.Millisecond, 0, 880},
		{"nearly all take as long", series(40, time.Second, series(10, 9*time.Second)...), time.Second, 9 * time.Second, 9, 0},
	}
	for _, tt := range tests {
		d := durationsOf(tt.newest)
		if got := d.Unlike(8800 * time.Millisecond); d.P50 != tt.p50 || d.P95 != tt.p95 || !near(d.Trend(), tt.trend) || !near(got, tt.unlike) {
			t.Errorf("%s: %v %v, trend %v, unlike %v", tt.name, d.P50, d.P95, d.Trend(), got)
		}
	}
}

func near(a, b float64) bool { return a-b < 0.01 && b-a < 0.01 }
