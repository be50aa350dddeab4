package scheduler

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/punctual-job/punctual/db"
)

// line is the runs of a group that wait for a slot, in the order in which they get one: that of the priorities of their jobs, and
// then of their planned times. Those of a job that has as many as it may let the others pass.
type line struct {
	queries *db.Queries
	next    db.ListWaitingRunsOfGroupParams
	room    map[int64]int64                // of jobs that have a limit themselves
	found   []db.ListWaitingRunsOfGroupRow // and not read
}

func (e *Engine) lineOf(groupID int64) *line {
	return &line{
		queries: e.queries, room: make(map[int64]int64),
		next: db.ListWaitingRunsOfGroupParams{GroupID: groupID, NowMs: e.now().UnixMilli(), ButJobs: []int64{0}, AfterLine: math.MinInt32},
	}
}

// A line is read in pieces of so many runs at most, without those of so many jobs that are full by what was read, or by runs that began in another
// group. It ends there: what has room behind more than these has its turn when some of them have room.
const (
	lineRuns = 500
	lineJobs = 1000
)

// read returns the next of them, so many at most, and none at the end.
func (l *line) read(ctx context.Context, from db.DBTX, most int) ([]db.ListWaitingRunsOfGroupRow, error) {
	for n := max(most, nextRuns); len(l.found) == 0 && len(l.next.ButJobs) <= lineJobs; n = min(4*n, lineRuns) { // more where none of them has room
		l.next.Limit = int32(min(n, lineRuns))
		rows, err := l.queries.ListWaitingRunsOfGroup(ctx, from, l.next)
		if err != nil || len(rows) == 0 {
			return nil, err
		}
		last := rows[len(rows)-1]
		l.next.AfterLine, l.next.AfterMs, l.next.AfterID = last.Line, last.PlannedAt, last.LogID
		l.found = slices.DeleteFunc(rows, l.full)
	}
	next := l.found[:min(most, len(l.found))]
	l.found = l.found[len(next):]
	return next, nil
}

// full reports whether a run's job has as many as it may, with those that were read before.
func (l *line) full(r db.ListWaitingRunsOfGroupRow) bool {
	if r.Most == 0 {
		return false
	}
	left, known := l.room[r.JobID]
	if !known {
		left = r.Most - r.Running
	}
	l.room[r.JobID] = left - 1
	if left <= 0 {
		l.next.ButJobs = appendNew(l.next.ButJobs, r.JobID)
	}
	return left <= 0
}

// lineUp finds out which runs of a batch others are before, in the line of their job or their group: they are not among the first for whom there is
// room.
func (r *room) lineUp(ctx context.Context, e *Engine, tx db.DBTX, batch []*admission) error {
	jobs, groups := make(map[*job][]int64), make(map[int64][]int64)
	for _, a := range batch {
		j := a.d.job
		if j.limit > 0 {
			jobs[j] = append(jobs[j], a.d.id)
		}
		if e.groupLimit(j) > 0 {
			groups[j.group] = append(groups[j.group], a.d.id)
		}
	}
	r.behind = make(map[int64]int64)
	for j, runs := range jobs {
		if err := r.lineUpJob(ctx, e, tx, j, runs); err != nil {
			return err
		}
	}
	for id, runs := range groups {
		if err := r.lineUpGroup(ctx, e, tx, id, runs); err != nil {
			return err
		}
	}
	return r.leaveOut(ctx, e, tx)
}

// leaveOut takes those out that stand in no such line: somebody else has given them their slots, or has ended them, or their job has moved.
func (r *room) leaveOut(ctx context.Context, e *Engine, tx db.DBTX) error {
	if len(r.behind) == 0 {
		return nil
	}
	rows, err := e.queries.ListSlotGroups(ctx, tx, slices.Collect(maps.Keys(r.behind)))
	if err != nil {
		return err
	}
	waiting := make(map[int64]bool, len(rows))
	for _, row := range rows {
		group := r.behind[row.LogID]
		waiting[row.LogID] = row.Running == 0 && (group == 0 || group == row.GroupID)
	}
	maps.DeleteFunc(r.behind, func(id, _ int64) bool { return !waiting[id] })
	return nil
}

func (r *room) lineUpJob(ctx context.Context, e *Engine, tx db.DBTX, j *job, runs []int64) error {
	now := r.jobs[j.id]
	free := int64(j.limit) - now.Running
	if free <= 0 || now.Waiting <= int64(len(runs)) { // they are all that wait
		return nil
	}
	first, err := e.queries.ListWaitingRuns(ctx, tx, db.ListWaitingRunsParams{JobID: j.id, NowMs: e.now().UnixMilli(), Limit: int32(free)})
	if err != nil || int64(len(first)) < free {
		return err
	}
	for _, id := range runs {
		if !slices.Contains(first, id) {
			r.behind[id] = 0
		}
	}
	return nil
}

func (r *room) lineUpGroup(ctx context.Context, e *Engine, tx db.DBTX, groupID int64, runs []int64) error {
	g := r.groups[groupID]
	if g == nil {
		return nil
	}
	line := e.lineOf(groupID)
	free := int(g.limit - g.running)
	if free >= maxWaiting { // there is room for more than are looked at while the gate is locked
		return nil
	}
	for free > 0 && len(runs) > 0 {
		next, err := line.read(ctx, tx, free)
		if err != nil || len(next) == 0 {
			return err
		}
		free -= len(next)
		for _, w := range next {
			runs = slices.DeleteFunc(runs, func(id int64) bool { return id == w.LogID })
		}
		if free > 0 {
			continue
		}
		for _, id := range runs {
			r.behind[id] = groupID
		}
	}
	return nil
}
