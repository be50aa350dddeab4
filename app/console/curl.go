package console

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/curl"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/views/jobs"
	"github.com/punctual-job/punctual/views/layout"
)

// jobCurl fills the form of a new job from a curl command. What else was typed stays.
func (c *jobPages) jobCurl(ec echo.Context) error {
	if !who(ec).CanAnywhere(auth.RightEdit) {
		return &problem.Error{Kind: problem.Forbidden}
	}
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	group := groups.where(who(ec), auth.RightEdit).http()
	if group == 0 { // or there is one that is not to be told of
		return &problem.Error{Kind: problem.NotFound}
	}
	page, values := jobs.FormPage{Page: c.Page(ec)}, typedValues(ec)
	in, err := curl.Parse(values[jobs.FieldCurl])
	if err != nil {
		fault, ok := errors.AsType[*curl.Fault](err)
		if !ok {
			return err
		}
		page.Curl.Error = page.T("jobs.curl.fault."+string(fault.Kind), "Text", fault.Text)
		return c.jobForm(ec, http.StatusUnprocessableEntity, page, values)
	}
	delete(values, jobs.FieldCurl) // it may hold what nobody should see
	delete(values, jobs.FieldCallAs)
	values[jobs.FieldGroup], values[jobs.FieldGlue] = strconv.FormatInt(group, 10), string(wire.GlueBean)
	values[jobs.FieldHandler], values[jobs.FieldParam] = httpcall.Handler, in.Param
	if strings.TrimSpace(values[jobs.FieldName]) == "" {
		values[jobs.FieldName] = in.Name
	}
	if in.Retries >= 0 {
		values[jobs.FieldRetries] = strconv.Itoa(in.Retries)
	}
	page.Curl = curlNotes(page.Page, in.Notes)
	return c.jobForm(ec, http.StatusOK, page, values)
}

// curlNotes says what an import did otherwise than the command.
func curlNotes(page layout.Page, notes []curl.Note) jobs.Curl {
	drawn := jobs.Curl{Done: true}
	for _, n := range notes {
		text := page.T("jobs.curl.note."+string(n.Kind), "Text", n.Text, "Name", n.Name)
		if n.Name != "" {
			drawn.Secrets = append(drawn.Secrets, text)
		} else {
			drawn.Notes = append(drawn.Notes, text)
		}
	}
	return drawn
}

// http is the group of HTTP jobs, or 0.
func (g groupTitles) http() int64 {
	for _, group := range g.list {
		if strings.EqualFold(group.AppName, manage.HTTPAppName) {
			return group.ID
		}
	}
	return 0
}
