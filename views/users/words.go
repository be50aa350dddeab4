package users

import (
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// shownGroups is how many executors a row names.
const shownGroups = 3

func shown(groups []string) []string { return groups[:min(len(groups), shownGroups)] }

func (p ListPage) pager() ui.Pager {
	pager := p.Pager
	if pager.Summary == "" {
		pager.Summary = p.T("users.total", "Count", p.Total, "N", format.Number(p.Total))
	}
	return pager
}

func (p FormPage) action() string {
	if p.ID == 0 {
		return link.UsersPath
	}
	return link.User(p.ID)
}

func (p FormPage) title() string {
	if p.ID == 0 {
		return p.T("users.new")
	}
	return p.T("users.edit")
}

func (p FormPage) heading() string {
	if p.ID == 0 {
		return p.T("users.new")
	}
	return p.Values.Name
}

func (p FormPage) submit() string {
	if p.ID == 0 {
		return p.T("users.create")
	}
	return p.T("action.save")
}

func (p FormPage) nameField() ui.Field {
	f := ui.Field{
		Name: FieldName, Label: p.T("login.name"), Value: p.Values.Name, Error: p.Errors[FieldName], Max: 20, Class: "mono", Required: true,
		Focus: p.ID == 0 && len(p.Errors) == 0, Help: p.T("users.field.name.help"),
	}
	if p.ID != 0 {
		f.ReadOnly, f.Help = true, p.T("users.field.name.fixed")
	} else if f.Error != "" {
		f.Help = "" // the error says the same
	}
	return f
}

// RightValue is the value of the box for a right in a group.
func RightValue(groupID int64, right string) string { return format.Digits(groupID) + "." + right }

// ParseRight reads the value of a box.
func ParseRight(value string) (groupID int64, right string, ok bool) {
	group, right, found := strings.Cut(value, ".")
	id, err := strconv.ParseInt(group, 10, 64)
	return id, right, found && err == nil && id > 0
}

func (p AskPage) signOutTitle() string {
	if p.Sessions == 0 {
		return p.T("users.signout.none.title", "Name", p.Name)
	}
	return p.T("users.signout.title", "Name", p.Name)
}

func (p AskPage) sessions() string {
	if p.Sessions == 0 {
		return p.T("users.signout.none")
	}
	return p.T("users.signout.text", "Count", p.Sessions, "N", format.Number(p.Sessions))
}

// signOutButton is left out when there is nobody to sign out.
func (p AskPage) signOutButton() templ.Component {
	if p.Sessions == 0 {
		return nil
	}
	return button("danger", "log-out", p.T("users.signout"))
}

// fewGroups is how many lines a list of executors or people may have without a search and a frame of its own.
const fewGroups = 12

func (p ListPage) list(names []string) string { return p.List(names) }

// words are the names of rights, for people.
func words(p layout.Page, rights []string) string {
	list := make([]string, len(rights))
	for i, right := range rights {
		list[i] = p.Word("right.", right)
	}
	return p.List(list)
}

func (p TeamPage) action() string {
	if p.ID == 0 {
		return link.TeamsPath
	}
	return link.Team(p.ID)
}

func (p TeamPage) title() string {
	if p.ID == 0 {
		return p.T("teams.new")
	}
	return p.Title
}

func (p TeamPage) submit() string {
	if p.ID == 0 {
		return p.T("teams.create")
	}
	return p.T("action.save")
}

// note is what there is to say of somebody who may be in the team.
func (p TeamPage) note(m Member) string {
	switch {
	case m.Ruled:
		return p.T("teams.member.ruled")
	case m.Admin:
		return p.T("teams.member.admin")
	case m.Disabled:
		return p.T("users.state.disabled")
	}
	return ""
}

// roles are what a user's role can be.
func (p FormPage) roles() []ui.Option {
	var list []ui.Option
	for _, role := range []string{link.UserNormal, link.UserAuditor, link.UserAdmin} {
		list = append(list, ui.Option{Value: role, Label: p.T("role." + role), Selected: role == p.Values.Role || role == link.UserNormal && p.Values.Role == ""})
	}
	return list
}

// states are what a user's state can be made. Who has left comes back by their directory, or not at all.
func (p FormPage) states() []ui.Option {
	first := link.UserActive
	if p.Values.State == link.UserLeft {
		first = link.UserLeft
	}
	var list []ui.Option
	for _, state := range []string{first, link.UserDisabled} {
		list = append(list, ui.Option{Value: state, Label: p.T("users.state." + state), Selected: (state == link.UserDisabled) == (p.Values.State == link.UserDisabled)})
	}
	return list
}

func (p FormPage) stateHelp() string {
	if p.Values.State == link.UserLeft {
		return p.T("users.field.state.left", "Provider", p.Values.Provider)
	}
	return p.T("users.field.state.help")
}
