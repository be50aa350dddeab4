package locales

import (
	"strconv"
	"strings"
	"time"
)

// Duration writes how long something took: "3 ms", "1.2 s", "2 min 5 s", "3 h 12 min", "2 d 4 h".
func (p *Printer) Duration(d time.Duration) string {
	if d < 0 {
		return "−" + p.Duration(-d)
	}
	unit := func(name string, n any) string { return p.T("time.unit."+name, "N", n) }
	two := func(big string, n int64, small string, m int64) string {
		if m == 0 {
			return unit(big, n)
		}
		return unit(big, n) + " " + unit(small, m)
	}
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return unit("ms", int64(d/time.Millisecond))
	case d < 10*time.Second:
		return unit("s", strings.TrimSuffix(strconv.FormatFloat(float64(d/(100*time.Millisecond))/10, 'f', 1, 64), ".0"))
	case d < time.Minute:
		return unit("s", int64(d/time.Second))
	case d < time.Hour:
		return two("min", int64(d/time.Minute), "s", int64(d%time.Minute/time.Second))
	case d < day:
		return two("h", int64(d/time.Hour), "min", int64(d%time.Hour/time.Minute))
	default:
		return two("d", int64(d/day), "h", int64(d%day/time.Hour))
	}
}
