package manage

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/auth/directory"
	"github.com/punctual-job/punctual/db"
)

// What strangers do may come a thousand times a second, and must not fill the audit log. Of what is alike one entry is written at
// once; what follows in floodWindow is counted and written as one more. Of different things at most floodKinds are told apart, and
// the rest is counted together, so that there are never more than 2 (floodKinds + 1) entries in a window.
const (
	floodWindow = 10 * time.Minute
	floodKinds  = 100
)

// flood counts entries that are alike.
type flood struct {
	mu    sync.Mutex
	alike map[floodKey]*floodCount
}

// floodKey is what makes entries alike.
type floodKey struct {
	action  Action
	kind    string
	id      int64
	name    string
	user    int64
	typed   string
	address string
	reason  any
}

type floodCount struct {
	since time.Time
	more  int // after the one that was written
	p     auth.Principal
	entry Entry
}

func newFlood() *flood { return &flood{alike: make(map[floodKey]*floodCount)} }

// take says whether an entry is to be written now. It is one of many if it stands for all that cannot be told apart any more.
func (f *flood) take(p auth.Principal, e Entry, now time.Time) (auth.Principal, Entry, bool) {
	key := floodKey{e.Action, e.Kind, e.ID, e.Name, p.UserID, p.Name, p.Address, e.After["reason"]}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.alike[key] == nil && len(f.alike) >= floodKinds {
		p, e = auth.Principal{}, Entry{Action: e.Action, Kind: e.Kind}
		key = floodKey{action: e.Action, kind: e.Kind}
	}
	if c := f.alike[key]; c != nil {
		c.more++
		return p, e, false
	}
	f.alike[key] = &floodCount{since: now, p: p, entry: e}
	return p, e, true
}

// due takes out what was counted and is not to be counted any longer, what began first first.
func (f *flood) due(now time.Time, all bool) []floodCount {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []floodCount
	for key, c := range f.alike {
		if all || now.Sub(c.since) >= floodWindow {
			delete(f.alike, key)
			if c.more > 0 {
				list = append(list, *c)
			}
		}
	}
	slices.SortFunc(list, func(x, y floodCount) int { return x.since.Compare(y.since) })
	return list
}

// counted writes an entry about something that may come very often.
func (a *Audit) counted(ctx context.Context, p auth.Principal, e Entry) {
	p.Name, p.Address, e.Name = plainText(p.Name, 64), plainText(p.Address, 64), plainText(e.Name, 255)
	p, e, now := a.flood.take(p, e, a.now())
	if now {
		a.Note(ctx, p, e)
	}
}

// FlushCounted writes how often what was written came again. all does not wait for the end of the time in which it is counted.
func (a *Audit) FlushCounted(ctx context.Context, all bool) {
	for _, c := range a.flood.due(a.now(), all) {
		after := Snapshot{"times": c.more}
		maps.Copy(after, c.entry.After)
		c.entry.After = after
		a.Note(ctx, c.p, c.entry)
	}
}

// refusals are why somebody is not let in, the finer ones first. Reasons are words of the audit log.
var refusals = []struct {
	err    error
	reason string
}{
	{auth.ErrWrongPasskey, "passkey"},
	{auth.ErrWrongRecovery, "recovery"},
	{auth.ErrWrongCode, "code"},
	{auth.ErrFactorSealed, "sealed"},
	{auth.ErrTooManyLogins, "toomany"},
	{auth.ErrDisabled, "disabled"},
	{auth.ErrPasswordClosed, "closed"},
	{auth.ErrStepDue, "step"},
	{auth.ErrWrongLogin, "wrong"},
	{auth.ErrTooManyTokens, "toomany"},
	{auth.ErrTokenForm, "form"},
	{auth.ErrTokenUnknown, "unknown"},
	{auth.ErrTokenExpired, "expired"},
	{auth.ErrTokenRevoked, "revoked"},
	{auth.ErrTokenOwner, "disabled"},
}

// refusal is why somebody was not let in; "" if an error is none, but a fault of the database, a provider or a directory.
func refusal(err error) (reason, provider, name string) {
	if fault, ok := errors.AsType[*directory.Error](err); ok {
		if fault.Reason == directory.Down {
			return "", "", ""
		}
		reason, provider, name = string(fault.Reason), fault.Provider, fault.Name
	}
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			return r.reason, provider, name
		}
	}
	return reason, provider, name
}

// LoginRefused notes that somebody was not let in, in whichever way they came. p has the address, and the name that they typed or
// who they have shown to be so far. An error that is no refusal is not noted.
func (a *Audit) LoginRefused(ctx context.Context, p auth.Principal, err error) {
	why, provider, name := refusal(err)
	if why == "" {
		return
	}
	snapshot := Snapshot{"reason": why}
	if provider != "" {
		snapshot["provider"] = provider
	}
	p.Name = cmp.Or(strings.TrimSpace(p.Name), name, provider)
	a.counted(ctx, p, Entry{Action: ActionLoginRefused, Kind: ObjectUser, ID: p.UserID, Name: p.Name, After: snapshot})
}

// TokenRefused notes an API token that does not count. Of one that is or was known, p is the owner and id its number; name is what of
// it can be told.
func (a *Audit) TokenRefused(ctx context.Context, p auth.Principal, id int64, name string, err error) {
	why, _, _ := refusal(err)
	if why == "" {
		return
	}
	a.counted(ctx, p, Entry{Action: ActionLoginRefused, Kind: ObjectAPIToken, ID: id, Name: name, After: Snapshot{"reason": why}})
}

// Refused notes that somebody asked for what they may not do. route is the address with the names of its parameters, path the one
// that was asked for.
func (a *Audit) Refused(ctx context.Context, p auth.Principal, route, path string) {
	a.counted(ctx, p, Entry{Action: ActionRefused, Kind: ObjectRequest, Name: route, After: Snapshot{"path": plainText(path, 255)}})
}

// Registered notes the address of an executor that is not on record yet.
func (a *Audit) Registered(ctx context.Context, appName, address string) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strings.ToLower(appName) + " " + address))
	id := int64(h.Sum64() >> 1)
	known, err := db.FindAuditIDs(ctx, a.pool, db.AuditFilter{Kind: ObjectAddress, ObjectID: id}, 0, 1<<62, 1)
	if err != nil || len(known) > 0 {
		return // or it is said at the next time
	}
	a.counted(ctx, auth.Principal{}, Entry{Action: ActionRegister, Kind: ObjectAddress, ID: id, Name: address, After: Snapshot{"app_name": appName}})
}

// plainText keeps what somebody sent to one line of so many characters.
func plainText(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return cut(s, most)
}
