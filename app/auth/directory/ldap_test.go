package directory_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-ldap/ldap/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/app/auth/directory/directorytest"
	"github.com/punctual-job/punctual/executor/executortest"
)

// described is the file for a slapd.
func described(server string, more ...string) string {
	return strings.NewReplacer("SERVER", server, "PASSWORD", directorytest.Password).Replace(`
ldap:
  - name: office
    url: SERVER
    bind_dn: cn=punctual,dc=example,dc=com
    bind_password: PASSWORD
    users: {base: "ou=people,dc=example,dc=com", filter: "(|(uid={name})(cn={name}))"}
    groups: {base: "ou=groups,dc=example,dc=com"}
    rules:
      - {claim: groups, value: [ops, none], rights: {orders: [run]}}
      - {claim: groups, value: night, rights: {"*": [view]}}
      - {claim: employeeType, value: boss, role: admin}
` + strings.Join(more, "\n"))
}

func parse(t *testing.T, text string) *directory.Directories {
	t.Helper()
	cfg, err := directory.Parse([]byte(text), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d, err := directory.New(cfg, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func reason(err error) directory.Reason {
	fault, _ := errors.AsType[*directory.Error](err)
	if fault == nil {
		return ""
	}
	return fault.Reason
}

func TestADirectoryKnowsWhoSomebodyIs(t *testing.T) {
	t.Parallel()
	l := directorytest.NewLDAP(t)
	d := parse(t, described(l.URL, "    insecure: true"))
	ctx := t.Context()

	jonas, err := d.Check(ctx, " Jonas ", directorytest.Password)
	if err != nil {
		t.Fatal(err)
	}
	want := directory.Grant{Rights: map[string]auth.Rights{"orders": auth.RightRun, "*": auth.RightView}}
	if jonas.Name != "jonas" || jonas.Provider != "office" || len(jonas.Key) != 64 || !jonas.In || cmp.Diff(want, jonas.Grant) != "" {
		t.Errorf("jonas: %+v", jonas)
	}
	if odd, err := d.Check(ctx, `Odd (one)*, \`, directorytest.Password); err != nil || odd.Name != "odd" || odd.Grant.Rights["*"] != auth.RightView || odd.Key == jonas.Key {
		t.Errorf("somebody with odd characters: %+v, %v", odd, err)
	}
	if ann, err := d.Check(ctx, "ann", directorytest.Password); err != nil || ann.In {
		t.Errorf("somebody whom no rule names: %+v, %v", ann, err)
	}

	// Groups and attributes that change count at the next sign-in.
	l.Modify(t, func(conn *ldap.Conn) error {
		m := ldap.NewModifyRequest("uid=jonas,ou=people,dc=example,dc=com", nil)
		m.Replace("employeeType", []string{"boss"})
		if err := conn.Modify(m); err != nil {
			return err
		}
		return conn.Del(ldap.NewDelRequest("cn=ops,ou=groups,dc=example,dc=com", nil))
	})
	promoted, err := d.Check(ctx, "jonas", directorytest.Password)
	if err != nil || promoted.Key != jonas.Key || !promoted.Grant.Admin || promoted.Grant.Rights["orders"] != 0 {
		t.Errorf("after the change: %+v, %v", promoted, err)
	}

	// Who leaves and comes back under the same name is somebody else.
	l.Modify(t, func(conn *ldap.Conn) error {
		if err := conn.Del(ldap.NewDelRequest("uid=jonas,ou=people,dc=example,dc=com", nil)); err != nil {
			return err
		}
		if _, err := d.Check(ctx, "jonas", directorytest.Password); !errors.Is(err, auth.ErrWrongLogin) {
			t.Errorf("somebody who left: %v", err)
		}
		add := ldap.NewAddRequest("uid=jonas,ou=people,dc=example,dc=com", nil)
		for name, value := range map[string]string{"objectClass": "inetOrgPerson", "uid": "jonas", "cn": "Jonas", "sn": "Other", "userPassword": directorytest.Password} {
			add.Attribute(name, []string{value})
		}
		return conn.Add(add)
	})
	if other, err := d.Check(ctx, "jonas", directorytest.Password); err != nil || other.Key == jonas.Key {
		t.Errorf("the next one of the name: %+v, %v", other, err)
	}
}

// TestNamesOfAttributesHaveNoCase: a directory answers with the spelling of its schema, whatever the file has.
func TestNamesOfAttributesHaveNoCase(t *testing.T) {
	t.Parallel()
	l := directorytest.NewLDAP(t)
	l.Modify(t, func(conn *ldap.Conn) error {
		m := ldap.NewModifyRequest("uid=jonas,ou=people,dc=example,dc=com", nil)
		m.Replace("employeeType", []string{"boss"})
		return conn.Modify(m)
	})
	usual := described(l.URL, "    insecure: true")
	shouted := strings.NewReplacer(
		"employeeType", "EMPLOYEETYPE", `groups: {`, `groups: {name: CN, filter: "(&(member={dn})(!(cn={name})))", `, `users: {`, `users: {name: UID, id: ENTRYUUID, `).Replace(usual)
	want, err := parse(t, usual).Check(t.Context(), "jonas", directorytest.Password)
	if err != nil || !want.Grant.Admin || len(want.Grant.Rights) != 2 {
		t.Fatal(want, err)
	}
	got, err := parse(t, shouted).Check(t.Context(), "jonas", directorytest.Password)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestADirectoryLetsNobodyElseIn(t *testing.T) {
	t.Parallel()
	l := directorytest.NewLDAP(t)
	d := parse(t, described(l.URL, "    insecure: true"))
	for what, c := range map[string][2]string{
		"a wrong password":                    {"jonas", "wrong"},
		"an empty password":                   {"jonas", ""},
		"an empty name":                       {" ", directorytest.Password},
		"everybody":                           {"*", directorytest.Password},
		"a part of a name":                    {"jon*", directorytest.Password},
		"a filter that is closed":             {"jonas)(uid=*", directorytest.Password},
		"a filter that is always true":        {"*)(|(uid=*", directorytest.Password},
		"a filter with a NUL":                 {"jonas\x00", directorytest.Password},
		"a distinguished name":                {"uid=jonas,ou=people,dc=example,dc=com", directorytest.Password},
		"who searches, outside of the base":   {"punctual", directorytest.Password},
		"a very long name":                    {strings.Repeat("j", 10_000), directorytest.Password},
		"a name that nobody has":              {"nobody", directorytest.Password},
		"a password that is a part of theirs": {"jonas", "correct horse"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if who, err := d.Check(t.Context(), c[0], c[1]); !errors.Is(err, auth.ErrWrongLogin) {
				t.Errorf("%+v, %v", who, err)
			}
		})
	}
}

func TestADirectoryIsSpokenToSecretly(t *testing.T) {
	t.Parallel()
	l := directorytest.NewLDAP(t)
	trust := "    ca_file: " + l.CAFile
	for what, d := range map[string]*directory.Directories{
		"ldaps":    parse(t, described(l.TLSURL, trust)),
		"StartTLS": parse(t, described(l.URL, trust, "    start_tls: true")),
	} {
		if _, err := d.Check(t.Context(), "jonas", directorytest.Password); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	stranger := "    ca_file: " + executortest.NewCA(t).File
	for what, d := range map[string]*directory.Directories{
		"ldaps":    parse(t, described(l.TLSURL, stranger)),
		"StartTLS": parse(t, described(l.URL, stranger, "    start_tls: true")),
	} {
		if _, err := d.Check(t.Context(), "jonas", directorytest.Password); reason(err) != directory.Down {
			t.Errorf("%s with a certificate of somebody else: %v", what, err)
		}
	}
}

func TestADirectoryThatIsDown(t *testing.T) {
	t.Parallel()
	l := directorytest.NewLDAP(t)
	dead := "ldap://127.0.0.1:" + executortest.FreePort(t)
	if _, err := parse(t, described(dead, "    insecure: true")).Check(t.Context(), "jonas", directorytest.Password); reason(err) != directory.Down {
		t.Errorf("down: %v", err)
	}
	if _, err := parse(t, described("["+dead+", "+l.URL+"]", "    insecure: true")).Check(t.Context(), "jonas", directorytest.Password); err != nil {
		t.Errorf("one of two is down: %v", err)
	}
	wrong := strings.Replace(described(l.URL, "    insecure: true"), "bind_password: "+directorytest.Password, "bind_password: wrong", 1)
	if _, err := parse(t, wrong).Check(t.Context(), "jonas", directorytest.Password); reason(err) != directory.Down {
		t.Errorf("a wrong password of who searches is no fault of the person: %v", err)
	}
}
