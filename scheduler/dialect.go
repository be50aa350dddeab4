package scheduler

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
)

// Executors of all eras may serve one group. Which dialect one speaks is known from its registration (the 3.5 executor sends
// its app name in a header), and otherwise found out: each refuses the other's path in words of its own (docs/compat.md §1.11).
// What is found out is kept in the database, so that it costs one refused call in an installation's life.

// stored is how punctual_executor spells the dialects.
var stored = map[wire.Dialect]string{wire.DialectRun: "", wire.DialectTrigger: "J4", wire.DialectTooOld: "R2"}

func dialectOf(spelled string) wire.Dialect {
	for dialect, s := range stored {
		if s == spelled {
			return dialect
		}
	}
	return wire.DialectRun
}

// know takes in what is stored about the group's addresses.
func (g *group) know(known []db.Executor) {
	g.dialects, g.disabled, g.asked = make(map[string]wire.Dialect), make(map[string]bool), make(map[string]asking)
	for _, k := range known {
		if !strings.EqualFold(k.AppName, g.appName) {
			continue
		}
		g.dialects[k.Address] = dialectOf(k.Dialect)
		g.disabled[k.Address] = k.Disabled != 0
		g.asked[k.Address] = askingOf(k)
	}
	for _, a := range g.listed {
		if !g.disabled[a] {
			g.addresses = append(g.addresses, a)
		}
	}
	// Executors that are too old are passed over, unless there are no others: then their runs say why they do not go.
	young := slices.DeleteFunc(slices.Clone(g.addresses), func(a string) bool { return g.dialects[a] == wire.DialectTooOld })
	if len(young) > 0 {
		g.addresses = young
	}
}

// run asks an executor for runs, and says of each what came of it: in the other dialect as well when it does not understand the first.
func (e *Engine) run(ctx context.Context, runs []leaving) []wire.Told {
	d := runs[0].d
	to := e.target(d.job.group, d.address)
	reqs := make([]*wire.RunRequest, len(runs))
	for i := range runs {
		reqs[i] = &runs[i].req
	}
	told := e.cfg.Executors.RunAll(ctx, to, reqs)
	if errors.Is(told[0].Err, wire.ErrTooOld) && to.Dialect != wire.DialectTooOld {
		e.noteDialect(ctx, to.AppName, d.address, wire.DialectTooOld)
	}
	var again []int
	var asked []*wire.RunRequest
	for i := range told {
		if told[i].Err == nil && told[i].Answer.OtherDialect() {
			again, asked = append(again, i), append(asked, reqs[i])
		}
	}
	if len(again) == 0 {
		return told
	}
	other := to
	other.Dialect = wire.DialectTrigger
	if to.Dialect == wire.DialectTrigger {
		other.Dialect = wire.DialectRun
	}
	for n, second := range e.cfg.Executors.RunAll(ctx, other, asked) {
		if second.Err == nil && second.Answer.OtherDialect() {
			continue // it understands neither: a wrong token, or no executor. The first answer is the better clue.
		}
		e.noteDialect(ctx, to.AppName, d.address, other.Dialect)
		told[again[n]] = second
	}
	return told
}

// noteDialect is [Engine.SawDialect] where nobody can do anything about an error.
func (e *Engine) noteDialect(ctx context.Context, appName, address string, dialect wire.Dialect) {
	if err := e.SawDialect(ctx, appName, address, dialect); err != nil {
		e.log.Warn("note an executor's dialect", "executor", address, "error", err)
	}
}

// SawDialect notes which dialect an executor speaks, as its registration or an answer has shown.
func (e *Engine) SawDialect(ctx context.Context, appName, address string, dialect wire.Dialect) error {
	if appName == "" || e.directory.dialect(appName, address) == dialect {
		return nil
	}
	err := e.queries.SetExecutorDialect(ctx, e.cfg.Pool, db.SetExecutorDialectParams{
		AppName: appName, Address: address, Dialect: stored[dialect], UpdatedAt: e.now().UnixMilli(),
	})
	if err != nil {
		return err
	}
	return e.directory.refresh(ctx)
}

// dialect is what is known of an address under an app name, which need not be a group's.
func (d *directory) dialect(appName, address string) wire.Dialect {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.dialects[registration{strings.ToLower(appName), address}]
}

// SetAddressDisabled takes an address of a group out of rotation, or back in. Runs that are there go on.
func (e *Engine) SetAddressDisabled(ctx context.Context, groupID int64, address string, disabled bool) error {
	g := e.directory.get(groupID)
	if g == nil {
		return ErrNoGroup
	}
	err := e.queries.SetExecutorDisabled(ctx, e.cfg.Pool, db.SetExecutorDisabledParams{
		AppName: g.appName, Address: address, Disabled: db.Flag(disabled), UpdatedAt: e.now().UnixMilli(),
	})
	if err != nil {
		return err
	}
	e.cfg.Pool.AfterCommit(ctx, func(ctx context.Context) {
		if err := e.directory.reload(ctx); err != nil { // the next reading shows it
			e.log.Warn("read the executors after a change", "error", err)
		}
	})
	return nil
}
