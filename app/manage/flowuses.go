package manage

import (
	"context"
	"fmt"
	"strconv"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/flow"
)

// FlowUses are the flows that run a job in one of their steps.
type FlowUses struct {
	Flows  []Child // those that the principal may see, by id
	Hidden int     // how many others there are
}

// Any says whether there is one.
func (u FlowUses) Any() bool { return len(u.Flows)+u.Hidden > 0 }

const (
	flowPage = 200  // flows that are read at a time
	maxUses  = 1000 // flows that are looked for
)

// FlowsUsing finds the flows that run a job, by its number or by its executor and description.
func (s *Jobs) FlowsUsing(ctx context.Context, p auth.Principal, j db.Job) (uses FlowUses, err error) {
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
			if p.CanUseGroup(r.JobGroup) {
				uses.Flows = append(uses.Flows, Child{ID: r.ID, Name: r.JobDesc, Group: r.JobGroup})
			} else {
				uses.Hidden++
			}
		}
		if len(rows) < flowPage || len(uses.Flows)+uses.Hidden >= maxUses {
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
