package gallery

import (
	"fmt"
	"time"

	"github.com/punctual-job/punctual/views/calendars"
)

// months are those of 2026, with the national holiday and its make-up day.
func (f fakes) months() []calendars.Month {
	var all []calendars.Month
	for month := time.January; month <= time.December; month++ {
		m := calendars.Month{Name: fmt.Sprintf("2026-%02d", month)}
		for at := time.Date(2026, month, 1, 0, 0, 0, 0, time.UTC); at.Month() == month; at = at.AddDate(0, 0, 1) {
			column := (int(at.Weekday()) + 6) % 7
			if at.Day() == 1 || column == 0 {
				m.Weeks = append(m.Weeks, [7]calendars.Cell{})
			}
			c := calendars.Cell{Number: at.Day(), Works: column < 5, Weekend: column > 4}
			switch {
			case month == time.October && at.Day() <= 7:
				c = calendars.Cell{Number: at.Day(), Marked: true, Name: "国庆节"}
			case month == time.October && at.Day() == 10:
				c = calendars.Cell{Number: at.Day(), Marked: true, Works: true, Name: "国庆节"}
			case month == time.November && at.Day() == 24:
				c.Today = true
			}
			m.Weeks[len(m.Weeks)-1][column] = c
		}
		all = append(all, m)
	}
	return all
}
