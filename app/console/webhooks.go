package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/scheduler/webhook"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
	"github.com/punctual-job/punctual/views/webhooks"
)

// webhookPages are the webhooks that programs are told by.
type webhookPages struct{ *frame }

func (c *webhookPages) routes(g *echo.Group) {
	g.GET("/webhooks", c.webhookList)
	g.GET("/webhooks/new", c.webhookNew)
	g.POST("/webhooks", c.webhookCreate)
	g.GET("/webhooks/:id", c.webhookShow)
	g.GET("/webhooks/:id/edit", c.webhookEdit)
	g.POST("/webhooks/:id/edit", c.webhookUpdate)
	g.POST("/webhooks/:id/test", c.webhookTest)
	g.POST("/webhooks/:id/secret", c.webhookSecret)
	g.GET("/webhooks/:id/delete", c.webhookDeleteForm)
	g.POST("/webhooks/:id/delete", c.webhookDelete)
	g.POST("/webhooks/:id/again", c.webhookAgain)
	g.POST("/webhooks/:id/deliveries/:delivery/again", c.webhookAgain)
}

func (c *webhookPages) webhookList(ec echo.Context) error {
	list, err := c.webhooks.List(ec.Request().Context(), who(ec))
	if err != nil {
		return err
	}
	page := webhooks.ListPage{Page: c.pageWithFlash(ec)}
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	for i := range list {
		page.Rows = append(page.Rows, c.webhookRow(page.Page, &list[i], groups.title))
	}
	return renderPart(ec, http.StatusOK, webhooks.List(page), webhooks.FragmentList)
}

func (c *webhookPages) webhookRow(page layout.Page, w *manage.Webhook, title func(int64) string) webhooks.Row {
	row := webhooks.Row{
		ID: w.ID, Name: w.Name, Place: w.Place, State: string(w.State), Status: w.Status, Failing: c.at(page, w.FailingSince),
		Waiting: format.Number(w.Waiting), Oldest: c.at(page, w.Oldest), GivenUp: w.GivenUp, Dropped: w.Dropped, LastOK: c.at(page, w.LastOK), Tags: w.Tags, Unsealed: !w.Unsealed(),
	}
	if w.More {
		row.Waiting += "+"
	}
	if !w.FailingSince.IsZero() {
		row.Trouble = string(w.Reason)
		if w.RestUntil.After(c.now()) {
			row.Rests = c.at(page, w.RestUntil)
		}
	}
	for _, t := range w.Types {
		row.Types = append(row.Types, string(t))
	}
	for _, g := range w.Groups {
		row.Groups = append(row.Groups, title(g))
	}
	return row
}

func (c *webhookPages) webhookNew(ec echo.Context) error {
	if !who(ec).Admin {
		return &problem.Error{Kind: problem.Forbidden}
	}
	in := manage.WebhookInput{}
	for _, t := range webhook.Types() {
		if t != webhook.RunSent { // as many as there are runs, and their ends tell the same
			in.Types = append(in.Types, t)
		}
	}
	return c.webhookForm(ec, http.StatusOK, webhooks.FormPage{Page: c.pageWithFlash(ec)}, in)
}

// webhookForm draws the form with what is chosen.
func (c *webhookPages) webhookForm(ec echo.Context, status int, page webhooks.FormPage, in manage.WebhookInput) error {
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	page.Name, page.URL, page.Tags, page.Off = in.Name, in.URL, strings.Join(in.Tags, ","), in.Off
	for _, t := range webhook.Types() {
		page.Types = append(page.Types, webhooks.Tick{Value: string(t), Label: page.Word("webhooks.type.", string(t)), On: len(in.Types) == 0 || slices.Contains(in.Types, t)})
	}
	for _, g := range groups.list {
		page.Groups = append(page.Groups, webhooks.Tick{Value: textID(g.ID), Label: g.Title, On: slices.Contains(in.Groups, g.ID)})
	}
	for _, id := range in.Groups { // one that is gone goes when somebody takes it out: without any, it would be told of all jobs
		if _, is := groups.byID[id]; !is {
			page.Groups = append(page.Groups, webhooks.Tick{Value: textID(id), Label: page.T("alarms.scope.gone", "ID", textID(id)), On: true})
		}
	}
	return render(ec, status, webhooks.Form(page))
}

// readWebhook reads the form. All types are as good as none chosen: what a later version adds is then told too.
func readWebhook(ec echo.Context) manage.WebhookInput {
	form := ec.Request().Form
	in := manage.WebhookInput{Name: form.Get(webhooks.FieldName), URL: form.Get(webhooks.FieldURL), Off: form.Get(webhooks.FieldOff) != ""}
	for _, t := range form[webhooks.FieldTypes] {
		in.Types = append(in.Types, webhook.Type(t))
	}
	if len(in.Types) == len(webhook.Types()) && !slices.ContainsFunc(webhook.Types(), func(t webhook.Type) bool { return !slices.Contains(in.Types, t) }) {
		in.Types = nil
	}
	for _, g := range form[webhooks.FieldGroups] {
		id, err := strconv.ParseInt(g, 10, 64)
		if err != nil {
			id = -1 // which no group has, and is refused as such
		}
		in.Groups = append(in.Groups, id)
	}
	in.Tags = strings.FieldsFunc(form.Get(webhooks.FieldTags), func(r rune) bool { return r == ',' || r == '，' })
	return in
}

func (c *webhookPages) webhookCreate(ec echo.Context) error {
	in := readWebhook(ec)
	id, secret, err := c.webhooks.Create(ec.Request().Context(), who(ec), in)
	if err != nil {
		return c.webhookRefused(ec, webhooks.FormPage{Page: c.Page(ec)}, in, err)
	}
	return c.webhookMade(ec, webhooks.MadePage{ID: id, Name: in.Name, Secret: secret})
}

// webhookRefused draws the form again with what is wrong.
func (c *webhookPages) webhookRefused(ec echo.Context, page webhooks.FormPage, in manage.WebhookInput, err error) error {
	var ok bool
	if page.Errors, page.Problem, ok = refused(page.Page, err, problem.Conflict); !ok {
		return err
	}
	page.Differs = newer(page.Page, err, &page.Version, &page.Problem)
	return c.webhookForm(ec, http.StatusUnprocessableEntity, page, in)
}

func (c *webhookPages) webhookMade(ec echo.Context, page webhooks.MadePage) error {
	ec.Response().Header().Set("Cache-Control", "no-store")
	page.Page = c.Page(ec)
	return render(ec, http.StatusOK, webhooks.Made(page))
}

// webhook reads the one that the path names.
func (c *webhookPages) webhook(ec echo.Context) (manage.Webhook, error) {
	webhookID, err := id(ec)
	if err != nil {
		return manage.Webhook{}, err
	}
	return c.webhooks.Get(ec.Request().Context(), who(ec), webhookID)
}

func (c *webhookPages) webhookEdit(ec echo.Context) error {
	w, err := c.webhook(ec)
	if err != nil {
		return err
	}
	return c.webhookForm(ec, http.StatusOK, webhooks.FormPage{Page: c.pageWithFlash(ec), ID: w.ID, Version: textID(w.Version), Place: w.Place},
		manage.WebhookInput{Name: w.Name, Types: w.Types, Groups: w.Groups, Tags: w.Tags, Off: w.State != webhook.On})
}

func (c *webhookPages) webhookUpdate(ec echo.Context) error {
	w, err := c.webhook(ec)
	if err != nil {
		return err
	}
	in := readWebhook(ec)
	if in.Types == nil && len(w.Types) == len(webhook.Types()) {
		in.Types = w.Types // somebody named them one by one
	}
	version, err := strconv.ParseInt(ec.FormValue(webhooks.FieldVersion), 10, 64)
	if err != nil {
		return (&problem.Error{Kind: problem.Malformed}).Because(err)
	}
	if err := c.webhooks.Update(ec.Request().Context(), who(ec), w.ID, version, in); err != nil {
		return c.webhookRefused(ec, webhooks.FormPage{Page: c.Page(ec), ID: w.ID, Version: textID(version), Place: w.Place}, in, err)
	}
	return c.goTo(ec, link.Webhook(w.ID, "", 0), done("webhooks.flash.saved", "Name", in.Name))
}

// deliveriesShown is how many are on a page.
const deliveriesShown = 50

func (c *webhookPages) webhookShow(ec echo.Context) error {
	w, err := c.webhook(ec)
	if err != nil {
		return err
	}
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	page := webhooks.ShowPage{Page: c.pageWithFlash(ec)}
	page.Row = c.webhookRow(page.Page, &w, groups.title)
	state := slices.Index(webhooks.Tabs, ec.QueryParam("state"))
	if state < 0 {
		state = int(webhook.Taken)
		if w.Waiting > 0 {
			state = int(webhook.Waiting)
		}
	}
	page.Tab = webhooks.Tabs[state]
	below, err := strconv.ParseInt(ec.QueryParam("below"), 10, 64)
	if err != nil || below < 0 {
		below = 0
	}
	page.From = link.Webhook(w.ID, page.Tab, below)
	list, err := c.webhooks.Deliveries(ec.Request().Context(), who(ec), w.ID, int64(state), below, deliveriesShown+1)
	if err != nil {
		return err
	}
	if len(list) > deliveriesShown {
		list = list[:deliveriesShown]
		page.More = link.Webhook(w.ID, page.Tab, list[len(list)-1].ID)
	}
	for i := range list {
		page.Deliveries = append(page.Deliveries, c.delivery(page.Page, &list[i], groups))
	}
	return renderPart(ec, http.StatusOK, webhooks.Show(page), webhooks.FragmentShow)
}

func (c *webhookPages) delivery(page layout.Page, d *manage.Delivery, groups groupTitles) webhooks.Delivery {
	row := webhooks.Delivery{
		ID: d.ID, Event: webhook.EventID(d.ID, d.HappenedAt), Type: d.Type, At: c.at(page, time.UnixMilli(d.HappenedAt)), Tries: d.Tries, Status: d.Status, Reason: d.Reason, Answer: d.Answer, Again: d.State != webhook.Waiting,
	}
	if d.NextAt > 0 {
		row.Next = c.at(page, time.UnixMilli(d.NextAt))
	}
	switch {
	case d.LogID != 0:
		row.About = page.T("webhooks.about.run", "ID", d.LogID, "Job", d.Job)
		if d.Run {
			row.Link = link.Run(d.LogID)
		}
	case d.JobID != 0 && d.Job != "":
		row.About, row.Link = d.Job, link.Job(d.JobID)
	case d.JobID != 0:
		row.About = "#" + textID(d.JobID)
	case d.JobGroup != 0:
		row.About = groups.title(d.JobGroup)
		if _, is := groups.byID[d.JobGroup]; is {
			row.Link = link.Executor(d.JobGroup)
		}
	}
	return row
}

func (c *webhookPages) webhookTest(ec echo.Context) error {
	w, err := c.webhook(ec)
	if err != nil {
		return err
	}
	if err := c.webhooks.Test(ec.Request().Context(), who(ec), w.ID); err != nil {
		return err
	}
	return c.goTo(ec, link.Webhook(w.ID, "", 0), done("webhooks.flash.tested"))
}

func (c *webhookPages) webhookSecret(ec echo.Context) error {
	w, err := c.webhook(ec)
	if err != nil {
		return err
	}
	secret, err := c.webhooks.Rotate(ec.Request().Context(), who(ec), w.ID, w.Version)
	if err != nil {
		return err
	}
	return c.webhookMade(ec, webhooks.MadePage{ID: w.ID, Name: w.Name, Secret: secret, Rotated: true})
}

func (c *webhookPages) webhookDeleteForm(ec echo.Context) error {
	w, err := c.webhook(ec)
	if err != nil {
		return err
	}
	page := c.Page(ec)
	return renderPart(ec, http.StatusOK, webhooks.Delete(webhooks.DeletePage{Page: page, ID: w.ID, Name: w.Name, Waiting: format.Number(w.Waiting)}), ui.FragmentDialog)
}

func (c *webhookPages) webhookDelete(ec echo.Context) error {
	w, err := c.webhook(ec)
	if err != nil {
		return err
	}
	if err := c.webhooks.Delete(ec.Request().Context(), who(ec), w.ID); err != nil {
		return err
	}
	return c.goTo(ec, link.WebhooksPath, done("webhooks.flash.deleted", "Name", w.Name))
}

// webhookAgain sends one delivery again, or without its number all that were given up.
func (c *webhookPages) webhookAgain(ec echo.Context) error {
	webhookID, err := id(ec)
	if err != nil {
		return err
	}
	var delivery int64
	if text := ec.Param("delivery"); text != "" {
		if delivery, err = strconv.ParseInt(text, 10, 64); err != nil || delivery < 1 {
			return notFound()
		}
	}
	n, err := c.webhooks.SendAgain(ec.Request().Context(), who(ec), webhookID, delivery)
	if err != nil {
		return err
	}
	return c.goTo(ec, link.Webhook(webhookID, webhooks.Tabs[webhook.Waiting], 0), done("webhooks.flash.again", "Count", textID(n)))
}
