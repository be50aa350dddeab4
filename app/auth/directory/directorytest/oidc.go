package directorytest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/punctual-job/punctual/executor/executortest"
)

// OIDC is an OpenID Connect provider. Whoever comes is the user that was set last.
type OIDC struct {
	URL string

	key    *rsa.PrivateKey
	server *httptest.Server

	mu     sync.Mutex
	user   map[string]any // nil: the provider refuses
	info   map[string]any
	twist  func(claims map[string]any)
	forge  bool // sign with a key that is not published
	asks   bool // with a page that a browser clicks on
	codes  map[string]grant
	tokens map[string]map[string]any
}

// grant is what a code stands for.
type grant struct {
	redirect, nonce, challenge string
	user                       map[string]any
}

// The client that the provider knows. Its secret has characters that stand for others in forms.
const (
	ClientID     = "punctual"
	ClientSecret = "s3cret+/=&"
)

// ownKey is that of all providers, since one takes a quarter of a second to make.
var ownKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// NewOIDC starts a provider, gone when the test ends. When it is closed, nobody else listens there.
func NewOIDC(t testing.TB) *OIDC {
	t.Helper()
	key, err := ownKey()
	if err != nil {
		t.Fatal(err)
	}
	p := &OIDC{key: key, codes: make(map[string]grant), tokens: make(map[string]map[string]any)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /userinfo", p.userinfo)
	p.server = executortest.NewServer(t, mux)
	p.URL = p.server.URL
	t.Cleanup(p.server.Close)
	return p
}

// Close shuts the provider down before the test ends.
func (p *OIDC) Close() { p.server.Close() }

// SetUser says whom the provider vouches for from now on; nil has it refuse.
func (p *OIDC) SetUser(claims map[string]any) { p.with(func() { p.user = claims }) }

// SetInfo adds claims that only the UserInfo endpoint tells.
func (p *OIDC) SetInfo(claims map[string]any) { p.with(func() { p.info = claims }) }

// Twist changes the claims of every ID token; nil ends that.
func (p *OIDC) Twist(f func(claims map[string]any)) { p.with(func() { p.twist = f }) }

// Forge has ID tokens signed with a key that the provider does not own.
func (p *OIDC) Forge(on bool) { p.with(func() { p.forge = on }) }

// Ask has the provider show a page with a button before it sends the browser back.
func (p *OIDC) Ask() { p.with(func() { p.asks = true }) }

func (p *OIDC) with(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
}

func (p *OIDC) discovery(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"userinfo_endpoint": p.URL + "/userinfo", "id_token_signing_alg_values_supported": []string{"RS256"},
	})
}

func (p *OIDC) keys(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: "1", Algorithm: "RS256", Use: "sig"}}})
}

func (p *OIDC) authorize(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || back.Host == "" || q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("state") == "" || q.Get("nonce") == "" ||
		!slices.Contains(strings.Fields(q.Get("scope")), "openid") || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" {
		http.Error(w, "the request is not one of code with PKCE: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	answer := url.Values{"state": {q.Get("state")}}
	if p.user == nil {
		answer.Set("error", "access_denied")
		answer.Set("error_description", "the account is closed")
	} else {
		code := rand.Text()
		p.codes[code] = grant{q.Get("redirect_uri"), q.Get("nonce"), q.Get("code_challenge"), maps.Clone(p.user)}
		answer.Set("code", code)
	}
	back.RawQuery = answer.Encode()
	if p.asks {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>Provider</title><h1>Provider</h1><a id="go" href="%s">Sign in</a>`, html.EscapeString(back.String()))
		return
	}
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (p *OIDC) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, secret, basic := r.BasicAuth()
	if id, _ = url.QueryUnescape(id); basic {
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	if id != ClientID || secret != ClientSecret {
		reply(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	g, known := p.codes[r.FormValue("code")]
	delete(p.codes, r.FormValue("code"))
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !known || g.redirect != r.FormValue("redirect_uri") || base64.RawURLEncoding.EncodeToString(sum[:]) != g.challenge {
		reply(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	now := time.Now()
	claims := map[string]any{"iss": p.URL, "aud": ClientID, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(), "nonce": g.nonce}
	maps.Copy(claims, g.user)
	if p.twist != nil {
		p.twist(claims)
	}
	signed, err := p.sign(claims)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	access := rand.Text()
	p.tokens[access] = g.user
	reply(w, http.StatusOK, map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 300, "id_token": signed})
}

func (p *OIDC) sign(claims map[string]any) (string, error) {
	key := p.key
	if p.forge {
		var err error
		if key, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
			return "", err
		}
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: "1"}}, nil)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(text)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

func (p *OIDC) userinfo(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	user, known := p.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if !known {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	said := map[string]any{"sub": user["sub"]}
	maps.Copy(said, p.info)
	reply(w, http.StatusOK, said)
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
