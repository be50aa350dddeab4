package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// A job may say how many of its runs there may be at a time, on all executors and whatever admin sends them, and a group of executors how
// many of all its jobs. This is beside the block strategies, which each executor applies for itself.
//
// Such a run is inserted without an owner (waitingOwner) and with a row in punctual_slot. When its time has come it is given a
// slot, in a transaction that begins by touching the row of each of its limits, in punctual_gate and punctual_group_gate: of two admins that do so
// at once, one waits or is rolled back. A run that finds no slot, or that others are before ([line]), stays, and whoever ends a run of the job, or of the
// group, lets the next one try; or it is discarded, if the job says so. The run of a flow is given its slot by the transaction in which it begins ([Flows.begin]). It counts for no
// group: it is on no executor, and its steps, which are, would wait for it to end. Slots are given back in the transaction that ends the run. The
// sweep mends what a crash leaves: runs that wait although there is room, and slots whose run is over; and what an admin of before leaves, who
// knows of no lines.
const (
	waitingOwner = -1
	gateQueue    = "gate"
	maxWaiting   = 1000 // runs of one job that wait for a slot; more are discarded, but for steps of flows
)

// admission is a run that asks for its slot.
type admission struct {
	d      *dispatch
	waited event.List
	given  bool
	lacks  *lack // why it gets none
	err    error
	done   chan struct{}
}

// lack is why a run gets no slot: its job, or its group, has as many as it may, or will have by those that are before it.
type lack struct {
	group, behind  bool
	running, limit int64 // of one that is behind others, theirs counted
	waiting        int64 // runs of its job
}

// admit tries to give a run its slot. It reports true when the run is this node's to send.
func (e *Engine) admit(ctx context.Context, d *dispatch) bool {
	a := &admission{d: d, done: make(chan struct{})}
	if d.waited {
		a.waited = event.List{e.waitedFor(d)}
	}
	e.pending.add(d) // before it is, so that the low mark is not above it
	if err := e.admitter.add(ctx, a); err != nil {
		e.pending.done(d) // it waits in the database
		return false
	}
	select {
	case <-a.done:
	case <-ctx.Done():
		e.pending.leaveRunInDoubt(d)
		return false
	}
	switch {
	case a.err != nil:
		e.log.Warn("give a run its slot", "log_id", d.id, "job_id", d.job.id, "error", a.err)
		e.pending.leaveRunInDoubt(d) // the commit may have happened
		return false
	case a.given:
		d.owner, d.waiting = e.node.ID(), false
		d.events = append(d.events, a.waited...)
		d.told = len(d.events)
		return true
	case a.lacks != nil:
		e.noSlot(ctx, d, *a.lacks)
		if a.lacks.behind && !d.waited { // or two that are put back could let each other try without end
			e.startThoseBefore(ctx, d.job, *a.lacks)
		}
		return false
	}
	e.pending.done(d) // it waits in the database
	return false
}

// waitedFor says what a run has waited for that gets its slot now.
func (e *Engine) waitedFor(d *dispatch) event.Event {
	key := event.Waited
	if d.job.limit == 0 {
		key = event.GroupWaited
	}
	return event.New(e.now(), key, e.now().Sub(d.planned))
}

// noSlot does what a run means whose job or group has as many runs as it may.
func (e *Engine) noSlot(ctx context.Context, d *dispatch, no lack) {
	if d.job.glue == jobspec.GlueFlow && d.job.block == wire.BlockCoverEarly {
		newer, err := e.flows.cover(ctx, d)
		if err != nil {
			e.log.Warn("end the run of a flow whose place a newer one wants", "log_id", d.id, "job_id", d.job.id, "error", err)
		}
		if newer != 0 {
			e.endKilled(d, coveredBy(newer))
			return
		}
	}
	full, crowded := event.Full, event.Crowded
	if no.group {
		full, crowded = event.GroupFull, event.GroupCrowded
	}
	switch {
	case d.job.policy == jobspec.ConcurrencyDiscard:
		e.discard(d, event.New(e.now(), full, no.running, no.limit))
	case no.waiting > maxWaiting && d.step == 0: // a step would be lost to its flow, whose items and runs have limits of their own
		e.discard(d, event.New(e.now(), crowded, no.running, no.limit, no.waiting))
	default:
		e.pending.done(d) // it waits in the database
	}
}

// errNoneGiven undoes a transaction that gives no slot. Committed, it would have touched gates for nothing, which undoes those on other nodes of a Galera
// cluster that do give one.
var errNoneGiven = errors.New("no slot was given")

// admitBatch gives slots to the runs that ask at the same time, of whatever jobs, in one transaction.
func (e *Engine) admitBatch(ctx context.Context, batch []*admission) {
	err := e.admitOnce(ctx, batch)
	// What conflicts is undone, and nobody in the batch is the reason: others have given a slot before it, so that some admin gets on. Were it
	// given up, the slots that are free would be nobody's until a run ends. Who has locked a row gives none by that, and may keep it for long.
	for db.IsTransient(err) && !db.IsLocked(err) && ctx.Err() == nil {
		err = e.admitOnce(ctx, batch)
	}
	if err != nil && len(batch) > 1 && refused(err) {
		for i := range batch { // somebody else gave one its slot, or discarded it; the others shall have theirs
			e.admitBatch(ctx, batch[i:i+1])
		}
		return
	}
	for _, a := range batch {
		if errors.Is(err, errRaced) {
			a.given = false
		} else {
			a.err = err
		}
		close(a.done)
	}
}

func (e *Engine) admitOnce(ctx context.Context, batch []*admission) error {
	me := e.node.ID()
	err := e.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		for _, a := range batch {
			a.given, a.lacks = false, nil
		}
		room, err := e.openGates(ctx, tx, batch)
		if err != nil {
			return err
		}
		ids := make([]int64, 0, len(batch))
		var told []db.Told
		for _, a := range batch {
			if !room.waits(a.d) { // another admin has given it its slot, or has ended it
				continue
			}
			if slices.Contains(ids, a.d.id) { // it tries twice: its time came when it was let try
				continue
			}
			if a.lacks = room.take(a.d); a.lacks != nil {
				continue
			}
			a.given = true
			ids, told = append(ids, a.d.id), append(told, db.Told{ID: a.d.id, Events: a.waited.Stored()})
		}
		if len(ids) == 0 {
			return errNoneGiven
		}
		n, err := e.queries.TakeSlots(ctx, tx, ids)
		if err != nil {
			return err
		}
		if n != int64(len(ids)) {
			return errRaced
		}
		if err := e.countFor(ctx, tx, room, batch); err != nil {
			return err
		}
		if n, err = db.AdmitRuns(ctx, tx, me, told); err != nil {
			return err
		}
		if n != int64(len(told)) {
			return errRaced
		}
		return nil
	})
	if errors.Is(err, errNoneGiven) {
		return nil
	}
	return err
}

// countFor has the slots that a batch was given count for the groups to whose executors its runs go: a job may have gone to another group since
// they began to wait, or since they were made.
func (e *Engine) countFor(ctx context.Context, tx *sql.Tx, room *room, batch []*admission) error {
	if len(e.directory.limitedGroups()) == 0 {
		return nil
	}
	for _, a := range batch {
		if d := a.d; a.given && room.slots[d.id].GroupID != d.job.group {
			if err := e.queries.SetSlotGroup(ctx, tx, db.SetSlotGroupParams{GroupID: d.job.group, LogIds: []int64{d.id}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// openGates opens the gates of a batch's jobs and groups. All take those of jobs first, so that no two wait for each other.
func (e *Engine) openGates(ctx context.Context, tx *sql.Tx, batch []*admission) (*room, error) {
	var runs, jobs, limited, groups []int64
	for _, a := range batch {
		j := a.d.job
		runs = appendNew(runs, a.d.id)
		jobs = appendNew(jobs, j.id)
		if j.limit > 0 {
			limited = appendNew(limited, j.id)
		}
		if e.groupLimit(j) > 0 {
			groups = appendNew(groups, j.group)
		}
	}
	if err := touchGates(ctx, e.queries, tx, limited); err != nil {
		return nil, err
	}
	r := &room{}
	if err := r.openGroups(ctx, e, tx, groups); err != nil {
		return nil, err
	}
	if err := r.count(ctx, tx, jobs, len(runs)); err != nil {
		return nil, err
	}
	rows, err := e.queries.ListSlotGroups(ctx, tx, runs)
	if err != nil {
		return nil, err
	}
	r.slots = make(map[int64]db.ListSlotGroupsRow, len(rows))
	for _, row := range rows {
		r.slots[row.LogID] = row
	}
	return r, r.lineUp(ctx, e, tx, batch)
}

// touchGates begins a transaction that gives slots of jobs: those that run at once wait for it, or conflict.
func touchGates(ctx context.Context, queries *db.Queries, tx *sql.Tx, jobs []int64) error {
	if len(jobs) == 0 {
		return nil
	}
	n, err := queries.TouchGates(ctx, tx, jobs)
	if err == nil && n < int64(len(jobs)) {
		err = db.InsertGates(ctx, tx, jobs)
	}
	return err
}

// room is how many runs of jobs have slots and how many wait for one, and how many have one of the groups that have a limit.
type room struct {
	jobs   map[int64]db.SlotCount
	groups map[int64]*groupRoom
	slots  map[int64]db.ListSlotGroupsRow // of the runs that ask
	behind map[int64]int64                // runs that others are before, in the line of this group, or (0) of their job
}

type groupRoom struct{ running, limit int64 }

func (r *room) openGroups(ctx context.Context, e *Engine, tx *sql.Tx, groups []int64) error {
	if len(groups) == 0 {
		return nil
	}
	n, err := e.queries.TouchGroupGates(ctx, tx, groups)
	if err == nil && n < int64(len(groups)) {
		err = db.InsertGroupGates(ctx, tx, groups)
	}
	if err != nil {
		return err
	}
	r.groups = make(map[int64]*groupRoom, len(groups))
	for _, id := range groups {
		if limit := e.directory.limit(id); limit > 0 {
			r.groups[id] = &groupRoom{limit: int64(limit)}
		}
	}
	rows, err := e.queries.CountGroupSlots(ctx, tx, groups)
	for _, row := range rows {
		if g := r.groups[row.GroupID]; g != nil {
			g.running = row.Running
		}
	}
	return err
}

// count reads how many slots jobs have, and how many wait, up to one more than may when so many of them are given one.
func (r *room) count(ctx context.Context, tx *sql.Tx, jobs []int64, asking int) error {
	rows, err := db.CountSlots(ctx, tx, jobs, maxWaiting+1+int64(asking))
	r.jobs = make(map[int64]db.SlotCount, len(rows))
	for _, row := range rows {
		r.jobs[row.JobID] = row
	}
	return err
}

// waits reports whether a run that asks has no slot yet and is not over.
func (r *room) waits(d *dispatch) bool {
	slot, ok := r.slots[d.id]
	return ok && slot.Running == 0
}

// take takes a slot for a waiting run, or says why there is none.
func (r *room) take(d *dispatch) *lack {
	j := d.job
	now, group := r.jobs[j.id], r.groups[j.group]
	line, behind := r.behind[d.id]
	switch {
	case j.limit > 0 && now.Running >= int64(j.limit):
		return &lack{running: now.Running, limit: int64(j.limit), waiting: now.Waiting}
	case group != nil && group.running >= group.limit:
		return &lack{group: true, running: group.running, limit: group.limit, waiting: now.Waiting}
	case behind && line == 0:
		return &lack{behind: true, running: int64(j.limit), limit: int64(j.limit), waiting: now.Waiting}
	case behind:
		return &lack{group: true, behind: true, running: group.limit, limit: group.limit, waiting: now.Waiting}
	}
	if group != nil {
		group.running++
	}
	now.Running++
	now.Waiting--
	r.jobs[j.id] = now
	return nil
}

// groupLimit is how many runs the group of a job may have at a time; 0: as many as come.
func (e *Engine) groupLimit(j *job) int {
	if j.glue == jobspec.GlueFlow || j.apart {
		return 0
	}
	return e.directory.limit(j.group)
}

// limited reports whether a run of a job needs a slot.
func (e *Engine) limited(j *job) bool { return j.limit > 0 || e.groupLimit(j) > 0 }

// discard ends a run that got no slot. It is not retried: that would only ask for the same slot again.
func (e *Engine) discard(d *dispatch, why event.Event) {
	d.retries = 0
	e.fail(d, "", event.Discarded, why)
}

// freedSlots are where a slot is free by what a transaction ended.
type freedSlots struct{ jobs, groups []int64 }

// free gives back what slots runs have that ended, and says of which groups with a limit these are. limited are those of jobs that have one.
// Which others have a slot is asked where any group has a limit, and for which group: its job may be another's by now.
func (e *Engine) free(ctx context.Context, tx *sql.Tx, ended, limited []int64) (groups []int64, err error) {
	slots := limited
	if len(ended) > 0 && len(e.directory.limitedGroups()) > 0 {
		rows, err := e.queries.ListSlotGroups(ctx, tx, ended)
		if err != nil {
			return nil, err
		}
		slots = make([]int64, len(rows))
		for i, r := range rows {
			if slots[i] = r.LogID; e.directory.limit(r.GroupID) > 0 {
				groups = appendNew(groups, r.GroupID)
			}
		}
	}
	if len(slots) > 0 {
		_, err = e.queries.FreeSlots(ctx, tx, slots)
	}
	return groups, err
}

// startFreed lets the next runs of jobs and groups have the slots that were given back. What fails here is mended by the sweep.
func (e *Engine) startFreed(ctx context.Context, freed freedSlots) {
	for _, id := range freed.groups {
		e.startNextOf(id)
	}
	jobs := freed.jobs
	if len(jobs) > 1 { // mostly none of them has one
		waiting, err := e.queries.ListJobsWithWaitingRun(ctx, e.cfg.Pool, db.ListJobsWithWaitingRunParams{JobIds: jobs, NowMs: e.now().UnixMilli()})
		if err != nil {
			e.log.Warn("find the jobs whose next run may have its slot", "error", err)
			return
		}
		jobs = waiting
	}
	for _, id := range jobs {
		if err := e.startNext(ctx, id); err != nil {
			e.log.Warn("let the next run have its slot", "job_id", id, "error", err)
		}
	}
}

// startThoseBefore lets those have the slots that are free for which a run was put back. Whoever gave a slot back does so too, and may have stopped
// before it came to that.
func (e *Engine) startThoseBefore(ctx context.Context, j *job, no lack) {
	freed := freedSlots{jobs: []int64{j.id}}
	if no.group {
		freed = freedSlots{groups: []int64{j.group}}
	}
	e.startFreed(ctx, freed)
}

// startNext sends the next runs of a job that wait for a slot to try for one.
func (e *Engine) startNext(ctx context.Context, jobID int64) error {
	// Counted first: a run that is given its slot meanwhile then takes nobody's turn, as it would if it were listed and counted.
	counts, err := db.CountSlots(ctx, e.cfg.Pool, []int64{jobID}, 0)
	if err != nil {
		return err
	}
	ids, err := e.queries.ListWaitingRuns(ctx, e.cfg.Pool, db.ListWaitingRunsParams{JobID: jobID, NowMs: e.now().UnixMilli(), Limit: nextRuns})
	if err != nil {
		return err
	}
	running := int64(0)
	if len(counts) > 0 {
		running = counts[0].Running
	}
	_, err = e.letTry(ctx, jobID, ids, running)
	return err
}

// StartWaiting lets those go at once that wait in the line of a group ([SlotGroup]) and have room now, because they came to it or a limit was raised.
func (e *Engine) StartWaiting(groupID int64) {
	if e.node.ID() != 0 && !e.draining.Load() { // it starts or stops: the sweep finds what waits, or another admin's does
		e.startNextOf(groupID)
	}
}

// startNextOf does so for a group, once for all whose runs end meanwhile.
func (e *Engine) startNextOf(groupID int64) {
	if !e.nexts.begin(groupID) {
		return
	}
	e.wg.Go(func() {
		for again := true; again; again = e.nexts.again(groupID) {
			if err := e.nextOfGroup(e.work, groupID); err != nil {
				e.log.Warn("let the next run of a group have its slot", "group_id", groupID, "error", err)
			}
		}
	})
}

// nextOfGroup sends the next runs of a group that wait for a slot to try for one.
func (e *Engine) nextOfGroup(ctx context.Context, groupID int64) error {
	room := maxWaiting // of what has no limit, or none any more
	if limit := e.directory.limit(groupID); limit > 0 {
		counts, err := e.queries.CountGroupSlots(ctx, e.cfg.Pool, []int64{groupID})
		if err != nil {
			return err
		}
		if len(counts) > 0 {
			limit -= int(counts[0].Running)
		}
		room = min(room, limit)
	}
	line := e.lineOf(groupID)
	for room > 0 {
		next, err := line.read(ctx, e.cfg.Pool, room)
		if err != nil || len(next) == 0 {
			return err
		}
		var jobs []int64
		runs := make(map[int64][]int64)
		for _, r := range next {
			jobs = appendNew(jobs, r.JobID)
			runs[r.JobID] = append(runs[r.JobID], r.LogID)
		}
		for _, id := range jobs {
			tried, err := e.letTry(ctx, id, runs[id], 0) // the line has those alone that its job has room for
			if err != nil {
				return err
			}
			room -= tried
		}
	}
	return nil
}

// nextRuns is how many runs are let try at once.
const nextRuns = 16

// letTry sends waiting runs of a job, of which so many had a slot, to try for one, and says how many these are.
func (e *Engine) letTry(ctx context.Context, jobID int64, ids []int64, running int64) (tried int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	row, err := e.queries.GetJob(ctx, e.cfg.Pool, jobID)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return 0, e.cancelOrphans(ctx, ids)
	} else if err != nil {
		return 0, err
	}
	j := jobOf(&row, e.cfg.Pool)
	if j.limit > 0 {
		ids = ids[:min(max(int64(j.limit)-running, 0), int64(len(ids)))]
	}
	if len(ids) == 0 {
		return 0, nil
	}
	runs, err := e.queries.ListRunsByID(ctx, e.cfg.Pool, ids)
	if err != nil {
		return 0, err
	}
	for i := range runs {
		if r := &runs[i]; r.OwnerNode == waitingOwner && r.TriggerCode == 0 && r.HandleCode == 0 {
			d := e.adopted((*db.ListUnsentRunsOfNodeRow)(r), waitingOwner, j)
			d.taken, d.waiting = false, true // nobody has sent it: it never had a slot
			d.pinned = d.shard.Total > 1
			d.waited = true
			e.fire(d)
			tried++
		}
	}
	return tried, nil
}

// nexts are the groups whose next runs are being found, and whether that is to be done again: a slot was given back meanwhile.
type nexts struct {
	mu     sync.Mutex
	groups map[int64]bool
}

// begin reports true to the one who is to do it.
func (n *nexts) begin(groupID int64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, busy := n.groups[groupID]; busy {
		n.groups[groupID] = true
		return false
	}
	if n.groups == nil {
		n.groups = make(map[int64]bool)
	}
	n.groups[groupID] = false
	return true
}

// again reports whether it is to be done once more. The group is nobody's otherwise.
func (n *nexts) again(groupID int64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.groups[groupID] {
		n.groups[groupID] = false
		return true
	}
	delete(n.groups, groupID)
	return false
}

// cancelOrphans ends runs that wait for a slot of a job that is deleted: they were made as it was, or are more than are ended with it at once.
func (e *Engine) cancelOrphans(ctx context.Context, ids []int64) error {
	for _, id := range ids {
		run, err := e.runByID(ctx, id)
		if err == nil && run.OwnerNode == waitingOwner {
			err = e.cancelWaiting(ctx, &run, e.cfg.Name)
		}
		if err != nil && !errors.Is(err, ErrRunNotFound) && !errors.Is(err, errRaced) { // deleted, or ended by another admin
			return err
		}
	}
	return nil
}

// sweepGates mends the slots.
func (e *Engine) sweepGates(ctx context.Context) error {
	stale, err := e.queries.ListStaleSlots(ctx, e.cfg.Pool)
	if err != nil {
		return err
	}
	if len(stale) > 0 {
		if _, err := e.queries.FreeSlots(ctx, e.cfg.Pool, db.IDs(stale, func(r *db.ListStaleSlotsRow) int64 { return r.LogID })); err != nil {
			return err
		}
	}
	elsewhere, err := e.queries.ListSlotsElsewhere(ctx, e.cfg.Pool)
	if err == nil {
		err = e.putInLine(ctx, elsewhere)
	}
	if err != nil {
		return err
	}
	waiting, err := e.queries.ListGroupsWithWaiting(ctx, e.cfg.Pool, e.now().Add(-e.cfg.Horizon).UnixMilli())
	if err != nil {
		return err
	}
	for _, id := range slices.Concat(e.directory.limitedGroups(), slices.DeleteFunc(waiting, func(id int64) bool { return e.directory.limit(id) > 0 })) {
		failed := e.nextOfGroup(ctx, id)
		if err = errors.Join(err, failed); !goesOn(ctx, failed) {
			break
		}
	}
	return err
}

// putInLine moves what waits in another line than it would now.
func (e *Engine) putInLine(ctx context.Context, elsewhere []db.ListSlotsElsewhereRow) error {
	for _, s := range elsewhere {
		if err := e.queries.PutInLine(ctx, e.cfg.Pool, db.PutInLineParams{JobID: s.JobID, FromGroup: s.FromGroup, FromLine: s.FromLine, GroupID: s.GroupID, Line: s.Line}); err != nil {
			return err
		}
	}
	return nil
}

// slots are the slot rows that runs need.
func slots(runs []*dispatch) []db.Slot {
	var s []db.Slot
	for _, d := range runs {
		if d.waiting {
			s = append(s, db.Slot{JobID: d.job.id, LogID: d.id, PlannedAt: d.planned.UnixMilli(), GroupID: SlotGroup(d.job.glue, d.job.group), Line: d.job.line})
		}
	}
	return s
}

// SlotGroup is the group in whose line the runs of a job wait; 0: none's.
func SlotGroup(glue wire.Glue, group int64) int64 {
	if glue == jobspec.GlueFlow {
		return 0
	}
	return group
}
