package jobspec

import "time"

// Running is for how long, between two moments, no pause held the schedule: in all, and since the last pause was over.
func (ps Pauses) Running(from, until time.Time) (all, last time.Duration) {
	at := from
	for range maxWindows {
		if stretch, in := ps.At(at); in {
			if last = 0; stretch.Until.IsZero() || !stretch.Until.Before(until) {
				return all, last
			}
			at = stretch.Until
		}
		end := ps.Begins(at)
		if end.IsZero() || end.After(until) {
			end = until
		}
		last = end.Sub(at)
		all += last
		if at = end; !at.Before(until) {
			return all, last
		}
	}
	return all + until.Sub(at), until.Sub(at) // more windows than are looked at
}
