package manage

import (
	"context"
	"sync"
	"time"

	"github.com/punctual-job/punctual/db"
)

// unheard holds how many jobs name addresses for alarm mails that no channel carries. Every page of an administrator asks.
type unheard struct {
	mu      sync.Mutex
	until   time.Time // the figures count; by the monotonic clock
	jobs    int64
	carried bool
}

// unheardFor is how long it counts: a count reads all jobs.
const unheardFor = 30 * time.Second

// forget makes the next page count anew.
func (u *unheard) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.until = time.Time{}
}

// Unheard is how many jobs name addresses for alarm mails while no mail channel is marked to carry them: an XXL-JOB admin sent such
// mails by a setting of its process. 0 where that cannot be found out, which is no reason to show no page.
func (s *Channels) Unheard(ctx context.Context) int64 {
	jobs, _ := s.mails(ctx)
	return jobs
}

// CarryJobs says whether a mail channel carries the mails to the addresses that jobs name.
func (s *Channels) CarryJobs(ctx context.Context) bool {
	_, carried := s.mails(ctx)
	return carried
}

func (s *Channels) mails(ctx context.Context) (jobs int64, carried bool) {
	u := &s.unheard
	u.mu.Lock()
	defer u.mu.Unlock()
	if time.Now().Before(u.until) {
		return u.jobs, u.carried
	}
	n, err := s.queries.CountChannelsForJobs(ctx, s.cfg.Pool)
	if err == nil && n == 0 {
		jobs, err = s.queries.CountJobsWithMail(ctx, s.cfg.Pool)
	}
	if err != nil {
		s.cfg.Logger.Debug("count jobs whose alarm mails nobody sends", "error", db.Error(err))
		return 0, true
	}
	u.jobs, u.carried, u.until = jobs, n > 0, time.Now().Add(unheardFor)
	return u.jobs, u.carried
}
