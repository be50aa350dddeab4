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

func TestASessionLivesAndEnds(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		user := addUser(t, pool, "ann", "x", RoleAdmin, "")
		now, policy := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), usualPolicy()
		idleLimit, rememberLimit := policy.Idle, policy.Remember
		s := NewSessions(pool, []byte(strings.Repeat("s", 32)), []byte(strings.Repeat("e", 32)), func() time.Time { return now }, func() Policy { return policy })
		open := func(remember bool, with ...*http.Cookie) *http.Cookie {
			r := httptest.NewRequest(http.MethodPost, "/login", nil)
			for _, c := range with {
				r.AddCookie(c)
			}
			w := httptest.NewRecorder()
			if err := s.start(w, r, SignIn{Who: Principal{UserID: user}, Remember: remember, Address: "10.0.0.1"}); err != nil {
				t.Fatal(err)
			}
			return w.Result().Cookies()[0]
		}
		find := func(c *http.Cookie) error {
			r := httptest.NewRequest(http.MethodGet, "/jobs", nil)
			r.AddCookie(c)
			p, err := s.Find(r)
			if err == nil && (p.UserID != user || !p.Admin || p.Name != "ann") {
				t.Errorf("found %+v", p)
			}
			return err
		}
		begin := now
		session, remembered := open(false), open(true)
		if !session.HttpOnly || session.SameSite != http.SameSiteLaxMode || session.MaxAge != 0 || session.Secure {
			t.Errorf("cookie %+v", session)
		}
		if remembered.MaxAge != int(rememberLimit/time.Second) {
			t.Errorf("remembered cookie %+v", remembered)
		}
		for range 5 { // used now and then, a session goes on
			now = now.Add(idleLimit - time.Minute)
			if err := find(session); err != nil {
				t.Fatalf("after %s: %v", now.Sub(begin), err)
			}
		}
		now = now.Add(idleLimit + time.Minute)
		if err := find(session); !errors.Is(err, ErrNoSession) {
			t.Errorf("unused for too long: %v", err)
		}
		now = begin.Add(rememberLimit - time.Hour)
		if err := find(remembered); err != nil {
			t.Errorf("remembered: %v", err)
		}
		now = begin.Add(rememberLimit + time.Second)
		if err := find(remembered); !errors.Is(err, ErrNoSession) {
			t.Errorf("remembered for ever: %v", err)
		}
		now = begin
		long := open(false)
		for range int(policy.Absolute/idleLimit) * 2 { // however much it is used
			now = now.Add(idleLimit / 2)
			_ = find(long)
		}
		now = begin.Add(policy.Absolute)
		if err := find(long); !errors.Is(err, ErrNoSession) {
			t.Errorf("used for ever: %v", err)
		}
		now = begin
		if _, err := db.New().DeleteSessionsOfUser(t.Context(), pool, user); err != nil {
			t.Fatal(err)
		}
		kept, plain := open(true), open(false)
		policy = Policy{Idle: time.Hour, Absolute: 2 * time.Hour, Remember: 0}
		now = begin.Add(59 * time.Minute)
		if list, err := s.ListOf(t.Context(), user); err != nil || len(list) < 2 {
			t.Errorf("%d sessions, %v", len(list), err)
		}
		now = begin.Add(61 * time.Minute)
		for what, c := range map[string]*http.Cookie{"remembered": kept, "plain": plain} {
			if err := find(c); !errors.Is(err, ErrNoSession) {
				t.Errorf("%s, from before the limits were made shorter: %v", what, err)
			}
		}
		if c := open(true); c.MaxAge != 0 {
			t.Errorf("remembered although nobody may be: %+v", c)
		}
		if count, err := s.Count(t.Context()); err != nil || count[user] != 1 {
			t.Errorf("%d sessions count, %v", count[user], err)
		}
		policy, now = usualPolicy(), begin

		live := open(false)
		for range 3 { // an open page that keeps itself up to date
			now = now.Add(idleLimit / 2)
			r := httptest.NewRequest(http.MethodGet, "/runs/events", nil)
			r.AddCookie(live)
			if _, err := s.Look(r); err != nil && now.Sub(begin) < idleLimit {
				t.Errorf("after %s: %v", now.Sub(begin), err)
			}
		}
		if err := find(live); !errors.Is(err, ErrNoSession) {
			t.Errorf("an open page keeps its session alive: %v", err)
		}
		now = begin

		first := open(false)
		second := open(false, first)
		if err := find(first); !errors.Is(err, ErrNoSession) {
			t.Errorf("logging in anew ends the session before: %v", err)
		}
		r := httptest.NewRequest(http.MethodPost, "/logout", nil)
		r.AddCookie(second)
		w := httptest.NewRecorder()
		if err := s.Close(w, r); err != nil {
			t.Fatal(err)
		}
		if c := w.Result().Cookies()[0]; c.MaxAge >= 0 {
			t.Errorf("cookie after logout: %+v", c)
		}
		if err := find(second); !errors.Is(err, ErrNoSession) {
			t.Errorf("logged out, the cookie is worth nothing: %v", err)
		}
		third := open(false)
		if _, err := db.New().DeleteSessionsOfUser(t.Context(), pool, user); err != nil {
			t.Fatal(err)
		}
		if err := find(third); !errors.Is(err, ErrNoSession) {
			t.Errorf("all sessions ended: %v", err)
		}
		other := NewSessions(pool, []byte(strings.Repeat("S", 32)), []byte(strings.Repeat("E", 32)), s.now, s.policy)
		r = httptest.NewRequest(http.MethodGet, "/", nil)
		r.AddCookie(open(false))
		if _, err := other.Find(r); !errors.Is(err, ErrNoSession) {
			t.Errorf("a cookie of another installation: %v", err)
		}
		now = now.Add(2 * rememberLimit)
		if err := s.Clean(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSameToken(t *testing.T) {
	t.Parallel()
	if !SameToken("a", "a") || SameToken("a", "b") || SameToken("", "a") || SameToken("a", "aa") {
		t.Error("tokens are compared wrongly")
	}
}
