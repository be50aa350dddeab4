package manage

import (
	"context"
	"sync"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/runtimes"
)

const (
	usualLife = 10 * time.Minute
	usualJobs = 20_000 // are kept
)

// usualTimes keeps how long jobs usually take, for lists: 200 runs tell it of each.
type usualTimes struct {
	cfg     Config
	queries *db.Queries

	mu   sync.Mutex
	jobs map[int64]usualTime
}

type usualTime struct {
	durations runtimes.Durations
	read      time.Time
}

func (u *usualTimes) of(ctx context.Context, jobID int64) (runtimes.Durations, error) {
	now := u.cfg.Now()
	u.mu.Lock()
	kept, ok := u.jobs[jobID]
	u.mu.Unlock()
	if age := now.Sub(kept.read); ok && age >= 0 && age < usualLife {
		return kept.durations, nil
	}
	d, err := runtimes.Of(ctx, u.queries, u.cfg.Pool, jobID)
	if err != nil || d.Runs == 0 { // which is read quickly, and may be another thing soon
		return d, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.jobs == nil || len(u.jobs) >= usualJobs {
		u.jobs = make(map[int64]usualTime)
	}
	u.jobs[jobID] = usualTime{d, now}
	return d, nil
}
