package manage

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/calendar"
)

// Calendars are the use cases of the calendars that jobs keep to. Whoever is signed in sees them, since a job may name any; administrators
// change them.
type Calendars struct {
	cfg     Config
	queries *db.Queries
	audit   *Audit

	mu     sync.Mutex
	ending Ending    // what was found last, which every page of an administrator asks
	until  time.Time // it counts; by the monotonic clock
}

// Ending is a calendar that jobs keep to and that does not know a year that has begun, or begins soon.
type Ending struct {
	Name string // empty: there is none
	Year int
	Jobs int64
}

// endingFor is how long it counts that one was found, or none.
const endingFor = 30 * time.Second

// Ending is the first such calendar by name, of all groups. Where that cannot be found out it is none, which is no reason to show no page.
func (s *Calendars) Ending(ctx context.Context) Ending {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.until) {
		return s.ending
	}
	used, err := s.queries.CountCalendarJobs(ctx, s.cfg.Pool)
	if err != nil {
		s.cfg.Logger.Debug("count the jobs of calendars", "error", db.Error(err))
		return Ending{}
	}
	jobs := make(map[string]int64)
	for _, u := range used {
		jobs[u.Calendar] += u.Jobs
	}
	found := Ending{}
	for _, k := range s.cfg.Pool.Calendars().All() {
		if year := k.Missing(s.cfg.Now()); year != 0 && jobs[k.Name] > 0 && found.Name == "" {
			found = Ending{Name: k.Name, Year: year, Jobs: jobs[k.Name]}
		}
	}
	s.ending, s.until = found, time.Now().Add(endingFor)
	return found
}

// forget makes the next page look anew.
func (s *Calendars) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Time{}
}

// The names of what can be wrong with a calendar.
const (
	CalendarName = "name"
	CalendarFile = "file"
)

// calendarFault begins the codes of files that are refused; a [calendar.Reason] follows.
const calendarFault = "calendar.error."

const maxCalendars = 200

// Calendar is a calendar with what the installation knows of it.
type Calendar struct {
	db.Kept
	Shipped bool  // the program has one of this name
	Jobs    int64 // that keep to it, of the groups that the principal may see
	Missing int   // the year that is about to begin, or has, and whose days it does not know; 0 for none
}

// List is all calendars by name.
func (s *Calendars) List(ctx context.Context, p auth.Principal) ([]Calendar, error) {
	if err := s.cfg.Pool.Calendars().Refresh(ctx); err != nil {
		return nil, err
	}
	used, err := s.queries.CountCalendarJobs(ctx, s.cfg.Pool)
	if err != nil {
		return nil, fmt.Errorf("count the jobs of calendars: %w", db.Error(err))
	}
	jobs := make(map[string]int64)
	for _, u := range used {
		if p.CanUseGroup(u.JobGroup) {
			jobs[u.Calendar] += u.Jobs
		}
	}
	var list []Calendar
	for _, k := range s.cfg.Pool.Calendars().All() {
		list = append(list, Calendar{Kept: k, Shipped: db.ShippedCalendar(k.Name) != nil, Jobs: jobs[k.Name], Missing: k.Missing(s.cfg.Now())})
	}
	return list, nil
}

// Get is one calendar.
func (s *Calendars) Get(ctx context.Context, p auth.Principal, name string) (Calendar, error) {
	list, err := s.List(ctx, p)
	if err != nil {
		return Calendar{}, err
	}
	for _, c := range list {
		if c.Name == name {
			return c, nil
		}
	}
	return Calendar{}, problem.New(problem.NotFound, "problem.calendar.gone")
}

// Put keeps a calendar, in place of the one of its name if there is one. The engine then plans its jobs anew.
func (s *Calendars) Put(ctx context.Context, p auth.Principal, c *calendar.Calendar) error {
	return s.PutVersion(ctx, p, c, "")
}

// PutVersion is Put in place of a version of [Calendar.Version]; empty asks for no check.
func (s *Calendars) PutVersion(ctx context.Context, p auth.Principal, c *calendar.Calendar, version string) error {
	if err := requireAdmin(p); err != nil {
		return err
	}
	if err := c.Check(); err != nil {
		return CalendarFault(err)
	}
	if len(c.JSON()) > calendar.MaxBytes {
		return CalendarFault(&calendar.Error{Reason: calendar.ReasonSize})
	}
	body := string(c.JSON())
	err := s.cfg.Pool.InTurn(ctx, ObjectCalendar, func(ctx context.Context, tx *sql.Tx) error {
		rows, err := s.queries.ListCalendars(ctx, tx)
		if err != nil {
			return err
		}
		was := "" // as a file
		entry := Entry{Action: ActionCreate, Kind: ObjectCalendar, Name: c.Name, After: Snapshot{"calendar": summary(c)}}
		if old := db.ShippedCalendar(c.Name); old != nil {
			entry.Action, entry.Before, was = ActionUpdate, Snapshot{"calendar": summary(old)}, string(old.JSON())
		}
		for _, r := range rows {
			if r.Name != c.Name {
				continue
			}
			entry.Action, entry.Before, was = ActionUpdate, nil, ""
			if old, err := calendar.Parse([]byte(r.Body)); err == nil {
				entry.Before, was = Snapshot{"calendar": summary(old)}, string(old.JSON())
			}
		}
		if now := calendarVersion(rows, c.Name); version != "" && version != now {
			return changedSince(now, entry.Before, entry.After)
		}
		if was == body {
			return nil // what is as it was goes on as it was: one that the program ships follows the program
		}
		if entry.Action == ActionCreate && len(rows) >= maxCalendars {
			return problem.New(problem.Conflict, "problem.calendar.many", "Max", maxCalendars)
		}
		revision, err := s.queries.NextCalendarRevision(ctx, tx)
		if err != nil {
			return err
		}
		now := s.cfg.Now().UnixMilli()
		// By the clock, so that one that is deleted and made anew has another.
		if err := s.queries.SetCalendar(ctx, tx, db.SetCalendarParams{Name: c.Name, Body: body, Revision: max(revision, now), UpdatedAt: now, UpdatedBy: cut(p.Name, 64)}); err != nil {
			return err
		}
		return s.audit.Record(ctx, tx, p, entry)
	})
	if err != nil {
		return fmt.Errorf("keep calendar: %w", err)
	}
	s.changed(ctx)
	return nil
}

// changed has this admin go by calendars that were changed. That it could not is no reason to do again what is done.
func (s *Calendars) changed(ctx context.Context) {
	s.forget()
	if err := s.cfg.Pool.Calendars().Refresh(ctx); err != nil {
		s.cfg.Logger.Warn("go by calendars that were changed", "error", err) // they are read anew soon
	}
}

// summary is what the audit log says of a calendar: its title, and its years and days line by line.
func summary(c *calendar.Calendar) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s %s\n", c.Title, cmp.Or(c.Zone, "-"), strings.Join(c.Week, ","))
	for _, y := range c.Years {
		fmt.Fprintf(&b, "%d %s\n", y.Year, y.Source)
	}
	for _, s := range c.Days {
		fmt.Fprintf(&b, "%s %s %s %s\n", s.Kind, s.From, s.Until, s.Name)
	}
	return b.String()
}

// Delete forgets a calendar that no job keeps to. One that the program ships is then as it is shipped, also where jobs keep to it.
func (s *Calendars) Delete(ctx context.Context, p auth.Principal, name string) error {
	return s.DeleteVersion(ctx, p, name, "")
}

// DeleteVersion is Delete for a calendar that is still what [Calendar.Version] said; empty asks for no check.
func (s *Calendars) DeleteVersion(ctx context.Context, p auth.Principal, name, version string) error {
	if err := requireAdmin(p); err != nil {
		return err
	}
	err := s.cfg.Pool.InTurn(ctx, ObjectCalendar, func(ctx context.Context, tx *sql.Tx) error {
		rows, err := s.queries.ListCalendars(ctx, tx)
		if err != nil {
			return err
		}
		if version != "" && version != calendarVersion(rows, name) {
			return problem.New(problem.Conflict, "problem.changed")
		}
		if _, err := s.queries.HoldCalendar(ctx, tx, name); err != nil { // a job that is on its way to it is counted then
			return err
		}
		used, err := s.queries.CountCalendarJobs(ctx, tx)
		if err != nil {
			return err
		}
		n := int64(0)
		for _, u := range used {
			if u.Calendar == name {
				n += u.Jobs
			}
		}
		if n > 0 && db.ShippedCalendar(name) == nil {
			return problem.New(problem.Conflict, "problem.calendar.used", "Count", n)
		}
		gone, err := s.queries.DeleteCalendar(ctx, tx, name)
		if err != nil {
			return err
		}
		if gone == 0 {
			if db.ShippedCalendar(name) != nil {
				return problem.New(problem.Conflict, "problem.calendar.shipped")
			}
			return problem.New(problem.NotFound, "problem.calendar.gone")
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionDelete, Kind: ObjectCalendar, Name: name})
	})
	if err != nil {
		return fmt.Errorf("delete calendar: %w", err)
	}
	s.changed(ctx)
	return nil
}

// ReadCalendar reads what somebody uploads: a calendar's file, or an iCalendar file, of which in says the rest. left is how many events of the
// second were not days.
func ReadCalendar(data []byte, in calendar.Import) (c *calendar.Calendar, left int, err error) {
	if strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(string(data[:min(len(data), 200)]), "\ufeff")), "BEGIN:") {
		c, left, err = calendar.ParseICS(data, in)
	} else {
		c, err = calendar.Parse(data)
	}
	return c, left, CalendarFault(err)
}

// CalendarFault says what is wrong with a calendar in the form of a field.
func CalendarFault(err error) error {
	e, ok := errors.AsType[*calendar.Error](err)
	if !ok {
		return err
	}
	name := CalendarFile
	if e.Reason == calendar.ReasonName {
		name = CalendarName
	}
	var value any = e.Value
	switch {
	case e.Fault != nil:
		value = problem.Field{Key: "calendar.format.line", Args: []any{"Line", e.Fault.Line, "Text", e.Fault.Said()}}
	case e.Reason == calendar.ReasonFormat: // of an iCalendar file
		value = problem.Field{Key: "calendar.format.missing", Args: []any{"Line", e.Value}}
	}
	return problem.InvalidFields(problem.Field{Name: name, Key: calendarFault + string(e.Reason), Args: []any{"Value", value}})
}

// CalendarYear is the year that a calendar is shown for when nobody asks for one.
func (s *Calendars) CalendarYear() int { return s.cfg.Now().In(cmp.Or(s.cfg.Zone, time.UTC)).Year() }

// Version changes with every change of a calendar. It is 0 for one that is not in the database.
func (c Calendar) Version() string { return strconv.FormatInt(c.Revision, 10) }

// calendarVersion is the version of a calendar that is stored, or is not.
func calendarVersion(rows []db.StoredCalendar, name string) string {
	for _, r := range rows {
		if r.Name == name {
			return strconv.FormatInt(r.Revision, 10)
		}
	}
	return "0"
}
