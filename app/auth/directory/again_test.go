package directory_test

import (
	"strings"
	"testing"

	"github.com/go-ldap/ldap/v3"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/app/auth/directory/directorytest"
)

// searching is the file for a slapd whose people are found by a filter.
func searching(l *directorytest.LDAP, filter, id string) string {
	text := described(l.URL, "    insecure: true")
	before, after, _ := strings.Cut(text, "    users: ")
	_, after, _ = strings.Cut(after, "\n")
	return before + `    users: {base: "ou=people,dc=example,dc=com", filter: "` + filter + `", id: ` + id + "}\n" + after
}

// TestADirectoryIsAskedAgain: by what never changes, by the name of the entry where nothing does, and by the name of whom nothing else is known.
func TestADirectoryIsAskedAgain(t *testing.T) {
	t.Parallel()
	l := directorytest.NewLDAP(t)
	ctx := t.Context()
	for what, id := range map[string]string{"an attribute": "entryUUID", "no attribute": "employeeNumber"} {
		d := parse(t, searching(l, "(cn={name})", id))
		jonas, err := d.Check(ctx, "Jonas", directorytest.Password)
		if err != nil {
			t.Fatal(err)
		}
		odd, err := d.Check(ctx, `Odd (one)*, \`, directorytest.Password)
		if err != nil {
			t.Fatal(err)
		}
		said, err := d.LDAP()[0].Again(ctx, []directory.Known{
			{ID: jonas.ID, Key: jonas.Key, Name: "was called"}, {ID: odd.ID, Key: odd.Key, Name: "odd"}, // names do not count
			{Key: odd.Key, Name: "odd"}, {Key: odd.Key, Name: "jonas"}, {Key: odd.Key, Name: "nobody"},
			{ID: "id:00", Key: odd.Key}, {ID: "dn:uid=nobody,ou=people,dc=example,dc=com", Key: odd.Key}, {ID: jonas.ID, Key: odd.Key},
		})
		if err != nil {
			t.Fatal(err)
		}
		if said[0].Identity.Name != "jonas" || !said[0].There || !said[0].In || said[0].Grant.Rights["orders"] != auth.RightRun || said[0].ID != jonas.ID {
			t.Errorf("%s: jonas: %+v", what, said[0])
		}
		for i := 1; i <= 2; i++ {
			if !said[i].There || !said[i].In || said[i].Key != odd.Key || said[i].ID != odd.ID {
				t.Errorf("%s: the odd one, %d: %+v", what, i, said[i])
			}
		}
		for i := 3; i < len(said); i++ {
			if said[i].There || said[i].In {
				t.Errorf("%s: nobody, %d: %+v", what, i, said[i])
			}
		}
	}

	// Whoever the filter does not find any more has left, as at a sign-in; so has whose name cannot be one here.
	d := parse(t, searching(l, "(&(uid={name})(!(employeeType=gone)))", "entryUUID"))
	jonas, err := d.Check(ctx, "jonas", directorytest.Password)
	if err != nil {
		t.Fatal(err)
	}
	for attribute, there := range map[string]bool{"employeeType": false, "uid": true} {
		value := map[string][]string{"employeeType": {"gone"}, "uid": {"<b>"}}[attribute]
		l.Modify(t, func(conn *ldap.Conn) error {
			m := ldap.NewModifyRequest("cn=jonas2,ou=people,dc=example,dc=com", nil)
			m.Replace(attribute, value)
			if attribute == "uid" {
				m.Replace("employeeType", []string{"contractor"})
			}
			if err := conn.ModifyDN(ldap.NewModifyDNRequest("uid=jonas,ou=people,dc=example,dc=com", "cn=jonas2", false, "")); err != nil && !ldap.IsErrorWithCode(err, ldap.LDAPResultNoSuchObject) {
				return err
			}
			return conn.Modify(m)
		})
		said, err := d.LDAP()[0].Again(ctx, []directory.Known{{ID: jonas.ID, Key: jonas.Key, Name: "jonas"}})
		if err != nil || said[0].There != there || said[0].In {
			t.Errorf("%s: %+v, %v", attribute, said, err)
		}
	}
	l.Stop()
	if said, err := d.LDAP()[0].Again(ctx, []directory.Known{{ID: jonas.ID, Key: jonas.Key}}); said != nil || reason(err) != directory.Down {
		t.Errorf("a directory that is down: %+v, %v", said, err)
	}
}

// TestOneOfWhomNothingCanBeToldKeepsNobody of the others from being asked about.
func TestOneOfWhomNothingCanBeToldKeepsNobody(t *testing.T) {
	t.Parallel()
	l := directorytest.NewLDAP(t)
	d := parse(t, described(l.URL, "    insecure: true"))
	var people []directory.Known
	for _, name := range []string{"jonas", `Odd (one)*, \`} {
		who, err := d.Check(t.Context(), name, directorytest.Password)
		if err != nil {
			t.Fatal(err)
		}
		people = append(people, directory.Known{ID: who.ID, Key: who.Key, Name: who.Name})
	}
	directorytest.Crowd(t, l, "ops", "uid=jonas,ou=people,dc=example,dc=com")
	said, err := d.LDAP()[0].Again(t.Context(), people)
	if err != nil || said[0].Fault == nil || said[0].In || said[1].Fault != nil || !said[1].In {
		t.Errorf("%v: %+v", err, said)
	}
}
