package console

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/jobs"
)

// jobChildren answers the search of a job's form for children. It leaves out those that are chosen already.
func (c *jobPages) jobChildren(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	if !p.CanAnywhere(auth.RightEdit) {
		return &problem.Error{Kind: problem.Forbidden}
	}
	text := strings.TrimPrefix(strings.TrimSpace(ec.QueryParam(jobs.FieldChildSearch)), "#")
	if r := []rune(text); len(r) > 100 {
		text = string(r[:100])
	}
	jobID, _ := strconv.ParseInt(ec.QueryParam("job"), 10, 64) // 0 is a new one
	chosen, _, _ := jobspec.ChildIDs(ec.QueryParam(jobs.FieldChildren))
	found, err := c.jobs.FindChildren(ctx, p, jobID, text, chosen)
	if err != nil {
		return err
	}
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	return render(ec, http.StatusOK, jobs.ChildHits(jobs.ChildHitsPage{Page: c.Page(ec), Hits: drawnChildren(found, groups)}))
}

func drawnChildren(list []manage.Child, groups groupTitles) []jobs.Child {
	drawn := make([]jobs.Child, len(list))
	for i, child := range list {
		drawn[i] = jobs.Child{ID: child.ID, Name: child.Name, Ring: child.Ring}
		if child.Name != "" {
			drawn[i].Group = groups.title(child.Group)
		}
	}
	return drawn
}
