package alarm

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/invalid"
)

// TestAChannelsOwnWords: of messages about one alarm, each kind with what its server would read as more than text made harmless. What a job is called, and
// what its executor said, is not read as a template.
func TestAChannelsOwnWords(t *testing.T) {
	t.Parallel()
	m := sample("en", "failed")
	m.subject, m.text = "{{causeName}}: {{jobName}}", "<!channel> in {{ .group }}\n{{url}}\n{{detail}}"
	m.items[0].notice.Detail = "@all {{title}} <b>no</b>"
	const title = "Failed: 夜间对账 <nightly>"
	if got := m.title(); got != title {
		t.Errorf("the title is %q", got)
	}
	url := m.items[0].link
	want := "<!channel> in Orders (orders)\n" + url + "\n@all {{title}} <b>no</b>"
	if diff := cmp.Diff(want, m.plain(1000)); diff != "" {
		t.Errorf("the text: %s", diff)
	}
	body := func(call *webCall, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return call.body
	}
	s := &Settings{URL: "https://chat.test/"}
	if got := deep(t, body(slack(s, m, noon)), "text"); got != "Failed: 夜间对账 &lt;nightly&gt;\n&lt;!channel&gt; in Orders (orders)\n"+url+"\n@all {{title}} &lt;b&gt;no&lt;/b&gt;" {
		t.Errorf("Slack gets %q", got)
	}
	if got := deep(t, body(weCom(s, m, noon)), "text", "content"); got != title+"\n"+want {
		t.Errorf("WeCom gets %q", got)
	}
	post := body(feishu(s, m, noon))
	if got := deep(t, post, "content", "post", "en_us", "content", 0, 0, "tag"); got != "text" {
		t.Errorf("Feishu gets %s", post)
	}
	if got := deep(t, post, "content", "post", "en_us", "content", 1, 0, "href"); got != url {
		t.Errorf("Feishu gets %s", post)
	}
	if got := deep(t, body(telegram(&Settings{URL: telegramAPI}, m, noon)), "text"); !strings.Contains(fmt.Sprint(got), "@\u2060all") {
		t.Errorf("Telegram gets %q", got)
	}
	html, err := m.html()
	if err != nil || !strings.Contains(html, "&lt;!channel&gt; in Orders (orders)") || strings.Contains(html, "<b>no</b>") || strings.Contains(html, "white-space:nowrap") {
		t.Errorf("the mail is %v %s", err, html)
	}
	m.text = "{{detail}}"
	m.items[0].notice.Detail = strings.Repeat("x", 100_000)
	if got := m.plain(2000); len(got) > 2000 {
		t.Errorf("the text has %d bytes", len(got))
	}
	m.subject = "{{runbook}}" // of a job without one
	if got := m.title(); got != "[Punctual] Failed: 夜间对账 <nightly>" {
		t.Errorf("a title of nothing is %q", got)
	}
	for name, change := range map[string]func(*message){
		"several alarms":  func(m *message) { m.items = append(m.items, m.items[0]) },
		"a number":        func(m *message) { m.counted = true },
		"an escalation":   func(m *message) { m.minutes = 30 },
		"no words at all": func(m *message) { m.subject, m.text = "", "" },
	} {
		other := sample("en", "failed")
		other.subject, other.text = "mine {{id}}", "mine"
		change(other)
		if strings.Contains(other.title()+other.plain(1000), "mine") {
			t.Errorf("%s: %s %s", name, other.title(), other.plain(1000))
		}
	}
}

func TestFaultsOfWordsNameTheirLine(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, subject, text, field, code, says string }{
		{"a name nobody knows", "{{jobb}}", "", FieldSubject, CodePlaceholder, "jobb (1)"},
		{"two of them", "", "{{title}}\n{{job}}\n\n{{ .Name }}", FieldText, CodePlaceholder, "job (2), Name (4)"},
		{"one without an end", "", "{{title}}\nof {{jobName\n}", FieldText, CodeUnclosed, "2"},
		{"Go's constructs", "", "{{title}}{{range .alarms}}", FieldText, CodeUnclosed, "1"},
		{"too long", strings.Repeat("题", maxSubject+1), "", FieldSubject, CodeTooLong, "200"},
		{"far too long", "", strings.Repeat("文", maxWords+1), FieldText, CodeTooLong, "4,000"},
		{"good ones", "{{causeName}}: {{ .jobName }} }}", "{{title}} {{text}} {{cause}} {{jobId}} {{group}} {{logId}} {{count}} {{alarms}} {{firstAt}} {{lastAt}} {{detail}} {{url}} {{runbook}} {{ack}} {{id}}", "", "", ""},
	}
	for _, test := range tests {
		var v checks
		validWords(&v, &Settings{Subject: test.subject, Text: test.text})
		err := v.err()
		if test.field == "" {
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		refused, ok := errors.AsType[invalid.Fields](err)
		if !ok || len(refused) != 1 || refused[0].Name != test.field || refused[0].Key != test.code {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if text := catalogue("en").T(test.code, refused[0].Args...); !strings.Contains(text, test.says) && !strings.Contains(text, strings.ReplaceAll(test.says, ",", "")) {
			t.Errorf("%s: the message is %q, want %q", test.name, text, test.says)
		}
	}
}

// TestAPreviewAndATestShowTheWords: of the channel's latest message, or of an invented failure before there is one; nothing is sent by a preview.
func TestAPreviewAndATestShowTheWords(t *testing.T) {
	t.Parallel()
	dbtest.Run(t, func(t *testing.T, pool *db.Pool) {
		b := setup(t, pool, nil)
		hook := newReceiver(t, false, says(200, "ok"))
		c := Channel{Name: "chat", Kind: KindSlack, Settings: Settings{URL: hook.URL, Subject: "{{causeName}} {{jobName}}", Text: "said: {{detail}}"}}
		drawn, err := b.a.Preview(t.Context(), c)
		if err != nil || !drawn.At.IsZero() || !strings.HasPrefix(drawn.Title, "Failed Nightly settlement") || !strings.HasPrefix(drawn.Text, "said: java.lang.") {
			t.Errorf("the preview of a new channel is %+v, %v", drawn, err)
		}
		c.ID = b.addChannel(c)
		if drawn, err = b.a.Preview(t.Context(), c); err != nil || !drawn.At.IsZero() {
			t.Errorf("before its first message it is %+v, %v", drawn, err)
		}
		b.raise(b.job, scheduler.AlarmFailed, "ledger closed")
		b.work()
		calls := hook.received()
		if len(calls) != 1 || deep(t, calls[0].body, "text") != "Failed nightly &lt;b&gt;report&lt;/b&gt;\nsaid: ledger closed" {
			t.Fatalf("%d messages: %s", len(calls), calls[len(calls)-1].body)
		}
		c.Settings.Text = "again: {{detail}} {{ack}}"
		if drawn, err = b.a.Preview(t.Context(), c); err != nil || drawn.At.IsZero() || drawn.Title != "Failed nightly <b>report</b>" || !strings.HasPrefix(drawn.Text, "again: ledger closed") {
			t.Errorf("the preview is %+v, %v", drawn, err)
		}
		c.Settings.Text = "{{nothing}}"
		if _, err = b.a.Preview(t.Context(), c); err == nil {
			t.Error("a name nobody knows is drawn")
		}
		if got := len(hook.received()); got != 1 {
			t.Errorf("a preview sent %d messages", got-1)
		}
		if err := b.a.Test(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
		calls = hook.received()
		has(t, deep(t, calls[len(calls)-1].body, "text"), "test", ": Failed Nightly settlement", "said: java.lang.")
		shown, err := b.a.Channel(t.Context(), c.ID)
		if err != nil || shown.Settings.Subject != "{{causeName}} {{jobName}}" {
			t.Errorf("the channel is %+v, %v", shown, err)
		}
	})
}
