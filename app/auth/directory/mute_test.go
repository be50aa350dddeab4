package directory_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
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

// TestASignInAtASlowProviderIsBounded as a whole: each of its addresses may take long, and the last of them says nothing.
func TestASignInAtASlowProviderIsBounded(t *testing.T) {
	t.Parallel()
	const issuer = "https://company.example.com"
	encoded := base64.RawURLEncoding.EncodeToString
	token := encoded([]byte(`{"alg":"RS256"}`)) + "." + encoded([]byte(`{}`)) + "." + encoded([]byte("signature"))
	answers := map[string]string{
		"/.well-known/openid-configuration": `{"issuer":"` + issuer + `","token_endpoint":"` + issuer + `/token","jwks_uri":"` + issuer + `/keys"}`,
		"/token":                            `{"access_token":"x","token_type":"Bearer","id_token":"` + token + `"}`,
		"/keys":                             `{"keys":[]}`,
	}
	for what, takes := range map[string]map[string]time.Duration{
		"the token never": {"/.well-known/openid-configuration": 9 * time.Second, "/token": time.Hour},
		"the keys never":  {"/token": 9 * time.Second, "/keys": time.Hour},
		"everything late": {"/.well-known/openid-configuration": 6 * time.Second, "/token": 6 * time.Second, "/keys": 6 * time.Second},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p, _ := parse(t, `
oidc:
  - name: company
    issuer: `+issuer+`
    client_id: punctual
    client_secret: hush
    rules: [{claim: groups, value: ops, role: admin}]
`).Provider("company")
			synctest.Test(t, func(t *testing.T) {
				p.Through(func(http.RoundTripper) http.RoundTripper {
					return trip(func(r *http.Request) (*http.Response, error) {
						select {
						case <-time.After(takes[r.URL.Path]):
							return &http.Response{
								StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
								Body: io.NopCloser(strings.NewReader(answers[r.URL.Path])),
							}, nil
						case <-r.Context().Done():
							return nil, r.Context().Err()
						}
					})
				})
				begun := time.Now()
				f := directory.Flow{Provider: "company", State: "state", Nonce: "nonce", BegunAt: begun.UnixMilli()}
				_, err := p.Finish(t.Context(), f, callback, url.Values{"state": {"state"}, "code": {"code"}})
				if took := time.Since(begun); reason(err) != directory.Down || took > directory.FinishTime {
					t.Errorf("after %s the person is told %v", took, err)
				}
				time.Sleep(directory.AskTime) // the keys are asked for as long, for whoever comes next
			})
		})
	}
}

// TestASignInAtASlowDirectoryIsBounded as a whole, wherever its servers fall silent.
func TestASignInAtASlowDirectoryIsBounded(t *testing.T) {
	t.Parallel()
	never := func(context.Context, net.Conn) {}
	// serve answers requests with what follows their number in the answer, until there is no more.
	serve := func(after time.Duration, answers ...string) func(context.Context, net.Conn) {
		return func(_ context.Context, conn net.Conn) {
			request := make([]byte, 1<<10)
			for _, answer := range answers {
				n, err := conn.Read(request)
				if err != nil || n < 5 {
					return
				}
				time.Sleep(after)
				if _, err := conn.Write(append([]byte{0x30, byte(3 + len(answer)), 2, 1, request[4]}, answer...)); err != nil {
					return
				}
			}
		}
	}
	const done = "\x07\x0a\x01\x00\x04\x00\x04\x00" // with success
	for what, tt := range map[string]struct {
		urls, more string
		serve      func(context.Context, net.Conn) // nil: no connection comes about
		asked      int
	}{
		"no connection":                   {"ldap://one.example.com", "    insecure: true", nil, 1},
		"no connections":                  {"[ldap://one.example.com, ldap://two.example.com, ldap://three.example.com]", "    insecure: true", nil, 3},
		"nothing is said":                 {"ldap://one.example.com", "    insecure: true", never, 1},
		"nothing is said over TLS":        {"[ldaps://one.example.com, ldaps://two.example.com]", "", never, 2},
		"nothing is said after StartTLS":  {"[ldap://one.example.com, ldap://two.example.com]", "    start_tls: true", serve(0, "\x78"+done), 2},
		"nothing is said after a bind":    {"ldap://one.example.com", "    insecure: true", serve(9*time.Second, "\x61"+done), 1},
		"two servers each take their bit": {"[ldap://one.example.com, ldap://two.example.com]", "    insecure: true", serve(7*time.Second, "\x61"+done), 1},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d := parse(t, described(tt.urls, tt.more))
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				d.OpenLDAP(func(ctx context.Context, _, _ string) (net.Conn, error) {
					asked++
					if tt.serve == nil {
						<-ctx.Done()
						return nil, ctx.Err()
					}
					here, there := net.Pipe()
					go func() {
						defer there.Close()
						tt.serve(ctx, there)
						_, _ = io.Copy(io.Discard, there)
					}()
					return here, nil
				})
				begun := time.Now()
				_, err := d.Check(t.Context(), "jonas", directorytest.Password)
				if took := time.Since(begun); reason(err) != directory.Down || took > directory.FinishTime || asked != tt.asked {
					t.Errorf("after %s and %d servers the person is told %v", took, asked, err)
				}
			})
		})
	}
}

// TestSixSilentDirectoriesLeaveTimeForTheLast: a sign-in is bounded as a whole, and each directory gets its share of what is left.
func TestSixSilentDirectoriesLeaveTimeForTheLast(t *testing.T) {
	t.Parallel()
	text := ""
	for i := range 6 {
		one := described("ldap://dc"+strconv.Itoa(i)+".example.com", "    insecure: true")
		if i > 0 {
			_, one, _ = strings.Cut(one, "ldap:\n")
		}
		text += strings.Replace(one, "name: office", "name: office"+strconv.Itoa(i), 1) + "\n"
	}
	d := parse(t, text)
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		d.OpenLDAP(func(ctx context.Context, _, address string) (net.Conn, error) {
			asked = append(asked, address)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		begun := time.Now()
		_, err := d.Check(t.Context(), "jonas", directorytest.Password)
		if took := time.Since(begun); reason(err) != directory.Down || took > directory.FinishTime || len(asked) != 6 {
			t.Errorf("after %s and %v the person is told %v", took, asked, err)
		}
	})
}

// TestNobodyIsAskedForWhoeverHasGone: a browser that goes away ends what is asked for it.
func TestNobodyIsAskedForWhoeverHasGone(t *testing.T) {
	t.Parallel()
	d := parse(t, described("ldap://one.example.com", "    insecure: true"))
	synctest.Test(t, func(t *testing.T) {
		d.OpenLDAP(func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, there) }()
			return here, nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if _, err := d.Check(ctx, "jonas", directorytest.Password); reason(err) != directory.Down || time.Since(begun) > time.Second {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
	})
}

// TestADirectoryIsCalledAtItsPort, the usual one of its scheme where none is named.
func TestADirectoryIsCalledAtItsPort(t *testing.T) {
	t.Parallel()
	d := parse(t, described(`["ldap://one.example.com", "ldaps://two.example.com", "ldap://three.example.com:3389", "ldaps://[2001:db8::1]:6636"]`, "    insecure: true"))
	var called []string
	d.OpenLDAP(func(_ context.Context, network, address string) (net.Conn, error) {
		called = append(called, network+" "+address)
		return nil, io.ErrUnexpectedEOF
	})
	if _, err := d.Check(t.Context(), "jonas", directorytest.Password); reason(err) != directory.Down {
		t.Errorf("nobody is there: %v", err)
	}
	if want := []string{"tcp one.example.com:389", "tcp two.example.com:636", "tcp three.example.com:3389", "tcp [2001:db8::1]:6636"}; !slices.Equal(called, want) {
		t.Errorf("called are %q, want %q", called, want)
	}
}

// TestAnEndlessAnswerIsNotReadOut: a provider that never stops to talk takes no memory of the admin's.
func TestAnEndlessAnswerIsNotReadOut(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/.well-known/openid-configuration", "/token", "/keys", "/userinfo"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			const most = 64 << 20 // beyond what the network holds between them
			said := make(chan int, 10)
			talker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				n, blank := 0, bytes.Repeat([]byte(" "), 1<<20)
				for n < most {
					if _, err := w.Write(blank); err != nil {
						break
					}
					n += len(blank)
				}
				said <- n
			}))
			t.Cleanup(talker.Close)
			company := directorytest.NewOIDC(t)
			company.SetUser(ann())
			d := parse(t, provided(company, "    user_info: true"))
			p, _ := d.Provider("company")
			p.Through(func(all http.RoundTripper) http.RoundTripper {
				return trip(func(r *http.Request) (*http.Response, error) {
					if r.URL.Path != path {
						return all.RoundTrip(r)
					}
					there, err := http.NewRequestWithContext(r.Context(), http.MethodGet, talker.URL, nil)
					if err != nil {
						return nil, err
					}
					return all.RoundTrip(there)
				})
			})
			f, address, err := p.Begin(callback, "/jobs", false)
			if err == nil {
				_, err = p.Finish(t.Context(), f, callback, visit(t, address))
			}
			if err == nil {
				t.Error("somebody is let in")
			}
			if n := <-said; n >= most {
				t.Errorf("%d bytes were read", n)
			}
		})
	}
}
