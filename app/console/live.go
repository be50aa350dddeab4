package console

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/a-h/templ"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/live"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
	"github.com/punctual-job/punctual/views/runs"
)

// runListEvents streams the rows of a run list that are new or have changed.
func (c *runPages) runListEvents(ec echo.Context) error {
	f := link.RunsFrom(ec.QueryParams())
	f.Before, f.After, f.Deep, f.Sort = 0, 0, false, ""
	groups, err := c.groupTitles(ec)
	if err != nil {
		return err
	}
	w := &listWatch{pages: c, page: c.Page(ec), rows: look(c.Page(ec), who(ec), manage.ViewRuns).Rows, who: who(ec), groups: groups, filter: f, shown: make(map[int64]string), below: make(map[int64]bool)}
	signal, cancel := c.engine.Subscribe()
	defer cancel()
	return c.follow(ec, signal, w)
}

// listWatch is what a stream of the run list has sent so far.
type listWatch struct {
	pages  *runPages
	page   layout.Page
	who    auth.Principal
	groups groupTitles
	filter link.RunFilter
	rows   int // of a page

	shown map[int64]string // what the browser has of each row of the first page
	below map[int64]bool   // open rows that newer ones have pushed off the first page, and the browser may still show
}

// As narrows or widens the list. Rows of groups that are not to be seen any more are gone at the next look.
func (w *listWatch) As(ctx context.Context, p auth.Principal) error {
	groups, err := w.pages.groupTitlesOf(ctx, p)
	w.who, w.groups = p, groups
	return err
}

// maxBelow bounds how many open rows below the first page are kept up to date.
const maxBelow = 100

// Look sends the rows that the browser does not have yet. The first look sends all of them: between drawing the page
// and opening the stream something may have happened, and a row that has not changed changes nothing.
func (w *listWatch) Look(ctx context.Context, s *live.Stream) (ended bool, next time.Duration, err error) {
	c := w.pages
	filter := c.runFilter(w.filter, c.zoneFor(w.who))
	filter.Limit = w.rows
	list, err := c.runs.List(ctx, w.who, filter)
	if err != nil {
		return false, 0, err
	}
	rows, err := c.runRows(ctx, w.page, w.who, w.groups, list.Runs)
	if err != nil {
		return false, 0, err
	}
	var changed []runs.Row // newest first
	known := len(w.shown) == 0
	now := make(map[int64]string, len(rows))
	lowest := int64(0) // the end of the page; what lies below it is there without being listed
	switch {
	case list.Searched: // what this look did not come to is neither gone nor new
		lowest = list.Older
	case len(rows) == w.rows:
		lowest = rows[w.rows-1].LogID
	}
	for i, row := range rows {
		run := list.Runs[i]
		version := fmt.Sprint(row.State, row.CanKill, run.SentAt, run.FinishedAt, row.Address, row.Message, row.JobName, row.Faults)
		if row.State.Open() {
			version += c.soFar()
		}
		now[row.LogID] = version
		if before, is := w.shown[row.LogID]; is {
			known = true
			if before == version {
				continue
			}
		}
		changed = append(changed, row)
	}
	var gone []int64
	for id, version := range w.shown {
		if _, still := now[id]; still {
			continue
		}
		switch {
		case id >= lowest:
			gone = append(gone, id)
		case list.Searched:
			now[id] = version
		case strings.HasPrefix(version, string(runstate.Waiting)), strings.HasPrefix(version, string(runstate.Sent)):
			w.below[id] = true
		}
	}
	w.shown = now
	settled, left, err := w.lookBelow(ctx)
	if err != nil {
		return false, 0, err
	}
	if gone = append(gone, left...); len(gone) > 0 {
		if err := send(ctx, s, "gone", "", runs.LiveGone(gone)); err != nil {
			return false, 0, err
		}
	}
	for _, row := range settled {
		if err := send(ctx, s, "ended", strconv.FormatInt(row.LogID, 10), runs.LiveRow(w.page, row)); err != nil {
			return false, 0, err
		}
	}
	if !known && len(rows) == w.rows {
		// Nothing of the last page is on this one: between the two lie runs that nobody would see.
		return false, live.PaceMax, send(ctx, s, "many", "", nil)
	}
	for _, row := range slices.Backward(changed) { // oldest first, so that each new row goes on top
		if err := send(ctx, s, "run", strconv.FormatInt(row.LogID, 10), runs.LiveRow(w.page, row)); err != nil {
			return false, 0, err
		}
	}
	return false, live.PaceMax, nil
}

// lookBelow finds out which of the open rows below the first page have ended: those to show so where they are shown at all, and those that
// the filter does not want any more.
func (w *listWatch) lookBelow(ctx context.Context) (settled []runs.Row, gone []int64, err error) {
	if len(w.below) == 0 {
		return nil, nil, nil
	}
	ids := slices.Sorted(maps.Keys(w.below))
	for len(ids) > maxBelow {
		delete(w.below, ids[0])
		ids = ids[1:]
	}
	c := w.pages
	found, err := c.runs.ByID(ctx, w.who, ids)
	if err != nil {
		return nil, nil, err
	}
	still := make(map[int64]bool, len(found))
	for _, r := range found {
		still[r.ID] = true
		if runstate.Of(r.Outcome, r.TriggerCode, r.HandleCode, string(r.HandleMsg)).Open() {
			continue
		}
		delete(w.below, r.ID)
		if w.filter.Result == link.ResultRunning || w.filter.Result == string(runstate.Waiting) || w.filter.Result == string(runstate.Sent) {
			gone = append(gone, r.ID)
			continue
		}
		timeline, err := c.timeline(ctx, w.page, w.who, r.ID)
		if err == nil {
			settled = append(settled, timeline.Row)
		} else if k := problem.From(err).Kind; k == problem.NotFound || k == problem.Forbidden {
			gone = append(gone, r.ID) // deleted between the two reads
		} else {
			return nil, nil, err
		}
	}
	for _, id := range ids {
		if !still[id] {
			delete(w.below, id)
			gone = append(gone, id)
		}
	}
	return settled, gone, nil
}

// soFar changes every few seconds: how long an open run has taken so far is part of what a page shows.
func (c *runPages) soFar() string {
	const every = 3 // seconds
	return fmt.Sprint(" ", c.now().Unix()/every)
}

const (
	// logPaceMin and logPaceMax bound how often an executor is asked for the output of a run somebody watches.
	logPaceMin = 500 * time.Millisecond
	logPaceMax = 3 * time.Second
	// logTries is how often the output of a finished run is asked for when its executor does not answer.
	logTries = 3
)

// runEvents streams what happens to one run: its state when it changes, and its output from a line on.
func (c *runPages) runEvents(ec echo.Context) error {
	logID, err := id(ec)
	if err != nil {
		return err
	}
	page, p := c.Page(ec), who(ec)
	if _, err := c.runs.Get(ec.Request().Context(), p, logID); err != nil {
		return err
	}
	w := &runWatch{pages: c, page: page, who: p, logID: logID, next: 1, pace: logPaceMin}
	from := ec.Request().Header.Get("Last-Event-ID")
	if from == "" {
		from = ec.QueryParam("from")
	}
	if n, err := strconv.Atoi(from); err == nil && n > 0 {
		w.next = n
	}
	signal, cancel := c.engine.SubscribeRun(logID)
	defer cancel()
	return c.follow(ec, signal, w)
}

// runWatch is what a stream of one run has sent so far.
type runWatch struct {
	pages *runPages
	page  layout.Page
	who   auth.Principal
	logID int64

	state  string        // version of the timeline that was sent last
	next   int           // line of the output to ask for
	pace   time.Duration // until the output is asked for again
	failed int           // times in a row that the executor did not answer
	cause  runs.Cause    // found in the output so far
	sought bool          // also in what the browser had before
	level  runs.Level    // of the last line that was sent
	note   string        // why there is no output at the moment, as it was sent last
}

// As ends the stream at the next look if the run is not to be seen any more.
func (w *runWatch) As(_ context.Context, p auth.Principal) error {
	w.who, w.state = p, "" // the timeline's buttons follow the rights
	return nil
}

// Look reads the run once, whatever there is to send of it.
func (w *runWatch) Look(ctx context.Context, s *live.Stream) (ended bool, next time.Duration, err error) {
	c := w.pages
	r, err := c.runs.Get(ctx, w.who, w.logID)
	if err != nil {
		if k := problem.From(err).Kind; k == problem.NotFound || k == problem.Forbidden {
			return true, 0, nil // deleted while somebody watched
		}
		return false, 0, err
	}
	version := fmt.Sprint(r.TriggerCode, r.HandleCode, r.Outcome, r.SentAt, r.FinishedAt, r.KillAskedAt, len(r.Events), len(r.HandleMsg), r.ExecutorAddress)
	run := c.wholeRecord(r)
	if run.State().Open() {
		version += c.soFar()
	}
	finished := run.Reported()
	if !w.sought && finished && run.HasOutput() && w.next > 1 { // the browser has the beginning, which this stream has not read
		w.sought = true
		if w.cause.Line == 0 {
			log := c.firstLog(ctx, w.page, r, 1)
			w.cause = log.Cause()
		}
	}
	version += fmt.Sprint(w.cause.Line)
	if err := w.sendState(ctx, s, r, version); err != nil {
		return false, 0, err
	}
	if !run.HasOutput() {
		return r.TriggerCode != 0, live.PaceMax, nil
	}
	cause := w.cause
	end, err := w.sendLog(ctx, s, &r)
	if err != nil {
		return false, 0, err
	}
	if finished && w.cause != cause {
		if err := w.sendState(ctx, s, r, version+"+"+fmt.Sprint(w.cause.Line)); err != nil {
			return false, 0, err
		}
	}
	return finished && end, w.pace, nil
}

// sendState sends the run's timeline if it is another than the one that was sent last.
func (w *runWatch) sendState(ctx context.Context, s *live.Stream, r db.Run, version string) error {
	if version == w.state {
		return nil
	}
	timeline, err := w.pages.whole(ctx, w.page, w.who, r)
	if err != nil {
		return err
	}
	timeline.Cause = w.cause
	if err := send(ctx, s, "state", "", runs.TimelineFragment(runs.TimelinePage{Page: w.page, Timeline: timeline})); err != nil {
		return err
	}
	w.state = version
	return nil
}

// logTurn is how long one look sends output. A run that writes faster than its reader reads would else keep the stream from ever asking
// whether they may still see it, and whether the admin stops.
const logTurn = time.Second

// sendLog sends the output that is new, for a while, and says whether there will be no more once the run has finished.
func (w *runWatch) sendLog(ctx context.Context, s *live.Stream, r *db.Run) (end bool, err error) {
	for began := time.Now(); time.Since(began) < logTurn; {
		piece, err := w.pages.runs.LogOf(ctx, r, w.next)
		if err != nil {
			if ctx.Err() != nil {
				return false, err
			}
			w.failed++
			w.pace = min(w.pace*2, logPaceMax)
			return w.failed >= logTries, w.say(ctx, s, unread(w.page, err, w.pages.runs.CopiesSilent()))
		}
		w.failed = 0
		note := ""
		if piece.Missing() && (r.HandleCode != 0 || r.Outcome.Ended()) {
			note = w.page.T("log.empty.missing")
		}
		if piece.Kept != nil {
			note = w.pages.keptNote(w.page, piece.Kept)
		}
		if err := w.say(ctx, s, note); err != nil {
			return false, err
		}
		lines, next := logLines(piece.LogResult, w.next)
		if len(lines) == 0 {
			w.pace = min(w.pace*3/2, logPaceMax)
			return piece.IsEnd, nil
		}
		log := runs.Log{Status: runs.LogLive, First: piece.First(w.next), Next: next, Lines: lines, Before: w.level}
		if err := send(ctx, s, "log", strconv.Itoa(next), runs.LogChunk(runs.LogPage{Page: w.page, LogID: w.logID, Log: log})); err != nil {
			return false, err
		}
		if found := log.Cause(); found.Line > 0 && (found.Trace || !w.cause.Trace) {
			w.cause = found
		}
		w.next, w.pace, w.level = next, logPaceMin, runs.LastLevel(lines, w.level)
	}
	return false, nil
}

// say tells why there is no output at the moment, or that there is again.
func (w *runWatch) say(ctx context.Context, s *live.Stream, note string) error {
	if note == w.note {
		return nil
	}
	w.note = note
	return send(ctx, s, "note", "", runs.LogNote(note))
}

// follow answers with a stream ([live.Streams.Follow]).
func (c *runPages) follow(ec echo.Context, signal <-chan struct{}, watched live.Watcher) error {
	p := who(ec)
	if !c.streams.Enter(p.UserID) {
		return problem.New(problem.TooMany, "problem.streams")
	}
	defer c.streams.Leave(p.UserID)
	return c.streams.Follow(ec.Response(), ec.Request(), p, func() (auth.Principal, error) { return c.sessions.Look(ec.Request()) }, signal, watched)
}

// send draws what an event carries; nil is nothing.
func send(ctx context.Context, s *live.Stream, event, id string, component templ.Component) error {
	var body bytes.Buffer
	if component != nil {
		if err := component.Render(ctx, &body); err != nil {
			return fmt.Errorf("render event: %w", err)
		}
	}
	return s.Send(event, id, body.Bytes())
}
