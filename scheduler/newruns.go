package scheduler

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/route"
)

// cause is what makes runs of a job come to be.
type cause struct {
	trigger jobspec.TriggerType
	planned time.Time
	due     time.Time // the time of the schedule that they are for; zero: planned
	param   string
	retries int64
	origin  int64     // the run retried, or whose success started this one, or the run of the flow that it is a step of
	step    int64     // the step of a flow that it carries out, see flows.go; 0: none
	shard   wireShard // of a retried shard; Total 0: not one

	elsewhere string   // the address that is passed over if there is another
	given     []string // addresses given by hand
	user      string
}

// newRuns makes the runs that one trigger of a job means: one, or for a broadcast one per address. Addresses that can be
// chosen without asking executors are chosen now, so that they are in the row and a node that takes the run over knows
// whom it may have been sent to.
func (e *Engine) newRuns(j *job, c cause) []*dispatch {
	addresses := c.given
	var dead map[string]time.Time
	if addresses == nil {
		if g := e.directory.get(j.group); g != nil {
			addresses, dead = e.directory.reach(g)
		}
	}
	if c.elsewhere != "" && c.shard.Total == 0 {
		addresses = others(addresses, c.elsewhere)
	}
	if c.due.IsZero() {
		c.due = c.planned
	}
	now := e.now()
	events := make(event.List, 1, 4) // claimed, routed, sent, and one that is rarer
	events[0] = event.Plain(now, event.Claimed, e.signature()...)
	if c.user != "" {
		events = append(events, event.New(now, event.Triggered, c.user))
	}
	one := dispatch{
		claimed: now, events: events,
		job: j, owner: e.node.ID(), planned: c.planned, due: c.due, at: c.planned, trigger: c.trigger, param: c.param,
		retries: c.retries, origin: c.origin, step: c.step, user: c.user, given: c.given, shard: wireShard{Index: 0, Total: 1},
	}
	if e.limited(j) {
		one.owner, one.waiting = waitingOwner, true
	}
	switch {
	case j.glue == jobspec.GlueFlow: // goes to no executor
	case c.shard.Total > 0:
		one.shard = c.shard
		one.pinned = c.shard.Index < len(addresses)
		if one.pinned {
			one.address = addresses[c.shard.Index]
		} else if len(addresses) > 0 { // the group has become smaller: as upstream, the first (docs/compat.md §4.6)
			one.address, one.pinned = addresses[0], true
		}
	case len(addresses) == 0 || route.Probing(j.route):
	case j.route == jobspec.RouteShardingBroadcast:
		all := make([]*dispatch, len(addresses))
		for i, a := range addresses {
			d := one
			d.events = slices.Clone(one.events)
			d.pinned, d.shard = true, wireShard{Index: i, Total: len(addresses)}
			d.goTo(now, a, len(addresses))
			all[i] = &d
		}
		// The shards of those that live agree on a list without the dead, which have a row of their own that says so.
		for _, a := range slices.Sorted(maps.Keys(dead)) {
			d := one
			d.events = slices.Clone(one.events)
			d.address, d.dead, d.pinned, d.retries, d.shard = a, dead[a], true, 0, wireShard{}
			d.owner, d.waiting = e.node.ID(), false // it needs no slot, and takes none from those that run
			all = append(all, &d)
		}
		return all
	default:
		// An unknown strategy leaves the address empty; sending then says so in the run.
		if address, err := e.routes.Pick(j.route, j.id, addresses); err == nil {
			one.goTo(now, address, len(addresses))
		}
		one.pinned = c.given != nil
	}
	return []*dispatch{&one}
}

// goTo notes which executor a run goes to, of so many.
func (d *dispatch) goTo(now time.Time, address string, of int) {
	d.address = address
	d.events = append(d.events, event.Plain(now, event.Routed, string(d.job.route), event.Clip(address), strconv.Itoa(of)))
}

// signature are the arguments of this admin's claims. They are made once for a node id.
func (e *Engine) signature() []string {
	id := e.node.ID()
	if s := e.signed.Load(); s != nil && s.node == id {
		return s.args
	}
	s := &signature{node: id, args: []string{event.Clip(e.cfg.Name), strconv.FormatInt(id, 10)}}
	e.signed.Store(s)
	return s.args
}

type signature struct {
	node int64
	args []string
}

// row is a run's row as it is inserted.
func (e *Engine) row(d *dispatch) db.NewRun {
	return db.NewRun{
		JobGroup: d.job.group, JobID: d.job.id, Address: storable(d.address), Handler: d.job.handler, Param: d.param,
		Sharding: d.shard.text(d.job.route), Retries: d.retries, TriggerTime: e.wall(d.planned),
		PlannedAt: d.planned.UnixMilli(), PlannedFor: d.plannedFor(), FlowStep: d.step, Owner: d.owner, Type: d.trigger, Origin: d.origin,
		Events: d.events.Stored(), Message: e.newRunText(d),
	}
}

// plannedFor is the due time as a row has it.
func (d *dispatch) plannedFor() int64 {
	if ms := d.due.UnixMilli(); ms != d.planned.UnixMilli() {
		return ms
	}
	return 0
}

// dueOf is the time of the schedule that a row is for. Rows of an XXL-JOB admin have neither of the times.
func dueOf(plannedFor, plannedAt int64) time.Time {
	switch {
	case plannedFor != 0:
		return time.UnixMilli(plannedFor)
	case plannedAt != 0:
		return time.UnixMilli(plannedAt)
	}
	return time.Time{}
}

// insert writes the rows of runs and gives the runs their ids. Nothing may be sent before the transaction is committed. The error is
// [ErrStopping] or [ErrHeld] while this admin has no place in the cluster: its runs would be nobody's to send.
func (e *Engine) insert(ctx context.Context, tx db.DBTX, runs []*dispatch) error {
	if slices.ContainsFunc(runs, func(d *dispatch) bool { return d.owner == 0 }) {
		return e.notNow()
	}
	for len(runs) > 0 {
		part := runs[:min(len(runs), db.MaxBatch)]
		runs = runs[len(part):]
		rows := make([]db.NewRun, len(part))
		for i, d := range part {
			rows[i] = e.row(d)
		}
		ids, err := e.insertRows(ctx, tx, rows)
		if err != nil {
			return err
		}
		for i, d := range part {
			d.id, d.fresh, d.told = ids[i], true, len(d.events)
			d.stored = rows[i].Address
		}
		if waiting := slots(part); len(waiting) > 0 {
			if err := db.InsertSlots(ctx, tx, waiting); err != nil {
				return err
			}
		}
	}
	return nil
}

// commit runs fn in a transaction, in which it inserts the runs it returns, and lets them fly after the commit.
func (e *Engine) commit(ctx context.Context, fn func(tx *sql.Tx) ([]*dispatch, error)) ([]*dispatch, error) {
	return e.commitAbove(ctx, math.MaxInt64, fn)
}

// commitAbove is commit where fn may return runs that exist already, with ids above floor.
func (e *Engine) commitAbove(ctx context.Context, floor int64, fn func(tx *sql.Tx) ([]*dispatch, error)) ([]*dispatch, error) {
	var runs []*dispatch
	committing := false
	number := e.pending.begin(floor)
	err := e.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		committing = false
		var err error
		runs, err = fn(tx)
		committing = err == nil
		return err
	})
	if err != nil {
		if committing && !db.IsTransient(err) {
			e.pending.leaveInDoubt(number)
		} else {
			e.pending.commit(number, nil)
		}
		return nil, err
	}
	e.pending.commit(number, runs)
	e.upkeep.Count(e.countNew(runs)...)
	e.timer.add(runs...)
	if !e.cfg.Webhooks.Idle() {
		e.cfg.Webhooks.Wake()
	}
	return runs, nil
}

func (s wireShard) text(r jobspec.Route) string {
	if s.Total == 0 { // of an executor that a broadcast passes over
		return ""
	}
	if s.Total <= 1 && r != jobspec.RouteShardingBroadcast {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Total)
}

// parseShard reads "index/total" as stored; the zero shard when it is not one. The bound keeps a mangled text from
// becoming a number that no executor can hold (docs/compat.md §8.3 #38).
func parseShard(s string) wireShard {
	a, b, ok := strings.Cut(s, "/")
	if !ok {
		return wireShard{}
	}
	index, err1 := strconv.ParseInt(a, 10, 31)
	total, err2 := strconv.ParseInt(b, 10, 31)
	if err1 != nil || err2 != nil || index < 0 || total <= index {
		return wireShard{}
	}
	return wireShard{Index: int(index), Total: int(total)}
}

func jobOf(r *db.Job, pool *db.Pool) *job {
	j := jobToRun(&db.ListJobsToRunRow{
		ID: r.ID, JobGroup: r.JobGroup, ScheduleType: r.ScheduleType, MisfireStrategy: r.MisfireStrategy, ExecutorRouteStrategy: r.ExecutorRouteStrategy,
		ExecutorHandler: r.ExecutorHandler, ExecutorParam: r.ExecutorParam, ExecutorBlockStrategy: r.ExecutorBlockStrategy, ExecutorTimeout: r.ExecutorTimeout,
		ExecutorFailRetryCount: r.ExecutorFailRetryCount, GlueType: r.GlueType, GlueUpdateTime: r.GlueUpdateTime, TimeZone: r.TimeZone, RetryBackoff: r.RetryBackoff,
		MaxConcurrent: r.MaxConcurrent, ConcurrencyPolicy: r.ConcurrencyPolicy, KeepOutput: r.KeepOutput, WhenLost: r.WhenLost, Priority: r.Priority,
	}, pool)
	j.parent = r.ChildJobIDs != "" // a step of a flow starts none of its own
	return j
}

func jobToRun(r *db.ListJobsToRunRow, pool *db.Pool) *job {
	var updated int64
	if r.GlueUpdateTime.Valid {
		updated = pool.FromWall(r.GlueUpdateTime.Time).UnixMilli()
	}
	j := &job{
		id: r.ID, group: r.JobGroup, handler: string(r.ExecutorHandler), param: string(r.ExecutorParam),
		route: r.ExecutorRouteStrategy, misfire: r.MisfireStrategy, block: wire.Block(r.ExecutorBlockStrategy), timeoutSeconds: int(r.ExecutorTimeout),
		retries: r.ExecutorFailRetryCount, glue: r.GlueType, glueUpdated: updated, backoff: r.RetryBackoff, again: r.WhenLost == string(jobspec.WhenLostAgain), line: jobspec.Priority(r.Priority).Line(),
		delayed: r.ScheduleType == jobspec.ScheduleFixDelay, limit: int(r.MaxConcurrent), policy: jobspec.Concurrency(r.ConcurrencyPolicy), zone: r.TimeZone, keep: jobspec.Keep(r.KeepOutput),
	}
	j.limit, j.policy = limitOf(j.glue, j.block, j.limit, j.policy)
	return j
}

func nullTime(t time.Time) sql.NullTime { return sql.NullTime{Time: t, Valid: true} }
