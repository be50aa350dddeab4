package manage

import (
	"net/netip"
	"testing"

	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

func TestTheRuleForExecutorAddresses(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.SQLite)
	own := func(at netip.AddrPort) bool { return at.String() == "127.0.0.1:8080" || at.String() == "127.0.0.1:443" }
	usual := NewAddressRule(setup(t, pool, nil).Settings, own, nil)
	strict := NewAddressRule(fixed(t, pool, SettingDeny, "10.1.0.0/16, .internal, db:3306"), own, nil)
	for _, tt := range []struct {
		address string
		rule    AddressRule
		refused bool
	}{
		{"http://10.0.0.1:9999/", usual, false},
		{"http://127.0.0.1:9999/", usual, false},
		{"http://127.0.0.1:8080/", usual, true},
		{"http://[::ffff:127.0.0.1]:8080/", usual, true},
		{"https://127.0.0.1/", usual, true},
		{"http://127.0.0.1/", usual, false},
		{"http://169.254.169.254/", usual, true},
		{"http://[::ffff:169.254.169.254]:80/", usual, true},
		{"http://[fe80::1]:9999/", usual, true},
		{"https://executor.example:9999/", usual, false},
		{"http://10.1.2.3:9999/", strict, true},
		{"http://10.2.2.3:9999/", strict, false},
		{"http://a.internal/", strict, true},
		{"http://db:3306/", strict, true},
		{"http://db:9999/", strict, false},
		{"http://127.0.0.1:8080/", strict, true},
	} {
		if got := tt.rule.Refuses(tt.address); got != tt.refused {
			t.Errorf("%s: refused %v", tt.address, got)
		}
	}
	if usual.Dial("[fe80::1%eth0]:9999") == nil || usual.Dial("169.254.169.254:80") == nil || usual.Dial("10.0.0.1:80") != nil {
		t.Error("what is dialled is judged otherwise than what is stored")
	}
}

func TestDeniedAddressesAreNeitherTypedNorChosen(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t, db.SQLite)
	b := setup(t, pool, func(c *Config) { c.Settings = fixed(t, pool, SettingAllow, "*") })
	denied := func(what string, err error) {
		t.Helper()
		if got := saidKey(err); got != "group.error.denied" {
			t.Errorf("%s: %q (%v)", what, got, err)
		}
	}
	_, err := b.Groups.Create(t.Context(), b.admin, GroupInput{AppName: "metadata", Title: "x", Manual: true, Addresses: "169.254.169.254:80"})
	denied("typed", err)
	id := b.create(t, nil)
	run := func(address string) error {
		_, err := b.Jobs.Trigger(t.Context(), b.user, id, RunInput{Addresses: address, Type: jobspec.TriggerManual})
		return err
	}
	denied("chosen", run("http://169.254.169.254/"))

	// Where an executor was, somebody else may be now.
	auto, err := b.Groups.Create(t.Context(), b.admin, GroupInput{AppName: "auto", Title: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pool.ExecContext(t.Context(), "UPDATE xxl_job_group SET address_list = 'http://10.0.0.8:9999/' WHERE id = ?", auto); err != nil {
		t.Fatal(err)
	}
	b.engine.live = []scheduler.AddressState{{Address: "http://10.0.0.7:9999/", Live: true}, {Address: "http://10.0.0.9:9999/", Gone: true}}
	strict := New(Config{Pool: b.pool, Engine: b.engine}).Jobs // without a rule that allows anything
	for address, ok := range map[string]bool{"10.0.0.7:9999": true, "10.0.0.8:9999": false, "10.0.0.9:9999": false} {
		_, err := strict.chosen(t.Context(), auto, address)
		if (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
		if p := problem.From(err); !ok && err != nil && p.Fields[0].Key != "job.error.address_not_allowed" {
			t.Errorf("%s: %v", address, p.Fields)
		}
	}
}

func TestWhatIsStoredCanBeReadAgain(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a%25:1", "http://a%25b:1/", "http://[fe80::1%25eth0]:1/", "http://a%41:1/"} {
		if got, err := NormalAddress(text); err == nil {
			t.Errorf("%s is stored as %s", text, got)
		}
	}
}

func FuzzNormalAddressIsNormal(f *testing.F) {
	for _, seed := range []string{"a%25:1", "http://10.0.0.1:9999", "HTTPS://Host/%20x/", "http://[::1]:1/a", "a_b:2", "http://a/%2f%00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once, err := NormalAddress(text)
		if err != nil || len(once) > 240 {
			return
		}
		if twice, err := NormalAddress(once); err != nil || twice != once {
			t.Errorf("%q is stored as %q, which is read as %q, %v", text, once, twice, err)
		}
	})
}
