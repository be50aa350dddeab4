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

// family is which jobs start which.
type family struct {
	kids  map[int64][]int64
	names map[int64]string // of those that whoever asks may see
}

// checkCycle refuses children that would start the job itself again, directly or through theirs: such a ring runs for ever.
func (s *Jobs) checkCycle(ctx context.Context, tx db.DBTX, p auth.Principal, job jobspec.Job, ids []int64) ([]problem.Field, error) {
	if job.ID == 0 {
		return nil, nil // nobody's child yet
	}
	f := family{kids: map[int64][]int64{job.ID: ids}, names: map[int64]string{job.ID: job.Name}}
	if err := s.extend(ctx, tx, p, f); err != nil {
		return nil, err
	}
	if ring := f.ring(job.ID); ring != "" {
		return []problem.Field{{Name: jobspec.FieldChildren, Key: "job.error.child_cycle", Args: []any{"Ring", ring}}}, nil
	}
	return nil, nil
}

// extend adds the descendants of a family's jobs as they are stored. Ids below 0 are jobs that do not exist yet.
func (s *Jobs) extend(ctx context.Context, tx db.DBTX, p auth.Principal, f family) error {
	for found := 0; found < maxDescendants; {
		next := make(map[int64]bool)
		for _, kids := range f.kids {
			for _, id := range kids {
				if _, known := f.kids[id]; !known && id > 0 {
					next[id] = true
				}
			}
		}
		if len(next) == 0 {
			return nil
		}
		for part := range slices.Chunk(slices.Sorted(maps.Keys(next)), readAtOnce) {
			jobs, err := s.byID(ctx, tx, slices.Clone(part))
			if err != nil {
				return err
			}
			for _, id := range part {
				j := jobs[id] // one that is gone starts nothing
				f.kids[id], _, _ = jobspec.ChildIDs(string(j.ChildJobIDs))
				if p.CanUseGroup(j.JobGroup) {
					f.names[id] = j.JobDesc
				}
			}
		}
		found += len(next)
	}
	return nil
}

// ring names the jobs on the shortest way from a job back to itself; empty if there is none.
func (f family) ring(from int64) string {
	before := make(map[int64]int64)
	for queue := []int64{from}; len(queue) > 0; queue = queue[1:] {
		for _, kid := range f.kids[queue[0]] {
			if kid == from {
				way := []string{f.name(from)}
				for at := queue[0]; at != from; at = before[at] {
					way = append(way, f.name(at))
				}
				way = append(way, f.name(from))
				slices.Reverse(way)
				return strings.Join(way, " → ")
			}
			if _, seen := before[kid]; !seen {
				before[kid] = queue[0]
				queue = append(queue, kid)
			}
		}
	}
	return ""
}

func (f family) name(id int64) string {
	switch name := f.names[id]; {
	case id < 0:
		return name
	case name == "":
		return "#" + strconv.FormatInt(id, 10)
	default:
		return name + " (#" + strconv.FormatInt(id, 10) + ")"
	}
}

// DueAt is how many other jobs have their next time at a moment. It names none, so everybody may know.
func (s *Jobs) DueAt(ctx context.Context, at time.Time, exceptID int64) (int64, error) {
	n, err := s.queries.CountJobsDueAt(ctx, s.cfg.Pool, db.CountJobsDueAtParams{AtMs: at.UnixMilli(), ExceptID: exceptID})
	if err != nil {
		return 0, fmt.Errorf("count jobs due: %w", db.Error(err))
	}
	return n, nil
}
