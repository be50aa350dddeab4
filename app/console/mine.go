package console

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	figures "github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
)

// minePages tell people of failures of their own jobs, wherever in the console they are.
type minePages struct {
	*frame
	jobs    *manage.Jobs
	runs    *manage.Runs
	figures *figures.Dashboard
}

func (c *minePages) routes(g *echo.Group) { g.GET(link.MineFailedPath, c.failed) }

const (
	// mineTold is how many failures are told one by one.
	mineTold = 3
	// mineAfter is how long after it ended a failure is told: by then it is among the troubles, which are looked for every few seconds.
	mineAfter = 6 * time.Second
	// mineLooked is how many runs of a job are looked at for a failure that is not too new.
	mineLooked = 50
	// headerUntil says up to when failures have been told: the next request begins there.
	headerUntil = "Punctual-Until"
)

// failed tells which jobs that somebody has marked, or is the owner of, have failed since a moment. Without one it says from when on.
func (c *minePages) failed(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	until := c.now().Add(-mineAfter)
	ec.Response().Header().Set(headerUntil, strconv.FormatInt(until.UnixMilli(), 10))
	since, err := strconv.ParseInt(ec.QueryParam("since"), 10, 64)
	if err != nil || since <= 0 {
		return ec.NoContent(http.StatusNoContent)
	}
	troubles, about, err := c.figures.Troubles(ctx, p)
	if err != nil {
		return err
	}
	var fresh []figures.Failing
	var ids []int64
	for _, f := range troubles.Failing {
		if at := c.endOf(&f.Run); at.UnixMilli() > since && (f.Failures > 1 || !at.After(until)) {
			fresh, ids = append(fresh, f), append(ids, f.Run.JobID)
		}
	}
	marked, err := c.jobs.Favourites(ctx, p, ids)
	if err != nil {
		return err
	}
	page, told := c.Page(ec), int64(0)
	for _, f := range fresh {
		j := about[f.Run.JobID]
		if !marked[f.Run.JobID] && (p.Name == "" || !strings.EqualFold(string(j.Author), p.Name)) {
			continue
		}
		r, ok, err := c.failedBetween(ctx, p, &f, since, until)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if told++; told <= mineTold {
			page.Flashes = append(page.Flashes, layout.Flash{Kind: layout.FlashError, Text: page.T("mine.failed", "Name", j.JobDesc), URL: link.Run(r.ID), URLText: page.T("mine.failed.open")})
		}
	}
	if more := told - mineTold; more > 0 {
		page.Flashes = append(page.Flashes, layout.Flash{Kind: layout.FlashError, Text: page.T("mine.failed.more", "Count", more, "N", format.Number(more)), URL: link.Jobs(link.JobFilter{Show: link.ShowFailing}), URLText: page.T("mine.failed.list")})
	}
	if len(page.Flashes) == 0 {
		return ec.NoContent(http.StatusNoContent)
	}
	return render(ec, http.StatusOK, layout.ToastList(page))
}

// failedBetween is the newest failure of a job that is told now. Of one that fails every few seconds the newest of all is always too new.
func (c *minePages) failedBetween(ctx context.Context, p auth.Principal, f *figures.Failing, since int64, until time.Time) (r db.RunRow, ok bool, err error) {
	if !c.endOf(&f.Run).After(until) {
		return f.Run, true, nil
	}
	rows, err := c.runs.OfJob(ctx, p, f.Run.JobID, mineLooked)
	for i := range rows {
		run, at := c.record(rows[i]), c.endOf(&rows[i])
		if markOf(run.State(), run.Events) == jobs.MarkBad && at.UnixMilli() > since && !at.After(until) {
			return rows[i], true, err
		}
	}
	return r, false, err
}

// endOf is when a run ended, as far as that is on record.
func (f *frame) endOf(r *db.RunRow) time.Time {
	switch {
	case r.FinishedAt > 0:
		return time.UnixMilli(r.FinishedAt)
	case r.HandleTime.Valid:
		return f.wall.FromWall(r.HandleTime.Time)
	}
	return f.wall.InstantOf(r.TriggerTime)
}
