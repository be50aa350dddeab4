package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// Register is [Engine.RegisterWith] for an executor of whose token nothing is known.
func (e *Engine) Register(ctx context.Context, r wire.RegistryRequest) error {
	return e.RegisterWith(ctx, r, "")
}

// RegisterWith notes an executor's beat (docs/compat.md §1.4), with the fingerprint of the token that it showed. It returns
// after the commit, and a new address is usable at once.
func (e *Engine) RegisterWith(ctx context.Context, r wire.RegistryRequest, shown string) error {
	pool := e.cfg.Pool
	if e.directory.foreign(r.RegistryKey) {
		return ErrForeignName
	}
	if e.directory.tooManyNames(r.RegistryKey) {
		return ErrUnknownNames
	}
	now := nullTime(e.wall(e.now()))
	e.directory.trust(placeOf(r.RegistryKey, r.RegistryValue))
	affected, err := e.queries.TouchRegistry(ctx, pool, db.TouchRegistryParams{
		UpdateTime: now, TokenShown: shown, TakesEnv: db.Flag(r.TakesEnvironment), RegistryGroup: r.RegistryGroup, RegistryKey: r.RegistryKey, RegistryValue: r.RegistryValue,
	})
	if err != nil {
		return err
	}
	if err := e.declare(ctx, r); err != nil {
		return err
	}
	if affected == 0 {
		err := pool.Tx(ctx, func(tx *sql.Tx) error {
			if err := e.queries.InsertRegistry(ctx, tx, db.InsertRegistryParams{
				RegistryGroup: r.RegistryGroup, RegistryKey: r.RegistryKey, RegistryValue: r.RegistryValue, UpdateTime: now, TokenShown: shown, TakesEnv: db.Flag(r.TakesEnvironment),
			}); err != nil {
				return err
			}
			return e.tellExecutor(ctx, tx, webhook.ExecutorRegistered, r.RegistryKey, r.RegistryValue)
		})
		if err != nil {
			return err
		}
		e.cfg.Webhooks.Wake()
		e.log.Info("executor registered", "group", r.RegistryKey, "executor", r.RegistryValue)
		if e.cfg.Registered != nil {
			e.cfg.Registered(ctx, r.RegistryKey, r.RegistryValue)
		}
		return e.directory.refresh(ctx)
	}
	known := e.directory.knows(r.RegistryKey, r.RegistryValue, shown)
	if !known || e.cfg.Webhooks.Wants(webhook.ExecutorSilent) {
		if err := e.tellBack(ctx, r.RegistryKey, r.RegistryValue); err != nil {
			return err
		}
	}
	if !known { // it was dead and is back, or has another token
		return e.directory.refresh(ctx)
	}
	return nil
}

// KnowsGroup says whether a group has an app name.
func (e *Engine) KnowsGroup(appName string) bool { return len(e.directory.idsOf(appName)) > 0 }

// maxUnknownNames bounds the app names without a group that may register: a stranger with a token could fill the table with them.
const maxUnknownNames = 200

// ErrUnknownNames means that too many app names without a group have registered.
var ErrUnknownNames = errors.New("too many executors have registered without a group of their name")

// tooManyNames says whether an app name is one too many of those without a group.
func (d *directory) tooManyNames(appName string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if len(d.strangers) < maxUnknownNames {
		return false
	}
	appName = strings.ToLower(appName)
	if _, there := d.strangers[appName]; there {
		return false
	}
	for _, g := range d.groups {
		if strings.EqualFold(g.appName, appName) {
			return false
		}
	}
	return true
}

// ErrForeignName means that no group has an app name, which is not of ASCII alone.
var ErrForeignName = errors.New("no executor group has this name")

// foreign says whether no group has an app name with other characters than ASCII's. To MySQL's collations é is e: the registrations under such
// a name would be those of a group that has another one, and a token that does not count for it.
func (d *directory) foreign(appName string) bool {
	appName = strings.ToLower(appName) // as tokens are looked up: what that makes ASCII, such as the Kelvin sign, speaks with the token of that name
	if !strings.ContainsFunc(appName, func(r rune) bool { return r > unicode.MaxASCII }) {
		return false
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, g := range d.groups {
		if strings.ToLower(g.appName) == appName {
			return false
		}
	}
	return true
}

// maxCodeHandlers bounds what the executors of a group declare.
const maxCodeHandlers = 200

// declare keeps which handlers of its group an executor says to take code for a parameter. They stay what they are for as long as
// the group lives: one executor that does not know them proves nothing.
func (e *Engine) declare(ctx context.Context, r wire.RegistryRequest) error {
	if len(r.CodeHandlers) == 0 {
		return nil
	}
	for _, group := range e.directory.idsOf(r.RegistryKey) {
		unknown, err := e.directory.undeclared(ctx, group, r.CodeHandlers)
		if err != nil {
			return err
		}
		for _, name := range unknown {
			if err := e.queries.InsertCodeHandler(ctx, e.cfg.Pool, db.InsertCodeHandlerParams{GroupID: group, Handler: name}); err != nil {
				return err
			}
			e.log.Info("a handler's parameter is code", "group", r.RegistryKey, "handler", name)
		}
	}
	return nil
}

// undeclared are the handlers of a list that are not on record, as far as a group may have more of them.
func (d *directory) undeclared(ctx context.Context, group int64, names []string) ([]string, error) {
	d.declaring.Lock()
	defer d.declaring.Unlock()
	missing := func(name string) bool { return !slices.Contains(d.declared[group], name) }
	if !slices.ContainsFunc(names, missing) {
		return nil, nil
	}
	rows, err := d.e.queries.ListCodeHandlers(ctx, d.e.cfg.Pool)
	if err != nil {
		return nil, err
	}
	d.declared = make(map[int64][]string)
	for _, r := range rows {
		d.declared[r.GroupID] = append(d.declared[r.GroupID], r.Handler)
	}
	var unknown []string
	for _, name := range names {
		if len(d.declared[group])+len(unknown) >= maxCodeHandlers {
			break
		}
		if name != "" && len(name) <= 255 && utf8.ValidString(name) && missing(name) && !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
	}
	return unknown, nil
}

// Bearer is an executor that is to be called, for whoever chooses the token to send.
type Bearer struct {
	AppName string // under which it is known
	Address string
	Shown   string // the fingerprint of the token that it registered with; "" if that is not on record
	Typed   bool   // an administrator typed the address for the group
	Known   bool   // it registered, or was typed
}

// registration is an address and the app name, in lower case, under which it registered.
type registration struct{ appName, address string }

// maxRemembered bounds the registrations that are remembered after they went: an executor that drains takes its leave first, and
// is asked about its runs for a while.
const maxRemembered = 10_000

// remember takes in what executors have shown, under the lock.
func (d *directory) remember(shown map[registration]string) {
	for r, was := range d.shown {
		if len(shown) >= maxRemembered {
			break
		}
		if _, still := shown[r]; !still {
			shown[r] = was
		}
	}
	d.shown = shown
}

// bearer says what is known of an executor that a group's run goes to: its registration under the group's name, the group's list
// that an administrator typed, or its registration under another name.
func (d *directory) bearer(groupID int64, address string) Bearer {
	d.mu.RLock()
	defer d.mu.RUnlock()
	b := Bearer{Address: address}
	if g := d.groups[groupID]; g != nil {
		b.AppName, b.Typed = g.appName, g.manual && slices.Contains(g.listed, address)
		b.Shown, b.Known = d.shown[registration{strings.ToLower(g.appName), address}]
		if b.Known || b.Typed {
			b.Known = true
			return b
		}
	}
	for _, other := range d.groups {
		if shown, ok := d.shown[registration{strings.ToLower(other.appName), address}]; ok {
			return Bearer{AppName: other.appName, Address: address, Shown: shown, Known: true}
		}
	}
	return b
}

// knows reports whether an address of an app name counts as alive, with a token. Where the name has no group nobody is sent anything, so
// that it is enough that it has registered.
func (d *directory) knows(appName, address, shown string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if was, ok := d.shown[registration{strings.ToLower(appName), address}]; !ok || was != shown {
		return false
	}
	alone := true
	for _, g := range d.groups {
		if strings.EqualFold(g.appName, appName) {
			alone = false
			if _, ok := g.beats[address]; ok {
				return true
			}
		}
	}
	return alone
}

// Deregister forgets an executor that says goodbye.
func (e *Engine) Deregister(ctx context.Context, r wire.RegistryRequest) error {
	if e.directory.foreign(r.RegistryKey) {
		return ErrForeignName
	}
	err := e.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		n, err := e.queries.DeleteRegistry(ctx, tx, db.DeleteRegistryParams{
			RegistryGroup: r.RegistryGroup, RegistryKey: r.RegistryKey, RegistryValue: r.RegistryValue,
		})
		if err != nil || n == 0 {
			return err
		}
		return e.tellExecutor(ctx, tx, webhook.ExecutorRemoved, r.RegistryKey, r.RegistryValue)
	})
	if err != nil {
		return err
	}
	e.cfg.Webhooks.Wake()
	e.log.Info("executor deregistered", "group", r.RegistryKey, "executor", r.RegistryValue)
	return e.directory.reload(ctx)
}

// silent are the groups that a caller may not speak for.
func (d *directory) silent(speaks func(appName string) bool) map[int64]bool {
	if speaks == nil {
		return nil
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	not := make(map[int64]bool)
	for id, g := range d.groups {
		if !speaks(g.appName) {
			not[id] = true
		}
	}
	return not
}

// speaksFor says whether a result's reporter may tell about a group's runs.
func (f *finishing) speaksFor(groupID int64) bool {
	return (f.groups == nil || slices.Contains(f.groups, groupID)) && !f.not[groupID]
}
