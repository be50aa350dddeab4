package db

import (
	"time"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

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

// PauseSpecs are the pauses of rows.
func PauseSpecs(rows []Pause, zone *time.Location) jobspec.Pauses {
	list := make(jobspec.Pauses, len(rows))
	for i := range rows {
		list[i] = rows[i].Spec(zone)
	}
	return list
}
