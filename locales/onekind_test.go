package locales

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TestOneWordForOneThing: a thing has one word, which the glossary names, and English is no other language word by word. What people may
// search for is under palette.also. Whoever reads is 您.
func TestOneWordForOneThing(t *testing.T) {
	t.Parallel()
	for lang, others := range map[string][]string{
		Chinese:     {"报警", "终止任务", "回填", "过期补偿", "触发对账", "未来领取", "启动其他任务", "处理器", "准时自带", "短横", "关键字", "执行结果", "下次执行", "调度中心处理到", "延迟 P99", "星期一", "星期五", "星期日", "……", "你"},
		Traditional: {"報警", "終止任務", "回填", "觸發對帳", "未來領取", "啟動其他任務", "筆排程等", "處理器名稱", "通道", "存取權杖", "略過", "計劃", "表達式", "駁回", "批准", "簽名", "“", "工作流程的", "指令碼", "命令的", "這些命令", "步長", "短橫", "程式庫", "審批", "等待核准", "關鍵詞", "操作人", "接收方", "級別", "鏈路", "下線", "依逾期策略", "的逾期策略", "延遲 P99", "星期一", "星期五", "星期日", "日曆", "視窗的", "……", "你", "妳"},
		English:     {"Picked", "picked jobs", "picked runs", "As a table", `"Took`, "Going on", "anew after", "What fell in", "no longer counts", "counts for nothing", "2006-01-02", "Pick ", "Go on\"", "Take back", "Take out", "Put back", "Let it in", "Keep it out", "hears of", "Looked after by", "If it still runs", "When there are that many", "}} %", "99 %", "Delay p99", "outing strateg", "this admin", "its admin was", "its admin ended", "As a list"},
	} {
		for key, message := range messages(t, lang) {
			raw, _ := json.Marshal(message)
			for _, other := range others {
				if strings.Contains(string(raw), other) && !strings.HasPrefix(key, "palette.also.") {
					t.Errorf("%s: %s says %q: %s", lang, key, other, raw)
				}
			}
		}
	}
}

// TestWhatRunsHasOneWord: what English calls running is 运行中 (執行中) everywhere. 进行中 (進行中) is what is under way, sent or not yet.
func TestWhatRunsHasOneWord(t *testing.T) {
	t.Parallel()
	running := regexp.MustCompile(`(?i)\brunning\b`)
	english := messages(t, English)
	for lang, other := range map[string]string{Chinese: "进行中", Traditional: "進行中"} {
		for key, message := range messages(t, lang) {
			said, _ := json.Marshal(message)
			if original, _ := json.Marshal(english[key]); strings.Contains(string(said), other) && running.Match(original) {
				t.Errorf("%s: %s: %s is %s", lang, key, original, said)
			}
		}
	}
}

// TestOneWordForOneDeed: a deed that English names with one word has one in each Chinese too, whatever it is done to. What is made is
// 创建 (建立); the button and the page that lead there are 新建 (新增). 新增 in the Chinese of the mainland is what came to a list by itself.
func TestOneWordForOneDeed(t *testing.T) {
	t.Parallel()
	deeds := []struct{ english, simplified, traditional string }{
		{"Approve", "批准", "核准"}, {"Acknowledge", "认领", "認領"}, {"Backfill", "补跑", "補跑"}, {"Compare", "对比", "比較"}, {"Copy", "复制", "複製"}, {"Create", "创建", "建立"},
		{"Created", "创建", "建立"}, {"Delete", "删除", "刪除"}, {"Download", "下载", "下載"}, {"Edit", "编辑", "編輯"}, {"Export", "导出", "匯出"}, {"Import", "导入", "匯入"},
		{"Kill", "终止", "終止"}, {"Move", "移", "移"}, {"Select", "选中", "選取"}, {"Reject", "驳回", "退回"}, {"Reset", "重置", "重設"}, {"Restore", "恢复", "恢復"}, {"Revoke", "吊销", "撤銷"},
		{"Save", "保存", "儲存"}, {"Stop", "停止", "停止"},
	}
	english, simplified, traditional := messages(t, English), messages(t, Chinese), messages(t, Traditional)
	text := func(message any) string {
		raw, _ := json.Marshal(message)
		return string(raw)
	}
	for key, message := range english {
		said, ok := message.(string)
		if !ok || strings.HasPrefix(key, "palette.also.") {
			continue
		}
		if strings.Contains(said, "approve") && strings.Contains(said, "reject") && (!strings.Contains(text(simplified[key]), "批准") || !strings.Contains(text(simplified[key]), "驳回") || !strings.Contains(text(traditional[key]), "退回")) {
			t.Errorf("%s: %q is %s and %s: the buttons say 批准, 驳回 and 退回", key, said, text(simplified[key]), text(traditional[key]))
		}
		first, _, _ := strings.Cut(said, " ")
		for _, d := range deeds {
			if strings.TrimRight(first, ".,:…") != d.english {
				continue
			}
			if !strings.Contains(text(simplified[key]), d.simplified) || !strings.Contains(text(traditional[key]), d.traditional) {
				t.Errorf("%s: %q is %s and %s, want %s and %s", key, said, text(simplified[key]), text(traditional[key]), d.simplified, d.traditional)
			}
		}
	}
	arrived := []string{"apitokens.groups.help", "flow.change.added", "live.new", "users.rights.all.help", "webhooks.section.types.text"}
	for key, message := range simplified {
		if said := text(message); !strings.HasPrefix(key, "palette.also.") && (strings.Contains(said, "新增") && !slices.Contains(arrived, key) || strings.Contains(said, `"确定删除`)) {
			t.Errorf("%s: %s", key, said)
		}
	}
	for key, message := range traditional {
		if said := strings.ReplaceAll(text(message), "重新建", ""); strings.Contains(said, "新建") || strings.Contains(said, `"確定刪除`) {
			t.Errorf("%s: %s", key, said)
		}
	}
}

// TestOneIsNotMany: where a number can be one, the English noun behind it has two forms, or stands before it.
func TestOneIsNotMany(t *testing.T) {
	t.Parallel()
	// Limits, ranges that are offered, and numbers of which there are several: {{.Of}} of {{.All}}, and what is only said of more than one.
	always := regexp.MustCompile(`\{\{\.(Max|Min|All|Len)\}\}`)
	several := []string{"alarms.open.more", "api.token", "clear.preview.about", "cron.error.field_count", "dashboard.count.range", "dashboard.count.share", "dashboard.range.days", "flow.error.items", "forecast.days", "forecast.none", "groups.flash.enabled", "import.error.ambiguous",
		"import.script", "job.failing.more", "jobs.flash.broadcast", "jobs.show.due.wrong", "jobs.sorted.ends", "legacy.error.rows", "nodes.condition.", "nodes.output.", "problem.timeline.long", "runs.kill.scope.", "slow.text"}
	many := regexp.MustCompile(`\{\{\.\w+\}\} (?:\w+ )?(runs|jobs|fires|days|seconds|minutes|hours|times|executors|steps|items|users|addresses|lines|events|nodes|fields|characters|messages|deliveries|outputs|rows)\b`)
	for key, message := range messages(t, English) {
		said, plain := message.(string)
		if !plain || slices.ContainsFunc(several, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			continue
		}
		for _, found := range many.FindAllString(said, -1) {
			if !always.MatchString(found) {
				t.Errorf("%s: %q of one is %q", key, said, found)
			}
		}
	}
}

// TestAFieldOfAJobHasOneName: the form, the description of API v1 and the command line take a field's name from one place; the audit log, and the
// lists of changes, which show bare numbers, have the same and the unit behind it.
func TestAFieldOfAJobHasOneName(t *testing.T) {
	t.Parallel()
	for _, lang := range Languages() {
		words := messages(t, lang)
		for _, f := range jobspec.Fields {
			label, audited := words[f.Label].(string), words["audit.field."+f.Column]
			if audited == nil || f.Column == "job_group" || f.Of == jobspec.FieldScheduleType { // its id; the cron text, the seconds and the moment are in one column
				continue
			}
			if rest, ok := strings.CutPrefix(audited.(string), label); !ok || rest != "" && !strings.HasPrefix(rest, " (") && !strings.HasPrefix(rest, "（") {
				t.Errorf("%s: %s is %q in the form and %q in the audit log", lang, f.Name, label, audited)
			}
		}
	}
}

// TestChinesePunctuation: a Chinese text has the marks of Chinese, and no blank beside them.
func TestChinesePunctuation(t *testing.T) {
	t.Parallel()
	faults := regexp.MustCompile(`[。；，：？！、）」”] [^ ]|[^ ] [。；，：？！、（）]|\p{Han}[,;!?](?: |$|\p{Han})|\p{Han}: |\([^()]*\p{Han}[^()]*\)|…{2}`)
	literal := []string{"alarms.field.body", "job.error.planned.whole"} // what has to be typed like this
	for _, lang := range []string{Chinese, Traditional} {
		for key, message := range messages(t, lang) {
			forms := map[string]any{"": message}
			if plural, ok := message.(map[string]any); ok {
				forms = plural
			}
			for _, form := range forms {
				if at := faults.FindString(form.(string)); at != "" && !slices.Contains(literal, key) && !strings.HasPrefix(key, "palette.") {
					t.Errorf("%s: %s has %q: %s", lang, key, at, form)
				}
			}
		}
	}
}

// TestPeopleLogIn: the English console has one word for it, and the Chinese one for what is asked for besides the password.
func TestPeopleLogIn(t *testing.T) {
	t.Parallel()
	for language, other := range map[string]*regexp.Regexp{
		English: regexp.MustCompile(`(?i)\bsign(s|ed|ing)? (in|out)\b|\bsign-in\b [^f]`), "zh-CN": regexp.MustCompile(`第二重|二次验证`), "zh-TW": regexp.MustCompile(`第二重|二次驗證`),
	} {
		for key, message := range messages(t, language) {
			if raw, _ := json.Marshal(message); !strings.HasPrefix(key, "palette.also.") && other.Match(raw) {
				t.Errorf("%s: %s", key, raw)
			}
		}
	}
}
