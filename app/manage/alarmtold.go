package manage

import (
	"context"
	"fmt"
	"slices"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/alarm"
)

// Told is a channel that hears of a job's alarms, and why. It holds nothing of the channel's settings: everybody who may see the job
// may know who is told, and no more.
type Told struct {
	Channel int64
	Name    string
	Kind    alarm.Kind
	Off     bool // it is switched off, and so hears nothing
	Broken  bool // its latest message failed
	May     bool // the principal looks after it
	Scopes  []alarm.Scope
	Causes  []scheduler.AlarmCause
	// Addresses are those that the job itself names, for the channel that carries such mails.
	Addresses []string
}

// Hearing is who is told of a job's alarms.
type Hearing struct {
	Told []Told
	// Unheard says that the job names addresses for mails, and that no channel carries them.
	Unheard bool
}

// Nobody says whether no alarm of the job reaches anybody.
func (h Hearing) Nobody() bool {
	return !slices.ContainsFunc(h.Told, func(t Told) bool { return !t.Off })
}

// Of is who is told of the alarms of a job that the principal may see.
func (s *Channels) Of(ctx context.Context, p auth.Principal, j db.Job) (h Hearing, err error) {
	addresses := alarm.Addresses(string(j.AlarmEmail))
	if s.cfg.Alarmer == nil {
		return Hearing{Unheard: len(addresses) > 0}, nil
	}
	channels, err := s.cfg.Alarmer.Channels(ctx)
	if err != nil {
		return h, fmt.Errorf("list alarm channels: %w", err)
	}
	routes, err := s.cfg.Alarmer.Routes(ctx)
	if err != nil {
		return h, fmt.Errorf("list alarm routes: %w", err)
	}
	h.Unheard = len(addresses) > 0
	for _, c := range channels {
		if c.GroupID != 0 && c.GroupID != j.JobGroup {
			continue
		}
		told := Told{Channel: c.ID, Name: c.Name, Kind: c.Kind, Off: !c.Enabled, Broken: c.Broken(), May: s.May(p, c.GroupID)}
		for _, r := range routes {
			if r.ChannelID == c.ID && r.Covers(j.JobGroup, j.ID) {
				scope := r.Scope
				if scope == alarm.ScopeAll && c.GroupID != 0 {
					scope = alarm.ScopeGroup // all that the channel may hear of
				}
				told.Scopes = append(told.Scopes, scope)
				told.Causes = append(told.Causes, causesOf(r)...)
			}
		}
		if c.ForJobs && c.Kind == alarm.KindMail && len(addresses) > 0 {
			told.Addresses, told.Causes = addresses, append(told.Causes, DefaultCauses()...)
			h.Unheard = h.Unheard && told.Off
		}
		if len(told.Causes) > 0 {
			told.Causes = slices.DeleteFunc(alarm.Causes(), func(c scheduler.AlarmCause) bool { return !slices.Contains(told.Causes, c) })
			h.Told = append(h.Told, told)
		}
	}
	return h, nil
}

// causesOf are the causes that a route asks for.
func causesOf(r alarm.Route) []scheduler.AlarmCause {
	if len(r.Causes) == 0 {
		return DefaultCauses()
	}
	return r.Causes
}
