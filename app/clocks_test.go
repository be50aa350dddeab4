package app

import (
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

// TestPeopleGoByTheClockOfAllAdmins lets the time of all admins pass, and not that of this machine, whose clock is then one that is wrong:
// what has ended for the other admins has ended at this one.
func TestPeopleGoByTheClockOfAllAdmins(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		var passed atomic.Int64
		o.clock = func() time.Time { return time.Now().Round(0).Add(time.Duration(passed.Load())) }
		a, c := apiCaller(t, o)
		b := open(t, a).mustLogin()
		c.token = makeToken(t, b, url.Values{"name": {"a day"}, "scope": {"admin"}, "days": {"1"}})
		before, err := a.tokens.Rotate(t.Context(), "orders", 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.tokens.Rotate(t.Context(), "orders", 2*time.Hour); err != nil {
			t.Fatal(err)
		}
		now := func(after time.Duration, page, api int, taken bool) {
			t.Helper()
			passed.Store(int64(after))
			if got := b.get("/jobs"); got.status != page {
				t.Errorf("%v later a page of the session answers %d", after, got.status)
			}
			if got := c.do(http.MethodGet, "/jobs", ""); got.status != api {
				t.Errorf("%v later the API token is answered %d", after, got.status)
			}
			if _, ok := a.tokens.Check("orders", before); ok != taken {
				t.Errorf("%v later the executors' former token counts: %v", after, ok)
			}
		}
		now(time.Hour, http.StatusOK, http.StatusOK, true)
		now(3*time.Hour, http.StatusOK, http.StatusOK, false)
		now(16*time.Hour, http.StatusSeeOther, http.StatusOK, false) // 12 hours that nobody has used it
		now(26*time.Hour, http.StatusSeeOther, http.StatusUnauthorized, false)
	})
}
