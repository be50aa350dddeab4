package app

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/alarm"
)

// normalUser logs somebody in who may use the first group.
func normalUser(t *testing.T, a *App) *browser {
	t.Helper()
	hash, err := auth.NewPasswords(1).At(quick).Hash(t.Context(), testPassword)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.New().InsertUser(t.Context(), a.pool, db.InsertUserParams{Username: "ann", Password: hash, Permission: "1"}); err != nil {
		t.Fatal(err)
	}
	ann := open(t, a)
	if got := ann.login("ann", testPassword); got.status != http.StatusSeeOther {
		t.Fatalf("login: %d", got.status)
	}
	return ann
}

func TestTheNodesPage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a).mustLogin()
		doc := b.get("/nodes").document(t)
		if rows := doc.Find("tbody tr"); rows.Length() != 1 || rows.Find(".badge.online").Length() != 1 || rows.Find(".self").Length() != 1 {
			t.Errorf("this admin is not shown: %s", rows.Text())
		}
		if doc.Find("tbody td.num").Length() < 9 || strings.TrimSpace(doc.Find("tbody td.num").First().Text()) == "–" || doc.Find(".notice.warning").Length() != 0 {
			t.Error("the load is not shown, or it says that nothing may be sent")
		}
		if got := b.do("GET", "/nodes", nil, "HX-Request", "true"); strings.Contains(got.body, "<html") || !strings.Contains(got.body, `id="results"`) {
			t.Errorf("the part for htmx: %.200s", got.body)
		}
		ann := normalUser(t, a)
		if got := ann.get("/nodes"); got.status != http.StatusForbidden {
			t.Errorf("a normal user: %d", got.status)
		}
		if got := ann.get("/jobs"); strings.Contains(got.body, `href="/nodes"`) {
			t.Error("the navigation leads a normal user to what they may not see")
		}
	})
}

// TestTheNodesPageTellsOfLostLinesOfTheLog, also of those of another admin, and of a machine that can open nothing more, with what to do.
func TestTheNodesPageTellsOfLostLinesOfTheLog(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		lost := new(atomic.Int64)
		o.LogLost = lost.Load
		a := start(t, o)
		b := open(t, a).mustLogin()
		if got := b.get("/nodes").document(t); got.Find(".notice.warning").Length() != 0 {
			t.Errorf("nothing is lost: %s", got.Find(".notice").Text())
		}
		figures, err := json.Marshal(scheduler.Figures{LogLost: 77, Conditions: []scheduler.Condition{{Key: scheduler.ConditionShort, Late: 19 * time.Second}, {Key: scheduler.ConditionFull, Count: 21885}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.pool.ExecContext(t.Context(), "INSERT INTO punctual_node (name, address, version, started_at, beat, beat_at, low_log_id, state, load_figures) VALUES ('second', '', '1', ?, 1, ?, 0, 1, ?)",
			time.Now().UnixMilli(), time.Now().Add(time.Hour).UnixMilli(), string(figures)); err != nil {
			t.Fatal(err)
		}
		lost.Store(1204)
		for lang, want := range map[string][]string{
			"en":    {"since its start: 1,204.", "its disk is full", "since its start: 77.", "21,885 runs are unsent", "no sockets or memory left to call executors with for 19 s", "LimitNOFILE"},
			"zh-CN": {"丢失的日志行数：1,204。", "磁盘是否已满", "丢失的日志行数：77。", "尚有 21,885 次运行未发送", "19 秒", "LimitNOFILE"},
			"zh-TW": {"遺失的日誌行數：1,204。", "磁碟是否已滿", "遺失的日誌行數：77。", "19 秒", "LimitNOFILE"},
		} {
			doc := b.do("GET", "/nodes", nil, "Accept-Language", lang).document(t)
			said := doc.Find(".notice").Text()
			for _, w := range want {
				if !strings.Contains(said, w) {
					t.Errorf("%s: %q is not in %q", lang, w, said)
				}
			}
			if got := doc.Find("[data-trouble]").AttrOr("data-trouble", ""); got != "2" {
				t.Errorf("what is in trouble: %q", got)
			}
		}
	})
}

// TestTheExecutorFormSaysWhatBecomesOfIdleRuns has the choice in the form, kept while the form is refused and by programs
// that do not know of it, and in the audit log.
func TestTheExecutorFormSaysWhatBecomesOfIdleRuns(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		b := open(t, a).mustLogin()
		chosen := func(got answer) string {
			t.Helper()
			value, _ := got.document(t).Find("input[name=idle]:checked").Attr("value")
			return value
		}
		is := func(when, want string) {
			t.Helper()
			if got := chosen(b.get("/executors/1/edit")); got != want {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		if got := chosen(b.get("/executors/new")); got != "wait" {
			t.Errorf("a new one: %q", got)
		}
		form := url.Values{"app_name": {"orders"}, "title": {""}, "type": {"auto"}, "idle": {"lost"}}
		if got := b.post("/executors", form); got.status != http.StatusUnprocessableEntity || chosen(got) != "lost" {
			t.Errorf("refused: %d, %q", got.status, chosen(got))
		}
		form.Set("title", "Orders")
		form.Set("idle", "wait")
		if got := b.post("/executors", form); got.header.Get("Location") != "/executors/1" {
			t.Fatalf("create: %d %.300s", got.status, got.body)
		}
		is("created", "wait")
		form.Set("idle", "lost")
		form.Set("title", "")
		if got := b.post("/executors/1", form); got.status != http.StatusUnprocessableEntity || chosen(got) != "lost" {
			t.Errorf("a refused change: %d, %q", got.status, chosen(got))
		}
		is("after the refusal", "wait")
		form.Set("title", "Orders")
		if got := b.post("/executors/1", form); got.status != http.StatusSeeOther {
			t.Fatalf("change: %d %.300s", got.status, got.body)
		}
		is("changed", "lost")
		if href, ok := b.get("/audit").document(t).Find(".table tbody a[href^='/audit/']").First().Attr("href"); !ok {
			t.Error("not in the audit log")
		} else if row := b.get(href).document(t).Find(".table.audited tbody tr").Text(); !strings.Contains(row, "Give up runs whose executor is idle") {
			t.Errorf("%s: %s", href, row)
		}

		s := starter{open(t, a), "/xxl-job-admin"}
		s.post(s.prefix+"/login", url.Values{"userName": {"admin"}, "password": {testPassword}})
		s.must("/jobgroup/update", "content", url.Values{"id": {"1"}, "appname": {"orders-two"}, "title": {"By a program"}, "addressType": {"0"}})
		is("renamed by a program of XXL-JOB", "lost")
	})
}

func TestTheExecutorPages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		o.AccessToken = ""
		a := start(t, o)
		b := open(t, a).mustLogin()
		if got := b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders <b>"}, "type": {"manual"}, "addresses": {"http://10.0.0.1:9999 http://10.0.0.2:9999"}}); got.header.Get("Location") != "/executors/1" {
			t.Fatalf("create group: %d %.300s", got.status, got.body)
		}
		page := b.get("/executors/1")
		doc := page.document(t)
		if got := doc.Find(".table tbody tr").Length(); got != 2 {
			t.Errorf("%d addresses", got)
		}
		if token := a.Token(); token == "" || strings.Contains(page.body, token) {
			t.Error("the token is in the page although nobody asked for it")
		}
		shown := b.get("/executors/1?token=show")
		if got := shown.document(t).Find("#token-value").Text(); got != a.Token() {
			t.Errorf("shown: %q", got)
		}
		// The page that is left open draws its addresses anew: nobody looks at the token each time.
		b.do("GET", "/executors/1?token=show", nil, "HX-Request", "true", "Punctual-Live", "1")
		if got := b.get("/audit?action=show").document(t).Find("main tbody tr").Length(); got != 1 {
			t.Errorf("the token was seen once, and is in the audit log %d times", got)
		}
		for _, want := range []string{"xxl.job.executor.accessToken=" + a.Token(), "xxl.job.admin.addresses=" + b.base + "/xxl-job-admin"} {
			if got := shown.document(t).Find("pre#way-java").Text(); !strings.Contains(got, want) {
				t.Errorf("%s lacks %s", got, want)
			}
		}

		if got := shown.document(t).Find("pre#way-pull").Text(); !strings.HasPrefix(got, "PUNCTUAL_EXECUTOR_PULL=true ") || !strings.Contains(got, "PUNCTUAL_EXECUTOR_ACCESS_TOKEN='"+a.Token()+"'") {
			t.Errorf("where nobody can call it: %s", got)
		}

		// Out of rotation and back, with and without script.
		address := url.Values{"address": {"http://10.0.0.1:9999/"}, "disabled": {"1"}}
		if got := b.do("POST", "/executors/1/addresses", address, "HX-Request", "true"); got.document(t).Find(".badge.disabled").Length() != 1 || strings.Contains(got.body, "<html") {
			t.Errorf("taken out: %d %.300s", got.status, got.body)
		}
		address.Set("disabled", "0")
		if got := b.post("/executors/1/addresses", address); got.header.Get("Location") != "/executors/1" {
			t.Errorf("put back: %d", got.status)
		}
		if got := b.get("/executors/1").document(t).Find(".badge.disabled").Length(); got != 0 {
			t.Error("still out of rotation")
		}

		// Its own token: made, shown, dropped; the installation's rotates with a grace.
		if got := b.post("/executors/1/token/rotate", url.Values{"grace": {"24"}}); got.header.Get("Location") != "/executors/1?token=show#token" {
			t.Errorf("rotate: %d %.300s", got.status, got.body)
		}
		own := b.get("/executors/1?token=show").document(t)
		if token := own.Find("#token-value").Text(); token == a.Token() || token == "" || !strings.Contains(own.Find(".previous").Text(), "executors with the installation’s token are still accepted here") {
			t.Errorf("own token %q", token)
		}
		if got := b.post("/executors/1/token/drop", url.Values{}); got.status != http.StatusSeeOther {
			t.Errorf("drop: %d", got.status)
		}
		before := a.Token()
		if got := b.post("/executors/token/rotate", url.Values{"grace": {"1"}}); got.header.Get("Location") != "/executors/token?token=show#token" || a.Token() == before {
			t.Errorf("rotate the common one: %d", got.status)
		}
		if got := b.get("/executors/token?token=show").document(t).Find("#token-value").Text(); got != a.Token() {
			t.Errorf("shown: %q", got)
		}
		for path, form := range map[string]url.Values{
			"/executors/1/token/rotate": {"grace": {"soon"}}, "/executors/token/rotate": {"grace": {"-1"}}, "/executors/1/token/drop": {}, "/executors/1/addresses": {"address": {"http://evil/"}},
		} {
			if got := b.post(path, form); got.status/100 != 4 {
				t.Errorf("POST %s: %d", path, got.status)
			}
		}

		ann := normalUser(t, a)
		hers := ann.get("/executors/1?token=show")
		if hers.status != http.StatusOK || strings.Contains(hers.body, a.Token()) || hers.document(t).Find("#token, main form .button").Length() != 0 {
			t.Error("a normal user sees the token, or what she may not do")
		}
		b.post("/executors", url.Values{"app_name": {"secret"}, "title": {"Secret"}, "type": {"auto"}})
		for _, path := range []string{"/executors/2", "/executors/token", "/executors/token/rotate", "/executors/1/token/rotate", "/executors/1/token/drop"} {
			want := http.StatusForbidden
			if path == "/executors/2" { // which she may not see
				want = http.StatusNotFound
			}
			if got := ann.get(path); got.status != want || strings.Contains(got.body, "Secret") {
				t.Errorf("GET %s: %d", path, got.status)
			}
		}
		for _, path := range []string{"/executors/1/addresses", "/executors/token/rotate", "/executors/1/token/rotate", "/executors/1/token/drop"} {
			if got := ann.post(path, url.Values{"grace": {"0"}, "address": {"http://10.0.0.1:9999/"}}); got.status != http.StatusForbidden {
				t.Errorf("POST %s: %d", path, got.status)
			}
		}
	})
}

// alarmPages are those of an administrator, beside a receiver of alarms.
type alarmPages struct {
	*browser
	a    *App
	form url.Values // of the channel to the receiver
	hook *httptest.Server

	mu     sync.Mutex
	status int
}

func newAlarmPages(t *testing.T, o Options) *alarmPages {
	t.Helper()
	a := start(t, o)
	b := &alarmPages{browser: open(t, a).mustLogin(), a: a, status: http.StatusOK}
	b.hook = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock()
		w.WriteHeader(b.status)
		_, _ = w.Write([]byte("<b>no</b>"))
	}))
	t.Cleanup(b.hook.Close)
	b.form = url.Values{"kind": {"webhook"}, "name": {"<i>hook</i>"}, "url": {b.hook.URL + "/secret-token"}, "enabled": {"1"}, "every_job": {"1"}, "quiet_mode": {"queue"}}
	return b
}

// create makes the channel, which is the first.
func (b *alarmPages) create() {
	b.t.Helper()
	if got := b.post("/alarms", b.form); got.header.Get("Location") != "/alarms/1" {
		b.t.Fatalf("create: %d %.300s", got.status, got.body)
	}
}

// group makes the first group.
func (b *alarmPages) group() {
	b.t.Helper()
	if got := b.post("/executors", url.Values{"app_name": {"orders"}, "title": {"Orders"}, "type": {"auto"}}); got.status != http.StatusSeeOther {
		b.t.Fatalf("create group: %d", got.status)
	}
}

// TestAnAlarmChannelIsMadeAndChanged, with what is wrong beside its fields. Its secret is not shown again.
func TestAnAlarmChannelIsMadeAndChanged(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		b := newAlarmPages(t, o)
		if got := b.get("/alarms"); got.status != http.StatusOK || got.document(t).Find(".empty").Length() != 1 {
			t.Errorf("the empty list: %d", got.status)
		}
		for _, kind := range alarm.Kinds() {
			if got := b.get("/alarms/new?kind=" + string(kind.Kind)); got.document(t).Find(`input[name=kind]`).AttrOr("value", "") != string(kind.Kind) {
				t.Errorf("the form of %s: %d", kind.Kind, got.status)
			}
		}
		bad := url.Values{"kind": {"webhook"}, "name": {"x"}, "url": {"ftp://x"}, "quiet_mode": {"queue"}, "quiet_from": {"25:00"}}
		if got := b.post("/alarms", bad); got.status != http.StatusUnprocessableEntity || got.document(t).Find("#url-error, #quiet_from-error").Length() != 2 {
			t.Errorf("a wrong form: %d", got.status)
		}
		b.create()
		edit := b.get("/alarms/1/edit")
		if !strings.Contains(edit.body, "Times are those of UTC") {
			t.Error("the form does not say in which zone the quiet hours are")
		}
		if strings.Contains(edit.body, "secret-token") || edit.document(t).Find("#url[required]").Length() != 0 {
			t.Error("the form shows the secret, or asks for it again")
		}
		b.form.Set("url", "")
		b.form.Set("quiet_from", "23:00")
		b.form.Set("quiet_to", "07:30")
		if got := b.post("/alarms/1", b.form); got.header.Get("Location") != "/alarms/1" {
			t.Errorf("save: %d %.300s", got.status, got.body)
		}
		stale := maps.Clone(b.form)
		stale.Set("version", "1")
		stale.Set("name", "late")
		if got := b.post("/alarms/1", stale); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, `value="late"`) || got.document(t).Find(".notice.error").Length() != 1 {
			t.Errorf("a form of a channel that was changed meanwhile: %d %s", got.status, got.body)
		}
		if got := b.get("/alarms/1"); !strings.Contains(got.body, "23:00–07:30") || strings.Contains(got.body, "<i>hook</i>") {
			t.Error("the quiet hours are not shown, or a name became markup")
		}
	})
}

// TestAnAlarmChannelIsTried: the answer comes at once, in the page or in its part, and what failed is said in the reader's language, with the other side's words as they are.
func TestAnAlarmChannelIsTried(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		b := newAlarmPages(t, o)
		b.create()
		if got := b.do("POST", "/alarms/1/test", url.Values{}, "HX-Request", "true"); got.document(t).Find(".notice.info").Length() != 1 || strings.Contains(got.body, "<html") {
			t.Errorf("test: %d %.300s", got.status, got.body)
		}
		b.mu.Lock()
		b.status = http.StatusForbidden
		b.mu.Unlock()
		failed := b.post("/alarms/1/test", url.Values{})
		if failed.document(t).Find(".notice.warning").Length() != 1 || strings.Contains(failed.body, "secret-token") || strings.Contains(failed.body, "<b>no</b>") {
			t.Errorf("a test that fails: %d", failed.status)
		}
		if got := b.get("/alarms").document(t).Find(".badge.failed").Length(); got != 1 {
			t.Errorf("%d broken channels", got)
		}
		for lang, want := range map[string]string{"zh-CN": "Webhook 返回 HTTP 状态 403：<b>no</b>", "en": "The webhook answered with HTTP status 403: <b>no</b>"} {
			for _, path := range []string{"/alarms", "/alarms/1"} {
				if got := b.do("GET", path, nil, "Accept-Language", lang).document(t).Find(".reason, .notice.error").Text(); got != want {
					t.Errorf("%s in %s: %q", path, lang, got)
				}
			}
		}
	})
}

// TestTheRoutesOfAnAlarmChannel are added, shown and taken away.
func TestTheRoutesOfAnAlarmChannel(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		b := newAlarmPages(t, o)
		b.create()
		b.group()
		route := url.Values{"scope": {"group"}, "group": {"1"}, "cause": {"failed", "lost"}}
		if got := b.post("/alarms/1/routes", route); got.header.Get("Location") != "/alarms/1" {
			t.Errorf("route: %d %.300s", got.status, got.body)
		}
		if got := b.post("/alarms/1/routes", url.Values{"scope": {"job"}, "job": {"999"}, "cause": {"failed"}}); got.status != http.StatusUnprocessableEntity {
			t.Errorf("a route of no job: %d", got.status)
		}
		page := b.get("/alarms/1").document(t)
		ids := page.Find("tr[id^=route-]").Map(func(_ int, s *goquery.Selection) string { return strings.TrimPrefix(s.AttrOr("id", ""), "route-") })
		if len(ids) != 2 {
			t.Fatalf("routes %v", ids)
		}
		for _, path := range []string{"/alarms/1/routes/new", "/alarms/1/routes/" + ids[1] + "/edit", "/alarms/1/delete"} {
			if got := b.do("GET", path, nil, "HX-Request", "true"); got.status != http.StatusOK || !strings.Contains(got.body, "<form") || strings.Contains(got.body, "<html") {
				t.Errorf("%s: %d", path, got.status)
			}
		}
		if got := b.post("/alarms/1/routes/"+ids[0]+"/delete", url.Values{}); got.status != http.StatusSeeOther {
			t.Errorf("take a route away: %d", got.status)
		}
	})
}

// TestAMessageThatWasGivenUpIsSent again, by whoever looks at the list.
func TestAMessageThatWasGivenUpIsSent(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		b := newAlarmPages(t, o)
		b.create()
		b.group()
		if _, err := b.a.pool.ExecContext(t.Context(), "INSERT INTO punctual_alarm_notice (job_id, job_group, log_id, cause, event_count, follow_up, first_at, last_at, detail, state, due_at) VALUES (7, 1, 0, 'failed', 3, 0, 1, 1, '', 1, 0)"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.a.pool.ExecContext(t.Context(), "INSERT INTO punctual_alarm_delivery (notice_id, channel_id, recipient, state, tries, next_at, error, created_at, done_at) VALUES (1, 1, 'r', 3, 7, 0, '<b>gone</b>', ?, 1)", time.Now().UnixMilli()); err != nil {
			t.Fatal(err)
		}
		list := b.get("/alarms/messages?state=givenup&channel=1")
		if list.document(t).Find("#results[data-live-every]").Length() != 1 || list.document(t).Find(".page-head [data-live-mark]").Length() != 1 {
			t.Error("a message that is being sent stays so until somebody loads the page again")
		}
		if rows := list.document(t).Find("tbody tr"); rows.Length() != 1 || strings.Contains(list.body, "<b>gone</b>") || !strings.Contains(rows.Text(), "×3") {
			t.Errorf("messages: %d rows", rows.Length())
		}
		if got := b.post("/alarms/messages/1/retry", url.Values{"next": {"//evil.example"}}); got.status != http.StatusSeeOther || strings.HasPrefix(got.header.Get("Location"), "//") {
			t.Errorf("send again: %d to %s", got.status, got.header.Get("Location"))
		}
		if got := b.get("/alarms/messages?state=x&channel=-1&before=y"); got.status != http.StatusOK {
			t.Errorf("a strange filter: %d", got.status)
		}
	})
}

// TestTheAlarmPagesAreTheAdministrators alone. Whoever else asks for them learns nothing, and changes nothing.
func TestTheAlarmPagesAreTheAdministrators(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		b := newAlarmPages(t, o)
		b.create()
		b.group()
		if got := b.post("/alarms/1/routes", url.Values{"scope": {"group"}, "group": {"1"}, "cause": {"failed", "lost"}}); got.header.Get("Location") != "/alarms/1" {
			t.Fatalf("route: %d %.300s", got.status, got.body)
		}
		ann := normalUser(t, b.a)
		for _, path := range []string{"/alarms", "/alarms/new", "/alarms/1", "/alarms/1/edit", "/alarms/1/delete", "/alarms/1/routes/new", "/alarms/1/routes/2/edit", "/alarms/messages"} {
			if got := ann.get(path); got.status != http.StatusForbidden || strings.Contains(got.body, "hook") {
				t.Errorf("GET %s: %d", path, got.status)
			}
			if got := b.get(strings.Replace(path, "/1", "/999", 1)); got.status != http.StatusOK && got.status != http.StatusNotFound {
				t.Errorf("GET %s of nothing: %d", path, got.status)
			}
		}
		for _, path := range []string{"/alarms", "/alarms/1", "/alarms/1/delete", "/alarms/1/test", "/alarms/1/routes", "/alarms/1/routes/2", "/alarms/1/routes/2/delete", "/alarms/messages/1/retry"} {
			if got := ann.post(path, b.form); got.status != http.StatusForbidden {
				t.Errorf("POST %s: %d", path, got.status)
			}
		}
		if got := b.post("/alarms/1/delete", url.Values{}); got.header.Get("Location") != "/alarms" {
			t.Errorf("delete: %d", got.status)
		}
	})
}
