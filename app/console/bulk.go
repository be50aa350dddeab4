package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// jobsChanged is the event on which an open job list draws itself again.
const jobsChanged = "jobs-changed"

// bulkForm shows what a deed means for the jobs that are picked.
func (c *jobPages) bulkForm(ec echo.Context) error {
	b := readBulk(ec)
	all := ec.QueryParam(jobs.FieldAll) != ""
	if all {
		var err error
		if b.IDs, err = c.jobs.Matching(ec.Request().Context(), who(ec), c.jobFilter(link.JobsFrom(ec.QueryParams()), c.zoneFor(who(ec)))); err != nil {
			return err
		}
	}
	if b.Do == manage.BulkMove {
		b.Group = -1 // none is chosen yet, so that every job counts
	}
	preview, foreseen := c.jobs.Preview, manage.Spread{}
	if b.Do == manage.BulkSpread {
		preview = func(ctx context.Context, p auth.Principal, b manage.Bulk) (items []manage.BulkItem, err error) {
			items, foreseen, err = c.jobs.PreviewSpread(ctx, p, b)
			return items, err
		}
	}
	page, err := c.bulkPage(ec, b, preview, chooses(b.Do))
	if err != nil {
		return err
	}
	if all {
		page.Fix(chooses(b.Do))
	}
	if b.Do == manage.BulkSpread {
		c.spreadPicture(ec, &page, b, foreseen)
	}
	return renderPart(ec, http.StatusOK, jobs.Bulk(page), ui.FragmentDialog)
}

// spreadPicture shows what a spread comes to, over the window that is asked about.
func (c *jobPages) spreadPicture(ec echo.Context, page *jobs.BulkPage, b manage.Bulk, s manage.Spread) {
	for _, window := range manage.BulkWindows() {
		minutes := int64(window / time.Minute)
		page.Windows = append(page.Windows, ui.Option{Value: link.JobsBulkOver(ec.QueryParams(), minutes), Label: format.Duration(page.Printer, window), Selected: window == b.Window})
	}
	if page.Count == 0 {
		return
	}
	zone := c.timesOf(page.Page)
	clock := func(at time.Time) string { return at.In(zone).Format("15:04") }
	picture := &jobs.SpreadPicture{
		Before: page.T("jobs.bulk.spread.before", "N", format.Number(s.Worst.N), "At", clock(s.Worst.At)),
		After:  page.T("jobs.bulk.spread.after", "N", format.Number(s.Thereby.N), "At", clock(s.Thereby.At)),
		From:   clock(s.From), Until: clock(s.From.Add(59 * time.Minute)),
	}
	most := float64(max(1, slices.Max(s.Before[:]), slices.Max(s.After[:])))
	for i := range s.Before {
		picture.Bars = append(picture.Bars, jobs.SpreadBar{
			Title:  page.T("jobs.bulk.spread.bar", "At", clock(s.From.Add(time.Duration(i)*time.Minute)), "Before", format.Number(s.Before[i]), "After", format.Number(s.After[i])),
			Before: 95 * float64(s.Before[i]) / most, After: 95 * float64(s.After[i]) / most,
		})
	}
	page.Spread = picture
}

// bulkAgain shows the question again with what was chosen, and why that cannot be.
func (c *jobPages) bulkAgain(ec echo.Context, b manage.Bulk, faults []problem.Field) error {
	ask, set := b, []jobs.Marked(nil)
	ask.Field = ""
	all := ec.Request().Form.Has(jobs.FieldSet)
	if all {
		var ok bool
		if set, ok = jobs.ReadSet(ec.Request().Form.Get(jobs.FieldSet)); !ok {
			return problem.New(problem.Malformed, "problem.bulk.none")
		}
		for _, one := range set {
			ask.IDs = append(ask.IDs, one.ID)
		}
	}
	page, err := c.bulkPage(ec, ask, c.jobs.Preview, true)
	if err != nil {
		return err
	}
	page.All, page.Rest = all, set
	page.Field, page.To, page.Errors = b.Field, b.To, make(map[string]string)
	for _, f := range faults {
		page.Errors[f.Name] = f.Text(page.Printer)
	}
	return renderPart(ec, http.StatusUnprocessableEntity, jobs.Bulk(page), ui.FragmentDialog)
}

// bulk does it. htmx gets the outcome into its dialog, and the list behind it is drawn again.
func (c *jobPages) bulk(ec echo.Context) error {
	b := readBulk(ec)
	var faults []problem.Field
	if b.Do == manage.BulkEdit && b.Was == nil {
		if fault := b.Fault(); fault != nil {
			faults = append(faults, *fault)
		}
	}
	if b.Do == manage.BulkPause {
		b.Pause, faults = c.bulkPause(ec)
	}
	if len(faults) > 0 {
		return c.bulkAgain(ec, b, faults)
	}
	if ec.Request().Form.Has(jobs.FieldSet) {
		return c.bulkPart(ec, b)
	}
	page, err := c.bulkPage(ec, b, c.jobs.Bulk, false)
	if err != nil {
		return err
	}
	ec.Response().Header().Set("HX-Trigger", jobsChanged)
	return bulkDone(ec, page)
}

// bulkPause reads the pause that each of the jobs gets. Times are those of the installation's zone, as on the page of pauses.
func (c *jobPages) bulkPause(ec echo.Context) (manage.PauseInput, []problem.Field) {
	form := ec.Request().Form
	in := manage.PauseInput{Scope: jobspec.PauseJob, Reason: form.Get(jobs.FieldReason), Strategy: jobspec.Pausing(form.Get(jobs.FieldPausing))}
	until := strings.TrimSpace(form.Get(jobs.FieldPauseUntil))
	if until != "" {
		var err error
		if in.Until, err = jobspec.Moment(until, c.wall.Zone()); err != nil {
			return in, []problem.Field{{Name: manage.PauseUntil, Key: "pauses.error.moment"}}
		}
	}
	return in, c.pauses.Faults(who(ec), in)
}

// bulkPart does a deed to the next of the jobs that its preview named. What is still to do, and what became of the others, goes
// with the form: any admin can go on with it.
func (c *jobPages) bulkPart(ec echo.Context, b manage.Bulk) error {
	form := ec.Request().Form
	set, ok := jobs.ReadSet(form.Get(jobs.FieldSet))
	told, okTold := jobs.ReadTold(form.Get(jobs.FieldTold))
	if !ok || !okTold || len(set)+len(told) > manage.MaxMatching {
		return problem.New(problem.Malformed, "problem.bulk.none")
	}
	part := set[:min(len(set), manage.MaxBulk)]
	undoing := form.Get(jobs.FieldUndo) != ""
	b.IDs, b.Was, b.Versions = nil, nil, make(map[int64]string)
	if undoing {
		b.Was = make(map[int64]string)
	}
	for _, one := range part {
		b.IDs = append(b.IDs, one.ID)
		if undoing {
			b.Was[one.ID] = one.Mark
		} else {
			b.Versions[one.ID] = one.Mark
		}
	}
	page, err := c.bulkPage(ec, b, c.jobs.Bulk, false)
	if err != nil {
		return err
	}
	page.GoOn(told, set[len(part):], undoing)
	page.Group, page.Add, page.Drop = b.Group, strings.Join(b.Add, ","), strings.Join(b.Drop, ",")
	page.Field, page.To = b.Field, b.To
	if len(page.Rest) > 0 {
		return bulkGoesOn(ec, page)
	}
	ec.Response().Header().Set("HX-Trigger", jobsChanged)
	return bulkDone(ec, page)
}

// bulkGoesOn answers a part of a deed that goes on: with the panel at first, and then with what changes of it.
func bulkGoesOn(ec echo.Context, page jobs.BulkPage) error {
	fragment := ui.FragmentDialog
	if ec.Request().Header.Get("HX-Target") == jobs.PartID {
		fragment = jobs.FragmentPart
	}
	return renderPart(ec, http.StatusOK, jobs.BulkGoesOn(page), fragment)
}

// bulkDone answers the last part: what became of all takes the place of the panel.
func bulkDone(ec echo.Context, page jobs.BulkPage) error {
	ec.Response().Header().Set("HX-Retarget", "closest .panel")
	return renderPart(ec, http.StatusOK, jobs.BulkDone(page), ui.FragmentDialog)
}

// chooses says that the question before a deed asks for more than a confirmation.
func chooses(do manage.BulkDo) bool {
	return do == manage.BulkPause || do == manage.BulkMove || do == manage.BulkTag || do == manage.BulkEdit
}

// readBulk reads a deed from a query or a form.
func readBulk(ec echo.Context) manage.Bulk {
	_ = ec.Request().ParseForm() // a body that cannot be read has been refused
	form := ec.Request().Form
	b := manage.Bulk{Do: manage.BulkDo(form.Get(jobs.FieldDo)), Add: tagsIn(form.Get(jobs.FieldAdd)), Drop: tagsIn(form.Get(jobs.FieldDrop))}
	if b.Do == manage.BulkEdit {
		b.Field = form.Get(jobs.FieldField)
		b.To = form.Get(jobs.FieldTo + b.Field)
	}
	if b.Do == manage.BulkSpread {
		minutes, err := strconv.Atoi(cmp.Or(form.Get(jobs.FieldWindow), "15"))
		if b.Window = time.Duration(minutes) * time.Minute; err != nil {
			b.Window = 0 // which the use case refuses
		}
	}
	b.Group, _ = strconv.ParseInt(form.Get(jobs.FieldGroup), 10, 64) // 0 is no group, which the use case says
	b.IDs = picked(form)
	if form.Get(jobs.FieldUndo) != "" {
		b.Was = make(map[int64]string)
		for _, id := range b.IDs {
			b.Was[id] = form.Get(jobs.FieldWas + strconv.FormatInt(id, 10))
		}
	}
	return b
}

// picked are the ids that a form has.
func picked(form url.Values) (ids []int64) {
	for _, text := range form[jobs.FieldID] {
		if id, err := strconv.ParseInt(text, 10, 64); err == nil && id > 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

func tagsIn(list string) []string {
	var tags []string
	for tag := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == '，' }) {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}

func (c *jobPages) bulkPage(ec echo.Context, b manage.Bulk, do bulkAction, choosing bool) (jobs.BulkPage, error) {
	ctx, p := ec.Request().Context(), who(ec)
	page := jobs.BulkPage{Page: c.Page(ec), Do: string(b.Do), Window: strconv.Itoa(int(b.Window / time.Minute))}
	items, err := do(ctx, p, b)
	if err != nil {
		return page, err
	}
	for _, item := range items {
		drawn := jobs.BulkItem{ID: item.ID, Name: item.Name, Changes: item.Changes, Was: item.Was, Version: item.Version, Uses: usesOf(page.Page, item.Used)}
		if choosing {
			// What is chosen in the question decides; here only the right to change the job counts.
			drawn.Changes = item.Err == nil
			if item.Name == "" {
				item.Err = &problem.Error{Kind: problem.Forbidden}
			}
		}
		if item.Err != nil {
			drawn.Problem = refusal(page.Page, item.Err)
		} else if drawn.Changes {
			page.Count++
		}
		page.Items = append(page.Items, drawn)
	}
	if undo, ok := b.Undo(items); ok && !choosing && b.Was == nil {
		page.UndoDo, page.Field = string(undo.Do), undo.Field
		for _, id := range undo.IDs {
			page.Undo = append(page.Undo, jobs.BulkWas{ID: id, Was: undo.Was[id]})
		}
	}
	if b.Do == manage.BulkPause {
		form := ec.Request().Form
		page.Reason, page.Until, page.Pausing = form.Get(jobs.FieldReason), form.Get(jobs.FieldPauseUntil), form.Get(jobs.FieldPausing)
		page.Zone = zoneName(c.wall.Zone(), c.now())
		for _, s := range jobspec.AllPausings() {
			page.Pausings = append(page.Pausings, ui.Option{Value: string(s), Label: page.T("pauses.strategy." + string(s)), Selected: string(s) == page.Pausing})
		}
	}
	if !choosing { // when it is done, nothing more is read that could keep anybody from learning what was
		return page, nil
	}
	if b.Do == manage.BulkEdit {
		page.Fields, page.Calendars = manage.BulkFields(), c.jobs.CalendarNames()
	}
	if b.Do == manage.BulkMove {
		groups, err := c.groupTitles(ec)
		if err != nil {
			return page, err
		}
		for _, o := range groups.options(0) {
			if id, _ := strconv.ParseInt(o.Value, 10, 64); p.Can(id, auth.RightEdit) {
				page.Groups = append(page.Groups, o)
			}
		}
	}
	return page, nil
}

// refusal says in a line why something cannot be done.
func refusal(page layout.Page, err error) string {
	e := problem.From(err)
	if text := e.Text(page.Printer); text != "" {
		return text
	}
	return page.T("error." + strconv.Itoa(e.Kind.Status()) + ".title")
}

func (c *jobPages) bulkRoutes(g *echo.Group) {
	g.GET(link.JobsBulk, c.bulkForm)
	g.POST(link.JobsBulk, c.bulk)
}
