// Package transfer writes jobs into files and reads them from files. It saves nothing itself: what a plan promises is done by the
// use cases of manage, which check again, in one transaction.
package transfer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Config is what the use cases of files are made of. Everything is required but Zone and Now.
type Config struct {
	Pool     *db.Pool
	Jobs     *manage.Jobs
	Groups   *manage.Groups
	Settings *manage.Settings // whether scripts may be written
	Zone     *time.Location   // of jobs that name none; default the pool's
	Now      func() time.Time // default time.Now
}

// Service puts jobs into files, and reads them from files.
type Service struct {
	cfg     Config
	queries *db.Queries
}

// New makes the use cases.
func New(cfg Config) *Service {
	if cfg.Zone == nil {
		cfg.Zone = cfg.Pool.Zone()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Service{cfg: cfg, queries: db.New()}
}

// Export is what goes into a file, and what does not.
type Export struct {
	File    jobfile.File
	Jobs    int
	Scripts int // whose text is left out, since the principal may not read it
	Orphans int // jobs left out because their executor is gone: nothing could name it
}

// Export puts jobs into a file: those with the ids, or without ids those under the filter. All jobs, or those of a group, come with the groups
// that have none. Jobs that the principal may not see
// are left out as if they did not exist.
func (s *Service) Export(ctx context.Context, p auth.Principal, f manage.JobFilter, ids []int64) (Export, error) {
	whole := len(ids) == 0 && isWhole(f)
	if len(ids) == 0 {
		f.Limit, f.Offset = jobfile.MaxJobs+1, 0
		var err error
		if ids, err = s.cfg.Jobs.IDs(ctx, p, f); err != nil {
			return Export{}, err
		}
	}
	if len(ids) > jobfile.MaxJobs {
		return Export{}, problem.New(problem.Conflict, "problem.export.many", "Max", jobfile.MaxJobs)
	}
	return s.export(ctx, p, f.Group, ids, whole)
}

// Page is Export for as many jobs as f.Limit says at most, the newest of those below f.Below. Next is what the page behind it is below; 0 after
// the last.
func (s *Service) Page(ctx context.Context, p auth.Principal, f manage.JobFilter) (out Export, next int64, err error) {
	limit, first := min(f.Limit, jobfile.MaxJobs), f.Below == 0
	f.Limit = limit + 1
	ids, err := s.cfg.Jobs.IDs(ctx, p, f)
	if err != nil {
		return out, 0, err
	}
	if len(ids) > limit {
		ids = ids[:limit]
		next = ids[limit-1]
	}
	f.Limit = 0
	out, err = s.export(ctx, p, f.Group, ids, first && isWhole(f))
	return out, next, err
}

// Text is Export as a file; with a limit it is Page, and the file no larger than what can be applied, unless a job alone is. Of several files
// the first has the orphans of all.
func (s *Service) Text(ctx context.Context, p auth.Principal, f manage.JobFilter, format jobfile.Format) (out Export, text []byte, next int64, err error) {
	asked := f
	for {
		if f.Limit > 0 {
			out, next, err = s.Page(ctx, p, f)
		} else {
			out, err = s.Export(ctx, p, f, nil)
		}
		if err != nil {
			return out, nil, 0, err
		}
		if text, err = jobfile.Write(out.File, format); err != nil {
			return out, nil, 0, err
		}
		all := out.Jobs + out.Orphans
		if f.Limit == 0 || all <= 1 || len(text) <= jobfile.MaxBytes {
			break
		}
		f.Limit = all / 2
	}
	if f.Limit > 0 {
		out.Orphans, err = s.orphans(ctx, p, asked)
	}
	return out, text, next, err
}

// orphans counts the jobs under a filter whose groups are gone, for the first of several files.
func (s *Service) orphans(ctx context.Context, p auth.Principal, f manage.JobFilter) (n int, err error) {
	if f.Below != 0 || f.Group != 0 || !p.Admin { // nobody else sees one
		return 0, nil
	}
	groups, err := s.cfg.Groups.List(ctx, p)
	if err != nil {
		return 0, err
	}
	counts, err := s.queries.CountJobsByGroup(ctx, s.cfg.Pool)
	if err != nil {
		return 0, fmt.Errorf("count jobs of groups: %w", err)
	}
	f.Limit, f.Exact = 0, true
	for _, c := range counts {
		if slices.ContainsFunc(groups, func(g db.Group) bool { return g.ID == c.JobGroup }) {
			continue
		}
		f.Group = c.JobGroup
		jobs, err := s.cfg.Jobs.Count(ctx, p, f)
		if err != nil {
			return 0, err
		}
		n += int(jobs)
	}
	return n, nil
}

// isWhole says that a filter is of all jobs, or of all of a group.
func isWhole(f manage.JobFilter) bool {
	return f == manage.JobFilter{Group: f.Group, Status: manage.AnyStatus, Typed: f.Typed}
}

// export puts jobs into a file; whole are all of a group, or all of them.
func (s *Service) export(ctx context.Context, p auth.Principal, ofGroup int64, ids []int64, whole bool) (Export, error) {
	var out Export
	stored, err := s.cfg.Jobs.Stored(ctx, ids)
	if err != nil {
		return out, err
	}
	var children []int64
	for id, j := range stored {
		if !p.CanUseGroup(j.JobGroup) {
			delete(stored, id)
			continue
		}
		kids, _, _ := jobspec.ChildIDs(string(j.ChildJobIDs))
		children = append(children, kids...)
	}
	family, err := s.cfg.Jobs.Stored(ctx, children)
	if err != nil {
		return out, err
	}
	groups, err := s.cfg.Groups.List(ctx, p)
	if err != nil {
		return out, err
	}
	slices.SortStableFunc(groups, func(a, b db.Group) int {
		return cmp.Or(strings.Compare(a.AppName, b.AppName), strings.Compare(a.Title, b.Title))
	})
	apps := make(map[int64]string, len(groups))
	for _, g := range groups {
		apps[g.ID] = g.AppName
	}
	names, err := s.flowNames(ctx, flowsAmong(stored), groups)
	if err != nil {
		return out, err
	}
	jobs := make(map[int64][]jobfile.Job) // of each group
	for _, j := range stored {
		if j.GlueType == jobspec.GlueFlow {
			j.GlueSource = db.Text(filed(string(j.GlueSource), names))
		}
		jobs[j.JobGroup] = append(jobs[j.JobGroup], s.fileJob(p, j, apps, family))
	}
	for _, g := range groups {
		group := jobfile.Group{AppName: g.AppName, Title: g.Title, Jobs: jobs[g.ID]}
		slices.SortFunc(group.Jobs, func(a, b jobfile.Job) int {
			return cmp.Or(strings.Compare(a.Description(), b.Description()), cmp.Compare(a.ID, b.ID))
		})
		for _, j := range group.Jobs {
			if j.ScriptOmitted {
				out.Scripts++
			}
		}
		if out.Jobs += len(group.Jobs); len(group.Jobs) > 0 || whole && (ofGroup == 0 || ofGroup == g.ID) {
			out.File.Groups = append(out.File.Groups, group)
		}
	}
	if len(stored) == 0 && len(out.File.Groups) == 0 {
		return out, problem.New(problem.NotFound, "problem.export.none")
	}
	out.Orphans = len(stored) - out.Jobs
	return out, nil
}

func (s *Service) fileJob(p auth.Principal, j db.Job, apps map[int64]string, family map[int64]db.Job) jobfile.Job {
	spec := j.Spec()
	if spec.Concurrency == jobspec.ConcurrencyQueue {
		spec.Concurrency = "" // which means the same, and is what most jobs have
	}
	out := jobfile.Job{ID: j.ID, State: jobfile.Stopped, Values: make(jobfile.Values)}
	if jobspec.Started(j.TriggerStatus) {
		out.State = jobfile.Running
	}
	if spec.Glue == wire.GlueBean {
		spec.GlueSource, spec.GlueRemark = "", ""
	} else if jobspec.IsScript(spec.Glue) && !p.Can(j.JobGroup, auth.RightGlue) {
		out.ScriptOmitted, spec.GlueSource, spec.GlueRemark = true, "", ""
	}
	notation := jobspec.Notation{Zone: s.zoneNamed(j.TimeZone), Layout: time.RFC3339Nano, Yes: "true"}
	for _, f := range jobspec.Fields {
		switch {
		case !f.In(&spec), f.Value(&spec) == int64(0):
		case f.Kind == jobspec.List:
			out.Values.Set(f.File, jobspec.Elements(f.Text(&spec, notation))...)
		default:
			out.Values.Set(f.File, f.Text(&spec, notation))
		}
	}
	kids, _, _ := jobspec.ChildIDs(string(j.ChildJobIDs))
	for _, id := range kids {
		ref := jobfile.Ref{ID: id}
		if child, ok := family[id]; ok && apps[child.JobGroup] != "" && child.JobDesc != "" { // apps are those that may be seen
			ref.AppName, ref.Description = apps[child.JobGroup], child.JobDesc
		}
		out.Children = append(out.Children, ref)
	}
	return out
}

// zoneNamed is a job's zone, or the installation's when it has none or one that this machine does not know.
func (s *Service) zoneNamed(name string) *time.Location {
	if zone, err := jobspec.Location(name); err == nil && name != "" {
		return zone
	}
	return s.cfg.Zone
}
