package transfer

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// applyFor bounds an import. It goes on when the browser that asked for it goes away: half an import helps nobody.
const applyFor = 5 * time.Minute

// FailedError is a job that could not be imported although the plan had promised it. Nothing was, then.
type FailedError struct {
	AppName, Name string
	err           error
}

func (e *FailedError) Error() string { return fmt.Sprintf("%s: %q: %v", e.AppName, e.Name, e.err) }

// Unwrap is why.
func (e *FailedError) Unwrap() error { return e.err }

// Refused says whether something is wrong with the job, and not with us or the database: then its owner asks which one it is.
func (e *FailedError) Refused() bool {
	kind := problem.From(e.err).Kind
	return kind != problem.Internal && kind != problem.Unavailable
}

// Import does what a plan promised, all of it or nothing; what the plan refuses is left out. The digest is the plan's. When planning again
// gives another plan, since somebody changed a job in between, nothing is done and the new plan comes with a conflict. A job that cannot
// be imported comes as a [FailedError], with the plan as it would be now.
func (s *Service) Import(ctx context.Context, p auth.Principal, f jobfile.File, opts Options, digest string) (Plan, error) {
	opts.Look = false
	plan, err := s.Plan(ctx, p, f, opts)
	if err != nil {
		return plan, err
	}
	if plan.Digest != digest {
		return plan, problem.New(problem.Conflict, "problem.import.changed")
	}
	if opts.Source != "" && plan.Count(Refuse) > 0 { // or what its jobs are would depend on when they were applied
		return plan, problem.New(problem.Conflict, "problem.import.refused", "Count", plan.Count(Refuse))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyFor)
	defer cancel()
	var done []Item
	// In turn: of two that create the same job at once both would, as nothing says that names are unique.
	err = s.cfg.Pool.InTurn(ctx, "import", func(ctx context.Context, _ *sql.Tx) error {
		again, err := s.Plan(ctx, p, f, opts)
		if err != nil || again.Digest != digest {
			return cmp.Or[error](err, problem.New(problem.Conflict, "problem.import.changed"))
		}
		w := &work{s: s, jobs: s.cfg.Jobs.Of(opts.Source, again.incoming), p: p, opts: opts, items: again.Items, groups: make(map[string]int64), visited: make([]bool, len(again.Items))}
		if err := w.keepSame(ctx); err != nil {
			return err
		}
		for _, g := range again.empty {
			if _, err := w.group(ctx, g); err != nil {
				return err
			}
		}
		for _, i := range w.order() {
			if err := w.do(ctx, i); err != nil {
				return err
			}
		}
		done = w.items
		return w.keepSaved(ctx)
	})
	if err != nil {
		return plan, err
	}
	plan.Items = done
	return plan, nil
}

// work carries out a plan.
type work struct {
	s       *Service
	jobs    *manage.Jobs
	p       auth.Principal
	opts    Options
	items   []Item
	groups  map[string]int64 // those that were created
	visited []bool
}

// order is that in which items are imported. A job that was changed waits for the end of all, and its fires with it: those that are due soonest are
// changed last, behind what is created and what is stopped.
func (w *work) order() []int {
	due := make([]int64, len(w.items))
	places := make([]int, len(w.items))
	for i, item := range w.items {
		places[i] = i
		switch {
		case item.Outcome == Delete:
			due[i] = -1
		case item.Outcome == Change && jobspec.Started(item.old.TriggerStatus):
			due[i] = item.old.TriggerNextTime
		default:
			due[i] = math.MaxInt64
		}
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(due[b], due[a]) })
	return places
}

// do imports an item after its children, whose ids it needs, and after the jobs of its steps. There are no rings, or the plan would have refused
// them.
func (w *work) do(ctx context.Context, i int) error {
	if w.visited[i] {
		return nil
	}
	w.visited[i] = true
	item := &w.items[i]
	switch item.Outcome {
	case Create, Change:
	case Delete:
		if err := w.jobs.DeleteVersion(ctx, w.p, item.ID, manage.JobVersion(item.old)); err != nil {
			return &FailedError{AppName: item.AppName, Name: item.Name, err: err}
		}
		return nil
	case Same, Refuse:
		return nil
	}
	for k := range w.items {
		if len(item.uses) > 0 && !w.visited[k] && slices.Contains(item.uses, w.items[k].node(k)) {
			if err := w.do(ctx, k); err != nil {
				return err
			}
		}
	}
	ids := make([]string, 0, len(item.children))
	for _, t := range item.children {
		id := t.id
		if t.inFile {
			if err := w.do(ctx, t.item); err != nil {
				return err
			}
			id = w.items[t.item].ID
		}
		ids = append(ids, strconv.FormatInt(id, 10))
	}
	item.in.ChildJobIDs = cmp.Or(item.in.ChildJobIDs, strings.Join(ids, ","))
	if err := w.save(ctx, item); err != nil {
		return &FailedError{AppName: item.AppName, Name: item.Name, err: err}
	}
	return nil
}

func (w *work) save(ctx context.Context, item *Item) error {
	if item.group.id == 0 {
		id, err := w.group(ctx, item.group)
		if err != nil {
			return err
		}
		item.in.Group = id
	}
	if item.ID == 0 {
		id, err := w.jobs.Create(ctx, w.p, item.in)
		if err != nil {
			return err
		}
		item.ID = id
	} else {
		if item.stop { // first, since a schedule that is over cannot be given to a job that runs
			if err := w.jobs.Stop(ctx, w.p, item.ID); err != nil {
				return err
			}
		}
		if err := w.jobs.Update(ctx, w.p, item.ID, item.in); err != nil {
			return err
		}
	}
	if item.start {
		return w.jobs.Start(ctx, w.p, item.ID)
	}
	return nil
}

// group creates an executor, once.
func (w *work) group(ctx context.Context, g executor) (int64, error) {
	if id, ok := w.groups[g.app]; ok {
		return id, nil
	}
	id, err := w.s.cfg.Groups.Create(ctx, w.p, g.input())
	if err == nil {
		w.groups[g.app] = id
	}
	return id, err
}
