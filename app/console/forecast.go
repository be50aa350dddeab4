package console

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	figures "github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/views/dashboard"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/link"
)

// busiestHours is how many hours ahead the forecast names.
const busiestHours = 6

// forecastHour is what is due in an hour of the reader's clock.
type forecastHour struct {
	at   time.Time
	runs int64
	end  time.Time // of its last quarter
}

// forecast shows how much is due in the next days.
func (c *dashboardPages) forecast(ec echo.Context) error {
	page := dashboard.ForecastPage{Page: c.pageWithFlash(ec), Days: strconv.Itoa(figures.AheadDays)}
	ahead, err := c.figures.Ahead(ec.Request().Context(), who(ec))
	if err != nil {
		return err
	}
	if page.Paused, err = c.widePauses(ec.Request().Context(), page.Page, who(ec)); err != nil {
		return err
	}
	zone := c.timesOf(page.Page)
	if !ahead.Ends.IsZero() {
		page.Ends = page.T("dashboard.ahead.ends", "At", ahead.Ends.In(zone).Format("01-02 15:04:05"))
	}
	page.None = page.Ends == "" && slices.Max(ahead.Quarters) == 0
	next := c.now().In(zone).Truncate(time.Minute)
	page.From, page.Until = next.Format(link.MinuteLayout), next.Add(time.Hour).Format(link.MinuteLayout)
	page.Day = c.forecastDay(page, ahead)
	hours := hoursOf(ahead, zone)
	page.Hours = c.forecastDays(page, ahead, hours)
	slices.SortStableFunc(hours, func(a, b forecastHour) int { return cmp.Compare(b.runs, a.runs) })
	for _, h := range hours[:min(busiestHours, len(hours))] {
		if h.runs > 0 {
			page.Peaks = append(page.Peaks, dashboard.Busy{
				At: format.Weekday(page.Printer, h.at) + " " + h.at.Format("01-02 15:04"), URL: dueBetween(h.at, h.end), In: c.at(page.Page, later(h.at, c.now())),
				Count: page.T("dashboard.ahead.count", "N", atLeast(ahead, h.runs, h.end)),
			})
		}
	}
	return renderPart(ec, http.StatusOK, dashboard.Forecast(page), dashboard.FragmentForecast)
}

// forecastDay is the next 24 hours by quarters.
func (c *dashboardPages) forecastDay(page dashboard.ForecastPage, ahead figures.Ahead) dashboard.Chart {
	day := ahead.Quarters[:24*4]
	most := max(1, slices.Max(day))
	chart := dashboard.Chart{Label: page.T("forecast.day"), Max: format.Number(most), Now: c.now().Sub(ahead.From).Minutes() / 15}
	for i, n := range day {
		at := ahead.From.In(c.timesOf(page.Page)).Add(time.Duration(i) * 15 * time.Minute)
		count := atLeast(ahead, n, at.Add(15*time.Minute))
		chart.Bars = append(chart.Bars, dashboard.Bar{
			Label: at.Format("15:04"), URL: dueBetween(at, at.Add(15*time.Minute)), Title: page.T("forecast.hour", "At", at.Format("01-02 15:04"), "N", count),
			Parts: []dashboard.Part{{Class: "plain", Height: 90 * float64(n) / float64(most), Value: count}},
		})
		chart.Marks = marks(chart.Marks, i, len(day), at.Format("15:04"))
	}
	return chart
}

// hoursOf adds quarters up by the hours of a clock. An hour that comes twice when clocks are set back is two.
func hoursOf(ahead figures.Ahead, zone *time.Location) []forecastHour {
	var hours []forecastHour
	for i, n := range ahead.Quarters {
		at := ahead.From.In(zone).Add(time.Duration(i) * 15 * time.Minute)
		if i == 0 || at.Minute() < 15 {
			hours = append(hours, forecastHour{at: at.Add(-time.Duration(at.Minute()) * time.Minute)})
		}
		last := &hours[len(hours)-1]
		last.runs += n
		last.end = at.Add(15 * time.Minute)
	}
	return hours
}

// forecastDays are the hours in rows of days. The last hour is left out where it is not whole.
func (c *dashboardPages) forecastDays(page dashboard.ForecastPage, ahead figures.Ahead, hours []forecastHour) []dashboard.WeekDay {
	most := int64(1)
	for _, h := range hours {
		most = max(most, h.runs)
	}
	var rows []dashboard.WeekDay
	var date string
	for _, h := range hours {
		if d := h.at.Format(time.DateOnly); d != date {
			date = d
			rows = append(rows, dashboard.WeekDay{Label: format.Weekday(page.Printer, h.at) + " " + h.at.Format("01-02"), URL: dueBetween(h.at, midnight(h.at, 1))})
		}
		hour := &rows[len(rows)-1].Hours[h.at.Hour()]
		n := h.runs
		if hour.URL != "" { // the hour that comes twice
			n += hour.Runs
		}
		*hour = dashboard.Hour{Level: level(n, most), Title: page.T("forecast.hour", "At", h.at.Format("01-02 15")+":00", "N", atLeast(ahead, n, h.end)), URL: dueBetween(h.at, h.end), Runs: n, Now: !c.now().Before(h.at) && c.now().Before(h.end)}
	}
	return rows
}

// atLeast is a number of what is due up to a moment, which is a lower bound where the forecast has ended before.
func atLeast(ahead figures.Ahead, n int64, until time.Time) string {
	if !ahead.Ends.IsZero() && until.After(ahead.Ends) {
		return "≥ " + format.Number(n)
	}
	return format.Number(n)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// dueBetween leads to the jobs that are due from one moment up to another.
func dueBetween(from, until time.Time) string {
	return link.Jobs(link.JobFilter{Show: link.ShowDue, At: from.Format(link.MinuteLayout), Until: until.Format(link.MinuteLayout)})
}
