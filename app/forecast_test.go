package app

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/views/link"
)

// TestWhatRunsTonightIsTwoClicksAway: the dashboard leads to the forecast, and its hour to the jobs of that hour. Programs get the same.
func TestWhatRunsTonightIsTwoClicksAway(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		night := time.Now().In(a.pool.Zone()).Add(6 * time.Hour).Hour() // a night that does not begin meanwhile
		tonight := regexp.MustCompile(fmt.Sprintf(`href="(/jobs\?at=\d{4}-\d\d-\d\dT%02d%%3A00&amp;show=due&amp;until=\d{4}-\d\d-\d\dT\d\d%%3A00)"[^>]*title="[^"]*: ([^"]*)"`, night))
		for _, cron := range []string{fmt.Sprintf("0 0/20 %d * * ?", night), fmt.Sprintf("0 0 %d * * ?", (night+10)%24)} {
			var made struct{ ID int64 }
			c.json(201, &made, "POST", "/jobs", fmt.Sprintf(`{"group_id":1,"description":"fires %s","author":"ann","schedule":"CRON","cron":%q,"handler":"x"}`, cron, cron))
			c.json(200, &made, "POST", fmt.Sprintf("/jobs/%d/start", made.ID), "")
		}
		b := open(t, a).mustLogin()
		if !strings.Contains(b.get("/").body, `href="`+link.ForecastPath+`"`) {
			t.Error("the dashboard does not lead to the forecast")
		}
		page := b.get(link.ForecastPath).body
		hours := tonight.FindAllStringSubmatch(page, -1)
		if len(hours) < 14 || strings.Count(page, `<title>`) < 24*4 {
			t.Fatalf("%d nights in %s", len(hours), page)
		}
		hour := hours[0]
		if hour[2] != "3 due" {
			t.Errorf("the hour says %q", hour[2])
		}
		list := b.get(html.UnescapeString(hour[1])).body
		if !strings.Contains(list, "fires 0 0/20 ") || strings.Contains(list, "fires 0 0 ") || !strings.Contains(list, "Due from ") {
			t.Errorf("the list of the hour: %s", list)
		}
		for query, want := range map[string]string{
			"at=2026-01-01T02:00&until=2026-01-01T03:00": "that is over", "at=2099-01-01T03:00&until=2099-01-01T02:00": "the end must lie after", "at=2099-01-01T03:00&until=2099-02-01T02:00": "no more than 14 days",
		} {
			if list := b.get("/jobs?show=due&" + query).body; !strings.Contains(list, want) || strings.Contains(list, `id="job-`) {
				t.Errorf("%s: %s", query, list)
			}
		}

		var ahead struct {
			From     time.Time
			Quarters []int64
		}
		sum := int64(0)
		c.json(200, &ahead, "GET", "/statistics/outlook?days=14", "")
		for _, n := range ahead.Quarters {
			sum += n
		}
		if len(ahead.Quarters) != 14*24*4 || sum != 14*4 {
			t.Errorf("%d quarters with %d runs", len(ahead.Quarters), sum)
		}
		busy := 0
		for i, n := range ahead.Quarters[:4*24] {
			at := ahead.From.Add(time.Duration(i) * 15 * time.Minute)
			var due struct{ Items []struct{ ID int64 } }
			c.json(200, &due, "GET", "/jobs?"+url.Values{"show": {"due"}, "at": {at.Format(time.RFC3339)}, "until": {at.Add(15 * time.Minute).Format(time.RFC3339)}}.Encode(), "")
			if int64(len(due.Items)) != n { // each job at most once in a quarter
				t.Errorf("%d due from %v, listed %d", n, at, len(due.Items))
			}
			busy += len(due.Items)
		}
		if busy != 4 {
			t.Errorf("%d listed in a day, want 4", busy)
		}
	})
}
