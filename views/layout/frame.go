package layout

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/punctual-job/punctual/locales"
)

// htmxConfig keeps htmx inside a strict Content-Security-Policy and says where answers go: a form that failed validation
// (422) is swapped like any other, every other error becomes a message in the corner. What is swapped in works at once: a
// quick click in the settling time would leave the page instead of opening a dialog.
const htmxConfig = `{"allowEval":false,"includeIndicatorStyles":false,"selfRequestsOnly":true,"historyCacheSize":0,"defaultSettleDelay":0,` +
	`"refreshOnHistoryMiss":true,"scrollIntoViewOnBoost":false,"responseHandling":[{"code":"204","swap":false},` +
	`{"code":"[23]..","swap":true},{"code":"422","swap":true},` +
	`{"code":"[45]..","swap":true,"error":true,"target":"#toasts","swapOverride":"beforeend"}]}`

// timeWords hands the messages of relative times to the script, which fills in {N} and {Span} itself.
func timeWords(p *locales.Printer) string {
	words := map[string]string{
		"now":  p.T("time.now"),
		"in":   p.T("time.in", "Span", "{Span}"),
		"ago":  p.T("time.ago", "Span", "{Span}"),
		"due":  p.T("time.due"),
		"late": p.T("time.late", "Span", "{Span}"),
		"s":    p.T("time.unit.s", "N", "{N}"),
		"min":  p.T("time.unit.min", "N", "{N}"),
		"h":    p.T("time.unit.h", "N", "{N}"),
		"d":    p.T("time.unit.d", "N", "{N}"),
		"y":    p.T("time.unit.y", "N", "{N}"),
	}
	raw, err := json.Marshal(words)
	if err != nil {
		return "" // a map of strings always encodes
	}
	return string(raw)
}

func initial(name string) string {
	r, _ := utf8.DecodeRuneInString(name)
	if r == utf8.RuneError {
		return "?"
	}
	return strings.ToUpper(string(r))
}

func role(p Page) string {
	if p.User.Admin {
		return p.T("role.admin")
	}
	if p.User.Audits {
		return p.T("role.auditor")
	}
	return p.T("role.user")
}

func pressed(on bool) string { return strconv.FormatBool(on) }

func flashIcon(k FlashKind) string {
	switch k {
	case FlashSuccess:
		return "circle-check"
	case FlashError:
		return "circle-alert"
	case FlashInfo:
		return "info"
	default:
		return "info"
	}
}
