package app

import (
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/punctual-job/punctual/app/api"
)

// TestWhoAsksTooOftenIsToldWhenToComeBack: each answer says how much is left, and the one too many when to come back. Another owner of tokens
// is not held up by it.
func TestWhoAsksTooOftenIsToldWhenToComeBack(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.apiLimit = api.Limit{Burst: 5, Every: time.Hour} // one is taken by apiCaller, and none comes back
		a, c := apiCaller(t, o)
		number := func(got answer, header string) int {
			t.Helper()
			n, err := strconv.Atoi(got.header.Get(header))
			if err != nil || len(got.header.Values(header)) != 1 {
				t.Fatalf("%s is %q", header, got.header.Values(header))
			}
			return n
		}
		for left := 3; left >= 0; left-- {
			got := c.do("GET", "/whoami", "")
			if got.status != http.StatusOK || number(got, "RateLimit-Limit") != 5 || number(got, "RateLimit-Remaining") != left || number(got, "RateLimit-Reset") != (5-left)*3600 {
				t.Errorf("%d left: %d %v", left, got.status, got.header)
			}
		}
		var r refusal
		got := c.json(http.StatusTooManyRequests, &r, "GET", "/whoami", "")
		if r.Code != "too_many_requests" || r.Detail == "" || number(got, "RateLimit-Remaining") != 0 || number(got, "Retry-After") != 3600 {
			t.Errorf("%+v %v", r, got.header)
		}
		root := open(t, a).mustLogin()
		again := &caller{t: t, base: c.base, token: makeToken(t, root, url.Values{"name": {"again"}, "scope": {"view"}, "days": {"7"}})}
		if got := again.do("GET", "/whoami", ""); got.status != http.StatusTooManyRequests {
			t.Errorf("with another token of the same owner: %d", got.status)
		}
		if got := root.post("/users", url.Values{"name": {"every"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"1.view"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create user: %d %s", got.status, got.body)
		}
		every := open(t, a)
		every.login("every", testPassword)
		other := &caller{t: t, base: c.base, token: makeToken(t, every, url.Values{"name": {"own"}, "scope": {"view"}, "days": {"7"}})}
		if got := other.do("GET", "/whoami", ""); got.status != http.StatusOK || number(got, "RateLimit-Remaining") != 4 {
			t.Errorf("of another owner: %d %v", got.status, got.header)
		}
	})
}
