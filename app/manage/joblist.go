package manage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// JobFilter narrows the job list. Zero values stand for "any", except Status.
type JobFilter struct {
	Group   int64
	Status  int64 // a jobspec.TriggerStatus, or AnyStatus
	Text    string
	Name    string // the whole description
	Handler string
	Author  string
	Tag     string         // one tag, whole
	Show    dashboard.Show // only what a number of the dashboard counts: ShowFailing, ShowLate or ShowDue; or ShowMine
	At      time.Time      // when the minute of ShowDue begins
	Until   time.Time      // of ShowDue: not a minute but up to then
	Paused  bool           // only what a pause holds still now
	Review  bool           // only those of whose script a change waits that the principal may look at
	// NoID keeps Text from naming a job by its id.
	NoID    bool
	Limit   int
	Offset  int
	Below   int64 // only jobs with smaller ids; 0: all
	Order   db.JobOrder
	Desc    bool         // from the other end of the order
	After   *db.JobPlace // the page behind it
	Typed   bool         // Text finds Chinese names by how they are typed, too
	Exact   bool         // count all of them as they are now, however many there are
	History bool         // with the newest runs of each
}

// ShowMine narrows a list to the jobs that are somebody's own, which the dashboard does not count.
const ShowMine dashboard.Show = "mine"

// AnyStatus is the JobFilter.Status of jobs that run and jobs that do not.
const AnyStatus = -1

// JobList is one page of jobs.
type JobList struct {
	Jobs  []db.ListJobsRow
	Total int64
	More  bool // there are more than Total, which were not counted: see [Jobs.Count]
	Ends  bool // there are more, which are not sorted: a list that every job has to be read for is sorted up to here

	Outcomes map[int64][]db.Outcome // by job, if asked for: see [Jobs.Outcomes]
}

// List is one page of the jobs that the principal may see.
func (s *Jobs) List(ctx context.Context, p auth.Principal, f JobFilter) (JobList, error) {
	var list JobList
	q, ok, err := s.query(ctx, p, f)
	if err != nil || !ok {
		return list, err
	}
	var counting errgroup.Group // beside the reading
	ids, err := s.findCounting(ctx, q, f, &list, &counting)
	if err == nil {
		err = s.read(ctx, p, ids, f.History, &list)
	}
	err = errors.Join(err, counting.Wait())
	list.atLeast(f, len(ids))
	return list, db.Error(err)
}

// atLeast corrects what was counted a moment ago by how many jobs a page has, which the reader sees: of one that is not full there are no more.
func (l *JobList) atLeast(f JobFilter, found int) {
	seen := int64(f.Offset + found)
	switch {
	case found == 0 && f.Offset > 0, f.After != nil: // it lies behind the end, or nobody knows where
	case found < f.Limit && !l.More && f.Order != db.OrderLast: // that order has new jobs a moment later
		l.Total = seen
	default:
		l.Total = max(l.Total, seen)
	}
}

// read fills in the jobs of a page, without those that were moved since they were found to where the principal may not see them.
func (s *Jobs) read(ctx context.Context, p auth.Principal, ids []int64, history bool, list *JobList) (err error) {
	if len(ids) == 0 {
		return nil
	}
	if list.Jobs, err = s.queries.ListJobs(ctx, s.cfg.Pool, ids); err != nil {
		return fmt.Errorf("list jobs: %w", err)
	}
	list.Jobs = slices.DeleteFunc(list.Jobs, func(j db.ListJobsRow) bool { return !p.CanUseGroup(j.JobGroup) })
	slices.SortFunc(list.Jobs, func(a, b db.ListJobsRow) int { return cmp.Compare(slices.Index(ids, a.ID), slices.Index(ids, b.ID)) })
	if history {
		list.Outcomes, err = s.Outcomes(ctx, p, ids)
	}
	return err
}

// Count is how many jobs a filter finds that the principal may see.
func (s *Jobs) Count(ctx context.Context, p auth.Principal, f JobFilter) (int64, error) {
	q, ok, err := s.query(ctx, p, f)
	if err != nil || !ok {
		return 0, err
	}
	n, err := db.CountJobs(ctx, s.cfg.Pool, q)
	return n, db.Error(err)
}

// query is a filter as the database takes it, with the jobs that a number of the dashboard counts.
func (s *Jobs) query(ctx context.Context, p auth.Principal, f JobFilter) (q db.JobFilter, ok bool, err error) {
	q, ok = jobQuery(p, f)
	if ok && f.Typed {
		if q.TextIDs, err = s.typed(ctx, p, f.Text, namesKept); err != nil {
			return q, false, err
		}
	}
	if ok && f.Paused {
		book, err := db.ReadPauses(ctx, s.cfg.Pool, s.cfg.Now())
		if held := (Held{book: book, now: s.cfg.Now()}); err != nil || !held.filter(&q) {
			return q, false, err
		}
	}
	if !ok || f.Show == "" && !f.Review {
		return q, ok, nil
	}
	switch f.Show {
	case "":
	case ShowMine:
		q.IDs, err = s.mine(ctx, p)
	default:
		q.IDs, err = s.figures.Jobs(ctx, p, f.Show, f.At, f.Until)
	}
	if err == nil && f.Review {
		var waiting []int64
		waiting, _, err = s.reviews(ctx, p)
		if f.Show == "" {
			q.IDs = waiting
		} else {
			q.IDs = slices.DeleteFunc(slices.Clone(q.IDs), func(id int64) bool { return !slices.Contains(waiting, id) })
		}
	}
	return q, len(q.IDs) > 0, err
}

// jobQuery is a filter as the database takes it; ok is false when nothing can match.
func jobQuery(p auth.Principal, f JobFilter) (q db.JobFilter, ok bool) {
	all, groups := scope(p, f.Group)
	if all == 0 && len(groups) == 0 {
		return q, false
	}
	q.Groups, q.Below, q.Order, q.Desc, q.After, q.Name = groups, f.Below, f.Order, f.Desc, f.After, f.Name
	if f.Text != "" {
		q.Text = contains(f.Text)
	}
	if !f.NoID {
		q.TextID, _ = strconv.ParseInt(f.Text, 10, 64)
	}
	if f.Handler != "" {
		q.Handler = contains(f.Handler)
	}
	if f.Author != "" {
		q.Author = contains(f.Author)
	}
	if f.Tag != "" {
		q.Tag = contains("," + f.Tag + ",")
	}
	if f.Status != AnyStatus {
		q.Status = &f.Status
	}
	return q, true
}

// sortedReading is how far down a list is sorted that every job has to be read for.
const sortedReading = 1000

// nearJobs is up to where the way from the newest job on takes no longer than counting all of them does.
const nearJobs = 50_000

// IDs are the jobs of a page.
func (s *Jobs) IDs(ctx context.Context, p auth.Principal, f JobFilter) ([]int64, error) {
	return s.find(ctx, p, f, new(JobList))
}

// PlacedJob is a job, and where it stands in the order of its list.
type PlacedJob struct {
	db.Job

	Place db.JobPlace
}

// followingTries is how often a page is read of which a job was deleted or moved between its two reads.
const followingTries = 5

// Following are the jobs of a page with everything that is known of them, and without counting how many there are.
func (s *Jobs) Following(ctx context.Context, p auth.Principal, f JobFilter) (jobs []PlacedJob, err error) {
	q, ok, err := s.query(ctx, p, f)
	if err != nil || !ok {
		return nil, err
	}
	for range followingTries {
		var whole bool
		if jobs, whole, err = s.following(ctx, p, q, int64(f.Offset), int64(f.Limit)); err != nil || whole {
			break // one with a gap would be taken for the last
		}
	}
	return jobs, err
}

// following reads a page once, and says whether every job of it was there at both reads.
func (s *Jobs) following(ctx context.Context, p auth.Principal, q db.JobFilter, offset, limit int64) (jobs []PlacedJob, whole bool, err error) {
	var ids []int64
	last := map[int64]int64{}
	switch {
	case q.Order == db.OrderLast:
		var found []lastRun
		found, err = s.byLastRun(ctx, q, offset, limit)
		for _, r := range found {
			ids, last[r.job] = append(ids, r.job), r.run
		}
	default:
		ids, err = db.SortJobs(ctx, s.cfg.Pool, q, offset, limit)
	}
	if err != nil {
		return nil, false, db.Error(err)
	}
	byID, err := s.Stored(ctx, ids)
	if err != nil {
		return nil, false, err
	}
	jobs = make([]PlacedJob, 0, len(ids))
	for _, id := range ids {
		if j, ok := byID[id]; ok && p.CanUseGroup(j.JobGroup) { // else it was deleted or moved just now
			jobs = append(jobs, PlacedJob{j, db.JobPlace{Name: j.JobDesc, Started: jobspec.Started(j.TriggerStatus), Next: j.TriggerNextTime, Last: last[id], ID: id}})
		}
	}
	return jobs, len(jobs) == len(ids), nil
}

// find finds the jobs of a page, and notes how many there are in all.
func (s *Jobs) find(ctx context.Context, p auth.Principal, f JobFilter, list *JobList) ([]int64, error) {
	q, ok, err := s.query(ctx, p, f)
	if err != nil || !ok {
		return nil, err
	}
	var counting errgroup.Group
	ids, err := s.findCounting(ctx, q, f, list, &counting)
	err = errors.Join(err, counting.Wait())
	list.atLeast(f, len(ids))
	return ids, db.Error(err)
}

// findCounting is find, but how many there are may be known only when counting is done.
func (s *Jobs) findCounting(ctx context.Context, q db.JobFilter, f JobFilter, list *JobList, counting *errgroup.Group) (ids []int64, err error) {
	pool, offset, limit := s.cfg.Pool, int64(f.Offset), int64(f.Limit)
	count := func() (err error) {
		list.Total, err = s.count(ctx, q, f.Exact)
		return err
	}
	if q.Order == db.OrderLast {
		counting.Go(count)
		found, err := s.byLastRun(ctx, q, offset, limit)
		for _, r := range found {
			ids = append(ids, r.job)
		}
		return ids, err
	}
	if !q.Plain() && q.Order != db.OrderNewest && offset+limit >= sortedReading {
		limit = max(0, sortedReading-offset)
		defer func() { list.Ends = list.More }()
	}
	if !q.Plain() {
		// Counting them takes reading all jobs, which a full page does not.
		ids, err = db.SortJobs(ctx, pool, q, offset, limit+1)
		list.More = int64(len(ids)) > limit
		list.Total = offset + min(int64(len(ids)), limit)
		if err == nil && (len(ids) == 0 && offset > 0 || list.More && f.Exact) {
			list.Total, err = db.CountJobs(ctx, pool, q)
			list.More = false
		}
		return ids[:min(int64(len(ids)), limit)], err
	}
	if q.Order != db.OrderNewest || offset <= nearJobs {
		counting.Go(count)
		return db.SortJobs(ctx, pool, q, offset, limit)
	}
	if list.Total, err = db.CountJobs(ctx, pool, q); err != nil {
		return nil, err
	}
	// Beyond the middle the way from the other end is shorter.
	if rest := list.Total - offset; rest <= 0 {
		return nil, nil
	} else if offset > list.Total/2 {
		size := min(limit, rest)
		return db.FindJobsFromEnd(ctx, pool, q, rest-size, size)
	}
	return db.FindJobs(ctx, pool, q, offset, limit)
}

// count is how many jobs there are under a filter. Where there are very many, those of groups and in a state are as they were counted a moment ago,
// unless that must be exact: the screen would not be more true for a number that took as long as all of the page.
func (s *Jobs) count(ctx context.Context, q db.JobFilter, exact bool) (int64, error) {
	if !exact && q.Plain() && q.Below == 0 {
		var started *bool
		if q.Status != nil {
			started = new(jobspec.Started(*q.Status))
		}
		if n, many, err := s.figures.CountOfMany(ctx, q.Groups, started); err != nil || many {
			return n, err
		}
	}
	return db.CountJobs(ctx, s.cfg.Pool, q)
}

// Row is one job as the list shows it, after it was started or stopped.
func (s *Jobs) Row(ctx context.Context, p auth.Principal, id int64) (db.ListJobsRow, error) {
	j, err := s.Get(ctx, p, id)
	if err != nil {
		return db.ListJobsRow{}, err
	}
	return ListRow(j), nil
}

// ListRow is what the list shows of a whole job.
func ListRow(j db.Job) db.ListJobsRow {
	return db.ListJobsRow{
		ID: j.ID, JobGroup: j.JobGroup, JobDesc: j.JobDesc, AddTime: j.AddTime, UpdateTime: j.UpdateTime, Author: j.Author,
		AlarmEmail: j.AlarmEmail, ScheduleType: j.ScheduleType, ScheduleConf: j.ScheduleConf, MisfireStrategy: j.MisfireStrategy,
		ExecutorRouteStrategy: j.ExecutorRouteStrategy, ExecutorHandler: j.ExecutorHandler, ExecutorParam: j.ExecutorParam,
		ExecutorBlockStrategy: j.ExecutorBlockStrategy, ExecutorTimeout: j.ExecutorTimeout,
		ExecutorFailRetryCount: j.ExecutorFailRetryCount, GlueType: j.GlueType, GlueUpdateTime: j.GlueUpdateTime,
		ChildJobIDs: j.ChildJobIDs, TriggerStatus: j.TriggerStatus, TriggerLastTime: j.TriggerLastTime, TriggerNextTime: j.TriggerNextTime,
		TimeZone: j.TimeZone, Tags: j.Tags, StartAt: j.StartAt, EndAt: j.EndAt, PausedAt: j.PausedAt, PausedNext: j.PausedNext, Calendar: j.Calendar, CalendarRule: j.CalendarRule, DoneBy: j.DoneBy,
	}
}

// Any says whether there is any job the principal may see.
func (s *Jobs) Any(ctx context.Context, p auth.Principal) (bool, error) {
	all, groups := scope(p, 0)
	if all == 0 && len(groups) == 0 {
		return false, nil
	}
	jobs, err := db.FindJobs(ctx, s.cfg.Pool, db.JobFilter{Groups: groups}, 0, 1)
	return len(jobs) > 0, db.Error(err)
}
