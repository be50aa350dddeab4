package jobspec

import (
	"path"
	"sync"
	"time"
)

// locations keeps the zones that were looked up, because each look-up reads the zone's file.
var locations sync.Map // name → *time.Location

// Location is the zone of an IANA name; "" is nil, which stands for the installation's. Unlike [time.LoadLocation] it does
// not know "Local": what a job says must not depend on the machine that reads it.
func Location(name string) (*time.Location, error) {
	if name == "" {
		return nil, nil
	}
	if loc, ok := locations.Load(name); ok {
		return loc.(*time.Location), nil
	}
	if name == "Local" || path.Clean(name) != name { // "Asia/./Shanghai" is the name of a file, and there is no end of those
		name = "not a zone: " + name
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, err
	}
	locations.Store(name, loc) // only names that exist are kept, and there are a few hundred of those
	return loc, nil
}
