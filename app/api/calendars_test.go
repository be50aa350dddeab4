package api

import (
	"testing"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/scheduler/calendar"
)

// TestARefusedCalendarNamesTheFieldOfTheRequest and not that of the console's form, in which it is a file.
func TestARefusedCalendarNamesTheFieldOfTheRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reason     calendar.Reason
		file, want string
	}{
		{calendar.ReasonWeek, "", "week"},
		{calendar.ReasonZone, "", "zone"},
		{calendar.ReasonYear, "", "years"},
		{calendar.ReasonSpan, "", "days"},
		{calendar.ReasonText, "", "title"},
		{calendar.ReasonName, "", "name"},
		{calendar.ReasonFormat, "icalendar", "icalendar"},
		{calendar.ReasonEvents, "icalendar", "icalendar"},
		{calendar.ReasonZone, "icalendar", "zone"},
	} {
		err := calendarRefused(manage.CalendarFault(&calendar.Error{Reason: tt.reason}), tt.file)
		if got := problem.From(err).Fields[0]; got.Name != tt.want || got.Key != "calendar.error."+string(tt.reason) {
			t.Errorf("%s: %+v, want %s", tt.reason, got, tt.want)
		}
	}
	if err := calendarRefused(nil, ""); err != nil {
		t.Error(err)
	}
}
