package manage

import (
	"cmp"
	"time"
)

// search bounds how long a list looks for what it shows. A filter that no index helps with (a text, an address) may match
// nothing in millions of rows: the list says how far back it has looked, and goes on from there when somebody wants it to.
type search struct {
	quick time.Duration // a page is opened
	deep  time.Duration // somebody asked to search further back
	first int64         // how many ids the first look covers; the following ones as many as the time allows
}

var usualSearch = search{quick: 12 * time.Millisecond, deep: 2 * time.Second, first: 2000}

// time is how long it looks for somebody who waits, or says for how long.
func (s search) time(deep bool, look time.Duration) time.Duration {
	if deep {
		return cmp.Or(look, s.deep)
	}
	return cmp.Or(look, s.quick)
}

// walk looks through the ids from one on and below another, in stretches from the top or from the bottom, until look has
// enough or the time is over. It returns where it stopped: from there on, downwards or upwards, nothing has been looked at.
// An end that was reached is from or before.
func (s search) walk(from, before int64, limit time.Duration, down bool, look func(from, before int64) (enough bool, err error)) (int64, error) {
	began := time.Now()
	size := s.first
	for from < before {
		lo, hi := max(from, before-size), before
		if !down {
			lo, hi = from, min(before, from+size)
		}
		at := time.Now()
		enough, err := look(lo, hi)
		if down {
			before = lo
		} else {
			from = hi
		}
		if err != nil {
			return 0, err
		}
		if enough {
			break
		}
		took, left := time.Since(at), limit-time.Since(began)
		if left <= 0 {
			break
		}
		// The next look may take a third of the time, or what is left of it. Where ids are missing or an index skips rows,
		// stretches grow quickly.
		aim := min(limit/3, left)
		size = int64(float64(size) * min(8, max(0.25, float64(aim)/float64(took+1))))
	}
	if down {
		return before, nil
	}
	return from, nil
}
