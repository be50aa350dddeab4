package scheduler

import (
	"context"
	"strings"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
)

// Executors of all eras may serve one group. Which dialect one speaks is known from its registration (the 3.5 executor sends
// its app name in a header), and otherwise found out: each refuses the other's path in words of its own (spec §1.11). What is
// found out is kept in the database, so that it costs one refused call in an installation's life.

// storedTrigger is how punctual_executor spells [wire.DialectTrigger]; "" is the other.
const storedTrigger = "J4"

// know takes in what is stored about the group's addresses.
func (g *group) know(known []db.Executor) {
	g.dialects, g.disabled = make(map[string]wire.Dialect), make(map[string]bool)
	for _, k := range known {
		if !strings.EqualFold(k.AppName, g.appName) {
			continue
		}
		if k.Dialect == storedTrigger {
			g.dialects[k.Address] = wire.DialectTrigger
		}
		g.disabled[k.Address] = k.Disabled != 0
	}
	for _, a := range g.listed {
		if !g.disabled[a] {
			g.addresses = append(g.addresses, a)
		}
	}
}

// run asks an executor for a run, in the other dialect as well when it does not understand the first.
func (e *Engine) run(ctx context.Context, d *dispatch, req *wire.RunRequest) (wire.Answer, error) {
	to := e.target(d.job.group, d.address)
	answer, err := e.cfg.Executors.Run(ctx, to, req)
	if err != nil || !answer.OtherDialect() {
		return answer, err
	}
	other := to
	other.Dialect = wire.DialectTrigger
	if to.Dialect == wire.DialectTrigger {
		other.Dialect = wire.DialectRun
	}
	second, err := e.cfg.Executors.Run(ctx, other, req)
	if err == nil && second.OtherDialect() {
		return answer, nil // it understands neither: a wrong token, or no executor. The first answer is the better clue.
	}
	if err := e.SawDialect(ctx, to.AppName, d.address, other.Dialect); err != nil {
		e.log.Warn("note an executor's dialect", "executor", d.address, "error", err)
	}
	return second, err
}

// SawDialect notes which dialect an executor speaks, as its registration or an answer has shown.
func (e *Engine) SawDialect(ctx context.Context, appName, address string, dialect wire.Dialect) error {
	if appName == "" || e.directory.dialect(appName, address) == dialect {
		return nil
	}
	stored := ""
	if dialect == wire.DialectTrigger {
		stored = storedTrigger
	}
	err := e.queries.SetExecutorDialect(ctx, e.cfg.Pool, db.SetExecutorDialectParams{
		AppName: appName, Address: address, Dialect: stored, UpdatedAt: e.now().UnixMilli(),
	})
	if err != nil {
		return err
	}
	return e.directory.reload(ctx)
}

// dialect is what is known of an address; groups that have the address in none of their lists know nothing.
func (d *directory) dialect(appName, address string) wire.Dialect {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, g := range d.groups {
		if strings.EqualFold(g.appName, appName) {
			return g.dialects[address]
		}
	}
	return wire.DialectRun
}

// SetAddressDisabled takes an address of a group out of rotation, or back in. Runs that are there go on.
func (e *Engine) SetAddressDisabled(ctx context.Context, groupID int64, address string, disabled bool) error {
	g := e.directory.get(groupID)
	if g == nil {
		return ErrNoGroup
	}
	var flag int64
	if disabled {
		flag = 1
	}
	err := e.queries.SetExecutorDisabled(ctx, e.cfg.Pool, db.SetExecutorDisabledParams{
		AppName: g.appName, Address: address, Disabled: flag, UpdatedAt: e.now().UnixMilli(),
	})
	if err != nil {
		return err
	}
	return e.directory.reload(ctx)
}
