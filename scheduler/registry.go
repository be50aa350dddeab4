package scheduler

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
)

// Register notes an executor's beat (spec §1.4). It returns after the commit, and a new address is usable at once.
func (e *Engine) Register(ctx context.Context, r wire.RegistryRequest) error {
	pool := e.cfg.Pool
	now := nullTime(e.wall(e.now()))
	e.directory.trust(r.RegistryValue)
	affected, err := e.queries.TouchRegistry(ctx, pool, db.TouchRegistryParams{
		UpdateTime: now, RegistryGroup: r.RegistryGroup, RegistryKey: r.RegistryKey, RegistryValue: r.RegistryValue,
	})
	if err != nil {
		return err
	}
	if err := e.declare(ctx, r); err != nil {
		return err
	}
	if affected == 0 {
		err := e.queries.InsertRegistry(ctx, pool, db.InsertRegistryParams{
			RegistryGroup: r.RegistryGroup, RegistryKey: r.RegistryKey, RegistryValue: r.RegistryValue, UpdateTime: now,
		})
		if err != nil {
			return err
		}
		e.log.Info("executor registered", "group", r.RegistryKey, "executor", r.RegistryValue)
		return e.directory.reload(ctx)
	}
	if !e.directory.knows(r.RegistryKey, r.RegistryValue) { // it was dead and is back
		return e.directory.reload(ctx)
	}
	return nil
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

// knows reports whether an address of an app name counts as alive.
func (d *directory) knows(appName, address string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, g := range d.groups {
		if strings.EqualFold(g.appName, appName) {
			if _, ok := g.beats[address]; ok {
				return true
			}
		}
	}
	return false
}

// Deregister forgets an executor that says goodbye.
func (e *Engine) Deregister(ctx context.Context, r wire.RegistryRequest) error {
	_, err := e.queries.DeleteRegistry(ctx, e.cfg.Pool, db.DeleteRegistryParams{
		RegistryGroup: r.RegistryGroup, RegistryKey: r.RegistryKey, RegistryValue: r.RegistryValue,
	})
	if err != nil {
		return err
	}
	e.log.Info("executor deregistered", "group", r.RegistryKey, "executor", r.RegistryValue)
	return e.directory.reload(ctx)
}
