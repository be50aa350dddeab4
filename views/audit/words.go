package audit

import (
	"cmp"
	"github.com/punctual-job/punctual/views/link"
)

func (p ListPage) rangeShown() string { return cmp.Or(p.Filter.Range, link.AuditRangeDefault) }

// actionTone is the badge's colour: what takes something away stands out.
func actionTone(action string) string {
	switch action {
	case "create", "start":
		return "success"
	case "delete", "kill", "clear":
		return "failed"
	case "password", "signout", "rotate", "glue", "show", "login_refused", "refused":
		return "late"
	default:
		return ""
	}
}

func actionIcon(action string) string {
	switch action {
	case "create":
		return "plus"
	case "delete", "clear":
		return "trash-2"
	case "start", "run":
		return "play"
	case "stop", "kill":
		return "circle-stop"
	case "password", "rotate":
		return "key-round"
	case "signout", "login", "logout":
		return "user"
	case "glue":
		return "terminal"
	case "test":
		return "send"
	case "show":
		return "eye"
	case "login_refused", "refused":
		return "circle-x"
	case "export":
		return "download"
	case "register":
		return "plus"
	default:
		return "pencil"
	}
}

func lineSign(mark string) string {
	switch mark {
	case LineAdded:
		return "+"
	case LineRemoved:
		return "−"
	default:
		return " "
	}
}
