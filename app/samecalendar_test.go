package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/manage"
	"pgregory.net/rapid"
)

func TestACalendarIsTheSameWhereverItIsSaved(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		u := newUntouched(t, o, "punctual_calendar")
		often(t, func(r *rapid.T) bool {
			var c *thing
			name := rapid.SampledFrom([]string{"ours", "cn", "a.b_c-1"}).Draw(r, "name")
			words := oddLine(200)
			switch how := rapid.SampledFrom([]string{"shipped", "PUT", "import"}).Draw(r, "how"); how {
			case "shipped":
				c = &thing{untouched: u, r: r, path: "/calendars/cn", sent: "the shipped one"}
				c.was, c.etag, c.rows = c.read(), c.tag(), c.stored()
			default:
				sent := map[string]any{"week": rapid.SliceOfN(rapid.SampledFrom([]string{"fri", "mon", "sun"}), 0, 2).Draw(r, "week")}
				maybe(r, sent, "title", words)
				maybe(r, sent, "zone", anyOf("", "Asia/Shanghai", "UTC", " UTC"))
				path := "/calendars/" + name
				if how == "import" {
					path += "/import"
					text := strings.NewReplacer("\\", "\\\\", "\r\n", "\\n", "\n", "\\n", "\r", "\\n", ";", "\\;", ",", "\\,").Replace(words.Draw(r, "summary").(string))
					sent["icalendar"] = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART;VALUE=DATE:20270501\r\nDTEND;VALUE=DATE:20270504\r\nSUMMARY:" + text + "\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
					maybe(r, sent, "work_word", words)
				} else {
					days := []map[string]any{}
					for i := range rapid.IntRange(0, 3).Draw(r, "days") {
						day := map[string]any{"from": fmt.Sprintf("2027-0%d-01", 9-i), "kind": rapid.SampledFrom([]string{"off", "work"}).Draw(r, "kind")}
						maybe(r, day, "until", anyOf("", fmt.Sprintf("2027-0%d-01", 9-i), fmt.Sprintf("2027-0%d-03", 9-i)))
						maybe(r, day, "name", words)
						days = append(days, day)
					}
					sent["days"] = days
					if rapid.Bool().Draw(r, "with years") {
						sent["years"] = []map[string]any{{"year": 2028}, {"year": 2027, "source": words.Draw(r, "source")}}
					}
				}
				if name == "cn" {
					u.c.do("DELETE", "/calendars/cn", "")
					if got := u.c.do("PUT", "/calendars/cn", `{"week":[],"days":[]}`, "If-Match", "*"); got.status != 200 {
						r.Fatal(got.body)
					}
				}
				body, _ := json.Marshal(sent)
				var header []string
				if name == "cn" {
					header = []string{"If-Match", "*"}
				}
				method := map[bool]string{true: "POST", false: "PUT"}[how == "import"]
				got := u.c.do(method, path, string(body), header...)
				if got.status == http.StatusUnprocessableEntity {
					return false
				}
				if got.status != 200 && got.status != 201 {
					r.Fatalf("%d %s\nof %s", got.status, got.body, body)
				}
				c = &thing{untouched: u, r: r, path: "/calendars/" + name, sent: string(body)}
				c.was, c.etag, c.rows = c.read(), c.tag(), c.stored()
			}
			defer c.delete()
			late := c.form(c.path, "/calendars")
			c.replaced([]string{"name", "shipped", "changed", "jobs", "missing", "changed_by"}, nil)
			c.posted("/calendars", late)
			return true
		})
	})
}

// TestAnOldPageOfACalendarIsRefused that somebody else has changed meanwhile, and the audit log says what they changed.
func TestAnOldPageOfACalendarIsRefused(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		root := open(t, a).mustLogin()
		c.json(200, &struct{}{}, "PUT", "/calendars/ours", `{"title":"Ours","week":["mon"],"days":[],"years":[{"year":2027}]}`)
		late := formTo(t, root.get("/calendars/ours").document(t), "/calendars")
		c.json(200, &struct{}{}, "PUT", "/calendars/ours", `{"title":"All of ours","week":["mon"],"days":[],"years":[{"year":2027},{"year":2028,"source":"the notice"}]}`, "If-Match", "*")
		if before, after := auditOf(t, a, manage.ObjectCalendar); !strings.Contains(before, "Ours") || !strings.Contains(after, "All of ours") || !strings.Contains(after, "2028 the notice") {
			t.Errorf("the audit log says %s, %s", before, after)
		}
		got := root.post("/calendars", late)
		if notice := got.document(t).Find(".notice.error").Text(); got.status != http.StatusUnprocessableEntity || notice == "" {
			t.Errorf("an old page: %d %q", got.status, notice)
		}
		var now struct{ Title string }
		if c.json(200, &now, "GET", "/calendars/ours", ""); now.Title != "All of ours" {
			t.Errorf("it is %q", now.Title)
		}
		late.Set("file", strings.ReplaceAll(late.Get("file"), `"ours"`, `"theirs"`)) // the page is no other calendar's
		if got := root.post("/calendars", late); got.status != http.StatusSeeOther {
			t.Errorf("another calendar made of it: %d", got.status)
		}
	})
}
