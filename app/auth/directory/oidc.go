package directory

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/punctual-job/punctual/executor/wire"
)

const (
	// askTime bounds one request to a provider, and finishTime all that are made while somebody waits to be let in.
	askTime    = 10 * time.Second
	finishTime = 15 * time.Second
	// FlowLife is how long somebody may take at the provider.
	FlowLife = 10 * time.Minute
)

// Flow is a sign-in that was begun. The browser that began it keeps it, sealed, until it comes back.
type Flow struct {
	Provider string
	State    string
	Nonce    string
	Verifier string // of PKCE
	Next     string // where the person wanted to go
	BegunAt  int64  // epoch ms
}

// Provider is an OpenID Connect provider.
type Provider struct {
	cfg    OIDCConfig
	client *http.Client
	now    func() time.Time

	mu     sync.Mutex
	found  *found  // nil until it could be asked
	asking *asking // nil while nobody asks it
}

// found is what a provider says of itself.
type found struct {
	*oidc.Provider
	keys       *oidc.RemoteKeySet
	algorithms []string // of signatures, those that are verified here; none: the default
}

// asking is a question for a provider's addresses, and its answer once done is closed.
type asking struct {
	done  chan struct{}
	found *found
	err   error
}

// NewProvider makes a provider, which is asked for its addresses at the first sign-in: it may be down when an admin starts.
func NewProvider(cfg OIDCConfig, now func() time.Time) (*Provider, error) {
	u, err := url.Parse(cfg.Issuer)
	if err != nil {
		return nil, err
	}
	conf, err := tlsTo(cfg.CAFile, u.Host)
	if err != nil {
		return nil, err
	}
	conf.ServerName = "" // its endpoints may be on other hosts
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = conf
	return &Provider{cfg: cfg, now: now, client: &http.Client{Transport: capped{wire.NewRedialling(transport)}, Timeout: askTime}}, nil
}

// maxAnswer is how much of an answer is read: a provider is trusted to say who somebody is, and not to end.
const maxAnswer = 1 << 20

// capped bounds what is read of answers.
type capped struct{ *wire.Redialling }

func (c capped) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.Redialling.RoundTrip(r)
	if err == nil {
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxAnswer)
	}
	return resp, err
}

// Name is the provider's in the file.
func (p *Provider) Name() string { return p.cfg.Name }

// Label is what people call it.
func (p *Provider) Label() string { return p.cfg.Label }

// TellsSecond says whether the file says by what an ID token tells of a second factor.
func (p *Provider) TellsSecond() bool { return p.cfg.SecondFactor != nil }

func (p *Provider) fail(reason Reason, err error) error {
	return &Error{Reason: reason, Provider: p.cfg.Name, Err: err}
}

// discover asks the provider for its addresses, once. Who comes while it is asked waits for the same answer: one after the other, the last of
// ten would wait for a mute provider ten times as long.
func (p *Provider) discover() (*found, error) {
	p.mu.Lock()
	if p.found != nil {
		defer p.mu.Unlock()
		return p.found, nil
	}
	if a := p.asking; a != nil {
		p.mu.Unlock()
		<-a.done
		return a.found, a.err
	}
	a := &asking{done: make(chan struct{}), err: p.fail(Down, errors.New("asking it ended without an answer"))}
	p.asking = a
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.found, p.asking = a.found, nil
		p.mu.Unlock()
		close(a.done)
	}()
	a.found, a.err = p.ask()
	return a.found, a.err
}

// ask asks the provider for its addresses.
func (p *Provider) ask() (*found, error) {
	// The context stays with the keys, which are fetched with it later: it must not be a request's.
	ctx := oidc.ClientContext(context.Background(), p.client)
	provider, err := oidc.NewProvider(ctx, p.cfg.Issuer)
	if mismatch, ok := errors.AsType[*oidc.IssuerMismatchError](err); ok {
		return nil, p.fail(Untrue, mismatch)
	} else if err != nil {
		return nil, p.fail(Down, err)
	}
	var said struct {
		Keys       string   `json:"jwks_uri"`
		Algorithms []string `json:"id_token_signing_alg_values_supported"`
	}
	if err := provider.Claims(&said); err != nil {
		return nil, p.fail(Untrue, err)
	}
	return &found{provider, oidc.NewRemoteKeySet(ctx, said.Keys), slices.DeleteFunc(said.Algorithms, isNoSignature)}, nil
}

func (p *Provider) config(found *found, callback string) *oauth2.Config {
	scopes := append([]string{oidc.ScopeOpenID}, p.cfg.Scopes...)
	slices.Sort(scopes)
	return &oauth2.Config{
		ClientID: p.cfg.ClientID, ClientSecret: p.cfg.ClientSecret, Endpoint: found.Endpoint(), RedirectURL: callback, Scopes: slices.Compact(scopes),
	}
}

// Begin makes a sign-in and the address at the provider to which the browser is sent. callback is where it comes back; strong has
// the provider asked for a second factor, where the file says how.
func (p *Provider) Begin(callback, next string, strong bool) (Flow, string, error) {
	found, err := p.discover()
	if err != nil {
		return Flow{}, "", err
	}
	f := Flow{
		Provider: p.cfg.Name, State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Next: next, BegunAt: p.now().UnixMilli(),
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)}
	if s := p.cfg.SecondFactor; strong && s != nil && len(s.ACR) > 0 {
		options = append(options, oauth2.SetAuthURLParam("acr_values", strings.Join(s.ACR, " ")))
	}
	return f, p.config(found, callback).AuthCodeURL(f.State, options...), nil
}

// Finish says who came back from the provider with an answer. f is what their browser kept.
func (p *Provider) Finish(ctx context.Context, f Flow, callback string, answer url.Values) (Identity, error) {
	age := p.now().Sub(time.UnixMilli(f.BegunAt))
	if f.Provider != p.cfg.Name || f.State == "" || age > FlowLife || age < -time.Minute || !same(f.State, answer.Get("state")) {
		return Identity{}, p.fail(Stale, nil)
	}
	if refusal := answer.Get("error"); refusal != "" {
		reason := Denied
		if refusal == "server_error" || refusal == "temporarily_unavailable" {
			reason = Down
		}
		return Identity{}, p.fail(reason, fmt.Errorf("%.100q %.300q", refusal, answer.Get("error_description")))
	}
	ctx, cancel := context.WithTimeout(ctx, finishTime)
	defer cancel()
	found, err := p.discover()
	if err != nil {
		return Identity{}, err
	}
	ctx = oidc.ClientContext(ctx, p.client)
	token, err := p.config(found, callback).Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(f.Verifier))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response != nil && refused.Response.StatusCode < 500 {
		return Identity{}, p.fail(Untrue, err) // the code is old, used, or not for us
	} else if err != nil {
		return Identity{}, p.fail(Down, err)
	}
	signed, subject, err := p.claims(ctx, found, token, f.Nonce)
	if err != nil {
		return Identity{}, err
	}
	who := Identity{Provider: p.cfg.Name, Key: keyOf("oidc", p.cfg.Issuer, subject), Weak: !p.cfg.SecondFactor.shownIn(signed)}
	said := signed
	if p.cfg.UserInfo {
		if said, err = p.more(ctx, found, token, subject, signed); err != nil {
			return Identity{}, err
		}
	}
	var fine bool
	if who.Name, fine = cleanName(said.text(p.cfg.NameClaim)); !fine {
		return Identity{}, &Error{Reason: BadName, Provider: p.cfg.Name, Name: who.Name, Err: fmt.Errorf("claim %s", p.cfg.NameClaim)}
	}
	// Whoever may type an address of mail at the provider must not get the rights of its owner. Many providers say nothing of that.
	if said.text("email_verified") != "true" {
		delete(said, "email")
	}
	who.Grant, who.In = decide(p.cfg.Rules, said)
	return who, nil
}

// claims are what the ID token says of who came, once everything that makes it believable was checked: signature, issuer,
// audience and time by the library, then the nonce of this very sign-in and for whom the token was made.
func (p *Provider) claims(ctx context.Context, found *found, token *oauth2.Token, nonce string) (said claims, subject string, err error) {
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return nil, "", p.fail(Untrue, errors.New("the answer holds no ID token: is this an OpenID Connect provider?"))
	}
	keys := &keySet{remote: found.keys}
	// The token's times are the world's, which the machine's clock keeps, as it does for certificates; p.now is the database's.
	id, err := oidc.NewVerifier(p.cfg.Issuer, keys, &oidc.Config{ClientID: p.cfg.ClientID, Now: time.Now, SupportedSigningAlgs: found.algorithms}).Verify(ctx, raw)
	if keys.missing != nil {
		return nil, "", p.fail(Down, keys.missing) // nothing is said against the token
	} else if err != nil {
		return nil, "", p.fail(Untrue, err)
	}
	if nonce == "" || !same(id.Nonce, nonce) {
		return nil, "", p.fail(Untrue, errors.New("the ID token is of another sign-in: its nonce differs"))
	}
	if said, err = decodeClaims(id.Claims); err != nil {
		return nil, "", p.fail(Untrue, err)
	}
	if party := said.text("azp"); party != "" && party != p.cfg.ClientID {
		return nil, "", p.fail(Untrue, fmt.Errorf("the ID token was made for %.100q", party))
	}
	if id.Subject == "" {
		return nil, "", p.fail(Untrue, errors.New("the ID token has no subject"))
	}
	return said, id.Subject, nil
}

// more adds what the UserInfo endpoint says. What the ID token says stands, since that is signed.
func (p *Provider) more(ctx context.Context, found *found, token *oauth2.Token, subject string, signed claims) (claims, error) {
	info, err := found.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return nil, p.fail(Down, err)
	}
	if info.Subject != subject {
		return nil, p.fail(Untrue, errors.New("the UserInfo endpoint speaks of somebody else"))
	}
	said, err := decodeClaims(info.Claims)
	if err != nil {
		return nil, p.fail(Untrue, err)
	}
	maps.Copy(said, signed)
	return said, nil
}

// decodeClaims reads claims with numbers as they are written.
func decodeClaims(into func(any) error) (claims, error) {
	var raw json.RawMessage
	if err := into(&raw); err != nil {
		return nil, err
	}
	said := make(claims)
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return said, decoder.Decode(&said)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
