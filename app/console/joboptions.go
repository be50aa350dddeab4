package console

import (
	"strconv"
	"time"

	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/jobs"
)

// momentLayout is how browsers write a moment; a fraction of a second is written only if there is one.
const momentLayout = "2006-01-02T15:04:05.999"

// commonZones are suggested where a zone is asked for; any other is accepted too.
var commonZones = []string{
	"Asia/Shanghai", "Asia/Hong_Kong", "Asia/Taipei", "Asia/Singapore", "Asia/Tokyo", "Asia/Seoul", "Asia/Kolkata", "Asia/Dubai",
	"Europe/London", "Europe/Paris", "Europe/Berlin", "Europe/Moscow", "America/New_York", "America/Chicago", "America/Denver",
	"America/Los_Angeles", "America/Sao_Paulo", "Africa/Johannesburg", "Australia/Sydney", "Pacific/Auckland", "UTC",
}

// zoneOf is a job's zone, or the installation's when it has none or one that this machine does not know.
func (c *Console) zoneOf(name string) *time.Location {
	if zone, err := jobspec.Location(name); err == nil && zone != nil {
		return zone
	}
	return c.cfg.Zone
}

// storeOptions adds to a form what XXL-JOB's jobs do not have.
func storeOptions(v *jobs.FormValues, j db.Job, zone *time.Location) {
	moment := func(ms int64) string {
		if ms <= 0 {
			return ""
		}
		return time.UnixMilli(ms).In(zone).Format(momentLayout)
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	v.Zone, v.From, v.Until = j.TimeZone, moment(j.StartAt), moment(j.EndAt)
	v.Backoff, v.Concurrent, v.Concurrency = j.RetryBackoff, number(j.MaxConcurrent), j.ConcurrencyPolicy
	v.Retention, v.WarnAfter, v.ExpectEvery = number(j.RetentionDays), number(j.WarnAfterSeconds), number(j.ExpectEverySeconds)
	v.Tags = j.Tags
	if j.ParamFixed != 0 {
		v.ParamFixed = "1"
	}
}

// bounds reads the ends of the time in which a job is due, as epoch milliseconds; 0 for none. What cannot be read is added
// to the faults.
func (c *Console) bounds(v jobs.FormValues, faults []problem.Field) (start, end int64, _ []problem.Field) {
	zone := c.zoneOf(v.Zone)
	read := func(name, text string) int64 {
		if text == "" {
			return 0
		}
		at, err := jobspec.Moment(text, zone)
		if err != nil {
			faults = append(faults, problem.Field{Name: name, Key: string(jobspec.CodeMoment)})
			return 0
		}
		return at.UnixMilli()
	}
	start, end = read(jobs.FieldFrom, v.From), read(jobs.FieldUntil, v.Until)
	return start, end, faults
}
