package alarm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
)

// Scope is what a route covers.
type Scope string

const (
	ScopeAll   Scope = "all"   // every job; to a channel of a group, every one of that group
	ScopeGroup Scope = "group" // the jobs of an executor group
	ScopeJob   Scope = "job"   // one job
)

// Route sends the alarms of jobs to a channel. Several routes add up; a channel that several lead to is told once.
type Route struct {
	ID        int64
	ChannelID int64
	Scope     Scope
	ScopeID   int64                  // of the group or job; 0 for all
	Causes    []scheduler.AlarmCause // empty: all but skipped fires
	Version   string                 // of what was read, another after each change; empty asks UpdateRoute for no check

	// After so many minutes, 0 for never, the channel EscalateTo is told of an open alarm that nobody looks after.
	EscalateAfter int
	EscalateTo    int64
}

// Covers reports whether a route is about a job of a group. That a channel of another group is not told of it, the route does not know.
func (r Route) Covers(group, job int64) bool {
	switch r.Scope {
	case ScopeAll:
		return true
	case ScopeGroup:
		return r.ScopeID == group
	case ScopeJob:
		return r.ScopeID == job
	default:
		return false
	}
}

// Routes lists the routes by channel.
func (a *Alarmer) Routes(ctx context.Context) ([]Route, error) {
	rows, err := a.queries.ListAlarmRoutes(ctx, a.cfg.Pool)
	if err != nil {
		return nil, err
	}
	list := make([]Route, len(rows))
	for i, r := range rows {
		list[i] = Route{ID: r.ID, ChannelID: r.ChannelID, Scope: Scope(r.Scope), ScopeID: r.ScopeID, Version: routeVersion(r), EscalateAfter: int(r.EscalateAfter), EscalateTo: r.EscalateTo}
		for cause := range strings.SplitSeq(r.Causes, ",") {
			if cause != "" {
				list[i].Causes = append(list[i].Causes, scheduler.AlarmCause(cause))
			}
		}
	}
	return list, nil
}

func routeVersion(r db.AlarmRoute) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d|%s|%d|%s|%d|%d", r.ID, r.Scope, r.ScopeID, r.Causes, r.EscalateAfter, r.EscalateTo))
	return hex.EncodeToString(sum[:4])
}

// CreateRoute saves a new route and returns its id. The error is [invalid.Fields] when values are refused.
func (a *Alarmer) CreateRoute(ctx context.Context, r Route) (int64, error) {
	causes, err := a.validRoute(ctx, &r)
	if err != nil {
		return 0, err
	}
	if causes == usualCauses() {
		causes = "" // a cause of a later version is told of too
	}
	id, err := a.queries.InsertAlarmRoute(ctx, a.cfg.Pool, db.InsertAlarmRouteParams{
		ChannelID: r.ChannelID, Scope: string(r.Scope), ScopeID: r.ScopeID, Causes: causes, EscalateAfter: int64(r.EscalateAfter), EscalateTo: r.EscalateTo,
	})
	if err = db.Error(err); errors.Is(err, db.ErrDuplicate) {
		return 0, refuse(FieldScope, CodeTwice)
	}
	if err != nil {
		return 0, err
	}
	a.changed(ctx)
	return id, nil
}

// UpdateRoute saves a route, all but its channel. The error is [invalid.Fields], [db.ErrNotFound] or [ErrChanged].
func (a *Alarmer) UpdateRoute(ctx context.Context, r Route) error {
	rows, err := a.queries.ListAlarmRoutes(ctx, a.cfg.Pool)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(rows, func(old db.AlarmRoute) bool { return old.ID == r.ID })
	if at < 0 {
		return db.ErrNotFound
	}
	old := rows[at]
	if r.Version != "" && r.Version != routeVersion(old) {
		return ErrChanged
	}
	r.ChannelID = old.ChannelID
	causes, err := a.validRoute(ctx, &r)
	if err != nil {
		return err
	}
	if old.Causes == "" && causes == usualCauses() {
		causes = "" // who saves it as it is does not name them one by one: a cause of a later version is told of too
	}
	n, err := a.queries.UpdateAlarmRoute(ctx, a.cfg.Pool, db.UpdateAlarmRouteParams{
		ID: r.ID, Scope: string(r.Scope), ScopeID: r.ScopeID, Causes: causes, EscalateAfter: int64(r.EscalateAfter), EscalateTo: r.EscalateTo,
		WasScope: old.Scope, WasScopeID: old.ScopeID, WasCauses: old.Causes, WasEscalateAfter: old.EscalateAfter, WasEscalateTo: old.EscalateTo,
	})
	if err = db.Error(err); errors.Is(err, db.ErrDuplicate) {
		return refuse(FieldScope, CodeTwice)
	}
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrChanged
	}
	a.changed(ctx)
	return nil
}

// usualCauses are those of a route that names none, as they would be stored.
func usualCauses() string {
	var list []string
	for _, cause := range Causes() {
		if cause != scheduler.AlarmMisfire {
			list = append(list, string(cause))
		}
	}
	return strings.Join(list, ",")
}

// DeleteRoute deletes a route. The error is [db.ErrNotFound] when there is none.
func (a *Alarmer) DeleteRoute(ctx context.Context, id int64) error {
	n, err := a.queries.DeleteAlarmRoute(ctx, a.cfg.Pool, id)
	if err != nil {
		return err
	}
	if n == 0 {
		return db.ErrNotFound
	}
	a.changed(ctx)
	return nil
}

// ForgetJob deletes what is about a job that is being deleted, in the transaction that deletes it.
func (a *Alarmer) ForgetJob(ctx context.Context, tx db.DBTX, jobID int64) error {
	if err := a.queries.DeleteAlarmStatesOfJob(ctx, tx, jobID); err != nil {
		return err
	}
	if err := a.queries.DeleteAlarmEscalationsOfJob(ctx, tx, jobID); err != nil {
		return err
	}
	return a.queries.DeleteAlarmRoutesOfScope(ctx, tx, db.DeleteAlarmRoutesOfScopeParams{Scope: string(ScopeJob), ScopeID: jobID})
}

// ForgetGroup deletes the channels and routes of a group that is being deleted, in the transaction that deletes it.
func (a *Alarmer) ForgetGroup(ctx context.Context, tx db.DBTX, groupID int64) error {
	if err := a.queries.DeleteAlarmRoutesOfGroupChannels(ctx, tx, groupID); err != nil {
		return err
	}
	if err := a.queries.DeleteAlarmChannelsOfGroup(ctx, tx, groupID); err != nil {
		return err
	}
	return a.queries.DeleteAlarmRoutesOfScope(ctx, tx, db.DeleteAlarmRoutesOfScopeParams{Scope: string(ScopeGroup), ScopeID: groupID})
}

// validRoute tidies a route, refuses what cannot be, and gives the causes as they are stored.
func (a *Alarmer) validRoute(ctx context.Context, r *Route) (causes string, err error) {
	var v checks
	channel, err := a.queries.GetAlarmChannel(ctx, a.cfg.Pool, r.ChannelID)
	if errors.Is(db.Error(err), db.ErrNotFound) {
		v.add(FieldChannel, CodeUnknown, "Value", r.ChannelID)
	} else if err != nil {
		return "", err
	}
	switch r.Scope {
	case ScopeAll:
		r.ScopeID = 0
	case ScopeGroup:
		if channel.GroupID != 0 && channel.GroupID != r.ScopeID {
			v.add(FieldScope, CodeNoGroup)
		} else if _, err := a.queries.GetGroup(ctx, a.cfg.Pool, r.ScopeID); errors.Is(db.Error(err), db.ErrNotFound) {
			v.add(FieldScope, CodeNoGroup)
		} else if err != nil {
			return "", err
		}
	case ScopeJob:
		jobs, err := a.queries.ListAlarmJobs(ctx, a.cfg.Pool, []int64{r.ScopeID})
		if err != nil {
			return "", err
		}
		// To whoever looks after a group's channel, the jobs of others do not exist.
		if len(jobs) == 0 || channel.GroupID != 0 && channel.GroupID != jobs[0].JobGroup {
			v.add(FieldScope, CodeNoJob)
		}
	default:
		v.add(FieldScope, CodeUnknown, "Value", clip(string(r.Scope), 60))
	}
	if err := a.validEscalation(ctx, &v, r, channel.GroupID); err != nil {
		return "", err
	}
	var known []string
	for _, cause := range Causes() {
		if slices.Contains(r.Causes, cause) {
			known = append(known, string(cause))
		}
	}
	for _, cause := range r.Causes {
		if !slices.Contains(Causes(), cause) {
			v.add(FieldCauses, CodeUnknown, "Value", clip(string(cause), 60))
		}
	}
	return strings.Join(known, ","), v.err()
}

// validEscalation refuses a second channel that could not be told. It belongs to whom the first one does: editors of a group know no others.
func (a *Alarmer) validEscalation(ctx context.Context, v *checks, r *Route, group int64) error {
	switch {
	case r.EscalateAfter == 0:
		r.EscalateTo = 0
		return nil
	case r.EscalateAfter < 0 || r.EscalateAfter > MaxEscalateAfter:
		v.add(FieldEscalateAfter, CodeOutOfRange, "Min", 0, "Max", MaxEscalateAfter)
		return nil
	}
	second, err := a.queries.GetAlarmChannel(ctx, a.cfg.Pool, r.EscalateTo)
	if errors.Is(db.Error(err), db.ErrNotFound) || err == nil && (second.ID == r.ChannelID || second.GroupID != group) {
		v.add(FieldEscalateTo, CodeEscalateTo)
		return nil
	}
	return err
}
