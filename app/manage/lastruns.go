package manage

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/punctual-job/punctual/db"
)

const (
	// lastRunsLife is when the newest runs of all jobs are read anew: some may have been deleted.
	lastRunsLife = 10 * time.Minute
	// lastRunsLag is how long after its time a run may become visible: it was made late, or its transaction took long.
	lastRunsLag = 15 * time.Second
	// lastRunsMost is up to how many new runs are quicker to read than a step in the index for each job.
	lastRunsMost = 20_000
)

// lastRuns knows the newest run of each job. A column beside the job would have to be written, and an index on it moved, by each run, for
// an order that is looked at now and then. So each admin keeps it in memory from the first time on that somebody asks for it, and reads
// the runs and the jobs that have come since. A deleted job is noticed when it is to be on a page.
type lastRuns struct {
	mu     sync.Mutex
	of     map[int64]int64 // by job
	order  []lastRun       // those that never ran, and then the others, as compareRuns has them
	never  int             // how many never ran
	newest int64           // the newest job
	whole  time.Time       // when all were read
	read   time.Time       // when the last were
}

// lastRun is a job, and its newest run; 0: it never ran.
type lastRun struct{ job, run int64 }

func compareRuns(a, b lastRun) int {
	return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.job, b.job))
}

// page are jobs of all, in the order of a filter and behind its place.
func (l *lastRuns) page(ctx context.Context, pool *db.Pool, now time.Time, q db.JobFilter, offset, limit int64) ([]lastRun, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refresh(ctx, pool, now); err != nil {
		return nil, err
	}
	n := len(l.order)
	first := 0
	if q.After != nil {
		at, found := slices.BinarySearchFunc(l.order, lastRun{q.After.ID, q.After.Last}, compareRuns)
		switch {
		case q.Desc:
			first = n - at
		case q.After.Last == 0:
			first = n - l.never + at
		default:
			first = at - l.never
		}
		if !q.Desc && found {
			first++
		}
	}
	var list []lastRun
	for i := first + int(offset); i < n && len(list) < int(limit); i++ {
		switch at := i + l.never; {
		case q.Desc:
			list = append(list, l.order[n-1-i])
		case at < n:
			list = append(list, l.order[at])
		default:
			list = append(list, l.order[at-n])
		}
	}
	return list, nil
}

// runsOf are the newest runs of some jobs.
func (l *lastRuns) runsOf(ctx context.Context, pool *db.Pool, now time.Time, jobIDs []int64) ([]lastRun, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.refresh(ctx, pool, now); err != nil {
		return nil, err
	}
	list := make([]lastRun, len(jobIDs))
	for i, id := range jobIDs {
		list[i] = lastRun{id, l.of[id]}
	}
	return list, nil
}

func (l *lastRuns) refresh(ctx context.Context, pool *db.Pool, now time.Time) error {
	if _, building := pool.Building(); building { // as [Jobs.Outcomes]
		l.whole, l.read = time.Time{}, now
		ids, err := db.FindJobsAbove(ctx, pool, 0)
		if err == nil {
			l.set(nil, ids)
		}
		return err
	}
	// A wall clock that was set back says nothing about what came since.
	if now.Sub(l.whole) < lastRunsLife && !now.Before(l.read) && !pool.Wall(now).Before(pool.Wall(l.read)) {
		runs, err := db.FindRunsBetween(ctx, pool, l.read.Add(-lastRunsLag), now, lastRunsMost+1)
		if err != nil {
			return err
		}
		if len(runs) <= lastRunsMost {
			return l.add(ctx, pool, now, runs)
		}
	}
	runs, err := db.FindLastRuns(ctx, pool, now)
	if err != nil {
		return err
	}
	l.whole, l.read = now, now
	l.set(runs, nil)
	return nil
}

// set takes the newest runs of all jobs, and the jobs that have none.
func (l *lastRuns) set(runs []db.RunOfJob, never []int64) {
	l.of, l.order, l.newest = make(map[int64]int64, len(runs)), make([]lastRun, 0, len(runs)+len(never)), 0
	for _, r := range runs {
		l.of[r.Job], l.newest = r.Run, max(l.newest, r.Job)
		l.order = append(l.order, lastRun{r.Job, r.Run})
	}
	for _, id := range never {
		l.order = append(l.order, lastRun{job: id})
	}
	l.sort()
}

// add takes what has come since.
func (l *lastRuns) add(ctx context.Context, pool *db.Pool, now time.Time, runs []db.RunOfJob) error {
	jobs, err := db.FindJobsAbove(ctx, pool, l.newest)
	if err != nil {
		return err
	}
	l.read = now
	for _, id := range jobs {
		l.of[id], l.newest = 0, max(l.newest, id)
		l.order = append(l.order, lastRun{job: id})
	}
	moved := make(map[int64]bool)
	for _, r := range runs {
		if last, ok := l.of[r.Job]; ok && r.Run > last { // else it was deleted
			l.of[r.Job], moved[r.Job] = r.Run, true
		}
	}
	if len(jobs)+len(moved) == 0 {
		return nil
	}
	for i := range l.order {
		if r := &l.order[i]; moved[r.job] {
			r.run = l.of[r.job]
		}
	}
	l.sort()
	return nil
}

// forget takes out those of some jobs that are not there.
func (l *lastRuns) forget(ids []int64, there map[int64]db.ListJobKindsRow) {
	l.mu.Lock()
	defer l.mu.Unlock()
	gone := make(map[int64]bool)
	for _, id := range ids {
		if _, ok := there[id]; !ok {
			gone[id] = true
			delete(l.of, id)
		}
	}
	l.order = slices.DeleteFunc(l.order, func(r lastRun) bool { return gone[r.job] })
	l.sort()
}

func (l *lastRuns) sort() {
	slices.SortFunc(l.order, compareRuns)
	l.never, _ = slices.BinarySearchFunc(l.order, lastRun{run: 1}, compareRuns)
}

// byLastRun are a page of the jobs under a filter in the order of their newest runs, behind its place. Those that never ran come last in
// either direction.
func (s *Jobs) byLastRun(ctx context.Context, q db.JobFilter, offset, limit int64) ([]lastRun, error) {
	if q.Plain() && len(q.Groups) == 0 && q.Status == nil {
		return s.lastPage(ctx, q, offset, limit)
	}
	ids, err := db.FindAllJobs(ctx, s.cfg.Pool, q)
	if err != nil {
		return nil, err
	}
	list, err := s.last.runsOf(ctx, s.cfg.Pool, s.cfg.Now(), ids)
	if err != nil {
		return nil, err
	}
	order := func(a, b lastRun) int {
		by := compareRuns(a, b)
		if q.Desc || (a.run == 0) != (b.run == 0) {
			return -by
		}
		return by
	}
	if q.After != nil {
		at := lastRun{q.After.ID, q.After.Last}
		list = slices.DeleteFunc(list, func(r lastRun) bool { return order(r, at) <= 0 })
	}
	slices.SortFunc(list, order)
	n := int64(len(list))
	return list[min(offset, n):min(offset+limit, n)], nil
}

// lastPage is a page of all jobs. One that was deleted since it was read leaves no gap: a page with one would be taken for the last.
func (s *Jobs) lastPage(ctx context.Context, q db.JobFilter, offset, limit int64) ([]lastRun, error) {
	for {
		list, err := s.last.page(ctx, s.cfg.Pool, s.cfg.Now(), q, offset, limit)
		if err != nil {
			return nil, err
		}
		ids := db.IDs(list, func(r *lastRun) int64 { return r.job })
		there, err := s.kinds(ctx, ids)
		if err != nil || len(there) == len(list) {
			return list, err
		}
		s.last.forget(ids, there)
	}
}
