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
	Channel int64  `q:"channel"`
	State   string `q:"state,word"` // "" or one of MessageStates
	Before  int64  `q:"before"`     // a page starts below this id
}

// MessagesFrom reads a message filter from a query. A value it cannot read counts as absent.
func MessagesFrom(q url.Values) MessageFilter {
	f := read[MessageFilter](q)
	only(&f.State, MessageStates()...)
	return f
}

// Messages is the list of alarm messages under a filter.
func Messages(f MessageFilter) string { return withQuery(AlarmMessages, values(f)) }

// Active says whether the filter leaves anything out.
func (f MessageFilter) Active() bool { return f.Channel != 0 || f.State != "" }
