package scheduler

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/expr"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/secret"
)

// Secrets are what jobs use without knowing it; [secret.Store] is the real one.
type Secrets interface {
	// Resolve is the values of secrets of a group by their names in capitals, and the names of those that there are not.
	Resolve(ctx context.Context, tx db.DBTX, group int64, names []string) (values map[string]string, missing []string, err error)
}

// fillIn puts what stands for the expressions of a run into its request, which is about to leave: its planned time, and secrets, which
// are written down nowhere on the way. ok is false when the run must not be sent, and why says what its row is to say.
func (e *Engine) fillIn(ctx context.Context, d *dispatch, req *wire.RunRequest) (why event.Event, ok bool) {
	hasEnv := req.GlueType != wire.GlueBean && len(secret.Variables(req.GlueSource)) > 0
	names := secret.Names(req.ExecutorParams)
	if hasEnv {
		names = append(names, secret.InSource(req.GlueSource)...)
	}
	planned := e.plannedValue(d)
	if len(names) == 0 && !hasEnv {
		e.fillPlanned(d, req, planned)
		return why, true
	}
	if hasEnv && !e.directory.takesEnvironment(d.job.group, d.address) {
		return event.New(e.now(), event.NoEnv, d.address), false
	}
	if len(names) > 0 && !e.directory.isOwn(d.job.group, d.address) {
		return event.New(e.now(), event.SecretsHeld, d.address), false
	}
	if e.cfg.Secrets == nil {
		return event.New(e.now(), event.SecretsShut, because(secret.ErrNoKey)), false
	}
	values, missing, err := e.cfg.Secrets.Resolve(ctx, e.cfg.Pool, d.job.group, names)
	switch {
	case errors.Is(err, secret.ErrNoKey):
		return event.New(e.now(), event.SecretsShut, because(secret.ErrNoKey)), false
	case err != nil:
		return event.New(e.now(), event.SecretsShut, because(err)), false
	case len(missing) > 0:
		return event.New(e.now(), event.NoSecret, strings.Join(missing, ", ")), false
	}
	param := req.ExecutorParams
	e.fillPlanned(d, req, planned)
	value := func(inside string) (string, bool) {
		if v, ok := secret.Value(inside, values); ok {
			return v, true
		}
		return planned(inside)
	}
	req.ExecutorParams = expr.Fill(param, value)
	if hasEnv {
		req.Environment = secret.Environment(req.GlueSource, value)
	}
	req.Masks = secret.Masks(values)
	return why, true
}

// plannedValue gives what stands for an expression of the planned time.
func (e *Engine) plannedValue(d *dispatch) func(inside string) (string, bool) {
	return func(inside string) (string, bool) {
		return expr.PlannedValue(inside, d.due, zoneOf(d.job.zone, e.cfg.JobZone))
	}
}

// zoneOf is the zone of a job that names one, or the zone of all. One that is not known stopped the job's schedule already.
func zoneOf(name string, all *time.Location) *time.Location {
	if zone, err := jobspec.Location(name); err == nil && zone != nil {
		return zone
	}
	return all
}

// fillPlanned fills in planned times alone, and notes what came of it: the row has the expressions.
func (e *Engine) fillPlanned(d *dispatch, req *wire.RunRequest, planned func(inside string) (string, bool)) {
	filled := expr.Fill(req.ExecutorParams, planned)
	if filled == req.ExecutorParams {
		return
	}
	req.ExecutorParams = filled
	if _, noted := d.events.Last(event.Filled); !noted { // it may have been put back
		d.events = append(d.events, event.New(e.now(), event.Filled, filled))
	}
}

// isOwn says whether an address is an executor of a group: it has registered for it, or an administrator typed it.
func (d *directory) isOwn(groupID int64, address string) bool {
	b := d.bearer(groupID, address)
	g := d.get(groupID)
	return b.Known && g != nil && strings.EqualFold(b.AppName, g.appName)
}

// takesEnvironment says whether the executor at an address has said that it takes an environment, under any name.
func (d *directory) takesEnvironment(groupID int64, address string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if g := d.groups[groupID]; g != nil && d.takesEnv[registration{strings.ToLower(g.appName), address}] {
		return true
	}
	for r, takes := range d.takesEnv {
		if takes && r.address == address {
			return true
		}
	}
	return false
}
