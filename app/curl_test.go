package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// formOf is what a browser would send of the form of a job.
func formOf(doc *goquery.Document) url.Values {
	return formIn(doc.Find("form.form"))
}

// formIn is what a form would send.
func formIn(form *goquery.Selection) url.Values {
	values := url.Values{}
	form.Find("input[name], textarea[name], select[name]").Each(func(_ int, s *goquery.Selection) {
		name, _ := s.Attr("name")
		switch {
		case goquery.NodeName(s) == "select":
			option := s.Find("option[selected]").First()
			if option.Length() == 0 {
				option = s.Find("option").First()
			}
			values.Set(name, option.AttrOr("value", ""))
		case goquery.NodeName(s) == "textarea":
			values.Set(name, s.Text())
		case s.AttrOr("type", "") == "radio" || s.AttrOr("type", "") == "checkbox":
			if _, checked := s.Attr("checked"); checked {
				values.Add(name, s.AttrOr("value", "on"))
			}
		default:
			values.Set(name, s.AttrOr("value", ""))
		}
	})
	return values
}

func TestACurlCommandBecomesAnHTTPJob(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- r.Method + " " + r.RequestURI + " " + r.Header.Get("X-Tenant") + " " + r.Header.Get("Content-Type") + " " + string(body)
	}))
	t.Cleanup(site.Close)
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, withHTTP(o, strings.TrimPrefix(site.URL, "http://")))
		root := open(t, a).mustLogin()
		form := formOf(root.get("/jobs/new").document(t))
		form.Set("author", "kept")
		form.Set("curl", "curl -k --retry 2 '"+site.URL+"/close?a=1' \\\r\n -H 'X-Tenant: eu' -d $'it\\'s' -u ann:hunter22")
		filled := root.post("/jobs/new/curl", form)
		doc := filled.document(t)
		if box := doc.Find("[data-curl]").Text(); filled.status != http.StatusOK || !strings.Contains(box, "_BASIC") || !strings.Contains(box, "-k is refused") {
			t.Fatalf("the import says: %d %s", filled.status, box)
		}
		if strings.Contains(filled.body, "hunter22") {
			t.Error("the page of a filled form has the password")
		}
		form = formOf(doc)
		if form.Get("author") != "kept" || form.Get("retries") != "2" || form.Get("curl") != "" || form.Get("handler") != httpcall.Handler || !strings.HasPrefix(form.Get("name"), "POST 127.0.0.1") {
			t.Errorf("the filled form: %v", form)
		}
		if form.Get("call_as") != "fields" || !strings.HasPrefix(form.Get("call_auth"), "Basic ${{ secrets.") || form.Get("call_headers") != "X-Tenant: eu" {
			t.Fatalf("the call: %v", form)
		}
		form.Del("call_auth") // this installation has no key for secrets
		form.Set(jobspec.FieldScheduleType, string(jobspec.ScheduleNone))
		if saved := root.post("/jobs", form); saved.status != http.StatusSeeOther {
			t.Fatalf("save: %d %s", saved.status, saved.document(t).Find(".field:has(.error)").Text())
		}
		var id int64
		if err := a.pool.QueryRowContext(t.Context(), "SELECT MAX(id) FROM xxl_job_info").Scan(&id); err != nil {
			t.Fatal(err)
		}
		if r := httpRun(t, a, id); r.Outcome != event.Succeeded {
			t.Fatalf("the run: %v %s", r.Outcome, r.HandleMsg)
		}
		if call, want := <-got, "POST /close?a=1 eu application/x-www-form-urlencoded it's"; call != want {
			t.Errorf("called: %s, want %s", call, want)
		}

		wrong := root.post("/jobs/new/curl", url.Values{"curl": {"curl 'http://a/"}, "name": {"mine"}})
		if form := formOf(wrong.document(t)); wrong.status != http.StatusUnprocessableEntity || form.Get("curl") != "curl 'http://a/" || form.Get("name") != "mine" || !strings.Contains(wrong.body, "is not closed") {
			t.Errorf("a wrong command: %d %v", wrong.status, form)
		}
	})
}

// Who may not edit HTTP jobs is not told that there are any.
func TestTheCurlBoxIsForWhoMayEditHTTPJobs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, withHTTP(o, "public"))
		admin := auth.NewPrincipal(0, "root", auth.RoleAdmin, "")
		other, err := a.manage.Groups.Create(t.Context(), admin, manage.GroupInput{AppName: "other-group", Title: "Other"})
		if err != nil {
			t.Fatal(err)
		}
		form := url.Values{"name": {"mina"}, "password": {testPassword}, "role": {"user"}, "state": {"active"}, "right": {strconv.FormatInt(other, 10) + ".edit"}}
		if got := open(t, a).mustLogin().post("/users", form); got.status != http.StatusSeeOther {
			t.Fatalf("a user: %d", got.status)
		}
		editor := open(t, a)
		editor.login("mina", testPassword)
		page := editor.get("/jobs/new")
		if page.status != http.StatusOK || page.document(t).Find("[data-curl]").Length() > 0 {
			t.Errorf("the box is offered: %d", page.status)
		}
		if got := editor.post("/jobs/new/curl", url.Values{"curl": {"curl http://a/"}}); got.status != http.StatusNotFound || strings.Contains(got.body, manage.HTTPAppName) {
			t.Errorf("an import: %d", got.status)
		}
		if n := open(t, a).mustLogin().get("/jobs/new").document(t).Find("[data-curl]").Length(); n != 1 {
			t.Errorf("an administrator sees %d boxes", n)
		}
	})
}
