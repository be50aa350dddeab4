package console

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/runs"
)

// runListEvents streams the rows of a run list that are new or have changed.
func (c *Console) runListEvents(ec echo.Context) error {
	f := link.RunsFrom(ec.QueryParams())
	f.Before, f.After = 0, 0
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	page, p := c.Page(ec), who(ec)
	signal, cancel := c.cfg.Engine.Subscribe()
	defer cancel()
	shown := make(map[int64]string) // what the browser has of each row
	return c.follow(ec, signal, func(ctx context.Context, s *stream) (bool, time.Duration, error) {
		return false, paceMax, c.sendRows(ctx, s, page, p, groups, f, shown)
	})
}

// sendRows sends the rows that the browser does not have yet. The first look sends all of them: between drawing the page
// and opening the stream something may have happened, and a row that has not changed changes nothing.
func (c *Console) sendRows(ctx context.Context, s *stream, page layout.Page, p auth.Principal, groups groupTitles, f link.RunFilter, shown map[int64]string) error {
	list, err := c.cfg.Manage.Runs.List(ctx, p, c.runFilter(f))
	if err != nil {
		return err
	}
	rows, err := c.runRows(ctx, page, p, groups, list.Runs)
	if err != nil {
		return err
	}
	now := make(map[int64]string, len(rows))
	for i := len(rows) - 1; i >= 0; i-- { // oldest first, so that each new row goes on top
		row, run := rows[i], list.Runs[i]
		version := fmt.Sprint(row.State, run.SentAt, run.FinishedAt, row.Address, row.Message, row.JobName)
		if row.State.Open() {
			version += c.soFar()
		}
		now[row.LogID] = version
		if shown[row.LogID] == version {
			continue
		}
		if err := s.send(ctx, "run", strconv.FormatInt(row.LogID, 10), runs.LiveRow(page, row)); err != nil {
			return err
		}
	}
	// A row that no longer fits the filter would stay in the browser for ever: the list is drawn anew.
	lowest := int64(0)
	if n := len(rows); n == runsPerPage {
		lowest = rows[n-1].LogID
	}
	gone := false
	for id := range shown {
		if _, still := now[id]; !still && id >= lowest {
			gone = true
		}
	}
	clear(shown)
	for id, version := range now {
		shown[id] = version
	}
	if gone {
		return s.send(ctx, "reset", "", nil)
	}
	return nil
}

// soFar changes every few seconds: how long an open run has taken so far is part of what a page shows.
func (c *Console) soFar() string {
	const every = 3 // seconds
	return fmt.Sprint(" ", c.cfg.Now().Unix()/every)
}

const (
	// logPaceMin and logPaceMax bound how often an executor is asked for the output of a run somebody watches.
	logPaceMin = 500 * time.Millisecond
	logPaceMax = 3 * time.Second
	// logTries is how often the output of a finished run is asked for when its executor does not answer.
	logTries = 3
)

// runEvents streams what happens to one run: its state when it changes, and its output from a line on.
func (c *Console) runEvents(ec echo.Context) error {
	logID, err := id(ec)
	if err != nil {
		return err
	}
	page, p := c.Page(ec), who(ec)
	if _, err := c.cfg.Manage.Runs.Get(ec.Request().Context(), p, logID); err != nil {
		return err
	}
	w := &runWatch{console: c, page: page, who: p, logID: logID, next: 1, pace: logPaceMin}
	from := ec.Request().Header.Get("Last-Event-ID")
	if from == "" {
		from = ec.QueryParam("from")
	}
	if n, err := strconv.Atoi(from); err == nil && n > 0 {
		w.next = n
	}
	signal, cancel := c.cfg.Engine.SubscribeRun(logID)
	defer cancel()
	return c.follow(ec, signal, w.look)
}

// runWatch is what a stream of one run has sent so far.
type runWatch struct {
	console *Console
	page    layout.Page
	who     auth.Principal
	logID   int64

	state  string        // version of the story that was sent last
	next   int           // line of the output to ask for
	pace   time.Duration // until the output is asked for again
	failed int           // times in a row that the executor did not answer
}

func (w *runWatch) look(ctx context.Context, s *stream) (ended bool, next time.Duration, err error) {
	c := w.console
	r, err := c.cfg.Manage.Runs.Get(ctx, w.who, w.logID)
	if err != nil {
		if k := problem.From(err).Kind; k == problem.NotFound || k == problem.Forbidden {
			return true, 0, nil // deleted while somebody watched
		}
		return false, 0, err
	}
	version := fmt.Sprint(r.TriggerCode, r.HandleCode, r.SentAt, r.FinishedAt, len(r.TriggerMsg), len(r.HandleMsg), r.ExecutorAddress)
	if factsOfRun(r).state().Open() {
		version += c.soFar()
	}
	if version != w.state {
		story, err := c.storyOf(ctx, w.page, w.who, r)
		if err != nil {
			return false, 0, err
		}
		if err := s.send(ctx, "state", "", runs.StoryFragment(runs.StoryPage{Page: w.page, Story: story})); err != nil {
			return false, 0, err
		}
		w.state = version
	}
	finished := r.HandleCode != 0
	if !hasOutput(r) {
		return r.TriggerCode != 0, paceMax, nil
	}
	end, err := w.sendLog(ctx, s)
	if err != nil {
		return false, 0, err
	}
	return finished && end, w.pace, nil
}

// sendLog sends the output that is new, and says whether there will be no more once the run has finished.
func (w *runWatch) sendLog(ctx context.Context, s *stream) (end bool, err error) {
	for {
		piece, err := w.console.cfg.Manage.Runs.ReadLog(ctx, w.who, w.logID, w.next)
		if err != nil {
			if ctx.Err() != nil {
				return false, err
			}
			w.failed++
			w.pace = min(w.pace*2, logPaceMax)
			return w.failed >= logTries, nil
		}
		w.failed = 0
		lines, next := logLines(piece, w.next)
		if len(lines) == 0 {
			w.pace = min(w.pace*3/2, logPaceMax)
			return piece.IsEnd, nil
		}
		log := runs.Log{Status: runs.LogLive, First: w.next, Next: next, Lines: lines}
		if err := s.send(ctx, "log", strconv.Itoa(next), runs.LogChunk(runs.LogPage{Page: w.page, LogID: w.logID, Log: log})); err != nil {
			return false, err
		}
		w.next, w.pace = next, logPaceMin
	}
}
