package db

import (
	"context"
	"fmt"
	"time"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

const (
	// KeepPauses is for how long a pause that is over still says what becomes of what fell into it: longer than all admins are
	// down, or a job that was put back lies behind.
	KeepPauses = 90 * 24 * time.Hour
	// MaxPauses is how many pauses there may be that are not forgotten.
	MaxPauses = 5000
)

// ReadPauses reads the pauses that say what holds jobs still at a moment, or did in the last [KeepPauses]. It is one query: they are few.
func ReadPauses(ctx context.Context, pool *Pool, now time.Time) (jobspec.PauseBook, error) {
	rows, err := New().ListPauses(ctx, pool, ListPausesParams{Since: now.Add(-KeepPauses).UnixMilli(), Limit: MaxPauses})
	if err != nil {
		return jobspec.PauseBook{}, fmt.Errorf("read pauses: %w", Error(err))
	}
	return jobspec.NewPauseBook(PauseSpecs(rows, pool.Zone())), nil
}

// Spec is the pause as decisions know it. The zone is the installation's, for pauses without one of their own.
func (p *Pause) Spec(zone *time.Location) *jobspec.Pause {
	s := &jobspec.Pause{
		ID: p.ID, Scope: jobspec.PauseScope(p.Scope), Target: p.Target, Tag: p.Tag, From: time.UnixMilli(p.FromAt), Strategy: jobspec.Pausing(p.Strategy),
		Cron: p.Cron, Length: time.Duration(p.LengthS) * time.Second, Zone: zone, Reason: p.Reason, By: p.MadeBy,
	}
	if p.UntilAt > 0 {
		s.Until = time.UnixMilli(p.UntilAt)
	}
	if loc, err := jobspec.Location(p.Zone); err == nil && loc != nil {
		s.Zone = loc
	}
	return s
}

func PauseSpecs(rows []Pause, zone *time.Location) jobspec.Pauses {
	list := make(jobspec.Pauses, len(rows))
	for i := range rows {
		list[i] = rows[i].Spec(zone)
	}
	return list
}
