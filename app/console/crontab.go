package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/crontab"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/views/jobs"
)

// crontabPage asks for a crontab and for the group that is to run it: one in which somebody may edit, and which runs scripts.
func (c *transferPages) crontabPage(ec echo.Context) (jobs.CrontabPage, groupTitles, error) {
	p := who(ec)
	if !p.CanAnywhere(auth.RightEdit) {
		return jobs.CrontabPage{}, groupTitles{}, &problem.Error{Kind: problem.Forbidden}
	}
	groups, err := c.groupTitles(ec)
	if err != nil {
		return jobs.CrontabPage{}, groups, err
	}
	groups = groups.where(p, auth.RightEdit)
	groups.list = slices.DeleteFunc(groups.list, func(g db.Group) bool { return strings.EqualFold(g.AppName, manage.HTTPAppName) })
	chosen, _ := strconv.ParseInt(ec.FormValue(jobs.FieldGroup), 10, 64)
	return jobs.CrontabPage{
		Page: c.Page(ec), Text: ec.FormValue(jobs.FieldText), System: ec.FormValue(jobs.FieldSystem) != "",
		Groups: groups.options(chosen), Errors: make(map[string]string),
	}, groups, nil
}

func (c *transferPages) crontabForm(ec echo.Context) error {
	page, _, err := c.crontabPage(ec)
	if err != nil {
		return err
	}
	return render(ec, http.StatusOK, jobs.Crontab(page))
}

// crontabFile makes a file of a crontab and shows it in the import, where it can be changed before it is previewed.
func (c *transferPages) crontabFile(ec echo.Context) error {
	page, groups, err := c.crontabPage(ec)
	if err != nil {
		return err
	}
	again := func(field, key string) error {
		page.Errors[field] = page.T(key)
		return render(ec, http.StatusUnprocessableEntity, jobs.Crontab(page))
	}
	i := slices.IndexFunc(groups.list, func(g db.Group) bool {
		return strconv.FormatInt(g.ID, 10) == ec.FormValue(jobs.FieldGroup)
	})
	switch {
	case i < 0:
		return again(jobs.FieldGroup, "crontab.error.group")
	case len(page.Text) > crontab.MaxText:
		return again(jobs.FieldText, "crontab.error.size")
	}
	file, notes := crontab.Convert(page.Text, crontab.Options{AppName: groups.list[i].AppName, Author: who(ec).Name, System: page.System})
	if len(file.Groups) == 0 && len(notes) == 0 {
		return again(jobs.FieldText, "crontab.error.none")
	}
	if !page.System { // one of several groups of an app name is known by its title
		for g := range file.Groups {
			file.Groups[g].Title = groups.list[i].Title
		}
	}
	raw, err := jobfile.Write(file, jobfile.YAML)
	if err != nil {
		return err
	}
	shown, err := c.importPage(ec)
	if err != nil {
		return err
	}
	shown.Text, shown.Create = string(raw), shown.CanCreate && page.System
	for _, n := range notes {
		shown.Notes = append(shown.Notes, jobs.ImportFault{Line: n.Line, Text: page.T("crontab.note."+string(n.Kind), "Text", n.Text, "Name", n.Name)})
	}
	return render(ec, http.StatusOK, jobs.Import(shown))
}
