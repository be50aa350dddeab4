package console

import (
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/views/format"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/runs"
	"github.com/punctual-job/punctual/views/ui"
)

// A search in kept outputs goes on by itself until it has found so many runs or looked so often; then somebody has to want more.
const (
	firstLook    = time.Second // the page waits for it
	furtherLook  = 2 * time.Second
	matchesALook = 20
	matchesGoing = 100
	looksGoing   = 30
)

// outputSearch is the page of a search in kept outputs. As a part it is what another look has found.
func (c *runPages) outputSearch(ec echo.Context) error {
	ctx, p := ec.Request().Context(), who(ec)
	f := link.OutputSearchFrom(ec.QueryParams())
	page := runs.SearchPage{Page: c.Page(ec), Filter: f, Off: !c.runs.KeepsOutput(), Asked: ec.QueryParams().Has(runs.FieldSearchText)}
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	page.Groups = groups.options(f.Group)
	if f.Job != 0 {
		j, err := c.jobs.Get(ctx, p, f.Job)
		if err != nil {
			return err
		}
		without := link.OutputSearch{RunFilter: f.RunFilter}
		without.Job, without.Group, without.Before = 0, j.JobGroup, 0
		page.Chips = []ui.Chip{{Text: page.T("timeline.job", "Name", j.JobDesc), Without: link.SearchOutput(without)}}
	}
	if page.Off || !page.Asked {
		return render(ec, http.StatusOK, runs.Search(page))
	}
	in := manage.OutputSearch{Group: f.Group, Job: f.Job, Text: f.Text, Before: f.Before, Runs: matchesALook, Time: firstLook}
	if f.Round > 0 {
		in.Time = furtherLook
	}
	if f.Stop {
		in.Time = 0
	}
	in.Since, in.Until = timeRange(f.RunFilter, c.now().In(c.zoneFor(p)))
	if backwards(in.Since, in.Until) {
		f.From, f.To, f.Before = f.To, f.From, 0
		page.Swapped = link.SearchOutput(f)
		return render(ec, http.StatusOK, runs.Search(page))
	}
	found, err := c.runs.SearchOutput(ctx, p, in)
	if err != nil {
		errs, wrong := fieldErrors(page.Page, err)
		if !wrong {
			return err
		}
		page.Errors = map[string]string{runs.FieldSearchText: errs[manage.FieldSearchText], runs.FieldSearchGroup: errs[manage.FieldSearchGroup]}
		return render(ec, http.StatusUnprocessableEntity, runs.Search(page))
	}
	c.searchProgress(&page, found)
	if page.Matches, err = c.matches(ec, page, found.Hits); err != nil {
		return err
	}
	if isPartial(ec.Request()) {
		return render(ec, http.StatusOK, runs.SearchFragment(page))
	}
	return render(ec, http.StatusOK, runs.Search(page))
}

// searchProgress says how far a search has come, and how it goes on.
func (c *runPages) searchProgress(page *runs.SearchPage, found manage.OutputFound) {
	next := page.Filter
	next.Hits, next.Looked, next.Bytes, next.Round, next.Stop = next.Hits+int64(len(found.Hits)), next.Looked+int64(found.Looked), next.Bytes+found.Bytes, next.Round+1, false
	next.Before = found.Next
	values := []any{"Count", next.Hits, "Hits", format.Number(next.Hits), "Runs", format.Number(next.Looked), "Size", format.Bytes(next.Bytes)}
	if found.Next == 0 {
		page.Progress = page.T("search.done", values...)
	} else {
		if !found.Reached.IsZero() {
			page.Progress = page.T("search.reached", append(values, "At", c.at(page.Page, found.Reached).Absolute)...)
		} else {
			page.Progress = page.T("search.going", values...)
		}
		page.Going = !page.Filter.Stop && next.Hits/matchesGoing == page.Filter.Hits/matchesGoing && next.Round%looksGoing != 0
		page.Further = link.SearchOutput(next)
		next.Stop = true
		page.Stop = link.SearchOutput(next)
	}
	if found.Unreadable > 0 {
		page.Unreadable = page.T("search.unreadable", "Count", found.Unreadable, "N", format.Number(int64(found.Unreadable)))
	}
}

func (c *runPages) matches(ec echo.Context, page runs.SearchPage, hits []manage.OutputHit) ([]runs.Match, error) {
	jobs, err := c.jobs.OfRuns(ec.Request().Context(), who(ec), db.IDs(hits, func(r *manage.OutputHit) int64 { return r.Run.JobID })...)
	if err != nil {
		return nil, err
	}
	drawn := make([]runs.Match, len(hits))
	for i, h := range hits {
		run := c.record(h.Run)
		m := runs.Match{LogID: h.Run.ID, JobID: h.Run.JobID, State: run.State(), At: c.at(page.Page, run.Start())}
		name, linked := jobName(page.Page, jobs, h.Run.JobID)
		m.JobName, m.NoJob = name, !linked
		for _, l := range h.Lines {
			m.Lines = append(m.Lines, runs.MatchLine{Number: l.Number, Parts: matchParts(string(l.Text), page.Filter.Text)})
		}
		if h.More > 0 {
			m.More = moreLines(page.Page, h.More)
		}
		drawn[i] = m
	}
	return drawn, nil
}

func moreLines(page layout.Page, n int) string {
	return page.T("search.more", "Count", n, "N", format.Number(int64(n)))
}

// matchParts cuts a line where it has a text, as a search finds it: only A to Z are the same as a to z.
func matchParts(line, text string) (parts []runs.MatchPart) {
	small := func(s string) string {
		return strings.Map(func(r rune) rune {
			if 'A' <= r && r <= 'Z' {
				return r + 'a' - 'A'
			}
			return r
		}, strings.ToValidUTF8(s, "?"))
	}
	line = strings.ToValidUTF8(line, "?")
	folded, needle := small(line), small(text)
	for {
		at := strings.Index(folded, needle)
		if at < 0 || needle == "" {
			break
		}
		if at > 0 {
			parts = append(parts, runs.MatchPart{Text: line[:at]})
		}
		parts = append(parts, runs.MatchPart{Text: line[at : at+len(needle)], Hit: true})
		line, folded = line[at+len(needle):], folded[at+len(needle):]
	}
	if line != "" {
		parts = append(parts, runs.MatchPart{Text: line})
	}
	return parts
}
