package manage

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/executor/builtin"
	"github.com/punctual-job/punctual/executor/netrule"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// SettingKind is how a setting is entered.
type SettingKind string

const (
	SettingText   SettingKind = "text"
	SettingNumber SettingKind = "number"
	SettingSwitch SettingKind = "switch" // on or off
	SettingChoice SettingKind = "choice"
)

// The values of a switch.
const (
	SettingOn  = "on"
	SettingOff = "off"
)

// Setting is one decision about the whole installation that administrators can change while it runs. Its name is that of its
// row in punctual_setting and of its field in a form.
type Setting struct {
	Name    string
	Section string
	Kind    SettingKind
	Default string
	// Env is the variable that decides instead, if it is set; empty for none.
	Env string

	Unit     string // of a number: ms, seconds, minutes, hours, days, kb or kb_s
	Min, Max int64  // of a number; Zero is allowed beside them if it is set
	Zero     bool
	Choices  []string // of a choice

	check func(value string) (clean string, bad *problem.Field) // of a text
}

// The settings' names.
const (
	SettingLanguage         = "default_language"
	SettingPublicURL        = "public_url"
	SettingGlue             = "glue"
	SettingFilesHold        = "files_hold"
	SettingAuditDays        = "audit_days"
	SettingRetention        = "log_retention_days" // [db.SettingRetention]
	SettingRetentionSuccess = "log_retention_success_days"
	SettingOutputKeep       = "output_keep"
	SettingOutputRun        = "output_run_kb"
	SettingOutputRate       = "output_rate_kb"
	SettingMisfire          = "misfire_seconds"
	SettingCallTimeout      = "call_timeout_ms"
	SettingLost             = "lost_seconds"
	SettingForgotten        = "forgotten_seconds"
	SettingWatch            = "executor_watch"
	SettingAllow            = "executor_allow"
	SettingDeny             = "executor_deny"
	SettingHTTPAllow        = "http_allow"
	SettingAlarmLanguage    = "alarm_language"
	SettingAlarmWindow      = "alarm_window_minutes"
	SettingAlarmDenyPrivate = "alarm_deny_private"
	SettingMailDomains      = "alarm_mail_domains"
	SettingAlarmEditors     = "alarm_editors"
	SettingChangeGiven      = "password_change_given"
	SettingSessionIdle      = "session_idle_minutes"
	SettingSessionLife      = "session_life_hours"
	SettingRemember         = "session_remember_days"
	SettingSecond           = "second_factor"
)

// SettingSections lists the sections in the order of the page.
func SettingSections() []string {
	return []string{"console", "signin", "runs", "output", "executors", "alarms"}
}

// AllSettings lists every setting in the order of the page.
func AllSettings() []Setting {
	return []Setting{
		{Name: SettingLanguage, Section: "console", Kind: SettingChoice, Default: locales.English, Choices: locales.Languages()},
		{Name: SettingPublicURL, Section: "console", Kind: SettingText, Env: "PUNCTUAL_PUBLIC_URL", check: checkPublicURL},
		{Name: SettingGlue, Section: "console", Kind: SettingSwitch, Default: SettingOn, Env: "PUNCTUAL_GLUE"},
		{Name: SettingFilesHold, Section: "console", Kind: SettingSwitch, Default: SettingOff},
		{Name: SettingAuditDays, Section: "console", Kind: SettingNumber, Default: "730", Unit: "days", Min: 30, Max: jobspec.MaxDays},

		{Name: SettingSecond, Section: "signin", Kind: SettingChoice, Default: string(auth.Nobody), Choices: []string{string(auth.Nobody), string(auth.Administrators), string(auth.Everybody)}},
		{Name: SettingChangeGiven, Section: "signin", Kind: SettingSwitch, Default: SettingOff},
		{Name: SettingSessionIdle, Section: "signin", Kind: SettingNumber, Default: "720", Unit: "minutes", Min: 5, Max: 43_200},
		{Name: SettingSessionLife, Section: "signin", Kind: SettingNumber, Default: "720", Unit: "hours", Min: 1, Max: 8760},
		{Name: SettingRemember, Section: "signin", Kind: SettingNumber, Default: "30", Unit: "days", Min: 1, Max: 365, Zero: true},

		{Name: SettingRetention, Section: "runs", Kind: SettingNumber, Default: strconv.Itoa(upkeep.DefaultRetentionDays), Env: "PUNCTUAL_LOG_RETENTION_DAYS", Unit: "days",
			Min: upkeep.MinRetentionDays, Max: jobspec.MaxDays, Zero: true},
		{Name: SettingRetentionSuccess, Section: "runs", Kind: SettingNumber, Default: "0", Unit: "days", Min: 1, Max: jobspec.MaxDays, Zero: true},
		{Name: SettingMisfire, Section: "runs", Kind: SettingNumber, Default: "5", Unit: "seconds", Min: 1, Max: 3600},
		{Name: SettingLost, Section: "runs", Kind: SettingNumber, Default: "15", Unit: "seconds", Min: 5, Max: 3600},
		// Executors of XXL-JOB send a result that was not taken again after 30 s.
		{Name: SettingForgotten, Section: "runs", Kind: SettingNumber, Default: "40", Unit: "seconds", Min: 35, Max: 3600},

		{Name: SettingOutputKeep, Section: "output", Kind: SettingChoice, Default: string(jobspec.KeepFailed), Choices: []string{string(jobspec.KeepFailed), string(jobspec.KeepAll), string(jobspec.KeepNone)}},
		{Name: SettingOutputRun, Section: "output", Kind: SettingNumber, Default: "256", Unit: "kb", Min: 16, Max: 16_384},
		{Name: SettingOutputRate, Section: "output", Kind: SettingNumber, Default: "8192", Unit: "kb_s", Min: 64, Max: 1_048_576, Zero: true},

		{Name: SettingCallTimeout, Section: "executors", Kind: SettingNumber, Default: "3000", Env: "PUNCTUAL_CALL_TIMEOUT", Unit: "ms", Min: 100, Max: 60_000},
		{Name: SettingWatch, Section: "executors", Kind: SettingSwitch, Default: SettingOn},
		{Name: SettingAllow, Section: "executors", Kind: SettingText, Env: "PUNCTUAL_EXECUTOR_ALLOW", check: checkAllow},
		{Name: SettingDeny, Section: "executors", Kind: SettingText, Default: DefaultDeny, Env: "PUNCTUAL_EXECUTOR_DENY", check: checkAllow},
		{Name: SettingHTTPAllow, Section: "executors", Kind: SettingText, Default: builtin.Public, Env: "PUNCTUAL_HTTP_ALLOW", check: checkHTTPAllow},

		{Name: SettingAlarmLanguage, Section: "alarms", Kind: SettingChoice, Default: locales.Chinese, Env: "PUNCTUAL_ALARM_LANGUAGE", Choices: locales.Languages()},
		{Name: SettingAlarmWindow, Section: "alarms", Kind: SettingNumber, Default: "5", Unit: "minutes", Min: 1, Max: 1440},
		{Name: SettingMailDomains, Section: "alarms", Kind: SettingText, Env: "PUNCTUAL_ALARM_MAIL_DOMAINS", check: checkDomains},
		{Name: SettingAlarmEditors, Section: "alarms", Kind: SettingSwitch, Default: SettingOff},
		{Name: SettingAlarmDenyPrivate, Section: "alarms", Kind: SettingSwitch, Default: SettingOff, Env: "PUNCTUAL_ALARM_DENY_PRIVATE"},
	}
}

// maxSettingText bounds what somebody types; the column holds more.
const maxSettingText = 2000

// clean checks a value and gives it the form in which it is stored.
func (s Setting) clean(value string) (string, *problem.Field) {
	bad := func(key string, args ...any) *problem.Field {
		return &problem.Field{Name: s.Name, Key: key, Args: args}
	}
	value = strings.TrimSpace(value)
	if utf8.RuneCountInString(value) > maxSettingText || !utf8.ValidString(value) {
		return "", bad("job.error.too_long", "Max", maxSettingText)
	}
	switch s.Kind {
	case SettingNumber:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || (n < s.Min || n > s.Max) && (n != 0 || !s.Zero) {
			if s.Zero {
				return "", bad("settings.error.zero", "Min", s.Min, "Max", s.Max)
			}
			return "", bad("settings.error.number", "Min", s.Min, "Max", s.Max)
		}
		return strconv.FormatInt(n, 10), nil
	case SettingSwitch:
		if value != SettingOn && value != SettingOff {
			return "", bad("settings.error.choice")
		}
		return value, nil
	case SettingChoice:
		if !slices.Contains(s.Choices, value) {
			return "", bad("settings.error.choice")
		}
		return value, nil
	case SettingText:
		clean, fault := s.check(value)
		if fault != nil {
			fault.Name = s.Name
		}
		return clean, fault
	default:
		return "", bad("settings.error.choice")
	}
}

// checkPublicURL takes the address of a page without query: links are made by adding to it.
func checkPublicURL(value string) (string, *problem.Field) {
	if value == "" {
		return "", nil
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "", &problem.Field{Key: "settings.error.url"}
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// checkDomains takes names of mail domains, separated by commas.
func checkDomains(value string) (string, *problem.Field) {
	var domains []string
	for domain := range strings.SplitSeq(value, ",") {
		domain = strings.ToLower(strings.TrimSpace(domain))
		if domain == "" {
			continue
		}
		if strings.ContainsFunc(domain, func(r rune) bool {
			return r <= ' ' || r == '@' || r == '/' || r == ':' || r == '*' || !unicode.IsGraphic(r)
		}) ||
			strings.HasPrefix(domain, ".") || !strings.Contains(domain, ".") {
			return "", &problem.Field{Key: "settings.error.domain", Args: []any{"Value", domain}}
		}
		domains = append(domains, domain)
	}
	return strings.Join(domains, ","), nil
}

func checkAllow(value string) (string, *problem.Field) { return checkList(value) }

// checkHTTPAllow takes one word more. What is empty would read as what is public, so it says so.
func checkHTTPAllow(value string) (string, *problem.Field) {
	clean, bad := checkList(value, builtin.Public)
	return cmp.Or(clean, builtin.Public), bad
}

func checkList(value string, words ...string) (string, *problem.Field) {
	list, err := netrule.Parse(value, words...)
	if wrong, ok := errors.AsType[*netrule.Error](err); ok {
		return "", &problem.Field{Key: "settings.error.allow", Args: []any{"Reason", wrong.Part}}
	}
	return list.String(), nil
}
