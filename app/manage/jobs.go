package manage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Jobs are the use cases of job definitions.
type Jobs struct {
	cfg     Config
	queries *db.Queries
	groups  *Groups
	audit   *Audit
	shown   func(context.Context, auth.Principal, Show, time.Time) ([]int64, error)
}

// JobFilter narrows the job list. Zero values stand for "any", except Status.
type JobFilter struct {
	Group   int64
	Status  int64 // a jobspec.TriggerStatus, or AnyStatus
	Text    string
	Handler string
	Author  string
	Tag     string    // one tag, whole
	Show    Show      // only what a number of the dashboard counts: [ShowFailing], [ShowLate] or [ShowDue]
	At      time.Time // the minute of ShowDue
	// NoID keeps Text from naming a job by its id.
	NoID   bool
	Limit  int
	Offset int
	Exact  bool // count all of them, however many there are
}

// AnyStatus is the JobFilter.Status of jobs that run and jobs that do not.
const AnyStatus = -1

// JobList is one page of jobs.
type JobList struct {
	Jobs  []db.ListJobsRow
	Total int64
	More  bool // there are more than Total, which were not counted
}

// List is one page of the jobs that the principal may see.
func (s *Jobs) List(ctx context.Context, p auth.Principal, f JobFilter) (JobList, error) {
	var list JobList
	ids, err := s.find(ctx, p, f, &list)
	if err != nil || len(ids) == 0 {
		return list, err
	}
	if list.Jobs, err = s.queries.ListJobs(ctx, s.cfg.Pool, ids); err != nil {
		return list, fmt.Errorf("list jobs: %w", db.Error(err))
	}
	return list, nil
}

// jobQuery is a filter as the database takes it; ok is false when nothing can match.
func jobQuery(p auth.Principal, f JobFilter) (q db.JobFilter, ok bool) {
	all, groups := scope(p, f.Group)
	if all == 0 && len(groups) == 0 {
		return q, false
	}
	q.Groups = groups
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

// countAhead is how many jobs beyond a page are counted when they have to be read for it.
const countAhead = 1000

// find finds the jobs of a page, and notes how many there are in all.
func (s *Jobs) find(ctx context.Context, p auth.Principal, f JobFilter, list *JobList) (ids []int64, err error) {
	q, ok := jobQuery(p, f)
	if !ok {
		return nil, nil
	}
	if f.Show != "" {
		if q.IDs, err = s.shown(ctx, p, f.Show, f.At); err != nil || len(q.IDs) == 0 {
			return nil, err
		}
	}
	pool, offset, limit := s.cfg.Pool, int64(f.Offset), int64(f.Limit)
	if !q.Plain() {
		// The jobs are read for the page, so the same pass counts those that follow.
		ids, err = db.FindJobs(ctx, pool, q, offset, limit+countAhead)
		list.Total, list.More = offset+int64(len(ids)), int64(len(ids)) == limit+countAhead
		if err == nil && (len(ids) == 0 && offset > 0 || list.More && f.Exact) {
			list.Total, err = db.CountJobs(ctx, pool, q)
			list.More = false
		}
		return ids[:min(len(ids), f.Limit)], db.Error(err)
	}
	if list.Total, err = db.CountJobs(ctx, pool, q); err != nil {
		return nil, db.Error(err)
	}
	// Beyond the middle the way from the other end is shorter.
	if rest := list.Total - offset; rest <= 0 {
		return nil, nil
	} else if offset > list.Total/2 {
		size := min(limit, rest)
		ids, err = db.FindJobsFromEnd(ctx, pool, q, rest-size, size)
	} else {
		ids, err = db.FindJobs(ctx, pool, q, offset, limit)
	}
	return ids, db.Error(err)
}

// Row is one job as the list shows it, after it was started or stopped.
func (s *Jobs) Row(ctx context.Context, p auth.Principal, id int64) (db.ListJobsRow, error) {
	j, err := s.Get(ctx, p, id)
	if err != nil {
		return db.ListJobsRow{}, err
	}
	return db.ListJobsRow{
		ID: j.ID, JobGroup: j.JobGroup, JobDesc: j.JobDesc, AddTime: j.AddTime, UpdateTime: j.UpdateTime, Author: j.Author,
		AlarmEmail: j.AlarmEmail, ScheduleType: j.ScheduleType, ScheduleConf: j.ScheduleConf, MisfireStrategy: j.MisfireStrategy,
		ExecutorRouteStrategy: j.ExecutorRouteStrategy, ExecutorHandler: j.ExecutorHandler, ExecutorParam: j.ExecutorParam,
		ExecutorBlockStrategy: j.ExecutorBlockStrategy, ExecutorTimeout: j.ExecutorTimeout,
		ExecutorFailRetryCount: j.ExecutorFailRetryCount, GlueType: j.GlueType, GlueUpdateTime: j.GlueUpdateTime,
		ChildJobIDs: j.ChildJobIDs, TriggerStatus: j.TriggerStatus, TriggerLastTime: j.TriggerLastTime, TriggerNextTime: j.TriggerNextTime,
		TimeZone: j.TimeZone, Tags: j.Tags,
	}, nil
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

// jobGone is what somebody hears of a job that there is not, and of one that they may not see: numbers tell nothing.
func jobGone() error { return problem.New(problem.NotFound, "problem.job.gone") }

// Get is one job.
func (s *Jobs) Get(ctx context.Context, p auth.Principal, id int64) (db.Job, error) {
	j, err := s.queries.GetJob(ctx, s.cfg.Pool, id)
	if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
		return db.Job{}, fmt.Errorf("read job: %w", err)
	}
	if err != nil || !p.CanUseGroup(j.JobGroup) {
		return db.Job{}, jobGone()
	}
	return j, nil
}

// Need is one job of a group in which the principal has a right.
func (s *Jobs) Need(ctx context.Context, p auth.Principal, id int64, right auth.Rights) (db.Job, error) {
	j, err := s.Get(ctx, p, id)
	if err != nil {
		return j, err
	}
	if !p.Can(j.JobGroup, right) {
		return db.Job{}, forbidden()
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

// ByID are jobs by their ids, those that exist; for names beside runs, which the caller has checked.
func (s *Jobs) ByID(ctx context.Context, ids []int64) (map[int64]db.Job, error) {
	return s.byID(ctx, s.cfg.Pool, ids)
}

func (s *Jobs) byID(ctx context.Context, tx db.DBTX, ids []int64) (map[int64]db.Job, error) {
	byID := make(map[int64]db.Job, len(ids))
	if len(ids) == 0 {
		return byID, nil
	}
	slices.Sort(ids)
	rows, err := s.queries.ListJobsByID(ctx, tx, slices.Compact(ids))
	if err != nil {
		return nil, fmt.Errorf("read jobs: %w", db.Error(err))
	}
	for _, j := range rows {
		byID[j.ID] = j
	}
	return byID, nil
}

// Parents are the names of the jobs whose success starts a job.
func (s *Jobs) Parents(ctx context.Context, id int64) ([]string, error) {
	const most = 50
	rows, err := s.queries.ListParentsOf(ctx, s.cfg.Pool, db.ListParentsOfParams{
		Pattern: db.Text("%," + strconv.FormatInt(id, 10) + ",%"), Limit: most,
	})
	if err != nil {
		return nil, fmt.Errorf("find parents: %w", db.Error(err))
	}
	slices.SortFunc(rows, func(a, b db.ListParentsOfRow) int { return cmp.Compare(a.ID, b.ID) })
	var names []string
	for _, r := range rows {
		if ids, _, _ := jobspec.ChildIDs(string(r.ChildJobIDs)); slices.Contains(ids, id) {
			names = append(names, r.JobDesc)
		}
	}
	return names, nil
}

// Upcoming are the next times of a definition's schedule from now on, in its own zone, at most n. Fewer mean that it ends.
// The error says what is wrong with the schedule, its zone included.
func (s *Jobs) Upcoming(j jobspec.Job, n int) ([]time.Time, error) {
	schedule, err := s.scheduleOf(j)
	if err != nil {
		return nil, err
	}
	var times []time.Time
	at := s.cfg.Now()
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

// Zone is where schedules are read.
func (s *Jobs) Zone() *time.Location { return s.cfg.Zone }

// RunInput is a run by hand.
type RunInput struct {
	Param     *string // nil: the job's
	Addresses string  // in any layout; empty: the group's
	Type      jobspec.TriggerType
}

// FieldRunAddresses is the name of RunInput.Addresses in a problem.Field.
const FieldRunAddresses = "addresses"

// Trigger runs a job now, whether it is started or not, and returns the ids of its runs.
func (s *Jobs) Trigger(ctx context.Context, p auth.Principal, id int64, in RunInput) ([]int64, error) {
	j, err := s.Need(ctx, p, id, auth.RightRun)
	if err != nil {
		return nil, err
	}
	if in.Param != nil && len(*in.Param) > jobspec.MaxParamBytes {
		return nil, problem.InvalidFields(problem.Field{Name: jobspec.FieldParam, Key: "job.error.too_long", Args: []any{"Max", jobspec.MaxParamBytes}})
	}
	addresses, err := s.chosen(ctx, j.JobGroup, in.Addresses)
	if err != nil {
		return nil, err
	}
	ids, err := s.cfg.Engine.Trigger(ctx, scheduler.TriggerRequest{
		JobID: id, Type: in.Type, Param: in.Param, Addresses: addresses, User: p.Name,
	})
	if err != nil {
		return nil, err
	}
	with := Facts{"runs": joinIDs(ids), "executor_address": strings.Join(addresses, "\n")}
	if in.Param != nil {
		with["executor_param"] = *in.Param
	}
	s.audit.Note(ctx, p, Entry{Action: ActionRun, Kind: ObjectJob, ID: id, Name: j.JobDesc, After: with})
	return ids, nil
}

// joinIDs writes the first of a list of run ids.
func joinIDs(ids []int64) string {
	const most = 20
	texts := make([]string, 0, most)
	for _, id := range ids[:min(len(ids), most)] {
		texts = append(texts, strconv.FormatInt(id, 10))
	}
	if len(ids) > most {
		texts = append(texts, "…")
	}
	return strings.Join(texts, ", ")
}

// maxChosen bounds the addresses of one run by hand.
const maxChosen = 100

// chosen checks addresses typed for one run: they are the group's own, or the allow rule names them.
func (s *Jobs) chosen(ctx context.Context, groupID int64, list string) ([]string, error) {
	typed, bad := normalAddresses(list)
	if bad != "" {
		return nil, problem.InvalidFields(problem.Field{Name: FieldRunAddresses, Key: "group.error.address", Args: []any{"Value", bad}})
	}
	if len(typed) == 0 {
		return nil, nil
	}
	if len(typed) > maxChosen {
		return nil, problem.InvalidFields(problem.Field{Name: FieldRunAddresses, Key: "job.error.too_long", Args: []any{"Max", maxChosen}})
	}
	// The group's own spelling is what is called, so that its later registrations are recognised.
	known := make(map[string]string)
	remember := func(address string) {
		if normal, err := NormalAddress(address); err == nil {
			known[normal] = address
		}
	}
	g, err := s.queries.GetGroup(ctx, s.cfg.Pool, groupID)
	if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
		return nil, fmt.Errorf("read group: %w", err)
	}
	for _, address := range GroupAddressList(g) {
		remember(address)
	}
	for _, state := range s.cfg.Engine.Addresses(groupID) {
		remember(state.Address)
	}
	for i, address := range typed {
		switch spelled, ok := known[address]; {
		case ok:
			typed[i] = spelled
		case !s.cfg.Settings.Allow().Permits(address):
			return nil, problem.InvalidFields(problem.Field{Name: FieldRunAddresses, Key: "job.error.address_not_allowed", Args: []any{"Value", address}})
		}
	}
	return typed, nil
}
