package manage

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/alarm"
)

// AlarmRoute is a route with the name of what it covers.
type AlarmRoute struct {
	alarm.Route
	Name   string // of the group or job; empty for all jobs, or when it is gone
	Second string // the channel that is told when nobody looks after an alarm; empty: none
}

// routes are all routes by channel, with the names of what p may see and of own, the channels that p looks after.
func (s *Channels) routes(ctx context.Context, p auth.Principal, own []alarm.Channel) (map[int64][]AlarmRoute, error) {
	all, err := s.cfg.Alarmer.Routes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list alarm routes: %w", err)
	}
	var jobIDs []int64
	for _, r := range all {
		if r.Scope == alarm.ScopeJob {
			jobIDs = append(jobIDs, r.ScopeID)
		}
	}
	jobs, err := s.jobNames(ctx, p, jobIDs)
	if err != nil {
		return nil, err
	}
	rows, err := s.queries.ListGroups(ctx, s.cfg.Pool)
	if err != nil {
		return nil, fmt.Errorf("list groups: %w", db.Error(err))
	}
	groups := make(map[int64]string, len(rows))
	for _, g := range rows {
		if p.CanUseGroup(g.ID) {
			groups[g.ID] = g.Title
		}
	}
	channels := make(map[int64]string, len(own))
	for _, c := range own {
		channels[c.ID] = c.Name
	}
	byChannel := make(map[int64][]AlarmRoute)
	for _, r := range all {
		named := AlarmRoute{Route: r, Second: channels[r.EscalateTo]}
		switch r.Scope {
		case alarm.ScopeAll:
		case alarm.ScopeGroup:
			named.Name = groups[r.ScopeID]
		case alarm.ScopeJob:
			named.Name = jobs[r.ScopeID]
		}
		if len(named.Causes) == 0 {
			named.Causes = DefaultCauses()
		}
		byChannel[r.ChannelID] = append(byChannel[r.ChannelID], named)
	}
	return byChannel, nil
}

// jobNames are the names of the jobs that p may see: one may have moved to another group since.
func (s *Channels) jobNames(ctx context.Context, p auth.Principal, ids []int64) (map[int64]string, error) {
	names := make(map[int64]string, len(ids))
	if len(ids) == 0 {
		return names, nil
	}
	rows, err := s.queries.ListAlarmJobs(ctx, s.cfg.Pool, ids)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", db.Error(err))
	}
	for _, j := range rows {
		if p.CanUseGroup(j.JobGroup) {
			names[j.ID] = j.JobDesc
		}
	}
	return names, nil
}

// SaveRoute creates a route to a channel, or changes the one that ID names.
func (s *Channels) SaveRoute(ctx context.Context, p auth.Principal, r alarm.Route) error {
	return s.Change(ctx, p, r.ChannelID, func(ctx context.Context, c alarm.Channel, _ []AlarmRoute) error {
		// No causes would mean the usual ones to the alarmer: somebody who unchecked them all meant something else.
		if len(r.Causes) == 0 {
			return problem.InvalidFields(problem.Field{Name: alarm.FieldCauses, Key: alarm.CodeNoCause})
		}
		entry := Entry{Action: ActionCreate, Kind: ObjectChannel, ID: c.ID, Name: c.Name, Group: c.GroupID}
		id := r.ID
		if id != 0 {
			old, err := s.ownRoute(ctx, r.ChannelID, id)
			if err != nil {
				return err
			}
			entry.Action, entry.Before = ActionUpdate, routeSnapshot(old)
			if r.Version != "" && r.Version != old.Version {
				return changedSince(old.Version, entry.Before, routeSnapshot(r))
			}
			if err := s.cfg.Alarmer.UpdateRoute(ctx, r); err != nil {
				return alarmProblem(err)
			}
		} else {
			var err error
			if id, err = s.cfg.Alarmer.CreateRoute(ctx, r); err != nil {
				return alarmProblem(err)
			}
		}
		now, err := s.ownRoute(ctx, r.ChannelID, id)
		if err != nil {
			return err
		}
		entry.After = routeSnapshot(now)
		return s.audit.Record(ctx, s.cfg.Pool, p, entry)
	})
}

func routeSnapshot(r alarm.Route) Snapshot {
	if len(r.Causes) == 0 {
		r.Causes = DefaultCauses()
	}
	causes := make([]string, len(r.Causes))
	for i, c := range r.Causes {
		causes[i] = string(c)
	}
	snapshot := Snapshot{"scope": string(r.Scope), "scope_id": r.ScopeID, "causes": strings.Join(causes, ", ")}
	if r.EscalateAfter > 0 {
		snapshot["escalate_after"] = r.EscalateAfter
		snapshot["escalate_to"] = r.EscalateTo
	}
	return snapshot
}

// ownRoute is a route of a channel. That of another is refused: its address would say one thing and do another.
func (s *Channels) ownRoute(ctx context.Context, channelID, routeID int64) (alarm.Route, error) {
	all, err := s.cfg.Alarmer.Routes(ctx)
	if err != nil {
		return alarm.Route{}, err
	}
	i := slices.IndexFunc(all, func(r alarm.Route) bool { return r.ID == routeID && r.ChannelID == channelID })
	if i < 0 {
		return alarm.Route{}, problem.New(problem.NotFound, "problem.route.gone")
	}
	return all[i], nil
}

// DeleteRoute takes a route to a channel away.
func (s *Channels) DeleteRoute(ctx context.Context, p auth.Principal, channelID, routeID int64) error {
	return s.Change(ctx, p, channelID, func(ctx context.Context, c alarm.Channel, _ []AlarmRoute) error {
		if _, err := s.ownRoute(ctx, channelID, routeID); err != nil {
			return err
		}
		if err := s.cfg.Alarmer.DeleteRoute(ctx, routeID); err != nil {
			return alarmProblem(err)
		}
		return s.audit.Record(ctx, s.cfg.Pool, p, Entry{Action: ActionDelete, Kind: ObjectChannel, ID: c.ID, Name: c.Name, Group: c.GroupID, Before: Snapshot{"route": routeID}})
	})
}
