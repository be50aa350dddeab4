package locales

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// families are keys put together in the code from a prefix and a value. The values are read where they are declared, so that a
// missing word is found as surely as for a key written out.
var families = withTables(map[string][]string{
	"dashboard.step.":    and([]string{"executor", "job", "alarm", "people"}, ".text"),
	"layout.start.":      {"dashboard", "mine", "jobs", "runs"},
	"jobs.call.as.":      listed("views/jobs", "CallWays"),
	"slow.by.":           listed("views/link", "SlowOrders"),
	"palette.also.":      {"new", "mine", "wall", "dashboard", "jobs", "runs", "failed", "running", "longest", "slowest", "forecast", "timeline", "next", "stopped", "paused", "pauses", "executors", "group", "import", "clear", "openalarms", "alarms", "webhooks", "users", "teams", "calendars", "audit", "nodes", "settings", "tokens", "profile", "second", "help", "docs", "keys"},
	"palette.deed.":      and([]string{"run", "start", "stop", "edit", "pause", "backfill", "runs", "account", "glue", "copy", "delete"}, ".also"),
	"jobs.sort.":         listed("views/link", "JobSorts"),
	"runs.sort.":         listed("views/link", "RunSorts"),
	"timeline.by.":       listed("views/link", "TimelineRows"),
	"timeline.more.":     listed("views/link", "TimelineRows"),
	"jobs.call.":         {"url", "method", "timeout", "body", "body.help", "type", "auth", "headers", "headers.help", "expected", "expected.help", "text", "text.help"},
	"jobs.curl.fault.":   typed("app/manage/curl", "Reason"),
	"jobs.curl.note.":    typed("app/manage/curl", "Kind"),
	"crontab.note.":      typed("app/manage/crontab", "Kind"),
	"signin.error.":      typed("app/auth/directory", "Reason"),
	"webhooks.state.":    typed("scheduler/webhook", "State"),
	"webhooks.reason.":   typed("scheduler/webhook", "Reason"),
	"webhooks.type.":     typed("scheduler/webhook", "Type"),
	"webhooks.delivery.": listed("views/webhooks", "Tabs"),
	"pauses.scope.":      typed("scheduler/jobspec", "PauseScope"),
	"pauses.strategy.":   typed("scheduler/jobspec", "Pausing"),
	"jobs.held.":         typed("scheduler/jobspec", "Pausing"),
	"pauses.state.":      typed("app/manage", "PauseState"),
	"backfill.state.":    named("scheduler/backfill", "Running|Paused|Stopped|Gone|Done"),
	"alarms.link.":       {"old", "over", "used"},
	"alarms.message.":    listed("views/link", "MessageStates"),
	"alarms.quiet.":      typed("scheduler/alarm", "QuietMode"),
	"alarms.scope.":      typed("scheduler/alarm", "Scope"),
	"job.doneby.":        {"usually", "tight", "expected", "atrisk", "missed", "done", "late"}, "runs.doneby.": {"late", "over", "atrisk"},
	"job.told.":        typed("scheduler/alarm", "Scope"),
	"alarms.security.": typed("scheduler/alarm", "Security"),
	"alarms.state.":    typed("views/alarms", "State"),
	"alarm.cause.":     and(typed("scheduler", "AlarmCause"), help),

	"alert.token.":     typed("app/auth", "Weakness"),
	"apitokens.state.": typed("app/manage", "APITokenState"),
	"apitokens.days.":  offered("views/tokens", "apitokens.days."),
	"token.grace.":     offered("views/groups", "token.grace."),
	"right.":           and(listed("app/auth", "rightNames"), help),
	"role.":            offered("views/users", "role."),
	"users.state.":     offered("views/users", "users.state."),

	"account.class.": and(listed("scheduler/account", "classNames"), help),
	"account.note.":  typed("scheduler/account", "NoteKind"),

	"audit.action.": typed("app/manage", "Action"),
	"audit.kind.":   named("app/manage", "Object[A-Z].*"),
	"audit.reason.": append(listed("app/manage", "refusals"), without(typed("app/auth/directory", "Reason"), "down")...),
	"audit.way.":    typed("app/auth", "Way"),
	"second.kind.":  slices.Concat(typed("app/auth", "Second"), named("app/auth", "Factor(Code|Passkey)"), named("app/manage", "factor(Codes|All)|SingleFactor")),
	"audit.field.":  written("app/manage", `(?:Snapshot\{|snapshot\[|\tf\[|after\[|, |\t)"(\w+)"(?:: |\] = )`),

	"adoption.finding.": typed("db", "JobFinding"),

	"address.":     and(typed("views/groups", "AddressState"), help),
	"refused.":     and(typed("scheduler", "Refusal"), ".named"),
	"connect.":     and(listed("views/groups", "ways"), help),
	"groups.show.": named("views/link", "Executors(Online|Lost)"),

	"block.":             and(typed("executor/wire", "Block"), help),
	"calendar.error.":    typed("scheduler/calendar", "Reason"),
	"calendarrule.":      and(typed("scheduler/jobspec", "CalendarRule"), help),
	"keep.":              and(typed("scheduler/jobspec", "Keep"), help),
	"whenlost.":          and(typed("scheduler/jobspec", "WhenLost"), help),
	"priority.":          typed("scheduler/jobspec", "Priority"),
	"concurrency.":       and(typed("scheduler/jobspec", "Concurrency"), help),
	"misfire.":           and(typed("scheduler/jobspec", "Misfire"), help),
	"route.":             and(typed("scheduler/jobspec", "Route"), help),
	"schedule.":          typed("scheduler/jobspec", "ScheduleType"),
	"trigger.":           typed("scheduler/jobspec", "TriggerType"),
	"cron.warning.":      typed("scheduler/cron", "WarningCode"),
	"cron.field.":        typed("scheduler/cron", "Field"),
	"job.error.planned.": typed("scheduler/expr", "Part"),
	"flow.error.expr.":   typed("scheduler/expr", "Kind"),
	"flow.reason.":       written("scheduler/expr", `(?m)^\t"([a-z.]+)": +"[a-z“{]`),
	"cron.error.":        append(typed("scheduler/cron", "Reason"), written("scheduler/jobspec", `cronError \+ "(\w+)"`)...),

	"dashboard.":           and(named("views/dashboard", "Failing|Late|Long|Lost|Alarms|Running"), ".none"),
	"jobs.bulk.":           append(and(append(typed("app/manage", "BulkDo"), "rerun", "kill"), ".title", ".done"), "rerun.text", "kill.text"),
	"jobs.state.":          offered("views/jobs", "jobs.state."),
	"jobs.show.":           named("views/link", "Show(Failing|Late|Due|Mine)"),
	"runs.show.":           named("views/link", "Show(Late|Long)"),
	"runs.result.":         listed("views/link", "Results"),
	"runs.kill.scope.":     named("views/runs", "Kill(One|Broadcast|Job)"),
	"clear.state.":         written("app/console", `\bState(?:: | = )"(done|stopped)"`),
	"clear.type.":          listed("app/console", "clearTypes"),
	"docs.chapter.":        written("docs", `\{"(\w+)", \[\]string`),
	"import.match.":        offered("views/jobs", "import.match."),
	"import.outcome.":      append(typed("app/manage/transfer", "Outcome"), written("app/console", `drawn\.Outcome = "(\w+)"`)...),
	"import.state.":        offered("views/jobs", "import.state."),
	"log.empty.":           typed("views/runs", "LogStatus"),
	"flow.state.":          listed("scheduler/flow", "stateNames"),
	"flow.kind.":           typed("scheduler/flow", "Kind"),
	"flow.form.default.":   typed("scheduler/flow", "Answer"),
	"flow.form.onfailure.": typed("scheduler/flow", "OnFailure"),
	"flow.deed.":           and(typed("views/runs", "Deed"), ".text"),
	"flow.flash.":          typed("views/runs", "Deed"),
	"state.":               typed("scheduler/runstate", "State"),
	"step.":                named("views/runs", "Step.*"),
	"stepstate.":           typed("views/runs", "StepState"),

	"nodes.condition.": typed("scheduler", "ConditionKey"),
	"nodes.load.":      and(written("views/nodes", `\{"(\w+)", "[\w-]*", func`), help),
	"nodes.state.":     and(typed("views/nodes", "State"), help),

	"error.":        each(written("views/errorpage", `\b([45]\d\d)[,}]`), ".title", ".text"),
	"language.":     languages,
	"nav.":          typed("views/layout", "Nav"),
	"pager.":        written("views/ui", `pagerWord\(p, byTime, "(\w+)"\)`),
	"pager.time.":   written("views/ui", `pagerWord\(p, byTime, "(\w+)"\)`),
	"palette.":      named("views/palette", "Deeds|Actions|Views|Jobs|Groups|Runs"),
	"range.":        append(listed("views/link", "Ranges"), listed("views/link", "TimelineRanges")...),
	"theme.":        typed("views/layout", "Theme"),
	"time.unit.":    append(written("views/format", `return "(\w+)", `), written("locales", `(?:unit\(|two\()"(\w+)"`)...),
	"time.weekday.": {"0", "1", "2", "3", "4", "5", "6"},

	"help.":          listed("views/help", "sections"),
	"help.schedule.": typed("scheduler/jobspec", "ScheduleType"),
	"help.state.":    typed("scheduler/runstate", "State"),

	"settings.item.":    and(without(named("app/manage", "Setting[A-Z].*"), "on", "off"), help),
	"settings.section.": and(written("app/manage", `Section: "(\w+)"`), ".text"),
	"settings.second.":  typed("app/auth", "Whom"),
	"settings.switch.":  named("app/manage", "Setting(On|Off)"),
	"settings.token.":   typed("app/console", "TokenSource"),
	"settings.unit.":    written("app/manage", `Unit: "(\w+)"`),
	"settings.option.":  without(written("app/cmd/punctual", `env:"((?:PUNCTUAL|OTEL)_\w+)"`), written("app/manage", `Env: "(PUNCTUAL_\w+)"`)...),
})

// help ends the key of what explains a value.
const help = ".help"

func messages(t *testing.T, lang string) map[string]any {
	t.Helper()
	raw, err := files.ReadFile(lang + ".json")
	if err != nil {
		t.Fatal(err)
	}
	m := make(map[string]any)
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestNoTextIsThereTwice: of two the later one is shown, and whoever corrects the other sees nothing of it. A merge leaves such.
func TestNoTextIsThereTwice(t *testing.T) {
	t.Parallel()
	key := regexp.MustCompile(`(?m)^  ("[^"]+"):`)
	for _, lang := range Languages() {
		raw, err := files.ReadFile(lang + ".json")
		if err != nil {
			t.Fatal(err)
		}
		seen := make(map[string]bool)
		for _, found := range key.FindAllSubmatch(raw, -1) {
			if k := string(found[1]); seen[k] {
				t.Errorf("%s has %s twice", lang, k)
			} else {
				seen[k] = true
			}
		}
		if want := len(messages(t, lang)); len(seen) != want {
			t.Errorf("%s: %d keys were found, want %d", lang, len(seen), want)
		}
	}
}

func TestLanguagesHaveTheSameKeysAndValues(t *testing.T) {
	t.Parallel()
	en := messages(t, English)
	placeholder := regexp.MustCompile(`\{\{\.\w+\}\}`)
	used := func(message any) []string {
		raw, _ := json.Marshal(message)
		found := placeholder.FindAllString(string(raw), -1)
		slices.Sort(found)
		return slices.Compact(found)
	}
	for _, lang := range Languages() {
		other := messages(t, lang)
		for key, message := range en {
			translated, ok := other[key]
			if !ok {
				t.Errorf("%s: %s is missing", lang, key)
				continue
			}
			if got, want := used(translated), used(message); !slices.Equal(got, want) {
				t.Errorf("%s: %s takes %v, in English %v", lang, key, got, want)
			}
		}
		for key, message := range other {
			if _, ok := en[key]; !ok {
				t.Errorf("%s: %s does not exist in English", lang, key)
			}
			raw, _ := json.Marshal(message)
			if strings.Contains(string(raw), `""`) || strings.Contains(string(raw), "TODO") {
				t.Errorf("%s: %s is empty or unfinished", lang, key)
			}
		}
	}
}

func TestChineseIsTranslated(t *testing.T) {
	t.Parallel()
	for _, lang := range []string{Chinese, Traditional} {
		translated(t, lang)
	}
}

func translated(t *testing.T, lang string) {
	// What is written the same in Chinese and English.
	same := []string{"glue.", "list.line", "alarm.summary", "alarm.title.", "schedule.CRON", "list.comma", "list.sentence", "connect.", "alarms.kind.pagerduty", "alarms.kind.slack", "alarms.kind.teams", "alarms.kind.telegram", "alarms.kind.webhook", "alarms.field.token.pagerduty", "alarms.security.", "language.", "trigger.API", "right.glue", "token.title", "audit.kind.token", "settings.unit.kb", "event.more"}
	han := regexp.MustCompile(`\p{Han}`)
	for key, message := range messages(t, lang) {
		raw, _ := json.Marshal(message)
		if !han.Match(raw) && !slices.ContainsFunc(same, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) && !strings.Contains(string(raw), "Handler") && !strings.Contains(string(raw), "AppName") {
			t.Errorf("%s: %s: %s has no Chinese in it", lang, key, raw)
		}
	}
}

// A key is used by T("key"), by a struct with a field named Key, or through a family. Written-out keys elsewhere (tables
// of presets, problem keys) count too: any string literal that is exactly a key.
func TestKeysAreUsedAndExist(t *testing.T) {
	t.Parallel()
	known := messages(t, English)
	calls := regexp.MustCompile(`\bT\(\s*"([a-zA-Z0-9_.-]+)"\s*[,)]|\bKey:\s*"([a-zA-Z0-9_.-]+)"`)
	joined := regexp.MustCompile(`(?:\bT\(\s*|\bWord\(|Labelled\([^"]*)"([a-z.]+\.)"`)
	comment := regexp.MustCompile(`(?m)^\s*//.*$`)
	literal := regexp.MustCompile(`"([a-z]+\.[a-zA-Z0-9_.-]+)"`)
	used := make(map[string]bool)
	for prefix, values := range families {
		for _, v := range values {
			used[prefix+v] = true
			if _, ok := known[prefix+v]; !ok {
				t.Errorf("family %s: %s does not exist", prefix, v)
			}
		}
	}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "node_modules" || name == ".git" || name == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		isSource := strings.HasSuffix(name, ".templ") || strings.HasSuffix(name, ".go")
		if !isSource || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_templ.go") {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		source := comment.ReplaceAllString(string(raw), "")
		for _, m := range calls.FindAllStringSubmatch(source, -1) {
			key := m[1] + m[2]
			if _, ok := known[key]; !ok {
				t.Errorf("%s uses %s, which does not exist", path, key)
			}
		}
		for _, m := range joined.FindAllStringSubmatch(source, -1) {
			if _, ok := families[m[1]]; !ok {
				t.Errorf("%s joins a key to %q: name its values in families", path, m[1])
			}
		}
		for _, m := range literal.FindAllStringSubmatch(source, -1) {
			used[m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for key := range known {
		if !used[key] {
			t.Errorf("nothing uses %s", key)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, chosen, header, installation, want string }{
		{"a chosen language wins", "en", "zh-CN", "zh-CN", English},
		{"the user's choice comes before the browser's", "zh-CN,en", "en", "en", Chinese},
		{"who chose nothing has the browser's choice", ",zh-CN", "en", "en", Chinese},
		{"a chosen language that does not exist is ignored", "fr", "zh-CN,zh;q=0.9", "", Chinese},
		{"the header decides", "", "zh-CN,zh;q=0.9,en;q=0.8", "en", Chinese},
		{"the header decides against the installation", "", "en-GB", "zh-CN", English},
		{"plain zh is Chinese", "", "zh", "", Chinese},
		{"Singapore writes Simplified Chinese", "", "zh-SG", "", Chinese},
		{"Taiwan's browser", "", "zh-TW,zh;q=0.9,en-US;q=0.8", "", Traditional},
		{"Traditional Chinese of nowhere", "", "zh-Hant", "en", Traditional},
		{"Hong Kong writes it too", "", "zh-HK,zh;q=0.9", "", Traditional},
		{"as does Macau", "", "zh-MO", "zh-CN", Traditional},
		{"the script decides", "", "zh-Hant-CN", "", Traditional},
		{"a chosen Chinese wins over the other", "zh-TW", "zh-CN", "zh-CN", Traditional},
		{"as it does the other way", "zh-CN", "zh-TW", "zh-TW", Chinese},
		{"an unknown language of a Taiwanese installation", "", "fr", "zh-TW", Traditional},
		{"an unknown language is the installation's", "", "fr-FR", "zh-CN", Chinese},
		{"an unknown language of nobody's choice is English", "", "fr-FR", "", English},
		{"no header is the installation's", "", "", "zh-CN", Chinese},
		{"a broken header is the installation's", "", ";;;=", "zh-CN", Chinese},
		{"an installation's language that does not exist is English", "", "", "fr", English},
	}
	c := New()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := c.Match(strings.Split(tt.chosen, ","), tt.header, tt.installation); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestPrinter(t *testing.T) {
	t.Parallel()
	c := New()
	en, zh := c.Printer(English), c.Printer(Chinese)
	tests := []struct{ got, want string }{
		{en.T("jobs.title"), "Jobs"},
		{zh.T("jobs.title"), "任务管理"},
		{en.T("jobs.total", "Count", 1, "N", "1"), "1 job"},
		{en.T("jobs.total", "Count", int64(1200), "N", "1,200"), "1,200 jobs"},
		{zh.T("jobs.total", "Count", 1, "N", "1"), "共 1 个任务"},
		{en.T("webhooks.dropped", "Count", int64(5120)), "5,120 events were not kept, because too many waited or for too long."},
		{en.T("dashboard.count.failed", "N", "1885"), "1,885 failed"},
		{en.T("event.more", "N", "{N}"), "more than {N}"},
		{en.T("runs.detail.title", "ID", 7012), "Run #7012"},
		{en.T("no.such.key"), "!no.such.key!"},
		{en.Word("glue.", "GLUE_SHELL"), "GLUE (Shell)"},
		{zh.Word("glue.", "GLUE_COBOL"), "GLUE_COBOL"},
		{c.Printer("fr").Lang(), English},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func BenchmarkPrinter(b *testing.B) {
	p := New().Printer(Chinese)
	for b.Loop() {
		p.T("jobs.title")
		p.T("time.in", "Span", "3 min")
	}
}

// Taiwan's operators have words of their own; letters alone do not make them. Characters and words of the other Chinese are what
// a line that was copied over shows first.
func TestTaiwanReadsItsOwnWords(t *testing.T) {
	t.Parallel()
	const simplified = "与专业丢两个为么义书于产仅从们众优会传体余偿储关内册写决况减几凭击划则刚创删别务动区协单占却历参双发变号后听启员咨响团围图声处备复头实审对导将尝尽层属带帮并广库应开异弃弹强归当录径态总户执扩扫扰护报担拥择换据携数断无旧时显暂机权条来极构标样档检毕汇没浅测浏满点热状独环现畅监盖盘码础确离种称窃筛签简类约级纹线组终经结给络绝统继绪续维编缩网联脚节范虑补见规视览触计认让议记许论设访证识词试话询该详语误说请读谁调负责败账贴赖转轮载较辑输达迁过运还这进连迟适选递遗邮采释里针钉钟钥链销锁错锚键长闭问闲间队际随隐页项顺须预领频题飞驳验骤"
	own := regexp.MustCompile(`服務器|默認|用戶名|網絡|信息|數據|文件夾|軟件|硬件|內存|磁盤|緩存|界面|支持|節點名|進程|線程|鏈接|字段|字符|模板|令牌|登錄|註銷|賬號|賬戶|密鑰|審計|訪問|響應|應答|接口|回調|刷新|默认|日志|端口|域名|屏幕|視頻|報警|調度|過期策略|超時|重置|丟失|激活|勾選框|控制檯|臺|夏令時|二維碼|導入|導出|保存|粘貼|搜索|查找|創建`)
	for key, message := range messages(t, Traditional) {
		raw, _ := json.Marshal(message)
		text := string(raw)
		if strings.HasPrefix(key, "language.") {
			continue // each is written in itself
		}
		if at := strings.IndexAny(text, simplified); at >= 0 {
			t.Errorf("%s: %s has a character of the other Chinese: %c", key, text, []rune(text[at:])[0])
		}
		if word := own.FindString(text); word != "" {
			t.Errorf("%s: %s says %s, as nobody does in Taiwan", key, text, word)
		}
	}
}

// A name that turns the direction of what follows turns its own letters only, not the end of the sentence that it stands in.
func TestANameDoesNotTurnItsSentence(t *testing.T) {
	p := New().Printer(English)
	for _, args := range [][]any{{"Name", "\u202eevil"}, {"Name", "\u202a\u202b\u202d\u2066\u2067\u2068evil\u2069\u202c"}} {
		if got, want := p.T("jobs.flash.created", args...), "“evil” is created. It is stopped until you start it."; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := p.T("jobs.flash.created", "Name", "الطلبات"); !strings.Contains(got, "“الطلبات”") {
		t.Errorf("%q has lost its letters", got)
	}
}
