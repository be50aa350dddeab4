package scheduler

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/punctual-job/punctual/db"
)

// line is the runs of a group that wait for a slot, in the order in which they get one: that of the priorities of their jobs, and
// then of their planned times. Those of a job that has as many as it may let the others pass.
//
// It is read run by run, in pieces, up to one with nobody who has room: of jobs that are full thousands may wait before the next that has some. From there on
// it is read job by job, so that what a read costs follows the jobs that wait and the runs that are found, not the runs that are passed.
type line struct {
	queries *db.Queries
	next    db.ListWaitingRunsOfGroupParams
	room    map[int64]int64                // of jobs that have a limit themselves
	found   []db.ListWaitingRunsOfGroupRow // and not read
	byJob   bool
	parts   []part // of jobs with room, by their next runs
}

// part is the runs of a job in a line that are not found yet.
type part struct {
	db.ListWaitingJobsOfGroupRow
	afterID int64                          // of those planned at PlannedAt, the ones after this
	read    []db.ListWaitingRunsOfGroupRow // the next of them
}

// next is where the next run of a part stands, or before it.
func (p part) next() (line, plannedAt, id int64) {
	if len(p.read) > 0 {
		return p.Line, p.read[0].PlannedAt, p.read[0].LogID
	}
	return p.Line, p.PlannedAt, p.afterID
}

func (p part) compare(o part) int {
	line, at, id := p.next()
	oLine, oAt, oID := o.next()
	return cmp.Or(cmp.Compare(line, oLine), cmp.Compare(at, oAt), cmp.Compare(id, oID))
}

func (e *Engine) lineOf(groupID int64) *line {
	return &line{
		queries: e.queries, room: make(map[int64]int64),
		next: db.ListWaitingRunsOfGroupParams{GroupID: groupID, NowMs: e.now().UnixMilli(), AfterLine: math.MinInt32},
	}
}

// lineRuns is how many runs are read at once at most.
const lineRuns = 500

// read returns the next of them, so many at most, and none at the end.
func (l *line) read(ctx context.Context, from db.DBTX, most int) ([]db.ListWaitingRunsOfGroupRow, error) {
	if len(l.found) == 0 && !l.byJob {
		l.next.Limit = int32(min(max(most, nextRuns), lineRuns))
		rows, err := l.queries.ListWaitingRunsOfGroup(ctx, from, l.next)
		if err != nil || len(rows) == 0 {
			return nil, err
		}
		last := rows[len(rows)-1]
		l.next.AfterLine, l.next.AfterMs, l.next.AfterID = last.Line, last.PlannedAt, last.LogID
		l.found = slices.DeleteFunc(rows, l.full)
	}
	if len(l.found) == 0 && !l.byJob {
		if err := l.readJobs(ctx, from); err != nil {
			return nil, err
		}
	}
	for len(l.found) < most && len(l.parts) > 0 {
		p := l.parts[0]
		l.parts = l.parts[1:]
		if len(p.read) > 0 {
			l.find(p)
		} else if err := l.readJob(ctx, from, p, most); err != nil {
			return nil, err
		}
	}
	next := l.found[:min(most, len(l.found))]
	l.found = l.found[len(next):]
	return next, nil
}

// readJobs goes over to reading job by job.
func (l *line) readJobs(ctx context.Context, from db.DBTX) error {
	rows, err := l.queries.ListWaitingJobsOfGroup(ctx, from, l.next.GroupID)
	if err != nil {
		return err
	}
	l.byJob = true
	for _, r := range rows {
		p := part{ListWaitingJobsOfGroupRow: r}
		if r.Line == l.next.AfterLine && r.PlannedAt <= l.next.AfterMs { // some of its runs have been read
			p.PlannedAt, p.afterID = l.next.AfterMs, l.next.AfterID
		}
		if r.Line >= l.next.AfterLine && p.PlannedAt <= l.next.NowMs {
			l.parts = append(l.parts, p)
		}
	}
	slices.SortFunc(l.parts, part.compare)
	return nil
}

// readJob reads the next runs of a part, no more than its job may start.
func (l *line) readJob(ctx context.Context, from db.DBTX, p part, most int) error {
	limit := min(most, lineRuns)
	if p.Most > 0 {
		limit = min(limit, int(l.left(p.JobID, p.Most, p.Taken)))
	}
	if limit <= 0 {
		return nil
	}
	rows, err := l.queries.ListWaitingRunsOfJob(ctx, from, db.ListWaitingRunsOfJobParams{
		GroupID: l.next.GroupID, Line: p.Line, JobID: p.JobID, NowMs: l.next.NowMs, AfterMs: p.PlannedAt, AfterID: p.afterID, Limit: int32(limit),
	})
	if err != nil {
		return err
	}
	for _, r := range rows {
		p.read = append(p.read, db.ListWaitingRunsOfGroupRow{LogID: r.LogID, JobID: p.JobID, Line: p.Line, PlannedAt: r.PlannedAt, Most: p.Most, Running: p.Taken})
		p.PlannedAt, p.afterID = r.PlannedAt, r.LogID
	}
	if len(rows) > 0 {
		l.put(p)
	}
	return nil
}

// find takes the first run of a part, before which there is none of another.
func (l *line) find(p part) {
	if r := p.read[0]; !l.full(r) {
		l.found = append(l.found, r)
	}
	p.read = p.read[1:]
	l.put(p)
}

func (l *line) put(p part) {
	at, _ := slices.BinarySearchFunc(l.parts, p, part.compare)
	l.parts = slices.Insert(l.parts, at, p)
}

// full reports whether a run's job has as many as it may, with those that were found before.
func (l *line) full(r db.ListWaitingRunsOfGroupRow) bool {
	if r.Most == 0 {
		return false
	}
	left := l.left(r.JobID, r.Most, r.Running)
	l.room[r.JobID] = left - 1
	return left <= 0
}

// left is how many runs of a job with a limit may begin beside those that were found before.
func (l *line) left(jobID, most, running int64) int64 {
	if left, known := l.room[jobID]; known {
		return left
	}
	return most - running
}

// lineUp finds out which runs of a batch others are before, in the line of their job or their group: they are not among the first for whom there is
// room.
func (r *room) lineUp(ctx context.Context, e *Engine, tx db.DBTX, batch []*admission) error {
	jobs, groups := make(map[*job][]int64), make(map[int64][]int64)
	for _, a := range batch {
		j := a.d.job
		if !r.waits(a.d) {
			continue
		}
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
	// Whose job has moved stands in no such line.
	maps.DeleteFunc(r.behind, func(id, group int64) bool { return group != 0 && group != r.slots[id].GroupID })
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
