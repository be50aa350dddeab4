package link

import "net/url"

// States an alarm message list can be narrowed to.
const (
	MessageWaiting = "waiting"
	MessageSending = "sending"
	MessageSent    = "sent"
	MessageGivenUp = "givenup"
)

// MessageStates lists the states in the order the filter shows them.
func MessageStates() []string {
	return []string{MessageWaiting, MessageSending, MessageSent, MessageGivenUp}
}

// MessageFilter is what a list of alarm messages is narrowed to. The zero value is all of them, newest first.
type MessageFilter struct {
	Channel int64
	State   string // "" or one of MessageStates
	Before  int64  // a page starts below this id
}

// MessagesFrom reads a message filter from a query. A value it cannot read counts as absent.
func MessagesFrom(q url.Values) MessageFilter {
	f := MessageFilter{Channel: Number(q, "channel"), State: q.Get("state"), Before: Number(q, "before")}
	switch f.State {
	case MessageWaiting, MessageSending, MessageSent, MessageGivenUp:
	default:
		f.State = ""
	}
	return f
}

// Messages is the list of alarm messages under a filter.
func Messages(f MessageFilter) string {
	q := url.Values{}
	setNumber(q, "channel", f.Channel)
	setText(q, "state", f.State)
	setNumber(q, "before", f.Before)
	return withQuery(AlarmMessages, q)
}

// Active says whether the filter leaves anything out.
func (f MessageFilter) Active() bool { return f.Channel != 0 || f.State != "" }
