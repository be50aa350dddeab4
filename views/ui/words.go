package ui

import (
	"cmp"
	"strconv"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/runstate"
)

// Trouble is what a run's state marks the tab of its page with: "1" for one that went wrong by itself.
func Trouble(s runstate.State) string {
	switch s {
	case runstate.Failed, runstate.Timeout, runstate.SendFailed, runstate.Unconfirmed, runstate.Lost, runstate.Stopped:
		return "1"
	case runstate.Waiting, runstate.Sent, runstate.Success, runstate.Killed, runstate.Skipped, runstate.Discarded, runstate.Cancelled:
	}
	return "0"
}

var stateIcons = map[runstate.State]string{
	runstate.Waiting: "circle-dashed", runstate.Sent: "loader", runstate.Success: "circle-check", runstate.Failed: "circle-x",
	runstate.Timeout: "timer-off", runstate.SendFailed: "unplug", runstate.Killed: "circle-stop", runstate.Lost: "circle-help",
	runstate.Unconfirmed: "circle-alert", runstate.Skipped: "skip-forward", runstate.Discarded: "circle-minus", runstate.Cancelled: "ban",
	runstate.Stopped: "octagon-x",
}

func stateIcon(s runstate.State) string { return cmp.Or(stateIcons[s], "circle") }

func NoticeIcon(kind string) string {
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
	n = cmp.Or(n, 3)
	return strconv.Itoa(n)
}
