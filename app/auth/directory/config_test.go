package directory_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/auth/directory"
)

func TestTheFileIsJudged(t *testing.T) {
	t.Parallel()
	const rules = "\n    rules: [{claim: groups, value: ops}]"
	const oidc = "oidc:\n  - name: company\n    issuer: https://a.example.com\n    client_id: x"
	const ldap = "ldap:\n  - name: office\n    url: ldaps://a\n    users: {base: dc=a}"
	for what, c := range map[string]struct{ text, want string }{
		"a word that is misspelt":             {oidc + "\n    rule: []" + rules, "field rule not found"},
		"no rules":                            {oidc, "rules are missing"},
		"everybody an administrator":          {oidc + "\n    rules: [{role: admin}]", "everybody would be an administrator"},
		"a rule without a value":              {oidc + "\n    rules: [{claim: groups}]", "value is missing"},
		"a rule without a claim":              {oidc + "\n    rules: [{value: ops}]", "no claim"},
		"a right that there is not":           {oidc + "\n    rules: [{rights: {orders: [write]}}]", `no right "write"`},
		"a role that there is not":            {oidc + "\n    rules: [{role: root}]", `role "root"`},
		"an issuer without TLS":               {strings.Replace(oidc, "https", "http", 1) + rules, "insecure: true"},
		"a directory without TLS":             {strings.Replace(ldap, "ldaps", "ldap", 1) + rules, "in the clear"},
		"a binding without a password":        {ldap + "\n    bind_dn: cn=x" + rules, "bind_password"},
		"a filter without a name":             {strings.Replace(ldap, "dc=a}", "dc=a, filter: (uid=x)}", 1) + rules, "{name}"},
		"a filter that is none":               {strings.Replace(ldap, "dc=a}", `dc=a, filter: "(uid={name}"}`, 1) + rules, "filter"},
		"two of a name":                       {oidc + rules + "\n" + strings.Replace(ldap, "office", "company", 1) + rules, "twice"},
		"a name for no address":               {strings.Replace(oidc, "company", "Our Company", 1) + rules, "small letters"},
		"nobody but break-glass":              {"passwords: break-glass", "needs a provider"},
		"passwords for some":                  {"passwords: some\n" + oidc + rules, `"some"`},
		"a secret that is not there":          {oidc + "\n    client_secret_file: nowhere" + rules, "client_secret_file"},
		"a secret twice":                      {oidc + "\n    client_secret: x\n    client_secret_file: secret" + rules, "choose one"},
		"an authority that is not there":      {oidc + "\n    ca_file: nowhere" + rules, "ca_file"},
		"an authority that is something else": {oidc + "\n    ca_file: secret" + rules, "no certificate"},
		"nothing":                             {"", ""},
		"both":                                {"passwords: break-glass\n" + oidc + "\n    client_secret_file: secret" + rules + "\n" + ldap + rules, ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("top\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			cfg, err := directory.Parse([]byte(c.text), dir)
			if c.want == "" {
				if err != nil {
					t.Errorf("%v", err)
				} else if len(cfg.OIDC) > 0 && cfg.OIDC[0].ClientSecret != "top" {
					t.Errorf("the secret is %q", cfg.OIDC[0].ClientSecret)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
