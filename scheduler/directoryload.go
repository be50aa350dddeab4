package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// reload reads groups and registrations, and writes the address list of automatic groups where it has changed, as
// upstream's registry monitor does every 30 s (docs/compat.md §4.10), but that one column only.
func (d *directory) reload(ctx context.Context) error {
	select {
	case d.reloading <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	began := time.Now()
	defer func() {
		<-d.reloading
		d.refreshing.Lock()
		defer d.refreshing.Unlock()
		d.ended, d.took = time.Now(), time.Since(began)
	}()
	rows, err := d.read(ctx)
	if err != nil {
		return err
	}
	now := d.e.now()
	if leap := time.Duration(d.leapt.Swap(0)); leap > 0 {
		d.absence, d.absenceUntil = d.absence+leap, now.Add(d.e.cfg.DeadAfter)
	}
	groups := d.groupsOf(rows, now)
	away := d.e.away(groups, now)
	shown, takesEnv := make(map[registration]string, len(rows.registry)), make(map[registration]bool, len(rows.registry))
	for _, r := range rows.registry {
		at := registration{strings.ToLower(r.RegistryKey), r.RegistryValue}
		shown[at] = r.TokenShown
		takesEnv[at] = r.TakesEnv != 0
	}
	d.mu.Lock()
	roomier := roomierGroups(d.groups, groups)
	d.groups, d.strangers, d.away = groups, strangersOf(rows.registry, groups), away
	d.takesEnv, d.dialects = takesEnv, dialectsOf(rows.executors)
	d.remember(shown)
	d.mu.Unlock()
	d.e.measured.keep(groups)
	for _, id := range roomier {
		d.e.StartWaiting(id)
	}
	return d.writeAddresses(ctx, groups, now)
}

// roomierGroups are those that may have more runs at a time than before.
func roomierGroups(before, now map[int64]*group) (ids []int64) {
	for id, old := range before {
		if g := now[id]; g != nil && old.limit > 0 && (g.limit == 0 || g.limit > old.limit) {
			ids = append(ids, id)
		}
	}
	return ids
}

// directoryRows are what a directory is made of.
type directoryRows struct {
	groups    []db.Group
	registry  []db.ListRegistryRow
	executors []db.Executor
	options   []db.GroupOptions
}

func (d *directory) read(ctx context.Context) (rows directoryRows, err error) {
	pool := d.e.cfg.Pool
	if rows.groups, err = d.e.queries.ListGroups(ctx, pool); err != nil {
		return rows, err
	}
	if rows.registry, err = d.e.queries.ListRegistry(ctx, pool); err != nil {
		return rows, err
	}
	if rows.executors, err = d.e.queries.ListExecutors(ctx, pool); err != nil {
		return rows, err
	}
	rows.options, err = d.e.queries.ListGroupOptions(ctx, pool)
	return rows, err
}

// groupsOf are the groups with the executors that are there and those that were a short time ago.
func (d *directory) groupsOf(rows directoryRows, now time.Time) map[int64]*group {
	live, gone := d.beats(rows.registry, now)
	groups := make(map[int64]*group, len(rows.groups))
	for _, r := range rows.groups {
		key := strings.ToLower(r.AppName)
		g := &group{id: r.ID, appName: r.AppName, manual: r.AddressType == 1, stored: string(r.AddressList), beats: live[key], gone: gone[key]}
		if g.manual {
			g.listed = SplitAddresses(g.stored)
		} else {
			g.listed = slices.Sorted(maps.Keys(g.beats))
		}
		g.know(rows.executors)
		g.keepTo(d.e.cfg.Local())
		for _, o := range rows.options {
			if strings.EqualFold(o.AppName, g.appName) {
				g.keep, g.limit = jobspec.Keep(o.KeepOutput), int(o.MaxRunning)
				g.idleLost = g.idleLost || o.IdleIsLost != 0
			}
		}
		groups[r.ID] = g
	}
	return groups
}

// beats are when executors were heard of last, by group and address: of those that are there, and of those that have been gone for a short time.
func (d *directory) beats(registry []db.ListRegistryRow, now time.Time) (live, gone map[string]map[string]time.Time) {
	live, gone = make(map[string]map[string]time.Time), make(map[string]map[string]time.Time)
	allowed := d.e.cfg.DeadAfter
	if now.Before(d.absenceUntil) {
		allowed += d.absence
	}
	for _, r := range registry {
		if !r.UpdateTime.Valid {
			continue
		}
		of := live
		switch s := d.silence(r, now); {
		case s > allowed+goneFor:
			continue
		case s > allowed:
			of = gone
		}
		key := strings.ToLower(r.RegistryKey)
		if of[key] == nil {
			of[key] = make(map[string]time.Time)
		}
		of[key][r.RegistryValue] = d.e.cfg.Pool.FromWall(r.UpdateTime.Time)
	}
	return live, gone
}

// strangersOf are the names that register and that no group has.
func strangersOf(registry []db.ListRegistryRow, groups map[int64]*group) map[string]struct{} {
	strangers := make(map[string]struct{})
	for _, r := range registry {
		strangers[strings.ToLower(r.RegistryKey)] = struct{}{}
	}
	for _, g := range groups {
		delete(strangers, strings.ToLower(g.appName))
	}
	return strangers
}

// dialectsOf are those of executors that do not speak the usual one.
func dialectsOf(executors []db.Executor) map[registration]wire.Dialect {
	dialects := make(map[registration]wire.Dialect)
	for _, k := range executors {
		if dialect := dialectOf(k.Dialect); dialect != wire.DialectRun {
			dialects[registration{strings.ToLower(k.AppName), k.Address}] = dialect
		}
	}
	return dialects
}

// writeAddresses writes the address lists of automatic groups that have changed. One that the database refuses, such as a list that is too
// long, keeps no other from it.
func (d *directory) writeAddresses(ctx context.Context, groups map[int64]*group, now time.Time) error {
	pool := d.e.cfg.Pool
	var errs []error
	for _, g := range groups {
		if list := strings.Join(g.listed, ","); !g.manual && list != g.stored {
			_, err := d.e.queries.SetGroupAddresses(ctx, pool, db.SetGroupAddressesParams{
				ID: g.id, AddressList: db.Text(list), UpdateTime: nullTime(pool.Wall(now)),
			})
			if err != nil {
				errs = append(errs, fmt.Errorf("write the addresses of group %d: %w", g.id, err))
			}
			if db.IsUnavailable(err) || ctx.Err() != nil {
				break
			}
		}
	}
	return errors.Join(errs...)
}
