package scheduler

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/seal"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/archive"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Output says where outputs of runs are kept beyond their executors, and how much of them; see package archive.
type Output struct {
	Store  archive.Store // nil: they are not kept
	Seal   *seal.Seal    // nil: copies are not sealed
	Limits func() archive.Limits
}

// Outputs is what runs wrote: it is read from their executors or from the copies that are kept (package archive), and executors push it.
type Outputs struct {
	cfg     outputsConfig
	queries *db.Queries
	sent    sentRuns
	held    *semaphore.Weighted // bytes of answers to ask
}

// outputsConfig is what [Outputs] are made of.
type outputsConfig struct {
	Pool      *db.Pool
	Archive   *archive.Service // nil: outputs are not kept
	Directory *directory
	Now       func() time.Time
	Log       func(ctx context.Context, to wire.Target, req wire.LogRequest) (wire.LogResult, wire.Answer, error) // of [Executors]
	Target    func(group int64, address string) wire.Target
	Limit     func() time.Duration            // of one reading
	CatchUp   func(ctx context.Context) error // waits until this admin sees what others have committed
	Refused   func(by Caller, why Refusal, runs []int64)
}

// newArchive makes the service that keeps outputs; nil where they are not kept.
func newArchive(e *Engine) (*archive.Service, error) {
	out := e.cfg.Output
	if out.Store == nil {
		return nil, nil
	}
	return archive.New(archive.Config{
		Pool: e.cfg.Pool, Logger: e.log, Registerer: e.cfg.Registerer, Store: out.Store, Seal: out.Seal, Limits: out.Limits, Now: e.now,
		Node: e.node.ID, Alive: e.node.Alive, Mine: e.node.Mine, Leads: e.node.Leading, Open: e.OpenRuns, Ready: e.node.MayAct,
		CallLimit: func() time.Duration { return e.cfg.Limits().CallTimeout },
		Keeps: func(group int64) jobspec.Keep {
			if g := e.directory.get(group); g != nil {
				return g.keep
			}
			return jobspec.KeepInherit
		},
		Read: func(ctx context.Context, r archive.Run, from int, use func(wire.LogResult)) error {
			return e.outputs.ask(ctx, r.Group, r.Address, r.ID, r.LogDate, from, use)
		},
	})
}

// of are the runs of a batch of results whose output is to be kept. Those without an address are not known to be recorded as
// sent yet. follow has the wishes of their jobs; nil: they are read.
func (o *Outputs) of(ctx context.Context, tx *sql.Tx, ended []db.ListRunsToEndRow, byID map[int64]*finishing, follow *following) ([]archive.Ended, error) {
	if o.cfg.Archive == nil || len(ended) == 0 {
		return nil, nil
	}
	wishes := make(map[int64]jobspec.Keep)
	if follow == nil {
		var ids []int64
		for i := range ended {
			ids = appendNew(ids, ended[i].JobID)
		}
		rows, err := o.queries.ListJobsWithConsequences(ctx, tx, ids)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			wishes[rows[i].ID] = jobspec.Keep(rows[i].KeepOutput)
		}
	} else {
		for id, j := range follow.jobs {
			wishes[id] = jobspec.Keep(j.KeepOutput)
		}
	}
	now := o.cfg.Now().UnixMilli()
	var wanted []archive.Ended
	for i := range ended {
		r := &ended[i]
		f := byID[r.ID]
		if f.flow || r.SentAt == 0 && f.given != event.Open { // no executor had it
			continue
		}
		if o.cfg.Archive.Wants(wishes[r.JobID], r.JobGroup, f.ends != event.Succeeded) {
			wanted = append(wanted, archive.Ended{At: now, Pushed: f.pushed, Run: archive.Run{
				ID: r.ID, Group: r.JobGroup, Job: r.JobID, Address: string(r.ExecutorAddress), LogDate: o.logDate(r.PlannedAt, r.TriggerTime),
			}})
		}
	}
	if len(wanted) > 0 && o.cfg.Archive.Full(len(wanted)) {
		return nil, nil
	}
	return wanted, nil
}

// known are those whose executor is in their row.
func known(outputs []archive.Ended) []archive.Ended {
	return slices.DeleteFunc(outputs, func(o archive.Ended) bool { return o.Address == "" })
}
