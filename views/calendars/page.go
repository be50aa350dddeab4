// Package calendars draws the calendars that jobs keep to.
package calendars

import (
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/ui"
)

// The fields of the form with which a calendar is made or replaced.
const (
	FieldFile = "file"
	FieldName = "name"
	FieldZone = "zone"
	FieldWork = "work"
)

// ListPage is all calendars.
type ListPage struct {
	layout.Page
	Rows []Row
	Form *Form // nil for whom does not change calendars
}

// Row is a calendar in the list.
type Row struct {
	Name, Title, Zone string
	Jobs              int64
	Missing           int    // see manage.Calendar
	Changed           string // when it was changed here, and by whom; empty: it is as it is shipped
}

// Form is what is to be a calendar: its file, or an iCalendar file.
type Form struct {
	File, Name, Zone, Work string
	Errors                 map[string]string
}

// ShowPage is a year of a calendar.
type ShowPage struct {
	layout.Page
	Row
	Week    string
	Year    int
	Years   []ui.Option // of those that it has days of, by the year
	Source  string      // of the year
	Unknown bool        // the year's days are not known
	Days    []Day
	Form    *Form
	Deletes bool // it can be deleted, or go back to what is shipped
}

// DeletePage asks before a calendar is deleted.
type DeletePage struct {
	layout.Page
	Name    string
	Shipped bool  // it goes back to what is shipped
	Jobs    int64 // that keep to it
}

func (p DeletePage) title() string {
	if p.Shipped {
		return p.T("calendars.restore.title", "Name", p.Name)
	}
	return p.T("calendars.delete.title", "Name", p.Name)
}

// Day is one entry of a calendar.
type Day struct {
	From, Until, Name string
	Off               bool
}
