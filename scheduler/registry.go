package scheduler

import (
	"context"
	"strings"

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
