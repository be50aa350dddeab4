package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/punctual-job/punctual/db"
)

// PasskeySetup is what a browser is asked for a new passkey.
type PasskeySetup struct {
	Options string // JSON
	Token   string // comes back with the answer
}

// passkeySetup is what a token says.
type passkeySetup struct {
	UserID  int64
	Session webauthn.SessionData
	Begun   int64 // epoch ms
}

// passkeyUser is a user as the library wants one.
type passkeyUser struct {
	who  Principal
	rows []db.Factor
	keys []webauthn.Credential
}

func (u passkeyUser) WebAuthnID() []byte {
	return []byte("punctual-" + strconv.FormatInt(u.who.UserID, 10))
}
func (u passkeyUser) WebAuthnName() string                       { return u.who.Name }
func (u passkeyUser) WebAuthnDisplayName() string                { return u.who.Name }
func (u passkeyUser) WebAuthnCredentials() []webauthn.Credential { return u.keys }

func (f *Factors) passkeyUser(ctx context.Context, p Principal) (passkeyUser, error) {
	u := passkeyUser{who: p}
	rows, err := f.queries.ListFactors(ctx, f.pool, p.UserID)
	if err != nil {
		return u, fmt.Errorf("read second factors: %w", db.Error(err))
	}
	for _, row := range rows {
		var key webauthn.Credential
		if row.Kind == FactorPasskey && json.Unmarshal([]byte(row.Secret), &key) == nil {
			u.rows, u.keys = append(u.rows, row), append(u.keys, key)
		}
	}
	return u, nil
}

// CanHavePasskeys says whether browsers make passkeys for the address of a request: a name, and HTTPS or this machine.
func CanHavePasskeys(r *http.Request) bool {
	host := HostOf(r)
	return net.ParseIP(host) == nil && (IsHTTPS(r) || host == "localhost")
}

// HostOf is the name by which a browser reaches this console.
func HostOf(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		return host
	}
	return r.Host
}

// party is this console as passkeys know it: by the address that the browser sees. A page elsewhere that passes requests on is
// found out by the origin, which the browser signs.
func party(r *http.Request) (*webauthn.WebAuthn, error) {
	scheme := "http://"
	if IsHTTPS(r) {
		scheme = "https://"
	}
	w, err := webauthn.New(&webauthn.Config{RPID: HostOf(r), RPDisplayName: "Punctual", RPOrigins: []string{scheme + r.Host}})
	if err != nil {
		return nil, fmt.Errorf("passkeys for this address: %w", err)
	}
	return w, nil
}

// SetUpPasskey begins with a new passkey.
func (f *Factors) SetUpPasskey(r *http.Request, p Principal) (PasskeySetup, error) {
	u, err := f.passkeyUser(r.Context(), p)
	if err != nil {
		return PasskeySetup{}, err
	}
	w, err := party(r)
	if err != nil {
		return PasskeySetup{}, err
	}
	options, session, err := w.BeginRegistration(u,
		webauthn.WithExclusions(webauthn.Credentials(u.keys).CredentialDescriptors()),
		webauthn.WithAuthenticatorSelection(protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementPreferred, UserVerification: protocol.VerificationPreferred,
		}))
	if err != nil {
		return PasskeySetup{}, fmt.Errorf("ask for a passkey: %w", err)
	}
	text, err := json.Marshal(options.Response)
	if err != nil {
		return PasskeySetup{}, err
	}
	token, err := f.codec.Encode(FactorPasskey, passkeySetup{UserID: p.UserID, Session: *session, Begun: f.now().UnixMilli()})
	if err != nil {
		return PasskeySetup{}, fmt.Errorf("sign a question for a passkey: %w", err)
	}
	return PasskeySetup{Options: string(text), Token: token}, nil
}

// AddPasskey keeps the passkey that a browser made for the token of [Factors.SetUpPasskey].
func (f *Factors) AddPasskey(r *http.Request, p Principal, token, answer, name string) error {
	var s passkeySetup
	if f.codec.Decode(FactorPasskey, token, &s) != nil || s.UserID != p.UserID || !f.timely(s.Begun) {
		return ErrSetupExpired
	}
	u, err := f.passkeyUser(r.Context(), p)
	if err != nil {
		return err
	}
	w, err := party(r)
	if err != nil {
		return err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes([]byte(answer))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWrongCode, err)
	}
	key, err := w.CreateCredential(u, s.Session, parsed)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWrongCode, err)
	}
	for _, have := range u.keys {
		if string(have.ID) == string(key.ID) {
			return ErrWrongCode
		}
	}
	text, err := json.Marshal(key)
	if err != nil {
		return err
	}
	return f.add(r.Context(), p.UserID, FactorPasskey, name, string(text), 0)
}

// PasskeyQuestion is what a browser is asked for a passkey at the login.
type PasskeyQuestion struct {
	Options   string   // JSON; "" if the user has none for this address
	Elsewhere []string // the names for which the user's passkeys are, where none is for this one
}

// AskPasskey asks a browser for a passkey at the login. The question is kept with the sign-in, and answered once.
func (f *Factors) AskPasskey(r *http.Request, p *Pending) (q PasskeyQuestion, err error) {
	u, err := f.passkeyUser(r.Context(), p.Who)
	if err != nil {
		return q, err
	}
	all := u.keys
	u.keys = slices.DeleteFunc(slices.Clone(all), func(key webauthn.Credential) bool {
		name := madeFor(key)
		return !CanHavePasskeys(r) || name != "" && !strings.EqualFold(name, HostOf(r))
	})
	if len(u.keys) == 0 {
		for _, key := range all {
			if name := madeFor(key); name != "" && !slices.Contains(q.Elsewhere, name) {
				q.Elsewhere = append(q.Elsewhere, name)
			}
		}
		return q, nil
	}
	w, err := party(r)
	if err != nil {
		return q, err
	}
	options, session, err := w.BeginLogin(u)
	if err != nil {
		return q, fmt.Errorf("ask for a passkey: %w", err)
	}
	kept, err := json.Marshal(session)
	if err != nil {
		return q, err
	}
	if err := f.queries.SetSignInChallenge(r.Context(), f.pool, db.SetSignInChallengeParams{ID: p.id, Challenge: db.Text(kept)}); err != nil {
		return q, fmt.Errorf("keep a question for a passkey: %w", db.Error(err))
	}
	text, err := json.Marshal(options.Response)
	q.Options = string(text)
	return q, err
}

// madeFor is the name for which a browser made a passkey: it works for no other. "" if that is not known.
func madeFor(key webauthn.Credential) string {
	var made struct {
		Origin string `json:"origin"`
	}
	if json.Unmarshal(key.Attestation.ClientDataJSON, &made) != nil {
		return ""
	}
	u, err := url.Parse(made.Origin)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// ShowPasskey is the answer to [Factors.AskPasskey].
func (f *Factors) ShowPasskey(r *http.Request, p *Pending, answer string) error {
	return f.limited(r, p.Who, func() error {
		var session webauthn.SessionData
		if json.Unmarshal([]byte(p.challenge), &session) != nil {
			return ErrWrongPasskey
		}
		if n, err := f.queries.TakeSignInChallenge(r.Context(), f.pool, p.id); err != nil {
			return fmt.Errorf("take the question of a passkey: %w", db.Error(err))
		} else if n == 0 {
			return ErrWrongPasskey
		}
		u, err := f.passkeyUser(r.Context(), p.Who)
		if err != nil {
			return err
		}
		w, err := party(r)
		if err != nil {
			return err
		}
		parsed, err := protocol.ParseCredentialRequestResponseBytes([]byte(answer))
		if err != nil {
			return fmt.Errorf("%w: %w", ErrWrongPasskey, err)
		}
		key, err := w.ValidateLogin(u, session, parsed)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrWrongPasskey, err)
		}
		if key.Authenticator.CloneWarning {
			return fmt.Errorf("%w: the passkey's counter went back, as that of a copy does", ErrWrongPasskey)
		}
		return f.usedPasskey(r.Context(), u, key)
	})
}

// usedPasskey keeps the passkey's counter.
func (f *Factors) usedPasskey(ctx context.Context, u passkeyUser, key *webauthn.Credential) error {
	for i, have := range u.keys {
		if string(have.ID) != string(key.ID) {
			continue
		}
		text, err := json.Marshal(key)
		if err != nil {
			return err
		}
		_, err = f.queries.UsePasskey(ctx, f.pool, db.UsePasskeyParams{ID: u.rows[i].ID, Secret: db.Text(text), UsedAt: f.now().UnixMilli()})
		if err != nil {
			return fmt.Errorf("note the use of a passkey: %w", db.Error(err))
		}
		return nil
	}
	return ErrWrongPasskey
}
