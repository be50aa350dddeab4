package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/notes"
	"github.com/punctual-job/punctual/views/ui"
)

// notePages are the form of a note, and what it does.
type notePages struct {
	*frame
	jobs *manage.Jobs
	runs *manage.Runs
}

func (c *notePages) routes(g *echo.Group) {
	g.GET("/jobs/:id/note", c.jobNote)
	g.POST("/jobs/:id/note", c.jobNoteAdd)
	g.GET("/runs/:id/note", c.runNote)
	g.POST("/runs/:id/note", c.runNoteAdd)
	g.POST("/notes/:id/delete", c.noteDelete)
}

// noted draws a note in a picture of times, but for its place.
func (c *frame) noted(page layout.Page, groups groupTitles, n manage.Note) ui.Noted {
	of, address := groups.title(n.Group), link.Executor(n.Group)
	switch {
	case n.Run != 0:
		of, address = "#"+format.Digits(n.Run), link.Run(n.Run)
	case n.Job != 0:
		of, address = "", link.Job(n.Job)
	}
	parts := slices.DeleteFunc([]string{c.at(page, n.At).Absolute, of, n.Text, page.Who(n.By)}, func(s string) bool { return s == "" })
	return ui.Noted{URL: address, Title: strings.Join(parts, " · ")}
}

// jobForm is the form of a note at a job that somebody may write at.
func (c *notePages) jobForm(ec echo.Context) (page notes.FormPage, j db.Job, err error) {
	jobID, err := id(ec)
	if err != nil {
		return page, j, err
	}
	p := who(ec)
	if j, err = c.jobs.Need(ec.Request().Context(), p, jobID, auth.RightRun); err != nil {
		return page, j, err
	}
	titles, err := c.groupTitles(ec)
	page = notes.FormPage{Page: c.Page(ec), Name: j.JobDesc, Action: link.JobNote(jobID), Back: link.Job(jobID), Max: manage.MaxNote, AskAt: true, Group: titles.title(j.JobGroup), May: true}
	return page, j, err
}

func (c *notePages) jobNote(ec echo.Context) error {
	page, _, err := c.jobForm(ec)
	if err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, notes.Form(page), ui.FragmentDialog)
}

func (c *notePages) jobNoteAdd(ec echo.Context) error {
	page, j, err := c.jobForm(ec)
	if err != nil {
		return err
	}
	page.At, page.All = ec.FormValue(notes.FieldAt), ec.FormValue(notes.FieldAll) != ""
	in := manage.NoteInput{Job: j.ID, At: link.LocalTime(page.At, c.zoneFor(who(ec)), 0)}
	if page.All {
		in.Job, in.Group = 0, j.JobGroup
	}
	return c.add(ec, page, in)
}

// runForm is the form of a note at a run that somebody may write at.
func (c *notePages) runForm(ec echo.Context) (page notes.FormPage, runID int64, err error) {
	if runID, err = id(ec); err != nil {
		return page, runID, err
	}
	_, err = c.runs.Need(ec.Request().Context(), who(ec), runID, auth.RightRun)
	return notes.FormPage{Page: c.Page(ec), Name: "#" + format.Digits(runID), Action: link.RunNote(runID), Back: link.Run(runID), Max: manage.MaxNote, May: true}, runID, err
}

func (c *notePages) runNote(ec echo.Context) error {
	page, _, err := c.runForm(ec)
	if err != nil {
		return err
	}
	return renderPart(ec, http.StatusOK, notes.Form(page), ui.FragmentDialog)
}

func (c *notePages) runNoteAdd(ec echo.Context) error {
	page, runID, err := c.runForm(ec)
	if err != nil {
		return err
	}
	return c.add(ec, page, manage.NoteInput{Run: runID})
}

// add writes the note, or says in its form what is wrong with it.
func (c *notePages) add(ec echo.Context, page notes.FormPage, in manage.NoteInput) error {
	page.Text = ec.FormValue(notes.FieldText)
	in.Text = page.Text
	if _, err := c.notes.Add(ec.Request().Context(), who(ec), in); err != nil {
		errs, why, ok := refused(page.Page, err, problem.Conflict)
		if !ok {
			return err
		}
		page.Errors, page.Problem = errs, why
		return renderPart(ec, http.StatusUnprocessableEntity, notes.Form(page), ui.FragmentDialog)
	}
	return c.goTo(ec, page.Back, done("notes.flash.added"))
}

func (c *notePages) noteDelete(ec echo.Context) error {
	noteID, err := id(ec)
	if err != nil {
		return err
	}
	n, err := c.notes.Delete(ec.Request().Context(), who(ec), noteID)
	if err != nil {
		return err
	}
	back := link.JobsPath
	switch {
	case n.Run > 0:
		back = link.Run(n.Run)
	case n.Job > 0:
		back = link.Job(n.Job)
	}
	return c.goTo(ec, cmp.Or(link.Local(ec.FormValue(layout.FieldNext)), back), done("notes.flash.deleted"))
}

// drawnNotes are notes as pages show them; of is the run that the page is about.
func (c *frame) drawnNotes(page layout.Page, list []manage.Note, of int64) []ui.Note {
	drawn := make([]ui.Note, len(list))
	for i, n := range list {
		drawn[i] = ui.Note{ID: n.ID, Text: n.Text, By: n.By, At: c.at(page, n.At), Run: n.Run, All: n.Job == 0, May: n.May}
		if n.Run == of {
			drawn[i].Run = 0
		}
		if of > 0 {
			drawn[i].At = c.at(page, n.MadeAt)
		}
	}
	return drawn
}

// jobNotes are the notes that a job's page shows, and where they stand among its runs.
func (c *frame) jobNotes(ctx context.Context, page layout.Page, p auth.Principal, j db.Job, rows []db.RunRow, bars *ui.RunBars) ([]ui.Note, error) {
	// A page without many runs shows what was written lately.
	since := c.now().Add(-noteDays * 24 * time.Hour)
	if len(rows) > 0 {
		if oldest := c.record(rows[len(rows)-1]).Start(); oldest.Before(since) {
			since = oldest
		}
	}
	list, err := c.notes.OfJob(ctx, p, j, since)
	if err != nil {
		return nil, err
	}
	for i := len(list) - 1; i >= 0; i-- {
		before := 0
		for before < len(rows) && !c.record(rows[len(rows)-1-before]).Start().After(list[i].At) {
			before++
		}
		if n := list[i]; n.Run == 0 && (before > 0 || len(rows) < ui.MaxBars) {
			bars.Marks = append(bars.Marks, ui.BarMark{Before: before, Text: c.at(page, n.At).Absolute + " · " + n.Text})
		}
	}
	return c.drawnNotes(page, list, 0), nil
}

// noteDays is how many days of notes a job's page shows at least.
const noteDays = 7
