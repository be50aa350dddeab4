package directory_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/app/auth/directory/directorytest"
)

// trip is a transport that is a function.
type trip func(*http.Request) (*http.Response, error)

func (t trip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// TestManyWaitForAMuteProviderAsLongAsOne takes the connection and never an answer: ten people who want to sign in all learn it in the time of
// one request.
func TestManyWaitForAMuteProviderAsLongAsOne(t *testing.T) {
	t.Parallel()
	d := parse(t, `
oidc:
  - name: company
    issuer: https://company.example.com
    client_id: punctual
    client_secret: hush
    rules: [{claim: groups, value: ops, role: admin}]
`)
	p, _ := d.Provider("company")
	synctest.Test(t, func(t *testing.T) {
		p.Through(func(http.RoundTripper) http.RoundTripper {
			return trip(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			})
		})
		begun := time.Now()
		var people sync.WaitGroup
		for range 10 {
			people.Go(func() {
				if _, _, err := p.Begin(callback, "/", false); reason(err) != directory.Down {
					t.Errorf("they are told %v", err)
				}
			})
		}
		people.Wait()
		if waited := time.Since(begun); waited > directory.AskTime {
			t.Errorf("the last of them waited for %s", waited)
		}
	})
}

// TestAMuteEndpointIsADownProvider has a server take the connection and never answer, at each of the addresses that a sign-in needs. The person
// reads that the provider does not answer, and the next sign-in succeeds.
func TestAMuteEndpointIsADownProvider(t *testing.T) {
	t.Parallel()
	for what, path := range map[string]string{"discovery": "/.well-known/openid-configuration", "the token endpoint": "/token", "the keys": "/keys", "what it says of people": "/userinfo"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			over := make(chan struct{})
			mute := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				select {
				case <-r.Context().Done():
				case <-over:
				}
			}))
			t.Cleanup(mute.Close)
			t.Cleanup(func() { close(over) })
			company := directorytest.NewOIDC(t)
			company.SetUser(ann())
			d := parse(t, provided(company, "    user_info: true"))
			p, _ := d.Provider("company")
			hush := true
			p.Through(func(all http.RoundTripper) http.RoundTripper {
				return trip(func(r *http.Request) (*http.Response, error) {
					if r.URL.Path != path || !hush {
						return all.RoundTrip(r)
					}
					// Only this one is waited for by a short bound, so that a busy machine is not taken for a mute one.
					ctx, cancel := context.WithTimeout(r.Context(), 50*time.Millisecond)
					defer cancel()
					there, err := http.NewRequestWithContext(ctx, r.Method, mute.URL, nil)
					if err != nil {
						return nil, err
					}
					return all.RoundTrip(there)
				})
			})
			begin := func() error {
				f, address, err := p.Begin(callback, "/jobs", false)
				if err == nil {
					_, err = p.Finish(t.Context(), f, callback, visit(t, address))
				}
				return err
			}
			if err := begin(); reason(err) != directory.Down {
				t.Errorf("the person is told %q: %v", reason(err), err)
			}
			hush = false
			if err := begin(); err != nil {
				t.Errorf("once it answers: %v", err)
			}
		})
	}
}
