package directory_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/app/auth/directory/directorytest"
	"github.com/punctual-job/punctual/executor/executortest"
)

// rewritten has what a provider answers at some of its paths changed on the way.
func rewritten(p *directory.Provider, changes map[string]func(status int, body []byte) (int, []byte)) {
	p.Through(func(all http.RoundTripper) http.RoundTripper {
		return trip(func(r *http.Request) (*http.Response, error) {
			resp, err := all.RoundTrip(r)
			change := changes[r.URL.Path]
			if err != nil || change == nil {
				return resp, err
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				return nil, err
			}
			_ = resp.Body.Close()
			resp.StatusCode, body = change(resp.StatusCode, body)
			resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			return resp, nil
		})
	})
}

// member changes a member of a JSON object.
func member(t *testing.T, name string, change func(json.RawMessage) any) func(int, []byte) (int, []byte) {
	return func(status int, body []byte) (int, []byte) {
		var all map[string]json.RawMessage
		err := json.Unmarshal(body, &all)
		if err == nil {
			all[name], err = json.Marshal(change(all[name]))
		}
		if err == nil {
			body, err = json.Marshal(all)
		}
		if err != nil {
			t.Error(err)
		}
		return status, body
	}
}

// TestKeysThatCannotBeHadSayNothingAgainstAToken: the person is told that the provider is down. Keys that were read, of which none has signed
// it, are another matter.
func TestKeysThatCannotBeHadSayNothingAgainstAToken(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		status int
		body   string
		want   directory.Reason
	}{
		"an error":            {http.StatusInternalServerError, "fetched no keys", directory.Down},
		"a page":              {http.StatusOK, "<html>", directory.Down},
		"a key that is cut":   {http.StatusOK, `{"keys":[{"kty":"RSA","n":"AQ"}]}`, directory.Down},
		"no key":              {http.StatusOK, `{"keys":[]}`, directory.Untrue},
		"a key of other sort": {http.StatusOK, `{"keys":[{"kty":"OKP","crv":"Ed448","x":"AQ"}]}`, directory.Untrue},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			company := directorytest.NewOIDC(t)
			company.SetUser(ann())
			d := parse(t, provided(company))
			p, _ := d.Provider("company")
			broken := true
			rewritten(p, map[string]func(int, []byte) (int, []byte){"/keys": func(status int, body []byte) (int, []byte) {
				if !broken {
					return status, body
				}
				return tt.status, []byte(tt.body)
			}})
			if who, err := signIn(t, d); reason(err) != tt.want {
				t.Errorf("%+v, %v", who, err)
			}
			broken = false
			if who, err := signIn(t, d); err != nil || who.Name != "ann" {
				t.Errorf("once there are keys: %+v, %v", who, err)
			}
		})
	}
}

// TestOnlyKeysOfTheProviderSign: it may name other ways, with which a token is signed by nobody, or by whoever knows the client's secret.
func TestOnlyKeysOfTheProviderSign(t *testing.T) {
	t.Parallel()
	encoded := base64.RawURLEncoding.EncodeToString
	for algorithm, sign := range map[string]func(text string) []byte{
		"none": func(string) []byte { return nil },
		"HS256": func(text string) []byte {
			mac := hmac.New(sha256.New, []byte(directorytest.ClientSecret))
			mac.Write([]byte(text))
			return mac.Sum(nil)
		},
	} {
		for what, algorithms := range map[string][]string{"beside others": {"RS256", algorithm}, "alone": {algorithm}, "no one": {}} {
			t.Run(algorithm+" "+what, func(t *testing.T) {
				t.Parallel()
				company := directorytest.NewOIDC(t)
				company.SetUser(ann())
				d := parse(t, provided(company))
				p, _ := d.Provider("company")
				signed := false // otherwise
				rewritten(p, map[string]func(int, []byte) (int, []byte){
					"/.well-known/openid-configuration": member(t, "id_token_signing_alg_values_supported", func(json.RawMessage) any { return algorithms }),
					"/keys": member(t, "keys", func(keys json.RawMessage) any {
						var all []any
						if err := json.Unmarshal(keys, &all); err != nil {
							t.Error(err)
						}
						return append(all, map[string]string{"kty": "oct", "kid": "2", "k": encoded([]byte(directorytest.ClientSecret))})
					}),
					"/token": member(t, "id_token", func(token json.RawMessage) any {
						var text string
						if err := json.Unmarshal(token, &text); err != nil {
							t.Error(err)
						}
						if !signed {
							return text
						}
						text = encoded([]byte(`{"alg":"`+algorithm+`","kid":"2"}`)) + "." + strings.Split(text, ".")[1]
						return text + "." + encoded(sign(text))
					}),
				})
				if who, err := signIn(t, d); err != nil {
					t.Fatalf("a token that is signed as ever: %+v, %v", who, err)
				}
				signed = true
				if who, err := signIn(t, d); reason(err) != directory.Untrue {
					t.Errorf("%+v, %v", who, err)
				}
			})
		}
	}
}

// TestAProviderIsTrustedByTheAuthorityOfTheFile, and by no other.
func TestAProviderIsTrustedByTheAuthorityOfTheFile(t *testing.T) {
	t.Parallel()
	ca := executortest.NewCA(t)
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"issuer":"`+server.URL+`","authorization_endpoint":"`+server.URL+`/authorize"}`)
	})
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{ca.Certificate(t)}}
	server.StartTLS()
	t.Cleanup(server.Close)
	for file, want := range map[string]directory.Reason{"": directory.Down, executortest.NewCA(t).File: directory.Down, ca.File: ""} {
		text := `
oidc:
  - name: company
    issuer: ` + server.URL + `
    client_id: punctual
    client_secret: hush
    rules: [{claim: groups, value: ops, role: admin}]
`
		if file != "" {
			text += "    ca_file: " + file + "\n"
		}
		p, _ := parse(t, text).Provider("company")
		if _, address, err := p.Begin(callback, "/", false); reason(err) != want || (err == nil) != (want == "") || err == nil && !strings.HasPrefix(address, server.URL+"/authorize?") {
			t.Errorf("with the authorities of %q: %s, %v", file, address, err)
		}
	}
}

// TestWhatAProviderSaysOfItsTroubleIsNoRefusal of the person.
func TestWhatAProviderSaysOfItsTroubleIsNoRefusal(t *testing.T) {
	t.Parallel()
	p, _ := parse(t, provided(directorytest.NewOIDC(t))).Provider("company")
	f, _, err := p.Begin(callback, "/", false)
	if err != nil {
		t.Fatal(err)
	}
	for said, want := range map[string]directory.Reason{
		"server_error": directory.Down, "temporarily_unavailable": directory.Down, "access_denied": directory.Denied, "login_required": directory.Denied,
	} {
		if _, err := p.Finish(t.Context(), f, callback, url.Values{"state": {f.State}, "error": {said}}); reason(err) != want {
			t.Errorf("%s: %v", said, err)
		}
	}
}
