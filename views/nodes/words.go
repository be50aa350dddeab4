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

// badges are the icon and the colour of each state.
var badges = map[State]struct{ icon, tone string }{
	StateLive: {"circle-check", "online"}, StateDraining: {"hourglass", "disabled"}, StateSilent: {"hourglass", "late"}, StateGone: {"circle-x", "offline"},
}

// conditionTone is the notice's colour.
func conditionTone(c Condition) string {
	if c.Stops {
		return "error"
	}
	return "warning"
}
