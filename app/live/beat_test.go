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

type still struct{}

func (still) Look(context.Context, *Stream) (bool, time.Duration, error) { return false, PaceMax, nil }
func (still) As(context.Context, auth.Principal) error                   { return nil }

// TestAStreamIsHeardOften: a page that hears nothing for 15 s (stream.js) takes its connection for dead, and asks again. It has to hear of one
// that lives in half of that.
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
		if beats := strings.Count(w.Body.String(), "event: beat"); beats < 9 {
			t.Errorf("%d beats in a minute", beats)
		}
	})
}
