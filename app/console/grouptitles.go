package console

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/ui"
)

// groupTitles are the groups somebody may use, for pick lists and for the titles beside jobs and runs. They are in the order of
// their titles, by which people look for one among hundreds.
type groupTitles struct {
	list []db.Group
	byID map[int64]string
}

func (c *frame) groupTitles(ec echo.Context) (groupTitles, error) {
	return c.groupTitlesOf(ec.Request().Context(), who(ec))
}

func (c *frame) groupTitlesOf(ctx context.Context, p auth.Principal) (groupTitles, error) {
	list, err := c.groups.List(ctx, p)
	if err != nil {
		return groupTitles{}, err
	}
	slices.SortStableFunc(list, func(a, b db.Group) int { return cmp.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title)) })
	g := groupTitles{list: list, byID: make(map[int64]string, len(list))}
	for _, group := range list {
		g.byID[group.ID] = group.Title
	}
	return g, nil
}

// title is a group's title; one that is gone has only its number.
func (g groupTitles) title(id int64) string {
	if title, ok := g.byID[id]; ok {
		return title
	}
	return "#" + strconv.FormatInt(id, 10)
}

// known is a group of a filter, and 0 for one that somebody does not know: a list that were empty for it would have its pick list say
// that it shows all groups.
func (g groupTitles) known(id int64) int64 {
	if _, ok := g.byID[id]; ok {
		return id
	}
	return 0
}

// where are the groups in which somebody has a right.
func (g groupTitles) where(p auth.Principal, right auth.Rights) groupTitles {
	kept := groupTitles{byID: g.byID}
	for _, group := range g.list {
		if p.Can(group.ID, right) {
			kept.list = append(kept.list, group)
		}
	}
	return kept
}

func (g groupTitles) options(selected int64) []ui.Option {
	options := make([]ui.Option, len(g.list))
	for i, group := range g.list {
		label := group.Title
		if !strings.EqualFold(group.Title, group.AppName) {
			label += " (" + group.AppName + ")"
		}
		options[i] = ui.Option{Value: strconv.FormatInt(group.ID, 10), Label: label, Selected: group.ID == selected}
	}
	return options
}

// jobName is what stands for the job of a run: its name, or its number where it was deleted or the reader may not see it (page is false).
func jobName(p layout.Page, jobs manage.OfRuns, id int64) (name string, page bool) {
	job, seen := jobs.Seen(id)
	switch {
	case seen:
		return job.JobDesc, true
	case jobs.Deleted(id):
		return p.T("runs.jobgone", "ID", format.Digits(id)), false
	}
	return p.T("runs.jobhidden", "ID", format.Digits(id)), false
}
