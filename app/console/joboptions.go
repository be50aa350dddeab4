package console

import (
	"time"

	"github.com/punctual-job/punctual/scheduler/jobspec"
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
func (c *frame) zoneOf(name string) *time.Location {
	if zone, err := jobspec.Location(name); err == nil && zone != nil {
		return zone
	}
	return c.zone
}
