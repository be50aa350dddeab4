package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// told is a program that events are sent to.
type told struct {
	t      *testing.T
	server *httptest.Server

	mu     sync.Mutex
	secret string
	status int
	events []toldEvent
}

type toldEvent struct {
	Type, Subject, ID, Source string
	Data                      struct {
		Run *struct {
			ID      int64
			State   string
			Again   bool  `json:"retry_follows"`
			RetryOf int64 `json:"retry_of"`
			URL     string
		}
		Job   *struct{ Name string }
		Group *struct {
			App string `json:"app_name"`
		}
		Executor *struct{ Address string }
		Alarm    *struct{ Cause string }
		By       string
	}
}

func newTold(t *testing.T) *told {
	l := &told{t: t, status: http.StatusNoContent}
	l.server = httptest.NewServer(l)
	t.Cleanup(l.server.Close)
	return l
}

func (l *told) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	l.mu.Lock()
	defer l.mu.Unlock()
	var e toldEvent
	if err != nil || json.Unmarshal(body, &e) != nil {
		l.t.Errorf("%s %v", body, err)
	}
	if l.secret != "" { // which is known only after the answer that told it
		verify, err := standard.NewWebhook(l.secret)
		if err == nil {
			err = verify.Verify(body, r.Header)
		}
		if err != nil {
			l.t.Errorf("%s: %v", e.Type, err)
		}
	}
	if strings.Contains(string(body), secret) {
		l.t.Errorf("a secret is told: %s", body)
	}
	if l.status < 300 {
		l.events = append(l.events, e)
	}
	w.WriteHeader(l.status)
}

func (l *told) answer(status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status = status
}

// signs says with which secret events are signed from now on.
func (l *told) signs(secret string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.secret = secret
}

// about waits until as many events as wanted came of which a condition holds.
func (l *told) about(what string, n int, is func(toldEvent) bool) []toldEvent {
	l.t.Helper()
	var found []toldEvent
	eventually(l.t, what, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		found = slices.DeleteFunc(slices.Clone(l.events), func(e toldEvent) bool { return !is(e) })
		return len(found) >= n
	})
	if len(found) != n {
		l.t.Errorf("%s: %d events, want %d: %+v", what, len(found), n, found)
	}
	return found
}

// toldAdmin is an admin with a webhook to a receiver, and an administrator's token.
type toldAdmin struct {
	caller
	a *App
	l *told
	// hook is the webhook's address within the API.
	hook string
}

// webhookMade is what making a webhook answers, and what gives it another secret.
type webhookMade struct {
	ID            int64
	Secret, Place string
}

// tellingAdmin starts an admin with a webhook. That the receiver's secrets are told nobody is looked at each time.
func tellingAdmin(t *testing.T, o Options) *toldAdmin {
	t.Helper()
	a := start(t, withHTTP(o, "127.0.0.1"))
	root := open(t, a).mustLogin()
	admin := caller{t, root.base, makeToken(t, root, url.Values{"name": {"all"}, "scope": {"admin"}, "days": {"7"}})}
	l := newTold(t)
	var made webhookMade
	got := admin.json(http.StatusCreated, &made, "POST", "/webhooks", `{"name":"hub","url":"`+l.server.URL+"/"+secret+`?token=`+secret+`"}`)
	if strings.Contains(got.body, secret) || made.Place != l.server.URL || !strings.HasPrefix(made.Secret, "whsec_") {
		t.Errorf("%s", got.body)
	}
	l.signs(made.Secret)
	hook := "/webhooks/" + strconv.FormatInt(made.ID, 10)
	for _, path := range []string{"/webhooks", hook} {
		if got := admin.do("GET", path, ""); got.status != http.StatusOK || strings.Contains(got.body, secret) || strings.Contains(got.body, made.Secret) {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	return &toldAdmin{caller: admin, a: a, l: l, hook: hook}
}

// TestProgramsAreToldOfRunsAndAlarms: of a call that fails, its retry and its alarm.
func TestProgramsAreToldOfRunsAndAlarms(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		admin := tellingAdmin(t, o)
		a, l := admin.a, admin.l
		target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
		t.Cleanup(target.Close)
		id := httpJob(t, a, httpcall.Call{URL: target.URL + "/" + secret}, func(j *jobspec.Job) { j.Retries = 1 })
		job := "jobs/" + strconv.FormatInt(id, 10)
		created := l.about("a job that was made", 1, func(e toldEvent) bool { return e.Type == "punctual.job.created" && e.Subject == job })
		if e := created[0]; e.Data.By != "ann" || e.Data.Job.Name != "call" || e.Source != a.publicURL() {
			t.Errorf("%+v", e)
		}
		httpRun(t, a, id)
		// A result that is recorded before its sending is leaves nothing to tell of that.
		ends := l.about("two attempts", 2, func(e toldEvent) bool { return e.Type == "punctual.run.finished" })
		byRun := make(map[int64][]toldEvent)
		l.mu.Lock()
		for _, e := range l.events {
			if e.Data.Run != nil && strings.HasPrefix(e.Type, "punctual.run.") {
				byRun[e.Data.Run.ID] = append(byRun[e.Data.Run.ID], e)
			}
		}
		l.mu.Unlock()
		if len(byRun) != 2 {
			t.Fatalf("%+v", ends)
		}
		for id, events := range byRun {
			last := events[len(events)-1]
			if len(events) > 2 || len(events) == 2 && events[0].Type != "punctual.run.sent" || last.Type != "punctual.run.finished" || last.Data.Run.State != "failed" || last.Data.Group.App == "" ||
				last.Data.Run.URL != a.publicURL()+"/runs/"+strconv.FormatInt(id, 10) {
				t.Errorf("%+v", events)
			}
			if first := last.Data.Run.RetryOf == 0; last.Data.Run.Again != first {
				t.Errorf("run %d: a retry follows: %v", id, last.Data.Run.Again)
			}
		}
		l.about("an alarm", 1, func(e toldEvent) bool {
			return e.Type == "punctual.alarm.raised" && e.Data.Alarm.Cause == "failed" && e.Data.Job.Name == "call"
		})
	})
}

// TestProgramsAreToldOfDeedsOnAJob, of the end of its schedule, and of a run of it that could not be sent.
func TestProgramsAreToldOfDeedsOnAJob(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		admin := tellingAdmin(t, o)
		a, l := admin.a, admin.l
		ctx := t.Context()
		group, err := db.New().InsertGroup(ctx, a.pool, db.InsertGroupParams{AppName: "orders", Title: "orders", AddressList: "http://127.0.0.1:1/", AddressType: 1})
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ ID int64 }
		admin.json(http.StatusCreated, &answer, "POST", "/jobs", fmt.Sprintf(`{"group_id":%d,"description":"pay","author":"ann","handler":"pay","schedule":"CRON","cron":%q}`, group, notSoon()))
		pay := "/jobs/" + strconv.FormatInt(answer.ID, 10)
		for _, deed := range []string{"start", "stop"} {
			if got := admin.do("POST", pay+"/"+deed, ""); got.status >= 300 {
				t.Fatalf("%s: %d %s", deed, got.status, got.body)
			}
			l.about("a job's "+deed, 1, func(e toldEvent) bool {
				return "/"+e.Subject == pay && e.Type == map[string]string{"start": "punctual.job.started", "stop": "punctual.job.stopped"}[deed]
			})
		}
		if got := admin.do("POST", pay+"/start", ""); got.status >= 300 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		now := time.Now().UnixMilli()
		if _, err := a.pool.ExecContext(ctx, "UPDATE xxl_job_info SET trigger_next_time = ?, end_at = ? WHERE id = ?", now-10, now, answer.ID); err != nil {
			t.Fatal(err)
		}
		l.about("the end of a schedule", 1, func(e toldEvent) bool {
			return "/"+e.Subject == pay && e.Type == "punctual.job.stopped" && e.Data.By == "" && e.Data.Job.Name == "pay"
		})
		var triggered struct{ Runs []int64 }
		admin.json(http.StatusCreated, &triggered, "POST", pay+"/trigger", `{}`)
		l.about("a run that was not sent", 1, func(e toldEvent) bool { // the last fire of the schedule is another one
			return e.Data.Run != nil && slices.Equal(triggered.Runs, []int64{e.Data.Run.ID}) && e.Type == "punctual.run.finished" && e.Data.Run.State == "sendfailed"
		})
		if got := admin.do("DELETE", pay, ""); got.status >= 300 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		l.about("a job that is gone", 1, func(e toldEvent) bool { return e.Type == "punctual.job.deleted" && e.Data.Job.Name == "pay" })
	})
}

// TestProgramsAreToldOfExecutors that come, fall silent and go.
func TestProgramsAreToldOfExecutors(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		admin := tellingAdmin(t, o)
		a, l := admin.a, admin.l
		ctx := t.Context()
		admin.json(http.StatusCreated, &struct{}{}, "POST", "/groups", `{"app_name":"orders","title":"orders","type":"manual","addresses":["http://127.0.0.1:1/"]}`)
		beat := wire.RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "orders", RegistryValue: "http://127.0.0.1:9/"}
		if err := a.engine.Register(ctx, beat); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a beat is no news
			if err := a.engine.Register(ctx, beat); err != nil {
				t.Fatal(err)
			}
		}
		its := func(e toldEvent) bool { return e.Data.Executor != nil && e.Data.Executor.Address == beat.RegistryValue }
		if _, err := a.pool.ExecContext(ctx, "UPDATE xxl_job_registry SET update_time = '2026-01-01 00:00:00' WHERE registry_value = ?", beat.RegistryValue); err != nil {
			t.Fatal(err)
		}
		l.about("an executor without beats", 2, its)
		if err := a.engine.Register(ctx, beat); err != nil {
			t.Fatal(err)
		}
		if err := a.engine.Deregister(ctx, beat); err != nil {
			t.Fatal(err)
		}
		executors := l.about("an executor", 4, its)
		for i, want := range []string{"registered", "silent", "registered", "removed"} {
			if e := executors[i]; e.Type != "punctual.executor."+want || e.Data.Group.App != "orders" {
				t.Errorf("%+v, want %s", e, want)
			}
		}
	})
}

// TestWhatAReceiverRefusesIsShownAndSentAgain: with the number of tries and the reason, and so is what it took.
func TestWhatAReceiverRefusesIsShownAndSentAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		admin := tellingAdmin(t, o)
		l := admin.l
		if got := admin.do("POST", admin.hook+"/test", ""); got.status != http.StatusNoContent {
			t.Errorf("test: %d %s", got.status, got.body)
		}
		l.about("a test", 1, func(e toldEvent) bool { return e.Type == "punctual.webhook.test" && e.Data.By == "admin via token all" })

		l.answer(http.StatusBadRequest)
		if got := admin.do("POST", admin.hook+"/test", ""); got.status != http.StatusNoContent {
			t.Errorf("test: %d %s", got.status, got.body)
		}
		type deliveries struct {
			Items []struct {
				ID, Tries, Status int64
				Type, Reason      string
				Event             string     `json:"event_id"`
				NextAt            *time.Time `json:"next_at"`
			}
		}
		var waiting deliveries
		eventually(t, "a refused test", func() bool {
			waiting = deliveries{}
			admin.json(http.StatusOK, &waiting, "GET", admin.hook+"/deliveries", "")
			return len(waiting.Items) == 1 && waiting.Items[0].Tries == 1
		})
		if d := waiting.Items[0]; d.Status != 400 || d.Reason != "refused" || d.NextAt == nil || d.Type != "punctual.webhook.test" {
			t.Errorf("%+v", d)
		}
		l.answer(http.StatusOK)
		if got := admin.do("POST", fmt.Sprintf("%s/deliveries/%d/again", admin.hook, waiting.Items[0].ID), ""); got.status != http.StatusConflict {
			t.Errorf("it waits still: %d %s", got.status, got.body)
		}
		var taken deliveries
		admin.json(http.StatusOK, &taken, "GET", admin.hook+"/deliveries?state=taken&limit=1", "")
		if len(taken.Items) != 1 {
			t.Fatal(taken)
		}
		if got := admin.do("POST", fmt.Sprintf("%s/deliveries/%d/again", admin.hook, taken.Items[0].ID), ""); got.status != http.StatusOK {
			t.Errorf("again: %d %s", got.status, got.body)
		}
		again := taken.Items[0].Event
		l.about("the same once more", 2, func(e toldEvent) bool { return e.ID == again })
	})
}

// TestAWebhookIsChangedByPrograms: it gets another secret, is switched off, and goes. The audit log has it, without the secrets.
func TestAWebhookIsChangedByPrograms(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		admin := tellingAdmin(t, o)
		var made webhookMade
		got := admin.json(http.StatusOK, &made, "POST", admin.hook+"/secret", "")
		admin.l.signs(made.Secret)
		if got := admin.do("PATCH", admin.hook, `{"types":["punctual.nothing"]}`); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "types") {
			t.Errorf("%d %s", got.status, got.body)
		}
		if got := admin.do("PATCH", admin.hook, `{"types":["punctual.job.created"],"enabled":false}`, "If-Match", got.header.Get("ETag")); got.status != http.StatusOK || !strings.Contains(got.body, `"state":"off"`) {
			t.Errorf("%d %s", got.status, got.body)
		}
		if got := admin.do("POST", admin.hook+"/test", ""); got.status != http.StatusConflict {
			t.Errorf("a test of one that is off: %d %s", got.status, got.body)
		}
		if got := admin.do("DELETE", admin.hook, ""); got.status != http.StatusOK {
			t.Errorf("%d %s", got.status, got.body)
		}
		if got := admin.do("GET", admin.hook, ""); got.status != http.StatusNotFound {
			t.Errorf("%d %s", got.status, got.body)
		}
		audit := admin.do("GET", "/audit", "")
		if !strings.Contains(audit.body, `"webhook"`) || strings.Contains(audit.body, secret) || strings.Contains(audit.body, made.Secret) {
			t.Errorf("%s", audit.body)
		}
	})
}

// TestAWebhookThatFailsSaysWhatAndUntilWhen: its page has the receiver's answer as text, when it is tried next, and that what has not been tried waits for it.
func TestAWebhookThatFailsSaysWhatAndUntilWhen(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		admin := open(t, start(t, o)).mustLogin()
		hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, "<h1>Oops</h1><script>alert(1)</script>")
		}))
		t.Cleanup(hub.Close)
		if got := admin.post("/webhooks", url.Values{"name": {"hub"}, "url": {hub.URL}, "types": {"punctual.job.created"}}); got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
		var page answer
		eventually(t, "rest", func() bool { // which is longer each time
			admin.post("/webhooks/1/test", url.Values{})
			page = admin.get("/webhooks/1")
			return strings.Contains(page.body, "Next try") && strings.Contains(page.body, "Waits for the receiver")
		})
		answers := page.document(t).Find("td.message").Text()
		if !strings.Contains(answers, "It answered with an error (500)") || !strings.Contains(answers, "<h1>Oops</h1><script>alert(1)</script>") || strings.Contains(page.body, "<h1>Oops") {
			t.Errorf("the answers are %s", answers)
		}
		if got := admin.get("/webhooks/1/edit").document(t); got.Find("h1").Text() != "hub" {
			t.Errorf("the form is about %q", got.Find("h1").Text())
		}
	})
}
