package directory

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/go-ldap/ldap/v3"

	"github.com/punctual-job/punctual/app/auth"
)

// How an [Identity.ID] begins: the value of the attribute that never changes, in hexadecimals, or the name of the entry.
const (
	idAttribute = "id:"
	idDN        = "dn:"
	// maxID is what the column holds.
	maxID = 500
	// againTime bounds a round of questions about everybody.
	againTime = 10 * time.Minute
)

// Known is somebody whom a directory has let in before.
type Known struct {
	ID   string // [Identity.ID]; empty if it was not kept, which leaves the name
	Key  string // [Identity.Key]
	Name string // [Identity.Name]
}

// Standing is what a directory says of somebody whom it has let in before.
type Standing struct {
	Identity      // as at a sign-in, if they are there
	There    bool // the directory knows them still
	// Fault says why nothing could be told of them, while of others it could: they stay what they are.
	Fault error
}

// Again asks the directory about people whom it has let in before, without their passwords. The answers are in their order. An error says
// that it could not be asked at all; what it answers about one of them alone, such as that they are in too many groups, is their Fault.
func (l *LDAP) Again(ctx context.Context, people []Known) ([]Standing, error) {
	ctx, cancel := context.WithTimeout(ctx, againTime)
	defer cancel()
	conn, err := l.dial(ctx)
	if err != nil {
		return nil, l.down(err)
	}
	defer conn.Close()
	list := make([]Standing, len(people))
	for i, known := range people {
		said, err := l.again(conn, known)
		if err != nil && (conn.IsClosing() || ctx.Err() != nil || !answered(err)) {
			return nil, err
		}
		list[i], list[i].Fault = said, err
	}
	return list, nil
}

// answered says whether an error is what the directory said, and not that it said nothing.
func answered(err error) bool {
	said, ok := errors.AsType[*ldap.Error](err)
	return ok && said.ResultCode < ldap.ErrorNetwork && said.ResultCode != ldap.LDAPResultBusy && said.ResultCode != ldap.LDAPResultUnavailable
}

func (l *LDAP) again(conn *ldap.Conn, known Known) (Standing, error) {
	entry, err := l.findAgain(conn, known)
	switch {
	case errors.Is(err, errUnknown), errors.Is(err, auth.ErrWrongLogin): // nobody, or several
		return Standing{}, nil
	case err != nil:
		return Standing{}, err
	}
	groups, err := l.groups(conn, entry)
	if err != nil {
		return Standing{}, err
	}
	who, err := l.identity(entry, groups)
	if fault, ok := errors.AsType[*Error](err); ok && fault.Reason == BadName {
		return Standing{Identity: Identity{Provider: l.cfg.Name, Key: known.Key, ID: known.ID, Name: known.Name}, There: true}, nil // and is not let in
	}
	if who.Key != known.Key {
		return Standing{}, nil
	}
	return Standing{Identity: who, There: true}, nil
}

// findAgain is the entry of somebody, if they would still be found at a sign-in.
func (l *LDAP) findAgain(conn *ldap.Conn, known Known) (*ldap.Entry, error) {
	people := strings.ReplaceAll(l.cfg.Users.Filter, "{name}", "*")
	if checkFilter(people) != nil {
		people = "(objectClass=*)"
	}
	if dn, ok := strings.CutPrefix(known.ID, idDN); ok {
		entry, err := l.search(conn, dn, ldap.ScopeBaseObject, people)
		if ldap.IsErrorWithCode(err, ldap.LDAPResultNoSuchObject) {
			err = errUnknown
		}
		return entry, err
	}
	one := "(" + l.cfg.Users.Name + "=" + ldap.EscapeFilter(known.Name) + ")"
	if id, ok := strings.CutPrefix(known.ID, idAttribute); ok {
		raw, err := hex.DecodeString(id)
		if err != nil {
			return nil, errUnknown
		}
		one = "(" + l.cfg.Users.ID + "=" + ldap.EscapeFilter(string(raw)) + ")"
	}
	return l.search(conn, l.cfg.Users.Base, ldap.ScopeWholeSubtree, "(&"+people+one+")")
}
