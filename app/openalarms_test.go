package app

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/views/link"
)

// shownOpen is what API v1 says of the open alarms of a job.
type shownOpen struct {
	Job    int64  `json:"job_id"`
	Name   string `json:"job"`
	Alarms []struct {
		Cause  string
		Run    int64  `json:"run_id"`
		By     string `json:"acknowledged_by"`
		At     string `json:"acknowledged_at"`
		Remark string
	}
}

// TestAlarmsAreAcknowledged: by the console, API v1 and the command line, by whoever may run the job; everywhere it is said who did.
func TestAlarmsAreAcknowledged(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		root := open(t, a).mustLogin()
		thing := things(t, a, 1, "settle")
		job := strconv.FormatInt(thing.job, 10)
		for name, right := range map[string]string{"viewer": "1.view", "runner": "1.run"} {
			if got := root.post("/users", url.Values{"name": {name}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {right}}); got.status != http.StatusSeeOther {
				t.Fatalf("create user: %d %s", got.status, got.body)
			}
		}
		viewer, runner := open(t, a), open(t, a)
		viewer.login("viewer", testPassword)
		runner.login("runner", testPassword)

		// The job fails, and no channel was told of it.
		form := "/alarms/open/" + job
		if got := runner.get("/jobs/" + job).document(t); got.Find(`.job-failing a[href="`+form+`"]`).Length() != 1 {
			t.Error("the job's page does not lead to the form")
		}
		if got := viewer.get("/jobs/" + job).document(t); got.Find(`a[href="`+form+`"]`).Length() != 0 {
			t.Error("who may not is led to the form")
		}
		if got := runner.get("/").document(t); got.Find(`.trouble.failing a[href="`+form+`"]`).Length() != 1 {
			t.Error("the dashboard does not lead to the form")
		}
		for who, want := range map[*browser]int{root: 1, runner: 0} { // the way leads to the channels, for who may see them
			if got := who.get("/alarms/open").document(t).Find(`.crumbs a[href="/alarms"]`).Length(); got != want {
				t.Errorf("%d ways from the open alarms to the channels, want %d", got, want)
			}
		}
		if got := runner.post(form+"/ack", url.Values{"remark": {strings.Repeat("很", 256)}}); got.status != http.StatusUnprocessableEntity || got.document(t).Find("#ack-remark").Text() == "" {
			t.Errorf("a remark that is too long: %d", got.status)
		}
		if got := runner.post(form+"/ack", url.Values{"remark": {"the <b>disk</b> is full"}, "next": {"//elsewhere"}}); got.status != http.StatusSeeOther || got.header.Get("Location") != "/jobs/"+job {
			t.Fatalf("acknowledge: %d %s", got.status, got.body)
		}
		for _, page := range []string{"/jobs/" + job, "/", "/alarms/open", form} {
			got := viewer.get(page)
			if text := got.document(t).Find("main").Text(); got.status != 200 || !strings.Contains(text, "runner") {
				t.Errorf("%s does not say who looks after it: %d", page, got.status)
			}
			if strings.Contains(got.body, "<b>disk</b>") {
				t.Errorf("%s draws a remark as markup", page)
			}
		}
		if got := runner.post(form+"/ack", nil); got.status != http.StatusUnprocessableEntity {
			t.Errorf("a second time: %d", got.status)
		}
		var one shownOpen
		if c.json(200, &one, "GET", "/alarms/open/"+job, ""); len(one.Alarms) != 1 || one.Alarms[0].By != "runner" || one.Alarms[0].Cause != "dispatch" || one.Alarms[0].Run != thing.run || one.Alarms[0].Remark != "the <b>disk</b> is full" || one.Alarms[0].At == "" {
			t.Errorf("API v1 says %+v", one)
		}
		var all struct{ Items []shownOpen }
		if c.json(200, &all, "GET", "/alarms/open", ""); len(all.Items) != 1 || all.Items[0].Job != thing.job || all.Items[0].Name != "settle" {
			t.Errorf("API v1 lists %+v", all)
		}
		c.json(409, new(refusal), "POST", "/alarms/open/"+job+"/acknowledge", `{}`)
		cli := func(want string, args ...string) {
			t.Helper()
			out, err := punctual(t, append(args, "--url", a.Welcome().URL, "--token", c.token)...)
			if err != nil || !strings.Contains(out, want) {
				t.Errorf("%v: %v\n%s", args, err, out)
			}
		}
		cli("runner", "alarms", "open")
		cli("job "+job+": not acknowledged any more", "alarms", "ack", "settle", "--undo")
		one = shownOpen{}
		if c.json(200, &one, "GET", "/alarms/open/"+job, ""); one.Alarms[0].By != "" || one.Alarms[0].At != "" {
			t.Errorf("taken back: %+v", one)
		}
		cli("job "+job+": acknowledged", "alarms", "ack", job, "--remark", "by hand")
		cli("by hand", "alarms", "open", "-o", "wide")
		if got := viewer.post(form+"/unack", nil); got.status != http.StatusForbidden {
			t.Errorf("who may not takes it back: %d", got.status)
		}
		if got := root.post(form+"/unack", nil); got.status != http.StatusSeeOther {
			t.Errorf("an administrator takes it back: %d", got.status)
		}
		c.json(409, new(refusal), "POST", "/alarms/open/"+job+"/unacknowledge", "")
		var log struct {
			Items []struct{ Action string }
		}
		c.json(200, &log, "GET", "/audit?limit=10", "")
		var actions []string
		for _, e := range log.Items {
			if strings.Contains(e.Action, "acknowledge") {
				actions = append(actions, e.Action)
			}
		}
		if got := strings.Join(actions, " "); got != "unacknowledge acknowledge unacknowledge acknowledge" {
			t.Errorf("the audit log has %s", got)
		}
	})
}

// TestAMessagesLinkAcknowledges: whoever has the message says that they look after its alarm, without signing in. To open the link
// changes nothing.
func TestAMessagesLinkAcknowledges(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		var mu sync.Mutex
		var bodies []byte
		told := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			defer mu.Unlock()
			bodies = append(bodies, body...)
		}))
		t.Cleanup(told.Close)
		c.json(201, new(any), "POST", "/alarms/channels", `{"name":"night shift","kind":"webhook","url":"`+told.URL+`","every_job":true}`)
		thing := things(t, a, 1, "settle")
		c.json(201, new(any), "POST", "/jobs/"+strconv.FormatInt(thing.job, 10)+"/trigger", `{}`)
		var path string
		heard := func() []byte {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(bodies)
		}
		executortest.Eventually(t, "message with a link", func() error {
			found := regexp.MustCompile(regexp.QuoteMeta(a.Welcome().URL) + `(/alarms/link/[A-Za-z0-9._-]+)`).FindSubmatch(heard())
			if found == nil {
				return errors.New("none came")
			}
			path = string(found[1])
			return nil
		})
		stranger := open(t, a)
		for range 2 {
			got := stranger.get(path)
			if page := got.document(t); got.status != 200 || page.Find("form.sign-in button").Length() != 1 || !strings.Contains(page.Find("main").Text(), "settle") || got.header.Get("Cache-Control") != "no-store" {
				t.Fatalf("the page: %d %s", got.status, got.body)
			}
		}
		if got := stranger.get(path[:len(path)-1] + "x"); got.status != http.StatusNotFound || strings.Contains(got.body, "settle") {
			t.Errorf("a forged link: %d", got.status)
		}
		if got := stranger.do("POST", path, url.Values{}, "Sec-Fetch-Site", "cross-site"); got.status != http.StatusForbidden {
			t.Errorf("a form of another site: %d", got.status)
		}
		if got := stranger.post(path, url.Values{"remark": {"from my phone"}}); got.status != http.StatusSeeOther {
			t.Fatalf("acknowledge: %d %s", got.status, got.body)
		}
		var one shownOpen
		if c.json(200, &one, "GET", "/alarms/open/"+strconv.FormatInt(thing.job, 10), ""); one.Alarms[0].By != "night shift" || one.Alarms[0].Remark != "from my phone" {
			t.Errorf("API v1 says %+v", one)
		}
		page := stranger.get(path).document(t)
		if text := page.Find("main").Text(); page.Find("form.sign-in").Length() != 0 || !strings.Contains(text, "night shift") || !strings.Contains(text, "from my phone") {
			t.Errorf("afterwards it says %s", text)
		}
		next := page.Find("main .login-who a").AttrOr("href", "") // on to what failed, for who may sign in
		if got := stranger.get(next); next != link.Job(thing.job) || got.status != http.StatusSeeOther || got.header.Get("Location") != "/login?next="+url.QueryEscape(next) {
			t.Errorf("afterwards it leads to %q: %d %s", next, got.status, got.header.Get("Location"))
		}
		if got := stranger.post(path, nil); got.status != http.StatusUnprocessableEntity {
			t.Errorf("a second time: %d", got.status)
		}
		if got := stranger.get("/jobs"); got.status == http.StatusOK {
			t.Error("the link has signed somebody in")
		}
	})
}

// TestARouteEscalates: the second channel of a route is set in the console and by API v1, and wrong ones are refused at their field.
func TestARouteEscalates(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		root := open(t, a).mustLogin()
		for _, name := range []string{"team", "manager"} {
			c.json(201, new(any), "POST", "/alarms/channels", `{"name":"`+name+`","kind":"webhook","url":"http://127.0.0.1:1/"}`)
		}
		form := url.Values{"scope": {"all"}, "cause": {"failed"}, "escalate_after": {"15"}, "escalate_to": {"1"}}
		got := root.post("/alarms/1/routes", form)
		if page := got.document(t); got.status != http.StatusUnprocessableEntity || page.Find("#route-to-error, #route-to ~ .error").Length() == 0 && !strings.Contains(got.body, "another channel") || page.Find("#route-after").AttrOr("value", "") != "15" {
			t.Errorf("a channel that escalates to itself: %d %s", got.status, got.body)
		}
		form.Set("escalate_after", "soon")
		if got := root.post("/alarms/1/routes", form); got.status != http.StatusUnprocessableEntity || got.document(t).Find("#route-after").AttrOr("value", "") != "soon" {
			t.Errorf("no number: %d", got.status)
		}
		form.Set("escalate_after", "15")
		form.Set("escalate_to", "2")
		if got := root.post("/alarms/1/routes", form); got.status != http.StatusSeeOther {
			t.Fatalf("save: %d %s", got.status, got.body)
		}
		if text := root.get("/alarms/1").document(t).Find("#route-1").Text(); !strings.Contains(text, "15") || !strings.Contains(text, "manager") {
			t.Errorf("the page says %s", text)
		}
		// The second channel has no route of its own, and is not useless for that.
		for _, path := range []string{"/alarms", "/alarms/2"} {
			if text := strings.Join(strings.Fields(root.get(path).document(t).Find("main").Text()), " "); !strings.Contains(text, "Escalations of team") || strings.Contains(text, "No alarm rules yet") {
				t.Errorf("%s says %s", path, text)
			}
		}
		if page := root.get("/alarms/1/routes/1/edit").document(t); page.Find("#route-after").AttrOr("value", "") != "15" || page.Find("#route-to option[selected]").AttrOr("value", "") != "2" {
			t.Error("the form has forgotten it")
		}
		var channel struct {
			Routes []struct {
				After int   `json:"escalate_after_minutes"`
				To    int64 `json:"escalate_to"`
			}
		}
		if c.json(200, &channel, "GET", "/alarms/channels/1", ""); len(channel.Routes) != 1 || channel.Routes[0].After != 15 || channel.Routes[0].To != 2 {
			t.Errorf("API v1 says %+v", channel)
		}
		var refused refusal
		c.json(422, &refused, "PUT", "/alarms/channels/1/routes/1", `{"scope":"all","escalate_after_minutes":5,"escalate_to":99}`, "If-Match", "*")
		if got := refused.fields(); len(got) != 1 || !strings.Contains(got[0], "escalate_to") {
			t.Errorf("refused: %v", got)
		}
		channel.Routes = nil
		if c.json(200, &channel, "PUT", "/alarms/channels/1/routes/1", `{"scope":"all"}`, "If-Match", "*"); len(channel.Routes) != 1 || channel.Routes[0].After != 0 || channel.Routes[0].To != 0 {
			t.Errorf("taken away: %+v", channel)
		}
	})
}

// TestTheRunbookIsShownWhereAJobFails: on its page and its failed run; what is no address of a page is refused at their field.
func TestTheRunbookIsShownWhereAJobFails(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		root := open(t, a).mustLogin()
		thing := things(t, a, 1, "settle")
		job := strconv.FormatInt(thing.job, 10)
		const address = "https://wiki.example.com/settle"
		for _, wrong := range []string{"ftp://wiki.example.com/", "javascript:alert(1)", "wiki", "https://ann:secret@wiki.example.com/"} {
			var refused refusal
			c.json(422, &refused, "PATCH", "/jobs/"+job, `{"runbook":"`+wrong+`"}`)
			if got := refused.fields(); len(got) != 1 || !strings.Contains(got[0], "runbook") {
				t.Errorf("%s: %v", wrong, got)
			}
		}
		var one struct{ Runbook string }
		if c.json(200, &one, "PATCH", "/jobs/"+job, `{"runbook":"`+address+`"}`); one.Runbook != address {
			t.Errorf("API v1 says %+v", one)
		}
		for _, page := range []string{"/jobs/" + job, "/runs/" + strconv.FormatInt(thing.run, 10)} {
			link := root.get(page).document(t).Find(`main a[href="` + address + `"]`)
			if link.Length() != 1 || link.AttrOr("rel", "") != "noopener noreferrer" {
				t.Errorf("%s has %d links to the runbook", page, link.Length())
			}
		}
		if got := root.get("/jobs/"+job+"/edit").document(t).Find("[name=runbook]").AttrOr("value", ""); got != address {
			t.Errorf("the form has %q", got)
		}
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE xxl_job_info SET runbook = 'javascript:alert(1)' WHERE id = ?", thing.job); err != nil {
			t.Fatal(err)
		}
		for _, page := range []string{"/jobs/" + job, "/runs/" + strconv.FormatInt(thing.run, 10)} {
			if root.get(page).document(t).Find(`a[href^="javascript"]`).Length() != 0 {
				t.Errorf("%s links to a script", page)
			}
		}
	})
}

// TestTheWordsOfAChannel are previewed, kept while something is wrong with them, saved, and told by API v1.
func TestTheWordsOfAChannel(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		root := open(t, a).mustLogin()
		form := url.Values{"kind": {"slack"}, "name": {"chat"}, "url": {"http://127.0.0.1:1/hook"}, "enabled": {"1"}, "language": {"en"}, "quiet_mode": {"queue"}, "subject": {"{{causeName}}: {{jobName}}"}, "text": {"see {{detail}} <b>"}}
		page := root.post("/alarms/preview", form)
		shown := page.document(t).Find("#alarm-preview")
		if page.status != 200 || !strings.Contains(shown.Text(), "Failed: Nightly settlement") || !strings.Contains(shown.Find("pre").Text(), "see java.lang.") || shown.Find("pre b").Length() != 0 {
			t.Errorf("the preview of a new channel: %d %s", page.status, shown.Text())
		}
		if got := root.get("/alarms").document(t).Find(".empty").Length(); got != 1 {
			t.Error("a preview saved the channel")
		}
		if got := root.post("/alarms", form); got.header.Get("Location") != "/alarms/1" {
			t.Fatalf("create: %d %.300s", got.status, got.body)
		}
		form.Set("text", "good\n{{nothing}}")
		for _, path := range []string{"/alarms/1/preview", "/alarms/1"} {
			wrong := root.post(path, form)
			doc := wrong.document(t)
			if wrong.status != 422 || !strings.Contains(doc.Find("#text-error").Text(), "nothing (2)") || !strings.Contains(doc.Find("[name=text]").Text(), "{{nothing}}") {
				t.Errorf("%s: %d %s", path, wrong.status, doc.Find("#text-error").Text())
			}
		}
		var channel struct{ Subject, Text string }
		if c.json(200, &channel, "GET", "/alarms/channels/1", ""); channel.Subject != "{{causeName}}: {{jobName}}" || channel.Text != "see {{detail}} <b>" {
			t.Errorf("API v1 says %+v", channel)
		}
		var refused refusal
		c.json(422, &refused, "PATCH", "/alarms/channels/1", `{"subject":"{{nobody}}"}`)
		if got := refused.fields(); len(got) != 1 || got[0] != "body subject alarm.error.placeholder" {
			t.Errorf("API v1 refuses %v", got)
		}
		if c.json(200, &channel, "PATCH", "/alarms/channels/1", `{"subject":"","text":"{{title}}"}`); channel.Subject != "" || channel.Text != "{{title}}" {
			t.Errorf("API v1 says %+v", channel)
		}
		if got := root.get("/alarms/1/edit").document(t).Find("[name=text]").Text(); strings.TrimSpace(got) != "{{title}}" {
			t.Errorf("the form has %q", got)
		}
		if got := root.get("/alarms/new?kind=webhook").document(t).Find("[name=subject]").Length(); got != 0 {
			t.Error("a webhook has words beside its template")
		}
	})
}

// TestAStormIsAcknowledgedAtOnce: all that the list shows and nobody looks after, where the reader may say so.
func TestAStormIsAcknowledgedAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a, c := apiCaller(t, o)
		root := open(t, a).mustLogin()
		var ids []string
		for _, name := range []string{"settle", "report", "close"} {
			job := strconv.FormatInt(things(t, a, 1, name).job, 10)
			ids = append(ids, job)
			c.json(200, new(any), "POST", "/alarms/open/"+job+"/acknowledge", `{}`) // no channel was told of it, and it is open nevertheless
			c.json(200, new(any), "POST", "/alarms/open/"+job+"/unacknowledge", "")
		}
		for name, right := range map[string]string{"viewer": "1.view", "runner": "1.run"} {
			if got := root.post("/users", url.Values{"name": {name}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {right}}); got.status != http.StatusSeeOther {
				t.Fatalf("create user: %d %s", got.status, got.body)
			}
		}
		viewer, runner := open(t, a), open(t, a)
		viewer.login("viewer", testPassword)
		runner.login("runner", testPassword)
		by := func(job string) string {
			var one shownOpen
			c.json(200, &one, "GET", "/alarms/open/"+job, "")
			return one.Alarms[0].By
		}
		if viewer.get("/alarms/open").document(t).Find(`a[href="/alarms/open/ack"]`).Length() != 0 || viewer.get("/alarms/open/ack").document(t).Find(`input[name=id]`).Length() != 0 {
			t.Error("who may not is led to the form")
		}
		if got := viewer.post("/alarms/open/ack", url.Values{"id": ids}); got.status != http.StatusForbidden || by(ids[0]) != "" {
			t.Errorf("who may not: %d, by %q", got.status, by(ids[0]))
		}
		c.json(200, new(any), "POST", "/alarms/open/"+ids[2]+"/acknowledge", `{}`)
		before := by(ids[2])
		if runner.get("/alarms/open").document(t).Find(`a[href="/alarms/open/ack"]`).Length() != 1 {
			t.Error("the list does not lead to the form")
		}
		form := runner.get("/alarms/open/ack").document(t)
		var shown []string
		form.Find(`form.panel input[name=id]`).Each(func(_ int, s *goquery.Selection) { shown = append(shown, s.AttrOr("value", "")) })
		if slices.Sort(shown); !slices.Equal(shown, ids[:2]) {
			t.Errorf("the form has %v, want %v", shown, ids[:2])
		}
		if got := runner.post("/alarms/open/ack", url.Values{"id": ids, "remark": {strings.Repeat("很", 256)}}); got.status != http.StatusUnprocessableEntity || got.document(t).Find("#ack-remark").Text() == "" || by(ids[0]) != "" {
			t.Errorf("a remark that is too long: %d", got.status)
		}
		got := runner.post("/alarms/open/ack", url.Values{"id": append(ids, "999999", "x"), "remark": {"the <b>network</b>"}})
		if got.status != http.StatusSeeOther || got.header.Get("Location") != "/alarms/open" {
			t.Fatalf("acknowledge all: %d %s", got.status, got.body)
		}
		for i, want := range []string{"runner", "runner", before} {
			if said := by(ids[i]); said != want {
				t.Errorf("job %d is looked after by %q, want %q", i, said, want)
			}
		}
		list := runner.get("/alarms/open")
		if text := list.document(t).Find("main, .flash, .toast").Text(); !strings.Contains(text, "2 jobs") && !strings.Contains(list.body, "2 jobs") {
			t.Errorf("how many is not said: %s", text)
		}
		if strings.Contains(list.body, "<b>network</b>") {
			t.Error("a remark is drawn as markup")
		}
		if runner.get("/alarms/open/ack").document(t).Find(`input[name=id]`).Length() != 0 {
			t.Error("what is looked after is in the form")
		}
	})
}
