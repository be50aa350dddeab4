package db

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/punctual-job/punctual/scheduler/calendar"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// ErrNoCalendar means that a schedule names a calendar that there is not.
var ErrNoCalendar = errors.New("there is no calendar of this name")

// Calendars are the calendars of an installation as this process has read them: the shipped ones, and in their place or beside them those
// that somebody has made. The engine reads them anew every other second.
type Calendars struct {
	pool *Pool

	refreshing sync.Mutex // held while they are read

	mu     sync.RWMutex
	byName map[string]Kept
}

// Kept is a calendar with where it is from.
type Kept struct {
	*calendar.Calendar
	Revision  int64 // 0: shipped, and not changed here
	UpdatedAt int64
	UpdatedBy string
}

// shipped are the calendars of the program.
var shipped = sync.OnceValue(func() map[string]Kept {
	all := make(map[string]Kept)
	for _, data := range calendar.Shipped() {
		c, err := calendar.Parse(data)
		if err != nil {
			panic(err) // a test reads them
		}
		all[c.Name] = Kept{Calendar: c}
	}
	return all
})

// ShippedCalendar is the calendar of a name that comes with the program, nil for none.
func ShippedCalendar(name string) *calendar.Calendar { return shipped()[name].Calendar }

// Calendars are the calendars of this database.
func (p *Pool) Calendars() *Calendars {
	if p == nil {
		return nil
	}
	return &p.calendars
}

// All are the calendars by name.
func (c *Calendars) All() []Kept {
	c.mu.RLock()
	defer c.mu.RUnlock()
	of := c.byName
	if of == nil {
		of = shipped()
	}
	return slices.SortedFunc(maps.Values(of), func(a, b Kept) int { return strings.Compare(a.Name, b.Name) })
}

func (c *Calendars) Get(name string) (Kept, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.byName == nil {
		k, ok := shipped()[name]
		return k, ok
	}
	k, ok := c.byName[name]
	return k, ok
}

// Named is the calendar of a name, nil for none.
func (c *Calendars) Named(name string) *calendar.Calendar {
	k, _ := c.Get(name)
	return k.Calendar
}

// Keep lets a schedule keep to a calendar, if it names one.
func (c *Calendars) Keep(s jobspec.Schedule, name, rule string) (jobspec.Schedule, error) {
	if name == "" {
		return s, nil
	}
	if s.Calendar, s.Rule = c.Named(name), jobspec.CalendarRule(rule); s.Calendar == nil {
		return s, fmt.Errorf("%w: %s", ErrNoCalendar, name)
	}
	return s, nil
}

// Refresh reads what has changed since.
func (c *Calendars) Refresh(ctx context.Context) error {
	c.refreshing.Lock()
	defer c.refreshing.Unlock()
	q := New()
	revisions, err := q.ListCalendarRevisions(ctx, c.pool)
	if err != nil {
		return fmt.Errorf("read which calendars there are: %w", Error(err))
	}
	c.mu.RLock()
	old := c.byName
	c.mu.RUnlock()
	kept := 0
	for _, k := range old {
		if k.Revision > 0 {
			kept++
		}
	}
	same := old != nil && kept == len(revisions)
	for _, r := range revisions {
		same = same && old[r.Name].Revision == r.Revision
	}
	if same {
		return nil
	}
	rows, err := q.ListCalendars(ctx, c.pool)
	if err != nil {
		return fmt.Errorf("read calendars: %w", Error(err))
	}
	now := maps.Clone(shipped())
	for _, r := range rows {
		read, err := calendar.Parse([]byte(r.Body))
		if err != nil || read.Name != r.Name {
			// Somebody has written into the table. The last that could be read goes on to be kept to.
			c.pool.logger.Error("a calendar cannot be read", "calendar", r.Name, "error", err)
			if read = old[r.Name].Calendar; read == nil {
				continue
			}
		}
		now[r.Name] = Kept{Calendar: read, Revision: r.Revision, UpdatedAt: r.UpdatedAt, UpdatedBy: r.UpdatedBy}
	}
	c.mu.Lock()
	c.byName = now
	c.mu.Unlock()
	return nil
}
