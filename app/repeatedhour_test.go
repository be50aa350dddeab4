package app

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// TestAFormKeepsTheMomentsOfAnHourThatComesTwice saves another field of jobs whose moments are in the first and in the second pass of such
// an hour: of a time alone, Go takes the second in zones east of Greenwich, and the first in those west of it.
func TestAFormKeepsTheMomentsOfAnHourThatComesTwice(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.Sample = SampleOn // for its executor
		a := start(t, o)
		b := open(t, a).mustLogin()
		for _, c := range []struct{ zone, day, offset string }{
			{"Europe/Berlin", "2037-10-25T02", "+02:00"}, {"Europe/Berlin", "2037-10-25T02", "+01:00"},
			{"America/New_York", "2037-11-01T01", "-04:00"}, {"America/New_York", "2037-11-01T01", "-05:00"},
		} {
			moment := func(minute string) string { return c.day + ":" + minute + ":00" + c.offset }
			ms := func(minute string) int64 {
				at, err := time.Parse(time.RFC3339, moment(minute))
				if err != nil {
					t.Fatal(err)
				}
				return at.UnixMilli()
			}
			made := b.post("/jobs", form(url.Values{
				"schedule_type": {"ONCE"}, "moment": {c.day + ":30:00"}, "time_zone": {c.zone}, "start_at": {moment("10")}, "end_at": {moment("50")},
			}))
			var id int64
			if err := a.pool.QueryRowContext(t.Context(), "SELECT MAX(id) FROM xxl_job_info").Scan(&id); err != nil || made.status != http.StatusSeeOther {
				t.Fatalf("create: %d, %v: %s", made.status, err, made.document(t).Find("form .error, form .notice").Text())
			}
			if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET schedule_conf = ? WHERE id = ?", moment("30"), id); err != nil { // as API v1 and files have it
				t.Fatal(err)
			}
			path := fmt.Sprintf("/jobs/%d", id)
			check := func(what, conf string, start, end int64) {
				t.Helper()
				var author, haveConf string
				var haveStart, haveEnd int64
				err := a.pool.QueryRowContext(t.Context(), "SELECT author, schedule_conf, start_at, end_at FROM xxl_job_info WHERE id = ?", id).Scan(&author, &haveConf, &haveStart, &haveEnd)
				if err != nil || author != what || haveConf != conf || haveStart != start || haveEnd != end {
					t.Errorf("%s %s: %s: once %s, from %d to %d, want %s, %d, %d (%v)", c.zone, c.offset, author, haveConf, haveStart, haveEnd, conf, start, end, err)
				}
			}
			save := func(author string, change url.Values) {
				t.Helper()
				f := formOf(b.get(path + "/edit").document(t))
				f.Set("author", author)
				maps.Copy(f, change)
				if got := b.post(path, f); got.status != http.StatusSeeOther {
					t.Fatalf("save: %d %s", got.status, got.document(t).Find(".error").Text())
				}
			}
			save("another", nil)
			check("another", moment("30"), ms("10"), ms("50"))

			// A browser may send whole minutes without their seconds; and a form that was refused is shown and sent again.
			f := formOf(b.get(path + "/edit").document(t))
			f.Set("start_at", c.day+":10")
			f.Set("author", "")
			refused := b.post(path, f)
			f = formOf(refused.document(t))
			f.Set("author", "third")
			if got := b.post(path, f); refused.status != http.StatusUnprocessableEntity || got.status != http.StatusSeeOther {
				t.Fatalf("save what was refused: %d, %d", refused.status, got.status)
			}
			check("third", moment("30"), ms("10"), ms("50"))

			// What is typed anew counts.
			y := c.day[:len(c.day)-2] + "09:00:00"
			zone, err := time.LoadLocation(c.zone)
			if err != nil {
				t.Fatal(err)
			}
			at, err := time.ParseInLocation("2006-01-02T15:04:05", y, zone)
			if err != nil {
				t.Fatal(err)
			}
			save("fourth", url.Values{"end_at": {y}})
			check("fourth", moment("30"), ms("10"), at.UnixMilli())
		}
	})
}
