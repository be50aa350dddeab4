package db

import "github.com/punctual-job/punctual/scheduler/jobspec"

// ScheduleOf is when a definition is due, in its own zone and window and by its calendar. The error is for a zone or a calendar that
// there is not.
func (p *Pool) ScheduleOf(j *jobspec.Job) (jobspec.Schedule, error) {
	s := jobspec.Schedule{Type: j.ScheduleType, Conf: j.ScheduleConf, Misfire: j.Misfire, Zone: p.Zone(), Start: Instant(j.Start), End: Instant(j.End)}
	loc, err := jobspec.Location(j.Zone)
	if err != nil {
		return s, err
	}
	if loc != nil {
		s.Zone = loc
	}
	return p.Calendars().Keep(s, j.Calendar, string(j.CalendarRule))
}
