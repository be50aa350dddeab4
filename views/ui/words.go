package ui

import (
	"strconv"

	"github.com/punctual-job/punctual/locales"
)

func stateIcon(s State) string {
	switch s {
	case StateWaiting:
		return "circle-dashed"
	case StateSent:
		return "loader"
	case StateSuccess:
		return "circle-check"
	case StateFailed:
		return "circle-x"
	case StateTimeout:
		return "timer-off"
	case StateSendFailed:
		return "unplug"
	case StateKilled:
		return "circle-stop"
	case StateLost:
		return "circle-help"
	case StateUnconfirmed:
		return "circle-alert"
	case StateSkipped:
		return "skip-forward"
	case StateDiscarded:
		return "circle-minus"
	case StateCancelled:
		return "ban"
	case StateStopped:
		return "octagon-x"
	default:
		return "circle"
	}
}

func noticeIcon(kind string) string {
	switch kind {
	case "error":
		return "circle-alert"
	case "warning":
		return "triangle-alert"
	default:
		return "info"
	}
}

func pagerWord(p *locales.Printer, byTime bool, way string) string {
	if byTime {
		return p.T("pager.time." + way)
	}
	return p.T("pager." + way)
}

func optionText(o Option) string {
	if o.Help == "" {
		return o.Label
	}
	return o.Label + " – " + o.Help
}

func rows(n int) string {
	if n == 0 {
		n = 3
	}
	return strconv.Itoa(n)
}
