package directory

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/punctual-job/punctual/executor/guard"
)

// Who may sign in with a password that is kept here.
const (
	PasswordsEverybody  = "everybody"
	PasswordsBreakGlass = "break-glass" // administrators who are marked, for the day when the directory is down
)

// Config is what the file says.
type Config struct {
	Passwords string       `yaml:"passwords"` // PasswordsEverybody, the default, or PasswordsBreakGlass
	OIDC      []OIDCConfig `yaml:"oidc"`
	LDAP      []LDAPConfig `yaml:"ldap"`
}

// OIDCConfig is one OpenID Connect provider.
type OIDCConfig struct {
	Name             string   `yaml:"name"`  // in addresses and in the list of users; never changes
	Label            string   `yaml:"label"` // on the button; default the name
	Issuer           string   `yaml:"issuer"`
	ClientID         string   `yaml:"client_id"`
	ClientSecret     string   `yaml:"client_secret"`
	ClientSecretFile string   `yaml:"client_secret_file"`
	Scopes           []string `yaml:"scopes"`     // beside openid; default profile and email
	NameClaim        string   `yaml:"name_claim"` // default preferred_username
	UserInfo         bool     `yaml:"user_info"`  // ask the UserInfo endpoint for more claims
	// SecondFactor says by what an ID token shows that the provider asked for one; nil: each of its sign-ins counts so.
	SecondFactor *SecondFactor `yaml:"second_factor"`
	CAFile       string        `yaml:"ca_file"`
	Insecure     bool          `yaml:"insecure"` // http instead of https
	Rules        []Rule        `yaml:"rules"`
}

// SecondFactor are values of an ID token that stand for a second factor; one of them all is enough.
type SecondFactor struct {
	AMR Values `yaml:"amr"` // of how somebody was recognised: mfa, otp, hwk …
	ACR Values `yaml:"acr"` // of what level that is; the provider is asked for them too
}

// shownIn says whether an ID token tells of a second factor.
func (s *SecondFactor) shownIn(c claims) bool {
	return s == nil || Rule{Claim: "amr", Value: s.AMR}.holds(c) || Rule{Claim: "acr", Value: s.ACR}.holds(c)
}

func (s *SecondFactor) check() error {
	if s == nil {
		return nil
	}
	values := slices.Concat(s.AMR, s.ACR)
	if len(values) == 0 || slices.Contains(values, "") || slices.Contains(values, "*") {
		return errors.New("second_factor: name values of amr, of acr or of both")
	}
	return nil
}

// LDAPConfig is one LDAP directory or Active Directory.
type LDAPConfig struct {
	Name             string     `yaml:"name"`
	URL              Values     `yaml:"url"` // of one server or of several, which are tried in turn
	StartTLS         bool       `yaml:"start_tls"`
	CAFile           string     `yaml:"ca_file"`
	Insecure         bool       `yaml:"insecure"` // no TLS: passwords cross the network in the clear
	BindDN           string     `yaml:"bind_dn"`  // who searches; empty: anybody
	BindPassword     string     `yaml:"bind_password"`
	BindPasswordFile string     `yaml:"bind_password_file"`
	Users            LDAPUsers  `yaml:"users"`
	Groups           LDAPGroups `yaml:"groups"`
	// Recheck is how long after one another the directory is asked about those whom it let in; default [defaultRecheck].
	Recheck time.Duration `yaml:"recheck"`
	Rules   []Rule        `yaml:"rules"`
}

const (
	defaultRecheck = 15 * time.Minute
	minRecheck     = time.Minute
	maxRecheck     = 24 * time.Hour
)

// LDAPUsers says how people are found.
type LDAPUsers struct {
	Base   string `yaml:"base"`
	Filter string `yaml:"filter"` // {name} is what was typed; default (uid={name})
	Name   string `yaml:"name"`   // the attribute that is their name here; default uid
	ID     string `yaml:"id"`     // the attribute that never changes; default entryUUID
}

// LDAPGroups says how the groups of a person are found; without a base there are none.
type LDAPGroups struct {
	Base   string `yaml:"base"`
	Filter string `yaml:"filter"` // {dn} and {name} are the person's; default (member={dn})
	Name   string `yaml:"name"`   // the attribute that names a group in rules; default cn
}

// Values is one text or a list of texts.
type Values []string

// UnmarshalYAML reads either.
func (v *Values) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*v = Values{n.Value}
		return nil
	}
	return n.Decode((*[]string)(v))
}

// Configured says whether anybody is asked at all.
func (c Config) Configured() bool { return len(c.OIDC)+len(c.LDAP) > 0 }

// Read reads the file and the secrets it points to, and judges it. A relative name in it is beside the file.
func Read(file string) (Config, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return Config{}, err
	}
	c, err := Parse(raw, filepath.Dir(file))
	if err != nil {
		return Config{}, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

// Parse is Read for a text; relative names of files are in dir.
func Parse(raw []byte, dir string) (Config, error) {
	var c Config
	decoder := yaml.NewDecoder(bytes.NewReader(raw))
	decoder.KnownFields(true) // a word that is misspelt must not let the wrong people in
	if err := decoder.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return Config{}, err
	}
	c.Passwords = cmp.Or(c.Passwords, PasswordsEverybody)
	if c.Passwords != PasswordsEverybody && c.Passwords != PasswordsBreakGlass {
		return Config{}, fmt.Errorf("passwords: %q must be %s or %s", c.Passwords, PasswordsEverybody, PasswordsBreakGlass)
	}
	if c.Passwords == PasswordsBreakGlass && !c.Configured() {
		return Config{}, fmt.Errorf("passwords: %s needs a provider or a directory, or nobody else could sign in", PasswordsBreakGlass)
	}
	var names []string
	for i := range c.OIDC {
		if err := c.OIDC[i].complete(dir); err != nil {
			return Config{}, fmt.Errorf("oidc %q: %w", c.OIDC[i].Name, err)
		}
		names = append(names, c.OIDC[i].Name)
	}
	for i := range c.LDAP {
		if err := c.LDAP[i].complete(dir); err != nil {
			return Config{}, fmt.Errorf("ldap %q: %w", c.LDAP[i].Name, err)
		}
		names = append(names, c.LDAP[i].Name)
	}
	slices.Sort(names)
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] {
			return Config{}, fmt.Errorf("the name %q is there twice", names[i])
		}
	}
	return c, nil
}

var nameRule = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

func checkName(name string) error {
	if !nameRule.MatchString(name) {
		return errors.New("name must be 1 to 32 small letters, digits and hyphens, beginning with a letter")
	}
	return nil
}

func (o *OIDCConfig) complete(dir string) (err error) {
	o.Label = cmp.Or(o.Label, o.Name)
	o.NameClaim = cmp.Or(o.NameClaim, "preferred_username")
	if o.Scopes == nil {
		o.Scopes = []string{"profile", "email"}
	}
	if err := checkName(o.Name); err != nil {
		return err
	}
	if o.ClientSecret, err = guard.Secret(o.ClientSecret, inDir(dir, o.ClientSecretFile)); err != nil {
		return fmt.Errorf("client_secret_file: %w", err)
	}
	u, err := url.Parse(o.Issuer)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("issuer: %q must begin with https://", o.Issuer)
	case u.Scheme == "http" && !o.Insecure:
		return errors.New("issuer: http lets anybody on the way choose who signs in; use https, or say insecure: true")
	case o.ClientID == "":
		return errors.New("client_id is missing")
	}
	if o.CAFile = inDir(dir, o.CAFile); o.CAFile != "" {
		if _, err := authorities(o.CAFile); err != nil {
			return fmt.Errorf("ca_file: %w", err)
		}
	}
	if err := o.SecondFactor.check(); err != nil {
		return err
	}
	return checkRules(o.Rules)
}

func (l *LDAPConfig) complete(dir string) (err error) {
	l.Users.Filter = cmp.Or(l.Users.Filter, "(uid={name})")
	l.Users.Name = cmp.Or(l.Users.Name, "uid")
	l.Users.ID = cmp.Or(l.Users.ID, "entryUUID")
	l.Groups.Filter = cmp.Or(l.Groups.Filter, "(member={dn})")
	l.Groups.Name = cmp.Or(l.Groups.Name, "cn")
	l.Recheck = cmp.Or(l.Recheck, defaultRecheck)
	if err := checkName(l.Name); err != nil {
		return err
	}
	if l.BindPassword, err = guard.Secret(l.BindPassword, inDir(dir, l.BindPasswordFile)); err != nil {
		return fmt.Errorf("bind_password_file: %w", err)
	}
	if len(l.URL) == 0 {
		return errors.New("url is missing")
	}
	for _, text := range l.URL {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "ldap" && u.Scheme != "ldaps" {
			return fmt.Errorf("url: %q must begin with ldaps:// or ldap://", text)
		}
		if u.Scheme == "ldap" && !l.StartTLS && !l.Insecure {
			return fmt.Errorf("url: passwords would reach %s in the clear; use ldaps://, say start_tls: true, or insecure: true", u.Host)
		}
	}
	switch {
	case l.BindDN != "" && l.BindPassword == "":
		return errors.New("bind_password or bind_password_file is missing: without one the directory takes bind_dn for nobody")
	case l.Recheck < minRecheck || l.Recheck > maxRecheck:
		return fmt.Errorf("recheck: %s must be between %s and %s", l.Recheck, minRecheck, maxRecheck)
	case l.Users.Base == "":
		return errors.New("users: base is missing")
	case !strings.Contains(l.Users.Filter, "{name}"):
		return errors.New("users: filter must contain {name}")
	}
	for what, filter := range map[string]string{"users": l.Users.Filter, "groups": l.Groups.Filter} {
		if err := checkFilter(filter); err != nil {
			return fmt.Errorf("%s: filter: %w", what, err)
		}
	}
	if l.CAFile = inDir(dir, l.CAFile); l.CAFile != "" {
		if _, err := authorities(l.CAFile); err != nil {
			return fmt.Errorf("ca_file: %w", err)
		}
	}
	return checkRules(l.Rules)
}

func inDir(dir, name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// authorities reads certificates that are trusted beside the machine's.
func authorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate (PEM)", file)
	}
	return pool, nil
}

// tlsTo is how a host is spoken to.
func tlsTo(caFile, host string) (*tls.Config, error) {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if caFile == "" {
		return c, nil
	}
	var err error
	c.RootCAs, err = authorities(caFile)
	return c, err
}
