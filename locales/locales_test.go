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

// families are keys put together in the code from a prefix and a value: every value that may follow is named here, so
// that a missing word is found as surely as for a key written out.
var families = withEvents(map[string][]string{
	"signin.error.":    {"down", "stale", "denied", "untrue", "unruled", "weak", "badname", "taken"},
	"alarms.message.":  {"waiting", "sending", "sent", "givenup"},
	"alarms.quiet.":    {"queue", "count"},
	"alarms.scope.":    {"all", "group", "job"},
	"alarms.security.": {"starttls", "tls", "none"},
	"alarms.state.":    {"ok", "broken", "new", "off"},

	"alert.token.":     {"known", "empty", "way"},
	"apitokens.state.": {"active", "expired", "revoked", "owner"},
	"apitokens.days.":  {"0", "7", "30", "90", "365"},

	"account.class.": withHelp("ontime", "late", "skipped", "stands", "notsent", "lost", "pending", "deleted", "unknown", "unplanned", "doubled", "missing"),
	"account.note.":  {"known", "unreadable", "delay", "stuck"},

	"nodes.condition.": {"adopted", "clock", "database", "db_clock", "due", "foreign", "full", "lease", "outcomes", "reading", "results", "unsent"},

	"audit.action.": {"create", "update", "delete", "start", "stop", "run", "kill", "clear", "glue", "password", "second", "signout", "login", "rotate", "show", "test", "login_refused", "logout", "refused", "export", "register", "propose", "approve", "reject"},
	"audit.kind.":   {"job", "run", "group", "user", "token", "channel", "setting", "view", "address", "request", "audit", "apitoken", "secret", "team"},
	"audit.reason.": {"wrong", "toomany", "disabled", "closed", "code", "recovery", "passkey", "sealed", "step", "form", "unknown", "expired", "revoked", "denied", "stale", "untrue", "unruled", "weak", "badname", "taken"},
	"audit.field.":  {"address_list", "address_type", "group", "type", "days", "alarm_email", "app_name", "author", "disabled", "executor_address", "glue_remark", "glue_source", "job_desc", "job_group", "job_id", "rights", "role", "runs", "schedule_type", "tags", "title", "username", "causes", "enabled", "for_jobs", "from", "grace", "host", "chat", "kind", "language", "name", "port", "quiet", "recipients", "route", "scope", "scope_id", "security", "value", "page", "filter", "shared", "idle_is_lost", "provider", "break_glass", "reason", "times", "path", "format", "user", "action", "text", "jobs", "token_manages", "script_review", "owner", "admin", "groups", "service", "members", "teams"},
	"right.":        withHelp("view", "run", "schedule", "edit", "glue"),
	"role.":         {"admin", "user"},
	"users.state.":  {"active", "disabled"},
	"alarm.cause.":  withHelp("failed", "timeout", "lost", "dispatch", "misfire", "slow", "silent", "recovered"),
	"address.":      withHelp("online", "late", "offline", "manual", "suspect", "disabled", "tooold"),
	"refused.":      {"token", "run", "tooold", "token.named", "run.named", "tooold.named"},
	"connect.":      withHelp("java", "go", "community", "python", "program", "http"),
	"token.grace.":  {"0", "1", "24", "168", "720"},
	"block.":        withHelp("SERIAL_EXECUTION", "DISCARD_LATER", "COVER_EARLY"),
	"concurrency.":  withHelp("QUEUE", "DISCARD"),
	"cron.warning.": {"ignored_text", "step_zero", "magic_all", "magic_none", "no_effect", "no_such_value", "empty_element", "beside_none", "list_ordinal", "no_value", "never", "past", "skipped_by_spring_change"},
	"cron.field.":   {"second", "minute", "hour", "day-of-month", "month", "day-of-week", "year"},
	"cron.error.":   {"field_count", "both_days", "no_day", "out_of_range", "step_out_of_range", "step_missing", "range_end", "year_order", "unknown_name", "number_too_large", "ordinal", "two_ordinals", "last_in_list", "last_offset", "not_here", "question_mark", "character", "no_value"},
	"clear.state.":  {"done", "stopped"},
	"clear.type.":   {"1", "2", "3", "4", "5", "6", "7", "8", "9"},
	"dashboard.":    {"failing", "failing.none", "late", "late.none", "long", "long.none", "lost", "lost.none"},
	"error.":        {"400.title", "400.text", "401.title", "401.text", "403.title", "403.text", "404.title", "404.text", "405.title", "405.text", "409.title", "409.text", "413.title", "413.text", "429.title", "429.text", "500.title", "500.text", "503.title", "503.text"},
	"jobs.bulk.":    {"start", "stop", "move", "tag", "delete", "start.title", "stop.title", "move.title", "tag.title", "delete.title", "start.done", "stop.done", "move.done", "tag.done", "delete.done"},
	"jobs.state.":   {"running", "stopped"},
	"jobs.show.":    {"failing", "late", "due"},
	"runs.show.":    {"late", "long"},
	"groups.show.":  {"online", "lost"},
	"language.":     languages,
	"log.empty.":    {"live", "complete", "none", "unavailable"},
	"misfire.":      withHelp("DO_NOTHING", "FIRE_ONCE_NOW"),
	"nav.":          {"users", "audit", "dashboard", "jobs", "runs", "executors", "alarms", "nodes", "settings"},
	"nodes.load.":   withHelp("sent", "claimed", "late", "planned", "queued", "inflight", "unsent", "results", "memory"),
	"nodes.state.":  withHelp("live", "draining", "silent", "gone"),
	"pager.":        {"previous", "next"},
	"pager.time.":   {"previous", "next"},
	"palette.":      {"actions", "views", "jobs", "groups", "runs"},
	"range.":        {"1h", "24h", "today", "yesterday", "7d", "30d", "all", "custom"},
	"route.":        withHelp("FIRST", "LAST", "ROUND", "RANDOM", "CONSISTENT_HASH", "LEAST_FREQUENTLY_USED", "LEAST_RECENTLY_USED", "FAILOVER", "BUSYOVER", "SHARDING_BROADCAST"),
	"runs.result.":  {"success", "failed", "running", "skipped"},
	"schedule.":     {"NONE", "CRON", "FIX_RATE", "FIX_DELAY", "ONCE"},
	"state.":        {"waiting", "sent", "success", "failed", "timeout", "sendfailed", "unconfirmed", "killed", "lost", "skipped", "discarded", "cancelled", "stopped"},
	"step.":         {"planned", "triggered", "claimed", "stands", "takeover", "waited", "late", "asked", "routed", "sent", "answered", "passed", "kill", "nottold", "lost", "calledback", "result", "follow", "other"},
	"stepstate.":    {"done", "active", "pending", "failed", "skipped"},
	"theme.":        {"auto", "light", "dark"},
	"time.unit.":    {"ms", "s", "min", "h", "d", "y"},
	"time.weekday.": {"0", "1", "2", "3", "4", "5", "6"},

	"help.":          {"life", "states", "schedule", "cron", "misfire", "route", "block", "retry", "scripts", "alarms", "rights", "executors", "keys", "api"},
	"help.schedule.": {"CRON", "FIX_RATE", "FIX_DELAY", "ONCE", "NONE"},
	"help.state.":    {"waiting", "sent", "success", "failed", "timeout", "sendfailed", "unconfirmed", "killed", "lost", "skipped", "discarded", "cancelled", "stopped"},

	"settings.item.":    withHelp("default_language", "public_url", "glue", "audit_days", "second_factor", "password_change_given", "session_idle_minutes", "session_life_hours", "session_remember_days", "log_retention_days", "misfire_seconds", "lost_seconds", "forgotten_seconds", "call_timeout_ms", "executor_allow", "executor_deny", "alarm_language", "alarm_window_minutes", "alarm_deny_private", "alarm_mail_domains", "alarm_editors"),
	"settings.section.": {"console", "console.text", "signin", "signin.text", "runs", "runs.text", "executors", "executors.text", "alarms", "alarms.text"},
	"settings.second.":  {"nobody", "admins", "all"},
	"second.error.":     {"code", "credential", "expired", "many", "none", "toomany", "browser"},
	"settings.switch.":  {"on", "off"},
	"settings.token.":   {"none", "known", "fixed", "kept"},
	"settings.unit.":    {"ms", "seconds", "minutes", "hours", "days"},
	"settings.option.":  {"PUNCTUAL_DATABASE_URL", "PUNCTUAL_DATA_DIR", "PUNCTUAL_TIME_ZONE", "PUNCTUAL_LOG_FORMAT", "PUNCTUAL_LOG_LEVEL", "PUNCTUAL_LISTEN", "PUNCTUAL_ACCESS_TOKEN", "PUNCTUAL_ACCESS_TOKEN_FILE", "PUNCTUAL_ADMIN_PASSWORD_FILE", "PUNCTUAL_DATABASE_URL_FILE", "PUNCTUAL_INSECURE_NO_TOKEN", "PUNCTUAL_ADMIN_PASSWORD", "PUNCTUAL_SAMPLE", "PUNCTUAL_DRAIN_TIMEOUT", "PUNCTUAL_TLS_CERT", "PUNCTUAL_TLS_KEY", "PUNCTUAL_EXECUTOR_CA", "PUNCTUAL_EXECUTOR_CLIENT_CERT", "PUNCTUAL_EXECUTOR_CLIENT_KEY", "PUNCTUAL_TRUST_PROXY", "PUNCTUAL_PPROF", "PUNCTUAL_SECRET_KEY", "PUNCTUAL_SECRET_KEY_FILE", "PUNCTUAL_SIGN_IN_FILE", "PUNCTUAL_AUDIT_SHIP", "PUNCTUAL_AUDIT_SHIP_FILE", "PUNCTUAL_TRUSTED_PROXIES", "PUNCTUAL_ADMIN_LISTEN", "PUNCTUAL_METRICS_TOKEN", "PUNCTUAL_METRICS_TOKEN_FILE"},

	"trigger.": {"CRON", "MANUAL", "RETRY", "PARENT", "API", "MISFIRE"},

	"import.match.":    {"name", "id"},
	"import.outcome.":  {"refuse", "change", "create", "same", "done", "failed"},
	"import.state.":    {"stopped", "file"},
	"runs.kill.scope.": {"run", "broadcast", "job"},
})

func withHelp(values ...string) []string {
	var all []string
	for _, v := range values {
		all = append(all, v, v+".help")
	}
	return all
}

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
	same := []string{"glue.", "alarm.line", "alarm.title.", "schedule.CRON", "list.comma", "connect.", "alarms.kind.slack", "alarms.kind.telegram", "alarms.kind.webhook", "alarms.security.", "language.", "trigger.API", "right.glue", "token.title"}
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
		{en.T("runs.detail.title", "ID", 7), "Run #7"},
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
