package directory_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/app/auth/directory/directorytest"
)

const callback = "https://jobs.example.com/login/company/callback"

// provided is the file for a provider.
func provided(p *directorytest.OIDC, more ...string) string {
	secret, _ := json.Marshal(directorytest.ClientSecret)
	return fmt.Sprintf(`
oidc:
  - name: company
    issuer: %s
    client_id: %s
    client_secret: %s
    insecure: true
    rules:
      - {claim: groups, value: ops, rights: {orders: [run, edit]}}
      - {claim: realm.roles, value: chief, role: admin}
      - {claim: email, value: boss@example.com, role: admin}
%s`, p.URL, directorytest.ClientID, secret, strings.Join(more, "\n"))
}

// visit goes to the provider and says with what the browser comes back.
func visit(t *testing.T, address string) url.Values {
	t.Helper()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	back, err := resp.Location()
	if err != nil || !strings.HasPrefix(back.String(), callback+"?") {
		t.Fatalf("the provider: %d %v, %v", resp.StatusCode, back, err)
	}
	return back.Query()
}

func signIn(t *testing.T, d *directory.Directories) (directory.Identity, error) {
	t.Helper()
	p, _ := d.Provider("company")
	f, address, err := p.Begin(callback, "/jobs", true)
	if err != nil {
		t.Fatal(err)
	}
	return p.Finish(t.Context(), f, callback, visit(t, address))
}

func ann() map[string]any {
	return map[string]any{"sub": "1234", "preferred_username": "ann", "groups": []string{"all", "ops"}}
}

func TestAProviderVouchesForSomebody(t *testing.T) {
	t.Parallel()
	p := directorytest.NewOIDC(t)
	d := parse(t, provided(p))
	p.SetUser(ann())
	who, err := signIn(t, d)
	if err != nil {
		t.Fatal(err)
	}
	want := directory.Grant{Rights: map[string]auth.Rights{"orders": auth.RightRun | auth.RightEdit}}
	if who.Name != "ann" || who.Provider != "company" || len(who.Key) != 64 || !who.In || cmp.Diff(want, who.Grant) != "" {
		t.Errorf("ann: %+v", who)
	}
	for what, c := range map[string]struct {
		change map[string]any
		in     bool
		admin  bool
	}{
		"a claim within another":           {map[string]any{"groups": nil, "realm": map[string]any{"roles": []string{"x", "chief"}}}, true, true},
		"no group":                         {map[string]any{"groups": []string{}}, false, false},
		"an address that was checked":      {map[string]any{"groups": nil, "email": "boss@example.com", "email_verified": true}, true, true},
		"an address that was not checked":  {map[string]any{"groups": nil, "email": "boss@example.com", "email_verified": false}, false, false},
		"an address nobody speaks about":   {map[string]any{"groups": nil, "email": "boss@example.com"}, false, false},
		"a group whose name only contains": {map[string]any{"groups": "ops, all"}, false, false},
		"one group as a text":              {map[string]any{"groups": "ops"}, true, false},
	} {
		user := ann()
		maps.Copy(user, c.change)
		p.SetUser(user)
		now, err := signIn(t, d)
		if err != nil || now.In != c.in || now.Grant.Admin != c.admin || now.Key != who.Key {
			t.Errorf("%s: %+v, %v", what, now, err)
		}
	}
	user := ann()
	user["sub"] = "1235"
	p.SetUser(user)
	if other, err := signIn(t, d); err != nil || other.Key == who.Key {
		t.Errorf("another subject of the same name: %+v, %v", other, err)
	}
}

// TestTheDatabaseClockIsNotTheProviders: the time of the cluster is the database's, and a provider's tokens go by the time of the world.
func TestTheDatabaseClockIsNotTheProviders(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{-3 * time.Hour, 3 * time.Hour} {
		p := directorytest.NewOIDC(t)
		p.SetUser(ann())
		cfg, err := directory.Parse([]byte(provided(p)), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		d, err := directory.New(cfg, func() time.Time { return time.Now().Add(off) })
		if err != nil {
			t.Fatal(err)
		}
		if who, err := signIn(t, d); err != nil || !who.In {
			t.Errorf("off by %v: %+v, %v", off, who, err)
		}
		p.Twist(func(claims map[string]any) { claims["exp"] = time.Now().Add(-time.Hour).Unix() })
		if who, err := signIn(t, d); reason(err) != directory.Untrue {
			t.Errorf("expired, off by %v: %+v, %v", off, who, err)
		}
	}
}

func TestWhatAProviderDidNotSayIsNotBelieved(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for what, twist := range map[string]map[string]any{
		"another issuer":           {"iss": "https://elsewhere.example.com"},
		"another audience":         {"aud": "another"},
		"another party":            {"aud": []string{directorytest.ClientID, "another"}, "azp": "another"},
		"a token that has expired": {"exp": now.Add(-time.Hour).Unix()},
		"a token of the future":    {"nbf": now.Add(time.Hour).Unix()},
		"another nonce":            {"nonce": "another"},
		"no nonce":                 {"nonce": ""},
		"no subject":               {"sub": ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := directorytest.NewOIDC(t)
			d := parse(t, provided(p))
			p.SetUser(ann())
			if _, err := signIn(t, d); err != nil {
				t.Fatal(err)
			}
			p.Twist(func(claims map[string]any) { maps.Copy(claims, twist) })
			if who, err := signIn(t, d); reason(err) != directory.Untrue {
				t.Errorf("%+v, %v", who, err)
			}
		})
	}
	t.Run("another key", func(t *testing.T) {
		t.Parallel()
		p := directorytest.NewOIDC(t)
		p.SetUser(ann())
		p.Forge(true)
		if who, err := signIn(t, parse(t, provided(p))); reason(err) != directory.Untrue {
			t.Errorf("%+v, %v", who, err)
		}
	})
	t.Run("another secret", func(t *testing.T) {
		t.Parallel()
		p := directorytest.NewOIDC(t)
		p.SetUser(ann())
		if who, err := signIn(t, parse(t, strings.Replace(provided(p), "s3cret", "secret", 1))); reason(err) != directory.Untrue {
			t.Errorf("%+v, %v", who, err)
		}
	})
	t.Run("a name that cannot be one", func(t *testing.T) {
		t.Parallel()
		p := directorytest.NewOIDC(t)
		d := parse(t, provided(p))
		for _, name := range []string{"", "a\nb", "<b>", strings.Repeat("x", 51), "a\u202eb"} {
			user := ann()
			user["preferred_username"] = name
			p.SetUser(user)
			if who, err := signIn(t, d); reason(err) != directory.BadName {
				t.Errorf("%q: %+v, %v", name, who, err)
			}
		}
	})
}

func TestAnAnswerIsGoodForOneSignIn(t *testing.T) {
	t.Parallel()
	p := directorytest.NewOIDC(t)
	d := parse(t, provided(p))
	p.SetUser(ann())
	company, _ := d.Provider("company")
	begin := func() (directory.Flow, url.Values) {
		f, address, err := company.Begin(callback, "", false)
		if err != nil {
			t.Fatal(err)
		}
		return f, visit(t, address)
	}
	f, answer := begin()
	other, theirs := begin()
	for what, c := range map[string]struct {
		flow   directory.Flow
		answer url.Values
		want   directory.Reason
	}{
		"the state of another sign-in": {f, theirs, directory.Stale},
		"no sign-in":                   {directory.Flow{}, url.Values{"code": answer["code"]}, directory.Stale},
		"one of another provider":      {directory.Flow{Provider: "other", State: f.State, BegunAt: f.BegunAt}, answer, directory.Stale},
		"one that took too long":       {directory.Flow{Provider: "company", State: f.State, BegunAt: f.BegunAt - directory.FlowLife.Milliseconds() - 1}, answer, directory.Stale},
		// An answer that was planted in somebody's browser: the code of one sign-in with the state of another.
		"the code of another sign-in": {f, url.Values{"state": {f.State}, "code": theirs["code"]}, directory.Untrue},
		"no code":                     {f, url.Values{"state": {f.State}}, directory.Untrue},
	} {
		if who, err := company.Finish(t.Context(), c.flow, callback, c.answer); reason(err) != c.want {
			t.Errorf("%s: %+v, %v", what, who, err)
		}
	}
	if _, err := company.Finish(t.Context(), f, callback, answer); err != nil {
		t.Errorf("the right one: %v", err)
	}
	if _, err := company.Finish(t.Context(), f, callback, answer); reason(err) != directory.Untrue {
		t.Errorf("a second time: %v", err)
	}
	_ = other
}

func TestAProviderThatRefusesOrIsDown(t *testing.T) {
	t.Parallel()
	p := directorytest.NewOIDC(t)
	d := parse(t, provided(p))
	p.SetUser(nil)
	if _, err := signIn(t, d); reason(err) != directory.Denied {
		t.Errorf("revoked: %v", err)
	}
	p.SetUser(ann())
	company, _ := d.Provider("company")
	f, address, err := company.Begin(callback, "", false)
	if err != nil {
		t.Fatal(err)
	}
	answer := visit(t, address)
	p.Close()
	if _, err := company.Finish(t.Context(), f, callback, answer); reason(err) != directory.Down {
		t.Errorf("down at the end: %v", err)
	}
	again, _ := parse(t, provided(p)).Provider("company")
	if _, _, err := again.Begin(callback, "", false); reason(err) != directory.Down {
		t.Errorf("down at the beginning: %v", err)
	}
}

func TestUserInfoTellsMore(t *testing.T) {
	t.Parallel()
	p := directorytest.NewOIDC(t)
	d := parse(t, provided(p, "    user_info: true"))
	p.SetUser(map[string]any{"sub": "1", "preferred_username": "ann"})
	p.SetInfo(map[string]any{"groups": []string{"ops"}, "preferred_username": "root"})
	if who, err := signIn(t, d); err != nil || !who.In || who.Name != "ann" {
		t.Errorf("%+v, %v", who, err)
	}
	p.SetInfo(map[string]any{"groups": []string{"ops"}, "sub": "2"})
	if who, err := signIn(t, d); reason(err) != directory.Untrue {
		t.Errorf("of somebody else: %+v, %v", who, err)
	}
}
