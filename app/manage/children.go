package manage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// maxDescendants bounds the search for a cycle. A family that large is not looked through to its end.
const maxDescendants = 2000

// Family is which jobs start which.
type Family struct {
	Kids  map[int64][]int64
	Names map[int64]string // of those that whoever asks may see
	Steps bool             // flows start the jobs of their steps, too
}

// checkCycle refuses children that would start the job itself again, directly or through theirs: such a ring runs for ever.
func (s *Jobs) checkCycle(ctx context.Context, tx db.DBTX, p auth.Principal, job jobspec.Job, ids []int64) ([]problem.Field, error) {
	if job.ID == 0 {
		return nil, nil // nobody's child yet
	}
	f := Family{Kids: map[int64][]int64{job.ID: ids}, Names: map[int64]string{job.ID: job.Name}, Steps: true}
	if err := s.extend(ctx, tx, p, f); err != nil {
		return nil, err
	}
	if ring := f.Ring(job.ID); ring != "" {
		return []problem.Field{{Name: jobspec.FieldChildren, Key: "job.error.child_cycle", Args: []any{"Ring", ring}}}, nil
	}
	return nil, nil
}

// Extend adds the descendants of a family's jobs as they are stored. Ids below 0 are jobs that do not exist yet.
func (s *Jobs) Extend(ctx context.Context, p auth.Principal, f Family) error {
	return s.extend(ctx, s.cfg.Pool, p, f)
}

func (s *Jobs) extend(ctx context.Context, tx db.DBTX, p auth.Principal, f Family) error {
	starts := &flowJobs{ctx: ctx, tx: tx, s: s, p: p, in: s.incoming}
	for found := 0; found < maxDescendants; {
		next := make(map[int64]bool)
		for _, kids := range f.Kids {
			for _, id := range kids {
				if _, known := f.Kids[id]; !known && id > 0 {
					next[id] = true
				}
			}
		}
		if len(next) == 0 {
			return starts.err
		}
		jobs, err := s.byID(ctx, tx, slices.Collect(maps.Keys(next)))
		if err != nil {
			return err
		}
		for id := range next {
			j := jobs[id] // one that is gone starts nothing
			if in, is := s.incoming[id]; is && !in.Gone {
				j = in.row(id)
			}
			if f.Kids[id], _, _ = jobspec.ChildIDs(string(j.ChildJobIDs)); f.Steps {
				f.Kids[id] = starts.told(j).Next
			}
			if p.CanUseGroup(j.JobGroup) {
				f.Names[id] = j.JobDesc
			}
		}
		found += len(next)
	}
	return starts.err
}

// Ring names the jobs on the shortest way from a job back to itself; empty if there is none.
func (f Family) Ring(from int64) string {
	if way := f.way(from, from); way != nil {
		return f.say(append([]int64{from}, way...))
	}
	return ""
}

// way is the shortest way from a job to another: the jobs after the first. It is nil if there is none.
func (f Family) way(from, to int64) []int64 {
	before := make(map[int64]int64)
	for queue := []int64{from}; len(queue) > 0; queue = queue[1:] {
		for _, kid := range f.Kids[queue[0]] {
			if kid == to {
				way := []int64{to}
				for at := queue[0]; at != from; at = before[at] {
					way = append(way, at)
				}
				slices.Reverse(way)
				return way
			}
			if _, seen := before[kid]; !seen {
				before[kid] = queue[0]
				queue = append(queue, kid)
			}
		}
	}
	return nil
}

func (f Family) say(ids []int64) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = f.name(id)
	}
	return strings.Join(names, " → ")
}

func (f Family) name(id int64) string {
	switch name := f.Names[id]; {
	case id < 0:
		return name
	case name == "":
		return "#" + strconv.FormatInt(id, 10)
	default:
		return name + " (#" + strconv.FormatInt(id, 10) + ")"
	}
}

// Child is a job as the picker of children shows it.
type Child struct {
	ID    int64
	Name  string // empty for one that is gone, or that the principal may not see
	Group int64
	// Ring is the way back to the job whose child it would be, for one that must not be.
	Ring string
}

// maxChildHits bounds what a search for children finds.
const maxChildHits = 8

// FindChildren looks for jobs that may become a job's children: by id, or by a part of the description or of the handler, in the
// groups in which the principal may run jobs. Those that would start the job again say how.
func (s *Jobs) FindChildren(ctx context.Context, p auth.Principal, jobID int64, text string, except []int64) ([]Child, error) {
	hits, err := s.pick(ctx, p, auth.RightRun, jobID, text, except, nil)
	if err != nil {
		return nil, err
	}
	return hits, s.addRings(ctx, p, jobID, hits)
}

// FindForStep looks in the same way for jobs that a step of a flow may run: other flows, or what is none.
func (s *Jobs) FindForStep(ctx context.Context, p auth.Principal, flowID int64, text string, except []int64, flows bool) ([]Child, error) {
	return s.pick(ctx, p, auth.RightRun, flowID, text, except, &flows)
}

// FindToSchedule looks in the same way for jobs whose schedules the principal may hold still.
func (s *Jobs) FindToSchedule(ctx context.Context, p auth.Principal, text string) ([]Child, error) {
	return s.pick(ctx, p, auth.RightSchedule, 0, text, nil, nil)
}

func (s *Jobs) pick(ctx context.Context, p auth.Principal, right auth.Rights, jobID int64, text string, except []int64, flows *bool) ([]Child, error) {
	var hits []Child
	for _, f := range []JobFilter{{Status: AnyStatus, Text: text}, {Status: AnyStatus, Handler: text}} {
		q, ok := jobQuery(p, f)
		q.Flows = flows
		q.Groups = slices.DeleteFunc(q.Groups, func(id int64) bool { return !p.Can(id, right) })
		if !ok || !p.Admin && len(q.Groups) == 0 {
			return nil, nil
		}
		ids, err := db.SearchJobs(ctx, s.cfg.Pool, q, 0, int64(maxChildHits+len(except)+1))
		if err != nil {
			return nil, fmt.Errorf("find jobs: %w", db.Error(err))
		}
		found, err := s.byID(ctx, s.cfg.Pool, ids)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			j, exists := found[id]
			known := func(c Child) bool { return c.ID == id }
			if exists && len(hits) < maxChildHits && id != jobID && !slices.Contains(except, id) && !slices.ContainsFunc(hits, known) {
				hits = append(hits, Child{ID: id, Name: j.JobDesc, Group: j.JobGroup})
			}
		}
		if text == "" {
			break
		}
	}
	return hits, nil
}

func (s *Jobs) addRings(ctx context.Context, p auth.Principal, jobID int64, hits []Child) error {
	if jobID == 0 {
		return nil // nobody's child yet
	}
	f := Family{Kids: map[int64][]int64{jobID: {}}, Names: make(map[int64]string), Steps: true}
	for _, hit := range hits {
		f.Kids[jobID] = append(f.Kids[jobID], hit.ID)
		f.Names[hit.ID] = hit.Name
	}
	if err := s.Extend(ctx, p, f); err != nil {
		return err
	}
	for i, hit := range hits {
		if way := f.way(hit.ID, jobID); way != nil {
			hits[i].Ring = f.say(append([]int64{hit.ID}, way[:len(way)-1]...))
		}
	}
	return nil
}

// Children are the jobs of a stored list of children, in its order. ok is false for a list with something else in it too.
func (s *Jobs) Children(ctx context.Context, p auth.Principal, list string) (children []Child, ok bool, err error) {
	ids, _, ok := jobspec.ChildIDs(list)
	if len(ids) == 0 {
		return nil, ok, nil
	}
	jobs, err := s.byID(ctx, s.cfg.Pool, ids)
	if err != nil {
		return nil, false, err
	}
	for _, id := range ids {
		c := Child{ID: id}
		if j, exists := jobs[id]; exists && p.CanUseGroup(j.JobGroup) {
			c.Name, c.Group = j.JobDesc, j.JobGroup
		}
		children = append(children, c)
	}
	return children, ok, nil
}

// DueAt is how many other jobs have their next time at a moment. It names none, so everybody may know.
func (s *Jobs) DueAt(ctx context.Context, at time.Time, exceptID int64) (int64, error) {
	n, err := s.queries.CountJobsDueAt(ctx, s.cfg.Pool, db.CountJobsDueAtParams{AtMs: at.UnixMilli(), ExceptID: exceptID})
	return n, during("count jobs due", err)
}
