package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/db/dbtest"
)

// TestTimesAreShownInTheZoneOfWhoReads shows the same run to two people in two zones. What they type into a filter is read in the zone
// they see, the numbers of the dashboard lead to the same runs for both, and schedules stay in the zone of their job and say so.
func TestTimesAreShownInTheZoneOfWhoReads(t *testing.T) {
	t.Parallel()
	const away = "America/New_York"
	york, err := time.LoadLocation(away)
	if err != nil {
		t.Fatal(err)
	}
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		home, abroad := open(t, a).mustLogin(), normalUser(t, a)
		if got := home.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create group: %d %s", got.status, got.body)
		}
		if got := home.post("/jobs", form(url.Values{"name": {"daily"}, "group": {"1"}, "start": {"1"}})); got.status != http.StatusSeeOther {
			t.Fatalf("create job: %d %s", got.status, got.body)
		}
		choose := func(b *browser, zone string) answer {
			t.Helper()
			return b.post("/preferences", url.Values{"time_zone": {zone}, "next": {"/runs"}})
		}
		if got := choose(abroad, away); got.header.Get("Location") != "/runs" {
			t.Fatalf("choose a zone: %d %s", got.status, got.body)
		}
		if got := choose(abroad, "Nowhere/Land"); got.status != http.StatusUnprocessableEntity {
			t.Errorf("a zone that there is not: %d", got.status)
		}
		other := oldRun(t, a, 1, 1, 3*time.Hour, 200, 500, nil)
		run := oldRun(t, a, 1, 1, 10*time.Minute, 200, 500, nil)

		path := fmt.Sprintf("/runs/%d", run)
		at, err := time.Parse(time.RFC3339, open(t, a).mustLogin().get(path).document(t).Find("#run-head .summary time").First().AttrOr("datetime", ""))
		if err != nil {
			t.Fatal(err)
		}
		for _, who := range []struct {
			*browser
			zone *time.Location
			name string
		}{{home, dbtest.Zone, dbtest.Zone.String()}, {abroad, york, away}} {
			doc := who.get(path).document(t)
			if got, want := doc.Find("#run-head .summary time").First().Text(), at.In(who.zone).Format(time.DateTime); got != want {
				t.Errorf("in %s the run is of %s, want %s", who.name, got, want)
			}
			if got, want := doc.Find("main").Text(), "Times in "+away; strings.Contains(got, want) != (who.zone == york) {
				t.Errorf("in %s the page says %q", who.name, want)
			}
			// The minute of the run as this reader sees it.
			typed := at.In(who.zone).Format("2006-01-02T15:04")
			list := who.get("/runs?" + url.Values{"range": {"custom"}, "from": {typed}, "to": {typed}}.Encode()).document(t)
			if n := list.Find("tbody tr").Length(); n != 1 || list.Find("#run-"+strconv.FormatInt(run, 10)).Length() != 1 {
				t.Errorf("in %s %d runs at %s", who.name, n, typed)
			}
			if got := list.Find("#range-zone").Text(); got != who.name {
				t.Errorf("the filter is in %s, and says %q", who.name, got)
			}
			// A bar of the dashboard leads to the day that it counts.
			bars := who.get("/").document(t).Find(".chart.tall svg a")
			day, _ := bars.Last().Attr("href")
			if today := time.Now().In(dbtest.Zone).YearDay(); at.In(dbtest.Zone).YearDay() != today || at.Add(-3*time.Hour).In(dbtest.Zone).YearDay() != today {
				continue // it was midnight since one of the two runs
			}
			if got := who.get(day).document(t); got.Find("#run-"+strconv.FormatInt(run, 10)).Length() != 1 || got.Find("#run-"+strconv.FormatInt(other, 10)).Length() != 1 {
				t.Errorf("in %s the bar of today leads to %s", who.name, day)
			}
		}

		// Every time is in that zone, but those of a schedule.
		for _, page := range []string{"/", "/jobs", "/runs", path, "/jobs/1", "/executors", "/executors/1", "/profile", "/jobs/1/account?range=7d", "/tokens"} {
			got := abroad.get(page)
			if got.status != http.StatusOK {
				t.Errorf("%s: %d", page, got.status)
			}
			got.document(t).Find("time[datetime]").Each(func(_ int, s *goquery.Selection) {
				shown, err := time.Parse(time.RFC3339, s.AttrOr("datetime", ""))
				if err != nil {
					t.Errorf("%s: %v", page, err)
					return
				}
				_, offset := shown.Zone()
				_, want := shown.In(york).Zone()
				if inSchedule := s.ParentsFiltered("#preview, ol.times").Length() > 0; inSchedule != (offset != want) {
					t.Errorf("%s: %s, in a schedule: %t", page, s.AttrOr("datetime", ""), inSchedule)
				}
			})
		}
		for zone, want := range map[string]string{"": dbtest.Zone.String(), "Asia/Tokyo": "Asia/Tokyo"} {
			preview := abroad.post("/jobs/schedule-preview", form(url.Values{"schedule_type": {"CRON"}, "cron": {"0 15 10 * * ?"}, "time_zone": {zone}})).document(t)
			if times := preview.Find("time.at"); times.Length() != 8 || !strings.HasSuffix(times.First().Text(), " 10:15:00") || preview.Find("small").First().Text() != want {
				t.Errorf("the preview in zone %q: %s", zone, preview.Text())
			}
		}

		choose(abroad, "server")
		if got, want := abroad.get(path).document(t).Find("#run-head .summary time").First().Text(), at.In(dbtest.Zone).Format(time.DateTime); got != want {
			t.Errorf("back at home: %s, want %s", got, want)
		}
	})
}
