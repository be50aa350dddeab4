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
	if got := APITokenHint(token); got != token[:8]+"…" {
		t.Errorf("it is shown as %q", got)
	}
	if got := apiTokenChecksum("0123456789abcdefghijABCDEFGHIJ"); got != "3mpbCX" { // CRC-32 in base 62, as scanners for secrets work it out
		t.Errorf("the checksum is %q", got)
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

// TestWhoAnAPITokenActsFor goes by its row and its owner's at each call, and tells what it is refused for, with what is known of it.
func TestWhoAnAPITokenActsFor(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		var noted []string
		tokens := NewAPITokens(pool, func() time.Time { return now }, slog.New(slog.DiscardHandler), func(_ context.Context, p Principal, id int64, name string, err error) {
			noted = append(noted, fmt.Sprintf("%d %q %s %d %q %v", p.UserID, p.Name, p.Address, id, name, err))
		})
		ann, root := addUser(t, pool, "ann", weakHash, RoleUser, "7,8"), addUser(t, pool, "root", weakHash, RoleAdmin, "")
		made := func(change func(*db.InsertAPITokenParams)) (int64, string) {
			t.Helper()
			token := NewAPIToken()
			row := db.InsertAPITokenParams{UserID: ann, Name: "ci", Hash: HashAPIToken(token), Hint: APITokenHint(token), Rights: int64(RightRun)}
			change(&row)
			id, err := db.New().InsertAPIToken(t.Context(), pool, row)
			if err != nil {
				t.Fatal(err)
			}
			return id, token
		}
		plain, plainToken := made(func(*db.InsertAPITokenParams) {})
		limited, limitedToken := made(func(r *db.InsertAPITokenParams) { r.ExpiresAt, r.GroupIds = now.UnixMilli()+1, "8" })
		_, whole := made(func(r *db.InsertAPITokenParams) { r.UserID, r.Admin = root, 1 })
		_, part := made(func(r *db.InsertAPITokenParams) { r.UserID = root })
		unknown := NewAPIToken()
		find := func(token, address string, want error) Principal {
			t.Helper()
			noted = nil
			p, err := tokens.Find(t.Context(), token, address)
			if !errors.Is(err, want) || (len(noted) > 0) != IsTokenRefusal(err) {
				t.Errorf("%.8s: %v, want %v; noted are %s", token, err, want, noted)
			}
			return p
		}
		said := func(want string) {
			t.Helper()
			if len(noted) != 1 || noted[0] != want {
				t.Errorf("noted: %s, want %s", noted, want)
			}
		}
		if p := find(plainToken, "192.0.2.1", nil); p.UserID != ann || p.Name != "ann via token ci" || p.Address != "192.0.2.1" || !p.Can(7, RightRun) || p.Can(7, RightEdit) || p.Can(9, RightView) || p.Admin {
			t.Errorf("it acts for %+v", p)
		}
		if p := find(limitedToken, "192.0.2.1", nil); !p.Can(8, RightRun) || p.Can(7, RightView) {
			t.Errorf("limited to a group, it acts for %+v", p)
		}
		if p := find(whole, "192.0.2.1", nil); !p.Admin {
			t.Errorf("an administrator's acts for %+v", p)
		}
		if p := find(part, "192.0.2.1", nil); p.Admin || !p.Can(9, RightRun) {
			t.Errorf("a part of an administrator's acts for %+v", p)
		}
		find("pnc_copied", "192.0.2.1", ErrTokenForm)
		said(`0 "" 192.0.2.1 0 "" ` + ErrTokenForm.Error())
		find(unknown, "192.0.2.1", ErrTokenUnknown)
		said(fmt.Sprintf(`0 "" 192.0.2.1 0 %q %v`, APITokenHint(unknown), ErrTokenUnknown))
		now = now.Add(time.Millisecond)
		find(limitedToken, "192.0.2.1", ErrTokenExpired)
		said(fmt.Sprintf(`%d "ann" 192.0.2.1 %d "ci" %v`, ann, limited, ErrTokenExpired))

		// When it was used is written once a minute.
		used := func() int64 {
			t.Helper()
			row, err := db.New().GetAPIToken(t.Context(), pool, plain)
			if err != nil || row.UsedFrom != "192.0.2.1" {
				t.Fatalf("%+v, %v", row, err)
			}
			return row.UsedAt
		}
		first := used()
		now = time.UnixMilli(first).Add(touchTokenEvery - 1)
		find(plainToken, "192.0.2.1", nil)
		if used() != first {
			t.Error("its use is written before a minute is over")
		}
		now = time.UnixMilli(first).Add(touchTokenEvery)
		if find(plainToken, "192.0.2.1", nil); used() != now.UnixMilli() {
			t.Error("its use after a minute is not written")
		}

		// Who guesses is shut out, and not who is right from there, until that counts no more.
		for i := 0; ; i++ {
			if _, err := tokens.Find(t.Context(), unknown, "192.0.2.2"); errors.Is(err, ErrTooManyTokens) {
				if i != tokensPerAddress {
					t.Errorf("%d guesses are looked at", i)
				}
				break
			}
		}
		find(unknown, "192.0.2.2", ErrTooManyTokens)
		said(`0 "" 192.0.2.2 0 "" ` + ErrTooManyTokens.Error())
		find(plainToken, "192.0.2.2", nil)
		find(limitedToken, "192.0.2.2", ErrTooManyTokens)
		for q, want := range map[string]error{
			"UPDATE xxl_job_user SET disabled = 1 WHERE id = ?": ErrTokenOwner, "UPDATE punctual_api_token SET revoked_at = 5 WHERE user_id = ?": ErrTokenRevoked,
		} {
			if _, err := pool.ExecContext(t.Context(), q, ann); err != nil {
				t.Fatal(err)
			}
			find(plainToken, "192.0.2.3", want)
			find(plainToken, "192.0.2.2", ErrTooManyTokens)
			for _, undo := range []string{"UPDATE xxl_job_user SET disabled = 0 WHERE id = ?", "UPDATE punctual_api_token SET revoked_at = 0 WHERE user_id = ?"} {
				if _, err := pool.ExecContext(t.Context(), undo, ann); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestTheHashesOfGoodTokensAreBounded(t *testing.T) {
	t.Parallel()
	a := &APITokens{good: make(map[string]struct{})}
	for i := range maxGoodTokens {
		a.setGood(fmt.Sprint(i), true)
	}
	if len(a.good) != maxGoodTokens || !a.isGood("0") {
		t.Errorf("%d are kept", len(a.good))
	}
	if a.setGood("more", true); len(a.good) != 1 || !a.isGood("more") {
		t.Errorf("then %d are kept", len(a.good))
	}
}
