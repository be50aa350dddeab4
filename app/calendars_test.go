package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/scheduler/calendar"
)

// TestCalendarsOfAProgram makes a calendar, lets a job keep to it, changes it and sees the job planned anew, and deletes it.
func TestCalendarsOfAProgram(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		type body struct {
			Name    string `json:"name"`
			Shipped bool   `json:"shipped"`
			Changed bool   `json:"changed"`
			Jobs    int    `json:"jobs"`
			Days    []any  `json:"days"`
			LeftOut int    `json:"left_out"`
		}
		var all struct {
			Items []body `json:"items"`
		}
		c.json(200, &all, "GET", "/calendars", "")
		if len(all.Items) != 1 || all.Items[0].Name != "cn" || !all.Items[0].Shipped || all.Items[0].Changed || len(all.Items[0].Days) < 30 {
			t.Fatalf("%+v", all)
		}
		if got := c.do("PUT", "/calendars/ours", `{"week":["mon"],"days":[{"from":"2026-02-30","kind":"off"}]}`); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "2026-02-30") {
			t.Errorf("no date: %d %s", got.status, got.body)
		}
		every := `{"zone":"UTC","week":["sun","mon","tue","wed","thu","fri","sat"],"days":[`
		var one body
		made := c.json(200, &one, "PUT", "/calendars/ours", every+`]}`)
		var job struct {
			ID   int64      `json:"id"`
			Next *time.Time `json:"next_due_at"`
		}
		soon := time.Now().UTC().AddDate(0, 0, 3)
		create := `{"group_id":1,"description":"close","author":"ann","schedule":"CRON","time_zone":"UTC","handler":"x","cron":"0 0 5 ` + soon.Format("2 1") + ` ?","calendar":"`
		if got := c.do("POST", "/jobs", create+`none"}`); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, `"calendar"`) {
			t.Errorf("a calendar that there is not: %d %s", got.status, got.body)
		}
		c.json(201, &job, "POST", "/jobs", create+`ours","calendar_rule":"NEXT_WORKDAY"}`)
		path := "/jobs/" + strconv.FormatInt(job.ID, 10)
		c.json(200, &job, "POST", path+"/start", "")
		next := func() string {
			c.json(200, &job, "GET", path, "")
			if job.Next == nil {
				return ""
			}
			return job.Next.UTC().Format(time.DateTime)
		}
		day := soon.Format(time.DateOnly)
		if got := next(); got != day+" 05:00:00" {
			t.Errorf("next is %s", got)
		}
		if got := c.do("PUT", "/calendars/ours", every+`]}`, "If-Match", `"0"`); got.status != http.StatusPreconditionFailed {
			t.Errorf("an old version: %d", got.status)
		}
		c.json(200, &one, "PUT", "/calendars/ours", every+`{"from":"`+day+`","kind":"off"}]}`, "If-Match", made.header.Get("ETag"))
		want := soon.AddDate(0, 0, 1).Format(time.DateOnly) + " 05:00:00"
		executortest.Eventually(t, "the job is planned anew", func() error {
			if got := next(); got != want {
				return fmt.Errorf("next is %s, want %s", got, want)
			}
			return nil
		})
		if got := c.do("DELETE", "/calendars/ours", ""); got.status != http.StatusConflict {
			t.Errorf("delete one that is used: %d %s", got.status, got.body)
		}
		c.json(200, &one, "GET", "/calendars/ours", "")
		if one.Jobs != 1 {
			t.Errorf("%d jobs", one.Jobs)
		}
		ics := `{"week":["mon"],"work_word":"班","icalendar":"BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20261001\nDTEND;VALUE=DATE:20261008\nSUMMARY:国庆\nEND:VEVENT\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20261224\nRRULE:FREQ=YEARLY\nEND:VEVENT\nEND:VCALENDAR"}`
		c.json(200, &one, "POST", "/calendars/cn/import", ics, "If-Match", `"0"`) // as it is shipped
		if !one.Changed || len(one.Days) != 1 || one.LeftOut != 1 {
			t.Errorf("imported %+v", one)
		}
		if got := c.do("DELETE", "/calendars/cn", ""); got.status != http.StatusNoContent {
			t.Errorf("delete: %d %s", got.status, got.body)
		}
		if c.json(200, &one, "GET", "/calendars/cn", ""); one.Changed || len(one.Days) < 30 {
			t.Errorf("as shipped: %+v", one)
		}
		if got := c.do("DELETE", "/calendars/cn", ""); got.status != http.StatusConflict {
			t.Errorf("delete what is shipped: %d", got.status)
		}
		var log struct {
			Items []struct {
				Kind   string `json:"kind"`
				Object string `json:"object"`
			} `json:"items"`
		}
		if got := c.json(200, &log, "GET", "/audit?object_kind=calendar", ""); len(log.Items) != 4 {
			t.Errorf("the audit log has %d: %s", len(log.Items), got.body)
		}
	})
}

// TestACalendarThatKnowsTooLittleIsNamed on the page of each job that keeps to it, and is asked about before it is deleted.
func TestACalendarThatKnowsTooLittleIsNamed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		c.json(200, new(struct{}), "PUT", "/calendars/old", `{"week":["mon","tue"],"years":[{"year":2020}],"days":[]}`)
		for _, more := range []string{`,"calendar":"old"`, ``} {
			c.do("POST", "/jobs", `{"group_id":1,"description":"d","author":"a","handler":"h","schedule":"CRON","cron":"0 0 5 * * ?"`+more+`}`)
		}
		b := open(t, a).mustLogin()
		warns := func(path string) bool {
			return strings.Contains(b.get(path).document(t).Find(".notice.warning").Text(), "has no days for "+strconv.Itoa(time.Now().UTC().Year())) // a calendar without a zone is of UTC
		}
		if !warns("/jobs/1") || warns("/jobs/2") {
			t.Errorf("the job that keeps to it: %v, the other: %v", warns("/jobs/1"), warns("/jobs/2"))
		}
		ask := b.get("/calendars/old/delete")
		if form := ask.document(t).Find(`form.panel[action="/calendars/old/delete"]`); form.Length() != 1 || !strings.Contains(form.Text(), "1 job keeps to it") {
			t.Errorf("the question: %d %s", ask.status, ask.body)
		}
		if got := b.post("/calendars/old/delete", nil); got.status != http.StatusConflict {
			t.Errorf("deleted: %d", got.status)
		}
	})
}

// TestThePreviewKeepsToTheCalendar: a weekend is left out.
func TestThePreviewKeepsToTheCalendar(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		b := open(t, start(t, o)).mustLogin()
		// Of a year that is not known it has the weekdays alone: 3 and 4 January 2099 are a weekend.
		job := form(url.Values{"time_zone": {"Asia/Shanghai"}, "cron": {"0 0 2 1-6 1 ? 2099"}, "calendar": {"cn"}, "calendar_rule": {"WORKDAYS"}})
		text := b.post("/jobs/schedule-preview", job).document(t).Find("#preview").Text()
		job.Set("param", "${{ planned | yyyy年QQ }}")
		if preview := b.post("/jobs/schedule-preview", job).document(t).Find("#preview"); !strings.Contains(preview.Find(".notice.error").Text(), "no “QQ”") || preview.Find("ol li").Length() == 0 || preview.Find("ol code").Length() != 0 {
			t.Errorf("a parameter that cannot be read: %s", preview.Text())
		}
		for day, want := range map[string]bool{"2099-01-02": true, "2099-01-03": false, "2099-01-04": false, "2099-01-05": true} {
			if strings.Contains(text, day) != want {
				t.Errorf("%s is shown: %v, in %s", day, !want, text)
			}
		}
	})
}

// TestTheCalendarPages show the holidays to everybody, and take a file and an iCalendar file from administrators.
func TestTheCalendarPages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		b := open(t, start(t, o)).mustLogin()
		page := b.get("/calendars/cn?year=2026")
		if text := page.document(t).Find("main table, main p").Text(); !strings.Contains(text, "2026-10-10") || strings.Contains(text, "2025-10-11") || !strings.Contains(text, "国办发明电〔2025〕7号") {
			t.Errorf("2026: %d %s", page.status, text)
		}
		heading := func(page answer) string { return strings.Join(strings.Fields(page.document(t).Find("h1").Text()), " ") }
		if got := heading(page); got != "中国法定节假日及调休 cn" {
			t.Errorf("headed %q", got)
		}
		for address, want := range map[string]int{"year=1800": 1, "year=soon": 1, "year=1999": 0} {
			if got := b.get("/calendars/cn?" + address).document(t).Find(".notice:contains('" + address + "')"); got.Length() != want {
				t.Errorf("%q: %s", address, got.Text())
			}
		}
		october := page.document(t).Find("table.month").Eq(9)
		grid := func(class string) string { return strings.Join(strings.Fields(october.Find("td."+class).Text()), " ") }
		if n := page.document(t).Find("table.month").Length(); n != 12 || october.Find("caption").Text() != "2026-10" {
			t.Errorf("%d months", n)
		}
		// 1 October 2026 is a Thursday: the first week has three days before it, which are not of the month.
		if first := october.Find("tbody tr").First().Find("td"); first.Length() != 7 || strings.TrimSpace(first.Eq(2).Text()) != "" || !strings.HasPrefix(strings.TrimSpace(first.Eq(3).Text()), "1") {
			t.Errorf("the first week: %q", first.Text())
		}
		if off, made, weekend := grid("off"), grid("made-up"), grid("weekend"); strings.Count(off, "国庆节") != 7 || !strings.HasPrefix(made, "10 ") || !strings.Contains(made, "国庆节") || weekend != "11 17 18 24 25 31" {
			t.Errorf("off %q, made up %q, weekend %q", off, made, weekend)
		}
		file := page.document(t).Find("textarea[name=file]").Text()
		if got := b.post("/calendars", url.Values{"file": {strings.Replace(file, `"2026-10-10"`, `"2026-10-11"`, 1)}}); got.status != http.StatusSeeOther {
			t.Fatalf("save: %d %s", got.status, got.body)
		}
		if text := b.get("/calendars/cn?year=2026").document(t).Find("main table").Text(); !strings.Contains(text, "2026-10-11") {
			t.Errorf("saved: %s", text)
		}
		if got := b.post("/calendars", url.Values{"file": {`{"name":"x","week":["someday"],"days":[]}`}}); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.document(t).Find("#file-error").Text(), "someday") {
			t.Errorf("a file that is none: %d %s", got.status, got.body)
		}
		ics := "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20260303\r\nSUMMARY:stock <b>\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
		if got := b.post("/calendars", url.Values{"file": {ics}, "name": {"plant"}}); got.status != http.StatusSeeOther {
			t.Fatalf("iCalendar: %d %s", got.status, got.body)
		}
		if got := heading(b.get("/calendars/plant?year=2026")); got != "plant" {
			t.Errorf("one without a title is headed %q", got)
		}
		if text := b.get("/calendars/plant?year=2026").document(t).Find("main table").Text(); !strings.Contains(text, "2026-03-03") || !strings.Contains(text, "stock <b>") {
			t.Errorf("imported: %s", text)
		}
		timed := strings.Replace(ics, "END:VCALENDAR", "BEGIN:VEVENT\r\nDTSTART;TZID=Asia/Shanghai:20260304T090000\r\nEND:VEVENT\r\nEND:VCALENDAR", 1)
		if got := b.choose(t, "/calendars", "chosen", timed, url.Values{"file": {"what was typed"}, "name": {"plant"}}); got.status != http.StatusSeeOther {
			t.Fatalf("a file that was chosen: %d %s", got.status, got.body)
		}
		if text := b.get("/calendars/plant?year=2026").document(t).Find(".toast").Text(); !strings.Contains(text, "left out") || !strings.Contains(text, ": 1.") {
			t.Errorf("an event with a time of day was left out, and the page says %q", text)
		}
		large := "BEGIN:VCALENDAR\r\n" + strings.Repeat("\r\n", calendar.MaxBytes/2) + strings.TrimPrefix(ics, "BEGIN:VCALENDAR\r\n")
		if got := b.choose(t, "/calendars", "chosen", large, url.Values{"name": {"plant"}}); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.document(t).Find("#file-error").Text(), "at most 1 MiB") {
			t.Errorf("a file that is too large: %d %s", got.status, got.document(t).Find("#file-error").Text())
		}
		for _, name := range []string{"plant", "cn"} {
			if got := b.post("/calendars/"+name+"/delete", nil); got.status != http.StatusSeeOther {
				t.Errorf("delete %s: %d", name, got.status)
			}
		}
		if got := b.get("/calendars/plant"); got.status != http.StatusNotFound {
			t.Errorf("deleted: %d", got.status)
		}
		if text := b.get("/calendars/cn?year=2026").document(t).Find("main table").Text(); !strings.Contains(text, "2026-10-10") {
			t.Errorf("as shipped: %s", text)
		}
	})
}

// TestACalendarThatEndsIsSaidOnEveryPage: administrators read on every page that a year is missing which jobs will need, until it is there.
func TestACalendarThatEndsIsSaidOnEveryPage(t *testing.T) {
	t.Parallel()
	a, c := apiCaller(t, testOptions(t))
	root := open(t, a).mustLogin()
	alert := func() string { return root.get("/jobs").document(t).Find(".alert").Text() }
	years := func(last int) string {
		var known []string
		for year := 2020; year <= last; year++ {
			known = append(known, `{"year":`+strconv.Itoa(year)+`}`)
		}
		return `{"week":["mon"],"days":[],"years":[` + strings.Join(known, ",") + `]}`
	}
	now := time.Now().UTC().Year() // a calendar without a zone is of UTC
	var one struct {
		Missing int `json:"missing_year"`
	}
	c.json(200, &one, "PUT", "/calendars/ours", years(now-1))
	if strings.Contains(alert(), "ours") {
		t.Error("it is said of a calendar that no job keeps to")
	}
	c.json(201, new(struct{}), "POST", "/jobs", `{"group_id":1,"description":"close","author":"ann","schedule":"CRON","handler":"x","cron":"0 0 5 * * ?","calendar":"ours"}`)
	c.json(200, &one, "PUT", "/calendars/ours", years(now-1), "If-Match", "*")
	if text := alert(); !strings.Contains(text, "ours") || !strings.Contains(text, strconv.Itoa(now)) {
		t.Errorf("the alert is %q, and the year %d is missing", text, now)
	}
	c.json(200, &one, "PUT", "/calendars/ours", years(now+1), "If-Match", "*")
	if text := alert(); strings.Contains(text, "ours") {
		t.Errorf("the year is there, and the alert %q", text)
	}
}

// TestARefusedCalendarSaysWhere: the line and what is wrong in it, in the reader's language.
func TestARefusedCalendarSaysWhere(t *testing.T) {
	t.Parallel()
	b := open(t, start(t, testOptions(t))).mustLogin()
	for _, tt := range []struct{ name, file, zh, en string }{
		{"a comma is missing", "{\n  \"name\": \"plant\"\n  \"week\": [\"sun\"]\n}", "这不是日历文件，或文件不完整。第 3 行：“\"”之前缺少逗号，或列表、对象没有结束", "This is no calendar file, or not the whole of one. Line 3: before “\"” a comma is missing, or the end of the list or object"},
		{"it is cut off", "{\n  \"name\": \"plant\",\n  \"days\": [\n", "这不是日历文件，或文件不完整。第 4 行：内容提前结束，可能被截断", "This is no calendar file, or not the whole of one. Line 4: it ends too early; perhaps it was cut off"},
		{"a field that there is not", "{\n  \"name\": \"plant\",\n  \"colour\": 1}", "这不是日历文件，或文件不完整。第 3 行：不存在字段“colour”。", "This is no calendar file, or not the whole of one. Line 3: There is no field “colour”."},
		{"no list", "{\n  \"name\": \"plant\",\n  \"days\": 7}", "这不是日历文件，或文件不完整。第 3 行：“days”应为列表。", "This is no calendar file, or not the whole of one. Line 3: “days” takes a list."},
		{"it goes on", "{\"name\": \"plant\"}\n}", "这不是日历文件，或文件不完整。第 2 行：内容结束之后还有多余的文本", "This is no calendar file, or not the whole of one. Line 2: it goes on after its end"},
		{"no object", "[]", "这不是日历文件，或文件不完整。第 1 行：应为花括号括起的对象", "This is no calendar file, or not the whole of one. Line 1: it must be an object, in braces"},
		{"an iCalendar file that is cut off", "BEGIN:VCALENDAR\nBEGIN:VEVENT\n", "这不是日历文件，或文件不完整。缺少 END:VCALENDAR 这一行。", "This is no calendar file, or not the whole of one. There is no line END:VCALENDAR."},
	} {
		for lang, want := range map[string]string{"zh-CN": tt.zh, "en": tt.en} {
			got := b.do("POST", "/calendars", url.Values{"file": {tt.file}}, "Accept-Language", lang)
			if text := strings.TrimSpace(got.document(t).Find("form .error").First().Text()); got.status != http.StatusUnprocessableEntity || text != want {
				t.Errorf("%s in %s: %d %q, want %q", tt.name, lang, got.status, text, want)
			}
		}
	}
}
