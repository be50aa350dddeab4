package manage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// Uses are jobs that start another one, or flows that run it in one of their steps.
type Uses struct {
	Jobs   []Child // those that the principal may see, by id
	Hidden int     // how many others there are
}

// Any says whether there is one.
func (u Uses) Any() bool { return len(u.Jobs)+u.Hidden > 0 }

func (u *Uses) add(p auth.Principal, id, group int64, name string) {
	if p.CanUseGroup(group) {
		u.Jobs = append(u.Jobs, Child{ID: id, Name: name, Group: group})
	} else {
		u.Hidden++
	}
}

// UsedBy is what does without a job once it is deleted.
type UsedBy struct{ Parents, Flows Uses }

// Any says whether there is something.
func (u UsedBy) Any() bool { return u.Parents.Any() || u.Flows.Any() }

// UsedBy finds what does without a job once it is deleted.
func (s *Jobs) UsedBy(ctx context.Context, p auth.Principal, j db.Job) (used UsedBy, err error) {
	rows, err := s.parents(ctx, j.ID)
	if err != nil {
		return used, err
	}
	for _, r := range rows {
		used.Parents.add(p, r.ID, r.JobGroup, r.JobDesc)
	}
	used.Flows, err = s.FlowsUsing(ctx, p, j)
	return used, err
}

// UsedByRest is UsedBy for jobs that are deleted together: what goes with them is left out, and so is a job that nothing else uses.
func (s *Jobs) UsedByRest(ctx context.Context, p auth.Principal, gone map[int64]bool) (map[int64]UsedBy, error) {
	if len(gone) == 0 {
		return nil, nil
	}
	starts, runs := make(lines), make(lines)
	if err := s.childLines(ctx, starts); err != nil {
		return nil, err
	}
	if err := s.flowLines(ctx, p, runs); err != nil {
		return nil, err
	}
	var stay []int64
	for _, all := range []lines{starts, runs} {
		maps.DeleteFunc(all, func(from int64, to map[int64]bool) bool {
			maps.DeleteFunc(to, func(id int64, _ bool) bool { return !gone[id] })
			return gone[from] || len(to) == 0
		})
		stay = slices.AppendSeq(stay, maps.Keys(all))
	}
	kinds, err := s.kinds(ctx, stay)
	if err != nil {
		return nil, err
	}
	used := make(map[int64]UsedBy)
	for _, from := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[from]
		for id := range starts[from] {
			u := used[id]
			u.Parents.add(p, from, k.JobGroup, k.JobDesc)
			used[id] = u
		}
		for id := range runs[from] {
			u := used[id]
			u.Flows.add(p, from, k.JobGroup, k.JobDesc)
			used[id] = u
		}
	}
	return used, nil
}

const (
	flowPage = 200  // flows that are read at a time
	maxUses  = 1000 // flows that are looked for
)

// FlowsUsing finds the flows that run a job, by its number or by its executor and description.
func (s *Jobs) FlowsUsing(ctx context.Context, p auth.Principal, j db.Job) (uses Uses, err error) {
	names := &flowJobs{ctx: ctx, tx: s.cfg.Pool, s: s, p: p}
	page := db.ListFlowsNamingParams{Number: db.Text("%" + strconv.FormatInt(j.ID, 10) + "%"), Text: "%app_name%", Limit: flowPage}
	for {
		rows, err := s.queries.ListFlowsNaming(ctx, s.cfg.Pool, page)
		if err != nil {
			return uses, fmt.Errorf("look for the flows that use a job: %w", db.Error(err))
		}
		for _, r := range rows {
			page.AfterID = r.ID
			if runs, err := s.flowRuns(names, string(r.GlueSource), j); err != nil {
				return uses, err
			} else if !runs {
				continue
			}
			uses.add(p, r.ID, r.JobGroup, r.JobDesc)
		}
		if len(rows) < flowPage || len(uses.Jobs)+uses.Hidden >= maxUses {
			return uses, nil
		}
	}
}

// flowRuns says whether a definition has a step that runs a job.
func (s *Jobs) flowRuns(names *flowJobs, source string, j db.Job) (bool, error) {
	def, err := flow.Parse([]byte(source))
	if err != nil {
		return false, nil // it was saved by other means, and does not begin
	}
	for i := range def.Steps {
		ref := def.Steps[i].Ref()
		switch {
		case ref == nil:
		case ref.ID == j.ID:
			return true, nil
		case ref.ID == 0 && ref.Description == j.JobDesc:
			if id, err := names.named(*ref); err != nil || id == j.ID {
				return err == nil, err
			}
		}
	}
	return false, nil
}
