package api

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/live"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/event"
)

const eventStream = "text/event-stream"

func (a *API) live() {
	const tag = "runs"
	add(a, op{
		method: http.MethodGet, path: "/runs/live", id: "watchRuns", tag: tag, media: eventStream, summary: "Follow the newest runs",
		text: "Server-sent events: run for each of the newest 100 at the beginning, and then whenever one is new or has changed, with the run as lists have it; gone with the id of one that is not wanted any more; " +
			"many when more came than are looked at, so that some were left out: list them. Runs that have not ended are followed when newer ones have pushed them off the newest, up to 100. " +
			"A client that comes again with Last-Event-ID has many too when it may have missed something of runs that are none of the newest any more. A beat comes every 5s.",
	}, func(ctx context.Context, p auth.Principal, in *struct {
		RunsWanted
		Last string `header:"Last-Event-ID" maxLength:"20" doc:"The id of the last event that came."`
	}) (*huma.StreamResponse, error) {
		r := requestOf(ctx)
		w := &runsWatch{api: a, who: p, filter: in.filter(), teller: a.teller(r), shown: make(map[int64]shownRun)}
		if n, err := strconv.ParseInt(in.Last, 10, 64); err == nil {
			w.owed = n
		}
		w.filter.Limit = watchedRuns
		if _, err := a.Manage.Runs.List(ctx, p, w.filter); err != nil {
			return nil, err
		}
		signal, cancel := a.Engine.Subscribe()
		return a.stream(r, p, signal, cancel, w)
	})
	add(a, op{
		method: http.MethodGet, path: "/runs/{id}/live", id: "watchRun", tag: tag, media: eventStream, summary: "Follow a run and its output to their end",
		text: "Server-sent events: run with the run when it has changed, output with its lines and the number of the first (the id of the event is the line after them, from which a client that comes again with Last-Event-ID goes on), " +
			"note when there is no output at the moment, and end. A beat comes every 5s.",
	}, func(ctx context.Context, p auth.Principal, in *struct {
		RunID
		From int    `query:"from_line" minimum:"1" default:"1" doc:"The first line that is wanted."`
		Last string `header:"Last-Event-ID" maxLength:"20" doc:"The id of the last event that came; it counts instead of from_line."`
	}) (*huma.StreamResponse, error) {
		r := requestOf(ctx)
		w := &runWatch{api: a, who: p, id: in.ID, teller: a.teller(r), printer: r.printer, next: in.From}
		if n, err := strconv.Atoi(in.Last); err == nil && n > 0 {
			w.next = n
		}
		if _, err := a.Manage.Runs.Get(ctx, p, in.ID); err != nil {
			return nil, err
		}
		signal, cancel := a.Engine.SubscribeRun(in.ID)
		return a.stream(r, p, signal, cancel, w)
	})
}

// stream answers with what a watcher sees, as long as the token counts.
func (a *API) stream(r *request, p auth.Principal, signal <-chan struct{}, cancel func(), watched live.Watcher) (*huma.StreamResponse, error) {
	if !a.Streams.Enter(p.UserID) {
		cancel()
		return nil, problem.New(problem.TooMany, "problem.streams")
	}
	return &huma.StreamResponse{Body: func(huma.Context) {
		defer cancel()
		defer a.Streams.Leave(p.UserID)
		again := func() (auth.Principal, error) { return a.bearer(r.echo) }
		if err := a.Streams.Follow(r.echo.Response(), r.echo.Request(), p, again, signal, watched); err != nil {
			problem.Log(a.Logger, problem.From(err), r.echo.Request(), r.echo.Response().Header().Get("X-Request-Id"))
		}
	}}, nil
}

// sendJSON sends an event whose data is a value.
func sendJSON(s *live.Stream, event, id string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return s.Send(event, id, data)
}

// watchedRuns is how many of the newest runs a stream looks at.
const watchedRuns = 100

// runsWatch is what a stream of runs has sent so far.
type runsWatch struct {
	api    *API
	who    auth.Principal
	filter manage.RunFilter
	teller event.Teller
	shown  map[int64]shownRun // what the client has of each run that it may still hear of
	begun  bool
	newest int64 // that was sent
	owed   int64 // before the first look: the lowest run that a client which comes again has not heard the end of; 0: it is a new one
}

type shownRun struct {
	data string
	open bool
}

// As narrows or widens what is seen.
func (w *runsWatch) As(_ context.Context, p auth.Principal) error {
	w.who = p
	return nil
}

// Look sends the runs that are new or have changed, the oldest first. A run that has ended and is none of the newest any more is forgotten.
func (w *runsWatch) Look(ctx context.Context, s *live.Stream) (ended bool, next time.Duration, err error) {
	found, err := w.api.Manage.Runs.List(ctx, w.who, w.filter)
	if err != nil {
		return false, 0, err
	}
	list := found.Runs
	listed := make(map[int64]bool, len(list))
	known := false
	for _, r := range list {
		listed[r.ID] = true
		_, is := w.shown[r.ID]
		known = known || is
	}
	older, gone, more, err := w.older(ctx, listed, found.Older)
	if err != nil {
		return false, 0, err
	}
	for _, id := range gone {
		if err := sendJSON(s, "gone", "", map[string]int64{"id": id}); err != nil {
			return false, 0, err
		}
	}
	missed := !w.begun && w.owed > 0 && w.owed < found.Older
	if more || missed || w.begun && !known && len(list) >= watchedRuns {
		if err := s.Send("many", "", nil); err != nil {
			return false, 0, err
		}
	}
	runs, err := w.api.readRuns(ctx, w.who, w.teller, append(list, older...))
	if err != nil {
		return false, 0, err
	}
	for _, run := range slices.Backward(runs) {
		data, err := json.Marshal(run)
		if err != nil {
			return false, 0, err
		}
		known := w.shown[run.ID].data == string(data)
		if run.Ended && !listed[run.ID] {
			delete(w.shown, run.ID)
		} else {
			w.shown[run.ID] = shownRun{string(data), !run.Ended}
		}
		if known {
			continue
		}
		w.newest = max(w.newest, run.ID)
		if err := s.Send("run", strconv.FormatInt(w.lowestOwed(), 10), data); err != nil {
			return false, 0, err
		}
	}
	w.begun = true
	return false, live.PaceMax, nil
}

// lowestOwed is the lowest run of which a client that has everything until now has still to hear: the lowest open one, or the next that begins.
func (w *runsWatch) lowestOwed() int64 {
	owed := w.newest + 1
	for id, run := range w.shown {
		if run.open {
			owed = min(owed, id)
		}
	}
	return owed
}

// older reads the open runs that the client has and newer ones have pushed off the list, and says which of them are not wanted any more, and
// whether there are more than are looked at.
func (w *runsWatch) older(ctx context.Context, listed map[int64]bool, lowest int64) (rows []db.RunRow, gone []int64, more bool, err error) {
	var ask []int64
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(w.shown))) {
		switch {
		case listed[id]:
		case id >= lowest: // it would be listed
			gone = append(gone, id)
		case w.shown[id].open && len(ask) < watchedRuns:
			ask = append(ask, id)
		default:
			more = more || w.shown[id].open
			delete(w.shown, id)
		}
	}
	if rows, err = w.api.Manage.Runs.Among(ctx, w.who, w.filter, ask); err != nil {
		return nil, nil, false, err
	}
	for _, id := range ask {
		if !slices.ContainsFunc(rows, func(r db.RunRow) bool { return r.ID == id }) {
			gone = append(gone, id)
		}
	}
	for _, id := range gone {
		delete(w.shown, id)
	}
	return rows, gone, more, nil
}

// An executor is asked for more output of a run that somebody follows after outputPaceMin to outputPaceMax, and no more once it has failed to
// answer outputTries times.
const (
	outputPaceMin = 500 * time.Millisecond
	outputPaceMax = 3 * time.Second
	outputTries   = 3
)

// runWatch is what a stream of one run has sent so far.
type runWatch struct {
	api     *API
	who     auth.Principal
	id      int64
	teller  event.Teller
	printer *locales.Printer

	sent   string // the run as it was sent last
	next   int    // line of the output to ask for
	pace   time.Duration
	failed int // times in a row that the executor did not answer
	note   string
}

// As ends the stream at the next look if the run is not to be seen any more.
func (w *runWatch) As(_ context.Context, p auth.Principal) error {
	w.who = p
	return nil
}

// Look reads the run once, whatever there is to send of it.
func (w *runWatch) Look(ctx context.Context, s *live.Stream) (ended bool, next time.Duration, err error) {
	r, err := w.api.Manage.Runs.Get(ctx, w.who, w.id)
	if err != nil {
		if k := problem.From(err).Kind; k == problem.NotFound || k == problem.Forbidden {
			return true, 0, nil
		}
		return false, 0, err
	}
	row := rowOf(r)
	read, err := w.api.readRuns(ctx, w.who, w.teller, []db.RunRow{row})
	if err != nil {
		return false, 0, err
	}
	data, err := json.Marshal(read[0])
	if err != nil {
		return false, 0, err
	}
	if string(data) != w.sent {
		w.sent = string(data)
		if err := s.Send("run", "", data); err != nil {
			return false, 0, err
		}
	}
	record := w.api.recorded(row)
	if !record.HasOutput() {
		return r.TriggerCode != 0, live.PaceMax, nil
	}
	end, err := w.output(ctx, s, &r)
	return record.Reported() && end, w.pace, err
}

// output sends what is new, and says whether there will be no more once the run has ended. A run that puts out more than is sent does not
// keep the stream from finding out whether its token still counts.
func (w *runWatch) output(ctx context.Context, s *live.Stream, r *db.Run) (end bool, err error) {
	for began := time.Now(); time.Since(began) < live.PaceMax; {
		piece, err := w.api.Manage.Runs.LogOf(ctx, r, w.next)
		if err != nil {
			if ctx.Err() != nil {
				return false, err
			}
			w.failed++
			w.pace = min(max(2*w.pace, outputPaceMin), outputPaceMax)
			return w.failed >= outputTries, w.say(s, problem.From(err).Text(w.printer))
		}
		w.failed = 0
		if err := w.say(s, ""); err != nil {
			return false, err
		}
		if piece.ToLineNum < w.next || piece.LogContent == "" {
			w.pace = min(max(w.pace*3/2, outputPaceMin), outputPaceMax)
			return piece.IsEnd, nil
		}
		first := piece.First(w.next)
		w.next, w.pace = piece.ToLineNum+1, outputPaceMin
		lines := struct {
			First int      `json:"from_line"`
			Lines []string `json:"lines"`
		}{first, strings.Split(strings.TrimSuffix(piece.LogContent, "\n"), "\n")}
		if err := sendJSON(s, "output", strconv.Itoa(w.next), lines); err != nil {
			return false, err
		}
	}
	return false, nil
}

// say tells why there is no output at the moment; nothing, that there is again.
func (w *runWatch) say(s *live.Stream, note string) error {
	if note == w.note {
		return nil
	}
	w.note = note
	return sendJSON(s, "note", "", map[string]string{"text": note})
}
