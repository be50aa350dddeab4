package dashboard

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// usageDays is how many days [Dashboard.Usage] adds up unless told otherwise.
const usageDays = 7

// UsageKept is of how many days [Dashboard.Usage] knows, today's included.
const UsageKept = upkeep.KeptDays

// Usage is what a group did in some days.
type Usage struct {
	ID             int64  // 0: jobs that are deleted
	AppName, Title string // empty: the group is gone
	Runs           int64  // fires that were run or still are
	Failed         int64  // of Runs
	Skipped        int64
	Took           time.Duration
}

// Usage is what each group that the principal may see did from one day to another, both included; each is a midnight by the wall clock as
// if it were UTC. Zero days are the last [usageDays]. Groups that did nothing are in it, in upstream's order, and what is gone comes last.
//
// The counters are the only source, so that it costs the same however many runs there were, and deleting runs changes nothing. They say
// more of runs than of time: that is known of runs of [upkeep.LongRun] and more which their executor ended, by the group that they were
// recorded with. Killed and lost runs have none, nor have flows, whose steps do.
func (s *Dashboard) Usage(ctx context.Context, p auth.Principal, from, until time.Time) ([]Usage, error) {
	today := s.midnight(s.cfg.Now(), 0)
	if until.IsZero() {
		until = today
	}
	if from.IsZero() {
		from = until.AddDate(0, 0, 1-usageDays)
	}
	if kept := today.AddDate(0, 0, 1-UsageKept); from.Before(kept) || until.Before(from) {
		return nil, problem.InvalidFields(problem.Field{Name: "from", Key: "problem.usage.range", Args: []any{"Max", UsageKept, "Day", kept.Format(time.DateOnly)}})
	}
	ids, everything := p.Groups()
	if !everything && len(ids) == 0 {
		return nil, nil
	}
	var all int64
	if everything {
		all = 1
	}
	groups, err := s.queries.ListGroups(ctx, s.cfg.Pool)
	if err != nil {
		return nil, fmt.Errorf("list groups: %w", db.Error(err))
	}
	begin, end := from.Unix(), until.AddDate(0, 0, 1).Unix()
	hours, err := s.queries.SumHoursByGroup(ctx, s.cfg.Pool, db.SumHoursByGroupParams{FromHour: begin, ToHour: end, AllGroups: all, GroupIds: ids})
	if err != nil {
		return nil, fmt.Errorf("add up the hours of groups: %w", db.Error(err))
	}
	long, err := s.queries.SumLongRunsByGroup(ctx, s.cfg.Pool, db.SumLongRunsByGroupParams{FromDay: begin, ToDay: end, AllGroups: all, GroupIds: ids})
	if err != nil {
		return nil, fmt.Errorf("add up the long runs of groups: %w", db.Error(err))
	}
	var list []Usage
	for _, g := range groups {
		if p.CanUseGroup(g.ID) {
			list = append(list, Usage{ID: g.ID, AppName: g.AppName, Title: g.Title})
		}
	}
	of := func(id int64) *Usage {
		i := slices.IndexFunc(list, func(u Usage) bool { return u.ID == id })
		if i < 0 {
			i, list = len(list), append(list, Usage{ID: id})
		}
		return &list[i]
	}
	for _, h := range hours {
		// A counter may stand below zero until the node that saw the beginning of a run has written it too.
		u := of(h.GroupID)
		u.Failed, u.Skipped = max(0, h.Failed), max(0, h.Skipped)
		u.Runs = max(0, h.Running) + max(0, h.Succeeded) + u.Failed
	}
	for _, l := range long {
		of(l.GroupID).Took = time.Duration(l.TotalMs) * time.Millisecond
	}
	return list, nil
}
