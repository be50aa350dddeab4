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

// still is what does not change, in a database that takes its time.
type still struct{}

func (still) Look(context.Context, *Stream) (bool, time.Duration, error) {
	time.Sleep(300 * time.Millisecond)
	return false, PaceMax, nil
}

func (still) As(context.Context, auth.Principal) error { return nil }

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
		go func() { ended <- New(nil).Follow(w, r, auth.Principal{}, again, nil, still{}) }()
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
