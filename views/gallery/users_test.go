package gallery

import (
	"fmt"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/views/audit"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
	"github.com/punctual-job/punctual/views/users"
)

func (f fakes) users() users.ListPage {
	groups := []string{f.zh("订单服务", "Orders"), f.zh("支付网关", "Payments"), f.zh("报表中心", "Reporting"), f.zh("旧账务系统", "Legacy billing"), f.zh("示例执行器", "Sample executor")}
	return users.ListPage{Page: f.page("/users"), Total: 5, Unnamed: []users.Unnamed{{Provider: "old-directory", People: 3}}, Rows: []users.Row{
		{ID: 1, Name: "admin", Role: link.UserAdmin, State: link.UserActive, Self: true, BreakGlass: true, Login: f.at(-2 * time.Minute), Sessions: 1},
		{ID: 2, Name: "wangmin", Role: link.UserAuditor, State: link.UserActive, Login: f.at(-3 * time.Hour), Sessions: 2},
		{ID: 3, Name: "jonas", Role: link.UserNormal, State: link.UserLeft, Provider: "company", Groups: groups, Teams: []string{f.zh("夜间值班", "Night shift")}, Login: f.at(-26 * time.Hour), Sessions: 1},
		{ID: 4, Name: "reports2", Role: link.UserNormal, State: link.UserActive, Groups: groups[2:3]},
		{ID: 5, Name: "leozhao", Role: link.UserNormal, State: link.UserDisabled, Login: f.at(-90 * 24 * time.Hour)},
	}}
}

func (f fakes) like() users.Like {
	return users.Like{Colleagues: []ui.Option{{Value: "4", Label: "reports2"}, {Value: "5", Label: "leozhao"}}}
}

// userOfMany is the form of a user of an installation with two hundred executors, just after a colleague's rights were filled in.
func (f fakes) userOfMany() users.FormPage {
	p := f.userEdit()
	p.Like.Filled = "reports2"
	for i := len(p.Groups); i < 200; i++ {
		p.Groups = append(p.Groups, users.Group{ID: int64(i + 1), Title: fmt.Sprintf("%s %03d", f.zh("业务服务", "Service"), i+1)})
	}
	return p
}

func (f fakes) teams() users.TeamsPage {
	return users.TeamsPage{Page: f.page("/teams"), Rows: []users.Team{
		{ID: 2, Name: f.zh("夜间值班", "Night shift"), Members: []string{"jonas", "leozhao", "mina", "reports2", "wangmin"}, Groups: []string{f.zh("订单服务", "Orders"), f.zh("支付网关", "Payments")}},
		{ID: 1, Name: f.zh("报表组", "Reporting"), Members: []string{"reports2"}, Groups: []string{f.zh("报表中心", "Reporting")}},
		{ID: 3, Name: f.zh("新团队", "New team")},
	}}
}

var rights = auth.RightNames(auth.AllRights)

func (f fakes) teamEdit() users.TeamPage {
	p := users.TeamPage{Rights: rights, Page: f.page("/teams/2/edit"), ID: 2, Title: f.zh("夜间值班", "Night shift"), Version: "1", Groups: f.userEdit().Groups, Like: f.like()}
	p.Name = p.Title
	for i := range p.Groups {
		p.Groups[i].Through = nil
	}
	p.Members = []users.Member{{ID: 3, Name: "jonas", In: true}, {ID: 7, Name: "mina.wang@example.com", In: true, Ruled: true}, {ID: 1, Name: "admin", Admin: true}, {ID: 5, Name: "leozhao", Disabled: true}, {ID: 4, Name: "reports2"}}
	for i := range 12 {
		p.Members = append(p.Members, users.Member{ID: int64(20 + i), Name: fmt.Sprintf("user%02d", i)})
	}
	return p
}

func (f fakes) userEdit() users.FormPage {
	p := users.FormPage{Rights: rights, Like: f.like(), Teams: []users.Team{{ID: 2, Name: f.zh("夜间值班", "Night shift")}},
		Page: f.page("/users/3/edit"), ID: 3, Values: users.FormValues{Name: "jonas", Role: link.UserNormal, State: link.UserActive, Version: "1"}}
	for i, title := range []string{f.zh("订单服务", "Orders"), f.zh("支付网关", "Payments"), f.zh("报表中心", "Reporting"), f.zh("示例执行器", "Sample executor")} {
		p.Groups = append(p.Groups, users.Group{ID: int64(i + 1), Title: title, Rights: map[string]bool{"view": i < 3, "run": i < 2, "schedule": i == 0, "edit": i == 0, "glue": i == 0}})
	}
	p.Groups[1].Through = []users.Through{{Team: f.zh("夜间值班", "Night shift"), Rights: []string{"view", "run", "schedule"}}}
	return p
}

// userOfProvider is the form of somebody whose rights come from rules.
func (f fakes) userOfProvider() users.FormPage {
	p := f.userEdit()
	p.Values.Name, p.Values.Provider, p.SecondAt = "jonas.li", "company", "company"
	return p
}

func (f fakes) profile() users.ProfilePage {
	p := users.ProfilePage{Rights: rights, Page: f.page("/profile"), Groups: f.userEdit().Groups, Errors: map[string]string{users.FieldOld: f.T("user.error.old")}}
	p.User = layout.User{Name: "jonas"}
	p.Sessions = []users.Session{
		{ID: "a", Current: true, Agent: "Firefox · Linux", Full: "Mozilla/5.0 (X11; Linux x86_64) Firefox/142.0", Address: "10.2.0.7", Opened: f.at(-3 * time.Hour), Seen: f.at(-time.Minute)},
		{ID: "b", Agent: "Chrome · Android", Full: "Mozilla/5.0 (Linux; Android 16) Chrome/142.0", Address: "2001:db8::17", Opened: f.at(-70 * time.Hour), Seen: f.at(-20 * time.Hour)},
	}
	return p
}

func (f fakes) audit() audit.ListPage {
	p := audit.ListPage{Page: f.page("/audit"), Users: []ui.Option{{Value: "admin", Label: "admin"}, {Value: "jonas", Label: "jonas"}},
		Actions: []string{"create", "update", "delete"}, Kinds: []string{"job", "group", "user"}, Pager: ui.Pager{Next: "/audit?before=790"},
		Groups: []ui.Option{{Value: "3", Label: "reporting"}}}
	row := func(id int64, ago time.Duration, user, action, kind string, object int64, name string) {
		what := fmt.Sprintf("%s #%d", f.T("audit.kind."+kind), object)
		if name == "" {
			name, what = what, ""
		}
		p.Rows = append(p.Rows, audit.Row{ID: id, At: f.at(-ago), User: user, Address: "10.2.0.7", Action: action, Kind: kind, Object: object, Name: name, What: what})
	}
	row(812, 2*time.Minute, "admin", "update", "job", 15, f.zh("清理过期会话", "Remove expired sessions"))
	row(811, 5*time.Minute, "jonas", "run", "job", 7, f.zh("每日对账", "Daily reconciliation"))
	row(810, 31*time.Minute, "jonas", "kill", "run", 90409, "")
	row(806, time.Hour, "admin", "create", "user", 4, "reports2")
	row(805, 2*time.Hour, "admin", "delete", "group", 9, f.zh("旧账务系统", "Legacy billing"))
	row(804, 3*time.Hour, "roott", "login_refused", "user", 0, "roott")
	row(803, 3*time.Hour, "jonas", "refused", "request", 0, "GET /users/:id/edit")
	row(802, 4*time.Hour, "", "register", "address", 0, "http://10.2.7.19:9999/")
	row(801, 5*time.Hour, "admin", "export", "audit", 0, "")
	row(800, 6*time.Hour, "jonas", "logout", "user", 4, "jonas")
	row(799, 9*time.Hour, "wangmin", "rotate", "token", 3, "reporting")
	row(798, 9*time.Hour, "wangmin", "password", "user", 5, "leozhao")
	row(791, 26*time.Hour, "admin", "start", "job", 18, f.zh("月度账单", "Monthly statement"))
	return p
}

// auditSearched is a page of the log whose search has not come to the end.
func (f fakes) auditSearched() audit.ListPage {
	p := f.audit()
	p.Filter.Action, p.Filter.Range, p.Rows, p.Pager = "delete", link.RangeAll, p.Rows[4:5], ui.Pager{}
	p.Further, p.Reached = "/audit?action=delete&range=all&before=120&deep=1", f.at(-90*24*time.Hour)
	return p
}

func (f fakes) auditEntry() audit.EntryPage {
	return audit.EntryPage{Page: f.page("/audit/812"), What: f.audit().Rows[0], ObjectURL: "/jobs/15/edit", Changes: []audit.Change{
		{Field: f.T("audit.field.schedule_conf"), Before: "0 30 3 * * ?", After: "0 30 3 ? * MON-FRI"},
		{Field: f.T("audit.field.executor_timeout"), After: "300"},
		{Field: f.T("audit.field.glue_source"), Before: "x", After: "y", Lines: []audit.Line{
			{Mark: audit.LineGap, Text: f.T("audit.gap", "Count", 4, "N", 4)}, {Mark: audit.LineSame, Text: "# $1 is the parameter"},
			{Mark: audit.LineRemoved, Text: "find /tmp/sessions -delete"}, {Mark: audit.LineAdded, Text: "find /var/tmp/sessions -mtime +\"$1\" -delete"},
			{Mark: audit.LineSame, Text: "df -h /var/tmp"},
		}},
	}}
}
