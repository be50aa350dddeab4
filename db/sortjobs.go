package db

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// JobOrder is what jobs are sorted by.
type JobOrder string

// The orders. What jobs are sorted by is in the database, but for the last run: see [FindLastRuns].
const (
	OrderNewest JobOrder = ""     // the newest first
	OrderName   JobOrder = "name" // as the database compares texts
	OrderNext   JobOrder = "next" // started schedules by their next time, then those that are stopped
	OrderLast   JobOrder = "last" // by their newest run, then those that never ran
)

// JobPlace is a place in an order: what it goes by, of the job that stands there.
type JobPlace struct {
	Name    string
	Started bool
	Next    int64
	Last    int64 // the newest run; 0: it never ran
	ID      int64
}

const (
	// fewJobs is up to where reading the jobs of some groups and sorting them is quicker than walking through an index of all jobs. Of many jobs it
	// is one in fewOfJobs: one that is found by an index takes MariaDB seven times as long as the next one in a row, half of that where two parts of
	// these are read at a time.
	fewJobs   = 2000
	fewOfJobs = 16
	// sortLimit is up to how many jobs that are found by their names are sorted by something else.
	sortLimit = 1000
)

// SortJobs is [SearchJobs] in the order that the filter asks for.
//
// The indexes i_job_name and i_trigger_next have all that a plain filter asks for, so that a page is a walk through one of them
// which reads no job. Other filters have to read the jobs, as a search that finds nothing does.
func SortJobs(ctx context.Context, pool *Pool, f JobFilter, offset, limit int64) ([]int64, error) {
	if f.Order == OrderNewest {
		return SearchJobs(ctx, pool, f, offset, limit)
	}
	f, some, err := f.narrowed(ctx, pool)
	if err != nil || !some {
		return nil, err
	}
	switch {
	case f.byName() && f.Order == OrderName:
		f.names = true
		return f.sorted(ctx, pool, anyStatus, f.where(false), offset, limit)
	case f.Plain() && (f.wide || len(f.Groups) == 0):
		return f.walk(ctx, pool, offset, limit)
	case f.reads():
		if ids, enough, err := f.foremost(ctx, pool, offset, limit); err != nil || enough {
			return ids, err
		}
		return searchSorted(ctx, pool, f, offset, limit)
	}
	return f.sorted(ctx, pool, readStatus, f.where(false), offset, limit)
}

// foremost looks only at so many jobs as a search looks at first, those that stand foremost whatever else is asked of them. enough says that it
// found a page among them, or that there are no others. They stay in the order that they were read in: one that fires meanwhile is not taken for
// the last of the page, behind which the next one begins.
func (f JobFilter) foremost(ctx context.Context, pool *Pool, offset, limit int64) (ids []int64, enough bool, err error) {
	first, err := JobFilter{Status: f.Status, Order: f.Order, Desc: f.Desc, After: f.After}.walk(ctx, pool, 0, pool.newestFirst)
	if err != nil || len(first) == 0 {
		return nil, true, err
	}
	f.IDs, f.wide, f.Status = first, false, nil
	w := f.where(false)
	match, err := findIDs(ctx, pool, "the foremost jobs", "SELECT id FROM xxl_job_info"+w.String(), w.args)
	if err != nil {
		return nil, false, err
	}
	matches := make(map[int64]bool, len(match))
	for _, id := range match {
		matches[id] = true
	}
	for _, id := range first {
		if matches[id] {
			ids = append(ids, id)
		}
	}
	enough = int64(len(ids)) >= offset+limit || int64(len(first)) < pool.newestFirst
	return ids[min(offset, int64(len(ids))):min(offset+limit, int64(len(ids)))], enough, nil
}

// walk reads a page of a plain filter from the index of its order.
func (f JobFilter) walk(ctx context.Context, tx DBTX, offset, limit int64) ([]int64, error) {
	if f.Order == OrderName {
		return f.sorted(ctx, tx, anyStatus, f.byIndex(anyStatus), offset, limit)
	}
	return f.sortedByNext(ctx, tx, offset, limit)
}

// sortedByNext walks through the started jobs, and after them through the stopped ones.
func (f JobFilter) sortedByNext(ctx context.Context, tx DBTX, offset, limit int64) (ids []int64, err error) {
	stopped := f.Status != nil && *f.Status == int64(jobStopped) || f.After != nil && !f.After.Started
	if !stopped {
		if ids, err = f.startedByNext(ctx, tx, offset, limit); err != nil {
			return nil, err
		}
		found := int64(len(ids))
		if f.Status != nil || found == limit {
			return ids, nil
		}
		before := offset + found // started jobs
		if found == 0 && offset > 0 {
			g, started := f, int64(jobStarted)
			g.Status = &started
			if before, err = countJobs(ctx, tx, g); err != nil {
				return nil, err
			}
		}
		offset, limit = max(0, offset-before), limit-found
		if f.After != nil {
			f.After = &JobPlace{}
		}
	}
	rest, err := f.sorted(ctx, tx, jobStopped, f.byIndex(jobStopped), offset, limit)
	return append(ids, rest...), err
}

// startedByNext reads a page of the started jobs, each of whose statuses is a walk of its own.
func (f JobFilter) startedByNext(ctx context.Context, tx DBTX, offset, limit int64) ([]int64, error) {
	hidden, err := f.places(ctx, tx, jobHidden, offset+limit)
	if err != nil {
		return nil, err
	}
	if len(hidden) == 0 {
		return f.sorted(ctx, tx, jobStarted, f.byIndex(jobStarted), offset, limit)
	}
	shown, err := f.places(ctx, tx, jobStarted, offset+limit)
	if err != nil {
		return nil, err
	}
	all := merged(shown, hidden, int(offset+limit), func(a, b *JobPlace) int {
		order := cmp.Or(cmp.Compare(a.Next, b.Next), cmp.Compare(a.ID, b.ID))
		if f.Desc {
			return -order
		}
		return order
	})
	var ids []int64
	for _, at := range all[min(offset, int64(len(all))):] {
		ids = append(ids, at.ID)
	}
	return ids, nil
}

// places reads the first of a segment by their next times.
func (f JobFilter) places(ctx context.Context, tx DBTX, of segment, limit int64) (places []JobPlace, err error) {
	w := f.byIndex(of)
	f.behind(of, w)
	rows, err := tx.QueryContext(ctx, "SELECT id, trigger_next_time FROM xxl_job_info"+w.String()+" ORDER BY "+f.order(of)+" LIMIT ?", append(w.args, limit)...)
	if err != nil {
		return nil, fmt.Errorf("find jobs by their next times: %w", err)
	}
	err = scanAll(rows, func() error {
		var at JobPlace
		err := rows.Scan(&at.ID, &at.Next)
		places = append(places, at)
		return err
	})
	return places, err
}

// segment is the part of the jobs that a walk goes through: those with a status, or all. readStatus are all that are read anyway: an
// index on the order would lead the database to them one by one.
type segment int64

const (
	readStatus segment = -2
	anyStatus  segment = -1
	jobStopped segment = 0
	jobStarted segment = 1
	jobHidden  segment = 2 // started too, see db/due.go
)

// byIndex are the conditions of a plain filter, put so that no other index than that of the order serves them.
func (f JobFilter) byIndex(of segment) *where {
	w := new(where)
	switch {
	case of != anyStatus:
		w.and("trigger_status = ?", int64(of))
	case f.Status == nil:
	case *f.Status == int64(jobStopped):
		w.and("trigger_status + 0 = 0")
	default:
		w.and("trigger_status + 0 > 0")
	}
	if len(f.Groups) > 0 {
		w.in("job_group + 0", f.Groups)
	}
	return w
}

// sorted reads a page of those that conditions leave.
func (f JobFilter) sorted(ctx context.Context, tx DBTX, of segment, w *where, offset, limit int64) ([]int64, error) {
	f.behind(of, w)
	query := "SELECT id FROM " + f.table() + w.String() + " ORDER BY " + f.order(of) + " LIMIT ? OFFSET ?"
	return findIDs(ctx, tx, "jobs in their order", query, append(w.args, limit, offset))
}

// order is what the jobs of a segment are sorted by.
func (f JobFilter) order(of segment) string {
	direction := ""
	if f.Desc {
		direction = " DESC"
	}
	key, first := "trigger_next_time", ""
	switch {
	case f.Order == OrderName:
		key = nameOf(of)
	case of < 0:
		first = "CASE WHEN trigger_status > 0 THEN 0 ELSE 1 END, "
	}
	return first + key + direction + ", id" + direction
}

// nameOf is the name of a job, put so that no index serves it where that would be slower.
func nameOf(of segment) string {
	if of == readStatus {
		return "CONCAT(job_desc, '')"
	}
	return "job_desc"
}

// behind leaves what comes after a place.
func (f JobFilter) behind(of segment, w *where) {
	if f.After == nil {
		return
	}
	further := " > ?"
	if f.Desc {
		further = " < ?"
	}
	at := *f.After
	switch {
	case f.Order == OrderName:
		w.and("("+nameOf(of)+further+" OR ("+nameOf(of)+" = ? AND id"+further+"))", at.Name, at.Name, at.ID)
	case of == jobStopped && at == JobPlace{}: // behind the last that is started
	case of >= 0:
		w.and("(trigger_next_time"+further+" OR (trigger_next_time = ? AND id"+further+"))", at.Next, at.Next, at.ID)
	case at.Started:
		w.and("(trigger_status <= 0 OR trigger_next_time"+further+" OR (trigger_next_time = ? AND id"+further+"))", at.Next, at.Next, at.ID)
	default:
		w.and("trigger_status <= 0 AND id"+further, at.ID)
	}
}

// searchSorted sorts what only reading all jobs can tell: the few that the index on the names finds, or the first of each part, and then
// of those.
func searchSorted(ctx context.Context, pool *Pool, f JobFilter, offset, limit int64) ([]int64, error) {
	if f.byName() {
		ids, err := f.few(ctx, pool)
		if err != nil {
			return nil, err
		}
		if len(ids) <= sortLimit {
			return f.sortedOf(ctx, pool, ids, offset, limit)
		}
	}
	parts, err := f.parts(ctx, pool)
	if err != nil {
		return nil, err
	}
	found := make([][]int64, len(parts))
	err = pool.sideBySide(ctx, len(parts), func(i int) (err error) {
		found[i], err = parts[i].sorted(ctx, pool, readStatus, parts[i].where(false), 0, offset+limit)
		return err
	})
	if err != nil {
		return nil, err
	}
	f.After = nil
	return f.sortedOf(ctx, pool, slices.Concat(found...), offset, limit)
}

// few are all jobs that a filter finds by their names, or one more than sortLimit.
func (f JobFilter) few(ctx context.Context, pool *Pool) (ids []int64, err error) {
	f.names = true
	w := f.where(false)
	err = pool.sideBySide(ctx, 1, func(int) (err error) {
		ids, err = findIDs(ctx, pool, "jobs", "SELECT id FROM "+f.table()+w.String()+" LIMIT ?", append(w.args, sortLimit+1))
		return err
	})
	return ids, err
}

// sortedOf reads a page of jobs that were found.
func (f JobFilter) sortedOf(ctx context.Context, tx DBTX, ids []int64, offset, limit int64) ([]int64, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	w := new(where)
	w.in("id", ids)
	return f.sorted(ctx, tx, readStatus, w, offset, limit)
}
