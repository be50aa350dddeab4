package dashboard

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/views/layout"
)

func troubleIcon(t Trouble) string {
	switch {
	case t.N == 0:
		return "circle-check"
	case t.Kind == Failing:
		return "circle-x"
	case t.Kind == Late:
		return "timer"
	case t.Kind == Running:
		return "activity"
	case t.Kind == Long:
		return "hourglass"
	case t.Kind == Alarms:
		return "bell"
	default:
		return "unplug"
	}
}

// trouble is how many cases want somebody now: the mark on the page's tab.
func (p Page) trouble() (n int64) {
	for _, t := range p.Troubles {
		n += t.N
	}
	return n
}

// Each bar has ten units of width, and a unit of air on either side. Where bars are many, what failed has none: on a phone the place of one of
// ninety days is barely more than the three pixels that a failure is to have.
func (c Chart) air(p Part) int {
	if len(c.Bars) > 60 && p.Class == "bad" {
		return 0
	}
	return 1
}

func chartBox(c Chart) string { return fmt.Sprintf("0 0 %d 100", 10*max(1, len(c.Bars))) }

func barX(i, inset int) string { return strconv.Itoa(10*i + inset) }

func partHeight(p Part) string { return strconv.FormatFloat(p.Height, 'f', 2, 64) }

// partY is the upper edge of a part, which stands on those before it.
func partY(b Bar, i int) string {
	top := 100.0
	for _, p := range b.Parts[:i+1] {
		top -= p.Height
	}
	return strconv.FormatFloat(max(0, top), 'f', 2, 64)
}

// url is where a part of the bar leads.
func (b Bar) url(i int) string { return cmp.Or(b.Parts[i].URL, b.URL) }

func twoDigits(h int) string { return fmt.Sprintf("%02d", h) }

func heatClass(h Hour) string { return "level-" + strconv.Itoa(min(max(h.Level, 0), 5)) }

// stop is whether the tab key stops at an hour: at this one, which a narrow window shows, or else at the first that leads anywhere.
func stop(days []WeekDay, h Hour) string {
	at := ""
	for _, d := range days {
		for _, other := range d.Hours {
			if other.URL != "" && (at == "" || other.Now) {
				at = other.URL
			}
		}
	}
	if at != "" && at == h.URL {
		return "0"
	}
	return "-1"
}

// framed is the page with the ways to what lies below its lists of troubles.
func (p Page) framed() layout.Page {
	whole := p.Page
	for _, id := range []string{"days", "week", "ahead"} {
		whole.Parts = append(whole.Parts, layout.Part{ID: id, Name: p.T("dashboard." + id)})
	}
	return whole
}

// gridLines are the quarters of a chart's height.
var gridLines = []string{"5", "28.75", "52.5", "76.25"}

func chartWidth(c Chart) string { return strconv.Itoa(10 * max(1, len(c.Bars))) }

func nowX(c Chart) string { return acrossX(c.Now) }

// acrossX is a place between the bars.
func acrossX(bars float64) string { return strconv.FormatFloat(10*bars, 'f', 1, 64) }

// beforeLine goes through the middle of each bar's place.
func (c Chart) beforeLine() string {
	var b strings.Builder
	for i, height := range c.Before {
		fmt.Fprintf(&b, "%d,%.2f ", 10*i+5, 100-height)
	}
	return b.String()
}
