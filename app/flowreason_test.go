package app

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
)

// TestWhyAnExpressionHasNoValueIsSaidInTheReadersLanguage: of a step, of an item, of one without a job, and of the run that ended by it. The API says it in English, and
// takes it for no output.
func TestWhyAnExpressionHasNoValueIsSaidInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		admin := open(t, a).mustLogin()
		ex := executortest.New(t, admin.base, executortest.Handlers{
			"work": func(_ context.Context, r *executor.Run) error { r.SetResult("many"); return nil },
		}, func(c *executor.Config) { c.Token, c.AppName = o.AccessToken, "orders" })
		admin.post("/executors", url.Values{"app_name": {"orders"}, "title": {"orders"}, "type": {"manual"}, "addresses": {ex.URL}})
		if got := admin.post("/jobs", form(url.Values{"name": {"the work"}, "handler": {"work"}, "schedule_type": {"NONE"}, "cron": {""}})); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.body)
		}
		source := `on_failure: continue
steps:
  - {id: first, job: 1}
  - id: each
    needs: first
    job: 1
    foreach: {items: "[1]"}
    parameter: "${{ item - steps.first.message }}"
  - id: last
    needs: first
    if: steps.first.message > 3
    job: 1
  - {id: gone, needs: first, job: {app_name: orders, description: another}}
`
		if got := admin.post("/jobs", form(url.Values{"name": {"another"}, "handler": {"work"}, "schedule_type": {"NONE"}, "cron": {""}})); got.status != http.StatusSeeOther {
			t.Fatalf("create: %d %s", got.status, got.body)
		}
		if got := admin.post("/jobs", form(url.Values{"name": {"counted"}, "glue": {"FLOW"}, "handler": {""}, "source": {source}, "schedule_type": {"NONE"}, "cron": {""}})); got.status != http.StatusSeeOther {
			t.Fatalf("create the flow: %d %s", got.status, got.body)
		}
		if got := admin.post("/jobs/2/delete", url.Values{}); got.status != http.StatusSeeOther {
			t.Fatalf("delete: %d %s", got.status, got.body)
		}
		path := admin.runOnce("/jobs/3", nil)
		executortest.Eventually(t, "it has failed", func() error {
			if class := admin.get(path).document(t).Find("#step-last").AttrOr("class", ""); class != "at-failed" || strings.Contains(admin.get(path).body, "at-running") {
				return fmt.Errorf("the last step is %q", class)
			}
			return nil
		})
		for language, want := range map[string]struct{ step, item, gone string }{
			"en":    {"if (line 11): The expression “steps.first.message > 3” has no value: a text and a number have no order.", "a number and a text cannot be subtracted", "job (line 13): There is no job orders / another."},
			"zh-CN": {"if（第 11 行）：表达式“steps.first.message > 3”无法求值：文本与数字不能比较大小。", "数字与文本不能相减", "job（第 13 行）：任务 orders / another 不存在。"},
			"zh-TW": {"if（第 11 行）：運算式「steps.first.message > 3」無法求值：文字與數字不能比較大小。", "數字與文字不能相減", "job（第 13 行）：任務 orders / another 不存在。"},
		} {
			in := func(path string) answer { return admin.do("GET", path, nil, "Accept-Language", language) }
			page := in(path)
			doc := page.document(t)
			if got := doc.Find("#step-last .flow-text").Text(); got != want.step || strings.Contains(page.body, "flow.reason") {
				t.Errorf("%s: the step says %q, want %q", language, got, want.step)
			}
			if got := doc.Find("#step-gone .flow-text").Text(); got != want.gone {
				t.Errorf("%s: the step without a job says %q, want %q", language, got, want.gone)
			}
			if items := in(path + "/steps/each"); !strings.Contains(items.document(t).Find("td.message").Text(), want.item) {
				t.Errorf("%s: the item does not say %q", language, want.item)
			}
			if language != "en" && strings.Contains(page.body, "have no order") {
				t.Errorf("%s: the page says it in English too", language)
			}
		}
		reader := &caller{t: t, base: a.Welcome().URL, token: makeToken(t, admin, url.Values{"name": {"reader"}, "scope": {"view"}, "days": {"7"}})}
		got := reader.do("GET", path, "")
		if !strings.Contains(got.body, "a text and a number have no order") || strings.Contains(got.body, `"fault`) ||
			!strings.Contains(got.body, `"code":"flow.error.expr.value"`) || !strings.Contains(got.body, `"code":"flow.error.no_job"`) || strings.Count(got.body, `"code"`) != 2 {
			t.Errorf("API: %d %s", got.status, got.body)
		}
	})
}

// TestWhyAStepDidNotRunIsSaidInTheReadersLanguage: where no executor has said it, of the step, of its flow and of the flow around that, on the page and in the list of runs.
func TestWhyAStepDidNotRunIsSaidInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, o Options) {
		a := start(t, o)
		admin := open(t, a).mustLogin()
		admin.post("/executors", url.Values{"app_name": {"nobody"}, "title": {"Nobody"}, "type": {"auto"}})
		for _, job := range []url.Values{
			{"name": {"the work"}, "handler": {"work"}},
			{"name": {"within"}, "glue": {"FLOW"}, "handler": {""}, "source": {"steps:\n  - {id: deep, job: 1}\n"}},
			{"name": {"around"}, "glue": {"FLOW"}, "handler": {""}, "source": {"steps:\n  - {id: part, flow: 2}\n"}},
		} {
			job["schedule_type"], job["cron"] = []string{"NONE"}, []string{""}
			if got := admin.post("/jobs", form(job)); got.status != http.StatusSeeOther {
				t.Fatalf("create: %d %s", got.status, got.body)
			}
		}
		path := admin.runOnce("/jobs/3", nil)
		executortest.Eventually(t, "it has failed", func() error {
			if doc := admin.get(path).document(t); doc.Find("#step-part.at-failed").Length() == 0 || doc.Find(".why").Length() == 0 {
				return fmt.Errorf("the step is %q", doc.Find("#step-part").AttrOr("class", ""))
			}
			return nil
		})
		inner := admin.get(path).document(t).Find("#step-part a[href^='/runs/']").First().AttrOr("href", "")
		for language, want := range map[string]struct{ deep, part, whole string }{
			"en":    {"Not sent: no executor is registered", "Step deep failed: Not sent: no executor is registered", "Step part / deep failed: Not sent: no executor is registered"},
			"zh-CN": {"未发送：没有已注册的执行器", "步骤 deep 失败：未发送：没有已注册的执行器", "步骤 part / deep 失败：未发送：没有已注册的执行器"},
			"zh-TW": {"未送出：沒有已註冊的執行器", "步驟 deep 失敗：未送出：沒有已註冊的執行器", "步驟 part / deep 失敗：未送出：沒有已註冊的執行器"},
		} {
			in := func(path string) answer { return admin.do("GET", path, nil, "Accept-Language", language) }
			pages := map[string]answer{"the run": in(path), "the run within": in(inner), "the list": in("/runs"), "the job": in("/jobs/3")}
			if got := pages["the run"].document(t).Find("#step-part .flow-text").Text(); got != want.part {
				t.Errorf("%s: the step says %q, want %q", language, got, want.part)
			}
			if got := pages["the run within"].document(t).Find("#step-deep .flow-text").Text(); got != want.deep {
				t.Errorf("%s: the step within says %q, want %q", language, got, want.deep)
			}
			for name, page := range pages {
				if (name != "the run within") != strings.Contains(page.document(t).Text(), want.whole) {
					t.Errorf("%s: %s does not say %q, or that of another", language, name, want.whole)
				}
				if language != "en" && strings.Contains(page.body, "no executor is registered") {
					t.Errorf("%s: %s says it in English too", language, name)
				}
			}
		}
		reader := &caller{t: t, base: a.Welcome().URL, token: makeToken(t, admin, url.Values{"name": {"reader"}, "scope": {"view"}, "days": {"7"}})}
		if got := reader.do("GET", inner, ""); !strings.Contains(got.body, `"code":"noexecutor"`) || strings.Contains(got.body, `"why`) || strings.Contains(got.body, `\"key`) {
			t.Errorf("API: %d %s", got.status, got.body)
		}
	})
}
