package dashboard

import (
	"context"
	"slices"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
)

// Show narrows a list to what one of the dashboard's numbers counts.
type Show string

// What lists can show: jobs that fail, are late, or are due in a minute or longer; runs that are late or take long.
const (
	ShowFailing Show = "failing"
	ShowLate    Show = "late"
	ShowDue     Show = "due"
	ShowLong    Show = "long"
)

// Jobs are the ids of the jobs that a job list is narrowed to. The moments are those of [ShowDue]: without the second, the minute that
// begins at the first.
func (s *Dashboard) Jobs(ctx context.Context, p auth.Principal, show Show, at, until time.Time) ([]int64, error) {
	switch {
	case show == ShowDue && until.IsZero():
		return s.dueAt(ctx, at)
	case show == ShowDue:
		return s.dueIn(ctx, span{at, until})
	}
	t, _, err := s.Troubles(ctx, p)
	if err != nil {
		return nil, err
	}
	var ids []int64
	switch show {
	case ShowFailing:
		for _, f := range t.Failing {
			ids = append(ids, f.Run.JobID)
		}
	case ShowLate:
		ids = t.LateJobs()
	case ShowDue, ShowLong:
	}
	return ids, nil
}

// Runs are the runs that a run list is narrowed to, newest first.
func (s *Dashboard) Runs(ctx context.Context, p auth.Principal, show Show) ([]db.RunRow, error) {
	t, _, err := s.Troubles(ctx, p)
	if err != nil {
		return nil, err
	}
	var runs []db.RunRow
	switch show {
	case ShowLate:
		runs = t.LateRuns()
	case ShowLong:
		runs = slices.Clone(t.Long)
	case ShowFailing, ShowDue:
	}
	slices.SortFunc(runs, func(a, b db.RunRow) int { return int(b.ID - a.ID) })
	return runs, nil
}
