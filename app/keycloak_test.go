package app

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/app/auth/directory/directorytest"
	"github.com/punctual-job/punctual/db"
)

// TestKeycloakLetsPeopleIn signs in at a real provider: by its levels (acr) and its ways (amr) it shows that it asked for a second
// factor, its groups decide at each sign-in, and whom it shuts out does not come back.
func TestKeycloakLetsPeopleIn(t *testing.T) {
	t.Parallel()
	k := directorytest.NewKeycloak(t)
	provider := func(second string) directory.Config {
		return signInFile(t, fmt.Sprintf(`
oidc:
  - name: company
    issuer: %s
    client_id: %s
    client_secret: %q
    insecure: true
    %s
    rules:
      - {claim: groups, value: chiefs, role: admin}
      - {claim: groups, value: ops, rights: {orders: [run]}}
`, k.URL, directorytest.ClientID, directorytest.ClientSecret, second))
	}
	for _, c := range []struct {
		what, second string   // in the file
		must         string   // who must have a second factor
		asked        []string // by Keycloak, beside name and password
		in           bool
	}{
		{"nobody must have one", "second_factor: {acr: [gold]}", "nobody", nil, true},
		{"the file says nothing", "", "all", nil, true},
		{"a level that is asked for", "second_factor: {acr: [gold]}", "all", []string{"kc-otp-login-form"}, true},
		{"a level that the password reaches", "second_factor: {acr: [silver]}", "all", nil, true},
		{"a way that nobody asked for", "second_factor: {amr: [otp]}", "all", nil, false},
		{"a way that came with the level", "second_factor: {amr: [otp], acr: [gold]}", "admins", []string{"kc-otp-login-form"}, true},
		{"a way that Keycloak does not have", "second_factor: {amr: [hwk]}", "all", nil, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			o := testOptions(t)
			o.SignIn = provider(c.second)
			a := start(t, o)
			orders(t, a)
			open(t, a).mustLogin().set(url.Values{"second_factor": {c.must}})
			asked, got := open(t, a).throughKeycloak(k)
			if want := append([]string{"kc-form-login"}, c.asked...); !slices.Equal(asked, want) {
				t.Errorf("Keycloak asked for %q, want %q", asked, want)
			}
			if c.in && got.location() != "/jobs" || !c.in && (got.status != http.StatusForbidden || !strings.Contains(got.body, "without a second factor")) {
				t.Errorf("%d %s %.400s", got.status, got.location(), got.document(t).Find("main").Text())
			}
		})
	}

	o := testOptions(t)
	o.SignIn = provider("")
	a := start(t, o)
	orders(t, a)
	ann := open(t, a)
	if _, got := ann.throughKeycloak(k); got.location() != "/jobs" || ann.get("/users").status != http.StatusOK {
		t.Fatalf("a chief: %d %s", got.status, got.location())
	}
	k.Move(t, "chiefs", "ops")
	again := open(t, a)
	if _, got := again.throughKeycloak(k); got.location() != "/jobs" || again.get("/users").status != http.StatusForbidden || ann.get("/users").status == http.StatusOK {
		t.Errorf("another group: %d %s; users: %d, %d", got.status, got.location(), again.get("/users").status, ann.get("/users").status)
	}
	row, err := db.New().GetUserByName(t.Context(), a.pool, "ann")
	if err != nil || row.Role != 0 {
		t.Errorf("%+v, %v", row, err)
	}
	k.Change(t, map[string]any{"enabled": false})
	if asked, _ := open(t, a).throughKeycloak(k); len(asked) < 2 || !strings.Contains(asked[1], "disabled") {
		t.Errorf("Keycloak lets a disabled user go on: %q", asked)
	}
}

// throughKeycloak signs ann in: what Keycloak asked her for, and what the admin answers when she comes back.
func (b *browser) throughKeycloak(k *directorytest.Keycloak) (asked []string, got answer) {
	b.t.Helper()
	asked, back := k.SignIn(b.t, b.get("/sign-in/company?next=/jobs").location())
	if path, is := strings.CutPrefix(back, b.base); is {
		got = b.get(path)
	}
	return asked, got
}
