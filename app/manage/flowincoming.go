package manage

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Incoming are the jobs that are saved together with a flow, such as those of a file, as they will be then: by their ids, which are below 0 of
// those that do not exist yet.
type Incoming map[int64]IncomingJob

// IncomingJob is one of them.
type IncomingJob struct {
	Job     jobspec.Job
	Group   int64 // 0 of one that is still to be created
	AppName string
	Next    []int64 // its child jobs
	Gone    bool    // it will be deleted then
}

// row is the job as one that is stored, as far as a flow looks at it.
func (j IncomingJob) row(id int64) db.Job {
	row := db.JobRow(j.Job)
	return db.Job{ID: id, JobGroup: j.Group, JobDesc: row.JobDesc, GlueType: row.GlueType, GlueSource: row.GlueSource, ExecutorHandler: row.ExecutorHandler, ExecutorParam: row.ExecutorParam, ParamFixed: row.ParamFixed}
}

// named is the first job with an executor and a description; 0 for none.
func (in Incoming) named(ref flow.JobRef) int64 {
	first := func(a, b int64) int { return cmp.Compare(max(a, -a), max(b, -b)) }
	for _, id := range slices.SortedFunc(maps.Keys(in), first) {
		if j := in[id]; !j.Gone && j.Job.Name == ref.Description && strings.EqualFold(j.AppName, ref.AppName) {
			return id
		}
	}
	return 0
}

// JudgeIncoming is JudgeFlow for one of the jobs that are saved together. It gives the jobs, too, that its steps run.
func (s *Jobs) JudgeIncoming(ctx context.Context, p auth.Principal, id int64, in Incoming) (flow.Faults, []int64, error) {
	job := in[id].Job
	job.ID = id
	jobs := &flowJobs{ctx: ctx, tx: s.cfg.Pool, s: s, p: p, found: make(map[int64]db.Job), in: in}
	_, faults, err := jobs.judge(job, in[id].Next)
	return faults, slices.Sorted(maps.Values(jobs.refs)), err
}
