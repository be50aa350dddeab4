package manage

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/alarm"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// scheduleOf is when a definition is due.
func (s *Jobs) scheduleOf(j jobspec.Job) (jobspec.Schedule, error) {
	zone := s.cfg.Zone
	if j.Zone != "" {
		var err error
		if zone, err = jobspec.Location(j.Zone); err != nil {
			return jobspec.Schedule{}, problem.InvalidFields(problem.Field{
				Name: jobspec.FieldZone, Key: jobspec.CodeZone, Args: []any{"Value", j.Zone},
			})
		}
	}
	schedule := jobspec.Schedule{Type: j.ScheduleType, Conf: j.ScheduleConf, Misfire: j.Misfire, Zone: zone, Start: db.Instant(j.Start), End: db.Instant(j.End)}
	schedule, err := s.cfg.Pool.Calendars().Keep(schedule, j.Calendar, string(j.CalendarRule))
	if err != nil {
		return schedule, problem.InvalidFields(problem.Field{Name: jobspec.FieldCalendar, Key: jobspec.CodeCalendar, Args: []any{"Value", j.Calendar}})
	}
	return schedule, nil
}

// CalendarNames are the calendars that jobs may keep to.
func (s *Jobs) CalendarNames() []string {
	var names []string
	for _, c := range s.cfg.Pool.Calendars().All() {
		names = append(names, c.Name)
	}
	return names
}

// CalendarMissing is the year that is about to begin, or has, and whose days the calendar of a job does not know; 0 for none.
func (s *Jobs) CalendarMissing(name string) int {
	for _, c := range s.cfg.Pool.Calendars().All() {
		if c.Name == name {
			return c.Missing(s.cfg.Now())
		}
	}
	return 0
}

// ChangedSchedule says whether a definition is due at other times than the stored one.
func ChangedSchedule(j jobspec.Job, old db.Job) bool {
	return j.ScheduleType != old.ScheduleType || j.ScheduleConf != string(old.ScheduleConf) || j.Zone != old.TimeZone ||
		j.Start != old.StartAt || j.End != old.EndAt || j.Calendar != old.Calendar || string(j.CalendarRule) != old.CalendarRule
}

// claimedAhead is how far ahead of now a job's fires may have been claimed. What lies beyond was claimed by a clock that was wrong.
const claimedAhead = time.Minute

// NextTime is the first time of a definition from now on that is not claimed already. Without one a running job could not be saved, nor a
// job started.
func (s *Jobs) NextTime(j jobspec.Job, claimedUntil int64) (time.Time, error) {
	if !j.ScheduleType.Schedules() {
		return time.Time{}, problem.InvalidFields(problem.Field{Name: jobspec.FieldScheduleType, Key: "job.error.noschedule"})
	}
	schedule, err := s.scheduleOf(j)
	if err != nil {
		return time.Time{}, err
	}
	after := s.cfg.Now()
	if claimed := time.UnixMilli(claimedUntil); claimed.After(after) && claimed.Sub(after) <= claimedAhead {
		after = claimed.Add(-time.Millisecond)
	}
	at, err := schedule.Next(after)
	if err != nil {
		return at, scheduleFault(err)
	}
	if at.IsZero() {
		field := jobspec.FieldCron
		if j.ScheduleType == jobspec.ScheduleOnce {
			field = jobspec.FieldMoment
		}
		return at, problem.InvalidFields(problem.Field{Name: field, Key: jobspec.CodeNoTime})
	}
	return at, nil
}

// scheduleFault says what is wrong with a schedule.
func scheduleFault(err error) error {
	if e, ok := jobspec.ScheduleError(err); ok {
		return problem.InvalidFields(e)
	}
	return err
}

// Judge says what is wrong with a definition by itself (jobspec) and by what the installation has: calendars as this admin knows them, and what its
// settings allow. app is the app name of its group. What it says of other jobs is judged apart.
func (s *Jobs) Judge(j jobspec.Job, app string, old *db.Job) []problem.Field {
	var was *jobspec.Job
	if old != nil {
		spec := old.Spec()
		was = &spec
	}
	var fields []problem.Field
	for _, e := range jobspec.Validate(j) {
		// An adopted job keeps what it has, even if it could not be saved so today.
		if was != nil && jobspec.Named(e.Name).SameChoice(&j, was) {
			continue
		}
		if old != nil && strings.HasPrefix(e.Key, jobspec.CodePlanned) && j.Param == string(old.ExecutorParam) {
			continue // it means something to somebody else
		}
		fields = append(fields, e)
	}
	for _, e := range jobspec.Unshown(j, was) {
		if !slices.ContainsFunc(fields, func(f problem.Field) bool { return f.Name == e.Name }) {
			fields = append(fields, e)
		}
	}
	if chars, fits := s.cfg.Pool.FitsParam(j.Param); !fits {
		fields = append(fields, problem.Field{Name: jobspec.FieldParam, Key: "job.error.too_long", Args: []any{"Max", chars}})
	}
	if newCalendar(j, old) && s.cfg.Pool.Calendars().Named(j.Calendar) == nil {
		fields = append(fields, problem.Field{Name: jobspec.FieldCalendar, Key: jobspec.CodeCalendar, Args: []any{"Value", j.Calendar}})
	}
	if bad, denied := s.deniedMail(j, old); denied {
		fields = append(fields, bad)
	}
	if strings.EqualFold(app, HTTPAppName) {
		fields = append(fields, checkHTTPJob(j, s.cfg.Settings.PublicURL() != "")...)
	}
	return fields
}

// newCalendar says whether a definition names a calendar that the stored one does not.
func newCalendar(j jobspec.Job, old *db.Job) bool {
	return j.Calendar != "" && (old == nil || j.Calendar != old.Calendar)
}

// LearnCalendars has [Jobs.Judge] know the calendars that there are now.
func (s *Jobs) LearnCalendars(ctx context.Context) error { return s.cfg.Pool.Calendars().Refresh(ctx) }

// check judges a definition by itself and by what is around it: the group, the children.
func (s *Jobs) check(ctx context.Context, tx db.DBTX, p auth.Principal, in JobInput, old *db.Job) error {
	if newCalendar(in.Job, old) {
		if err := s.LearnCalendars(ctx); err != nil {
			return err
		}
	}
	var group db.Group
	if p.Can(in.Group, auth.RightEdit) { // whether it exists is nobody's business who may not use it
		var err error
		if group, err = s.groupOf(ctx, tx, in.Group); err != nil {
			return err
		}
	}
	fields := s.Judge(in.Job, group.AppName, old)
	if group.ID == 0 {
		fields = append(fields, problem.Field{Name: FieldGroup, Key: "job.error.group"})
	}
	if in.Glue == jobspec.GlueFlow && (old == nil || in.GlueSource != string(old.GlueSource) || in.ChildJobIDs != string(old.ChildJobIDs)) {
		bad, err := s.checkFlow(ctx, tx, p, in.Job)
		if err != nil {
			return err
		}
		fields = append(fields, bad...)
	}
	told := slices.ContainsFunc(fields, func(f problem.Field) bool { return f.Name == jobspec.FieldChildren })
	if !told && (old == nil || in.ChildJobIDs != string(old.ChildJobIDs)) {
		bad, err := s.checkChildren(ctx, tx, p, in.Job)
		if err != nil {
			return err
		}
		fields = append(fields, bad...)
	}
	if len(fields) > 0 {
		return problem.InvalidFields(fields...)
	}
	return nil
}

// deniedMail finds an address of a job's alarms to which mails may not go. One that an adopted job has already stays: it gets nothing.
func (s *Jobs) deniedMail(j jobspec.Job, old *db.Job) (problem.Field, bool) {
	allowed := s.cfg.Settings.AlarmDefaults()
	var known []string
	if old != nil {
		known = jobspec.EmailAddresses(string(old.AlarmEmail))
	}
	for _, address := range jobspec.EmailAddresses(j.AlarmEmail) {
		if !allowed.MailsTo(address) && !slices.Contains(known, address) {
			return problem.Field{Name: jobspec.FieldAlarmEmail, Key: alarm.CodeMailDomain, Args: []any{"Value", address}}, true
		}
	}
	return problem.Field{}, false
}

// checkChildren asks that the children exist and belong to groups in which the principal may run jobs. Ids that are none have been
// reported already.
func (s *Jobs) checkChildren(ctx context.Context, tx db.DBTX, p auth.Principal, job jobspec.Job) ([]problem.Field, error) {
	ids, _, ok := jobspec.ChildIDs(job.ChildJobIDs)
	if !ok || len(ids) == 0 {
		return nil, nil
	}
	children, err := s.byID(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if j, ok := children[id]; !ok || !p.Can(j.JobGroup, auth.RightRun) {
			return []problem.Field{{Name: jobspec.FieldChildren, Key: "job.error.child_gone", Args: []any{"Value", id}}}, nil
		}
	}
	return s.checkCycle(ctx, tx, p, job, ids)
}
