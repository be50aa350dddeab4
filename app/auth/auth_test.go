package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

func usualPolicy() Policy {
	const day = 24 * time.Hour
	return Policy{Idle: 12 * time.Hour, Absolute: 30 * day, Remember: 30 * day}
}

func addUser(t *testing.T, pool *db.Pool, name, stored string, role int64, permission string) int64 {
	t.Helper()
	id, err := db.New().InsertUser(t.Context(), pool, db.InsertUserParams{
		Username: name, Password: stored, Role: role, Permission: db.Text(permission),
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestPasswordsAreRecognisedInEveryForm(t *testing.T) {
	t.Parallel()
	p := NewPasswords(2)
	fresh, err := p.Hash(t.Context(), "123456")
	if err != nil {
		t.Fatal(err)
	}
	if len(fresh) > 100 {
		t.Errorf("the hash has %d characters, the column holds 100", len(fresh))
	}
	const md5Hash = "e10adc3949ba59abbe56e057f20f883e"
	const shaHash = "8d969eef6ecad3c29a3a629280e686cf0c3f5d5a86aff3ca12020c923adc6c92"
	weak := strings.Replace(fresh, "t=2", "t=1", 1)
	tests := []struct {
		name, stored, password string
		ok, old                bool
	}{
		{"our own hash", fresh, "123456", true, false},
		{"our own hash, wrong password", fresh, "1234567", false, false},
		{"MD5 of 3.1 and before", md5Hash, "123456", true, true},
		{"MD5 in capitals", strings.ToUpper(md5Hash), "123456", true, true},
		{"MD5, wrong password", md5Hash, "123457", false, false},
		{"SHA-256 of 3.2 and later", shaHash, "123456", true, true},
		{"the hash itself is no password", shaHash, shaHash, false, false},
		{"other costs give another key", weak, "123456", false, false},
		{"an empty hash fits nothing", "", "", false, false},
		{"a torn hash", "$argon2id$v=19$m=19456", "123456", false, false},
		{"a hash that asks for all memory", "$argon2id$v=19$m=4294967295,t=2,p=1$AAAA$AAAAAAAAAAAAAAAAAAAAAAAA", "x", false, false},
		{"a password without end", fresh, strings.Repeat("x", MaxPasswordBytes+1), false, false},
	}
	for _, tt := range tests {
		ok, old, err := p.check(t.Context(), tt.stored, tt.password, false)
		if err != nil || ok != tt.ok || old != tt.old {
			t.Errorf("%s: ok %v, old %v, %v; want %v, %v", tt.name, ok, old, err, tt.ok, tt.old)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	busy := NewPasswords(1)
	if err := busy.line.enter(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if _, _, err := busy.check(gone, fresh, "123456", false); !errors.Is(err, context.Canceled) {
		t.Errorf("a check that waits for its turn ends with the request, got %v", err)
	}
}

func TestAnOldHashIsReplacedAtTheFirstLogin(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		addUser(t, pool, "old", "e10adc3949ba59abbe56e057f20f883e", RoleUser, "1, 2,x,")
		logins := newLogins(pool, 2, time.Now)
		for range 2 {
			p, err := logins.Check(t.Context(), Attempt{Name: " old ", Password: "123456", Address: "10.0.0.1"})
			if err != nil {
				t.Fatal(err)
			}
			if p.Admin || !p.CanUseGroup(1) || !p.CanUseGroup(2) || p.CanUseGroup(3) || p.CanUseGroup(0) {
				t.Errorf("rights of %+v", p)
			}
		}
		u, err := db.New().GetUserByName(t.Context(), pool, "old")
		if err != nil || !strings.HasPrefix(u.Password, "$argon2id$") {
			t.Errorf("stored %q, %v", u.Password, err)
		}
	})
}

func TestLimitersAreBounded(t *testing.T) {
	t.Parallel()
	l := newLimiters(time.Second, 5, 100)
	now := time.Unix(0, 0)
	for i := range 10_000 {
		now = now.Add(time.Millisecond)
		l.allow(fmt.Sprint(i), now)
		if len(l.byKey) > 100 {
			t.Fatalf("%d keys", len(l.byKey))
		}
	}
	for range 5 {
		l.allow("kept", now)
	}
	if l.allow("kept", now) {
		t.Error("the newest key was forgotten")
	}
}

// sessionsOf are the sessions of somebody, with a clock and rules that a test sets.
type sessionsOf struct {
	*Sessions
	t      *testing.T
	pool   *db.Pool
	user   int64
	now    time.Time
	policy Policy
}

// onSessions runs a test of sessions on both databases. They begin with the usual rules.
func onSessions(t *testing.T, f func(t *testing.T, s *sessionsOf)) {
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		s := &sessionsOf{t: t, pool: pool, user: addUser(t, pool, "ann", "x", RoleAdmin, ""), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), policy: usualPolicy()}
		s.Sessions = NewSessions(pool, []byte(strings.Repeat("s", 32)), []byte(strings.Repeat("e", 32)), func() time.Time { return s.now }, func() Policy { return s.policy })
		f(t, s)
	})
}

func (s *sessionsOf) open(remember bool, with ...*http.Cookie) *http.Cookie {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/login", nil)
	for _, c := range with {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	if err := s.start(w, r, SignIn{Who: Principal{UserID: s.user}, Remember: remember, Address: "10.0.0.1"}); err != nil {
		s.t.Fatal(err)
	}
	return w.Result().Cookies()[0]
}

func (s *sessionsOf) find(c *http.Cookie) error {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/jobs", nil)
	r.AddCookie(c)
	p, err := s.Find(r)
	if err == nil && (p.UserID != s.user || !p.Admin || p.Name != "ann") {
		s.t.Errorf("found %+v", p)
	}
	return err
}

// ended checks that a session is none any more.
func (s *sessionsOf) ended(c *http.Cookie, why string) {
	s.t.Helper()
	if err := s.find(c); !errors.Is(err, ErrNoSession) {
		s.t.Errorf("%s: %v", why, err)
	}
}

// endAll ends all sessions of the user, as an administrator does.
func (s *sessionsOf) endAll() {
	s.t.Helper()
	if _, err := db.New().DeleteSessionsOfUser(s.t.Context(), s.pool, s.user); err != nil {
		s.t.Fatal(err)
	}
}

func TestASessionGoesOnWhileItIsUsed(t *testing.T) {
	t.Parallel()
	onSessions(t, func(t *testing.T, s *sessionsOf) {
		begin, session := s.now, s.open(false)
		if !session.HttpOnly || session.SameSite != http.SameSiteLaxMode || session.MaxAge != 0 || session.Secure {
			t.Errorf("cookie %+v", session)
		}
		for range 5 { // now and then
			s.now = s.now.Add(s.policy.Idle - time.Minute)
			if err := s.find(session); err != nil {
				t.Fatalf("after %s: %v", s.now.Sub(begin), err)
			}
		}
		s.now = s.now.Add(s.policy.Idle + time.Minute)
		s.ended(session, "unused for too long")
		s.now = begin
		long := s.open(false)
		for range int(s.policy.Absolute/s.policy.Idle) * 2 { // however much it is used
			s.now = s.now.Add(s.policy.Idle / 2)
			_ = s.find(long)
		}
		s.now = begin.Add(s.policy.Absolute)
		s.ended(long, "used for ever")
	})
}

func TestASessionThatIsRemembered(t *testing.T) {
	t.Parallel()
	onSessions(t, func(t *testing.T, s *sessionsOf) {
		begin, remembered := s.now, s.open(true)
		if remembered.MaxAge != int(s.policy.Remember/time.Second) {
			t.Errorf("remembered cookie %+v", remembered)
		}
		s.now = begin.Add(s.policy.Remember - time.Hour)
		if err := s.find(remembered); err != nil {
			t.Errorf("remembered: %v", err)
		}
		s.now = begin.Add(s.policy.Remember + time.Second)
		s.ended(remembered, "remembered for ever")
	})
}

// TestShorterLimitsCountForSessionsThatAreOpen as well.
func TestShorterLimitsCountForSessionsThatAreOpen(t *testing.T) {
	t.Parallel()
	onSessions(t, func(t *testing.T, s *sessionsOf) {
		begin, kept, plain := s.now, s.open(true), s.open(false)
		s.policy = Policy{Idle: time.Hour, Absolute: 2 * time.Hour, Remember: 0}
		s.now = begin.Add(59 * time.Minute)
		if list, err := s.ListOf(t.Context(), s.user); err != nil || len(list) < 2 {
			t.Errorf("%d sessions, %v", len(list), err)
		}
		s.now = begin.Add(61 * time.Minute)
		s.ended(kept, "remembered, from before the limits were made shorter")
		s.ended(plain, "plain, from before the limits were made shorter")
		if c := s.open(true); c.MaxAge != 0 {
			t.Errorf("remembered although nobody may be: %+v", c)
		}
		if count, err := s.Count(t.Context()); err != nil || count[s.user] != 1 {
			t.Errorf("%d sessions count, %v", count[s.user], err)
		}
	})
}

// TestAnOpenPageKeepsNoSessionAlive, although it keeps itself up to date.
func TestAnOpenPageKeepsNoSessionAlive(t *testing.T) {
	t.Parallel()
	onSessions(t, func(t *testing.T, s *sessionsOf) {
		begin, live := s.now, s.open(false)
		for range 3 {
			s.now = s.now.Add(s.policy.Idle / 2)
			r := httptest.NewRequest(http.MethodGet, "/runs/events", nil)
			r.AddCookie(live)
			if _, err := s.Look(r); err != nil && s.now.Sub(begin) < s.policy.Idle {
				t.Errorf("after %s: %v", s.now.Sub(begin), err)
			}
		}
		s.ended(live, "an open page keeps its session alive")
	})
}

// TestASessionIsEnded by who signs in anew or out, and by whoever ends all; that of another installation is none.
func TestASessionIsEnded(t *testing.T) {
	t.Parallel()
	onSessions(t, func(t *testing.T, s *sessionsOf) {
		first := s.open(false)
		second := s.open(false, first)
		s.ended(first, "logging in anew ends the session before")
		r := httptest.NewRequest(http.MethodPost, "/logout", nil)
		r.AddCookie(second)
		w := httptest.NewRecorder()
		if err := s.Close(w, r); err != nil {
			t.Fatal(err)
		}
		if c := w.Result().Cookies()[0]; c.MaxAge >= 0 {
			t.Errorf("cookie after logout: %+v", c)
		}
		s.ended(second, "logged out, the cookie is worth nothing")
		third := s.open(false)
		s.endAll()
		s.ended(third, "all sessions ended")
		other := NewSessions(s.pool, []byte(strings.Repeat("S", 32)), []byte(strings.Repeat("E", 32)), s.Sessions.now, s.Sessions.policy)
		r = httptest.NewRequest(http.MethodGet, "/", nil)
		r.AddCookie(s.open(false))
		if _, err := other.Find(r); !errors.Is(err, ErrNoSession) {
			t.Errorf("a cookie of another installation: %v", err)
		}
		s.now = s.now.Add(2 * s.policy.Remember)
		if err := s.Clean(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSameToken(t *testing.T) {
	t.Parallel()
	if !sameToken("a", "a") || sameToken("a", "b") || sameToken("", "a") || sameToken("a", "aa") {
		t.Error("tokens are compared wrongly")
	}
}
