package console

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestACookieIsReadByAnAdminWhoseClockIsAhead: what one leaves for the next page, and a sign-in that has gone to a provider.
func TestACookieIsReadByAnAdminWhoseClockIsAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, encrypt := range [][]byte{nil, make([]byte, 32)} {
			c := ageless(make([]byte, 32), encrypt)
			value, err := c.Encode(flashCookie, flash{Key: "saved"})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
			var f flash
			if err := c.Decode(flashCookie, value, &f); err != nil || f.Key != "saved" {
				t.Errorf("%+v, %v", f, err)
			}
		}
	})
}
