package app

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/punctual-job/punctual/views/jobs"
)

// bulkFields are what a question about a deed for many sends, and each part of it that asks for the next one.
const bulkFields = "form.panel input, form#" + jobs.PartID + " input"

// TestManyJobsOverHTTP picks jobs in the list, looks at what would happen, does it, and takes it back.
func TestManyJobsOverHTTP(t *testing.T) {
	t.Parallel()
	b := open(t, start(t, testOptions(t))).mustLogin()
	for _, name := range []string{"orders", "others"} {
		b.post("/executors", url.Values{"app_name": {name}, "title": {name}, "type": {"auto"}})
	}
	for range 2 {
		if got := b.post("/jobs", form(nil)); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.body)
		}
	}
	if n := b.get("/jobs").document(t).Find(`tbody .pick[form="bulk"]`).Length(); n != 2 {
		t.Errorf("%d boxes", n)
	}
	started := func() int { return b.get("/jobs").document(t).Find(`.switch[aria-checked="true"]`).Length() }
	preview := b.do("GET", "/jobs/bulk?do=start&id=1&id=2&id=99", nil, "HX-Request", "true")
	if n := preview.document(t).Find(`input[name="id"]`).Length(); preview.status != http.StatusOK || n != 2 || strings.Contains(preview.body, "<html") || started() != 0 {
		t.Fatalf("preview: %d, %d jobs: %s", preview.status, n, preview.body)
	}
	values := func(doc *goquery.Document) url.Values {
		v := url.Values{}
		doc.Find(bulkFields).Each(func(_ int, s *goquery.Selection) { v.Add(s.AttrOr("name", ""), s.AttrOr("value", "")) })
		return v
	}
	done := b.do("POST", "/jobs/bulk", values(preview.document(t)), "HX-Request", "true")
	if done.status != http.StatusOK || done.header.Get("HX-Trigger") != "jobs-changed" || started() != 2 {
		t.Fatalf("start: %d, %d run: %s", done.status, started(), done.body)
	}
	if got := b.post("/jobs/bulk", values(done.document(t))); got.status != http.StatusOK || started() != 0 {
		t.Errorf("undo: %d, %d run", got.status, started())
	}
	move := b.post("/jobs/bulk", url.Values{"do": {"move"}, "id": {"1", "2"}, "group": {"2"}})
	if n := b.get("/jobs?group=2").document(t).Find("tr[data-id]").Length(); move.status != http.StatusOK || n != 2 {
		t.Errorf("moved: %d, %d jobs there", move.status, n)
	}
	if got := b.post("/jobs/bulk", values(move.document(t))); got.status != http.StatusOK || b.get("/jobs?group=1").document(t).Find("tr[data-id]").Length() != 2 {
		t.Errorf("moved back: %d", got.status)
	}
	tag := b.post("/jobs/bulk", url.Values{"do": {"tag"}, "id": {"1"}, "add": {"<b>eu</b>， night"}, "drop": {""}})
	if got := b.get("/jobs?tag=night"); tag.status != http.StatusOK || got.document(t).Find("tr[data-id]").Length() != 1 || strings.Contains(got.body, "<b>eu") {
		t.Errorf("tagged: %d", tag.status)
	}
	if got := b.get("/jobs/bulk?do=move&id=1").document(t).Find("#bulk-group option").Length(); got != 2 {
		t.Errorf("%d groups to move to", got)
	}
	for path, want := range map[string]int{"/jobs/bulk": 400, "/jobs/bulk?do=burn&id=1": 400, "/jobs/bulk?do=start&id=x": 400, "/jobs/bulk?do=delete&id=1": 200} {
		if got := b.get(path); got.status != want {
			t.Errorf("%s: %d, want %d", path, got.status, want)
		}
	}
	b.post("/jobs/bulk", url.Values{"do": {"delete"}, "id": {"1", "2"}})
	if n := b.get("/jobs").document(t).Find("tr[data-id]").Length(); n != 0 {
		t.Errorf("%d jobs are left", n)
	}
}

// rawText is a value of JSON as it stands there.
type rawText string

func (r *rawText) UnmarshalJSON(raw []byte) error { *r = rawText(raw); return nil }

// TestAFieldOfManyJobsIsChanged and changed back, in what the boxes pick and in all that a filter finds.
func TestAFieldOfManyJobsIsChanged(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		b := open(t, a).mustLogin()
		type stored struct {
			TimeoutSeconds int     `json:"timeout_seconds"`
			Retries        int     `json:"retries"`
			Author         string  `json:"author"`
			AlarmEmail     rawText `json:"alarm_email"`
			Calendar       string  `json:"calendar"`
			Rule           string  `json:"calendar_rule"`
		}
		const jobs = 3
		for i := range jobs {
			more := ""
			if i == 1 {
				more = `,"calendar":"cn","calendar_rule":"DAYS_OFF"`
			}
			c.json(201, new(stored), "POST", "/jobs", fmt.Sprintf(`{"group_id":1,"description":"job %d","author":"ann %d","handler":"h","schedule":"CRON","cron":"0 0 2 * * ?","timeout_seconds":%d,"retries":%d%s}`, i, i, 10*i, i, more))
		}
		read := func() (all [jobs]stored) {
			for i := range all {
				c.json(200, &all[i], "GET", fmt.Sprintf("/jobs/%d", i+1), "")
			}
			return all
		}
		values := func(doc *goquery.Document) url.Values {
			v := url.Values{}
			doc.Find("form.panel input, form.panel select").Each(func(_ int, s *goquery.Selection) {
				if goquery.NodeName(s) == "select" {
					s = s.Find("option[selected], option").First()
					v.Add(s.Parent().AttrOr("name", ""), s.AttrOr("value", ""))
					return
				}
				v.Add(s.AttrOr("name", ""), s.AttrOr("value", ""))
			})
			return v
		}
		before := read()
		changed := func(change func(*stored)) (all [jobs]stored) {
			for i := range all {
				all[i] = before[i]
				change(&all[i])
			}
			return all
		}
		for _, test := range []struct {
			field, to string
			want      [jobs]stored
		}{
			{"timeout", "90", changed(func(s *stored) { s.TimeoutSeconds = 90 })},
			{"retries", "0", changed(func(s *stored) { s.Retries = 0 })},
			{"author", " 值班 ", changed(func(s *stored) { s.Author = "值班" })},
			{"alarm_email", "a@example.com, b@example.com", changed(func(s *stored) { s.AlarmEmail = `["a@example.com","b@example.com"]` })},
			{"calendar", "", changed(func(s *stored) { s.Calendar, s.Rule = "", "" })},
			{"calendar", "cn", changed(func(s *stored) {
				if s.Calendar == "" {
					s.Calendar, s.Rule = "cn", "WORKDAYS"
				}
			})},
		} {
			for _, pick := range []string{"id=1&id=2&id=3", "all=1&group=1"} {
				ask := b.do("GET", "/jobs/bulk?do=edit&"+pick, nil, "HX-Request", "true")
				v := values(ask.document(t))
				v.Set("field", test.field)
				v.Set("to_"+test.field, test.to)
				done := b.do("POST", "/jobs/bulk", v, "HX-Request", "true")
				if got := read(); done.status != http.StatusOK || got != test.want {
					t.Fatalf("%s to %q of %s: %d, %+v, want %+v: %s", test.field, test.to, pick, done.status, got, test.want, done.body)
				}
				if undone := b.do("POST", "/jobs/bulk", values(done.document(t)), "HX-Request", "true"); undone.status != http.StatusOK || read() != before {
					t.Fatalf("%s of %s, undone: %d, %+v", test.field, pick, undone.status, read())
				}
			}
		}
		// What cannot be is said at its field, with what was typed, and nothing is changed or lost.
		for _, pick := range []string{"id=1&id=2", "all=1&group=1"} {
			v := values(b.do("GET", "/jobs/bulk?do=edit&"+pick, nil, "HX-Request", "true").document(t))
			for field, wrong := range map[string]string{"timeout": "soon", "retries": "-1", "author": strings.Repeat("x", 65), "alarm_email": "nobody"} {
				v.Set("field", field)
				v.Set("to_"+field, wrong)
				got := b.do("POST", "/jobs/bulk", v, "HX-Request", "true")
				doc := got.document(t)
				if typed := doc.Find(`[name="to_` + field + `"]`); got.status != 422 || typed.AttrOr("value", "") != wrong || typed.AttrOr("aria-invalid", "") != "true" ||
					doc.Find(`[name="field"] option[selected]`).AttrOr("value", "") != field || read() != before {
					t.Errorf("%s of %s: %d %s", field, pick, got.status, got.body)
				}
				again := values(doc)
				if again.Get("set") != v.Get("set") || strings.Join(again["id"], ",") != strings.Join(v["id"], ",") {
					t.Errorf("%s: the jobs are lost: %v", pick, again)
				}
			}
		}
		if got := b.post("/jobs/bulk", url.Values{"do": {"edit"}, "id": {"1"}, "field": {"handler"}, "to_handler": {"evil"}}); got.status != 400 || read() != before {
			t.Errorf("a field that is not offered: %d", got.status)
		}
		if got := b.post("/jobs/bulk", url.Values{"do": {"edit"}, "id": {"1"}}); read() != before {
			t.Errorf("no field: %d", got.status)
		}
	})
}

// TestManyJobsArePaused each by a pause of its own, those that are picked and all that a filter finds, and goes on with them again.
func TestManyJobsArePaused(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		b := open(t, a).mustLogin()
		for i := range 4 {
			var made struct{ ID int }
			c.json(201, &made, "POST", "/jobs", fmt.Sprintf(`{"group_id":1,"description":"nightly %d","author":"ann","handler":"h","schedule":"CRON","cron":"0 0 2 1 1 ? 2099"}`, i))
			if i < 3 { // the last one is stopped
				c.json(200, new(struct{}), "POST", fmt.Sprintf("/jobs/%d/start", made.ID), "")
			}
		}
		paused := func() string {
			var list struct{ Items []struct{ ID int } }
			c.json(200, &list, "GET", "/jobs?state=paused&sort=name", "")
			return fmt.Sprint(list.Items)
		}
		values := func(doc *goquery.Document) url.Values {
			v := url.Values{}
			doc.Find("form.panel input, form.panel select").Each(func(_ int, s *goquery.Selection) {
				v.Add(s.AttrOr("name", ""), s.AttrOr("value", s.Find("option").First().AttrOr("value", "")))
			})
			return v
		}
		script := []string{"HX-Request", "true"}
		for pick, want := range map[string]string{"id=1&id=3&id=4": "[{1} {3}]", "all=1&q=nightly": "[{1} {2} {3}]"} {
			ask := b.do("GET", "/jobs/bulk?do=pause&"+pick, nil, script...).document(t)
			if !strings.Contains(ask.Find("form.panel").Text(), "nothing to pause") {
				t.Errorf("%s: the stopped job is not named: %s", pick, ask.Text())
			}
			v := values(ask)
			for name, wrong := range map[string]url.Values{"reason": {"pause_reason": {" "}}, "until": {"pause_reason": {"moving"}, "pause_until": {"2020-01-01T00:00"}}} {
				v.Set("pause_reason", wrong.Get("pause_reason"))
				v.Set("pause_until", wrong.Get("pause_until"))
				got := b.do("POST", "/jobs/bulk", v, script...)
				again := got.document(t)
				if field := again.Find(`[name="pause_` + name + `"]`); got.status != 422 || field.AttrOr("aria-invalid", "") != "true" || field.AttrOr("value", "") != wrong.Get("pause_"+name) || paused() != "[]" {
					t.Errorf("%s, wrong %s: %d %s", pick, name, got.status, got.body)
				}
				if set := values(again); set.Get("set") != v.Get("set") || strings.Join(set["id"], ",") != strings.Join(v["id"], ",") {
					t.Errorf("%s: the jobs are lost: %v", pick, set)
				}
			}
			v.Set("pause_reason", "database moves")
			v.Set("pause_until", "2099-01-01T00:00")
			v.Set("pause_strategy", "once")
			done := b.do("POST", "/jobs/bulk", v, script...)
			if got := paused(); done.status != http.StatusOK || done.header.Get("HX-Trigger") != "jobs-changed" || got != want {
				t.Fatalf("%s: %d, %s are paused, want %s: %s", pick, done.status, got, want, done.body)
			}
			if got := b.get("/jobs/1").document(t).Find("main").Text(); !strings.Contains(got, "database moves") {
				t.Errorf("%s: the page of a job does not say why", pick)
			}
			undo := values(done.document(t))
			if got := b.do("POST", "/jobs/bulk", undo, script...); got.status != http.StatusOK || paused() != "[]" {
				t.Errorf("%s, undone: %d, %s are paused", pick, got.status, paused())
			}
		}
		// Nobody ends another pause by it, and who may not stop a job pauses none.
		c.json(201, new(struct{}), "POST", "/pauses", `{"scope":"group","target":1,"strategy":"skip","reason":"all of them"}`, "Idempotency-Key", "a")
		wide := strings.TrimPrefix(b.get("/pauses").document(t).Find(`tr[id^="pause-"]`).First().AttrOr("id", ""), "pause-")
		if b.post("/jobs/bulk", url.Values{"do": {"resume"}, "id": {"1"}, "undo": {"1"}, "was_1": {wide}}); paused() != "[{1} {2} {3}]" {
			t.Errorf("the pause of an executor was ended: %s", paused())
		}
		c.json(200, new(struct{}), "POST", "/pauses/"+wide+"/end", "")
		reader := normalUser(t, a)
		c.json(200, new(struct{}), "PATCH", "/users/2", `{"rights":[{"group_id":1,"rights":["run","edit"]}]}`)
		reader.post("/jobs/bulk", url.Values{"do": {"pause"}, "id": {"1"}, "pause_reason": {"mine"}, "pause_strategy": {"skip"}})
		if paused() != "[]" {
			t.Errorf("without the right: %s", paused())
		}
	})
}

// TestASwitchIsTakenBack starts a job by mistake and takes that back from the message, with and without script.
func TestASwitchIsTakenBack(t *testing.T) {
	t.Parallel()
	b := open(t, start(t, testOptions(t))).mustLogin()
	b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"manual"}, "addresses": {"http://10.0.0.1:9999"}})
	b.post("/jobs", form(nil))
	b.get("/jobs") // takes the message away
	started := func() int { return b.get("/jobs").document(t).Find(`.switch[aria-checked="true"]`).Length() }
	undo := func(page *goquery.Document) (string, url.Values) {
		v := url.Values{}
		page.Find(".toast .undo input").Each(func(_ int, s *goquery.Selection) { v.Set(s.AttrOr("name", ""), s.AttrOr("value", "")) })
		return page.Find(".toast .undo").AttrOr("action", ""), v
	}
	b.post("/jobs/1/start", nil)
	path, values := undo(b.get("/jobs").document(t))
	if path != "/jobs/1/stop" || started() != 1 {
		t.Fatalf("started: undone by %q", path)
	}
	if got := b.post(path, values); got.status != http.StatusSeeOther || started() != 0 {
		t.Errorf("taken back: %d, %d run", got.status, started())
	}
	htmx := []string{"HX-Request", "true"}
	row := b.do("POST", "/jobs/1/start", nil, htmx...)
	path, values = undo(row.document(t))
	back := b.do("POST", path, values, htmx...)
	if back.header.Get("HX-Trigger") != "jobs-changed" || strings.Contains(back.body, "<tr") || !strings.Contains(back.body, "hx-swap-oob") || started() != 0 {
		t.Errorf("taken back with script: %d %s", back.status, back.body)
	}
	// What changed nothing has nothing to take back.
	if path, _ := undo(b.do("POST", "/jobs/1/stop", nil, htmx...).document(t)); path != "" {
		t.Errorf("stopped twice, and undone by %q", path)
	}
	page := b.do("POST", "/executors/1/addresses", url.Values{"address": {"http://10.0.0.1:9999/"}, "disabled": {"1"}}, htmx...).document(t)
	path, values = undo(page)
	if path != "/executors/1/addresses" || page.Find(".toast .undo").AttrOr("hx-target", "") != "#results" {
		t.Errorf("taken out of rotation: undone by %q", path)
	}
	if got := b.do("POST", path, values, htmx...); got.status != http.StatusOK || b.get("/executors/1").document(t).Find(".badge.disabled").Length() != 0 {
		t.Errorf("put back: %d", got.status)
	}
}

// TestAllThatMatchOverHTTP stops every job under a filter, more than are done at a time, and takes that back: the jobs are those of
// the preview, and what was changed since is left alone and named.
func TestAllThatMatchOverHTTP(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a).mustLogin()
		for _, name := range []string{"orders", "others"} {
			b.post("/executors", url.Values{"app_name": {name}, "title": {name}, "type": {"auto"}})
		}
		b.post("/jobs", form(nil))
		const many = 450
		count := func(where string) (n int) {
			t.Helper()
			if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_info WHERE "+where).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		copies := func(n, status int) {
			t.Helper()
			const columns = "job_group, job_desc, author, schedule_type, schedule_conf, misfire_strategy, executor_route_strategy, executor_handler, executor_block_strategy, glue_type, add_time, update_time"
			for range n {
				if _, err := a.pool.ExecContext(t.Context(), "INSERT INTO xxl_job_info ("+columns+", trigger_status, trigger_next_time) SELECT "+columns+", ?, ? FROM xxl_job_info WHERE id = 1",
					status, time.Now().Add(time.Hour).UnixMilli()); err != nil {
					t.Fatal(err)
				}
			}
		}
		copies(many-1, 0)
		b.post("/jobs", form(url.Values{"group": {"2"}})) // of another executor
		values := func(doc *goquery.Document) url.Values {
			v := url.Values{}
			doc.Find(bulkFields).Each(func(_ int, s *goquery.Selection) { v.Add(s.AttrOr("name", ""), s.AttrOr("value", "")) })
			return v
		}
		// through posts part after part, as the page does by itself.
		through := func(page *goquery.Document) (*goquery.Document, int) {
			for parts := 1; ; parts++ {
				got := b.do("POST", "/jobs/bulk", values(page), "HX-Request", "true", "HX-Target", page.Find("form").AttrOr("id", ""))
				if got.status != http.StatusOK || parts > many {
					t.Fatalf("part %d: %d %s", parts, got.status, got.body)
				}
				if page = got.document(t); page.Find("progress").Length() == 0 {
					return page, parts
				}
			}
		}
		list := b.get("/jobs?group=1").document(t)
		if got := list.Find(".bulk-every").Text(); !strings.Contains(got, "450") || list.Find(`#bulk input[name="group"][value="1"]`).Length() != 1 {
			t.Errorf("the list offers %q", got)
		}
		// The list of executors asks for those of one, of whoever may stop them.
		stops := map[string]int{"viewer": 0, "stopper": 1}
		for name, right := range map[string]string{"viewer": "1.view", "stopper": "1.schedule"} {
			if got := b.post("/users", url.Values{"name": {name}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {right}}); got.status != http.StatusSeeOther {
				t.Fatalf("create user: %d %s", got.status, got.body)
			}
			who := open(t, a)
			who.login(name, testPassword)
			if got := who.get("/executors").document(t).Find(`#group-1 a[hx-get="/jobs/bulk?all=1&do=stop&group=1"]`).Length(); got != stops[name] {
				t.Errorf("%s may stop all jobs of %d executors, want %d", name, got, stops[name])
			}
		}
		preview := b.get("/jobs/bulk?all=1&do=start&group=1&id=1").document(t)
		if count("trigger_status = 1") != 0 || !strings.Contains(preview.Find("h1").Text(), "450") {
			t.Fatalf("preview: %q", preview.Find("h1").Text())
		}
		if _, parts := through(preview); parts != 3 || count("trigger_status = 1 AND job_group = 1") != many || count("trigger_status = 1") != many {
			t.Fatalf("%d parts, %d run", parts, count("trigger_status = 1"))
		}
		stop := b.get("/jobs/bulk?all=1&do=stop&group=1").document(t)
		changed := b.post("/jobs/7", form(url.Values{"name": {"Changed"}, "version": {b.get("/jobs/7/edit").document(t).Find(`[name="version"]`).AttrOr("value", "")}}))
		copies(1, 1) // a job that nobody has seen in the preview
		done, _ := through(stop)
		if changed.status != http.StatusSeeOther || count("trigger_status = 1") != 2 || count("trigger_status = 1 AND id = 7") != 1 {
			t.Fatalf("edited %d; %d still run", changed.status, count("trigger_status = 1"))
		}
		if got := done.Find(".body").Text(); !strings.Contains(got, "Changed since the preview") {
			t.Errorf("nothing is said of the job that was changed: %s", got)
		}
		if _, parts := through(done); parts != 3 || count("trigger_status = 1") != many+1 {
			t.Errorf("undone in %d parts: %d run", parts, count("trigger_status = 1"))
		}
		for set, told := range map[string]string{"x": "", "1": "", "1:!": "", "1:YQ": "1:YQ:YQ:YQ"} {
			if got := b.post("/jobs/bulk", url.Values{"do": {"stop"}, "set": {set}, "told": {told}}); got.status != http.StatusBadRequest {
				t.Errorf("set %q, told %q: %d", set, told, got.status)
			}
		}
	})
}

// TestJobsAreSpreadOverHTTP: the question has the picture before and after for each window, the deed is done to all under a filter, part after
// part, and taken back.
func TestJobsAreSpreadOverHTTP(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a).mustLogin()
		b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"auto"}})
		const many = 210
		for range many {
			if got := b.post("/jobs", form(url.Values{"cron": {"0 0 2 * * ?"}})); got.status != http.StatusSeeOther {
				t.Fatalf("create: %d %s", got.status, got.body)
			}
		}
		atTwo := func() (n int) {
			t.Helper()
			if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_info WHERE schedule_conf = '0 0 2 * * ?'").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		question := b.get("/jobs/bulk?all=1&do=spread&group=1").document(t)
		if got := question.Find(".spread-picture figcaption").Text(); !strings.Contains(got, "210 due at 02:00") || question.Find(".spread-picture g").Length() != 60 || question.Find(`input[name="window"]`).AttrOr("value", "") != "15" {
			t.Errorf("the question: %q", got)
		}
		hour := question.Find(`.segmented a`).Last().AttrOr("href", "")
		if question = b.get(hour).document(t); !strings.Contains(hour, "group=1") || question.Find(`input[name="window"]`).AttrOr("value", "") != "60" || question.Find(".segmented [aria-current]").Length() != 1 {
			t.Fatalf("over an hour: %s", hour)
		}
		through := func(page *goquery.Document) *goquery.Document {
			for part := 0; ; part++ {
				v := url.Values{}
				page.Find(bulkFields).Each(func(_ int, s *goquery.Selection) { v.Add(s.AttrOr("name", ""), s.AttrOr("value", "")) })
				got := b.do("POST", "/jobs/bulk", v, "HX-Request", "true", "HX-Target", page.Find("form").AttrOr("id", ""))
				if got.status != http.StatusOK || part > 3 {
					t.Fatalf("part %d: %d %s", part, got.status, got.body)
				}
				if page = got.document(t); page.Find("progress").Length() == 0 {
					return page
				}
			}
		}
		done := through(question)
		var minutes int
		if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(DISTINCT schedule_conf) FROM xxl_job_info").Scan(&minutes); err != nil {
			t.Fatal(err)
		}
		if atTwo() > 3 || minutes < 180 {
			t.Errorf("%d are still due at two, and there are %d different times", atTwo(), minutes)
		}
		if through(done); atTwo() != many {
			t.Errorf("taken back: %d at two", atTwo())
		}
		for query, status := range map[string]int{"do=spread&id=1&window=7": 400, "do=spread&id=1&window=x": 400, "do=spread&id=1": 200} {
			if got := b.get("/jobs/bulk?" + query); got.status != status {
				t.Errorf("%s: %d", query, got.status)
			}
		}
	})
}
