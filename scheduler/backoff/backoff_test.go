package backoff_test

import (
	"errors"
	"testing"
	"time"

	"github.com/punctual-job/punctual/scheduler/backoff"
)

func TestBackoffWaits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want []time.Duration // of the first retries
	}{
		{"", []time.Duration{0, 0}},
		{"1m,5m,20m", []time.Duration{time.Minute, 5 * time.Minute, 20 * time.Minute, 20 * time.Minute}},
		{"0s, 168h,604800", []time.Duration{0, backoff.Max, backoff.Max}},
		{"1 0 s * 1 <= 2 0 s", []time.Duration{10 * time.Second, 10 * time.Second}},
		{" 10 ， 1h ", []time.Duration{10 * time.Second, time.Hour}},
		{"30s*2", []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute}},
		{"30s*2<=1m", []time.Duration{30 * time.Second, time.Minute, time.Minute}},
		{"1h*100", []time.Duration{time.Hour, 100 * time.Hour, backoff.Max, backoff.Max}},
	}
	for _, tt := range tests {
		b, err := backoff.Parse(tt.text)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		for i, want := range tt.want {
			if got := b.Wait(i + 1); got != want {
				t.Errorf("%q: retry %d waits %s, want %s", tt.text, i+1, got, want)
			}
		}
	}
	for _, bad := range []string{"soon", "-1s", "200h", "7d", "604801", "1m*100.5", "1m*0.9", "1m,,x", "*2", "1m*", "1m*0", "1m*NaN", "1m*2<=", "1m*2<=9999h", ","} {
		if _, err := backoff.Parse(bad); !errors.Is(err, backoff.ErrText) {
			t.Errorf("%q: error %v, want ErrText", bad, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1m,5m", "30s*2<=1h", "", "9999999999999999999", "1s*1e300"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		b, err := backoff.Parse(text)
		if err != nil {
			return
		}
		if w := b.Wait(n % 1000); w < 0 || w > backoff.Max {
			t.Errorf("%q: retry %d waits %s", text, n, w)
		}
	})
}
