package alarm

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/webclient"
)

// receiver is a real HTTP server that keeps what it gets and answers as told.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	calls  []call
	answer func(w http.ResponseWriter, r *http.Request)
}

type call struct {
	path   string
	query  map[string]string
	header http.Header
	body   []byte
}

func newReceiver(t *testing.T, secure bool, answer func(http.ResponseWriter, *http.Request)) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		c := call{path: req.URL.Path, query: make(map[string]string), header: req.Header, body: body}
		for name, values := range req.URL.Query() {
			c.query[name] = values[0]
		}
		r.mu.Lock()
		r.calls = append(r.calls, c)
		answer := r.answer
		r.mu.Unlock()
		answer(w, req)
	})
	if secure {
		r.Server = httptest.NewTLSServer(handler)
	} else {
		r.Server = httptest.NewServer(handler)
	}
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) received() []call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]call(nil), r.calls...)
}

func says(status int, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func sign(key, text string) []byte {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// deep reads a value inside of decoded JSON by its path.
func deep(t *testing.T, body []byte, path ...any) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			l, _ := v.([]any)
			if step >= len(l) {
				return nil
			}
			v = l[step]
		}
	}
	return v
}

func TestEachProviderGetsWhatItExpects(t *testing.T) {
	t.Parallel()
	const evil = "boom <!channel> <at user_id=\"all\">x</at> *bold* & more"
	seconds := fmt.Sprint(noon.Unix())
	millis := fmt.Sprint(noon.UnixMilli())
	type provider struct {
		name   string
		kind   Kind
		secret string
		answer string
		check  func(t *testing.T, c call, run int64)
	}
	tests := []provider{
		{"DingTalk, signed", KindDingTalk, "SECabc", `{"errcode":0,"errmsg":"ok"}`, func(t *testing.T, c call, run int64) {
			want := map[string]string{"token": "t0ken-0123456789", "timestamp": millis, "sign": base64.StdEncoding.EncodeToString(sign("SECabc", millis+"\nSECabc"))}
			if diff := cmp.Diff(want, c.query); diff != "" {
				t.Errorf("query (-want +got):\n%s", diff)
			}
			if deep(t, c.body, "msgtype") != "text" {
				t.Errorf("body: %s", c.body)
			}
			has(t, deep(t, c.body, "text", "content"), "[Punctual] Failed: nightly <b>report</b>\n", evil, fmt.Sprintf("https://punctual.test/runs/%d", run))
		}},
		{"DingTalk, not signed", KindDingTalk, "", `{"errcode":0,"errmsg":"ok"}`, func(t *testing.T, c call, _ int64) {
			if diff := cmp.Diff(map[string]string{"token": "t0ken-0123456789"}, c.query); diff != "" {
				t.Errorf("query (-want +got):\n%s", diff)
			}
		}},
		{"WeCom", KindWeCom, "", `{"errcode":0,"errmsg":"ok"}`, func(t *testing.T, c call, run int64) {
			if deep(t, c.body, "msgtype") != "text" || c.query["token"] != "t0ken-0123456789" {
				t.Errorf("query %v, body: %s", c.query, c.body)
			}
			has(t, deep(t, c.body, "text", "content"), "[Punctual] Failed: nightly <b>report</b>\n", evil, fmt.Sprintf("https://punctual.test/runs/%d", run))
		}},
		{"Feishu, signed", KindFeishu, "SECabc", `{"code":0,"msg":"success","data":{}}`, func(t *testing.T, c call, run int64) {
			if deep(t, c.body, "timestamp") != seconds || deep(t, c.body, "sign") != base64.StdEncoding.EncodeToString(sign(seconds+"\nSECabc", "")) || deep(t, c.body, "msg_type") != "post" {
				t.Errorf("body: %s", c.body)
			}
			if deep(t, c.body, "content", "post", "en_us", "title") != "[Punctual] Failed: nightly <b>report</b>" {
				t.Errorf("body: %s", c.body)
			}
			lines, _ := deep(t, c.body, "content", "post", "en_us", "content").([]any)
			links, texts := 0, ""
			for _, l := range lines {
				node, _ := l.([]any)[0].(map[string]any)
				if node["tag"] == "a" {
					links++
					if node["href"] != fmt.Sprintf("https://punctual.test/runs/%d", run) {
						t.Errorf("link: %v", node)
					}
				} else if node["tag"] == "text" {
					texts += node["text"].(string) + "\n"
				} else {
					t.Errorf("node: %v", node)
				}
			}
			if links != 1 {
				t.Errorf("%d links, want only ours: %s", links, c.body)
			}
			has(t, texts, evil, "https://evil.example.com")
		}},
		{"Feishu's older answer", KindFeishu, "", `{"StatusCode":0,"StatusMessage":"success"}`, func(t *testing.T, c call, _ int64) {
			if deep(t, c.body, "sign") != nil {
				t.Errorf("body: %s", c.body)
			}
		}},
		{"Slack", KindSlack, "", "ok", func(t *testing.T, c call, run int64) {
			text := deep(t, c.body, "text")
			has(t, text, "[Punctual] Failed: nightly &lt;b&gt;report&lt;/b&gt;\n", "boom &lt;!channel&gt;", "&amp; more", fmt.Sprintf("https://punctual.test/runs/%d", run))
			if strings.Contains(text.(string), "<") || deep(t, c.body, "mrkdwn") != false {
				t.Errorf("body: %s", c.body)
			}
		}},
		{"Teams", KindTeams, "", "", func(t *testing.T, c call, run int64) {
			card := deep(t, c.body, "attachments", 0, "content")
			if deep(t, c.body, "type") != "message" || deep(t, c.body, "attachments", 0, "contentType") != "application/vnd.microsoft.card.adaptive" || card.(map[string]any)["type"] != "AdaptiveCard" {
				t.Errorf("body: %s", c.body)
			}
			blocks, _ := deep(t, c.body, "attachments", 0, "content", "body").([]any)
			texts := ""
			for i := range blocks {
				if deep(t, c.body, "attachments", 0, "content", "body", i, "type") != "RichTextBlock" || deep(t, c.body, "attachments", 0, "content", "body", i, "inlines", 0, "type") != "TextRun" {
					t.Errorf("block %d has markup: %s", i, c.body)
				}
				text, _ := deep(t, c.body, "attachments", 0, "content", "body", i, "inlines", 0, "text").(string)
				texts += text + "\n"
			}
			has(t, texts, "[Punctual] Failed: nightly <b>report</b>\n", evil, "https://evil.example.com")
			actions, _ := deep(t, c.body, "attachments", 0, "content", "actions").([]any)
			if len(actions) != 1 || deep(t, c.body, "attachments", 0, "content", "actions", 0, "url") != fmt.Sprintf("https://punctual.test/runs/%d", run) {
				t.Errorf("links, of which only ours is wanted: %v", actions)
			}
		}},
		{"a generic receiver, signed", KindWebhook, "SECabc", "", func(t *testing.T, c call, run int64) {
			if got, want := c.header.Get(HeaderSignature), "t="+seconds+",v1="+hex.EncodeToString(sign("SECabc", seconds+"."+string(c.body))); got != want {
				t.Errorf("signature %s, want %s", got, want)
			}
			if c.header.Get("Content-Type") != "application/json; charset=utf-8" || c.header.Get(HeaderDelivery) == "" {
				t.Errorf("header: %v", c.header)
			}
			var got hookBody
			if err := json.Unmarshal(c.body, &got); err != nil {
				t.Fatal(err)
			}
			if got.ID != c.header.Get(HeaderDelivery) || len(got.Alarms) != 1 {
				t.Fatalf("body: %s", c.body)
			}
			at := noon.Format(time.RFC3339)
			want := hookAlarm{Cause: "failed", JobID: got.Alarms[0].JobID, JobName: "nightly <b>report</b>", Group: "Orders (orders)", LogID: run, Count: 1,
				FirstAt: at, LastAt: at, Detail: evil + "\nhttps://evil.example.com", URL: fmt.Sprintf("https://punctual.test/runs/%d", run)}
			if diff := cmp.Diff(want, got.Alarms[0]); diff != "" {
				t.Errorf("alarm (-want +got):\n%s", diff)
			}
		}},
	}
	for _, kind := range Kinds() {
		if kind.call != nil && kind.Kind != KindTelegram && kind.Kind != KindPagerDuty && !slices.ContainsFunc(tests, func(tt provider) bool { return tt.kind == kind.Kind }) {
			t.Errorf("%s has no case here", kind.Kind) // these two have conversations of their own: telegram_test.go, pagerduty_test.go
		}
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, dbtest.New(t, db.SQLite), nil)
			r := newReceiver(t, true, says(200, test.answer))
			id := b.addChannel(Channel{Name: "chat", Kind: test.kind, Settings: Settings{URL: r.URL + "/robot/send?token=t0ken-0123456789", Secret: test.secret}})
			run := b.raise(b.job, scheduler.AlarmFailed, evil+"\nhttps://evil.example.com")
			b.work()
			calls := r.received()
			if len(calls) != 1 {
				t.Fatalf("%d calls; %+v", len(calls), b.deliveries())
			}
			if calls[0].path != "/robot/send" || b.deliveries()[0].State != Sent {
				t.Errorf("path %s, delivery %+v", calls[0].path, b.deliveries()[0])
			}
			test.check(t, calls[0], run)
			if err := b.a.Test(t.Context(), id); err != nil {
				t.Errorf("test message: %v", err)
			}
		})
	}
}

func has(t *testing.T, got any, want ...string) {
	t.Helper()
	text, _ := got.(string)
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("lacks %q:\n%s", w, text)
		}
	}
}

func TestAWebhookThatRefusesIsTriedAgainAndItsAddressStaysSecret(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		kind   Kind
		answer func(http.ResponseWriter, *http.Request)
		want   string
	}{
		{"DingTalk's own code", KindDingTalk, says(200, `{"errcode":310000,"errmsg":"sign not match, t0ken-0123456789"}`), "310000 sign not match, ***"},
		{"WeCom's own code", KindWeCom, says(200, `{"errcode":93000,"errmsg":"invalid webhook url"}`), "93000 invalid webhook url"},
		{"Feishu's own code", KindFeishu, says(200, `{"code":19021,"msg":"sign match fail"}`), "19021 sign match fail"},
		{"Feishu's older code", KindFeishu, says(200, `{"StatusCode":9499,"StatusMessage":"Bad Request"}`), "9499 Bad Request"},
		{"an answer that is none", KindDingTalk, says(200, `<html>login`), "not understood: <html>login"},
		{"an error status", KindSlack, says(404, "no_service for t0ken-0123456789"), "404: no_service for ***"},
		{"a redirect", KindSlack, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.com/elsewhere", http.StatusTemporaryRedirect)
		}, "307: it redirects"},
		{"an endless answer", KindDingTalk, func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat([]byte{'x'}, 4096)); err != nil {
					return
				}
			}
		}, "not understood"},
		{"a connection that breaks", KindWebhook, func(w http.ResponseWriter, _ *http.Request) {
			panic(http.ErrAbortHandler)
		}, "call the webhook: broken: EOF"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, dbtest.New(t, db.SQLite), nil)
			r := newReceiver(t, false, test.answer)
			id := b.addChannel(Channel{Name: "chat", Kind: test.kind, Settings: Settings{URL: r.URL + "/hook/t0ken-0123456789?key=t0ken-0123456789"}})
			b.raise(b.job, scheduler.AlarmFailed, "boom")
			b.work()
			d := b.deliveries()[0]
			if d.State != Waiting || d.Tries != 1 || !strings.Contains(d.Error.English(), test.want) {
				t.Errorf("delivery %+v, want an error with %q", d, test.want)
			}
			if shown := d.Error.In(texts.Printer(locales.Chinese)); !strings.Contains(shown, "Webhook") || strings.ContainsAny(shown, "[]!") {
				t.Errorf("%q is in Chinese %q", d.Error, shown)
			}
			c, err := b.a.Channel(t.Context(), id)
			if err != nil || !c.Broken() {
				t.Errorf("channel %+v, %v", c, err)
			}
			err = b.a.Test(t.Context(), id)
			if err == nil {
				t.Fatal("the test message succeeds")
			}
			for _, text := range []string{string(d.Error), string(c.LastError), err.Error(), b.log.String()} {
				if strings.Contains(text, "t0ken") {
					t.Errorf("the token shows: %s", text)
				}
			}
			// Repaired: what waits goes at once, not at its next time.
			r.mu.Lock()
			r.answer = says(200, map[Kind]string{KindDingTalk: `{"errcode":0}`, KindWeCom: `{"errcode":0}`, KindFeishu: `{"code":0}`}[test.kind])
			r.mu.Unlock()
			c.Name = "repaired"
			if err := b.a.UpdateChannel(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			b.work()
			if d := b.deliveries()[0]; d.State != Sent {
				t.Errorf("delivery after the repair: %+v", d)
			}
		})
	}
}

func TestAWebhookThatHangsIsLeftInTime(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), func(c *Config) { c.SendTimeout = 100 * time.Millisecond })
	release := make(chan struct{})
	r := newReceiver(t, false, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	b.addChannel(Channel{Name: "hangs", Kind: KindWebhook, Settings: Settings{URL: r.URL}})
	b.raise(b.job, scheduler.AlarmFailed, "boom")
	b.work()
	d := b.deliveries()[0]
	if said := d.Error.In(texts.Printer(locales.Chinese)); d.State != Waiting || !strings.HasPrefix(said, "无法访问 Webhook，未在限定时间内应答：") {
		t.Errorf("delivery: %+v, in Chinese %q", d, said)
	}
}

func TestPrivateAddressesCanBeRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, dbtest.New(t, db.SQLite), func(c *Config) { c.DenyPrivate = true })
	r := newReceiver(t, false, says(200, ""))
	for _, url := range []string{r.URL, strings.Replace(r.URL, "127.0.0.1", "localhost", 1)} {
		id, err := b.a.CreateChannel(t.Context(), Channel{Name: url, Kind: KindWebhook, Settings: Settings{URL: url}})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.a.Test(t.Context(), id); err == nil || !strings.Contains(err.Error(), "private") {
			t.Errorf("%s: %v", url, err)
		}
	}
	if n := len(r.received()); n != 0 {
		t.Errorf("%d calls arrived", n)
	}
}

func TestFillTemplate(t *testing.T) {
	t.Parallel()
	full := hookBody{ID: "9", Title: `say "hi"`, Text: "a\nb", Alarms: []hookAlarm{{Cause: "failed", JobID: 12, JobName: `x","admin":true,"y":"`, Count: 3}}}
	tests := []struct{ name, template, want, problem string }{
		{"strings and numbers", `{"t":"{{title}}","n":{{count}},"j":{{ .jobId }}}`, `{"t":"say \"hi\"","n":3,"j":12}`, ""},
		{"a name that wants to break out", `{"job":"{{jobName}}"}`, `{"job":"x\",\"admin\":true,\"y\":\""}`, ""},
		{"line breaks", `{"text":"{{text}}"}`, `{"text":"a\nb"}`, ""},
		{"a value is not a template", `{"t":"{{title}}{{cause}}"}`, `{"t":"say \"hi\"failed"}`, ""},
		{"an unknown name", "{\n\"t\":\"{{password}}\"}", "", "unknown placeholder password (2)"},
		{"not JSON", `{"t":{{title}}}`, "", "not JSON"},
		{"Go's constructs mean nothing", `{"t":"{{range .alarms}}"}`, `{"t":"{{range .alarms}}"}`, ""},
	}
	for _, test := range tests {
		got, err := fillTemplate(test.template, &full)
		if test.problem != "" {
			if err == nil || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("%s: %v, want %q", test.name, err, test.problem)
			}
			continue
		}
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s, %v, want %s", test.name, got, err, test.want)
		}
	}
}

func TestABusyWebhookSaysWhenToComeAgain(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		status int
		header string
		want   time.Duration
	}{
		"seconds":             {429, "120", 2 * time.Minute},
		"a moment":            {503, "Mon, 02 Mar 2026 12:00:30 GMT", 30 * time.Second},
		"a moment that is by": {503, "Mon, 02 Mar 2026 11:00:00 GMT", time.Second},
		"a day is too long":   {429, "86400", time.Hour},
		"nothing":             {429, "", 0},
		"nonsense":            {429, "soon", 0},
		"another failure":     {500, "120", 0},
	}
	for name, tt := range tests {
		res := &http.Response{StatusCode: tt.status, Header: http.Header{"Retry-After": {tt.header}}}
		if got := webclient.RetryAfter(res, now); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// TestAReceiverThatIsBusyForAnHourLosesNothing: a proxy before a receiver that is away asks for a few seconds each time, in which an outage is not over.
func TestAReceiverThatIsBusyForAnHourLosesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		var away atomic.Bool
		away.Store(true)
		r := newReceiver(t, false, func(w http.ResponseWriter, _ *http.Request) {
			if away.Load() {
				w.Header().Set("Retry-After", "5")
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		b.addChannel(Channel{Name: "hook", Kind: KindWebhook, Settings: Settings{URL: r.URL}})
		b.raise(b.job, scheduler.AlarmFailed, "boom")
		for b.clock.now().Before(noon.Add(time.Hour)) {
			b.work()
			if d := b.deliveries()[0]; d.State != Waiting {
				t.Fatalf("after %s and %d tries it is %d", b.clock.now().Sub(noon), d.Tries, d.State)
			}
			b.clock.add(15 * time.Second)
		}
		away.Store(false)
		b.work()
		if d := b.deliveries()[0]; d.State != Sent {
			t.Errorf("once the receiver is there: %+v", d)
		}
		// It is away for good.
		away.Store(true)
		b.raise(b.addJob("another", ""), scheduler.AlarmFailed, "boom")
		from := b.clock.now()
		for b.deliveries()[0].State != GivenUp {
			b.work()
			b.clock.add(time.Minute)
			if b.clock.now().Sub(from) > 11*time.Hour {
				t.Fatalf("still tried: %+v", b.deliveries()[0])
			}
		}
		if lasted := b.clock.now().Sub(from); lasted < 10*time.Hour {
			t.Errorf("given up after %s", lasted)
		}
	})
}

// TestABusyReceiverIsLeftAloneForAsLongAsItAsks, with other messages as well.
func TestABusyReceiverIsLeftAloneForAsLongAsItAsks(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		r := newReceiver(t, false, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		b.addChannel(Channel{Name: "hook", Kind: KindWebhook, Settings: Settings{URL: r.URL}})
		b.raise(b.job, scheduler.AlarmFailed, "boom")
		b.work()
		b.raise(b.addJob("another", ""), scheduler.AlarmFailed, "boom")
		for _, step := range []struct {
			later time.Duration
			calls int
		}{{0, 1}, {60 * time.Second, 1}, {59 * time.Second, 1}, {time.Second, 2}} {
			b.clock.add(step.later)
			b.work()
			if n := len(r.received()); n != step.calls {
				t.Errorf("%s later there were %d calls, want %d", b.clock.now().Sub(noon), n, step.calls)
			}
		}
	})
}

// TestABusyReceiverHasItsTimeFromTheFirstTry: what was put off by quiet hours, or is tried anew by hand, is old already when it is tried first.
func TestABusyReceiverHasItsTimeFromTheFirstTry(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		var away atomic.Bool
		away.Store(true)
		r := newReceiver(t, false, func(w http.ResponseWriter, _ *http.Request) {
			if away.Load() {
				w.Header().Set("Retry-After", "5")
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		b.addChannel(Channel{Name: "hook", Kind: KindWebhook, Settings: Settings{URL: r.URL}, QuietFrom: 23 * 60, QuietTo: 22 * 60, QuietMode: QuietQueue})
		b.raise(b.job, scheduler.AlarmFailed, "boom")
		b.work()
		// It is asked for an hour a day, and is as busy each time.
		first := noon.Add(10 * time.Hour)
		for day := 0; b.deliveries()[0].State == Waiting; day++ {
			from := first.AddDate(0, 0, day)
			for b.clock.set(from); b.clock.now().Sub(from) <= time.Hour; b.clock.add(time.Minute) {
				b.work()
				if d := b.deliveries()[0]; day < 10 && d.State != Waiting {
					t.Fatalf("on day %d, after %s and %d tries, it is %d", day, b.clock.now().Sub(from), d.Tries, d.State)
				}
			}
			if day > 10 {
				t.Fatal("it is still tried")
			}
		}
		b.clock.set(first.AddDate(0, 0, 11))
		if err := b.a.Retry(t.Context(), b.deliveries()[0].ID); err != nil {
			t.Fatal(err)
		}
		for range 30 {
			b.work()
			b.clock.add(time.Minute)
		}
		away.Store(false)
		b.work()
		if d := b.deliveries()[0]; d.State != Sent {
			t.Errorf("once the receiver is there: %+v", d)
		}
	})
}
