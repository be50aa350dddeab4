package manage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// What a timeline reads at most, so that it costs the same however many jobs and runs there are: TimelineRows rows, timelineRuns runs in
// all, and jobs that are found among the newest timelineSample runs of the time.
const (
	TimelineRows   = 20
	timelineRuns   = 1500
	timelineOfJob  = 500
	timelineSample = 600
	timelineFires  = 300 // of a job
	timelineHeld   = 100 // stretches of a job's pauses
	timelineOpen   = 200 // runs that began before the time and go on
	// timelineBefore is how many runs of a job that were planned before the time are looked at, because they may reach into it.
	timelineBefore = 3
)

// TimelineDays is how long the time of a timeline may be.
const TimelineDays = 14

// TimelineFilter is the time that is looked at, and which rows. Without a job, a tag or a text those of jobs that ran lately or are due soon.
type TimelineFilter struct {
	From, Until time.Time
	Executors   bool // rows are addresses, and not jobs
	Group, Job  int64
	Tag, Text   string
	Step        time.Duration // that fires are told by; it divides an hour
}

// Timeline is runs against time.
type Timeline struct {
	Rows []TimelineRow
	More bool // there are more jobs or addresses than rows
}

// TimelineRow is a job or an address with what was and will be.
type TimelineRow struct {
	Job     db.ListJobsRow // zero in rows of addresses
	Address string
	Runs    []db.RunRow // the oldest first
	Since   time.Time   // runs planned before are left out; zero: none is
	Fires   dashboard.Fires
	Held    []jobspec.Stretch // of a job: when its schedule is paused
}

// Timelines read runs and fires together.
type Timelines struct {
	cfg     Config
	queries *db.Queries
	jobs    *Jobs
	runs    *Runs
	figures *dashboard.Dashboard
}

// Look reads a timeline of what the principal may see.
func (s *Timelines) Look(ctx context.Context, p auth.Principal, f TimelineFilter) (Timeline, error) {
	switch {
	case !f.From.Before(f.Until):
		return Timeline{}, problem.InvalidFields(problem.Field{Name: "until", Key: "problem.timeline.order"})
	case f.Until.Sub(f.From) > TimelineDays*24*time.Hour:
		return Timeline{}, problem.InvalidFields(problem.Field{Name: "from", Key: "problem.timeline.long", Args: []any{"Days", TimelineDays}})
	}
	q := runQuery{s: s.runs}
	if err := q.bounds(ctx, RunFilter{Since: f.From, Until: f.Until}); err != nil {
		return Timeline{}, err
	}
	if f.Executors {
		return s.ofExecutors(ctx, p, f, &q)
	}
	var t Timeline
	jobs, err := s.pick(ctx, p, f, &q, &t)
	if err != nil || len(jobs) == 0 {
		return t, err
	}
	list, err := s.queries.ListJobs(ctx, s.cfg.Pool, jobs)
	if err != nil {
		return t, fmt.Errorf("read the jobs of a timeline: %w", db.Error(err))
	}
	for _, j := range list {
		if p.CanUseGroup(j.JobGroup) { // a run may be older than its job's move to another group
			t.Rows = append(t.Rows, TimelineRow{Job: j})
		}
	}
	slices.SortFunc(t.Rows, func(a, b TimelineRow) int {
		return cmp.Or(cmp.Compare(a.Job.JobDesc, b.Job.JobDesc), cmp.Compare(a.Job.ID, b.Job.ID))
	})
	if err := s.addRuns(ctx, p, f, &q, t.Rows); err != nil {
		return t, err
	}
	if err := s.addHeld(ctx, f, t.Rows); err != nil {
		return t, err
	}
	return t, s.addFires(ctx, f, t.Rows)
}

// pick finds the jobs that get rows.
func (s *Timelines) pick(ctx context.Context, p auth.Principal, f TimelineFilter, q *runQuery, t *Timeline) ([]int64, error) {
	switch {
	case f.Job != 0:
		if _, err := s.jobs.Get(ctx, p, f.Job); err != nil {
			return nil, err
		}
		return []int64{f.Job}, nil
	case f.Tag != "" || f.Text != "":
		ids, err := s.jobs.IDs(ctx, p, JobFilter{Group: f.Group, Tag: f.Tag, Text: f.Text, Status: AnyStatus, Limit: TimelineRows + 1})
		t.More = len(ids) > TimelineRows
		return ids[:min(len(ids), TimelineRows)], err
	}
	rows, since, err := s.sample(ctx, p, f, q)
	if err != nil {
		return nil, err
	}
	var ran, due []int64
	seen := make(map[int64]bool)
	for _, r := range rows {
		if !seen[r.JobID] {
			seen[r.JobID] = true
			ran = append(ran, r.JobID)
		}
	}
	t.More = !since.IsZero()
	if f.Until.After(s.cfg.Now()) {
		soon, err := s.figures.Soonest(ctx, p, f.Group, f.Until, TimelineRows+len(ran))
		if err != nil {
			return nil, err
		}
		due = slices.DeleteFunc(soon, func(id int64) bool { return seen[id] })
	}
	// What is due but did not run has a quarter of the rows when there are too many of both.
	room := TimelineRows - min(len(due), max(TimelineRows/4, TimelineRows-len(ran)))
	t.More = t.More || len(ran)+len(due) > TimelineRows
	ids := append(ran[:min(len(ran), room)], due...)
	return ids[:min(len(ids), TimelineRows)], nil
}

// sample reads the newest runs of the time, and with them others. It returns since when it has all of them; zero: they are all here.
func (s *Timelines) sample(ctx context.Context, p auth.Principal, f TimelineFilter, q *runQuery, others ...db.RunSpans) (rows []db.RunRow, since time.Time, err error) {
	all, groups := scope(p, f.Group)
	if all == 0 && len(groups) == 0 {
		return nil, since, nil
	}
	asked := db.RunSpans{RunFilter: db.RunFilter{Groups: groups, Until: q.filter.Until}, From: q.from, Before: q.before}
	asked.Limit = timelineSample / asked.Branches()
	for i := range others {
		others[i].Groups = groups
	}
	if rows, err = db.FindRunSpans(ctx, s.cfg.Pool, append(others, asked)); err != nil {
		return nil, since, db.Error(err)
	}
	read := make(map[int64]int) // by group, where each is read for itself
	for i := range rows {
		r := &rows[i]
		if r.ID < q.from {
			continue
		}
		group := r.JobGroup
		if asked.Branches() == 1 {
			group = 0
		}
		if read[group]++; read[group] == asked.Limit {
			if start := s.startOf(r); start.After(since) {
				since = start
			}
		}
	}
	return rows, since, nil
}

// addRuns reads the runs of the jobs, each job's along its own index.
func (s *Timelines) addRuns(ctx context.Context, p auth.Principal, f TimelineFilter, q *runQuery, rows []TimelineRow) error {
	limit := min(timelineOfJob, timelineRuns/max(1, len(rows)))
	asked := make([]db.RunSpans, 0, 2*len(rows))
	at := make(map[int64]*TimelineRow, len(rows))
	for i := range rows {
		job := rows[i].Job.ID
		at[job] = &rows[i]
		of := db.RunFilter{Job: job}
		earlier := db.RunSpans{RunFilter: of, Before: q.from, Limit: timelineBefore}
		of.Until = q.filter.Until
		asked = append(asked, db.RunSpans{RunFilter: of, From: q.from, Before: q.before, Limit: limit + 1}, earlier)
	}
	found, err := db.FindRunSpans(ctx, s.cfg.Pool, asked)
	if err != nil {
		return db.Error(err)
	}
	for _, r := range found { // newest first
		row := at[r.JobID]
		switch {
		case !p.CanUseGroup(r.JobGroup): // of before the job was moved to its group
		case len(row.Runs) < limit:
			row.Runs = append(row.Runs, r)
		case row.Since.IsZero() && r.ID >= q.from:
			row.Since = s.startOf(&row.Runs[limit-1])
		}
	}
	for i := range rows {
		rows[i].Runs = s.within(rows[i].Runs, f)
	}
	return nil
}

// addHeld adds when the schedules of the jobs are paused.
func (s *Timelines) addHeld(ctx context.Context, f TimelineFilter, rows []TimelineRow) error {
	book, err := db.ReadPauses(ctx, s.cfg.Pool, s.cfg.Now())
	if err != nil {
		return err
	}
	for i := range rows {
		if j := &rows[i].Job; jobspec.Started(j.TriggerStatus) && j.ScheduleType != jobspec.ScheduleNone {
			rows[i].Held = book.Of(j.ID, j.JobGroup, j.Tags).Between(f.From, f.Until, timelineHeld)
		}
	}
	return nil
}

// addFires adds what the jobs are due.
func (s *Timelines) addFires(ctx context.Context, f TimelineFilter, rows []TimelineRow) error {
	if !f.Until.After(s.cfg.Now()) {
		return nil
	}
	fires, err := s.figures.Fires(ctx, db.IDs(rows, func(r *TimelineRow) int64 { return r.Job.ID }), f.Until, f.Step, timelineFires)
	for i := range rows {
		rows[i].Fires = fires[rows[i].Job.ID]
	}
	return err
}

// ofExecutors are the newest runs of the time by the address that ran them, and those that began before and go on.
func (s *Timelines) ofExecutors(ctx context.Context, p auth.Principal, f TimelineFilter, q *runQuery) (Timeline, error) {
	var t Timeline
	var earlier []db.RunSpans
	open := s.cfg.Engine.Load().Open
	if n, _ := slices.BinarySearch(open, q.from); n > 0 {
		earlier = append(earlier, db.RunSpans{RunFilter: db.RunFilter{IDs: open[max(0, n-db.MaxBatch):n], Codes: []int64{0}, Open: true, Sent: true}, Before: q.from, Limit: timelineOpen})
	}
	found, since, err := s.sample(ctx, p, f, q, earlier...)
	if err != nil {
		return t, err
	}
	at := make(map[string]int)
	for _, r := range s.within(found, f) {
		address := string(r.ExecutorAddress)
		if address == "" {
			continue // nobody ran it
		}
		i, ok := at[address]
		if !ok {
			if len(t.Rows) == TimelineRows {
				t.More = true
				continue
			}
			i = len(t.Rows)
			at[address] = i
			t.Rows = append(t.Rows, TimelineRow{Address: address, Since: since})
		}
		t.Rows[i].Runs = append(t.Rows[i].Runs, r)
	}
	slices.SortFunc(t.Rows, func(a, b TimelineRow) int { return cmp.Compare(a.Address, b.Address) })
	return t, nil
}

// within are those of runs that were planned or took place in the time, the oldest first.
func (s *Timelines) within(runs []db.RunRow, f TimelineFilter) []db.RunRow {
	runs = slices.DeleteFunc(runs, func(r db.RunRow) bool {
		start, end := s.startOf(&r), time.UnixMilli(r.FinishedAt)
		if r.FinishedAt == 0 && r.HandleTime.Valid { // an XXL-JOB admin wrote it
			end = s.cfg.Pool.FromWall(r.HandleTime.Time)
		}
		open := r.HandleCode == 0 && (r.TriggerCode == 0 || r.TriggerCode == wire.CodeSuccess)
		return start.IsZero() || !start.Before(f.Until) || start.Before(f.From) && !open && end.Before(f.From)
	})
	slices.SortFunc(runs, func(a, b db.RunRow) int { return cmp.Or(s.startOf(&a).Compare(s.startOf(&b)), cmp.Compare(a.ID, b.ID)) })
	return runs
}

// startOf is when a run was planned; zero where the admin that made it has not said.
func (s *Timelines) startOf(r *db.RunRow) time.Time {
	if r.PlannedAt > 0 {
		return time.UnixMilli(r.PlannedAt)
	}
	return s.cfg.Pool.InstantOf(r.TriggerTime)
}
