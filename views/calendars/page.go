// Package calendars draws the calendars that jobs keep to.
package calendars

import (
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/ui"
)

// The fields of the form with which a calendar is made or replaced.
const (
	FieldFile   = "file"
	FieldChosen = "chosen"
	FieldName   = "name"
	FieldZone   = "zone"
	FieldWork   = "work"
	// Of the calendar whose page the form is on: what it is called, and which of its versions is shown.
	FieldOf      = "of"
	FieldVersion = "version"
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
	Of, Version            string // on the page of a calendar
	Errors                 map[string]string
	Problem                string
	Differs                []ui.Differing // from what somebody else stored meanwhile
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
	Months  []Month
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

// Month is a month as a grid: weeks from Monday on.
type Month struct {
	Name  string
	Weeks [][7]Cell
}

// Cell is a day of a month; one without a number belongs to another month.
type Cell struct {
	Number  int
	Works   bool
	Marked  bool   // the calendar says so beyond its weekday
	Weekend bool   // by the working week
	Name    string // of the occasion
	Today   bool
}

// class is how the day is coloured.
func (c Cell) class() string {
	class := "day"
	switch {
	case c.Marked && c.Works:
		class = "day made-up"
	case c.Marked:
		class = "day off"
	case c.Weekend:
		class = "day weekend"
	}
	if c.Today {
		class += " today"
	}
	return class
}

// says is what the colour of the day means; empty for a usual day.
func (c Cell) says(p layout.Page) string {
	said := ""
	switch {
	case c.Marked && c.Works:
		said = p.T("calendars.madeup")
	case c.Marked:
		said = p.T("calendars.off")
	case c.Weekend:
		said = p.T("calendars.weekend")
	}
	if c.Name != "" {
		said += " · " + c.Name
	}
	return said
}

// Day is one entry of a calendar.
type Day struct {
	From, Until, Name string
	Off               bool
}
