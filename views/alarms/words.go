package alarms

import (
	"strings"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// sentence is a reason that stands alone: with a capital letter, unless it begins with an address.
func sentence(reason string) string {
	first, _, _ := strings.Cut(reason, " ")
	if first == "" || strings.Trim(first, "abcdefghijklmnopqrstuvwxyz’") != "" {
		return reason
	}
	return strings.ToUpper(reason[:1]) + reason[1:]
}

// apart puts several reasons on lines of their own, below what stands before them.
func apart(reason string) string {
	if strings.Contains(reason, "\n") {
		return "\n" + reason
	}
	return reason
}

func stateIcon(s State) string {
	switch s {
	case StateOK:
		return "circle-check"
	case StateBroken:
		return "circle-x"
	case StateNew:
		return "circle-dashed"
	case StateOff:
		return "bell-off"
	default:
		return "circle"
	}
}

// stateTone is the badge's colour.
func stateTone(s State) string {
	switch s {
	case StateOK:
		return "success"
	case StateBroken:
		return "failed"
	case StateNew, StateOff:
		return ""
	default:
		return ""
	}
}

func messageIcon(state string) string {
	switch state {
	case link.MessageSent:
		return "circle-check"
	case link.MessageGivenUp:
		return "circle-x"
	case link.MessageSending:
		return "loader"
	default:
		return "hourglass"
	}
}

func messageTone(state string) string {
	switch state {
	case link.MessageSent:
		return "success"
	case link.MessageGivenUp:
		return "failed"
	case link.MessageSending:
		return "sent"
	default:
		return ""
	}
}

// scopeWord says what a route covers.
func scopeWord(p layout.Page, r Route) string {
	switch {
	case r.Scope == "all" && r.Of != "":
		return p.T("alarms.scope.allof", "Name", r.Of)
	case r.Scope == "all":
		return p.T("alarms.scope.all")
	case r.Name == "":
		return p.T("alarms.scope.gone", "ID", r.ScopeID)
	default:
		return r.Name
	}
}

// causeWords lists what a route tells of.
func causeWords(p layout.Page, r Route) string {
	if r.Usual {
		return p.T("alarms.causes.usual")
	}
	words := make([]string, len(r.Causes))
	for i, c := range r.Causes {
		words[i] = p.Word("alarm.cause.", c)
	}
	return p.List(words)
}

func scopeIcon(scope string) string {
	switch scope {
	case "group":
		return "server"
	case "job":
		return "list-checks"
	default:
		return "bell-ring"
	}
}

func (p FormPage) action() string {
	if p.ID == 0 {
		return link.AlarmsPath
	}
	return link.Alarm(p.ID)
}

func (p FormPage) heading() string {
	switch {
	case p.Job.ID != 0:
		return p.T("alarms.job.new", "Name", p.Job.Name)
	case p.ID == 0:
		return p.T("alarms.new")
	}
	return p.Name
}

func (p FormPage) submit() string {
	if p.ID == 0 {
		return p.T("alarms.create")
	}
	return p.T("action.save")
}

func (p FormPage) cancel() string {
	switch {
	case p.Job.ID != 0:
		return link.Job(p.Job.ID)
	case p.ID == 0:
		return link.AlarmsPath
	}
	return link.Alarm(p.ID)
}

func (p FormPage) languages() []ui.Option {
	options := []ui.Option{{Value: "", Label: p.T("alarms.language.default"), Selected: p.Values.Language == ""}}
	return append(options, ui.Labelled(p.Printer, "language.", locales.Languages(), p.Values.Language, false)...)
}

func (p FormPage) securities() []ui.Option {
	return ui.Labelled(p.Printer, "alarms.security.", []string{"starttls", "tls", "none"}, p.Values.Security, false)
}

func (p FormPage) quietModes() []ui.Option {
	return ui.Labelled(p.Printer, "alarms.quiet.", []string{"queue", "count"}, p.Values.QuietMode, false)
}

// kept is the hint of a field whose secret is stored.
func (p FormPage) kept(has bool) string {
	if has {
		return p.T("alarms.kept")
	}
	return ""
}

func (p RoutePage) action() string {
	if p.ID == 0 {
		return link.AlarmRoutes(p.ChannelID)
	}
	return link.AlarmRoute(p.ChannelID, p.ID)
}

// scopeError is what is wrong with the choice of a scope, at the field of that scope; "" is the choice itself.
func (p RoutePage) scopeError(field string) string {
	at := ""
	if p.Scope == "group" || p.Scope == "job" {
		at = p.Scope
	}
	if field != at {
		return ""
	}
	return p.Errors[FieldScope]
}

func (p RoutePage) scopes() []ui.Option {
	if p.Group != "" {
		options := ui.Labelled(p.Printer, "alarms.scope.", []string{"all", "job"}, p.Scope, false)
		options[0].Label = p.T("alarms.scope.allof", "Name", p.Group)
		return options
	}
	return ui.Labelled(p.Printer, "alarms.scope.", []string{"all", "group", "job"}, p.Scope, false)
}

func (p MessagesPage) states() []ui.Option {
	return ui.Labelled(p.Printer, "alarms.message.", link.MessageStates(), p.Filter.State, false)
}

// retryWord is what the button of a message says: what nobody has tried to send is not sent again.
func (m Message) retryWord() string {
	if m.Tries == 0 {
		return "alarms.sendnow"
	}
	return "alarms.retry"
}

// retryLabel is the same with the message's number behind it.
func (m Message) retryLabel() string {
	if m.Tries == 0 {
		return "alarms.sendnow.label"
	}
	return "alarms.retry.label"
}
