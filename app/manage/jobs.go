package manage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Jobs are the use cases of job definitions.
type Jobs struct {
	cfg       Config
	queries   *db.Queries
	schedules *db.Schedules
	groups    *Groups
	audit     *Audit
	figures   *dashboard.Dashboard
	pauses    *Pauses
	names     *jobNames
	last      *lastRuns
	usual     *usualTimes
	source    string   // whose files are being applied; empty: somebody changes jobs by hand
	incoming  Incoming // what is saved in the same transaction: what starts what is judged by all of it
	around    *around  // of what is saved in one transaction; nil: it is read for each job
}

// jobGone is what somebody hears of a job that there is not, and of one that they may not see: numbers tell nothing.
func jobGone() error { return problem.New(problem.NotFound, "problem.job.gone") }

// mayJob says whether somebody has a right to a job.
func mayJob(p auth.Principal, j db.Job, right auth.Rights) error {
	switch {
	case !p.CanUseGroup(j.JobGroup):
		return jobGone()
	case !p.Can(j.JobGroup, right):
		return forbidden()
	}
	return nil
}

func (s *Jobs) Get(ctx context.Context, p auth.Principal, id int64) (db.Job, error) {
	return s.need(ctx, s.cfg.Pool, p, id, auth.RightView)
}

// Need is one job of a group in which the principal has a right.
func (s *Jobs) Need(ctx context.Context, p auth.Principal, id int64, right auth.Rights) (db.Job, error) {
	return s.need(ctx, s.cfg.Pool, p, id, right)
}

func (s *Jobs) need(ctx context.Context, tx db.DBTX, p auth.Principal, id int64, right auth.Rights) (db.Job, error) {
	j, err := s.queries.GetJob(ctx, tx, id)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return db.Job{}, jobGone()
	} else if err != nil {
		return db.Job{}, fmt.Errorf("read job: %w", err)
	}
	if err := mayJob(p, j, right); err != nil {
		return db.Job{}, err
	}
	return j, nil
}

// maxNames bounds the jobs in a pick list.
const maxNames = 500

// Names are the ids and names of a group's jobs, newest first, for a pick list.
func (s *Jobs) Names(ctx context.Context, p auth.Principal, groupID int64) ([]db.ListJobNamesRow, error) {
	if groupID == 0 || !p.CanUseGroup(groupID) {
		return nil, nil
	}
	rows, err := s.queries.ListJobNames(ctx, s.cfg.Pool, db.ListJobNamesParams{JobGroup: groupID, Limit: maxNames})
	return rows, db.Error(err)
}

// readAtOnce is how many whole jobs, scripts included, one query reads.
const readAtOnce = 200

// OfRuns are the jobs of some runs. Rights to a run are judged by the group that it was recorded with, and its job may have been moved to
// another one since: what a job is now is told only to who may see the group in which it is now. Beside a run of any other stands its number.
type OfRuns struct {
	seen  map[int64]db.Job
	there map[int64]bool // seen or not
}

// Seen is a job that the principal may see.
func (o OfRuns) Seen(id int64) (j db.Job, ok bool) {
	j, ok = o.seen[id]
	return j, ok
}

// Deleted says of a job that there is none any more.
func (o OfRuns) Deleted(id int64) bool { return !o.there[id] }

// OfRuns reads jobs by their ids, for beside runs.
func (s *Jobs) OfRuns(ctx context.Context, p auth.Principal, ids ...int64) (OfRuns, error) {
	seen, err := s.Stored(ctx, ids)
	o := OfRuns{seen: seen, there: make(map[int64]bool, len(seen))}
	for id, j := range seen {
		o.there[id] = true
		if !p.CanUseGroup(j.JobGroup) {
			delete(seen, id)
		}
	}
	return o, err
}

// Stored are jobs by their ids, those that exist, whoever may see them: for callers that judge each.
func (s *Jobs) Stored(ctx context.Context, ids []int64) (map[int64]db.Job, error) {
	return s.byID(ctx, s.cfg.Pool, ids)
}

func (s *Jobs) byID(ctx context.Context, tx db.DBTX, ids []int64) (map[int64]db.Job, error) {
	byID := make(map[int64]db.Job, len(ids))
	for part := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(ids))), readAtOnce) {
		rows, err := s.queries.ListJobsByID(ctx, tx, part)
		if err != nil {
			return nil, fmt.Errorf("read jobs: %w", db.Error(err))
		}
		for _, j := range rows {
			byID[j.ID] = j
		}
	}
	return byID, nil
}

// NamesOf are what those of the jobs are called that the principal may see.
func (s *Jobs) NamesOf(ctx context.Context, p auth.Principal, ids []int64) (map[int64]string, error) {
	return namesOf(ctx, s.queries, s.cfg.Pool, p, ids)
}

func namesOf(ctx context.Context, queries *db.Queries, pool *db.Pool, p auth.Principal, ids []int64) (map[int64]string, error) {
	names := make(map[int64]string, len(ids))
	for part := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(ids))), readAtOnce) {
		rows, err := queries.ListJobTitles(ctx, pool, part)
		if err != nil {
			return nil, fmt.Errorf("read the names of jobs: %w", db.Error(err))
		}
		for _, j := range rows {
			if p.CanUseGroup(j.JobGroup) {
				names[j.ID] = j.JobDesc
			}
		}
	}
	return names, nil
}

// maxParents bounds the jobs that start one, as pages name them.
const maxParents = 50

// ParentJobs are the jobs whose success starts a job. Those that the principal may not see have no name.
func (s *Jobs) ParentJobs(ctx context.Context, p auth.Principal, id int64) ([]Child, error) {
	rows, err := s.parents(ctx, id)
	var parents []Child
	for _, r := range rows {
		parent := Child{ID: r.ID}
		if p.CanUseGroup(r.JobGroup) {
			parent.Name, parent.Group = r.JobDesc, r.JobGroup
		}
		parents = append(parents, parent)
	}
	return parents, err
}

func (s *Jobs) parents(ctx context.Context, id int64) ([]db.ListParentsOfRow, error) {
	rows, err := s.queries.ListParentsOf(ctx, s.cfg.Pool, db.ListParentsOfParams{
		Pattern: db.Text("%," + strconv.FormatInt(id, 10) + ",%"), Limit: maxParents,
	})
	if err != nil {
		return nil, fmt.Errorf("find parents: %w", db.Error(err))
	}
	rows = slices.DeleteFunc(rows, func(r db.ListParentsOfRow) bool {
		ids, _, _ := jobspec.ChildIDs(string(r.ChildJobIDs))
		return !slices.Contains(ids, id)
	})
	slices.SortFunc(rows, func(a, b db.ListParentsOfRow) int { return cmp.Compare(a.ID, b.ID) })
	return rows, nil
}

// Upcoming are the next times of a definition's schedule from now on, in its own zone, at most n. Fewer mean that it ends.
// The error says what is wrong with the schedule, its zone included.
func (s *Jobs) Upcoming(j jobspec.Job, n int) ([]time.Time, error) {
	schedule, err := s.scheduleOf(j)
	if err != nil {
		return nil, err
	}
	return following(schedule, s.cfg.Now(), n)
}

// NextTime is a moment at which a job is due.
type NextTime struct {
	At   time.Time
	Held *jobspec.Stretch // the pause that it falls into, as far as is known now; nil: none
}

// NextTimes are the times a started job is due: the one on record, from which a fixed rate goes on, and those behind it, also where they
// fall into pauses. A job that is stopped, or waits for the end of its run, has none.
func (s *Jobs) NextTimes(j db.Job, held *Held, n int) ([]NextTime, error) {
	if !jobspec.Started(j.TriggerStatus) || j.TriggerNextTime <= 0 {
		return nil, nil
	}
	schedule, err := s.scheduleOf(j.Spec())
	if err != nil {
		return nil, err
	}
	next := time.UnixMilli(j.TriggerNextTime)
	if j.TriggerNextTime == j.PausedNext { // the end of a pause, and a millisecond
		first := time.UnixMilli(j.PausedAt)
		if next = first; schedule.Type != jobspec.ScheduleFixDelay {
			if next, err = schedule.From(first, s.cfg.Now()); err != nil || next.IsZero() {
				return nil, err
			}
		}
	} else if j.TriggerNextTime >= jobspec.Waiting.UnixMilli() {
		return nil, nil
	}
	times := []time.Time{next.In(schedule.Zone)}
	if schedule.Type != jobspec.ScheduleFixDelay { // where the others lie, the runs decide
		behind, err := following(schedule, next, n-1)
		if err != nil {
			return nil, err
		}
		times = append(times, behind...)
	}
	out := make([]NextTime, len(times))
	for i, at := range times {
		out[i].At = at
		if stretch, in := held.At(j.ID, j.JobGroup, j.Tags, at); in {
			out[i].Held = &stretch
		}
	}
	return out, nil
}

// NextRun is when a run of a started job comes next, as far as is known; nil: the job is stopped, hangs on the end of a run, or is held by a
// pause without an end.
func (s *Jobs) NextRun(j db.Job, held *Held) *time.Time {
	at := db.Undecided(j.TriggerNextTime, j.PausedAt, j.PausedNext)
	if j.TriggerNextTime <= 0 || !at.Before(jobspec.Waiting) {
		return nil
	}
	if pauses := held.book.Of(j.ID, j.JobGroup, j.Tags); len(pauses) > 0 {
		if schedule, err := s.scheduleOf(j.Spec()); err == nil { // the claim says what cannot be read
			if at, err = schedule.NextRun(pauses, at); err != nil || at.IsZero() {
				return nil
			}
		}
	}
	return &at
}

// following are the times of a schedule after a moment, at most n.
func following(schedule jobspec.Schedule, at time.Time, n int) ([]time.Time, error) {
	var times []time.Time
	for range n {
		next, err := schedule.Next(at)
		if err != nil {
			return nil, err
		}
		if next.IsZero() {
			break
		}
		times = append(times, next.In(schedule.Zone))
		at = next
	}
	return times, nil
}
