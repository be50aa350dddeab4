package auth

import (
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limiters are token buckets by key. Their number is bounded: when there are too many, those that are full again are
// forgotten, which changes nothing, and if that is not enough the longest unused ones.
type limiters struct {
	every time.Duration
	burst int
	most  int

	mu    sync.Mutex
	byKey map[string]*bucket
}

type bucket struct {
	*rate.Limiter
	used time.Time
}

func newLimiters(every time.Duration, burst, most int) *limiters {
	return &limiters{every: every, burst: burst, most: most, byKey: make(map[string]*bucket)}
}

// allow takes one attempt of a key.
func (l *limiters) allow(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.byKey[key]
	if b == nil {
		if len(l.byKey) >= l.most {
			l.shrink(now)
		}
		b = &bucket{Limiter: rate.NewLimiter(rate.Every(l.every), l.burst)}
		l.byKey[key] = b
	}
	b.used = now
	return b.AllowN(now, 1)
}

func (l *limiters) shrink(now time.Time) {
	full := l.every * time.Duration(l.burst)
	for key, b := range l.byKey {
		if now.Sub(b.used) >= full {
			delete(l.byKey, key)
		}
	}
	// Somebody has sent very many names. A tenth goes, the oldest half of what a random look finds.
	for limit := full / 2; len(l.byKey) >= l.most; limit /= 2 {
		for key, b := range l.byKey {
			if now.Sub(b.used) >= limit || limit == 0 { // when the clock was put back, none is as old as that
				delete(l.byKey, key)
			}
			if len(l.byKey) < l.most*9/10 {
				return
			}
		}
	}
}

// addressKey is whom an address stands for: a customer's whole network with IPv6.
func addressKey(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	a = a.Unmap()
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}

// nameKey is whom a typed name stands for: names are compared without case (docs/compat.md §2.7).
func nameKey(name string) string {
	const longest = 64 // the column holds 50
	name = strings.ToLower(strings.TrimSpace(name))
	return name[:min(len(name), longest)]
}

// Guesses bounds how often an address may be wrong about what is random and long. Who is right is never kept waiting for others there
// that are right too.
type Guesses struct{ wrong *limiters }

// NewGuesses allows an address so many wrong ones at once, and one more after each pause.
func NewGuesses(pause time.Duration, burst int) *Guesses {
	return &Guesses{wrong: newLimiters(pause, burst, maxLimiters)}
}

// Allowed says whether an address may try.
func (g *Guesses) Allowed(address string, now time.Time) bool {
	return !g.wrong.spent(addressKey(address), now)
}

// Wrong notes that it was wrong.
func (g *Guesses) Wrong(address string, now time.Time) { g.wrong.allow(addressKey(address), now) }

// spent says whether a key has no attempt left.
func (l *limiters) spent(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.byKey[key]
	return b != nil && b.TokensAt(now) < 1
}
