package manage

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/runstate"
)

// RunSort is another order of runs than the newest first.
type RunSort struct {
	By   RunOrder
	Desc bool // the largest first
}

// RunOrder is what runs are sorted by.
type RunOrder string

// The orders. An index on either would have to be written for every run, so that a list is sorted among the newest runs under its
// filter, and says among how many.
const (
	RunsByDuration RunOrder = "duration"
	RunsByLateness RunOrder = "lateness"
)

// Among how many runs a list is sorted, and if somebody asks for more.
const (
	sortedRuns     = 5000
	sortedRunsDeep = 50_000
)

// sorted is one page of runs in another order.
func (s *Runs) sorted(ctx context.Context, q *runQuery, f RunFilter) (list RunList, err error) {
	most := sortedRuns
	if f.Deep {
		most = sortedRunsDeep
	}
	var spans []db.RunTimes
	reached, err := s.search.walk(q.from, q.before, q.time, true, func(from, before int64) (bool, error) {
		found, err := db.FindRunTimes(ctx, s.cfg.Pool, q.filter, from, before, most-len(spans))
		spans = append(spans, found...)
		return len(spans) >= most, db.Error(err)
	})
	if err != nil {
		return list, fmt.Errorf("sort runs: %w", err)
	}
	list.Sorted, list.Whole = len(spans), reached <= q.from && len(spans) < most
	if !list.Whole {
		oldest := reached
		if len(spans) >= most {
			oldest = slices.MinFunc(spans, func(a, b db.RunTimes) int { return cmp.Compare(a.ID, b.ID) }).ID
		}
		list.Older, list.Searched = oldest, !f.Deep
		if err := q.stopped(ctx, &list); err != nil {
			return list, err
		}
	}
	ids := s.inOrder(spans, f.Sort)
	if ids = ids[:min(len(ids), f.Limit)]; len(ids) == 0 {
		return list, nil
	}
	rows, err := db.FindRuns(ctx, s.cfg.Pool, db.RunFilter{IDs: ids}, 0, math.MaxInt64, len(ids))
	if err != nil {
		return list, fmt.Errorf("read sorted runs: %w", db.Error(err))
	}
	slices.SortFunc(rows, func(a, b db.RunRow) int { return cmp.Compare(slices.Index(ids, a.ID), slices.Index(ids, b.ID)) })
	list.Runs = rows
	return list, nil
}

// inOrder are the ids of runs in an order. Those that have no such number, because they were not sent, come last in any.
func (s *Runs) inOrder(spans []db.RunTimes, by RunSort) []int64 {
	type place struct{ id, key int64 }
	now := s.cfg.Now()
	places := make([]place, len(spans))
	for i, r := range spans {
		key := s.sortKey(r, by.By, now)
		if by.Desc && key >= 0 {
			key = math.MaxInt64 - 1 - key
		} else if key < 0 {
			key = math.MaxInt64
		}
		places[i] = place{r.ID, key}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(b.id, a.id)) })
	return db.IDs(places, func(r *place) int64 { return r.id })
}

// sortKey is what a run is sorted by, in milliseconds, as the list shows it; negative where there is none.
func (s *Runs) sortKey(r db.RunTimes, by RunOrder, now time.Time) int64 {
	if by == RunsByLateness {
		if r.PlannedAt <= 0 || r.SentAt <= 0 {
			return -1
		}
		return max(0, r.SentAt-r.PlannedAt)
	}
	run := runstate.Run{TriggerCode: r.TriggerCode, HandleCode: r.HandleCode, Planned: r.PlannedAt, Sent: r.SentAt, Finished: r.FinishedAt,
		Triggered: s.cfg.Pool.InstantOf(r.TriggerTime), Handled: s.cfg.Pool.InstantOf(r.HandleTime)}
	began, end := run.Span()
	switch {
	case began.IsZero() || r.TriggerCode != wire.CodeSuccess:
		return -1
	case end.IsZero():
		end = now
	}
	return max(0, end.Sub(began).Milliseconds())
}
