package directory_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-ldap/ldap/v3"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/auth/directory/directorytest"
)

// TestSomebodyInManyGroupsSignsIn: servers answer a question with so many entries and no more (slapd 500, Active Directory 1,000).
func TestSomebodyInManyGroupsSignsIn(t *testing.T) {
	t.Parallel()
	l := directorytest.NewLDAP(t)
	l.Modify(t, func(conn *ldap.Conn) error {
		for i := range 1001 {
			add := ldap.NewAddRequest(fmt.Sprintf("cn=mass %d,ou=groups,dc=example,dc=com", i), nil)
			add.Attribute("objectClass", []string{"groupOfNames"})
			add.Attribute("member", []string{"uid=jonas,ou=people,dc=example,dc=com"})
			if err := conn.Add(add); err != nil {
				return err
			}
		}
		return nil
	})
	d := parse(t, described(l.URL, "    insecure: true"))
	jonas, err := d.Check(t.Context(), "jonas", directorytest.Password)
	if err != nil || !jonas.In || jonas.Grant.Rights["orders"] != auth.RightRun || jonas.Grant.Rights["*"] != auth.RightView {
		t.Errorf("jonas, who is in 1,003 groups: %+v, %v", jonas, err)
	}

	whoever := parse(t, described(l.URL, "      - {claim: groups, value: '*', rights: {stock: [view]}}", "    insecure: true"))
	for _, name := range []string{"jonas", "odd"} {
		if got, err := whoever.Check(t.Context(), name, directorytest.Password); err != nil || got.Grant.Rights["stock"] != auth.RightView || got.Grant.Rights["*"] != auth.RightView {
			t.Errorf("%s, who is in some group: %+v, %v", name, got, err)
		}
	}
	if ann, err := whoever.Check(t.Context(), "ann", directorytest.Password); err != nil || ann.In {
		t.Errorf("ann, who is in none: %+v, %v", ann, err)
	}
}

// TestNamesOfGroupsHaveNoCase: to a directory Ops and ops are one group, whatever a rule writes.
func TestNamesOfGroupsHaveNoCase(t *testing.T) {
	t.Parallel()
	l := directorytest.NewLDAP(t)
	text := strings.NewReplacer("value: [ops, none]", "value: [OPS, none]", "value: night", "value: Night").Replace(described(l.URL, "    insecure: true"))
	jonas, err := parse(t, text).Check(t.Context(), "jonas", directorytest.Password)
	if err != nil || !jonas.In || jonas.Grant.Rights["orders"] != auth.RightRun || jonas.Grant.Rights["*"] != auth.RightView {
		t.Errorf("%+v, %v", jonas, err)
	}
}
