package upkeep

import (
	"context"
	"time"

	"github.com/punctual-job/punctual/db"
)

// runScope is which runs are read.
type runScope struct {
	group, job int64 // 0: all
}

// pages reads runs in the order of ids, a page at a time. The size of a page follows the time that reading and deleting one
// takes, so that a slow database is asked for little at a time.
type pages struct {
	s           *Service
	scope       runScope
	after, upto int64
	size        int
	began       time.Time
}

const (
	pageMin, pageStart, pageMax = 50, 200, 1000
	pageTime                    = 20 * time.Millisecond
)

func (s *Service) newPages(of runScope, after, upto int64) *pages {
	return &pages{s: s, scope: of, after: after, upto: upto, size: pageStart}
}

// next reads a page; it is empty after the last.
func (p *pages) next(ctx context.Context) ([]db.ListRunStatesRow, error) {
	p.began = time.Now()
	rows, err := p.read(ctx)
	if err == nil && len(rows) > 0 {
		p.after = rows[len(rows)-1].ID
	}
	return rows, err
}

func (p *pages) read(ctx context.Context) ([]db.ListRunStatesRow, error) {
	q, pool, limit := p.s.queries, p.s.cfg.Pool, int32(p.size)
	if p.scope.job == 0 && p.scope.group == 0 {
		return q.ListRunStates(ctx, pool, db.ListRunStatesParams{AfterID: p.after, UptoID: p.upto, Limit: limit})
	}
	var rows []db.ListRunStatesRow
	if p.scope.job == 0 {
		of, err := q.ListRunStatesOfGroup(ctx, pool, db.ListRunStatesOfGroupParams{JobGroup: p.scope.group, AfterID: p.after, UptoID: p.upto, Limit: limit})
		for _, r := range of {
			rows = append(rows, db.ListRunStatesRow(r))
		}
		return rows, err
	}
	of, err := q.ListRunStatesOfJob(ctx, pool, db.ListRunStatesOfJobParams{JobID: p.scope.job, AfterID: p.after, UptoID: p.upto, Limit: limit})
	for _, r := range of {
		rows = append(rows, db.ListRunStatesRow(r))
	}
	return rows, err
}

// rest pauses in proportion to what the page took, and adapts the size of the next.
func (p *pages) rest(ctx context.Context) error {
	took := time.Since(p.began)
	switch {
	case took > 2*pageTime:
		p.size = max(p.size/2, pageMin)
	case took < pageTime:
		p.size = min(2*p.size, pageMax)
	}
	return Rest(ctx, restAfter(took))
}
