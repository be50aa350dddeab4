package directorytest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-ldap/ldap/v3"

	"github.com/punctual-job/punctual/executor/executortest"
)

// LDAP is a slapd with a few people in it. Its administrator may change everything.
type LDAP struct {
	URL    string // ldap://…, where StartTLS is spoken too
	TLSURL string // ldaps://…
	CAFile string // that it is to be trusted with

	cmd  *exec.Cmd
	said executortest.Output
	done chan struct{}
}

// The names in the directory. Everybody's password is [Password].
const (
	AdminDN  = "cn=admin,dc=example,dc=com"
	Password = "correct horse battery"
)

// content are the people: ann and jonas, of whom jonas is in the groups ops and "night (watch)*", and one with odd characters.
const content = `dn: dc=example,dc=com
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: cn=punctual,dc=example,dc=com
objectClass: simpleSecurityObject
objectClass: organizationalRole
cn: punctual
userPassword: correct horse battery

dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: people

dn: ou=groups,dc=example,dc=com
objectClass: organizationalUnit
ou: groups

dn: uid=ann,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: ann
cn: Ann
sn: Ann
userPassword: correct horse battery

dn: uid=jonas,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: jonas
cn: Jonas
sn: Li
employeeType: contractor
userPassword: correct horse battery

dn: cn=Odd (one)*\, \5C,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: odd
cn: Odd (one)*, \
sn: Odd
userPassword: correct horse battery

dn: cn=ops,ou=groups,dc=example,dc=com
objectClass: groupOfNames
cn: ops
member: uid=jonas,ou=people,dc=example,dc=com

dn: cn=night,ou=groups,dc=example,dc=com
objectClass: groupOfNames
cn: night
member: cn=Odd (one)*\, \5C,ou=people,dc=example,dc=com
member: uid=jonas,ou=people,dc=example,dc=com
`

const missing = "slapd is not installed (apt-get install slapd gives it)"

// program is slapd, or "" where it is missing.
func program() string {
	if path, err := exec.LookPath("slapd"); err == nil {
		return path
	}
	if _, err := os.Stat("/usr/sbin/slapd"); err == nil {
		return "/usr/sbin/slapd"
	}
	return ""
}

// NewLDAP starts a slapd, gone when the test ends. Without the program the test is skipped, or fails where TEST_LDAP=required.
func NewLDAP(t testing.TB) *LDAP {
	t.Helper()
	slapd := program()
	if slapd == "" && os.Getenv("TEST_LDAP") == "required" {
		t.Fatal(missing)
	} else if slapd == "" {
		t.Skip(missing)
	}
	dir := t.TempDir()
	ca := executortest.NewCA(t)
	cert, key := ca.Issue(t, dir, "slapd")
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(dir, "slapd.conf")
	write(t, conf, strings.NewReplacer("{dir}", dir, "{ca}", ca.File, "{cert}", cert, "{key}", key, "{password}", Password).Replace(`
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
pidfile {dir}/pid
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCACertificateFile {ca}
TLSCertificateFile {cert}
TLSCertificateKeyFile {key}
database mdb
maxsize 16777216
suffix "dc=example,dc=com"
rootdn "cn=admin,dc=example,dc=com"
rootpw "{password}"
directory {dir}/data
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="cn=punctual,dc=example,dc=com" read by * none
`))
	ldif := filepath.Join(dir, "content.ldif")
	write(t, ldif, content)
	if out, err := exec.Command(slapd, "-T", "add", "-f", conf, "-l", ldif).CombinedOutput(); err != nil {
		t.Fatalf("slapadd: %v\n%s", err, out)
	}
	l := &LDAP{URL: "ldap://127.0.0.1:" + executortest.FreePort(t), TLSURL: "ldaps://127.0.0.1:" + executortest.FreePort(t), CAFile: ca.File, done: make(chan struct{})}
	l.cmd = exec.Command(slapd, "-d", "0", "-f", conf, "-h", l.URL+"/ "+l.TLSURL+"/")
	l.cmd.Stdout, l.cmd.Stderr = &l.said, &l.said
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = l.cmd.Wait()
		close(l.done)
	}()
	t.Cleanup(l.Stop)
	l.wait(t)
	return l
}

// wait waits until the server answers.
func (l *LDAP) wait(t testing.TB) {
	t.Helper()
	for range 300 {
		if conn, err := ldap.DialURL(l.URL); err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-l.done:
			t.Fatalf("slapd ended at once and said\n%s", l.said.String())
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatal("slapd does not answer")
}

// Stop ends the server.
func (l *LDAP) Stop() {
	_ = l.cmd.Process.Kill()
	<-l.done
}

// Modify changes the directory as its administrator.
func (l *LDAP) Modify(t testing.TB, do func(conn *ldap.Conn) error) {
	t.Helper()
	conn, err := ldap.DialURL(l.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Bind(AdminDN, Password); err != nil {
		t.Fatal(err)
	}
	if err := do(conn); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Crowd puts somebody into more groups of one name, each in a folder of its own, than the server tells at once.
func Crowd(t testing.TB, l *LDAP, name, member string) {
	t.Helper()
	l.Modify(t, func(conn *ldap.Conn) error {
		for i := range 501 {
			folder := fmt.Sprintf("ou=crowd %d,ou=groups,dc=example,dc=com", i)
			add := ldap.NewAddRequest(folder, nil)
			add.Attribute("objectClass", []string{"organizationalUnit"})
			if err := conn.Add(add); err != nil {
				return err
			}
			add = ldap.NewAddRequest("cn="+name+","+folder, nil)
			add.Attribute("objectClass", []string{"groupOfNames"})
			add.Attribute("member", []string{member})
			if err := conn.Add(add); err != nil {
				return err
			}
		}
		return nil
	})
}
