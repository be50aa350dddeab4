package manage

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// MaxLineage is how many jobs a picture of who starts whom has at most.
const MaxLineage = 200

// maxStarters bounds how many jobs that start others are looked through, of each kind.
const maxStarters = 5000

// Lineage is which jobs of a group start which, and what of other groups these start or are started by.
type Lineage struct {
	Jobs   []LineageJob // by their numbers
	Rest   int          // how many more there are: whole families that do not fit, or what of one does not
	Hidden int          // how many the principal may not see
}

// LineageJob is a job that starts others or is started by them.
type LineageJob struct {
	ID, Group int64
	Name      string
	Flow      bool
	StartedBy []int64 // jobs of the list
}

// lines are which jobs start which.
type lines map[int64]map[int64]bool

func (l lines) add(from, to int64) {
	if l[from] == nil {
		l[from] = make(map[int64]bool)
	}
	l[from][to] = true
}

// Lineage finds who starts whom in a group: by child jobs, and as a flow.
func (s *Jobs) Lineage(ctx context.Context, p auth.Principal, groupID int64) (found Lineage, err error) {
	if !p.CanUseGroup(groupID) {
		return found, problem.New(problem.NotFound, "problem.group.gone")
	}
	starts := make(lines)
	if err := s.childLines(ctx, starts); err != nil {
		return found, err
	}
	if err := s.flowLines(ctx, p, starts); err != nil {
		return found, err
	}
	var ends []int64
	for from, to := range starts {
		ends = append(append(ends, from), slices.Collect(maps.Keys(to))...)
	}
	jobs, err := s.kinds(ctx, ends)
	if err != nil {
		return found, err
	}
	// Lines between jobs that there are, one of which is the group's.
	beside, by, hidden := make(lines), make(lines), make(map[int64]bool)
	for from, all := range starts {
		for to := range all {
			a, b := jobs[from], jobs[to]
			if a.ID == 0 || b.ID == 0 || a.JobGroup != groupID && b.JobGroup != groupID {
				continue
			}
			seen := true
			for _, j := range []db.ListJobKindsRow{a, b} {
				if !p.CanUseGroup(j.JobGroup) {
					hidden[j.ID], seen = true, false
				}
			}
			if seen {
				by.add(to, from)
				beside.add(from, to)
				beside.add(to, from)
			}
		}
	}
	found.Hidden = len(hidden)
	shown := make(map[int64]bool)
	for _, family := range families(beside) {
		if len(shown) == 0 {
			family = family[:min(len(family), MaxLineage)]
		}
		if len(shown)+len(family) <= MaxLineage {
			for _, id := range family {
				shown[id] = true
			}
		}
	}
	found.Rest = len(beside) - len(shown)
	for _, id := range slices.Sorted(maps.Keys(shown)) {
		j := LineageJob{ID: id, Group: jobs[id].JobGroup, Name: jobs[id].JobDesc, Flow: jobs[id].GlueType == jobspec.GlueFlow}
		for _, from := range slices.Sorted(maps.Keys(by[id])) {
			if shown[from] {
				j.StartedBy = append(j.StartedBy, from)
			}
		}
		found.Jobs = append(found.Jobs, j)
	}
	return found, nil
}

// families are the jobs that lines connect, those of many first; a family in the order in which its lines lead from its first.
func families(beside lines) [][]int64 {
	var all [][]int64
	seen := make(map[int64]bool)
	for _, first := range slices.Sorted(maps.Keys(beside)) {
		if seen[first] {
			continue
		}
		seen[first] = true
		family := []int64{first}
		for i := 0; i < len(family); i++ {
			for _, id := range slices.Sorted(maps.Keys(beside[family[i]])) {
				if !seen[id] {
					seen[id] = true
					family = append(family, id)
				}
			}
		}
		all = append(all, family)
	}
	slices.SortStableFunc(all, func(a, b []int64) int { return len(b) - len(a) })
	return all
}

// childLines adds what jobs start by their children.
func (s *Jobs) childLines(ctx context.Context, starts lines) error {
	for after, read := int64(0), 0; read < maxStarters; {
		rows, err := s.queries.ListParents(ctx, s.cfg.Pool, db.ListParentsParams{AfterID: after, Limit: readAtOnce})
		if err != nil {
			return fmt.Errorf("read which jobs have children: %w", db.Error(err))
		}
		for _, r := range rows {
			ids, _, _ := jobspec.ChildIDs(string(r.ChildJobIDs))
			for _, id := range ids {
				starts.add(r.ID, id)
			}
			after = r.ID
		}
		if read += len(rows); len(rows) < readAtOnce {
			break
		}
	}
	return nil
}

// flowLines adds what flows start in their steps.
func (s *Jobs) flowLines(ctx context.Context, p auth.Principal, starts lines) error {
	names := &flowJobs{ctx: ctx, tx: s.cfg.Pool, s: s, p: p}
	for after, read := int64(0), 0; read < maxStarters; {
		rows, err := s.queries.ListFlowsNaming(ctx, s.cfg.Pool, db.ListFlowsNamingParams{Number: "%", Text: "%", AfterID: after, Limit: flowPage})
		if err != nil {
			return fmt.Errorf("read flows: %w", db.Error(err))
		}
		for _, r := range rows {
			after = r.ID
			ids, err := names.startedBy(string(r.GlueSource))
			if err != nil {
				return err
			}
			for _, id := range ids {
				starts.add(r.ID, id)
			}
		}
		if read += len(rows); len(rows) < flowPage {
			break
		}
	}
	return nil
}

// kinds reads what jobs are, without what they run.
func (s *Jobs) kinds(ctx context.Context, ids []int64) (map[int64]db.ListJobKindsRow, error) {
	jobs := make(map[int64]db.ListJobKindsRow, len(ids))
	for part := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(ids))), readAtOnce) {
		rows, err := s.queries.ListJobKinds(ctx, s.cfg.Pool, part)
		if err != nil {
			return nil, fmt.Errorf("read jobs: %w", db.Error(err))
		}
		for _, r := range rows {
			jobs[r.ID] = r
		}
	}
	return jobs, nil
}
