package console

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/scheduler/account"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/views/accounts"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// accountPages say what became of every fire of a job.
type accountPages struct {
	*frame
	accounts *manage.Accounts
	jobs     *manage.Jobs
}

func (c *accountPages) routes(g *echo.Group) { g.GET("/jobs/:id/account", c.jobAccount) }

const (
	// accountFor bounds an account that somebody waits for; the command has all the time.
	accountFor = 15 * time.Second
	// accountEntries is how many stretches of each class a page lists.
	accountEntries = 100
)

// jobAccount says what became of the fires of a job in a time.
func (c *accountPages) jobAccount(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	jobID, err := id(ec)
	if err != nil {
		return err
	}
	f := link.RunsFrom(ec.QueryParams())
	if f.Range == link.RangeAll {
		f.Range = ""
	}
	job, err := c.jobs.Get(ctx, p, jobID)
	if err != nil {
		return err
	}
	page := accounts.JobPage{Page: c.pageWithFlash(ec), ID: jobID, Name: job.JobDesc, Filter: f}
	now := c.now()
	r := manage.AccountRequest{Job: jobID, Limit: accountEntries}
	r.From, r.To = timeRange(f, now.In(c.timesOf(page.Page)))
	if r.To.IsZero() {
		r.To = now
	}
	limited, cancel := context.WithTimeout(ctx, accountFor)
	defer cancel()
	report, err := c.accounts.Account(limited, p, r)
	bad, isProblem := errors.AsType[*problem.Error](err)
	switch {
	case err == nil:
		c.fillAccount(&page, report)
	case isProblem && bad.Kind == problem.Malformed:
		page.BadTime = true
	case limited.Err() != nil && ctx.Err() == nil:
		page.TooLong = true
	default:
		return err
	}
	return renderPart(ec, http.StatusOK, accounts.Job(page), ui.FragmentResults)
}

func (c *accountPages) fillAccount(page *accounts.JobPage, r *account.Report) {
	clock := func(ms int64) string { return time.UnixMilli(ms).In(c.timesOf(page.Page)).Format(time.DateTime) }
	page.Fires, page.From, page.To, page.Faulty = format.Number(r.Fires), clock(r.From), clock(r.To), r.Faulty()
	for _, class := range account.Classes() {
		if n := r.Counts[class]; n > 0 || class == account.OnTime || class.Faulty() {
			page.Counts = append(page.Counts, accounts.Count{Class: class.String(), N: format.Number(n), None: n == 0})
		}
	}
	for _, e := range r.Entries {
		entry := accounts.Entry{
			Class: e.Class.String(), From: c.at(page.Page, time.UnixMilli(e.From)), Fires: format.Number(e.Fires), Run: e.Run, Reason: c.accountReason(page.Page, e.Why),
		}
		if e.Fires > 1 {
			entry.To = c.at(page.Page, time.UnixMilli(e.To))
		}
		page.Entries = append(page.Entries, entry)
	}
	if r.Left > 0 {
		page.Left = format.Number(r.Left)
	}
	for _, n := range r.Notes {
		page.Notes = append(page.Notes, page.T("account.note."+string(n.Kind), "At", clock(n.At)))
	}
}

// accountReason is why a fire is where it is, in words.
func (c *accountPages) accountReason(page layout.Page, e event.Event) string {
	if e.Key == "" {
		return ""
	}
	t := c.teller(page)
	if _, ok := account.Reasons[e.Key]; ok {
		t.Book, t.Family = account.Reasons, "account.why."
	}
	return t.Tell(e)
}
