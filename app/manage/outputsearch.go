package manage

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/archive"
)

// OutputSearch says what is looked for in the kept outputs of a job, or of all jobs of a group.
type OutputSearch struct {
	Group, Job int64 // one of them at least
	Text       string
	Since      time.Time // runs that were triggered between the two; zero: of any time
	Until      time.Time
	Before     int64         // runs below this id: where the search before has ended
	Runs       int           // with hits, at most
	Time       time.Duration // after which it says what there is; it goes on from there
}

// OutputFound is what a search came to, newest runs first.
type OutputFound struct {
	Hits       []OutputHit
	Next       int64     // OutputSearch.Before of what is left; 0: it is through
	Reached    time.Time // of the run that was looked at last; zero when it is through
	Looked     int       // runs
	Bytes      int64     // of their outputs
	Unreadable int       // runs whose copy could not be read
}

// OutputHit is a run with the text in its output.
type OutputHit struct {
	Run   db.RunRow
	Lines []archive.HitLine
	More  int // lines that have it too
}

// The names of the fields of a search, by which a problem.Field finds its place.
const (
	FieldSearchText  = "text"
	FieldSearchGroup = "group"
)

// MaxSearchText is how many bytes a text has that is looked for, at most.
const MaxSearchText = 255

// hitLines is how many lines of a run a search shows.
const hitLines = 5

// KeepsOutput says whether outputs are kept at all.
func (s *Runs) KeepsOutput() bool { return s.cfg.Engine.Archive() != nil }

// SearchOutput looks for a text in the kept outputs of runs that the principal may see.
func (s *Runs) SearchOutput(ctx context.Context, p auth.Principal, in OutputSearch) (OutputFound, error) {
	switch {
	case in.Group == 0 && in.Job == 0:
		return OutputFound{}, problem.InvalidFields(problem.Field{Name: FieldSearchGroup, Key: "search.error.group"})
	case strings.TrimSpace(in.Text) == "":
		return OutputFound{}, problem.InvalidFields(problem.Field{Name: FieldSearchText, Key: "search.error.text"})
	case len(in.Text) > MaxSearchText || strings.Contains(in.Text, "\n"):
		return OutputFound{}, problem.InvalidFields(problem.Field{Name: FieldSearchText, Key: "search.error.long"})
	}
	if in.Group != 0 && !p.CanUseGroup(in.Group) { // runs of the job, too, that it had there: that a search stops at one tells of what is in it
		return OutputFound{}, nil
	}
	q, err := s.query(ctx, p, RunFilter{Group: in.Group, Job: in.Job, Since: in.Since, Until: in.Until})
	if err != nil || q == nil {
		return OutputFound{}, err
	}
	before := q.before
	if in.Before > 0 {
		before = min(before, in.Before)
	}
	groups := q.filter.Groups
	if in.Group != 0 {
		groups = []int64{in.Group}
	}
	found, err := s.cfg.Engine.Archive().Search(ctx, archive.Search{
		Job: in.Job, Groups: groups, Text: in.Text, From: q.from, Before: before, Runs: in.Runs, Lines: hitLines, Time: in.Time,
	})
	if err != nil {
		return OutputFound{}, fmt.Errorf("search kept outputs: %w", db.Error(err))
	}
	out := OutputFound{Looked: found.Looked, Bytes: found.Bytes, Unreadable: found.Unreadable}
	if found.Reached > q.from {
		at := RunList{Older: found.Reached}
		if err := q.stopped(ctx, &at); err != nil {
			return OutputFound{}, err
		}
		out.Next, out.Reached = found.Reached, at.Reached
	}
	return out, s.hitRuns(ctx, q.filter, found.Hits, &out)
}

// hitRuns adds the runs of hits, as far as they are under the filter: the ids at its edges are of a time around it.
func (s *Runs) hitRuns(ctx context.Context, f db.RunFilter, hits []archive.Hit, out *OutputFound) error {
	if len(hits) == 0 {
		return nil
	}
	for _, h := range hits {
		f.IDs = append(f.IDs, h.RunID)
	}
	rows, err := db.FindRuns(ctx, s.cfg.Pool, f, 0, math.MaxInt64, len(hits))
	if err != nil {
		return fmt.Errorf("read the runs of hits: %w", db.Error(err))
	}
	for _, h := range hits {
		if i := slices.IndexFunc(rows, func(r db.RunRow) bool { return r.ID == h.RunID }); i >= 0 {
			out.Hits = append(out.Hits, OutputHit{Run: rows[i], Lines: h.Lines, More: h.More})
		}
	}
	return nil
}

// Faults is how many lines with errors the kept outputs of some runs have, of those of which there is a copy.
func (s *Runs) Faults(ctx context.Context, ids []int64) (map[int64]int64, error) {
	faults := make(map[int64]int64)
	for part := range slices.Chunk(ids, db.MaxBatch) {
		rows, err := s.queries.ListFaults(ctx, s.cfg.Pool, part)
		if err != nil {
			return nil, fmt.Errorf("read how many errors kept outputs tell of: %w", db.Error(err))
		}
		for _, r := range rows {
			faults[r.LogID] = r.Faults
		}
	}
	return faults, nil
}
