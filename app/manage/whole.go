package manage

import (
	"context"
	"fmt"
	"slices"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
)

// Programs read lists with all the texts in them, which the console never does. So many rows are read at a time, and a list
// is refused that is larger than anybody wants to hold.
const (
	wholeStep  = 100
	wholeBytes = 64 << 20
)

func tooLarge() error { return problem.New(problem.Invalid, "problem.list.large") }

// Whole is List with everything there is about each job, its script included.
func (s *Jobs) Whole(ctx context.Context, p auth.Principal, f JobFilter) (jobs []db.Job, total int64, err error) {
	return s.whole(ctx, p, f, wholeBytes)
}

func (s *Jobs) whole(ctx context.Context, p auth.Principal, f JobFilter, limit int) (jobs []db.Job, total int64, err error) {
	f.Exact = true // programs take the total at its word
	var list JobList
	found, err := s.find(ctx, p, f, &list)
	if err != nil {
		return nil, 0, err
	}
	size := 0
	for ids := range slices.Chunk(found, wholeStep) {
		byID, err := s.Stored(ctx, ids)
		if err != nil {
			return nil, 0, err
		}
		for _, id := range ids {
			j, ok := byID[id] // one that was deleted meanwhile is none any more
			if !ok || !p.CanUseGroup(j.JobGroup) {
				continue
			}
			if size += len(j.GlueSource) + len(j.ExecutorParam); size > limit {
				return nil, 0, tooLarge()
			}
			jobs = append(jobs, j)
		}
	}
	return jobs, list.Total, nil
}

const (
	// countedRuns is how many runs are counted exactly for a list with a total. Beyond it the total only says that there are
	// more than were asked for, which is what a program needs to go on to the next page.
	countedRuns = 10_000
	// maxRunOffset bounds how far into a list somebody gets by offset: each step is read and thrown away.
	maxRunOffset = 1_000_000
)

// Window are the runs from an offset on, newest first and with all their texts, for callers that count in offsets. Of the
// filter counts what XXL-JOB's has: group, job, result and times. The total is exact up to [countedRuns].
func (s *Runs) Window(ctx context.Context, p auth.Principal, f RunFilter, offset int) (runs []db.Run, total int64, err error) {
	if offset < 0 || offset > maxRunOffset {
		return nil, 0, problem.New(problem.Invalid, "problem.runs.offset", "Max", maxRunOffset)
	}
	q, err := s.query(ctx, p, f)
	if err != nil || q == nil {
		return nil, 0, err
	}
	ids, total, err := q.window(ctx, f.Limit, offset)
	if err != nil {
		return nil, 0, err
	}
	size := 0
	for chunk := range slices.Chunk(ids, wholeStep) {
		rows, err := s.queries.ListWholeRuns(ctx, s.cfg.Pool, chunk)
		if err != nil {
			return nil, 0, fmt.Errorf("read runs: %w", db.Error(err))
		}
		for i := range rows {
			if size += len(rows[i].TriggerMsg) + len(rows[i].HandleMsg) + len(rows[i].ExecutorParam); size > wholeBytes {
				return nil, 0, tooLarge()
			}
		}
		runs = append(runs, rows...)
	}
	return runs, total, nil
}

// window are the ids of a page and the total.
func (q *runQuery) window(ctx context.Context, limit, offset int) (ids []int64, total int64, err error) {
	if offset+limit <= countedRuns {
		if ids, err = q.idsBack(ctx, countedRuns+1, 0); err != nil {
			return nil, 0, err
		}
		from := min(offset, len(ids))
		return ids[from:min(from+limit, len(ids))], int64(len(ids)), nil
	}
	// One more tells whether there is a page beyond.
	if ids, err = q.idsBack(ctx, limit+1, offset); err != nil {
		return nil, 0, err
	}
	if total = int64(offset + len(ids)); len(ids) == 0 {
		rest, err := q.idsBack(ctx, offset, 0) // somebody asks beyond the end, and learns where it is
		return nil, int64(len(rest)), err
	}
	return ids[:min(len(ids), limit)], total, nil
}

// idsBack are the ids from an offset on. They are read in parts, of which those before the offset are thrown away.
func (q *runQuery) idsBack(ctx context.Context, limit, offset int) (list []int64, err error) {
	for before := q.before; ; {
		part := min(offset+limit, countedRuns+1)
		ids, err := db.FindRunIDs(ctx, q.s.cfg.Pool, q.filter, q.from, before, part, true)
		if err != nil {
			return nil, fmt.Errorf("find runs: %w", db.Error(err))
		}
		skipped := min(offset, len(ids))
		list = append(list, ids[skipped:]...)
		offset, limit = offset-skipped, limit-len(ids)+skipped
		if len(ids) < part || limit == 0 {
			return list, nil
		}
		before = ids[part-1]
	}
}
