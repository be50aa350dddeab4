package scheduler

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/cluster"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/webhook"
)

// A flow is a job whose work is its steps. Its definition is what a script's source is to another job: the text of xxl_job_info, with the
// versions, the comparison and the restoring of scripts. Its run is a row of xxl_job_log as any, which waits for its time and for a slot
// of its job's limit in the same ways. Where another run is sent, that of a flow begins (begin.go): it is recorded as sent to nobody, and
// has a row of punctual_flow_run from then on, with the definition that it began with, and one of punctual_flow_step for each step.
//
//	run of a flow ──▶ begun ──▶ decided ──▶ over
//	                   │  ▲        (state 1)   (state 2: its end is in xxl_job_log)
//	           decision│  │end of a step, or a time
//	                   ▼  │
//	             runs of steps
//
// A step's run is an ordinary run of its job. It names its step in a column that whoever ends runs reads already (xxl_job_log.flow_step),
// so that runs of no flow pay nothing. What the end of a step means is decided in the transaction that records it, wherever that is
// ([Flows.move], called by ending.go, flowbegin.go, record.go, kill.go and flowsweep.go): what is to start is inserted there, as retries and children are.
// What is to be done is a pure decision, [flow.Plan.Next].
//
// Each decision raises the revision of the run of the flow, guarded by the one that was read. Of two admins that record two parents at
// once, the second finds it raised, or is rolled back by the database; it reads again what there is, having locked the run first, and
// decides with both parents ended. So a join starts once, and never not at all.
//
// The end of the run itself is a result as an executor's report is, written by the way of all results after the commit that decided it:
// its retry, its children, its alarms and the step of another flow that it may be follow from it there. A crash in between leaves a
// decided run, which the sweep brings to its end.
//
// Steps whose end is asked for, because the run was stopped or took too long, have their runs ended as by hand: the wish is in
// punctual_kill from the commit of the decision on, so that it outlives the admin. A run that is a step starts no children of its own: what
// follows is the flow's to say.

// The states of a run of a flow in its column.
const (
	flowGoing   int64 = iota
	flowDecided       // its end is to be written into xxl_job_log
	flowOver
	flowGiven // it is to begin with steps that are there already, see [Flows.Repeat]
)

// Flows is the part of the engine that runs flows. The engine hands it what ends (move, in the transaction that records it, and moved after the
// commit), and has it begin, stop and sweep runs of flows; it asks the engine for nothing but what its config names.
type Flows struct {
	cfg     flowsConfig
	queries *db.Queries
	plans   *cache[int64, *flowPlan]  // by the rows of definitions that runs go by
	texts   *cache[string, *flowPlan] // by their digests
	known   *cache[textKey, textRow]  // definitions that are on record
	items   *cache[itemsKey, []any]
	unread  *cache[int64, time.Time] // runs about which nobody can decide here, and when that was found last
	kept    *keptFlows
	ended   *flowEnds
	watched func(*flowMove) // nil; a test that counts what moves read and write
}

// flowsConfig is what [Flows] are made of. All of it is required but Webhooks.
type flowsConfig struct {
	Pool     *db.Pool
	Logger   *slog.Logger
	Engine   flowEngine
	Now      func() time.Time
	Node     *cluster.Node  // whose share a run of a flow is
	Zone     *time.Location // of jobs that name none
	GroupsOf func(appName string) []int64
	Changed  func(runs ...int64) // is told of runs that stand elsewhere now
	Webhooks *webhook.Service    // nil: there are none
	Alarms   Alarms              // nil: nobody is told
}

// flowEngine is what flows need of the engine: the ways by which all runs are made, begin and end.
type flowEngine interface {
	commit(ctx context.Context, fn func(tx *sql.Tx) ([]*dispatch, error)) ([]*dispatch, error)
	newRuns(j *job, c cause) []*dispatch
	insert(ctx context.Context, tx db.DBTX, runs []*dispatch) error
	complete(ctx context.Context, items []finishing) error
	Trigger(ctx context.Context, r TriggerRequest) ([]int64, error)
	source(ctx context.Context, j *job) (text string, updated int64, err error)
	recordText(address string, events event.List) string
}

func newFlows(cfg flowsConfig) *Flows {
	return &Flows{
		cfg: cfg, queries: db.New(), ended: newFlowEnds(), kept: newKeptFlows(maxKeptSteps),
		plans: newCache[int64, *flowPlan](maxPlans), texts: newCache[string, *flowPlan](maxPlans), known: newCache[textKey, textRow](maxPlans), items: newCache[itemsKey, []any](maxLists), unread: newCache[int64, time.Time](maxUnread),
	}
}

// endingLate is the value of a step's column of that name whose time is over.
const (
	endingAsked int64 = 1
	endingLate  int64 = 2
)

// flowPlan is a definition that runs are decided by.
type flowPlan struct {
	text  int64    // its row of punctual_flow_text
	row   *textRow // that row as it is with this transaction; nil: nobody has looked
	key   textKey  // with row
	def   *flow.Definition
	plan  *flow.Plan
	place map[string]int // of steps, by their ids
}

// textKey names the definition of a job, textRow is where it is on record, and since when as far as its deletion goes.
type (
	textKey struct {
		job    int64
		digest string
	}
	textRow struct{ id, madeAt int64 }
)

// maxPlans is how many definitions are kept in memory.
const maxPlans = 1000

// maxUnread is how many runs are known that nobody can decide about.
const maxUnread = 100_000

// maxLists is how many lists of items that are worked off are kept in memory.
const maxLists = 100

// errNoFlow means that the definition of a flow cannot be read.
type errNoFlow struct{ error }

func (e errNoFlow) Unwrap() error { return e.error }

// unreadablePlan reports whether there is no definition that can be read.
func unreadablePlan(err error) bool {
	_, no := errors.AsType[errNoFlow](err)
	return no || errors.Is(err, db.ErrNotFound)
}

func newFlowPlan(text int64, source string) (*flowPlan, error) {
	def, err := flow.Parse([]byte(source))
	if err != nil {
		return nil, errNoFlow{err}
	}
	plan, faults := flow.Compile(def)
	if len(faults) > 0 {
		return nil, errNoFlow{faults}
	}
	p := &flowPlan{text: text, def: def, plan: plan, place: make(map[string]int, len(def.Steps))}
	for i := range def.Steps {
		p.place[def.Steps[i].ID] = i
	}
	return p, nil
}

// planOf is the definition with an id, of a run that is on record.
func (fs *Flows) planOf(ctx context.Context, tx db.DBTX, text int64) (*flowPlan, error) {
	if p, ok := fs.plans.get(text); ok {
		return p, nil
	}
	row, err := fs.queries.GetFlowText(ctx, tx, text)
	if err = db.Error(err); err != nil {
		return nil, err
	}
	p, err := newFlowPlan(text, row.Source)
	if err == nil {
		fs.plans.put(text, p)
	}
	return p, err
}

// keptText is how long a definition that no run goes by stays, so that none is deleted while a run begins with it (upkeep deletes those
// that are older than an hour).
const keptText = 30 * time.Minute

// plansFor are the definitions of jobs as they are now, on record from then on. bad are the jobs of which none can be read. What is known to
// be on record is not looked for; after the commit the plans are to be remembered.
func (fs *Flows) plansFor(ctx context.Context, tx *sql.Tx, jobs map[int64]*job) (plans map[int64]*flowPlan, bad map[int64]error, err error) {
	plans, bad = make(map[int64]*flowPlan, len(jobs)), make(map[int64]error)
	if len(jobs) == 0 {
		return plans, bad, nil
	}
	now := fs.cfg.Now()
	texts := make(map[int64]db.FlowText, len(jobs))
	var ids []int64
	for _, id := range slices.Sorted(maps.Keys(jobs)) {
		source, _, err := fs.cfg.Engine.source(ctx, jobs[id])
		if errors.Is(err, db.ErrNotFound) {
			bad[id] = errNoFlow{err}
			continue
		} else if err != nil {
			return nil, nil, err
		}
		sum := sha256.Sum256([]byte(source))
		text := db.FlowText{JobID: id, Digest: hex.EncodeToString(sum[:]), MadeAt: now.UnixMilli(), Source: source}
		// Kept by what it says and not by its row, whose number goes to another one when this transaction is rolled back.
		plan, ok := fs.texts.get(text.Digest)
		if !ok {
			if plan, err = newFlowPlan(0, source); err != nil { // none is kept that cannot be read
				bad[id] = err
				continue
			}
			fs.texts.put(text.Digest, plan)
		}
		kept := *plan
		kept.key = textKey{id, text.Digest}
		plans[id], texts[id] = &kept, text
		if row, ok := fs.known.get(kept.key); ok && row.madeAt >= now.Add(-keptText).UnixMilli() {
			kept.text = row.id
			continue
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return plans, bad, nil
	}
	find := func() error {
		rows, err := fs.queries.FindFlowTexts(ctx, tx, ids)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if texts[r.JobID].Digest != r.Digest || plans[r.JobID].text != 0 {
				continue
			}
			if r.MadeAt < now.Add(-keptText).UnixMilli() {
				r.MadeAt = now.UnixMilli()
				n, err := fs.queries.TouchFlowText(ctx, tx, db.TouchFlowTextParams{ID: r.ID, MadeAt: r.MadeAt})
				if err != nil {
					return err
				}
				if n == 0 {
					continue
				}
			}
			plans[r.JobID].text, plans[r.JobID].row = r.ID, &textRow{r.ID, r.MadeAt}
		}
		return nil
	}
	if err := find(); err != nil {
		return nil, nil, err
	}
	var fresh []db.FlowText
	for _, id := range ids {
		if plans[id].text == 0 {
			fresh = append(fresh, texts[id])
		}
	}
	if len(fresh) == 0 {
		return plans, bad, nil
	}
	if err := db.InsertFlowTexts(ctx, tx, fresh); err != nil {
		return nil, nil, err
	}
	if err := find(); err != nil {
		return nil, nil, err
	}
	for _, text := range fresh {
		if plans[text.JobID].text == 0 {
			return nil, nil, errRaced // another admin's, which this transaction does not see yet
		}
	}
	return plans, bad, nil
}

// remember notes where a plan of [Flows.plansFor] is on record, after the commit.
func (fs *Flows) remember(p *flowPlan) {
	if p.row != nil {
		fs.known.put(p.key, *p.row)
	}
}

// limitOf is how many runs of a job there may be at a time, and what becomes of those that are more. Executors of their own accord let the
// runs of a job wait for each other, or leave them out; for a flow, which has no executor, its limit does.
func limitOf(glue wire.Glue, block wire.Block, limit int, policy jobspec.Concurrency) (int, jobspec.Concurrency) {
	if glue != jobspec.GlueFlow {
		return limit, policy
	}
	switch block {
	case wire.BlockDiscardLater:
		return max(limit, 1), jobspec.ConcurrencyDiscard
	case wire.BlockCoverEarly: // it asks the oldest to end, see Flows.cover, and waits for that: left out, both were lost
		return max(limit, 1), jobspec.ConcurrencyQueue
	case wire.BlockSerial:
	}
	return max(limit, 1), policy
}

// cover asks the oldest run of a flow to end, because a newer one waits for its place. Where that is the newer one, which took the place while
// the other was on its way to ask for it, nothing is done, and its number is given.
func (fs *Flows) cover(ctx context.Context, d *dispatch) (newer int64, err error) {
	ids, err := fs.queries.ListFlowRunsGoing(ctx, fs.cfg.Pool, db.ListFlowRunsGoingParams{JobID: d.job.id, Limit: 1})
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	runs, err := fs.queries.ListRunsByID(ctx, fs.cfg.Pool, ids)
	if err != nil {
		return 0, err
	}
	if len(runs) > 0 && isNewer(runs[0].PlannedAt, runs[0].ID, d.planned.UnixMilli(), d.id) {
		return runs[0].ID, nil
	}
	return 0, fs.stop(ctx, ids[0], coveredBy(d.id))
}

// isNewer compares runs of a flow: the one that was planned for later is newer, whichever was made before.
func isNewer(planned, id, thanPlanned, thanID int64) bool {
	return planned > thanPlanned || planned == thanPlanned && id > thanID
}

// covered lets a run that is about to begin end at once where a newer one waits for its place already.
func (fs *Flows) covered(ctx context.Context, tx *sql.Tx, f *flowState, planned int64) error {
	newest, err := fs.queries.NewestWaitingRun(ctx, tx, db.NewestWaitingRunParams{JobID: f.row.JobID, NowMs: fs.cfg.Now().UnixMilli()})
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return nil
	} else if err != nil || !isNewer(newest.PlannedAt, newest.LogID, planned, f.row.LogID) {
		return err
	}
	f.row.Asked, f.row.StoppedBy = int64(flow.AskedStop), coveredBy(newest.LogID)
	return nil
}

// coveredBy stands in the place of a person who ended a run, where another run is the reason.
func coveredBy(run int64) string { return "#" + strconv.FormatInt(run, 10) }
