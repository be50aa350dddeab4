package format

import (
	"testing"
	"time"

	"github.com/punctual-job/punctual/locales"
)

func TestRelative(t *testing.T) {
	t.Parallel()
	c := locales.New()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	tests := []struct {
		d      time.Duration
		en, zh string
	}{
		{0, "now", "刚刚"},
		{-900 * time.Millisecond, "now", "刚刚"},
		{3 * time.Second, "in 3 s", "3 秒后"},
		{-59 * time.Second, "59 s ago", "59 秒前"},
		{3*time.Minute + 59*time.Second, "in 3 min", "3 分钟后"},
		{-2 * time.Hour, "2 h ago", "2 小时前"},
		{36 * time.Hour, "in 1 d", "1 天后"},
		{-800 * 24 * time.Hour, "2 y ago", "2 年前"},
	}
	for _, tt := range tests {
		if got := Relative(c.Printer(locales.English), now.Add(tt.d), now); got != tt.en {
			t.Errorf("%s: got %q, want %q", tt.d, got, tt.en)
		}
		if got := Relative(c.Printer(locales.Chinese), now.Add(tt.d), now); got != tt.zh {
			t.Errorf("%s: got %q, want %q", tt.d, got, tt.zh)
		}
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	c := locales.New()
	tests := []struct {
		d      time.Duration
		en, zh string
	}{
		{0, "0 ms", "0 毫秒"},
		{999 * time.Millisecond, "999 ms", "999 毫秒"},
		{time.Second, "1 s", "1 秒"},
		{1290 * time.Millisecond, "1.2 s", "1.2 秒"},
		{9999 * time.Millisecond, "9.9 s", "9.9 秒"},
		{12600 * time.Millisecond, "12 s", "12 秒"},
		{60 * time.Second, "1 min", "1 分钟"},
		{125 * time.Second, "2 min 5 s", "2 分钟 5 秒"},
		{3*time.Hour + 12*time.Minute, "3 h 12 min", "3 小时 12 分钟"},
		{52 * time.Hour, "2 d 4 h", "2 天 4 小时"},
		{-2 * time.Millisecond, "−2 ms", "−2 毫秒"},
	}
	for _, tt := range tests {
		if got := Duration(c.Printer(locales.English), tt.d); got != tt.en {
			t.Errorf("%s: got %q, want %q", tt.d, got, tt.en)
		}
		if got := Duration(c.Printer(locales.Chinese), tt.d); got != tt.zh {
			t.Errorf("%s: got %q, want %q", tt.d, got, tt.zh)
		}
	}
}

func TestSmallForms(t *testing.T) {
	t.Parallel()
	p := locales.New().Printer(locales.English)
	at := time.Date(2026, 11, 21, 2, 0, 0, 3e6, time.FixedZone("CST", 8*3600))
	stamp := At(p, at, at.Add(-3*time.Minute))
	tests := []struct{ name, got, want string }{
		{"clock", Clock(at, at.Add(time.Hour)), "02:00:00.003"},
		{"a clock of another day", Clock(at, at.AddDate(0, 0, -1)), at.Format("2006-01-02") + " 02:00:00.003"},
		{"no clock", Clock(time.Time{}, at), ""},
		{"delta", Delta(p, 3*time.Millisecond), "+3 ms"},
		{"delta of clocks that disagree", Delta(p, -3*time.Millisecond), "−3 ms"},
		{"weekday", Weekday(p, at), "Sat"},
		{"small number", Number(999), "999"},
		{"number", Number(1234567), "1,234,567"},
		{"negative number", Number(-1234), "−1,234"},
		{"iso keeps the zone", stamp.ISO, "2026-11-21T02:00:00.003+08:00"},
		{"absolute is wall time", stamp.Absolute, "2026-11-21 02:00:00"},
		{"relative", stamp.Relative, "in 3 min"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, tt.got, tt.want)
		}
	}
	if !At(p, time.Time{}, at).IsZero() || stamp.IsZero() {
		t.Error("only the zero time is zero")
	}
}

func TestARateHasThreeDigits(t *testing.T) {
	t.Parallel()
	for rate, want := range map[float64]string{0: "0", 0.001: "<0.01", 0.0333: "0.03", 1: "1", 9.87654: "9.88", 9.999: "10", 42.04: "42", 42.06: "42.1", 99.96: "100", 1234.5: "1,235"} {
		if got := Rate(rate); got != want {
			t.Errorf("Rate(%v) = %q, want %q", rate, got, want)
		}
	}
}

func TestWhatIsDueIsNeverAgo(t *testing.T) {
	t.Parallel()
	p := locales.New().Printer(locales.English)
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for in, want := range map[time.Duration]string{
		90 * time.Second: "in 1 min", 9500 * time.Millisecond: "in 9 s", 900 * time.Millisecond: "due now", 0: "due now", -9 * time.Second: "due now",
		-10 * time.Second: "due now", -11 * time.Second: "11 s late", -3 * time.Hour: "3 h late",
	} {
		if got := Due(p, now.Add(in), now); got != want {
			t.Errorf("due in %s: %q, want %q", in, got, want)
		}
	}
	if got := Due(p, time.Time{}, now); got != "" {
		t.Errorf("never due: %q", got)
	}
}

func TestAUnitIsOfItsNumber(t *testing.T) {
	t.Parallel()
	p := locales.New().Printer(locales.English)
	for number, want := range map[string]string{"1": "1 day", "2": "2 days", "0": "0 days", "?": "? days"} {
		if got := Unit(p, number, "unit.days"); got != want {
			t.Errorf("%s: %q, want %q", number, got, want)
		}
	}
	if got := Unit(locales.New().Printer(locales.Chinese), "1", "unit.times"); got != "1 次" {
		t.Errorf("%q", got)
	}
}
