package live

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/app/auth"
)

// still is what does not change, in a database that takes its time. It knows who watches.
type still struct{ who auth.Principal }

func (*still) Look(context.Context, *Stream) (bool, time.Duration, error) {
	time.Sleep(300 * time.Millisecond)
	return false, PaceMax, nil
}

func (s *still) As(_ context.Context, p auth.Principal) error {
	s.who = p
	return nil
}

// TestAStreamFollowsRightsWithinFiveSeconds: what somebody may not see any more leaves their screen, and whose session has ended sees no more,
// whenever between two questions that happens.
func TestAStreamFollowsRightsWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	const promised = 5 * time.Second
	for after := 170 * time.Millisecond; after < 2*Recheck; after += 170 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			watched, may, ended := new(still), auth.NewPrincipal(1, "jonas", auth.RoleUser, "1"), false
			again := func() (auth.Principal, error) {
				time.Sleep(300 * time.Millisecond)
				if ended {
					return auth.Principal{}, context.Canceled
				}
				return may, nil
			}
			left := make(chan error, 1)
			go func() {
				r := httptest.NewRequestWithContext(t.Context(), "GET", "/runs/events", nil)
				left <- New(nil).Follow(httptest.NewRecorder(), r, may, again, nil, watched)
			}()
			time.Sleep(after)
			may = may.Grant(2, auth.RightView)
			if time.Sleep(promised); !watched.who.SameRights(may) {
				t.Errorf("rights that changed after %s are not followed", after)
			}
			ended = true
			if time.Sleep(promised); len(left) != 1 {
				t.Errorf("a session that ended after %s is watched on", after+promised)
			}
		})
	}
}

// TestAStreamIsHeardOften: a page that hears nothing for 11 s (stream.js) takes its connection for dead, and asks again. One that lives
// has two beats in that.
func TestAStreamIsHeardOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, "GET", "/runs/1/events", nil)
		w := httptest.NewRecorder()
		ended := make(chan error)
		again := func() (auth.Principal, error) { return auth.Principal{}, nil }
		go func() { ended <- New(nil).Follow(w, r, auth.Principal{}, again, nil, new(still)) }()
		time.Sleep(time.Minute)
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if beats := strings.Count(w.Body.String(), "event: beat"); beats < 11 {
			t.Errorf("%d beats in a minute", beats)
		}
	})
}
