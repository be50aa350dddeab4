package transfer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// refuseFlows refuses flows whose definitions do not hold once the file is imported, and what would start what is refused.
func (m *importer) refuseFlows(ctx context.Context) error {
	for again := true; again; {
		again = false
		in := m.incoming()
		for i := range m.items {
			item := &m.items[i]
			if !m.newDefinition(i) {
				if loses, err := m.losesSteps(ctx, i, in); err != nil {
					return err
				} else if loses {
					again = true
				}
				continue
			}
			faults, uses, err := m.s.cfg.Jobs.JudgeIncoming(ctx, m.p, item.node(i), in)
			if err != nil {
				return err
			}
			item.uses = uses
			if m.flowFaults(i, faults) {
				again = true
			}
		}
		m.refuseParents()
	}
	return nil
}

// losesSteps refuses a flow that stays as it is where a step of it runs a job that is to be deleted.
func (m *importer) losesSteps(ctx context.Context, i int, in manage.Incoming) (bool, error) {
	item := &m.items[i]
	if len(m.pruned) == 0 || item.in.Glue != jobspec.GlueFlow || item.Outcome == Refuse {
		return false, nil
	}
	with := maps.Clone(in)
	with[item.node(i)] = m.incomingJob(i)
	without := maps.Clone(with)
	maps.DeleteFunc(without, func(_ int64, j manage.IncomingJob) bool { return j.Gone })
	if faults, _, err := m.s.cfg.Jobs.JudgeIncoming(ctx, m.p, item.node(i), without); err != nil || len(faults) > 0 {
		return false, err // what was wrong before is nobody's business
	}
	faults, _, err := m.s.cfg.Jobs.JudgeIncoming(ctx, m.p, item.node(i), with)
	return m.flowFaults(i, faults), err
}

// newDefinition says whether an item is a flow with another definition, or with other child jobs, than it has.
func (m *importer) newDefinition(i int) bool {
	item := &m.items[i]
	if item.in.Glue != jobspec.GlueFlow || item.Outcome != Create && item.Outcome != Change {
		return false
	}
	return item.ID == 0 || item.in.GlueSource != string(item.old.GlueSource) || !m.sameChildren(i)
}

// incoming are the jobs that the file creates and changes, and those that are to be deleted.
func (m *importer) incoming() manage.Incoming {
	in := make(manage.Incoming)
	for id := range m.pruned {
		in[id] = manage.IncomingJob{Gone: true}
	}
	for i := range m.items {
		if item := &m.items[i]; item.Outcome == Create || item.Outcome == Change {
			in[item.node(i)] = m.incomingJob(i)
		}
	}
	return in
}

func (m *importer) incomingJob(i int) manage.IncomingJob {
	item := &m.items[i]
	job := manage.IncomingJob{Job: item.in.Job, Group: item.group.id, AppName: item.AppName}
	for _, t := range item.children {
		job.Next = append(job.Next, m.node(t))
	}
	return job
}

// flowFaults refuses an item for the faults of its definition, if there are any.
func (m *importer) flowFaults(i int, faults flow.Faults) bool {
	for _, f := range faults[:min(len(faults), manage.MaxFlowFaults)] {
		m.flowFault(i, f)
		m.items[i].Changes = nil
	}
	if more, is := manage.MoreFlowFaults(faults); is {
		m.faultAt(i, m.items[i].Line, more)
	}
	return len(faults) > 0
}

// flowFault refuses an item for a fault of its definition, on the line of the file where that is.
func (m *importer) flowFault(i int, f flow.Fault) {
	file := &m.items[i].file
	line, is := file.ScriptLine(f.Line)
	if is {
		f.Line = line
	}
	field := manage.FlowFault(f)
	if field.Name == jobspec.FieldChildren {
		line = file.LineOf(FileField(field.Name))
	}
	m.faultAt(i, line, field)
}

// nameJobs lets a definition name jobs that the file has by their ids as it does, where they are others here.
func (m *importer) nameJobs(text string) string {
	return flow.NameJobs(text, func(ref flow.JobRef) flow.JobRef {
		if i, among := m.byID[ref.ID]; among && ref.Description == "" && m.items[i].ID != ref.ID && m.items[i].Name != "" {
			return flow.JobRef{AppName: m.items[i].AppName, Description: m.items[i].Name}
		}
		return ref
	})
}

// flowNames are the names by which the steps of some flows can name their jobs in a file, which knows nothing of the ids of the installation it
// comes from: of jobs in executors that may be seen, where no other job has that name.
func (s *Service) flowNames(ctx context.Context, flows []db.Job, groups []db.Group) (map[int64]flow.JobRef, error) {
	var ids []int64
	for _, j := range flows {
		flow.NameJobs(string(j.GlueSource), func(ref flow.JobRef) flow.JobRef {
			ids = append(ids, ref.ID)
			return ref
		})
	}
	used, err := s.cfg.Jobs.Stored(ctx, ids)
	if err != nil || len(used) == 0 {
		return nil, err
	}
	apps := make(map[string][]int64)
	for _, g := range groups {
		apps[strings.ToLower(g.AppName)] = append(apps[strings.ToLower(g.AppName)], g.ID)
	}
	refs := make(map[int64]flow.JobRef)
	var names []string
	var in []int64
	for id, j := range used {
		i := slices.IndexFunc(groups, func(g db.Group) bool { return g.ID == j.JobGroup })
		if i >= 0 && len(apps[strings.ToLower(groups[i].AppName)]) == 1 && j.JobDesc != "" {
			refs[id] = flow.JobRef{AppName: groups[i].AppName, Description: j.JobDesc}
			names, in = append(names, j.JobDesc), append(in, j.JobGroup)
		}
	}
	count := make(map[jobName]int)
	for part := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(names))), 500) {
		rows, err := s.queries.ListJobsNamed(ctx, s.cfg.Pool, db.ListJobsNamedParams{GroupIds: slices.Compact(slices.Sorted(slices.Values(in))), Names: part})
		if err != nil {
			return nil, fmt.Errorf("find jobs by name: %w", db.Error(err))
		}
		for _, row := range rows {
			count[jobName{row.JobGroup, row.JobDesc}]++
		}
	}
	maps.DeleteFunc(refs, func(id int64, ref flow.JobRef) bool { return count[jobName{used[id].JobGroup, ref.Description}] != 1 })
	return refs, nil
}

func flowsAmong(jobs map[int64]db.Job) (flows []db.Job) {
	for _, j := range jobs {
		if j.GlueType == jobspec.GlueFlow {
			flows = append(flows, j)
		}
	}
	return flows
}

// filed is a definition as a file has it.
func filed(text string, names map[int64]flow.JobRef) string {
	return flow.NameJobs(text, func(ref flow.JobRef) flow.JobRef {
		if by, known := names[ref.ID]; known && ref.Description == "" {
			return by
		}
		return ref
	})
}
