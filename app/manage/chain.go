package manage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/document"
	"github.com/punctual-job/punctual/scheduler/flow"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// A chain is a job with all that its successes start, by their children. As a flow it is a step for each of the jobs, which needs the jobs
// that start it. The flow takes the schedule of the first job, which is stopped, and the jobs lose their children, or their steps would start
// them a second time. What a flow cannot be told apart from is left as it is: each job keeps its parameter, limits, retries and alarms, and
// those that have a schedule of their own keep it.

// Chain is what a flow would be made of, and what would change.
type Chain struct {
	First      db.Job
	Jobs       []db.Job // of the steps, the first one first
	Joins      []db.Job // of those, the ones that several start: each start was a run of its own
	Changed    []db.Job // those that lose their children
	Gone       []int64  // children that there are no more, which get no step
	Definition *flow.Definition
	Source     string // the definition as it would be kept
	Started    bool   // the flow would be started, and the first job stopped
	Version    string // changes with each of the jobs
}

// ChainInput is what somebody decides about it.
type ChainInput struct {
	Name    string // of the flow
	Version string // what [Chain.Version] said
}

// Chain is what a flow would be made of that begins with a job.
func (s *Jobs) Chain(ctx context.Context, p auth.Principal, id int64) (c Chain, err error) {
	if c.First, err = s.Need(ctx, p, id, auth.RightEdit); err != nil {
		return c, err
	}
	if parents, err := s.parents(ctx, id); err != nil {
		return c, err
	} else if len(parents) > 0 {
		return c, problem.New(problem.Conflict, "problem.chain.parents", "Count", len(parents), "N", strconv.Itoa(len(parents)))
	}
	family := Family{Kids: make(map[int64][]int64), Names: map[int64]string{id: c.First.JobDesc}}
	family.Kids[id], _, _ = jobspec.ChildIDs(string(c.First.ChildJobIDs))
	if err := s.Extend(ctx, p, family); err != nil {
		return c, err
	}
	known, err := s.Stored(ctx, chainIDs(family))
	if err != nil {
		return c, err
	}
	for _, id := range slices.Sorted(slices.Values(chainIDs(family))) {
		if known[id].ID == 0 {
			c.Gone = append(c.Gone, id)
		}
	}
	needs := make(map[int64][]int64) // the jobs that start each
	for from, kids := range family.Kids {
		for _, kid := range kids {
			if known[kid].ID != 0 && known[from].ID != 0 && !slices.Contains(needs[kid], from) {
				needs[kid] = append(needs[kid], from)
			}
		}
	}
	if len(needs) == 0 {
		return c, problem.New(problem.Conflict, "problem.chain.none")
	}
	if len(known) > flow.MaxSteps {
		return c, problem.New(problem.Conflict, "problem.chain.long", "Max", flow.MaxSteps)
	}
	if c.Jobs = inOrder(known, needs); len(c.Jobs) < len(known) {
		return c, problem.New(problem.Conflict, "problem.chain.ring")
	}
	return s.completeChain(ctx, p, c, needs)
}

// completeChain says what becomes of the jobs, whose parents are given.
func (s *Jobs) completeChain(ctx context.Context, p auth.Principal, c Chain, needs map[int64][]int64) (Chain, error) {
	c.Started = jobspec.Started(c.First.TriggerStatus)
	if c.Started && !p.Can(c.First.JobGroup, auth.RightSchedule) {
		return c, forbidden()
	}
	c.Definition = &flow.Definition{OnFailure: flow.OnFailureContinue} // a failure keeps no other branch of a chain from going on
	var versions strings.Builder
	for i := range c.Jobs {
		j := &c.Jobs[i]
		fmt.Fprintf(&versions, "|%d %s", j.ID, JobVersion(*j))
		if !p.Can(j.JobGroup, auth.RightRun) || j.ChildJobIDs != "" && !p.Can(j.JobGroup, auth.RightEdit) {
			return c, problem.New(problem.Conflict, "problem.chain.rights")
		}
		step := flow.Step{ID: chainStep(j.ID), Name: j.JobDesc}
		if j.GlueType == jobspec.GlueFlow {
			step.Flow = &flow.JobRef{ID: j.ID}
		} else {
			step.Job = &flow.JobRef{ID: j.ID}
		}
		slices.Sort(needs[j.ID])
		for _, id := range needs[j.ID] {
			step.Needs = append(step.Needs, chainStep(id))
		}
		if len(needs[j.ID]) > 1 {
			c.Joins = append(c.Joins, *j)
		}
		if j.ChildJobIDs != "" {
			c.Changed = append(c.Changed, *j)
			if held, err := s.heldBy(ctx, s.cfg.Pool, j.ID); err != nil {
				return c, err
			} else if held != "" {
				return c, problem.New(problem.Conflict, "problem.job.held", "Source", held)
			}
		}
		c.Definition.Steps = append(c.Definition.Steps, step)
	}
	source, err := c.Definition.Text(document.YAML)
	if err != nil {
		return c, fmt.Errorf("write the definition of a chain: %w", err)
	}
	c.Source, c.Version = string(source), digest(strconv.FormatBool(c.Started)+versions.String())
	return c, nil
}

func chainStep(id int64) string { return "job_" + strconv.FormatInt(id, 10) }

// chainIDs are the jobs of a family.
func chainIDs(f Family) []int64 {
	return slices.Collect(maps.Keys(f.Kids))
}

// inOrder puts jobs behind those that start them, and otherwise in the order of their ids; those of a ring are missing.
func inOrder(jobs map[int64]db.Job, needs map[int64][]int64) []db.Job {
	ids := slices.Sorted(maps.Keys(jobs))
	placed := make(map[int64]bool, len(ids))
	var order []db.Job
	for more := true; more; {
		more = false
		for _, id := range ids {
			waits := slices.ContainsFunc(needs[id], func(from int64) bool { return !placed[from] })
			if !placed[id] && !waits {
				placed[id], more = true, true
				order = append(order, jobs[id])
			}
		}
	}
	return order
}

// MakeFlow makes a flow of a chain as [Jobs.Chain] has it, in one transaction, and gives its id.
func (s *Jobs) MakeFlow(ctx context.Context, p auth.Principal, id int64, in ChainInput) (made int64, err error) {
	err = s.cfg.Pool.Together(ctx, func(ctx context.Context) error {
		c, err := s.Chain(ctx, p, id)
		if err != nil {
			return err
		}
		if in.Version != c.Version {
			return problem.New(problem.Conflict, "problem.changed")
		}
		claimed := int64(0)
		if c.Started {
			if claimed, err = s.stopFirst(ctx, p, id); err != nil {
				return err
			}
		}
		for _, j := range c.Changed {
			spec := j.Spec()
			spec.ChildJobIDs = ""
			if err := s.Update(ctx, p, j.ID, JobInput{Job: spec, Group: j.JobGroup, Version: JobVersion(j)}); err != nil {
				return err
			}
		}
		if made, err = s.Create(ctx, p, JobInput{Job: chainFlow(c, in.Name), Group: c.First.JobGroup}); err != nil {
			return err
		}
		if c.Started {
			if err := s.carryPauses(ctx, p, c.First, made); err != nil {
				return err
			}
			if err := s.startAfter(ctx, p, made, claimed); err != nil {
				return err
			}
		}
		return s.keepChain(ctx, c, made)
	})
	return made, err
}

// stopFirst stops the first job of a chain, and tells before which moment its fires are claimed: those run as it, and not as the flow once more.
func (s *Jobs) stopFirst(ctx context.Context, p auth.Principal, id int64) (claimed int64, err error) {
	if err := s.Stop(ctx, p, id); err != nil {
		return 0, err
	}
	j, err := s.Get(ctx, p, id)
	return j.ClaimedUntil, err
}

// carryPauses gives a job the pauses of another one's own, before it takes over its schedule: what holds that back, or will, goes on to. The other
// job's are ended: else one that is ended here would hold the schedule again once it goes back.
func (s *Jobs) carryPauses(ctx context.Context, p auth.Principal, from db.Job, to int64) error {
	list, err := s.pauses.Of(ctx, p, from)
	if err != nil {
		return err
	}
	next, err := s.Get(ctx, p, to)
	if err != nil {
		return err
	}
	has, err := s.pauses.Of(ctx, p, next)
	if err != nil {
		return err
	}
	carried := false
	for _, pause := range list {
		same := func(h Pause) bool {
			return h.Until.Equal(pause.Until) && h.Strategy == pause.Strategy && h.Cron == pause.Cron && h.Length == pause.Length && h.ZoneID == pause.ZoneID && h.Reason == pause.Reason
		}
		if pause.Scope != jobspec.PauseJob {
			continue
		}
		if err := s.pauses.end(ctx, p, pause.ID, from.ID); err != nil {
			return err
		}
		carried = true
		if slices.ContainsFunc(has, same) {
			continue
		}
		if _, err := s.pauses.keep(ctx, p, PauseInput{
			Scope: jobspec.PauseJob, Target: to, From: pause.From, Until: pause.Until, Strategy: pause.Strategy, Cron: pause.Cron, Length: pause.Length, Zone: pause.ZoneID, Reason: pause.Reason,
		}, nil); err != nil {
			return err
		}
	}
	if carried {
		s.cfg.Pool.AfterCommit(ctx, s.cfg.pausesChanged)
	}
	return nil
}

// chainFlow is the flow that a chain becomes: with the schedule of the first job, and what says by when it has to be done.
func chainFlow(c Chain, name string) jobspec.Job {
	first := c.First.Spec()
	return jobspec.Job{
		Name: name, Author: first.Author, Glue: jobspec.GlueFlow, GlueSource: c.Source, GlueRemark: c.First.JobDesc, Tags: first.Tags,
		ScheduleType: first.ScheduleType, ScheduleConf: first.ScheduleConf, Misfire: first.Misfire, MisfireLast: first.MisfireLast, MisfireWithin: first.MisfireWithin,
		Zone: first.Zone, Start: first.Start, End: first.End, Calendar: first.Calendar, CalendarRule: first.CalendarRule, DoneBy: first.DoneBy,
	}.WithDefaults()
}
