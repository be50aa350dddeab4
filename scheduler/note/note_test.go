package note

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/punctual-job/punctual/locales"
)

func TestMessagesBecomeText(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"our own lines stay", "admin: a\nresult: <b>x</b> & y", "admin: a\nresult: <b>x</b> & y"},
		{"a stack trace keeps its generics", "Map<String, List<Integer>> at x", "Map<String, List<Integer>> at x"},
		{"upstream's markup becomes lines", `调度机器：1<br><br><span style="color:#00c0ef;" > >>>>触发调度<<<< </span><br>路由策略：第一个`, "调度机器：1\n>>>>触发调度<<<<\n路由策略：第一个"},
		{"entities are read", "a &lt;ok&gt; &amp; b<br>", "a <ok> & b"},
		{"a script is only text without its tags", `<br><script>alert(1)</script>`, "alert(1)"},
		{"an event handler goes with its tag", `x<br><img src=x onerror=alert(1)>y`, "x\ny"},
	}
	for _, tt := range tests {
		if got := Plain(tt.in); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestNotesAreTranslated(t *testing.T) {
	t.Parallel()
	c := locales.New()
	message := "trigger type: CRON\nroute strategy: ROUND\nplanned: 10:00\nsomething else: x\nresult: 200 Success: ok"
	want := map[string][]string{
		locales.English: {"Trigger: Schedule", "Route strategy: Round robin", "Planned: 10:00", "something else: x", "Result: 200 Success: ok"},
		locales.Chinese: {"触发类型：定时触发", "路由策略：轮询", "计划时间：10:00", "something else: x", "结果：200 Success: ok"},
	}
	for lang, lines := range want {
		if diff := cmp.Diff(lines, Translated(c.Printer(lang), Lines(message))); diff != "" {
			t.Errorf("%s: %s", lang, diff)
		}
	}
	p := c.Printer(locales.English)
	for key, message := range keys {
		if text := p.T(message, "Value", "v"); strings.HasPrefix(text, "!") || !strings.Contains(text, "v") {
			t.Errorf("%s: %s", key, text)
		}
	}
	if got := Translated(p, Lines("route strategy: NEW_ONE")); got[0] != "Route strategy: NEW_ONE" {
		t.Errorf("an unknown strategy: %v", got)
	}
}

func TestFollowersAreRead(t *testing.T) {
	t.Parallel()
	got := Followers("exit code 1\nretry: job 5, run 77\nchild: job 6, run 78\nchild: job 9 does not exist\nsay: retry: job 5, run 99")
	if want := []int64{77, 78}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := Followers(strings.Repeat("child: job 1, run 2\n", 1000)); len(got) != maxFollows {
		t.Errorf("%d followers", len(got))
	}
}
