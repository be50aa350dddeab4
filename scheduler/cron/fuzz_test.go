package cron_test

import (
	"testing"
	"time"

	"github.com/punctual-job/punctual/scheduler/cron"
)

// FuzzParse holds that no text and no moment upsets the parser: a time that is found lies behind the moment, is a whole
// second and is found again from the second before it, and the text as understood means the same and is understood as
// itself.
func FuzzParse(f *testing.F) {
	for _, v := range loadVectors(f)[:400] {
		f.Add(v.Expr, v.After.UnixNano(), v.TZ == "UTC")
	}
	for _, text := range []string{"98-70 0 9 1 1 98-70", "0 0 9 98-99 * MON", "0 0 9 ? * 99#2,3", "0 99-70/7 99-0 1-0 L 98/2", "0 0 9 L-W,0W,31W 5-0/2 ?"} {
		f.Add(text, int64(1_700_000_000_000_000_000), false)
	}
	newYork := location(f, "America/New_York")
	f.Fuzz(func(t *testing.T, text string, nanos int64, utc bool) {
		loc := newYork
		if utc {
			loc = time.UTC
		}
		e, err := parser2026.Parse(text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without words")
			}
			return
		}
		_ = e.Warnings()
		_ = e.ClockChangeWarnings(time.Unix(0, nanos), loc)
		again, err := parser2026.Parse(e.String())
		if err != nil {
			t.Fatalf("%q was understood as %q, which is refused: %v", text, e, err)
		}
		if again.String() != e.String() {
			t.Fatalf("%q was understood as %q, and that as %q", text, e, again)
		}

		after := time.Unix(0, nanos)
		for range 5 {
			next, err := e.Next(after, loc)
			same, sameErr := again.Next(after, loc)
			if (err == nil) != (sameErr == nil) || !same.Equal(next) {
				t.Fatalf("%q gives %v (%v), %q gives %v (%v)", text, next, err, again, same, sameErr)
			}
			if err != nil || next.IsZero() {
				return
			}
			if !next.After(after) || next.Nanosecond() != 0 {
				t.Fatalf("%q after %v gives %v", text, after, next)
			}
			checkMatches(t, e, next, loc)
			after = next
		}
	})
}

// checkMatches asks for the time again, from the wall clock's second before. Inside the hour that an autumn change repeats
// that second may belong to the other pass, so the wall clock is read on in a zone where nothing changes.
func checkMatches(t *testing.T, e *cron.Expression, next time.Time, loc *time.Location) {
	t.Helper()
	shown := time.Date(next.Year(), next.Month(), next.Day(), next.Hour(), next.Minute(), next.Second(), 0, time.UTC)
	sure, err := e.Next(shown.Add(-time.Nanosecond), time.UTC)
	if err != nil || !sure.Equal(shown) {
		t.Fatalf("%q gives %v in %v, but its wall clock does not match: %v (%v)", e, next, loc, sure, err)
	}
}
