package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auditlog"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/views/audit"
	"github.com/punctual-job/punctual/views/glue"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// auditPages are who did what.
type auditPages struct {
	*frame
	audit    *manage.Audit
	saved    *savedViews
	shipping func() []auditlog.Trouble // targets that take no entries at the moment
}

func (c *auditPages) routes(g *echo.Group) {
	g.GET("/audit", c.auditList)
	g.GET(link.AuditExportPath, c.auditExport)
	g.GET("/audit/:id", c.auditEntry)
}

const auditPerPage = 50

// auditList shows administrators and auditors who did what.
func (c *auditPages) auditList(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	f := link.AuditFrom(ec.QueryParams())
	page := audit.ListPage{Page: c.Page(ec)} // its address is that of the filter, once that is known
	if err := c.addPicks(ec, &page, &f); err != nil {
		return err
	}
	page.Page, page.Filter = c.pageOfList(ec, link.Audit(f)), f
	for _, x := range c.shipping() {
		page.Unshipped = append(page.Unshipped, audit.Unshipped{Target: x.Target, Since: c.at(page.Page, x.Since), Why: problem.Reason(page.Printer, x.Err)})
	}
	filter := c.auditFilter(f, c.zoneFor(who(ec)))
	filter.Before, filter.After, filter.Deep, filter.Limit = f.Before, f.After, f.Deep, auditPerPage
	var list manage.AuditList
	var err error
	if backwards(filter.Since, filter.Until) {
		swapped := f
		swapped.From, swapped.To = f.To, f.From
		page.Swapped = link.Audit(swapped)
	} else if list, err = c.audit.List(ctx, p, filter); err != nil {
		return err
	}
	for _, e := range list.Entries {
		page.Rows = append(page.Rows, c.auditRow(page.Page, e))
	}
	newer, older := f, f
	newer.Before, newer.After, newer.Deep = 0, list.Newer, false
	older.Before, older.After, older.Deep = list.Older, 0, list.Searched
	if list.Newer != 0 {
		page.Pager.Previous = link.Audit(newer)
	}
	switch {
	case list.Searched:
		page.Further, page.Reached = link.Audit(older), c.at(page.Page, list.Reached)
	case list.Older != 0:
		page.Pager.Next = link.Audit(older)
	}
	if page.Views, err = c.saved.viewBar(ec, manage.ViewAudit, link.ViewParams(manage.ViewAudit, ec.QueryString())); err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, audit.List(page), ui.FragmentResults)
}

// addPicks adds what the list can be narrowed to. What no pick list has would narrow it while they say that it shows all: a kind and an
// action that there are none of are left out of the filter, and people and executors that are gone stand with the others.
func (c *auditPages) addPicks(ec echo.Context, page *audit.ListPage, f *link.AuditFilter) error {
	ctx, p := ec.Request().Context(), who(ec)
	page.Kinds = manage.Objects()
	for _, a := range manage.Actions() {
		page.Actions = append(page.Actions, string(a))
	}
	if !slices.Contains(page.Kinds, f.Kind) {
		f.Kind = ""
	}
	if !slices.Contains(page.Actions, f.Action) {
		f.Action = ""
	}
	names, err := c.audit.Users(ctx, p)
	if err != nil {
		return err
	}
	if f.User != "" && !slices.Contains(names, f.User) {
		names = append(names, f.User)
	}
	for _, n := range names {
		page.Users = append(page.Users, ui.Option{Value: n, Label: page.Who(n), Selected: n == f.User})
	}
	groups, err := c.groupTitlesOf(ctx, p)
	page.Groups = groups.options(f.Group)
	if f.Group != 0 {
		page.Groups = ui.WithChosen(page.Groups, textID(f.Group), groups.title(f.Group))
	}
	return err
}

// auditRow is an entry in words. Its name is never empty, because it is what people click on.
func (c *auditPages) auditRow(page layout.Page, e db.AuditRow) audit.Row {
	number := ""
	if e.ObjectID != 0 && e.ObjectKind != manage.ObjectAddress {
		number = " #" + textID(e.ObjectID)
	}
	r := audit.Row{
		ID: e.ID, At: c.at(page, db.Instant(e.MadeAt)), User: e.UserName, Address: e.Address, Action: e.Action, Kind: e.ObjectKind, Object: e.ObjectID,
		Name: e.ObjectName, What: page.Word("audit.kind.", e.ObjectKind) + number,
	}
	switch {
	case e.ObjectKind == manage.ObjectUser && e.ObjectName == "" || e.ObjectKind == manage.ObjectRequest && e.ObjectName == "":
		r.Name, r.What = page.T("audit.others"), ""
	case e.ObjectKind == manage.ObjectSetting:
		r.Name = page.Word("settings.item.", e.ObjectName)
	case isClearing(e.ObjectKind, e.Action):
		r.Name, r.What = page.T("audit.clearing")+number, ""
	case e.ObjectKind == manage.ObjectRun || e.ObjectName == "":
		r.Name, r.What = r.What, "" // it has no other name than its number
	}
	return r
}

// isClearing says whether an entry is about a clearing of runs, that was begun or stopped, and not about one run.
func isClearing(kind, action string) bool {
	return kind == manage.ObjectRun && (manage.Action(action) == manage.ActionClear || manage.Action(action) == manage.ActionStop)
}

func (c *auditPages) auditEntry(ec echo.Context) error {
	entryID, err := id(ec)
	if err != nil {
		return err
	}
	e, before, after, err := c.audit.Get(ec.Request().Context(), who(ec), entryID)
	if err != nil {
		return err
	}
	page := audit.EntryPage{Page: c.pageWithFlash(ec)}
	page.What = c.auditRow(page.Page, db.AuditRow{
		ID: e.ID, MadeAt: e.MadeAt, UserName: e.UserName, Address: e.Address, Action: e.Action, ObjectKind: e.ObjectKind, ObjectID: e.ObjectID, ObjectName: e.ObjectName,
	})
	switch {
	case isClearing(e.ObjectKind, e.Action):
		page.ObjectURL = link.ClearPath
	case manage.Action(e.Action) != manage.ActionDelete:
		page.ObjectURL = auditTarget(e.ObjectKind, e.ObjectID, e.ObjectName)
	}
	page.Changes = auditChanges(page.Page, before, after)
	return render(ec, http.StatusOK, audit.Entry(page))
}

// auditTarget is where the thing that was changed can be seen.
func auditTarget(kind string, id int64, name string) string {
	if kind == manage.ObjectSetting {
		return link.Setting(name)
	}
	if id == 0 {
		return ""
	}
	switch kind {
	case manage.ObjectJob:
		return link.Job(id)
	case manage.ObjectRun:
		return link.Run(id)
	case manage.ObjectGroup:
		return link.ExecutorEdit(id)
	case manage.ObjectUser:
		return link.UserEdit(id)
	}
	return ""
}

// auditChanges puts the fields of an entry side by side, in the order of their names as people read them.
func auditChanges(page layout.Page, before, after manage.Snapshot) []audit.Change {
	names := make(map[string]bool)
	for name := range before {
		names[name] = true
	}
	for name := range after {
		names[name] = true
	}
	changes := make([]audit.Change, 0, len(names))
	for name := range names {
		change := audit.Change{Field: page.Word("audit.field.", name), Before: factText(page, name, before[name]), After: factText(page, name, after[name])}
		if long(change.Before) || long(change.After) {
			change.Lines = diffLines(page, change.Before, change.After)
		}
		changes = append(changes, change)
	}
	slices.SortFunc(changes, func(a, b audit.Change) int { return strings.Compare(a.Field, b.Field) })
	return changes
}

// long says whether a value is better shown line by line.
func long(s string) bool { return strings.Count(s, "\n") > 0 || len(s) > 400 }

// factWords are the words of what is one of several, by its name in the log.
var factWords = map[string]string{
	"reason": "audit.reason.", "factor": "second.kind.", "way": "audit.way.", "schedule_type": "schedule.", "misfire_strategy": "misfire.",
	"executor_route_strategy": "route.", "executor_block_strategy": "block.", "glue_type": "glue.",
}

// factText is a value as people read it.
func factText(page layout.Page, name string, v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case bool:
		if v {
			return page.T("audit.yes")
		}
		return page.T("audit.no")
	case json.Number:
		switch {
		case name == "role" && v.String() == "1":
			return page.T("role.admin")
		case name == "role" && v.String() == "2":
			return page.T("role.auditor")
		case name == "role":
			return page.T("role.user")
		case name == "address_type" && v.String() == "1":
			return page.T("groups.type.manual")
		case name == "address_type":
			return page.T("groups.type.auto")
		}
		return v.String()
	case string:
		if words, ok := factWords[name]; ok {
			return page.Word(words, v)
		}
		return v
	default:
		return fmt.Sprint(v)
	}
}

// diffLines compares two texts line by line, a changed line as the old one above the new.
func diffLines(page layout.Page, before, after string) []audit.Line {
	var lines []audit.Line
	var added []audit.Line // stand behind what they take the place of
	flush := func() { lines, added = append(lines, added...), nil }
	for _, l := range lineDifference(before, after, differenceContext) {
		switch l.Kind {
		case glue.LineChanged:
			lines = append(lines, audit.Line{Mark: audit.LineRemoved, Text: l.Left})
			added = append(added, audit.Line{Mark: audit.LineAdded, Text: l.Right})
		case glue.LineRemoved:
			lines = append(lines, audit.Line{Mark: audit.LineRemoved, Text: l.Left})
		case glue.LineAdded:
			added = append(added, audit.Line{Mark: audit.LineAdded, Text: l.Right})
		case glue.LineSame:
			flush()
			lines = append(lines, audit.Line{Mark: audit.LineSame, Text: l.Left})
		case glue.LineGap:
			flush()
			lines = append(lines, audit.Line{Mark: audit.LineGap, Text: page.T("audit.gap", "Count", l.Skipped, "N", l.Skipped)})
		}
	}
	flush()
	return lines
}
