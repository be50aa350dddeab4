package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/scheduler/calendar"
)

// calendarSpan is one day, or several in a row.
type calendarSpan struct {
	From  string        `json:"from" maxLength:"10" doc:"Its first day, such as 2026-10-01."`
	Until string        `json:"until,omitempty" maxLength:"10" doc:"Its last day; empty for one day."`
	Kind  calendar.Kind `json:"kind" enum:"off,work"`
	Name  string        `json:"name,omitempty" maxLength:"200"`
}

type calendarYear struct {
	Year   int    `json:"year" minimum:"1970" maximum:"2199"`
	Source string `json:"source,omitempty" maxLength:"500" doc:"Where its days are from."`
}

// NewCalendar are what somebody can say of a calendar: its file without the name.
type NewCalendar struct {
	Title string         `json:"title,omitempty" maxLength:"200"`
	Zone  string         `json:"zone,omitempty" maxLength:"64" doc:"The zone whose days it tells; empty for that of each job."`
	Week  []string       `json:"week" maxItems:"7" enum:"sun,mon,tue,wed,thu,fri,sat" doc:"The weekdays on which people work."`
	Years []calendarYear `json:"years,omitempty" maxItems:"200" doc:"The years that it knows; none: it knows every year."`
	Days  []calendarSpan `json:"days" maxItems:"5000"`
}

type calendarJSON struct {
	Name string `json:"name"`
	NewCalendar
	Shipped   bool       `json:"shipped" doc:"The program has one of this name."`
	Changed   bool       `json:"changed" doc:"It is kept in the database, and not as it is shipped."`
	Jobs      int64      `json:"jobs" doc:"How many jobs of the groups that you may see keep to it."`
	Missing   int        `json:"missing" doc:"The year that has begun, or begins soon, and whose days it does not know; 0 for none."`
	ChangedAt *time.Time `json:"changed_at"`
	ChangedBy string     `json:"changed_by"`
	LeftOut   int        `json:"left_out,omitempty" doc:"Of an import: how many events of the file were left out."`
}

type calendarAnswer struct {
	ETag string `header:"ETag"`
	Body calendarJSON
}

// CalendarID is the calendar in a path.
type CalendarID struct {
	Name string `path:"name" maxLength:"64" doc:"The name of a calendar."`
}

func readCalendar(c manage.Calendar) calendarJSON {
	out := calendarJSON{Name: c.Name, Shipped: c.Shipped, Changed: c.Revision > 0, Jobs: c.Jobs, Missing: c.Missing, ChangedBy: c.UpdatedBy}
	out.Title, out.Zone, out.Week, out.Days = c.Title, c.Zone, append([]string{}, c.Week...), []calendarSpan{}
	for _, y := range c.Years {
		out.Years = append(out.Years, calendarYear(y))
	}
	for _, s := range c.Days {
		out.Days = append(out.Days, calendarSpan(s))
	}
	if c.UpdatedAt > 0 {
		out.ChangedAt = momentOf(c.UpdatedAt)
	}
	return out
}

func (a *API) calendarAnswer(ctx context.Context, p auth.Principal, name string) (*calendarAnswer, error) {
	c, err := a.Manage.Calendars.Get(ctx, p, name)
	if err != nil {
		return nil, err
	}
	return &calendarAnswer{ETag: etag(c.Version()), Body: readCalendar(c)}, nil
}

// currentCalendar is the version of the calendar that a request may replace. One that there is not, and one that is as it is shipped, is
// version 0; the former needs no If-Match.
func (a *API) currentCalendar(ctx context.Context, p auth.Principal, name string, match IfMatch) (string, error) {
	c, err := a.Manage.Calendars.Get(ctx, p, name)
	switch {
	case err == nil && match.Match == "":
		return "", newUnmatched()
	case err == nil:
	case problem.From(err).Kind != problem.NotFound:
		return "", err
	case match.Match == "":
		return "0", nil
	default:
		return "", newStale()
	}
	return match.current(c.Version())
}

// calendarParts are the fields of a definition that the faults of a calendar are about.
var calendarParts = map[calendar.Reason]string{
	calendar.ReasonText: "title", calendar.ReasonZone: "zone", calendar.ReasonWeek: "week", calendar.ReasonYear: "years",
	calendar.ReasonDay: "days", calendar.ReasonSpan: "days", calendar.ReasonKind: "days", calendar.ReasonTwice: "days", calendar.ReasonSize: "days",
}

// calendarRefused is a refusal that names the fields of the request, and not of the console's form. What a file is refused for stands in its own
// field, but for what is said beside it.
func calendarRefused(err error, file string) error {
	fault, is := errors.AsType[*problem.Error](err)
	if !is || len(fault.Fields) != 1 || fault.Fields[0].Name != manage.CalendarFile {
		return err
	}
	field := fault.Fields[0]
	reason := calendar.Reason(field.Key[strings.LastIndexByte(field.Key, '.')+1:])
	field.Name = cmp.Or(calendarParts[reason], "days")
	if file != "" && reason != calendar.ReasonZone && reason != calendar.ReasonWeek {
		field.Name = file
	}
	return problem.InvalidFields(field)
}

// putCalendar keeps a calendar in place of a version.
func (a *API) putCalendar(ctx context.Context, p auth.Principal, c *calendar.Calendar, match IfMatch) (*calendarAnswer, error) {
	version, err := a.currentCalendar(ctx, p, c.Name, match)
	if err != nil {
		return nil, err
	}
	if err := a.Manage.Calendars.PutVersion(ctx, p, c, version); err != nil {
		return nil, match.changed(err)
	}
	did(ctx)
	return a.calendarAnswer(ctx, p, c.Name)
}

func (a *API) calendars() {
	const tag = "calendars"
	add(a, op{method: http.MethodGet, path: "/calendars", id: "listCalendars", tag: tag, summary: "List the calendars, by name"},
		func(ctx context.Context, p auth.Principal, _ *struct{}) (*listOf[calendarJSON], error) {
			rows, err := a.Manage.Calendars.List(ctx, p)
			return listed(rows, err, readCalendar)
		})
	add(a, op{method: http.MethodGet, path: "/calendars/{name}", id: "getCalendar", tag: tag, summary: "Get a calendar"},
		func(ctx context.Context, p auth.Principal, in *CalendarID) (*calendarAnswer, error) {
			return a.calendarAnswer(ctx, p, in.Name)
		})
	add(a, op{method: http.MethodPut, path: "/calendars/{name}", id: "putCalendar", tag: tag, summary: "Create or replace a calendar",
		text: "The next times of its jobs are computed anew within seconds.", makes: true},
		func(ctx context.Context, p auth.Principal, in *struct {
			CalendarID
			IfMatch
			Body NewCalendar
		}) (*calendarAnswer, error) {
			c := &calendar.Calendar{Name: in.Name, Title: in.Body.Title, Zone: in.Body.Zone, Week: in.Body.Week}
			for _, y := range in.Body.Years {
				c.Years = append(c.Years, calendar.Year(y))
			}
			for _, s := range in.Body.Days {
				c.Days = append(c.Days, calendar.Span(s))
			}
			answer, err := a.putCalendar(ctx, p, c, in.IfMatch)
			return answer, calendarRefused(err, "")
		})
	add(a, op{method: http.MethodPost, path: "/calendars/{name}/import", id: "importCalendar", tag: tag, summary: "Make a calendar of an iCalendar file",
		text: "Its all-day events are days off, or working days where work_word stands in their titles. Events with a time of day and those that repeat are left out.", makes: true},
		func(ctx context.Context, p auth.Principal, in *struct {
			CalendarID
			IfMatch
			Body struct {
				ICalendar string   `json:"icalendar" maxLength:"1048576"`
				Title     string   `json:"title,omitempty" maxLength:"200"`
				Zone      string   `json:"zone,omitempty" maxLength:"64"`
				Week      []string `json:"week" maxItems:"7" enum:"sun,mon,tue,wed,thu,fri,sat"`
				WorkWord  string   `json:"work_word,omitempty" maxLength:"64" doc:"Events with it in their titles are working days."`
			}
		}) (*calendarAnswer, error) {
			c, left, err := calendar.ParseICS([]byte(in.Body.ICalendar), calendar.Import{Name: in.Name, Title: in.Body.Title, Zone: in.Body.Zone, Week: in.Body.Week, Work: in.Body.WorkWord})
			if err != nil {
				return nil, calendarRefused(manage.CalendarFault(err), "icalendar")
			}
			answer, err := a.putCalendar(ctx, p, c, in.IfMatch)
			if err == nil {
				answer.Body.LeftOut = left
			}
			return answer, calendarRefused(err, "icalendar")
		})
	add(a, op{method: http.MethodDelete, path: "/calendars/{name}", id: "deleteCalendar", tag: tag, summary: "Delete a calendar",
		text: "One that jobs keep to stays; one that the program ships is then as it is shipped.", status: http.StatusNoContent},
		func(ctx context.Context, p auth.Principal, in *struct {
			CalendarID
			IfMatch
		}) (*struct{}, error) {
			c, err := a.Manage.Calendars.Get(ctx, p, in.Name)
			if err != nil {
				return nil, err
			}
			version, err := in.current(c.Version())
			if err != nil {
				return nil, err
			}
			return nil, in.changed(a.Manage.Calendars.DeleteVersion(ctx, p, in.Name, version))
		})
}
