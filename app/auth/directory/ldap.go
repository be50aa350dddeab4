package directory

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-ldap/ldap/v3"

	"github.com/punctual-job/punctual/app/auth"
)

// LDAP is a directory that checks names and passwords.
type LDAP struct {
	cfg  LDAPConfig
	open func(ctx context.Context, network, address string) (net.Conn, error)
}

// NewLDAP makes a directory; it is asked at each sign-in.
func NewLDAP(cfg LDAPConfig) *LDAP { return &LDAP{cfg: cfg, open: new(net.Dialer).DialContext} }

// Name is the directory's in the file.
func (l *LDAP) Name() string { return l.cfg.Name }

// Recheck is how long after one another it is asked about those whom it let in.
func (l *LDAP) Recheck() time.Duration { return l.cfg.Recheck }

// errUnknown means that a directory knows nobody of a name.
var errUnknown = errors.New("the directory knows nobody of that name")

// Check says who has a name and a password. The error is [auth.ErrWrongLogin], or an [Error].
func (l *LDAP) Check(ctx context.Context, name, password string) (Identity, error) {
	who, err := l.check(ctx, name, password)
	if errors.Is(err, errUnknown) {
		err = auth.ErrWrongLogin
	}
	return who, err
}

func (l *LDAP) check(ctx context.Context, name, password string) (Identity, error) {
	name = strings.TrimSpace(name)
	// A directory takes an empty password for nobody in particular and says yes (RFC 4513, 5.1.2).
	if name == "" || password == "" || len(password) > auth.MaxPasswordBytes || utf8.RuneCountInString(name) > maxName || strings.ContainsRune(name, 0) {
		return Identity{}, auth.ErrWrongLogin
	}
	ctx, cancel := context.WithTimeout(ctx, finishTime)
	defer cancel()
	conn, err := l.dial(ctx)
	if err != nil {
		return Identity{}, l.down(err)
	}
	defer conn.Close()
	entry, err := l.find(conn, name)
	if err != nil {
		return Identity{}, err
	}
	if err := conn.Bind(entry.DN, password); ldap.IsErrorAnyOf(err, ldap.LDAPResultInvalidCredentials, ldap.LDAPResultNoSuchObject,
		ldap.LDAPResultInappropriateAuthentication, ldap.LDAPResultUnwillingToPerform, ldap.LDAPResultConstraintViolation) {
		return Identity{}, fmt.Errorf("%w: %w", auth.ErrWrongLogin, err) // wrong, locked or without a password
	} else if err != nil {
		return Identity{}, l.down(err)
	}
	groups, err := l.groups(conn, entry)
	if err != nil {
		return Identity{}, err
	}
	return l.identity(entry, groups)
}

func (l *LDAP) down(err error) error {
	return &Error{Reason: Down, Provider: l.cfg.Name, Err: err}
}

// dial connects to the first server that answers, and binds as who searches. Each gets its share of the time, so that one that takes the
// connection and says nothing leaves some for the next.
func (l *LDAP) dial(ctx context.Context) (*ldap.Conn, error) {
	var errs []error
	for i, server := range l.cfg.URL {
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(append(errs, err)...)
		}
		conn, err := l.connect(ctx, server, len(l.cfg.URL)-i)
		if err == nil {
			return conn, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", server, err))
	}
	return nil, errors.Join(errs...)
}

// connect connects to one of so many servers that are left.
func (l *LDAP) connect(ctx context.Context, server string, left int) (*ldap.Conn, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	conf, err := tlsTo(l.cfg.CAFile, u.Host)
	if err != nil {
		return nil, err
	}
	end, _ := ctx.Deadline()
	limited, cancel := context.WithTimeout(ctx, min(askTime, time.Until(end)/time.Duration(left)))
	defer cancel()
	port := ldap.DefaultLdapPort
	if u.Scheme == "ldaps" {
		port = ldap.DefaultLdapsPort
	}
	raw, err := l.open(limited, "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port)))
	if err != nil {
		return nil, err
	}
	// The library bounds the wait for an answer and nothing else: not the TLS that follows one.
	if until, ok := limited.Deadline(); ok {
		_ = raw.SetDeadline(until)
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	over := &bound{raw, stop}
	if u.Scheme == "ldaps" {
		secure := tls.Client(raw, conf)
		if err := secure.HandshakeContext(limited); err != nil {
			_ = over.Close()
			return nil, err
		}
		over.Conn = secure
	}
	conn := ldap.NewConn(over, u.Scheme == "ldaps")
	conn.Start()
	conn.SetTimeout(askTime)
	if l.cfg.StartTLS && u.Scheme == "ldap" {
		err = conn.StartTLS(conf)
	}
	if err == nil {
		err = l.bind(conn)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	_ = raw.SetDeadline(end)
	return conn, nil
}

// bound is a connection that is closed with a context, as long as it is open.
type bound struct {
	net.Conn
	unbind func() bool
}

// Close implements [net.Conn].
func (b *bound) Close() error {
	b.unbind()
	return b.Conn.Close()
}

// bind makes the connection that of who searches.
func (l *LDAP) bind(conn *ldap.Conn) error {
	if l.cfg.BindDN == "" {
		return conn.UnauthenticatedBind("")
	}
	return conn.Bind(l.cfg.BindDN, l.cfg.BindPassword)
}

// find is the entry of a name, if there is exactly one.
func (l *LDAP) find(conn *ldap.Conn, name string) (*ldap.Entry, error) {
	return l.search(conn, l.cfg.Users.Base, ldap.ScopeWholeSubtree, strings.ReplaceAll(l.cfg.Users.Filter, "{name}", ldap.EscapeFilter(name)))
}

// search is the entry that a filter finds, if it is exactly one.
func (l *LDAP) search(conn *ldap.Conn, base string, scope int, filter string) (*ldap.Entry, error) {
	attributes := []string{l.cfg.Users.Name, l.cfg.Users.ID}
	for _, r := range l.cfg.Rules {
		if r.Claim != "" && r.Claim != claimGroups {
			attributes = append(attributes, r.Claim)
		}
	}
	found, err := conn.Search(ldap.NewSearchRequest(base, scope, ldap.NeverDerefAliases, 2, int(askTime.Seconds()), false, filter, attributes, nil))
	switch {
	case ldap.IsErrorWithCode(err, ldap.LDAPResultSizeLimitExceeded), err == nil && len(found.Entries) > 1:
		return nil, fmt.Errorf("%w: the filter finds several people", auth.ErrWrongLogin)
	case err != nil:
		return nil, l.down(err)
	case len(found.Entries) == 0:
		return nil, errUnknown
	}
	return found.Entries[0], nil
}

const (
	claimGroups = "groups"
	// maxGroups bounds the groups of one person that rules name.
	maxGroups = 5000
)

// groups are the names of the groups of an entry that rules ask for, which who searches may see: people often may not. All of them would be
// more than servers answer with where somebody is in a thousand (slapd stops at 500, Active Directory at 1,000).
func (l *LDAP) groups(conn *ldap.Conn, entry *ldap.Entry) ([]string, error) {
	named, whichever := l.groupsAsked()
	if l.cfg.Groups.Base == "" || named == "" && !whichever {
		return nil, nil
	}
	if err := l.bind(conn); err != nil {
		return nil, l.down(err)
	}
	of := strings.NewReplacer("{dn}", ldap.EscapeFilter(entry.DN), "{name}", ldap.EscapeFilter(entry.GetEqualFoldAttributeValue(l.cfg.Users.Name))).Replace(l.cfg.Groups.Filter)
	names := make(map[string]bool)
	find := func(filter string, limit int) error {
		found, err := conn.Search(ldap.NewSearchRequest(l.cfg.Groups.Base, ldap.ScopeWholeSubtree, ldap.NeverDerefAliases, limit, int(askTime.Seconds()), false, filter, []string{l.cfg.Groups.Name}, nil))
		if err != nil && (limit != 1 || !ldap.IsErrorWithCode(err, ldap.LDAPResultSizeLimitExceeded)) {
			return l.down(err)
		}
		for _, g := range found.Entries {
			for _, name := range g.GetEqualFoldAttributeValues(l.cfg.Groups.Name) {
				names[name] = true
			}
		}
		return nil
	}
	var err error
	if named != "" {
		err = find("(&"+of+named+")", maxGroups)
	}
	if err == nil && whichever && len(names) == 0 {
		err = find(of, 1)
	}
	return slices.Sorted(maps.Keys(names)), err
}

// groupsAsked is a filter for the groups that rules name, empty if they name none; whichever says that a rule asks for any at all.
func (l *LDAP) groupsAsked() (named string, whichever bool) {
	var values Values
	for _, r := range l.cfg.Rules {
		if r.Claim == claimGroups {
			values = append(values, r.Value...)
		}
	}
	slices.Sort(values)
	for _, value := range slices.Compact(values) {
		if value == "*" {
			whichever = true
			continue
		}
		named += "(" + l.cfg.Groups.Name + "=" + ldap.EscapeFilter(value) + ")"
	}
	if named != "" {
		named = "(|" + named + ")"
	}
	return named, whichever
}

// asRules are the names of groups with those that rules write with other capitals: to a directory they are the same.
func (l *LDAP) asRules(groups []string) []string {
	all := slices.Clone(groups)
	for _, r := range l.cfg.Rules {
		for _, value := range r.Value {
			if r.Claim == claimGroups && slices.ContainsFunc(groups, func(name string) bool { return strings.EqualFold(name, value) }) {
				all = append(all, value)
			}
		}
	}
	return all
}

func (l *LDAP) identity(entry *ldap.Entry, groups []string) (Identity, error) {
	said := make(claims)
	for _, r := range l.cfg.Rules {
		said[r.Claim] = entry.GetEqualFoldAttributeValues(r.Claim) // the names of attributes have no case
	}
	said[claimGroups] = l.asRules(groups)
	id := idDN + strings.ToLower(entry.DN)
	if raw := entry.GetEqualFoldRawAttributeValue(l.cfg.Users.ID); len(raw) > 0 {
		id = idAttribute + hex.EncodeToString(raw)
	}
	who := Identity{Provider: l.cfg.Name, Key: keyOf("ldap", l.cfg.Name, id)}
	if len(id) <= maxID {
		who.ID = id
	}
	who.Grant, who.In = decide(l.cfg.Rules, said)
	var fine bool
	if who.Name, fine = cleanName(entry.GetEqualFoldAttributeValue(l.cfg.Users.Name)); !fine {
		return Identity{}, &Error{Reason: BadName, Provider: l.cfg.Name, Name: who.Name, Err: fmt.Errorf("attribute %s", l.cfg.Users.Name)}
	}
	return who, nil
}

// checkFilter says whether a filter of the file can be one.
func checkFilter(filter string) error {
	_, err := ldap.CompileFilter(strings.NewReplacer("{name}", "x", "{dn}", "x").Replace(filter))
	return err
}
