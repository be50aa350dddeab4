package audit

import (
	"cmp"
	"github.com/punctual-job/punctual/views/link"
)

func (p ListPage) rangeShown() string { return cmp.Or(p.Filter.Range, link.AuditRangeDefault) }

// badges are the icon and the colour of each action: what takes something away stands out. One that is not here has a pencil.
var badges = map[string]struct{ icon, tone string }{
	"create": {"plus", "success"}, "register": {"plus", ""}, "start": {"play", "success"}, "run": {"play", ""}, "stop": {"circle-stop", ""},
	"kill": {"circle-stop", "failed"}, "delete": {"trash-2", "failed"}, "clear": {"trash-2", "failed"}, "password": {"key-round", "late"},
	"rotate": {"key-round", "late"}, "signout": {"user", "late"}, "login": {"user", ""}, "logout": {"user", ""}, "glue": {"terminal", "late"},
	"test": {"send", ""}, "show": {"eye", "late"}, "login_refused": {"circle-x", "late"}, "refused": {"circle-x", "late"}, "export": {"download", ""},
}

func actionIcon(action string) string { return cmp.Or(badges[action].icon, "pencil") }

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
