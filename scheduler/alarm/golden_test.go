package alarm

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/db/dbtest"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/event"
)

var update = flag.Bool("update", false, "write the golden files anew")

// sample is a message made by hand: notices of the given causes, an hour apart.
func sample(lang string, causes ...string) *message {
	m := &message{id: "7", lang: lang, recipient: "a@example.com", words: catalogue(lang), zone: dbtest.Zone, all: "https://punctual.test/alarms/open"}
	for i, cause := range causes {
		at := noon.UnixMilli() + int64(i)*3_600_000
		it := item{job: "夜间对账 <nightly>", group: "Orders (orders)", link: link(12, 4711+int64(i)), notice: db.AlarmNotice{
			ID: int64(i), JobID: 12, JobGroup: 1, Cause: cause, EventCount: 1, LogID: 4711 + int64(i), FirstAt: at, LastAt: at,
			Detail: "java.lang.IllegalStateException: <b>no</b> connection\n\tat com.example.Orders.run(Orders.java:42)",
		}}
		switch cause {
		case "timeout":
			it.notice.EventCount, it.notice.FollowUp, it.notice.LastAt = 23, 1, at+290_000
		case "recovered":
			it.notice.EventCount, it.notice.Detail = 24, ""
		case "dispatch":
			it.notice.Detail, it.notice.Events = "", db.Text(event.List{
				event.New(noon.Add(-time.Second), event.Claimed, "admin-1", 3),
				event.New(noon, event.Routed, "FAILOVER", "http://10.0.0.1:9999/", 2),
				event.New(noon.Add(3*time.Second), event.Unreachable, "http://10.0.0.1:9999/", 3*time.Second, wire.FaultConnect, "dial tcp 10.0.0.1:9999: i/o timeout <1>"),
				event.New(noon.Add(3*time.Second), event.NoRetry),
			}.Encode())
		case "deadline":
			it.notice.Detail, it.notice.Events = "", db.Text(event.List{
				event.New(noon, event.DueBy, noon.Add(30*time.Minute), noon.Add(41*time.Minute), 20*time.Minute),
			}.Encode())
		case "silent":
			it.notice.LogID, it.link = 0, ""
		}
		m.items = append(m.items, it)
	}
	return m
}

func TestMailsLookAsTheyDid(t *testing.T) {
	t.Parallel()
	all := []string{"failed", "timeout", "lost", "dispatch", "misfire", "slow", "silent", "deadline", "recovered"}
	tests := make(map[string]*message)
	for _, lang := range locales.Languages() {
		for name, causes := range map[string][]string{
			"failed": {"failed"}, "timeout": {"timeout"}, "dispatch": {"dispatch"}, "deadline": {"deadline"}, "recovered": {"recovered"}, "many": all, "quiet": all, "test": nil,
		} {
			tests[name+"."+lang] = sample(lang, causes...)
		}
	}
	for name, m := range tests {
		m.counted, m.test = strings.HasPrefix(name, "quiet"), strings.HasPrefix(name, "test")
		html, err := m.html()
		if err != nil {
			t.Fatal(err)
		}
		for ending, got := range map[string]string{".txt": m.title() + "\n\n" + m.plain(maxMailText) + "\n", ".html": html} {
			if strings.Contains(got, "<no value>") || strings.Contains(got, "!alarm.") || strings.Contains(got, "!mail.") {
				t.Errorf("%s%s: a text is missing:\n%s", name, ending, got)
			}
			file := filepath.Join("testdata", name+ending)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s%s (-want +got):\n%s", name, ending, diff)
			}
		}
	}
}

// TestAHeapOfAlarmsLeadsToThoseThatAreOpen: who is woken by many chooses there, also where the end of the list is cut off; a heap of good news
// needs no such place, and neither does one alarm, which has its own link.
func TestAHeapOfAlarmsLeadsToThoseThatAreOpen(t *testing.T) {
	t.Parallel()
	m := sample("zh-CN", slices.Repeat([]string{"failed"}, 40)...)
	const head = "未恢复的告警\nhttps://punctual.test/alarms/open\n\n- 运行失败：夜间对账"
	for _, limit := range []int{maxWeCom, maxMailText} {
		if got := m.plain(limit); !strings.HasPrefix(got, head) {
			t.Errorf("limit %d: begins with %.120q", limit, got)
		}
	}
	for name, m := range map[string]*message{"one": sample("zh-CN", "failed"), "good news": sample("zh-CN", "recovered", "recovered")} {
		if got := m.plain(maxMailText); strings.Contains(got, m.all) {
			t.Errorf("%s: %s", name, got)
		}
	}
	for kind, call := range map[string]callBuilder{"feishu": feishu, "teams": teams} {
		got, err := call(&Settings{URL: "https://chat.test"}, m, noon)
		if err != nil || strings.Count(string(got.body), `"https://punctual.test/alarms/open"`) == 0 {
			t.Errorf("%s has no link: %v, %.300s", kind, err, got.body)
		}
	}
}

func TestPlainKeepsTheLinkWhenItMustBeShort(t *testing.T) {
	t.Parallel()
	m := sample("zh-CN", "failed")
	m.items[0].notice.Detail = strings.Repeat("很长的输出 ", 500)
	for _, limit := range []int{500, 1000, maxWeCom, 20_000} {
		got := m.plain(limit)
		if len(got) > limit || !strings.HasSuffix(got, "https://punctual.test/runs/4711") {
			t.Errorf("limit %d: %d bytes, ends with %q", limit, len(got), got[len(got)-60:])
		}
	}
}

func TestLongTextsKeepBothEnds(t *testing.T) {
	t.Parallel()
	for _, middle := range []string{strings.Repeat("x", 5000), strings.Repeat("很", 5000), strings.Repeat("\xff", 5000)} {
		got := bothEnds("first line\n" + middle + "\nlast line")
		if len(got) > maxDetail || !utf8.ValidString(got) || !strings.HasPrefix(got, "first line\n") || !strings.HasSuffix(got, "\nlast line") {
			t.Errorf("%d bytes: %.40q … %q", len(got), got, got[len(got)-20:])
		}
	}
	if got := bothEnds("short"); got != "short" {
		t.Errorf("got %q", got)
	}
}
