package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
)

func TestAMistypedAPITokenIsTold(t *testing.T) {
	t.Parallel()
	token := NewAPIToken()
	if !IsAPIToken(token) || len(token) != 40 || NewAPIToken() == token {
		t.Fatalf("made %q", token)
	}
	for i := len(apiTokenPrefix); i < len(token); i++ {
		typo := []byte(token)
		typo[i] = base62[(strings.IndexByte(base62, typo[i])+1)%62]
		if IsAPIToken(string(typo)) {
			t.Errorf("%q passes for %q", typo, token)
		}
	}
	for _, text := range []string{"", "pnc_", token[:39], token + "0", "Pnc_" + token[4:], " " + token} {
		if IsAPIToken(text) {
			t.Errorf("%q passes", text)
		}
	}
}

func TestATokensScopeOnlyTakesAway(t *testing.T) {
	t.Parallel()
	admin := NewPrincipal(1, "root", RoleAdmin, "")
	user := NewPrincipal(2, "ann", RoleUser, "7").Grant(8, RightRun)
	tests := []struct {
		name   string
		p      Principal
		rights Rights
		admin  bool
		groups string
		want   map[int64]Rights // by group
		isIt   bool             // an administrator
	}{
		{"an administrator's whole token", admin, AllRights, true, "", map[int64]Rights{1: AllRights, 99: AllRights}, true},
		{"limited to a group it is none", admin, AllRights, true, "3", map[int64]Rights{3: AllRights, 1: 0}, false},
		{"rights of an administrator", admin, RightRun, false, "", map[int64]Rights{1: RightRun | RightView, 99: RightRun | RightView}, false},
		{"rights in a group", admin, RightEdit, false, "3,4", map[int64]Rights{3: RightEdit | RightView, 5: 0}, false},
		{"a user cannot become an administrator", user, AllRights, true, "", map[int64]Rights{7: AllRights, 8: RightRun | RightView, 9: 0}, false},
		{"a user's token is no wider", user, RightEdit, false, "", map[int64]Rights{7: RightEdit | RightView, 8: RightView}, false},
		{"nor in other groups", user, AllRights, false, "8,9", map[int64]Rights{7: 0, 8: RightRun | RightView, 9: 0}, false},
		{"a damaged list grants nothing", admin, AllRights, true, "x", map[int64]Rights{1: 0}, false},
		{"nor does one of groups that are gone", user, AllRights, false, "55", map[int64]Rights{7: 0, 55: 0}, false},
	}
	for _, tt := range tests {
		got := tt.p.Narrow(tt.rights, tt.admin, tt.groups)
		if got.Admin != tt.isIt {
			t.Errorf("%s: administrator %t", tt.name, got.Admin)
		}
		for group, want := range tt.want {
			if r := got.Rights(group); r != want || got.Can(group, RightGlue) != want.Has(RightGlue) || got.CanUseGroup(group) != want.Has(RightView) {
				t.Errorf("%s: rights %b in %d, want %b", tt.name, r, group, want)
			}
		}
	}
}

// TestRightTokensAreKeptWaitingForNobody: behind one address there may be a hundred programs, and one that asks a hundred things at once. Only
// tokens that do not count are counted.
func TestRightTokensAreKeptWaitingForNobody(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		const many = 3 * tokensPerAddress
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		owner := addUser(t, pool, "ann", weakHash, RoleAdmin, "")
		tokens := make([]string, many)
		for i := range tokens {
			tokens[i] = NewAPIToken()
			_, err := db.New().InsertAPIToken(t.Context(), pool, db.InsertAPITokenParams{UserID: owner, Name: fmt.Sprint(i), Hash: HashAPIToken(tokens[i]), Rights: int64(RightView)})
			if err != nil {
				t.Fatal(err)
			}
		}
		fresh := func() *APITokens { // of an admin that has just been started
			return NewAPITokens(pool, func() time.Time { return now }, slog.New(slog.DiscardHandler), func(context.Context, Principal, int64, string, error) {})
		}
		a := fresh()
		for i, token := range tokens {
			if _, err := a.Find(t.Context(), token, "10.0.0.1"); err != nil {
				t.Fatalf("the %dth program behind an address: %v", i+1, err)
			}
		}
		a = fresh()
		var all sync.WaitGroup
		for range many {
			all.Go(func() {
				if _, err := a.Find(t.Context(), tokens[0], "10.0.0.1"); err != nil {
					t.Errorf("one program that asks much at once: %v", err)
				}
			})
		}
		all.Wait()
		for i := range many {
			want := ErrTokenUnknown
			if i >= tokensPerAddress {
				want = ErrTooManyTokens
			}
			if _, err := a.Find(t.Context(), NewAPIToken(), "10.0.0.2"); !errors.Is(err, want) {
				t.Fatalf("the %dth wrong token: %v, want %v", i+1, err, want)
			}
		}
		if _, err := a.Find(t.Context(), tokens[1], "10.0.0.2"); !errors.Is(err, ErrTooManyTokens) {
			t.Errorf("a right one from there: %v", err)
		}
		now = now.Add(tokenPause)
		if _, err := a.Find(t.Context(), tokens[1], "10.0.0.2"); err != nil {
			t.Errorf("after a pause: %v", err)
		}
	})
}
