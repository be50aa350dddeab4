package jobspec

import (
	"sync"
	"time"

	"github.com/punctual-job/punctual/scheduler/cron"
)

// locations keeps the zones that were looked up, because each look-up reads the zone's file.
var locations sync.Map // name → *time.Location

// Location is the zone of an IANA name as [cron.Zone] knows it; "" is nil, which stands for the installation's.
func Location(name string) (*time.Location, error) {
	if name == "" {
		return nil, nil
	}
	if loc, ok := locations.Load(name); ok {
		return loc.(*time.Location), nil
	}
	loc, err := cron.Zone(name)
	if err != nil {
		return nil, err
	}
	locations.Store(name, loc) // only names that exist are kept, and there are a few hundred of those
	return loc, nil
}
