package manage

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
)

// Show narrows a list to what one of the dashboard's numbers counts.
type Show string

// What lists can show: jobs that fail, are late, or are due in a minute; runs that are late or take long.
const (
	ShowFailing Show = "failing"
	ShowLate    Show = "late"
	ShowDue     Show = "due"
	ShowLong    Show = "long"
)

// shownJobs are the ids of the jobs that a job list is narrowed to.
func (s *Dashboard) shownJobs(ctx context.Context, p auth.Principal, show Show, at time.Time) ([]int64, error) {
	if show == ShowDue {
		return s.dueIn(ctx, at)
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

// shownRuns are the runs that a run list is narrowed to, after the rest of its filter: all of them, because there are no more
// than a long page's.
func (s *Dashboard) shownRuns(ctx context.Context, p auth.Principal, f RunFilter) (RunList, error) {
	t, _, err := s.Troubles(ctx, p)
	if err != nil {
		return RunList{}, err
	}
	var list RunList
	switch f.Show {
	case ShowLate:
		list.Runs = t.LateRuns()
	case ShowLong:
		list.Runs = slices.Clone(t.Long)
	case ShowFailing, ShowDue:
	}
	list.Runs = slices.DeleteFunc(list.Runs, func(r db.RunRow) bool { return !s.fits(r, f) })
	slices.SortFunc(list.Runs, func(a, b db.RunRow) int { return int(b.ID - a.ID) })
	return list, nil
}

// fits says whether an open run is in a filter, as the queries of the list would.
func (s *Dashboard) fits(r db.RunRow, f RunFilter) bool {
	at := s.cfg.Pool.FromWall(r.TriggerTime.Time)
	text := strings.ToLower(f.Text)
	has := func(in string) bool { return strings.Contains(strings.ToLower(in), text) }
	return (f.Group == 0 || r.JobGroup == f.Group) && (f.Job == 0 || r.JobID == f.Job) &&
		(f.Result == AnyResult || f.Result == Open) && (f.Trigger == "" || r.TriggerType == f.Trigger) &&
		(f.Since.IsZero() || !at.Before(f.Since)) && (f.Until.IsZero() || !at.After(f.Until)) &&
		strings.Contains(strings.ToLower(string(r.ExecutorAddress)), strings.ToLower(f.Executor)) &&
		(text == "" || strconv.FormatInt(r.ID, 10) == text || has(string(r.ExecutorAddress)) || has(string(r.ExecutorParam)) || has(r.TriggerNote) || has(r.HandleNote))
}
