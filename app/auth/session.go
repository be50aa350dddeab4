package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gorilla/sessions"

	"github.com/punctual-job/punctual/db"
)

const (
	cookieName  = "punctual"
	cookieField = "id"

	// touchEvery bounds how often a used session is written.
	touchEvery = time.Minute
)

// ErrNoSession means that a request belongs to nobody.
var ErrNoSession = errors.New("not logged in")

// Sessions opens, finds and ends login sessions.
type Sessions struct {
	pool    *db.Pool
	queries *db.Queries
	cookies *sessions.CookieStore
	key     []byte
	now     func() time.Time
	policy  func() Policy
	factors Factored // nil: nobody shows a second factor elsewhere
}

// Factored is where people show their second factor who have no password here.
type Factored interface {
	Checks(provider string) bool // here, after a directory has checked their password
	Tells(provider string) bool  // at a provider, which tells of it
}

// Ask has the second factors of people of providers and directories judged by where they show them.
func (s *Sessions) Ask(f Factored) { s.factors = f }

// lasts says whether a session has not ended by the limits that hold now, which may have been set after it began. A session of whom must have a second
// factor ends where it began without one: it is no way to set one up, since whoever took the browser has it too.
func (s *Sessions) lasts(row db.ListSessionTimesRow, policy Policy, now int64) bool {
	return policy.end(row.CreatedAt, row.SeenAt, row.Remembered != 0) > now && !(policy.NeedsSecond(row.Role) && s.isSingle(row))
}

// isSingle says whether a session began before its user had a second factor of those that they have now; of one at a provider that tells of it, whether
// it did not tell of one then.
func (s *Sessions) isSingle(row db.ListSessionTimesRow) bool {
	switch {
	case row.Provider == "" || s.factors != nil && s.factors.Checks(row.Provider):
		return row.CreatedAt < row.FactorSince
	case s.factors != nil && s.factors.Tells(row.Provider):
		return row.Strong != strength(SecondProvider)
	}
	return false // that one was shown is the provider's matter
}

// NewSessions keeps sessions in a database. The keys sign and encrypt the cookie, 32 bytes each; every admin of the
// installation must have the same.
func NewSessions(pool *db.Pool, signKey, encryptKey []byte, now func() time.Time, policy func() Policy) *Sessions {
	store := sessions.NewCookieStore(signKey, encryptKey)
	const longest = 366 * 24 * time.Hour // the row knows when the session ends
	store.MaxAge(int(longest / time.Second))
	return &Sessions{pool: pool, queries: db.New(), cookies: store, key: signKey, now: now, policy: policy}
}

// Mark tells one stored password from another, the same on every admin, and says nothing of it: the hashes of XXL-JOB have no salt.
func (s *Sessions) Mark(stored string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte("punctual stored password\n" + stored))
	return hex.EncodeToString(mac.Sum(nil))
}

// start begins a session and sets its cookie. A session the browser had before is ended: whoever logs in anew gets a new
// id, so that one planted beforehand is worth nothing.
func (s *Sessions) start(w http.ResponseWriter, r *http.Request, in SignIn) error {
	if err := s.end(r); err != nil {
		return err
	}
	id, err := s.begin(r, in)
	if err != nil {
		return err
	}
	cookie := s.cookie(r)
	cookie.Values[cookieField] = id
	cookie.Options = options(r)
	if life := s.policy().Remember; in.Remember && life > 0 {
		cookie.Options.MaxAge = int(life / time.Second)
	}
	if err := s.cookies.Save(r, w, cookie); err != nil {
		return fmt.Errorf("write session cookie: %w", err)
	}
	return nil
}

// idLength is that of a session's id, two random texts.
const idLength = 52

// begin makes the row of a session and returns its id.
func (s *Sessions) begin(r *http.Request, in SignIn) (string, error) {
	id, now := rand.Text()+rand.Text(), s.now().UnixMilli()
	kept := int64(0)
	if in.Remember && s.policy().Remember > 0 {
		kept = 1
	}
	err := s.queries.InsertSession(r.Context(), s.pool, db.InsertSessionParams{
		ID: rowID(id), UserID: in.Who.UserID, CreatedAt: now, SeenAt: now, ExpiresAt: s.policy().end(now, now, kept != 0), Remembered: kept,
		Address: short(in.Address, 64), Agent: short(r.UserAgent(), 255), Strong: strength(in.Second),
	})
	if err != nil {
		return "", fmt.Errorf("open session: %w", err)
	}
	return id, nil
}

// Find says who makes a request; [ErrNoSession] if nobody.
func (s *Sessions) Find(r *http.Request) (Principal, error) {
	id := s.id(r)
	if id == "" {
		return Principal{}, ErrNoSession
	}
	return s.find(r.Context(), id, true)
}

// Look is [Sessions.Find] for what goes on by itself: it does not count as a use of the session.
func (s *Sessions) Look(r *http.Request) (Principal, error) {
	id := s.id(r)
	if id == "" {
		return Principal{}, ErrNoSession
	}
	return s.find(r.Context(), id, false)
}

func (s *Sessions) find(ctx context.Context, id string, used bool) (Principal, error) {
	now, policy := s.now().UnixMilli(), s.policy()
	row, err := s.queries.GetSession(ctx, s.pool, db.GetSessionParams{ID: rowID(id), NowMs: now})
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return Principal{}, ErrNoSession
	} else if err != nil {
		return Principal{}, fmt.Errorf("find session: %w", err)
	}
	if !s.lasts(db.ListSessionTimesRow{
		CreatedAt: row.CreatedAt, SeenAt: row.SeenAt, Remembered: row.Remembered, Strong: row.Strong, Role: row.Role, Provider: row.Provider, FactorSince: row.FactorSince,
	}, policy, now) {
		return Principal{}, ErrNoSession
	}
	if used && now-row.SeenAt >= touchEvery.Milliseconds() {
		// A session that could not be touched is still good until its end.
		_ = s.queries.TouchSession(ctx, s.pool, db.TouchSessionParams{ID: row.ID, SeenAt: now, ExpiresAt: policy.end(row.CreatedAt, now, row.Remembered != 0)})
	}
	p := NewPrincipal(row.UserID, row.Username, row.Role, row.Permission)
	p.Session, p.Lang, p.Theme, p.Zone, p.Provider = row.ID, row.Lang, row.Theme, row.TimeZone, row.Provider
	p.Preferences = readPreferences(row.Preferences)
	if p.Admin {
		return p, nil
	}
	return withGranted(ctx, s.queries, s.pool, p)
}

// Close ends the session of a request and takes its cookie back.
func (s *Sessions) Close(w http.ResponseWriter, r *http.Request) error {
	if err := s.end(r); err != nil {
		return err
	}
	cookie := s.cookie(r)
	delete(cookie.Values, cookieField)
	cookie.Options = options(r)
	cookie.Options.MaxAge = -1
	return s.cookies.Save(r, w, cookie)
}

// maxListed bounds the sessions a page shows.
const maxListed = 100

// ListOf are a user's sessions, the one used last first.
func (s *Sessions) ListOf(ctx context.Context, userID int64) ([]db.Session, error) {
	now, policy := s.now().UnixMilli(), s.policy()
	rows, err := s.queries.ListSessionsOfUser(ctx, s.pool, db.ListSessionsOfUserParams{UserID: userID, NowMs: now, Limit: maxListed})
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", db.Error(err))
	}
	u, err := s.queries.GetUserDue(ctx, s.pool, userID)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("find whose sessions they are: %w", err)
	}
	return slices.DeleteFunc(rows, func(row db.Session) bool {
		return !s.lasts(db.ListSessionTimesRow{
			CreatedAt: row.CreatedAt, SeenAt: row.SeenAt, Remembered: row.Remembered, Strong: row.Strong, Role: u.Role, Provider: u.Provider, FactorSince: u.FactorSince,
		}, policy, now)
	}), nil
}

// maxCounted bounds the sessions that are counted.
const maxCounted = 100_000

// open are the sessions of everybody.
func (s *Sessions) open(ctx context.Context) ([]db.ListSessionTimesRow, error) {
	now, policy := s.now().UnixMilli(), s.policy()
	rows, err := s.queries.ListSessionTimes(ctx, s.pool, db.ListSessionTimesParams{NowMs: now, Limit: maxCounted})
	if err != nil {
		return nil, fmt.Errorf("count sessions: %w", db.Error(err))
	}
	return slices.DeleteFunc(rows, func(row db.ListSessionTimesRow) bool { return !s.lasts(row, policy, now) }), nil
}

// Count is how many sessions each user has.
func (s *Sessions) Count(ctx context.Context) (byUser map[int64]int64, err error) {
	rows, err := s.open(ctx)
	byUser = make(map[int64]int64)
	for _, row := range rows {
		byUser[row.UserID]++
	}
	return byUser, err
}

// Single are the sessions that would end if a second factor were required.
type Single struct {
	Admins int  // of administrators
	All    int  // of everybody
	Own    bool // the one that asks is among them
}

// Single counts the sessions that began without a second factor.
func (s *Sessions) Single(ctx context.Context, p Principal) (n Single, err error) {
	rows, err := s.open(ctx)
	for _, row := range rows {
		if !s.isSingle(row) {
			continue
		}
		n.All++
		if row.Role == RoleAdmin {
			n.Admins++
		}
		n.Own = n.Own || row.ID == p.Session
	}
	return n, err
}

// Renew lets a session begin now: its user has shown the password anew, and a second factor. The end that its limits give it moves on too.
func (s *Sessions) Renew(ctx context.Context, tx db.DBTX, p Principal) error {
	err := s.queries.RenewSession(ctx, tx, db.RenewSessionParams{ID: p.Session, NowMs: s.now().UnixMilli()})
	return db.Error(err)
}

// Clean deletes sessions that have ended by themselves.
func (s *Sessions) Clean(ctx context.Context) error {
	for {
		n, err := s.queries.DeleteSessionsBefore(ctx, s.pool, s.now().UnixMilli())
		if err != nil || n < 1000 { // the query's limit
			return err
		}
	}
}

func (s *Sessions) end(r *http.Request) error {
	id := s.id(r)
	if id == "" {
		return nil
	}
	return s.endID(r.Context(), id)
}

func (s *Sessions) endID(ctx context.Context, id string) error {
	if err := s.queries.DeleteSession(ctx, s.pool, rowID(id)); err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	return nil
}

// cookie is the request's cookie, a fresh one if it has none or one that cannot be read: it may be of another
// installation on the same host.
func (s *Sessions) cookie(r *http.Request) *sessions.Session {
	cookie, _ := s.cookies.New(r, cookieName)
	return cookie
}

func (s *Sessions) id(r *http.Request) string {
	id, _ := s.cookie(r).Values[cookieField].(string)
	return id
}

// rowID is where the session of a cookie is kept.
func rowID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

func options(r *http.Request) *sessions.Options {
	return &sessions.Options{Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: IsHTTPS(r)}
}

// IsHTTPS says whether the browser spoke TLS, to us or to a proxy before us. Somebody who forges the header only loses
// their own cookie.
func IsHTTPS(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

func short(s string, characters int) string {
	s = strings.ToValidUTF8(s, "")
	if utf8.RuneCountInString(s) <= characters {
		return s
	}
	return string([]rune(s)[:characters])
}
