package app

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/shadow"
)

const (
	shadowLook = 5 * time.Second // between two looks at the tables
	shadowSave = time.Minute     // between two reports
	// shadowPage is how many runs are read at a time, and shadowAgain how many ids before the newest are read again: ids are given
	// before their rows can be seen.
	shadowPage  = 5000
	shadowAgain = 1000
)

// ShadowReport is what XXL-JOB kept of the fires that Punctual planned, for as long as somebody looked. A later look goes on with it.
type ShadowReport struct {
	Database string                 `json:"database"`
	Zone     string                 `json:"zone"`
	Release  string                 `json:"release"`
	Began    time.Time              `json:"began"`
	Until    time.Time              `json:"until"`
	Watched  time.Duration          `json:"watchedNs"` // without the time in which nobody looked
	Total    shadow.Tally           `json:"total"`
	Open     int64                  `json:"open"`    // fires until now that are too young to be judged
	Tallies  map[int64]shadow.Tally `json:"tallies"` // by job
	Jobs     []ShadowedJob          `json:"jobs"`    // those to look at, the worst first
	Findings []shadow.Finding       `json:"findings"`
}

// ShadowedJob is a job whose fires XXL-JOB did not all keep, or that is due at other times here.
type ShadowedJob struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	Conf string `json:"schedule"`
	Why  string `json:"why,omitempty"` // its times are others here
	shadow.Tally
}

// Shadow plans every fire beside the XXL-JOB admins that work on a database, and compares with the runs that they make, for so long
// or until ctx ends. The time begins when the database is open, and it is looked once at least. It only reads. It goes on with a report, and
// save gets it every minute and at the end.
func Shadow(ctx context.Context, o Options, report ShadowReport, length time.Duration, save func(ShadowReport) error) (err error) {
	if o, err = o.withDefaults(); err != nil {
		return err
	}
	if o.DatabaseURL == "" {
		return wrong("there is nothing to look at without a database: set PUNCTUAL_DATABASE_URL to that of the XXL-JOB admin")
	}
	pool, err := openPool(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	w, err := beginShadow(ctx, pool, report, time.Now())
	if err != nil {
		return err
	}
	over := time.NewTimer(length)
	defer over.Stop()
	tick := time.NewTicker(shadowLook)
	defer tick.Stop()
	for saved := time.Now(); ; {
		if err := w.look(ctx, time.Now()); err != nil && ctx.Err() == nil {
			o.Logger.Warn("look at the XXL-JOB admin; it is tried again", "error", err)
		}
		if time.Since(saved) >= shadowSave {
			if err := save(w.report); err != nil {
				return err
			}
			saved = time.Now()
		}
		select {
		case <-over.C:
			return save(w.report)
		case <-ctx.Done():
			return save(w.report)
		case <-tick.C:
		}
	}
}

// shadowing is one look at an admin after the other.
type shadowing struct {
	tables *db.Shadow
	zone   *time.Location
	watch  *shadow.Watch
	report ShadowReport
	looked time.Time
	above  int64 // runs up to this id are not read again
	jobs   map[int64]db.ShadowJob
}

func beginShadow(ctx context.Context, pool *db.Pool, report ShadowReport, now time.Time) (*shadowing, error) {
	tables, err := pool.Shadow(ctx)
	if err != nil {
		return nil, err
	}
	s := &shadowing{tables: tables, zone: pool.Zone(), watch: shadow.NewWatch(), report: report, looked: now, jobs: make(map[int64]db.ShadowJob)}
	s.report.Database, s.report.Zone, s.report.Release = pool.String(), zoneWithOffset(pool.Zone(), now), tables.Release.Span()
	if report.Began.IsZero() {
		s.report.Began = now
	}
	s.watch.Total, s.watch.Findings = report.Total, report.Findings
	maps.Copy(s.watch.Jobs, report.Tallies)
	s.above, err = tables.LastRun(ctx)
	return s, err
}

// look reads the jobs and the new runs, and brings the report up to now.
func (s *shadowing) look(ctx context.Context, now time.Time) error {
	rows, err := s.tables.Jobs(ctx)
	if err != nil {
		return err
	}
	jobs := make([]shadow.Job, len(rows))
	for i, r := range rows {
		s.jobs[r.ID] = r
		jobs[i] = shadow.Job{ID: r.ID, Spec: jobspec.Schedule{Type: r.Type, Conf: r.Conf, Zone: s.zone}, Next: r.Next, Retries: r.Retries}
	}
	s.watch.See(jobs, now)
	if err := s.readRuns(ctx); err != nil {
		return err
	}
	s.watch.Settle(now)
	s.report.Watched += now.Sub(s.looked)
	s.looked, s.report.Until, s.report.Open = now, now.In(s.zone), s.watch.Open(now)
	s.report.Total, s.report.Tallies, s.report.Findings = s.watch.Total, s.watch.Jobs, s.watch.Findings
	s.report.Jobs = s.notable()
	return nil
}

func (s *shadowing) readRuns(ctx context.Context) error {
	newest := s.above
	for above := s.above; ; {
		rows, err := s.tables.Runs(ctx, above, shadowPage)
		if err != nil {
			return err
		}
		runs := make([]shadow.Run, len(rows))
		for i, r := range rows {
			runs[i] = shadow.Run{ID: r.ID, JobID: r.JobID, At: r.At, Retries: r.Retries, Shard: r.Shard}
			above = r.ID
		}
		s.watch.Made(runs)
		newest = max(newest, above)
		if len(rows) < shadowPage {
			s.above = max(s.above, newest-shadowAgain)
			return nil
		}
	}
}

// notable are the jobs to look at.
func (s *shadowing) notable() (list []ShadowedJob) {
	for id, j := range s.jobs {
		t := s.watch.Jobs[id]
		if t.Kept() && j.Finding == "" {
			continue
		}
		list = append(list, ShadowedJob{ID: id, Name: j.Name, Conf: j.Conf, Why: checkedFindings[j.Finding], Tally: t})
	}
	slices.SortFunc(list, func(a, b ShadowedJob) int {
		wrong := func(j ShadowedJob) int64 { return j.Late + j.Missed + j.Doubled }
		return cmp.Or(cmp.Compare(wrong(b), wrong(a)), cmp.Compare(a.ID, b.ID))
	})
	return list
}
