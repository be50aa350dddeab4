package nodes

import (
	"strconv"

	"github.com/punctual-job/punctual/views/format"
)

func stateIcon(s State) string {
	switch s {
	case StateLive:
		return "circle-check"
	case StateSilent:
		return "hourglass"
	case StateGone:
		return "circle-x"
	default:
		return "circle"
	}
}

// stateTone is the badge's colour.
func stateTone(s State) string {
	switch s {
	case StateLive:
		return "online"
	case StateSilent:
		return "late"
	case StateGone:
		return ""
	default:
		return ""
	}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func count(n int) string { return format.Number(int64(n)) }
