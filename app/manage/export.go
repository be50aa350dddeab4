package manage

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Export is what goes into a file, and what does not.
type Export struct {
	File    jobfile.File
	Jobs    int
	Scripts int // whose text is left out, since the principal may not read it
	Orphans int // jobs left out because their executor is gone: nothing could name it
}

// readAtOnce is how many whole jobs, scripts included, one query reads.
const readAtOnce = 200

// Export puts jobs into a file: those with the ids, or without ids those under the filter. Jobs that the principal may not see
// are left out as if they did not exist.
func (s *Jobs) Export(ctx context.Context, p auth.Principal, f JobFilter, ids []int64) (Export, error) {
	var out Export
	if len(ids) == 0 {
		f.Limit, f.Offset = jobfile.MaxJobs+1, 0
		var err error
		if ids, err = s.find(ctx, p, f, new(JobList)); err != nil {
			return out, err
		}
	}
	if len(ids) > jobfile.MaxJobs {
		return out, problem.New(problem.Conflict, "problem.export.many", "Max", jobfile.MaxJobs)
	}
	stored, err := s.load(ctx, ids)
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
	if len(stored) == 0 {
		return out, problem.New(problem.NotFound, "problem.export.none")
	}
	family, err := s.load(ctx, children)
	if err != nil {
		return out, err
	}
	groups, err := s.groups.List(ctx, p)
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
	for _, g := range groups {
		group := jobfile.Group{AppName: g.AppName, Title: g.Title}
		for _, j := range stored {
			if j.JobGroup == g.ID {
				group.Jobs = append(group.Jobs, s.fileJob(p, j, apps, family))
			}
		}
		slices.SortFunc(group.Jobs, func(a, b jobfile.Job) int {
			return cmp.Or(strings.Compare(a.Description, b.Description), cmp.Compare(a.ID, b.ID))
		})
		for _, j := range group.Jobs {
			if j.ScriptOmitted {
				out.Scripts++
			}
		}
		if out.Jobs += len(group.Jobs); len(group.Jobs) > 0 {
			out.File.Groups = append(out.File.Groups, group)
		}
	}
	out.Orphans = len(stored) - out.Jobs
	return out, nil
}

// load reads whole jobs, many if need be.
func (s *Jobs) load(ctx context.Context, ids []int64) (map[int64]db.Job, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	all := make(map[int64]db.Job, len(ids))
	for part := range slices.Chunk(ids, readAtOnce) {
		jobs, err := s.byID(ctx, s.cfg.Pool, part)
		if err != nil {
			return nil, err
		}
		for id, j := range jobs {
			all[id] = j
		}
	}
	return all, nil
}

func (s *Jobs) fileJob(p auth.Principal, j db.Job, apps map[int64]string, family map[int64]db.Job) jobfile.Job {
	out := jobfile.Job{
		ID: j.ID, Description: j.JobDesc, Author: string(j.Author), State: jobfile.Stopped, Schedule: string(j.ScheduleType), TimeZone: j.TimeZone,
		NotBefore: s.fileMoment(j.StartAt, j.TimeZone), NotAfter: s.fileMoment(j.EndAt, j.TimeZone), Misfire: string(j.MisfireStrategy),
		Kind: string(j.GlueType), Handler: string(j.ExecutorHandler), Parameter: string(j.ExecutorParam), Route: string(j.ExecutorRouteStrategy),
		Block: string(j.ExecutorBlockStrategy), TimeoutSeconds: j.ExecutorTimeout, Retries: j.ExecutorFailRetryCount, RetryBackoff: j.RetryBackoff,
		MaxConcurrent: j.MaxConcurrent, Concurrency: j.ConcurrencyPolicy, WarnAfterSeconds: j.WarnAfterSeconds, ExpectEverySeconds: j.ExpectEverySeconds,
		RetentionDays: j.RetentionDays, AlarmEmail: jobspec.EmailAddresses(string(j.AlarmEmail)), Tags: jobspec.Tags(j.Tags), ParameterFixed: j.ParamFixed != 0,
	}
	if j.TriggerStatus == int64(jobspec.StatusRunning) {
		out.State = jobfile.Running
	}
	if out.Concurrency == string(jobspec.ConcurrencyQueue) {
		out.Concurrency = "" // which means the same, and is what most jobs have
	}
	switch j.ScheduleType {
	case jobspec.ScheduleFixRate, jobspec.ScheduleFixDelay:
		out.Every = string(j.ScheduleConf)
	case jobspec.ScheduleOnce:
		out.At = string(j.ScheduleConf)
	case jobspec.ScheduleCron, jobspec.ScheduleNone:
		out.Cron = string(j.ScheduleConf)
	default:
		out.Cron = string(j.ScheduleConf)
	}
	switch {
	case j.GlueType == wire.GlueBean:
	case mayScript(p, j.JobGroup):
		out.Script, out.ScriptRemark = string(j.GlueSource), string(j.GlueRemark)
	default:
		out.ScriptOmitted = true
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

// fileMoment writes a bound with its distance from UTC, so that it is the same moment wherever it is read.
func (s *Jobs) fileMoment(ms int64, zone string) string {
	if ms <= 0 {
		return ""
	}
	return time.UnixMilli(ms).In(s.zoneNamed(zone)).Format(time.RFC3339Nano)
}

// zoneNamed is a job's zone, or the installation's when it has none or one that this machine does not know.
func (s *Jobs) zoneNamed(name string) *time.Location {
	if zone, err := jobspec.Location(name); err == nil && name != "" {
		return zone
	}
	return s.cfg.Zone
}
