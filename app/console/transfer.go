package console

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/app/manage/transfer"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

// transferPages write jobs into a file and read them from one.
type transferPages struct {
	*frame
	files *transfer.Service
	audit *manage.Audit
}

func (c *transferPages) routes(g *echo.Group) {
	g.GET(link.JobsExportPath, c.exportForm)
	g.GET(link.JobsExportFilePath, c.exportFile)
	g.GET(link.JobsImportPath, c.importForm)
	g.POST(link.JobsImportPath, c.importJobs)
	g.GET(link.JobsCrontabPath, c.crontabForm)
	g.POST(link.JobsCrontabPath, c.crontabFile)
}

// export reads what a query names: the picked jobs, or those under a filter.
func (c *transferPages) export(ec echo.Context) (transfer.Export, url.Values, error) {
	q := ec.QueryParams()
	var ids []int64
	for _, text := range q[jobs.FieldID] {
		if id, err := strconv.ParseInt(text, 10, 64); err == nil && id > 0 {
			ids = append(ids, id)
		}
	}
	f := link.JobsFrom(q)
	meant := f.Values()
	if q.Has(jobs.FieldAll) {
		ids = nil
	} else if q.Has(jobs.FieldID) {
		meant = url.Values{jobs.FieldID: q[jobs.FieldID]}
		if len(ids) == 0 {
			return transfer.Export{}, meant, problem.New(problem.NotFound, "problem.export.none")
		}
	}
	out, err := c.files.Export(ec.Request().Context(), who(ec), c.jobFilter(f, c.zoneFor(who(ec))), ids)
	return out, meant, err
}

func (c *transferPages) exportForm(ec echo.Context) error {
	out, meant, err := c.export(ec)
	page := jobs.ExportPage{Page: c.Page(ec), Query: meant, Count: out.Jobs, Groups: len(out.File.Groups), Scripts: out.Scripts, Orphans: out.Orphans}
	if err != nil {
		p := problem.From(err)
		if p.Key == "" {
			return err
		}
		page.Problem = p.Text(page.Printer)
	}
	return renderPart(ec, http.StatusOK, jobs.Export(page), ui.FragmentDialog)
}

func (c *transferPages) exportFile(ec echo.Context) error {
	out, _, err := c.export(ec)
	if err != nil {
		return err
	}
	format, name, kind := jobfile.YAML, "punctual-jobs.yaml", "application/yaml; charset=utf-8"
	if ec.QueryParam(jobs.FieldFormat) == string(jobfile.JSON) {
		format, name, kind = jobfile.JSON, "punctual-jobs.json", "application/json; charset=utf-8"
	}
	raw, err := jobfile.Write(out.File, format)
	if err != nil {
		return err
	}
	c.audit.Exported(ec.Request().Context(), who(ec), out.Jobs)
	ec.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="`+name+`"`)
	return ec.Blob(http.StatusOK, kind, raw)
}

func (c *transferPages) importForm(ec echo.Context) error {
	page, err := c.importPage(ec)
	if err != nil {
		return err
	}
	return render(ec, http.StatusOK, jobs.Import(page))
}

func (c *transferPages) importPage(ec echo.Context) (jobs.ImportPage, error) {
	p := who(ec)
	if !p.CanAnywhere(auth.RightEdit) {
		return jobs.ImportPage{}, &problem.Error{Kind: problem.Forbidden}
	}
	return jobs.ImportPage{Page: c.pageWithFlash(ec), Match: jobs.MatchName, States: jobs.StatesStopped, CanCreate: p.Admin}, nil
}

// importTime is how long an import of many jobs may take to answer.
const importTime = 6 * time.Minute

// importJobs previews a file, or imports it when the preview that is confirmed still holds.
func (c *transferPages) importJobs(ec echo.Context) error {
	page, err := c.importPage(ec)
	if err != nil {
		return err
	}
	again := func() error { return render(ec, http.StatusUnprocessableEntity, jobs.Import(page)) }
	if page.Text, err = typedOrChosen(ec, jobs.FieldText, jobs.FieldFile, jobfile.MaxBytes); err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); !tooLarge {
			return err
		}
		page.Error = page.T(jobfile.CodeSize, "Max", jobfile.MaxBytes>>20)
		return again()
	}
	if ec.FormValue(jobs.FieldMatch) == jobs.MatchID {
		page.Match = jobs.MatchID
	}
	if ec.FormValue(jobs.FieldStates) == jobs.StatesFile {
		page.States = jobs.StatesFile
	}
	page.Create = page.CanCreate && ec.FormValue(jobs.FieldCreate) != ""
	if strings.TrimSpace(page.Text) == "" {
		page.Error = page.T("import.error.file")
		return again()
	}
	file, err := jobfile.Parse([]byte(page.Text))
	if faults, ok := errors.AsType[jobfile.Faults](err); ok {
		for _, f := range faults {
			page.Faults = append(page.Faults, jobs.ImportFault{Line: f.Line, Text: f.Text(page.Printer)})
		}
		return again()
	}
	if err != nil {
		return err
	}
	// A recorder in a test has no deadlines to set.
	_ = http.NewResponseController(ec.Response()).SetWriteDeadline(time.Now().Add(importTime))
	ctx, p := ec.Request().Context(), who(ec)
	opts := transfer.Options{ByID: page.Match == jobs.MatchID, FileStates: page.States == jobs.StatesFile, CreateGroups: page.Create}
	confirmed := ec.FormValue(jobs.FieldConfirm)
	if confirmed == "" {
		plan, err := c.files.Plan(ctx, p, file, opts)
		if err != nil {
			return err
		}
		page.Plan = importPlan(page, plan, false)
		return render(ec, http.StatusOK, jobs.Import(page))
	}
	plan, err := c.files.Import(ctx, p, file, opts, confirmed)
	if failed, ok := errors.AsType[*transfer.FailedError](err); ok && failed.Refused() {
		page.Problem = page.T("import.failed", "Name", failed.Name, "Why", refusal(page.Page, failed.Unwrap()))
		page.Plan = importPlan(page, plan, false)
		return again()
	}
	if err != nil {
		if problem.From(err).Kind != problem.Conflict {
			return err
		}
		page.Problem, page.Plan = problem.From(err).Text(page.Printer), importPlan(page, plan, false)
		return again()
	}
	page.Plan = importPlan(page, plan, true)
	return render(ec, http.StatusOK, jobs.Import(page))
}
