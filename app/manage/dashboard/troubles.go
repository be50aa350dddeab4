package dashboard

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
)

const (
	troublesLife = 3 * time.Second

	// troubleReach is how far back trouble is looked for, and troubleRows how many runs of each kind.
	troubleReach = 24 * time.Hour
	troubleRows  = 500
	// failingJobs is how many failing jobs are told, failurePage how many failures are read at once, and failureTime how long.
	failingJobs = 200
	failurePage = 2000
	failureTime = 250 * time.Millisecond
	// LateAfter is when something that has not been sent is late, and LongAfter when a run takes long if its job says nothing.
	LateAfter = 10 * time.Second
	LongAfter = time.Hour
)

// Failing is a job that failed and has not succeeded since.
type Failing struct {
	Run      db.RunRow // the newest failure
	Failures int       // as many as were looked at
}

// Late is a job that is due, or a run that is planned, and that nobody has sent.
type Late struct {
	JobID, Group int64
	Run          db.RunRow // zero: the fire is not even on record
	Planned      time.Time
}

// Troubles are the exceptions of the moment. Those of whom there may be more than were looked for are marked.
type Troubles struct {
	Failing []Failing   // the newest failure first
	Late    []Late      // the latest first
	Long    []db.RunRow // the longest first

	MoreFailing, MoreLate, MoreLong bool
}

// LateJobs are the jobs that are late, each once, the latest first.
func (t Troubles) LateJobs() []int64 {
	var ids []int64
	for _, l := range t.Late {
		if !slices.Contains(ids, l.JobID) {
			ids = append(ids, l.JobID)
		}
	}
	return ids
}

// LateRuns are the late fires that are on record.
func (t Troubles) LateRuns() []db.RunRow {
	var runs []db.RunRow
	for _, l := range t.Late {
		if l.Run.ID != 0 {
			runs = append(runs, l.Run)
		}
	}
	return runs
}

// troubles are those of every group.
type troubles struct {
	Troubles
	jobs map[int64]db.Job
}

// Troubles are the exceptions in the groups that the principal may see, and the jobs they are about. The lists behind them
// show what this says, so that a number and its list are the same.
func (s *Dashboard) Troubles(ctx context.Context, p auth.Principal) (Troubles, map[int64]db.Job, error) {
	all, err := s.troubles.get(s.cfg.Now(), troublesLife, func() (troubles, error) { return s.findTroubles(ctx) })
	if err != nil {
		return Troubles{}, nil, err
	}
	// A job may have been moved since: whoever sees the run must see the job too.
	sees := func(jobID, group int64) bool {
		j, exists := all.jobs[jobID]
		return exists && p.CanUseGroup(group) && p.CanUseGroup(j.JobGroup)
	}
	out := Troubles{MoreFailing: all.MoreFailing, MoreLate: all.MoreLate, MoreLong: all.MoreLong}
	for _, f := range all.Failing {
		if sees(f.Run.JobID, f.Run.JobGroup) {
			out.Failing = append(out.Failing, f)
		}
	}
	for _, l := range all.Late {
		if sees(l.JobID, l.Group) {
			out.Late = append(out.Late, l)
		}
	}
	for _, r := range all.Long {
		if sees(r.JobID, r.JobGroup) {
			out.Long = append(out.Long, r)
		}
	}
	return out, all.jobs, nil
}

func (s *Dashboard) findTroubles(ctx context.Context) (t troubles, err error) {
	now := s.cfg.Now()
	from, err := s.queries.FirstRunIDSince(ctx, s.cfg.Pool, sql.NullTime{Time: s.cfg.Pool.Wall(now.Add(-troubleReach)), Valid: true})
	if err != nil {
		return t, fmt.Errorf("find the first run of the day: %w", db.Error(err))
	}
	if from > 0 {
		if err := s.findFailing(ctx, from, &t); err != nil {
			return t, err
		}
	}
	if err := s.findOpen(ctx, now, &t); err != nil {
		return t, err
	}
	due, err := db.ListDue(ctx, s.cfg.Pool, db.ListDueJobsParams{UntilMs: now.Add(-LateAfter).UnixMilli(), AfterMs: math.MinInt64, Limit: troubleRows})
	if err != nil {
		return t, fmt.Errorf("find late jobs: %w", db.Error(err))
	}
	book, err := db.ReadPauses(ctx, s.cfg.Pool, now)
	if err != nil {
		return t, err
	}
	for _, j := range due {
		if _, paused := book.Holding(j.ID, j.JobGroup, j.Tags, now); paused {
			continue // what it has missed is made up for, or not, at the end of the pause
		}
		t.Late = append(t.Late, Late{JobID: j.ID, Group: j.JobGroup, Planned: time.UnixMilli(j.TriggerNextTime)})
	}
	t.MoreLate = t.MoreLate || len(due) == troubleRows
	slices.SortStableFunc(t.Late, func(a, b Late) int { return a.Planned.Compare(b.Planned) })
	return t, s.nameTroubles(ctx, now, &t)
}

// findFailing asks of each job that failed whether it has succeeded since. A job that fails every second must not hide one
// that failed in the morning: it goes back through all failures, page by page, until the day or the time for it is over.
func (s *Dashboard) findFailing(ctx context.Context, from int64, t *troubles) error {
	began := time.Now()
	codes, err := db.ListResultCodes(ctx, s.cfg.Pool)
	if err != nil {
		return fmt.Errorf("find failures: %w", db.Error(err))
	}
	codes = slices.DeleteFunc(codes, func(code int64) bool { return code == wire.CodeSuccess })
	failures, newest := make(map[int64]int), make(map[part]int64)
	for _, code := range codes {
		for before := int64(math.MaxInt64); ; {
			rows, err := s.queries.ListFailuresByCode(ctx, s.cfg.Pool, db.ListFailuresByCodeParams{HandleCode: code, FromID: from, BeforeID: before, Limit: failurePage})
			if err != nil {
				return fmt.Errorf("find failures: %w", db.Error(err))
			}
			for _, r := range rows {
				if r.Failed == 0 {
					continue
				}
				failures[r.JobID]++
				p := part{r.JobID, string(r.ExecutorShardingParam)}
				newest[p] = max(newest[p], r.ID)
			}
			if len(rows) < failurePage {
				break
			}
			if time.Since(began) > s.cfg.Patience {
				t.MoreFailing = true
				break
			}
			before = rows[len(rows)-1].ID
		}
	}
	var kept []int64
	told := make(map[int64]bool)
	order := slices.SortedFunc(maps.Keys(newest), func(a, b part) int { return cmp.Compare(newest[b], newest[a]) })
	for i, p := range order {
		if told[p.job] {
			continue
		}
		if len(kept) == failingJobs || i >= failingJobs && time.Since(began) > 2*s.cfg.Patience {
			t.MoreFailing = true
			break
		}
		recovered, err := s.recovered(ctx, p, newest[p])
		if err != nil {
			return err
		}
		if !recovered {
			kept, told[p.job] = append(kept, newest[p]), true
		}
	}
	if len(kept) == 0 {
		return nil
	}
	rows, err := s.queries.ListFailedRuns(ctx, s.cfg.Pool, kept)
	if err != nil {
		return fmt.Errorf("read failures: %w", db.Error(err))
	}
	for _, r := range rows {
		t.Failing = append(t.Failing, Failing{Run: db.RunRow(r), Failures: failures[r.JobID]})
	}
	return nil
}

// part is a job, or a part of one that is a broadcast, by its "index/total": what one executor fails at, the others may well do, each time.
type part struct {
	job int64
	of  string
}

// recovered says whether a part has succeeded since a run of it failed.
func (s *Dashboard) recovered(ctx context.Context, p part, failed int64) (bool, error) {
	var after []int64
	var err error
	if _, total, broadcast := strings.Cut(p.of, "/"); broadcast {
		after, err = s.queries.ListSuccessesOfPartAfter(ctx, s.cfg.Pool, db.ListSuccessesOfPartAfterParams{JobID: p.job, AfterID: failed, Part: db.Text(p.of), Others: db.Text("%/" + total), Limit: 1})
	} else {
		after, err = s.queries.ListSuccessesAfter(ctx, s.cfg.Pool, db.ListSuccessesAfterParams{JobID: p.job, AfterID: failed, Limit: 1})
	}
	if err != nil {
		return false, fmt.Errorf("find a success after run %d: %w", failed, db.Error(err))
	}
	return len(after) > 0, nil
}

// findOpen sorts the runs that are open for longest into late and long ones: they are stuck the worst, however long that is.
func (s *Dashboard) findOpen(ctx context.Context, now time.Time, t *troubles) error {
	var rows []db.ListOldestOpenRunsRow
	for ids := range slices.Chunk(s.cfg.Open(), db.MaxBatch) {
		some, err := s.queries.ListOldestOpenRuns(ctx, s.cfg.Pool, ids)
		if err != nil {
			return fmt.Errorf("find open runs: %w", db.Error(err))
		}
		if rows = append(rows, some...); len(rows) >= troubleRows {
			rows = rows[:troubleRows]
			t.MoreLate, t.MoreLong = true, true
			break
		}
	}
	for _, r := range rows {
		planned := time.UnixMilli(r.PlannedAt)
		switch {
		case r.TriggerCode == wire.CodeSuccess:
			t.Long = append(t.Long, db.RunRow(r)) // those that may take that long are taken out when the jobs are known
		case r.PlannedAt > 0 && now.Sub(planned) > LateAfter:
			t.Late = append(t.Late, Late{JobID: r.JobID, Group: r.JobGroup, Run: db.RunRow(r), Planned: planned})
		}
	}
	return nil
}

// nameTroubles reads the jobs and keeps of the open runs those that take longer than their job wants.
func (s *Dashboard) nameTroubles(ctx context.Context, now time.Time, t *troubles) error {
	var ids []int64
	for _, f := range t.Failing {
		ids = append(ids, f.Run.JobID)
	}
	for _, l := range t.Late {
		ids = append(ids, l.JobID)
	}
	for _, r := range t.Long {
		ids = append(ids, r.JobID)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	t.jobs = make(map[int64]db.Job, len(ids))
	if len(ids) > 0 {
		rows, err := s.queries.ListJobsByID(ctx, s.cfg.Pool, ids)
		if err != nil {
			return fmt.Errorf("read jobs: %w", db.Error(err))
		}
		for _, j := range rows {
			t.jobs[j.ID] = j
		}
	}
	began := func(r db.RunRow) time.Time {
		if r.SentAt > 0 {
			return time.UnixMilli(r.SentAt)
		}
		return s.cfg.Pool.InstantOf(r.TriggerTime)
	}
	t.Long = slices.DeleteFunc(t.Long, func(r db.RunRow) bool {
		limit := LongAfter
		if own := t.jobs[r.JobID].WarnAfterSeconds; own > 0 {
			limit = time.Duration(own) * time.Second
		}
		at := began(r)
		return at.IsZero() || now.Sub(at) <= limit // since when, nobody has written down
	})
	slices.SortStableFunc(t.Long, func(a, b db.RunRow) int { return began(a).Compare(began(b)) })
	return nil
}
