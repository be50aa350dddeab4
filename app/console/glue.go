package console

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/flows"
	"github.com/punctual-job/punctual/views/glue"
	"github.com/punctual-job/punctual/views/link"
)

// gluePages are a job's script: the editor, its versions, and what waits for somebody's approval.
type gluePages struct {
	*timelines
	jobs *manage.Jobs
	runs *manage.Runs
}

func (c *gluePages) routes(g *echo.Group) {
	g.POST(link.JobFlowPreview, c.flowPreview)
	g.GET("/jobs/:id/glue", c.glueEdit)
	g.POST("/jobs/:id/glue", c.glueSave)
	g.POST("/jobs/:id/glue/try", c.glueTry)
	g.GET("/jobs/:id/glue/waiting", c.glueWaiting)
	g.POST("/jobs/:id/glue/waiting", c.glueDecide)
	g.GET("/jobs/:id/glue/versions/:version", c.glueCompare)
	g.POST("/jobs/:id/glue/versions/:version/restore", c.glueRestore)
}

func (c *gluePages) glueEdit(ec echo.Context) error {
	j, err := c.script(ec)
	if err != nil {
		return err
	}
	page := glue.EditPage{Page: c.pageWithFlash(ec), Source: string(j.GlueSource), Version: manage.GlueVersion(j)}
	return c.glueForm(ec, http.StatusOK, page, j)
}

// script is the job in the path, if its script may be edited.
func (c *gluePages) script(ec echo.Context) (db.Job, error) {
	jobID, err := id(ec)
	if err != nil {
		return db.Job{}, err
	}
	return c.jobs.Script(ec.Request().Context(), who(ec), jobID)
}

func (c *gluePages) glueForm(ec echo.Context, status int, page glue.EditPage, j db.Job) error {
	versions, err := c.jobs.GlueVersions(ec.Request().Context(), who(ec), j.ID)
	if err != nil {
		return err
	}
	if _, _, page.Waiting, err = c.jobs.ScriptChange(ec.Request().Context(), who(ec), j.ID); err != nil {
		return err
	}
	page.JobID, page.Name, page.Type = j.ID, j.JobDesc, string(j.GlueType)
	page.Nonce = styleNonce(ec)
	if j.GlueType == jobspec.GlueFlow {
		spec := j.Spec()
		spec.GlueSource = page.Source
		drawn, err := drawnFlow(ec.Request().Context(), page.Page, c.frame, c.jobs, who(ec), spec, flows.FormValues{})
		if err != nil {
			return err
		}
		page.Flow = &drawn
	} else if may, err := c.jobs.MayTry(ec.Request().Context(), who(ec), j); err != nil {
		return err
	} else if may && page.Trial == nil {
		page.Trial = c.trial(ec, page.Page, j, string(j.ExecutorParam), "")
	} else {
		page.Reviewed = !may && who(ec).Can(j.JobGroup, auth.RightRun)
	}
	for i, v := range versions {
		page.Versions = append(page.Versions, glue.Version{ID: v.ID, Remark: v.GlueRemark, At: c.at(page.Page, c.wall.InstantOf(v.AddTime)), Current: i == 0 && v.AddTime == j.GlueUpdateTime})
	}
	return render(ec, status, glue.Edit(page))
}

// styleNonce lets the style sheets that the editor makes in the browser through the policy of this one answer.
func styleNonce(ec echo.Context) string {
	nonce := rand.Text()
	h := ec.Response().Header()
	h.Set(echo.HeaderContentSecurityPolicy, strings.Replace(h.Get(echo.HeaderContentSecurityPolicy), "style-src 'self'", "style-src 'self' 'nonce-"+nonce+"'", 1))
	return nonce
}

func (c *gluePages) glueSave(ec echo.Context) error {
	j, err := c.script(ec)
	if err != nil {
		return err
	}
	if ec.FormValue(glue.FieldTake) != "" && ec.FormValue(glue.FieldVersion) == manage.GlueVersion(j) {
		return c.glueTake(ec, j)
	}
	in := manage.GlueInput{Source: ec.FormValue(glue.FieldSource), Remark: ec.FormValue(glue.FieldRemark), Version: ec.FormValue(glue.FieldVersion)}
	err = c.jobs.SaveGlue(ec.Request().Context(), who(ec), j.ID, in)
	if err == nil {
		if _, _, waits, err := c.jobs.ScriptChange(ec.Request().Context(), who(ec), j.ID); err == nil && waits {
			return c.goTo(ec, link.JobGlueWaiting(j.ID), done("glue.flash.waits", "Name", j.JobDesc))
		}
		return c.goTo(ec, link.JobGlue(j.ID), done("glue.flash.saved", "Name", j.JobDesc))
	}
	page := glue.EditPage{Page: c.Page(ec), Source: in.Source, Remark: in.Remark, Version: in.Version}
	errs, ok := fieldErrors(page.Page, err)
	switch {
	case ok:
		page.Errors = errs
	case problem.From(err).Kind == problem.Conflict:
		page.Problem = problem.From(err).Text(page.Printer)
		if j, err = c.script(ec); err != nil {
			return err
		}
		if in.Version != "" && in.Version != manage.GlueVersion(j) {
			// Saving again, with the difference in sight, is meant.
			page.Problem = page.T("problem.changed.compare")
			if err := c.glueMerge(ec, &page, j, in.Version); err != nil {
				return err
			}
		}
	default:
		return err
	}
	return c.glueForm(ec, http.StatusUnprocessableEntity, page, j)
}

// glueMerge fills an editor with what was typed in it, merged with what is stored now, by the version that both began with.
func (c *gluePages) glueMerge(ec echo.Context, page *glue.EditPage, j db.Job, from string, take ...string) error {
	base, known, err := c.jobs.ScriptOf(ec.Request().Context(), who(ec), j, from)
	if err != nil {
		return err
	}
	if known {
		m := manage.MergeScripts(base, page.Source, string(j.GlueSource), take...)
		page.Source, page.Merge = m.Text, &glue.Merge{Base: from}
		for _, f := range m.Conflicts {
			page.Merge.Conflicts = append(page.Merge.Conflicts, glue.Conflict{Mark: f.Mark, Line: f.Line, Base: strings.Join(f.Base, "\n"), Mine: strings.Join(f.Mine, "\n"), Theirs: strings.Join(f.Theirs, "\n")})
		}
		page.Problem = page.T("glue.merge.problem", "Taken", m.Theirs, "Both", len(m.Conflicts))
	}
	page.Theirs, page.Version = lineDifference(string(j.GlueSource), page.Source, differenceContext), manage.GlueVersion(j)
	return nil
}

// glueTake puts into a merged text what is stored at one of the places that both changed. Nothing is saved by it.
func (c *gluePages) glueTake(ec echo.Context, j db.Job) error {
	page := glue.EditPage{Page: c.Page(ec), Source: ec.FormValue(glue.FieldSource), Remark: ec.FormValue(glue.FieldRemark)}
	if err := c.glueMerge(ec, &page, j, ec.FormValue(glue.FieldBase), ec.FormValue(glue.FieldTake)); err != nil {
		return err
	}
	return c.glueForm(ec, http.StatusOK, page, j)
}

func (c *gluePages) glueCompare(ec echo.Context) error {
	j, v, err := c.version(ec)
	if err != nil {
		return err
	}
	page := glue.ComparePage{
		Page: c.pageWithFlash(ec), JobID: j.ID, Name: j.JobDesc, Type: string(j.GlueType), Old: string(v.GlueSource), New: string(j.GlueSource), Nonce: styleNonce(ec),
		Lines: lineDifference(string(v.GlueSource), string(j.GlueSource), differenceContext),
	}
	page.Version = glue.Version{ID: v.ID, Remark: v.GlueRemark, At: c.at(page.Page, c.wall.InstantOf(v.AddTime)), Current: v.GlueSource == j.GlueSource}
	if j.GlueType == jobspec.GlueFlow {
		page.Flow = flowDifference(page.Page, page.Old, page.New)
	}
	return render(ec, http.StatusOK, glue.Compare(page))
}

// version is the job in the path and the version of its script there.
func (c *gluePages) version(ec echo.Context) (j db.Job, v db.GlueVersion, err error) {
	if j, err = c.script(ec); err != nil {
		return j, v, err
	}
	versionID, err := strconv.ParseInt(ec.Param("version"), 10, 64)
	if err != nil || versionID < 1 {
		return j, v, notFound()
	}
	v, err = c.jobs.GlueVersion(ec.Request().Context(), who(ec), j.ID, versionID)
	return j, v, err
}

func (c *gluePages) glueRestore(ec echo.Context) error {
	j, v, err := c.version(ec)
	if err != nil {
		return err
	}
	if err := c.jobs.RestoreGlue(ec.Request().Context(), who(ec), j.ID, v.ID); err != nil {
		return err
	}
	return c.goTo(ec, link.JobGlue(j.ID), done("glue.flash.restored", "Name", j.JobDesc))
}
