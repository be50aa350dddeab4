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
	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/scheduler/account"
	"github.com/punctual-job/punctual/scheduler/event"
)

// pause is one as API v1 has it.
type pause struct {
	ID     int64      `json:"id"`
	Scope  string     `json:"scope"`
	State  string     `json:"state"`
	Name   string     `json:"name"`
	Until  *time.Time `json:"until"`
	Reason string     `json:"reason"`
}

// held is what a job says of the pause that holds it.
type held struct {
	ID     int64      `json:"pause_id"`
	Until  *time.Time `json:"until"`
	By     string     `json:"made_by"`
	Reason string     `json:"reason"`
}

// pausing is a program with three jobs that are started. Once [pausing.pause] has been called the first and the second of them are paused.
type pausing struct {
	*caller
	a            *App
	ids          []int64
	until        time.Time
	made, tagged pause
	etag         string
}

func pausingProgram(t *testing.T, o Options) *pausing {
	t.Helper()
	a, c := apiCaller(t, o)
	p := &pausing{caller: c, a: a}
	for _, tags := range []string{`["night"]`, `["day"]`, `[]`} {
		var job struct {
			ID int64 `json:"id"`
		}
		c.json(201, &job, "POST", "/jobs", `{"group_id":1,"description":"close","author":"ann","handler":"x","schedule":"CRON","cron":"0 0 2 * * ?","tags":`+tags+`}`)
		c.json(200, &job, "POST", "/jobs/"+strconv.FormatInt(job.ID, 10)+"/start", "")
		p.ids = append(p.ids, job.ID)
	}
	return p
}

// path is where a job is.
func (p *pausing) path(i int) string { return "/jobs/" + strconv.FormatInt(p.ids[i], 10) }

// holds reads what a job says of the pause that holds it, in the answer to a request.
func (p *pausing) holds(method, path string) *held {
	var job struct {
		Paused *held `json:"paused"`
	}
	p.json(200, &job, method, path, "")
	return job.Paused
}

// paused are the jobs that are listed as paused.
func (p *pausing) paused() (list []int64) {
	p.t.Helper()
	var page struct {
		Items []struct {
			ID     int64 `json:"id"`
			Paused *held `json:"paused"`
		} `json:"items"`
	}
	p.json(200, &page, "GET", "/jobs?state=paused", "")
	for _, j := range page.Items {
		if list = append(list, j.ID); j.Paused == nil {
			p.t.Errorf("job %d is listed as paused and does not say so", j.ID)
		}
	}
	return list
}

// pause pauses the first job by itself, twice with one key, and the second by its tag.
func (p *pausing) pause() {
	p.t.Helper()
	p.until = time.Now().AddDate(0, 0, 3).UTC().Truncate(time.Second)
	var same pause
	body := `{"scope":"job","target":` + strconv.FormatInt(p.ids[0], 10) + `,"strategy":"once","reason":"database moves","until":"` + p.until.Format(time.RFC3339) + `"}`
	answer := p.json(201, &p.made, "POST", "/pauses", body, "Idempotency-Key", "p1")
	if p.made.State != "active" || p.made.Name != "close" || p.made.Until == nil || !p.made.Until.Equal(p.until) || answer.header.Get("Location") == "" {
		p.t.Errorf("made %+v, %v", p.made, answer.header)
	}
	if p.json(201, &same, "POST", "/pauses", body, "Idempotency-Key", "p1"); same.ID != p.made.ID {
		p.t.Errorf("the same key made %d and %d", p.made.ID, same.ID)
	}
	p.json(201, &p.tagged, "POST", "/pauses", `{"scope":"tag","tag":"day","strategy":"skip","reason":"inventory"}`)
	p.etag = answer.header.Get("ETag")
}

// TestPausesOfAProgram pauses a job and a tag by the API, and sees it on the jobs, and on their times.
func TestPausesOfAProgram(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		p := pausingProgram(t, o)
		if got := p.paused(); len(got) != 0 {
			t.Errorf("%v are paused by nothing", got)
		}
		p.pause()
		if got := p.paused(); len(got) != 2 || got[0] != p.ids[1] || got[1] != p.ids[0] {
			t.Errorf("%v are paused, want %v", got, p.ids[:2])
		}
		if held := p.holds("GET", p.path(0)); held == nil || held.ID != p.made.ID || held.Until == nil || !held.Until.Equal(p.until) || held.Reason != "database moves" || held.By == "" {
			t.Errorf("job 0 says %+v", held)
		}
		if held := p.holds("GET", p.path(1)); held == nil || held.ID != p.tagged.ID || held.Until != nil {
			t.Errorf("job 1 says %+v", held)
		}
		if held := p.holds("GET", p.path(2)); held != nil {
			t.Errorf("job 2 says %+v", held)
		}
		var next struct {
			Times []time.Time `json:"times"`
			Held  []struct {
				At       time.Time  `json:"at"`
				Until    *time.Time `json:"until"`
				Strategy string     `json:"strategy"`
			} `json:"held"`
		}
		p.json(200, &next, "GET", p.path(0)+"/next?count=10", "")
		for i, at := range next.Times {
			in := i < len(next.Held)
			if in != at.Before(p.until) || in && (!next.Held[i].At.Equal(at) || next.Held[i].Strategy != "once" || !next.Held[i].Until.Equal(p.until)) {
				t.Errorf("time %d: %v, held %+v", i, at, next.Held)
			}
		}
		if len(next.Times) != 10 || len(next.Held) == 0 {
			t.Errorf("%+v", next)
		}
	})
}

// TestWhatIsWrongWithAPauseIsSaidOfItsField, as it is called here.
func TestWhatIsWrongWithAPauseIsSaidOfItsField(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		_, c := apiCaller(t, o)
		for field, body := range map[string]string{
			"length_seconds": `{"scope":"all","strategy":"skip","reason":"x","cron":"0 0 22 * * ?"}`, "time_zone": `{"scope":"all","strategy":"skip","reason":"x","time_zone":"Mars/Olympus"}`,
			"reason": `{"scope":"all","strategy":"skip","reason":" "}`, "target": `{"scope":"job","target":4711,"strategy":"skip","reason":"x"}`, "tag": `{"scope":"tag","strategy":"skip","reason":"x"}`,
			"until": `{"scope":"all","strategy":"skip","reason":"x","until":"2020-01-01T00:00:00Z"}`, "scope": `{"scope":"galaxy","strategy":"skip","reason":"x"}`,
		} {
			if got := c.do("POST", "/pauses", body); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, `"field":"`+field+`"`) {
				t.Errorf("%s: %d %s", field, got.status, got.body)
			}
		}
	})
}

// TestPausesAreListedAndEnded: a page after the other, and each once.
func TestPausesAreListedAndEnded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		p := pausingProgram(t, o)
		p.pause()
		type pauses struct {
			Items []pause `json:"items"`
			Next  string  `json:"next"`
		}
		var list, second pauses
		if p.json(200, &list, "GET", "/pauses?limit=1", ""); len(list.Items) != 1 || list.Items[0].ID != p.tagged.ID || list.Next == "" {
			t.Fatalf("%+v", list)
		}
		if p.json(200, &second, "GET", "/pauses?limit=1&cursor="+list.Next, ""); len(second.Items) != 1 || second.Items[0].ID != p.made.ID || second.Next != "" {
			t.Errorf("%+v", second)
		}

		end := "/pauses/" + strconv.FormatInt(p.made.ID, 10) + "/end"
		if got := p.do("POST", end, "", "If-Match", `"7"`); got.status != http.StatusPreconditionFailed {
			t.Errorf("another version: %d %s", got.status, got.body)
		}
		if p.json(200, &p.made, "POST", end, "", "If-Match", p.etag); p.made.State != "over" {
			t.Errorf("ended: %+v", p.made)
		}
		if got := p.do("POST", end, ""); got.status != http.StatusConflict {
			t.Errorf("ended twice: %d %s", got.status, got.body)
		}
		if got := p.do("POST", end, "", "If-Match", p.etag); got.status != http.StatusPreconditionFailed {
			t.Errorf("ended twice with the old version: %d %s", got.status, got.body)
		}
		if got := p.paused(); len(got) != 1 || got[0] != p.ids[1] {
			t.Errorf("%v are paused, want %d", got, p.ids[1])
		}
		held := p.holds("POST", p.path(1)+"/stop")
		if got := p.paused(); len(got) != 0 || held != nil {
			t.Errorf("a stopped job is paused: %v %+v", got, held)
		}
	})
}

// TestPausesOfOtherGroupsAreNotSeen, but for that of everything.
func TestPausesOfOtherGroupsAreNotSeen(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		p := pausingProgram(t, o)
		p.pause()
		root := open(t, p.a).mustLogin()
		if got := root.post("/executors", url.Values{"app_name": {"others"}, "title": {"others"}, "type": {"manual"}, "addresses": {"http://others:1/"}}); got.status != http.StatusSeeOther {
			t.Fatal(got.status)
		}
		var all pause
		var theirs struct {
			Items []pause `json:"items"`
		}
		p.json(201, &all, "POST", "/pauses", `{"scope":"all","strategy":"all","reason":"the move"}`)
		p.json(201, &pause{}, "POST", "/pauses", `{"scope":"group","target":1,"strategy":"all","reason":"ours alone"}`)
		if got := root.post("/users", url.Values{"name": {"olga"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"2.schedule"}}); got.status != http.StatusSeeOther {
			t.Fatal(got.status)
		}
		olga := open(t, p.a)
		olga.login("olga", testPassword)
		other := &caller{t, p.base, makeToken(t, olga, url.Values{"name": {"t"}, "scope": {"schedule"}, "days": {"7"}})}
		if got := other.json(200, &theirs, "GET", "/pauses", ""); len(theirs.Items) != 1 || theirs.Items[0].ID != all.ID {
			t.Errorf("the other sees %s", got.body)
		}
		for _, id := range []int64{p.made.ID, p.tagged.ID} {
			one := "/pauses/" + strconv.FormatInt(id, 10)
			if got := other.do("GET", one, ""); got.status != http.StatusNotFound {
				t.Errorf("%s: %d %s", one, got.status, got.body)
			}
			if got := other.do("POST", one+"/end", ""); got.status != http.StatusNotFound {
				t.Errorf("end %s: %d %s", one, got.status, got.body)
			}
		}
	})
}

// TestPausesAreMarked looks at the pages on which a pause has to be seen, as an administrator, as somebody of the group, and as somebody of
// another.
func TestPausesAreMarked(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		root := open(t, a).mustLogin()
		if got := root.post("/executors", url.Values{"app_name": {"others"}, "title": {"others"}, "type": {"manual"}, "addresses": {"http://others:1/"}}); got.status != http.StatusSeeOther {
			t.Fatal(got.status)
		}
		var ids []int64
		for group := range 2 {
			var job struct {
				ID int64 `json:"id"`
			}
			c.json(201, &job, "POST", "/jobs", `{"group_id":`+strconv.Itoa(group+1)+`,"description":"close","author":"ann","handler":"x","schedule":"CRON","cron":"0 * * * * ?"}`)
			c.json(200, &job, "POST", "/jobs/"+strconv.FormatInt(job.ID, 10)+"/start", "")
			ids = append(ids, job.ID)
		}
		people := []*browser{root}
		for i, name := range []string{"anna", "olga"} {
			if got := root.post("/users", url.Values{"name": {name}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {strconv.Itoa(i+1) + ".schedule"}}); got.status != http.StatusSeeOther {
				t.Fatal(got.status)
			}
			b := open(t, a)
			b.login(name, testPassword)
			people = append(people, b)
		}
		row := func(b *browser, id int64, query string) string {
			return strings.Join(strings.Fields(b.get("/jobs"+query).document(t).Find("#job-"+strconv.FormatInt(id, 10)).Text()), " ")
		}
		see := func(where, text, want string, seen bool) {
			t.Helper()
			if strings.Contains(text, want) != seen {
				t.Errorf("%s has %q: %v, want %v\n%s", where, want, !seen, seen, text)
			}
		}
		see("the list", row(root, ids[0], ""), "Paused", false)
		see("the list of what is paused", row(root, ids[0], "?state=paused"), "close", false)
		see("the dashboard", root.get("/").document(t).Find(".dashboard > div > .notice").Text(), "paused", false)

		var group, all struct {
			ID int64 `json:"id"`
		}
		until := time.Now().Add(50 * time.Hour).Truncate(time.Second)
		shown := until.In(a.pool.Zone()).Format(time.DateTime)
		c.json(201, &group, "POST", "/pauses", `{"scope":"group","target":1,"strategy":"once","reason":"the database moves","until":"`+until.Format(time.RFC3339)+`"}`)
		for i, b := range people {
			concerned := i < 2
			if concerned {
				short, is := strings.CutPrefix(shown, time.Now().In(a.pool.Zone()).Format("2006-"))
				if !is { // of another year the list says which, and no seconds
					short = shown[:len("2006-01-02 15:04")]
				}
				see("the list", row(b, ids[0], ""), "Paused until "+short, true)
				why, _ := b.get("/jobs").document(t).Find("#job-" + strconv.FormatInt(ids[0], 10) + " .badge.stopped").Attr("title")
				see("the mark", why, "Paused until "+shown+" by admin via token all: the database moves", true)
				see("the list of what is paused", row(b, ids[0], "?state=paused"), "close", true)
				text := b.get("/jobs/" + strconv.FormatInt(ids[0], 10)).document(t).Text()
				see("the page of the job", text, "Paused until "+shown, true)
				see("the page of the job", text, "One run at the end", true)
				executor := b.get("/executors/1").document(t)
				see("the executor's page", executor.Find(".notice").Text(), "until "+shown+": the database moves", true)
				if executor.Find(`a[href="/pauses?scope=group&target=1"]`).Length() != 1 {
					t.Error("the executor's page does not lead to the form of a pause")
				}
			}
			see("the dashboard", b.get("/").document(t).Find(".dashboard > div > .notice").Text(), "until "+shown+": the database moves", concerned)
			if !concerned {
				for _, path := range []string{"/", "/jobs", "/jobs?state=paused", "/pauses", "/executors/2"} {
					see(path, b.get(path).document(t).Text(), "the database moves", false)
				}
				see("the list", row(b, ids[1], ""), "Paused", false)
			}
		}
		see("the list of what is paused", row(root, ids[1], "?state=paused"), "close", false)

		c.json(201, &all, "POST", "/pauses", `{"scope":"all","strategy":"skip","reason":"the move"}`)
		for _, b := range people {
			text := b.get("/").document(t).Find(".dashboard > div > .notice").Text()
			see("the dashboard", text, "admin via token all has paused everything until somebody ends it: the move", true)
			text = b.get("/forecast").document(t).Find("#forecast .notice").Text() // which foresees nothing because of it
			see("the forecast", text, "admin via token all has paused everything until somebody ends it: the move", true)
		}
		see("the list", row(people[2], ids[1], ""), "Paused until somebody ends it", true)
		// Of two pauses the one that ends last says until when, and the more careful what becomes of what falls in.
		text := root.get("/jobs/" + strconv.FormatInt(ids[0], 10)).document(t).Text()
		see("the page of the job", text, "Skipped", true)

		c.json(200, &all, "POST", "/pauses/"+strconv.FormatInt(all.ID, 10)+"/end", "")
		c.json(200, &group, "POST", "/pauses/"+strconv.FormatInt(group.ID, 10)+"/end", "")
		see("the list", row(root, ids[0], ""), "Paused", false)
		see("the dashboard", root.get("/").document(t).Find(".dashboard > div > .notice").Text(), "paused", false)
	})
}

// TestPausesAreSeenAhead: a repeated pause that is made by the form stands with its next window in the list, on the pages of its jobs, and in the
// timeline, also where nothing is due.
func TestPausesAreSeenAhead(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		var job struct {
			ID int64 `json:"id"`
		}
		c.json(201, &job, "POST", "/jobs", `{"group_id":1,"description":"close","author":"ann","handler":"x","schedule":"CRON","cron":"0 0 2 * * ?","time_zone":"UTC","calendar":"cn","calendar_rule":"WORKDAYS"}`)
		path := "/jobs/" + strconv.FormatInt(job.ID, 10)
		c.json(200, &job, "POST", path+"/start", "")
		b := open(t, a).mustLogin()
		form := b.get("/pauses?scope=job&target=" + strconv.FormatInt(job.ID, 10)).document(t).Find(".pause-form")
		if chip := form.Find(".of-job [data-job-picker][data-single] [data-chip=\"" + strconv.FormatInt(job.ID, 10) + "\"]"); !strings.Contains(chip.Text(), "close") {
			t.Errorf("the form is about %q", form.Find(".of-job").Text())
		}
		// Another job is looked for by its name, among those whose schedules somebody may hold still.
		for name, right := range map[string]string{"starter": "1.schedule", "runner": "1.run"} {
			if got := b.post("/users", url.Values{"name": {name}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {right}}); got.status != http.StatusSeeOther {
				t.Fatalf("create user: %d %s", got.status, got.body)
			}
			one := open(t, a)
			one.login(name, testPassword)
			found := one.do("GET", "/pauses/jobs?job_search=clo", nil, "HX-Request", "true").document(t).Find("[role=option]")
			if (found.AttrOr("data-job", "") != "") != (name == "starter") {
				t.Errorf("%s finds %q", name, found.Text())
			}
		}
		if typed := b.post("/pauses", url.Values{"scope": {"job"}, "target": {"the nightly one"}, "strategy": {"skip"}, "reason": {"x"}}).document(t).Find(".of-job"); typed.Find("[name=target]").AttrOr("value", "") != "the nightly one" || typed.Find("[data-job-picker]").Length() != 0 {
			t.Errorf("a name in place of an id: %s", typed.Text())
		}
		group := b.get("/pauses?scope=group&target=1").document(t).Find(`.of-group option[selected]`)
		if group.AttrOr("value", "") != "1" {
			t.Error("the form has another group than its address")
		}
		c.json(201, new(struct{}), "POST", "/pauses", `{"scope":"all","strategy":"skip","reason":"much later","from":"2099-01-01T00:00:00Z"}`)
		window := time.Now().UTC().Add(5 * time.Hour).Truncate(time.Minute)
		if got := b.post("/pauses", url.Values{
			"scope": {"group"}, "group": {"1"}, "strategy": {"skip"}, "cron": {window.Format("0 4 15 2 1 ?")}, "length": {"60"}, "zone": {"UTC"}, "reason": {"the database moves"},
		}); got.status != http.StatusSeeOther {
			t.Fatalf("pause: %d %s", got.status, got.document(t).Find(".pause-form").Text())
		}
		zone := a.pool.Zone()
		shown := window.In(zone).Format(time.DateTime)
		if text := b.get("/pauses").document(t).Find("tbody").Text(); !strings.Contains(text, "Next from "+shown) {
			t.Errorf("the list says %q", text)
		}
		// A form says so before its job is saved, and to nobody what pauses an executor that they may not see.
		if got := b.post("/executors", url.Values{"app_name": {"stock"}, "title": {"Stock"}, "type": {"auto"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create group: %d", got.status)
		}
		if got := b.post("/users", url.Values{"name": {"foreigner"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"2.edit"}}); got.status != http.StatusSeeOther {
			t.Fatalf("create user: %d %s", got.status, got.body)
		}
		foreigner := open(t, a)
		foreigner.login("foreigner", testPassword)
		for _, form := range []struct {
			by        *browser
			query, of string
			said      bool
		}{{b, "", "1", true}, {b, path[len("/jobs/"):], "1", true}, {b, "", "", false}, {foreigner, "", "1", false}, {foreigner, path[len("/jobs/"):], "1", false}} {
			preview := form.by.post("/jobs/schedule-preview?job="+form.query, url.Values{"schedule_type": {"CRON"}, "cron": {window.Add(10 * time.Minute).Format("0 4 15 * * ?")}, "time_zone": {"UTC"}, "group": {form.of}}).document(t)
			first, why := preview.Find("li").First().Text(), preview.Find("#preview").Text()
			if preview.Find("li").Length() != 8 || strings.Contains(first, "Skipped") != form.said || strings.Contains(why, "the database moves") != form.said || strings.Count(why, "Skipped") > 1 {
				t.Errorf("of job %q in %q: %s", form.query, form.of, why)
			}
		}
		page := b.get(path).document(t).Find("section[aria-labelledby=job-when]")
		if first := page.Find("p:contains('Pauses at')").First().Text(); !strings.Contains(first, shown) || !strings.Contains(page.Text(), "much later") || page.Find(`a[href="/calendars/cn"]`).Length() != 1 {
			t.Errorf("the page of the job says %q", page.Text())
		}
		day := url.Values{"range": {"custom"}, "from": {window.Add(-4 * time.Hour).In(zone).Format("2006-01-02T15:04")}, "to": {window.Add(30 * time.Minute).In(zone).Format("2006-01-02T15:04")}, "job": {strconv.FormatInt(job.ID, 10)}}
		timeline := b.get("/timeline?" + day.Encode()).document(t)
		if n := timeline.Find("rect.held").Length(); n != 1 || !strings.Contains(timeline.Find(".time-list").Text(), "paused by admin: the database moves") || timeline.Find(".legend .held").Length() != 1 {
			t.Errorf("%d pauses in the timeline: %s", n, timeline.Find(".time-list").Text())
		}
	})
}

// TestThePageOfAPausedJobSaysWhenItRunsNext, as API v1 does: behind the pause, also where more of its times lie in that than the page lists, at its
// end where one run makes up for them, and not at all before somebody ends it.
func TestThePageOfAPausedJobSaysWhenItRunsNext(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		b := open(t, a).mustLogin()
		var job struct {
			ID   int64      `json:"id"`
			Next *time.Time `json:"next_due_at"`
		}
		c.json(201, &job, "POST", "/jobs", `{"group_id":1,"description":"close","author":"ann","handler":"x","schedule":"CRON","cron":"0/5 * * * * ?"}`)
		path := "/jobs/" + strconv.FormatInt(job.ID, 10)
		c.json(200, &job, "POST", path+"/start", "")
		shown := func() string {
			t.Helper()
			return b.get(path).document(t).Find(".job-summary dd").First().Find("time").AttrOr("datetime", "")
		}
		end := time.Now().Add(50 * time.Hour).Truncate(time.Minute)
		for _, pause := range []struct {
			strategy, until string
			want            time.Time
		}{{"skip", `,"until":"` + end.Format(time.RFC3339) + `"`, end}, {"once", `,"until":"` + end.Format(time.RFC3339) + `"`, end}, {"skip", "", time.Time{}}} {
			var made struct {
				ID int64 `json:"id"`
			}
			c.json(201, &made, "POST", "/pauses", fmt.Sprintf(`{"scope":"job","target":%d,"strategy":%q,"reason":"x"%s}`, job.ID, pause.strategy, pause.until))
			job.Next = nil
			c.json(200, &job, "GET", path, "")
			at, err := time.Parse(time.RFC3339, shown())
			if pause.want.IsZero() {
				if job.Next != nil || err == nil {
					t.Errorf("until somebody ends it: next is %v, on the page %v", job.Next, at)
				}
			} else if job.Next == nil || err != nil || !at.Equal(*job.Next) || at.Sub(pause.want).Abs() > 5*time.Second {
				t.Errorf("%s until %v: next is %v, on the page %q", pause.strategy, pause.want, job.Next, shown())
			}
			c.json(200, new(struct{}), "POST", fmt.Sprintf("/pauses/%d/end", made.ID), "")
		}
	})
}

// TestPausesOfferTags offers the tags that jobs have to whoever may pause one, who is an administrator.
func TestPausesOfferTags(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		for _, tags := range []string{`["night","etl"]`, `["etl"]`, `[]`} {
			c.json(201, new(struct{}), "POST", "/jobs", `{"group_id":1,"description":"tagged","author":"ann","handler":"x","schedule":"NONE","tags":`+tags+`}`)
		}
		root := open(t, a).mustLogin()
		if got := root.post("/users", url.Values{"name": {"starter"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {"1.schedule"}}); got.status != http.StatusSeeOther {
			t.Fatal(got.status)
		}
		starter := open(t, a)
		starter.login("starter", testPassword)
		for who, want := range map[*browser]string{root: "etl night", starter: ""} {
			form := who.get("/pauses").document(t).Find(".pause-form")
			offered := form.Find("#" + form.Find("[name=tag]").AttrOr("list", "none") + " option").Map(func(_ int, o *goquery.Selection) string { return o.AttrOr("value", "") })
			if got := strings.Join(offered, " "); got != want {
				t.Errorf("the form offers the tags %q, want %q", got, want)
			}
		}
	})
}

// TestAJobLeavesAPause: a job that a pause of a tag or of an executor holds back loses the tag, or is moved to another executor. It is due again
// at once, and what fell in is missed by its misfire strategy; an edit that changes nothing of this leaves it held.
func TestAJobLeavesAPause(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		began := time.Now()
		var other struct{ ID int64 }
		c.json(201, &other, "POST", "/groups", `{"app_name":"others","title":"Others"}`)
		type job struct {
			ID     int64
			Paused *struct{ Reason string }
			Next   *time.Time `json:"next_due_at"`
		}
		var tagged, moved job
		c.json(201, &tagged, "POST", "/jobs", `{"group_id":1,"description":"tagged","author":"ann","handler":"x","schedule":"FIX_RATE","every_seconds":1,"tags":["night"]}`)
		c.json(201, &moved, "POST", "/jobs", `{"group_id":1,"description":"moved","author":"ann","handler":"x","schedule":"FIX_RATE","every_seconds":1}`)
		c.json(201, new(any), "POST", "/pauses", `{"scope":"tag","tag":"night","strategy":"all","reason":"tag"}`)
		c.json(201, new(any), "POST", "/pauses", `{"scope":"group","target":1,"strategy":"once","reason":"executor","until":"`+began.AddDate(0, 0, 2).UTC().Format(time.RFC3339)+`"}`)
		for _, j := range []job{tagged, moved} {
			path := "/jobs/" + strconv.FormatInt(j.ID, 10)
			c.json(200, new(any), "POST", path+"/start", "")
			due := func() (next, held int64) {
				t.Helper()
				if err := a.pool.QueryRowContext(t.Context(), "SELECT trigger_next_time, paused_next FROM xxl_job_info WHERE id = ?", j.ID).Scan(&next, &held); err != nil {
					t.Fatal(err)
				}
				return next, held
			}
			eventually(t, "it is held back", func() bool { next, held := due(); return next == held })
			before, _ := due()
			c.json(200, new(any), "PATCH", path, `{"author":"bob"}`)
			if next, _ := due(); next != before {
				t.Errorf("job %d: an edit of something else moves it from %d to %d", j.ID, before, next)
			}
			c.json(200, new(any), "PATCH", path, map[int64]string{tagged.ID: `{"tags":["day"],"group_id":`, moved.ID: `{"group_id":`}[j.ID]+strconv.FormatInt(other.ID, 10)+"}")
			changed := time.Now()
			var runs, skipped int
			count := func(what string, n *int, where string, args ...any) {
				t.Helper()
				if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM xxl_job_log WHERE job_id = ? AND "+where, append([]any{j.ID}, args...)...).Scan(n); err != nil {
					t.Fatal(what, err)
				}
			}
			eventually(t, "it is due again", func() bool {
				count("runs", &runs, "trigger_type = 'CRON' AND planned_at > ?", changed.UnixMilli())
				return runs > 0
			})
			if count("made up for", &skipped, "trigger_type = 'MISFIRE' AND outcome <> ?", event.Skipped); skipped != 0 {
				t.Errorf("job %d: the strategy of a pause that it has left made %d runs", j.ID, skipped)
			}
			var now job
			if c.json(200, &now, "GET", path, ""); now.Paused != nil || now.Next == nil || now.Next.Sub(changed) > time.Hour {
				t.Errorf("job %d: %+v", j.ID, now)
			}
			c.json(200, new(any), "POST", path+"/stop", "")
		}
		report, err := a.manage.Accounts.Account(t.Context(), auth.NewPrincipal(0, "root", auth.RoleAdmin, ""), manage.AccountRequest{From: began, To: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		for _, class := range []account.Class{account.Missing, account.Doubled} {
			if n := report.Counts[class]; n != 0 {
				t.Errorf("%d fires are %s: %+v", n, class, report)
			}
		}
	})
}

// TestAPauseIsUndone: that it was set, and that it was ended, which a click beside the one that was meant does to any pause of the list.
func TestAPauseIsUndone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, _ := apiCaller(t, o)
		b := open(t, a).mustLogin()
		active := func() (list []string) {
			rows, err := a.pool.QueryContext(t.Context(), "SELECT scope, target, strategy, cron, length_s, zone, reason, until_at FROM punctual_pause WHERE ended_at = 0 ORDER BY id")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = rows.Close() }()
			for rows.Next() {
				var scope, strategy, cron, zone, reason string
				var target, length, until int64
				if err := rows.Scan(&scope, &target, &strategy, &cron, &length, &zone, &reason, &until); err != nil {
					t.Fatal(err)
				}
				list = append(list, fmt.Sprint(scope, target, strategy, cron, length, zone, reason, until))
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			return list
		}
		var pressed string
		var sent url.Values
		undo := func() {
			t.Helper()
			v := url.Values{}
			form := b.get("/pauses").document(t).Find(".toast .undo")
			form.Find("input").Each(func(_ int, s *goquery.Selection) { v.Set(s.AttrOr("name", ""), s.AttrOr("value", "")) })
			pressed, sent = form.AttrOr("action", "/none"), v
			if got := b.post(pressed, sent); got.status != http.StatusSeeOther {
				t.Fatalf("undone by %q: %d %s", pressed, got.status, got.body)
			}
		}
		until := time.Now().Add(50 * time.Hour).Truncate(time.Second)
		for name, form := range map[string]url.Values{
			"of an executor":  {"scope": {"group"}, "group": {"1"}, "strategy": {"once"}, "reason": {"the move"}, "until": {until.Format(time.RFC3339)}},
			"of everything":   {"scope": {"all"}, "strategy": {"skip"}, "reason": {"更换数据库"}},
			"with windows":    {"scope": {"group"}, "group": {"1"}, "strategy": {"all"}, "reason": {"x"}, "cron": {"0 0 * * * ?"}, "length": {"59"}, "zone": {"Asia/Shanghai"}},
			"that is planned": {"scope": {"all"}, "strategy": {"skip"}, "reason": {"x"}, "from": {until.Format(time.RFC3339)}},
		} {
			if got := b.post("/pauses", form); got.status != http.StatusSeeOther {
				t.Fatal(name, got.status, got.body)
			}
			set := active()
			undo()
			if len(set) != 1 || len(active()) != 0 {
				t.Fatalf("%s: set %v, and undone %v", name, set, active())
			}
			undo() // that it was ended
			if diff := cmp.Diff(set, active()); diff != "" {
				t.Errorf("%s: the end undone (-want +got):\n%s", name, diff)
			}
			again, with := pressed, sent
			undo()
			if got := b.post(again, with); got.status != http.StatusSeeOther || len(active()) != 0 {
				t.Errorf("%s: the end undone twice, as by a double click: %d, %v", name, got.status, active())
			}
		}
	})
}
