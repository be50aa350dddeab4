package jobs

import (
	"strconv"

	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/ui"
)

func (p ListPage) pager() ui.Pager {
	pager := p.Pager
	if pager.Summary == "" {
		pager.Summary = jobTotal(p.Page, p.Total, "")
		if p.More {
			pager.Summary, pager.CountURL = jobTotal(p.Page, p.Total, "+"), link.JobCount(p.Filter)
		}
	}
	return pager
}

// jobTotal says how many jobs there are; a mark behind the number, that these are not all.
func jobTotal(p layout.Page, n int64, mark string) string {
	return p.T("jobs.total", "Count", n, "N", format.Number(n)+mark)
}

func rowID(id int64) string { return "job-" + format.Digits(id) }

func checked(on bool) string { return strconv.FormatBool(on) }

func stateWord(r Row) string {
	if r.Running {
		return link.JobRunning
	}
	return link.JobStopped
}

// hasSchedule says whether there is something to start or to stop. XXL-JOB stores schedule types that nobody knows.
func (r Row) hasSchedule() bool { return r.Running || r.Startable }

func switchURL(r Row) string {
	if r.Running {
		return link.JobStop(r.ID)
	}
	return link.JobStart(r.ID)
}

func switchTitle(p layout.Page, r Row) string {
	if r.Running {
		return p.T("jobs.switch.stop")
	}
	return p.T("jobs.switch.start")
}

// action is where the form is posted.
func (p FormPage) action() string {
	if p.ID == 0 {
		return link.JobsPath
	}
	return link.Job(p.ID)
}

func (p FormPage) title() string {
	switch {
	case p.ID != 0:
		return p.T("jobs.form.edit")
	case p.CopyOf != 0:
		return p.T("jobs.form.copy")
	default:
		return p.T("jobs.form.new")
	}
}

func (p FormPage) heading() string {
	if p.ID != 0 {
		return p.Name
	}
	return p.title()
}

// isGlue says whether the form is for a script, as far as it is known when the page is drawn.
func (p FormPage) isGlue() bool { return p.Values[FieldGlue] != "" && p.Values[FieldGlue] != "BEAN" }

// hasSource says whether the form asks for a script or a definition. That of a job is not in it for who may not read it.
func (p FormPage) hasSource() bool {
	_, told := p.Values[FieldSource]
	return p.ID == 0 || p.isGlue() && told
}

// presets are the schedules most jobs have, for a first click.
var presets = []struct{ key, cron string }{
	{"jobs.preset.minute", "0 * * * * ?"},
	{"jobs.preset.five", "0 */5 * * * ?"},
	{"jobs.preset.hour", "0 0 * * * ?"},
	{"jobs.preset.night", "0 0 2 * * ?"},
	{"jobs.preset.workdays", "0 0 9 ? * MON-FRI"},
	{"jobs.preset.month", "0 0 3 1 * ?"},
}

// cancel is where the form leads when nothing is saved.
func (p FormPage) cancel() string {
	if p.Back {
		return link.Job(p.ID)
	}
	return link.JobsPath
}

// FieldFavourite says whether a job is to be marked, "1" or "0".
const FieldFavourite = "favourite"

func favouriteValue(r Row) string {
	if r.Favourite {
		return "0"
	}
	return "1"
}

func favouriteWord(r Row) string {
	if r.Favourite {
		return "jobs.favourite.off"
	}
	return "jobs.favourite.on"
}

// noneTitle and noneText are the keys of what is said of a list without rows: of the reader's own jobs, how one gets there.
func (p ListPage) noneTitle() string {
	if p.mineAlone() {
		return "jobs.mine.none.title"
	}
	return "jobs.none.title"
}

func (p ListPage) noneText() string {
	if p.mineAlone() {
		return "jobs.mine.none.text"
	}
	return "jobs.none.text"
}

func (p ListPage) noneIcon() string {
	if p.mineAlone() {
		return "star"
	}
	return "search"
}

func (p ListPage) mineAlone() bool {
	return link.Jobs(p.Filter) == link.Jobs(link.JobFilter{Show: link.ShowMine, Sort: p.Filter.Sort})
}
