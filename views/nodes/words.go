package nodes

// figure is a column of the load; its words are the messages "nodes.load.<name>" and "nodes.load.<name>.help".
type figure struct {
	name  string
	room  string // the class of a column that shows only where there is room
	value func(Load) string
}

var figures = []figure{
	{"sent", "", func(l Load) string { return l.Sent }},
	{"claimed", "wide-only", func(l Load) string { return l.Claimed }},
	{"late", "", func(l Load) string { return l.Late }},
	{"planned", "wide-only", func(l Load) string { return l.Planned }},
	{"queued", "", func(l Load) string { return l.Queued }},
	{"inflight", "medium-up", func(l Load) string { return l.InFlight }},
	{"unsent", "medium-up", func(l Load) string { return l.Unsent }},
	{"results", "wide-only", func(l Load) string { return l.Results }},
	{"memory", "wide-only", func(l Load) string { return l.Memory }},
}

func stateIcon(s State) string {
	switch s {
	case StateLive:
		return "circle-check"
	case StateDraining, StateSilent:
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
	case StateDraining:
		return "disabled"
	case StateSilent:
		return "late"
	case StateGone:
		return "offline"
	default:
		return ""
	}
}

// conditionTone is the notice's colour.
func conditionTone(c Condition) string {
	if c.Stops {
		return "error"
	}
	return "warning"
}
