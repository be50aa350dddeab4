package app

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// asyncSite is a target that takes work and keeps the addresses that it was given.
type asyncSite struct {
	*httptest.Server
	given chan string
}

func newAsyncSite(t *testing.T) *asyncSite {
	s := &asyncSite{given: make(chan string, 100)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		address := r.Header.Get(httpcall.CallbackHeader)
		switch r.URL.Path {
		case "/now": // it has nothing to do
			_, _ = io.WriteString(w, "done")
			return
		case "/quick": // it is done before it answers
			answer, err := http.Post(address, "application/json", strings.NewReader(`{"status":"success","message":"quick"}`))
			if err == nil {
				_ = answer.Body.Close()
			}
		}
		s.given <- address
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "taken, will tell "+address)
	}))
	t.Cleanup(s.Close)
	return s
}

// withAsync are options of an installation that can be told of ends.
func withAsync(o Options, s *asyncSite) Options {
	o = withHTTP(o, strings.TrimPrefix(s.URL, "http://"))
	o.PublicURL = "http://" + o.Listener.Addr().String()
	return o
}

func limited(j *jobspec.Job) { j.TimeoutSeconds = 3600 }

// asyncRun starts a run and waits until it waits.
func asyncRun(t *testing.T, a *App, s *asyncSite, id int64) (r db.Run, address string) {
	t.Helper()
	j, err := db.New().GetJob(t.Context(), a.pool, id)
	if err != nil {
		t.Fatal(err)
	}
	path := open(t, a).mustLogin().runOnce("/jobs/"+strconv.FormatInt(id, 10), url.Values{"param": {string(j.ExecutorParam)}, "addresses": {""}})
	runID, err := strconv.ParseInt(path[strings.LastIndexByte(path, '/')+1:], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return awaited(t, a, runID), <-s.given
}

// awaited is the run once it waits for its target, and its sending is on record, which may come later.
func awaited(t *testing.T, a *App, runID int64) (r db.Run) {
	t.Helper()
	eventually(t, "a run that waits for its target", func() bool {
		_, ok, err := a.engine.Callbacks().Of(t.Context(), runID)
		if err == nil && ok {
			r, err = db.New().GetRun(t.Context(), a.pool, runID)
		}
		if err != nil {
			t.Fatal(err)
		}
		return ok && r.TriggerCode == wire.CodeSuccess
	})
	return r
}

// tell reports to an address, and gives the status and the code of the answer.
func tell(t *testing.T, address, body string) (int, string) {
	t.Helper()
	r, err := http.Post(address, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	var answer struct{ Status, Code any }
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		t.Fatalf("%s: %v", r.Status, err)
	}
	if r.StatusCode != http.StatusOK && r.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s: an answer of the type %q", r.Status, r.Header.Get("Content-Type"))
	}
	code, _ := answer.Code.(string)
	return r.StatusCode, code
}

func runNow(t *testing.T, a *App, id int64) db.Run {
	t.Helper()
	r, err := db.New().GetRun(t.Context(), a.pool, id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestATargetReportsTheEndOfARun(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		site := newAsyncSite(t)
		a := start(t, withAsync(o, site))
		call := httpcall.Call{URL: site.URL + "/work", Method: http.MethodPost, Async: true}
		child := httpJob(t, a, httpcall.Call{URL: site.URL + "/now", Method: http.MethodGet})
		id := httpJob(t, a, call, limited, func(j *jobspec.Job) { j.ChildJobIDs, j.Retries = strconv.FormatInt(child, 10), 1 })

		first, address := asyncRun(t, a, site, id)
		page := open(t, a).mustLogin().get("/runs/" + strconv.FormatInt(first.ID, 10)).document(t).Text()
		if !strings.Contains(page, "This run waits for its report") {
			t.Error("the page of the run does not say that it waits")
		}
		token := address[strings.LastIndexByte(address, '/')+1:]
		log, err := a.engine.Outputs().Read(t.Context(), &first, 1)
		if err != nil || !strings.Contains(log.LogContent, "taken, will tell ***") || strings.Contains(log.LogContent, token) {
			t.Errorf("the output is %q, %v", log.LogContent, err)
		}
		var stored int
		if err := a.pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM punctual_callback WHERE token = ?", token).Scan(&stored); err != nil || stored != 0 {
			t.Errorf("the token is stored as it is: %d, %v", stored, err)
		}

		if status, _ := tell(t, address, `{"status":"progress","message":"half of <b>it</b>"}`); status != http.StatusOK {
			t.Errorf("progress: %d", status)
		}
		if page := open(t, a).mustLogin().get("/runs/" + strconv.FormatInt(first.ID, 10)).body; !strings.Contains(page, "half of &lt;b&gt;it") {
			t.Error("the page of the run does not say how far it is")
		}
		for body, want := range map[string]int{"{": http.StatusBadRequest, `{"status":"well"}`: http.StatusUnprocessableEntity, `{"status":"success","message":"` + strings.Repeat("x", manage.MaxReport) + `"}`: http.StatusRequestEntityTooLarge} {
			if status, _ := tell(t, address, body); status != want {
				t.Errorf("%.40s: %d, not %d", body, status, want)
			}
		}
		if r := runNow(t, a, first.ID); r.Outcome != event.Open {
			t.Fatalf("a bad report ended the run: %v", r.Outcome)
		}

		// A failure is retried, and the retry has an address of its own.
		if status, _ := tell(t, address, `{"status":"failed","message":"disk full"}`); status != http.StatusOK {
			t.Errorf("failed: %d", status)
		}
		if r := runNow(t, a, first.ID); r.Outcome != event.Failed || !strings.Contains(string(r.HandleMsg), "disk full") {
			t.Errorf("the run is %v %q", r.Outcome, r.HandleMsg)
		}
		if status, code := tell(t, address, `{"status":"success"}`); status != http.StatusConflict || code != "callback.used" {
			t.Errorf("a second report: %d %s", status, code)
		}
		second := <-site.given
		retry := runEnd(t, a, id, func(r db.Run) bool { return r.ID != first.ID })
		awaited(t, a, retry.ID)
		if status, _ := tell(t, second, `{"status":"success","message":"all of it"}`); status != http.StatusOK {
			t.Errorf("success: %d", status)
		}
		if r := runNow(t, a, retry.ID); r.Outcome != event.Succeeded || !strings.Contains(string(r.HandleMsg), "all of it") {
			t.Errorf("the retry is %v %q", r.Outcome, r.HandleMsg)
		}
		if r := runEnd(t, a, child, func(r db.Run) bool { return r.Outcome != event.Open }); r.Outcome != event.Succeeded {
			t.Errorf("its child is %v", r.Outcome)
		}

		if status, code := tell(t, address+"x", `{"status":"success"}`); status != http.StatusNotFound || code != "callback.unknown" {
			t.Errorf("a guess: %d %s", status, code)
		}
		if r := httpRun(t, a, httpJob(t, a, httpcall.Call{URL: site.URL + "/now", Method: http.MethodGet, Async: true}, limited)); r.Outcome != event.Succeeded {
			t.Errorf("an answer that is not 202: %v %q", r.Outcome, r.HandleMsg)
		}
		if r := httpRun(t, a, httpJob(t, a, httpcall.Call{URL: site.URL + "/quick", Method: http.MethodPost, Async: true}, limited)); r.Outcome != event.Succeeded || !strings.Contains(string(r.HandleMsg), "quick") {
			t.Errorf("a report before the answer: %v %q", r.Outcome, r.HandleMsg)
		}
	})
}

// A run that waits is ended by a kill and by its time limit, and its address counts no more.
func TestWaitingForATargetEnds(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		site := newAsyncSite(t)
		a := start(t, withAsync(o, site))
		id := httpJob(t, a, httpcall.Call{URL: site.URL, Method: http.MethodPost, Async: true}, limited)

		r, address := asyncRun(t, a, site, id)
		if got := open(t, a).mustLogin().post("/runs/"+strconv.FormatInt(r.ID, 10)+"/kill", url.Values{}); got.status != http.StatusSeeOther {
			t.Fatalf("kill: %d", got.status)
		}
		if r := runNow(t, a, r.ID); r.Outcome != event.Killed {
			t.Errorf("the run is %v", r.Outcome)
		}
		if status, code := tell(t, address, `{"status":"success"}`); status != http.StatusConflict || code != "callback.used" {
			t.Errorf("a report after the kill: %d %s", status, code)
		}

		r, address = asyncRun(t, a, site, id)
		if _, err := a.pool.ExecContext(t.Context(), "UPDATE punctual_callback SET expires_at = ? WHERE log_id = ?", a.engine.Now().UnixMilli()-1, r.ID); err != nil {
			t.Fatal(err)
		}
		if status, _ := tell(t, address, `{"status":"success"}`); status != http.StatusConflict {
			t.Errorf("a report that is too late: %d", status)
		}
		r = runEnd(t, a, id, func(r db.Run) bool { return r.Outcome != event.Open })
		if r.Outcome != event.TimedOut {
			t.Errorf("a run without a report is %v", r.Outcome)
		}
		if page := open(t, a).mustLogin().get("/runs/" + strconv.FormatInt(r.ID, 10)).document(t).Text(); !strings.Contains(page, "The target reported no end") {
			t.Error("its page does not say why")
		}
	})
}

// The admin that made the call may be gone: whichever is there takes the report, and nobody takes the run for lost meanwhile.
func TestAReportComesToAnotherAdmin(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		site := newAsyncSite(t)
		o = withAsync(o, site)
		a := start(t, o)
		id := httpJob(t, a, httpcall.Call{URL: site.URL, Method: http.MethodPost, Async: true}, limited)
		r, address := asyncRun(t, a, site, id)
		b := a
		if o.DatabaseURL != "" { // beside the first
			other := o
			other.Listener, other.DataDir = testOptions(t).Listener, t.TempDir()
			b = start(t, other)
		} else { // after it
			if err := a.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			o.Listener = testOptions(t).Listener
			b = start(t, o)
		}
		if _, ok, err := b.engine.Callbacks().Of(t.Context(), r.ID); err != nil || !ok {
			t.Fatalf("the run does not wait any more: %v", err)
		}
		at, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		at.Host = b.listener.Addr().String()
		if status, code := tell(t, at.String(), `{"status":"success","message":"told the other"}`); status != http.StatusOK {
			t.Fatalf("the other admin answers %d %s", status, code)
		}
		if r = runNow(t, b, r.ID); r.Outcome != event.Succeeded || !strings.Contains(string(r.HandleMsg), "told the other") {
			t.Errorf("the run is %v %q", r.Outcome, r.HandleMsg)
		}
	})
}

// Of many reports at the same time one counts.
func TestOneOfManyReportsCounts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		site := newAsyncSite(t)
		a := start(t, withAsync(o, site))
		id := httpJob(t, a, httpcall.Call{URL: site.URL, Method: http.MethodPost, Async: true}, limited)
		r, address := asyncRun(t, a, site, id)
		type told struct {
			status  int
			message string
		}
		all := make(chan told, 8)
		for i := range cap(all) {
			go func() {
				message := "report " + strconv.Itoa(i)
				answer, err := http.Post(address, "", strings.NewReader(`{"status":"failed","message":"`+message+`"}`))
				if err != nil {
					all <- told{}
					return
				}
				_ = answer.Body.Close()
				all <- told{answer.StatusCode, message}
			}()
		}
		var taken []string
		for range cap(all) {
			switch got := <-all; got.status {
			case http.StatusOK:
				taken = append(taken, got.message)
			case http.StatusConflict:
			default:
				t.Errorf("an answer of %d", got.status)
			}
		}
		if r = runNow(t, a, r.ID); len(taken) != 1 || !strings.Contains(string(r.HandleMsg), taken[0]) {
			t.Errorf("taken are %q, the run says %q", taken, r.HandleMsg)
		}
	})
}

func TestAnAsynchronousCallNeedsALimitAndAnAddress(t *testing.T) {
	t.Parallel()
	site := newAsyncSite(t)
	a := start(t, withHTTP(testOptions(t), strings.TrimPrefix(site.URL, "http://"))) // nobody said how it is reached
	groups, err := a.manage.Groups.ByAppName(t.Context(), manage.HTTPAppName)
	if err != nil || len(groups) != 1 {
		t.Fatal(groups, err)
	}
	form := url.Values{
		"name": {"n"}, "author": {"a"}, "group": {strconv.FormatInt(groups[0].ID, 10)}, "schedule_type": {"NONE"}, "misfire": {"DO_NOTHING"},
		"glue": {"BEAN"}, "handler": {httpcall.Handler}, "route": {"FIRST"}, "block": {"SERIAL_EXECUTION"}, "timeout": {"0"}, "retries": {"0"},
		"param": {`{"url":"` + site.URL + `","async":true}`},
	}
	doc := open(t, a).mustLogin().post("/jobs", form).document(t)
	if !strings.Contains(doc.Find("#param-error").Text(), "PUNCTUAL_PUBLIC_URL") || doc.Find("#timeout-error").Length() != 1 {
		t.Errorf("it is taken: %q", doc.Find(".error").Text())
	}
	admin := auth.NewPrincipal(0, "ann", auth.RoleAdmin, "")
	if _, err := a.manage.Callbacks.HandOut(t.Context(), 1, 1, a.engine.Now(), func(string) string { return "/" }); err == nil {
		t.Error("an address is handed out that nobody can reach")
	}
	if _, err := a.manage.Settings.Save(t.Context(), admin, map[string]string{manage.SettingPublicURL: "https://jobs.example.com"}, ""); err != nil {
		t.Fatal(err)
	}
	form.Set("timeout", "60")
	if got := open(t, a); got.mustLogin().post("/jobs", form).status != http.StatusSeeOther {
		t.Error("it is refused with both")
	}
}

func TestGuessesOfCallbacksAreBounded(t *testing.T) {
	t.Parallel()
	site := newAsyncSite(t)
	a := start(t, withAsync(testOptions(t), site))
	base := "http://" + a.listener.Addr().String() + callbackPath
	refused := false // one is let through again every few seconds
	for range 40 {
		status, _ := tell(t, base+"guess", `{"status":"success"}`)
		refused = refused || status == http.StatusTooManyRequests
	}
	if !refused {
		t.Error("forty guesses are all looked up")
	}
}

func TestAnAsynchronousCallSetsItsHeaderItself(t *testing.T) {
	t.Parallel()
	if _, err := httpcall.Check(`{"url":"http://x/","async":true,"headers":{"punctual-callback":"http://y/"}}`); err == nil {
		t.Error("the header may be set by hand")
	}
}
