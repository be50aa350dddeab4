package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// The bounds of tools that ask many times.
const (
	searchFor   = 30 * time.Second
	searchBytes = 64 << 20 // of output that is looked through in one call
	tailBytes   = 16 << 20
	maxLines    = 500
	lineLength  = 1000
	outputTold  = 64_000 // bytes of output in an answer
	maxMatches  = 50
	maxFollowed = 500 // jobs whose times are looked at
	foreseen    = 48 * time.Hour
	askAtOnce   = 8
	maxTimes    = 100 // of a job; the API says no more
	timesTold   = 10
)

type (
	noInput struct{}
	onPage  struct {
		Limit  int    `json:"limit,omitempty" jsonschema:"how many at most: 1 to 50, 20 if it is left out"`
		Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the page before"`
	}
	oneJob struct {
		ID int64 `json:"job_id" jsonschema:"the number of the job"`
	}
	oneRun struct {
		ID int64 `json:"run_id" jsonschema:"the number of the run"`
	}
	jobsWanted struct {
		onPage
		Group   int64  `json:"group_id,omitempty" jsonschema:"only jobs of this group of executors"`
		State   string `json:"state,omitempty" jsonschema:"running (the schedule is started), stopped, paused (it is started, and a pause holds it still now), or review (a change of its script waits for a second person)"`
		Text    string `json:"text,omitempty" jsonschema:"only jobs with this in their description, or with this number"`
		Handler string `json:"handler,omitempty" jsonschema:"only jobs with this in the name of their handler"`
		Author  string `json:"author,omitempty" jsonschema:"only jobs with this in the name of their owner"`
		Tag     string `json:"tag,omitempty" jsonschema:"only jobs with this tag"`
		Show    string `json:"show,omitempty" jsonschema:"failing or late (due and not sent)"`
	}
	runsWanted struct {
		onPage
		Job    int64  `json:"job_id,omitempty" jsonschema:"only runs of this job"`
		Group  int64  `json:"group_id,omitempty" jsonschema:"only runs of jobs of this group"`
		Result string `json:"result,omitempty" jsonschema:"success, failed, open (not ended) or skipped"`
		Since  string `json:"since,omitempty" jsonschema:"only runs triggered at this moment or later, as in 2026-12-31T23:30:00+08:00"`
		Until  string `json:"until,omitempty" jsonschema:"only runs triggered at this moment or before"`
		Text   string `json:"text,omitempty" jsonschema:"only runs with this in their address, their parameter or a message"`
		Show   string `json:"show,omitempty" jsonschema:"late, or long (they take long)"`
	}
	outputWanted struct {
		oneRun
		From  int  `json:"from_line,omitempty" jsonschema:"the first line, from 1"`
		Lines int  `json:"lines,omitempty" jsonschema:"how many lines at most: 1 to 500, 100 if it is left out"`
		End   bool `json:"end,omitempty" jsonschema:"the last lines instead of the first"`
	}
	searchWanted struct {
		oneRun
		Text string `json:"text" jsonschema:"what the lines contain; capital and small letters are the same"`
		From int    `json:"from_line,omitempty" jsonschema:"the line to begin with: next_line of the answer before"`
	}
	forecastWanted struct {
		Group int64  `json:"group_id,omitempty" jsonschema:"only jobs of this group"`
		From  string `json:"from,omitempty" jsonschema:"the beginning, as in 2026-12-31T20:00:00+08:00; now if it is left out"`
		Until string `json:"until,omitempty" jsonschema:"the end, at most 48 hours from now; 12 hours from now if it is left out"`
	}
	usageWanted struct {
		From  string `json:"from,omitempty" jsonschema:"the first day, as 2026-12-31, in the zone of the installation; six days before the last if it is left out"`
		Until string `json:"until,omitempty" jsonschema:"the last day, which counts too; today if it is left out"`
	}
	daysWanted struct {
		Days int `json:"days,omitempty" jsonschema:"how many days: 1 to 90, 7 if it is left out"`
	}
	triggerWanted struct {
		oneJob
		Param   *string `json:"parameter,omitempty" jsonschema:"the parameter of this run; the job's if it is left out"`
		Planned string  `json:"planned,omitempty" jsonschema:"the time that the run is for, as in 2026-12-31T23:30:00+08:00; now if it is left out"`
		Once    string  `json:"idempotency_key,omitempty" jsonschema:"a text of your choice: a second call with the same makes no second run"`
	}
)

// jobCells and runCells are what lists tell of a job and of a run.
var (
	jobCells = []string{"id", "group_id", "description", "state", "schedule", "cron", "every_seconds", "at", "time_zone", "next_due_at", "last_due_at", "handler", "kind", "author", "tags", "paused"}
	runCells = []string{"id", "job_id", "job", "group_id", "state", "ended", "trigger", "planned_at", "triggered_at", "finished_at", "address", "shard", "message"}
)

// readers are the tools that change nothing.
func (s *assistant) readers() {
	reads(s, "who_am_i", "Says whom the API token acts for, and what it may do in which groups.", func(ctx context.Context, _ noInput) (any, error) {
		i, err := s.get(ctx, "/whoami", nil) // and not what was so when the session began
		return bounded(i, maxText), err
	})
	reads(s, "list_groups", "Lists the groups of executors: number, name, and the addresses of their executors.", func(ctx context.Context, in onPage) (any, error) {
		return s.page(ctx, "/groups", in.query())
	})
	reads(s, "find_jobs", "Finds jobs, the newest first.", func(ctx context.Context, in jobsWanted) (any, error) {
		q := in.query()
		setNumber(q, "group_id", in.Group)
		for name, value := range map[string]string{"state": in.State, "text": in.Text, "handler": in.Handler, "author": in.Author, "tag": in.Tag, "show": in.Show} {
			setText(q, name, value)
		}
		return s.page(ctx, "/jobs", q, jobCells...)
	})
	reads(s, "get_job", "Gets everything about a job.", func(ctx context.Context, in oneJob) (any, error) {
		job, err := s.get(ctx, jobPath(in.ID), nil)
		return bounded(job, maxText), err
	})
	reads(s, "find_runs", "Finds runs, the newest first. With searched_to in the answer the time was over there: older runs may match too, ask on with next_cursor.", func(ctx context.Context, in runsWanted) (any, error) {
		q := in.query()
		setNumber(q, "job_id", in.Job)
		setNumber(q, "group_id", in.Group)
		for name, value := range map[string]string{"result": in.Result, "since": in.Since, "until": in.Until, "text": in.Text, "show": in.Show} {
			setText(q, name, value)
		}
		return s.page(ctx, "/runs", q, runCells...)
	})
	reads(s, "explain_run", "Says what happened to a run, in order, what its executor said of the result, and how its output ends: for why it failed.", s.explainRun)
	reads(s, "explain_job", "Says why a job does not run, or did not: causes that hold now, its next times, its executors, and its last runs with what became of them.", s.explainJob)
	reads(s, "read_output", "Reads lines of what a run has put out; unless end is true there is more from next_line on.", s.readOutput)
	reads(s, "search_output", "Finds lines in what a run has put out. Unless end is true there is more to search from next_line on.", s.searchOutput)
	reads(s, "forecast", "Says which jobs are due when, by their schedules, in the next hours: for what runs tonight. Fixed delays, child jobs, runs by hand and what the end of a pause makes up for are not foreseen.", s.forecast)
	reads(s, "get_statistics", "Gets how many runs succeeded, failed, run and were left out by day, and how many jobs fail or are late.", func(ctx context.Context, in daysWanted) (any, error) {
		q := make(url.Values)
		setNumber(q, "days", int64(in.Days))
		i, err := s.get(ctx, "/statistics", q)
		return bounded(i, maxText), err
	})
	reads(s, "get_usage", "Gets how many runs each group of executors had, failed and skipped, and how many seconds they took together, in some of the last 100 days. Time is of runs that took a second or more.", func(ctx context.Context, in usageWanted) (any, error) {
		q := make(url.Values)
		setText(q, "from", in.From)
		setText(q, "until", in.Until)
		i, err := s.get(ctx, "/statistics/usage", q)
		return bounded(i, maxText), err
	})
	reads(s, "get_health", "Gets whether the admin does its work, and what somebody should look at.", func(ctx context.Context, _ noInput) (any, error) {
		i, err := s.get(ctx, "/health", nil)
		return bounded(i, maxText), err
	})
}

// doers are the tools that change something.
func (s *assistant) doers() {
	changes(s, "run", "trigger_job", "Runs a job now, once. The answer has the numbers of the runs.", false, func(ctx context.Context, in triggerWanted) (any, error) {
		body := make(map[string]any)
		if in.Param != nil {
			body["parameter"] = *in.Param
		}
		if in.Planned != "" {
			body["planned"] = in.Planned
		}
		a := *s.api
		a.once = in.Once
		return posted(ctx, &a, jobPath(in.ID)+"/trigger", body)
	})
	changes(s, "run", "kill_run", "Ends a run that is under way.", true, func(ctx context.Context, in oneRun) (any, error) {
		return posted(ctx, s.api, runPath(in.ID)+"/kill", nil, runCells...)
	})
	changes(s, "schedule", "start_job", "Starts the schedule of a job: from then on it runs by itself.", true, func(ctx context.Context, in oneJob) (any, error) {
		return posted(ctx, s.api, jobPath(in.ID)+"/start", nil, jobCells...)
	})
	changes(s, "schedule", "stop_job", "Stops the schedule of a job: it runs no more by itself. Runs that are under way go on.", true, func(ctx context.Context, in oneJob) (any, error) {
		return posted(ctx, s.api, jobPath(in.ID)+"/stop", nil, jobCells...)
	})
}

func posted(ctx context.Context, a *api, path string, body any, fields ...string) (any, error) {
	raw, err := a.do(ctx, http.MethodPost, path, nil, body)
	if err != nil {
		return nil, err
	}
	i, err := thing(raw)
	if len(fields) > 0 {
		i = i.only(fields)
	}
	return bounded(i, maxText), err
}

func jobPath(id int64) string { return "/jobs/" + strconv.FormatInt(id, 10) }
func runPath(id int64) string { return "/runs/" + strconv.FormatInt(id, 10) }

func (p onPage) query() url.Values {
	q := url.Values{"limit": {strconv.Itoa(min(max(cmp.Or(p.Limit, 20), 1), maxItems))}}
	setText(q, "cursor", p.Cursor)
	return q
}

func setNumber(q url.Values, name string, n int64) {
	if n != 0 {
		q.Set(name, strconv.FormatInt(n, 10))
	}
}

func setText(q url.Values, name, text string) {
	if text != "" {
		q.Set(name, text)
	}
}

// lines are a part of a run's output.
type lines struct {
	From  int      `json:"from_line"`
	Lines []string `json:"lines"`
	Next  int      `json:"next_line"`
	End   bool     `json:"end"` // there is no more at the moment
	More  string   `json:"more,omitempty"`
}

// each calls do with every line of a run's output from one on, until it returns false, all was read, or so many bytes were. It returns the
// line after the last that was read, and whether there is no more.
func (a *api) each(ctx context.Context, id int64, from, most int, do func(n int, line []byte) bool) (next int, end bool, err error) {
	for read := 0; read < most; {
		if ctx.Err() != nil {
			return from, false, nil // the time is over: what was found is told
		}
		text, after, _, err := a.output(ctx, id, from)
		if err != nil {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) && read > 0 {
				return from, false, nil
			}
			return from, false, err
		}
		if len(text) == 0 || after <= from {
			return from, true, nil
		}
		read += len(text)
		for line := range bytes.Lines(text) {
			if from >= after {
				break // an executor that miscounts
			}
			if !do(from, bytes.TrimRight(line, "\r\n")) {
				return from, false, nil
			}
			from++
		}
		from = after
	}
	return from, false, nil
}

func (s *assistant) readOutput(ctx context.Context, in outputWanted) (any, error) {
	most := min(max(cmp.Or(in.Lines, 100), 1), maxLines)
	if in.End {
		return s.tail(ctx, in.ID, most, searchBytes)
	}
	out := lines{From: max(in.From, 1), Lines: []string{}}
	size := 0
	var err error
	out.Next, out.End, err = s.api.each(ctx, in.ID, out.From, searchBytes, func(_ int, line []byte) bool {
		text := shortLine(line)
		if size += len(text); len(out.Lines) == most || size > outputTold && len(out.Lines) > 0 {
			return false
		}
		out.Lines = append(out.Lines, text)
		return true
	})
	return out, err
}

// tail is the end of a run's output, as far as so many bytes go.
func (s *assistant) tail(ctx context.Context, id int64, most, bytes int) (lines, error) {
	ctx, cancel := context.WithTimeout(ctx, searchFor)
	defer cancel()
	var last []string
	next, end, err := s.api.each(ctx, id, 1, bytes, func(_ int, line []byte) bool {
		if last = append(last, shortLine(line)); len(last) >= 2*maxLines {
			last = slices.Clone(last[len(last)-most:])
		}
		return true
	})
	last = last[max(len(last)-most, 0):]
	size := 0
	for i := len(last) - 1; i >= 0; i-- {
		if size += len(last[i]); size > outputTold {
			last = last[i+1:]
			break
		}
	}
	out := lines{From: next - len(last), Lines: append([]string{}, last...), Next: next, End: end}
	if !end && err == nil {
		out.More = "The output is longer than what is read at once: these are not its last lines."
	}
	return out, err
}

// shortLine is a line of output as it is told.
func shortLine(line []byte) string {
	const most = 8 * lineLength // bytes that are looked at
	rest := len(line) - min(len(line), most)
	text := shorten(string(line[:len(line)-rest]), lineLength)
	if rest > 0 {
		text += fmt.Sprintf(" (and %d bytes)", rest)
	}
	return text
}

// match is a line that was searched for.
type match struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

type matches struct {
	Matches []match `json:"matches"`
	Next    int     `json:"next_line"`
	End     bool    `json:"end"` // all that there is at the moment was searched
}

func (s *assistant) searchOutput(ctx context.Context, in searchWanted) (any, error) {
	want := []byte(strings.ToLower(in.Text))
	if len(want) == 0 {
		return nil, errors.New("text: say what to search for; read_output reads everything")
	}
	ctx, cancel := context.WithTimeout(ctx, searchFor)
	defer cancel()
	out := matches{Matches: []match{}}
	var err error
	out.Next, out.End, err = s.api.each(ctx, in.ID, max(in.From, 1), searchBytes, func(n int, line []byte) bool {
		if !bytes.Contains(bytes.ToLower(line), want) {
			return true
		}
		if len(out.Matches) == maxMatches {
			return false
		}
		out.Matches = append(out.Matches, match{n, around(line, want)})
		return true
	})
	return out, err
}

// around is a line, or what of a long one stands about a text that it contains.
func around(line, want []byte) string {
	if len(line) <= lineLength {
		return shortLine(line)
	}
	// Small letters may be longer than capitals: the place is near enough.
	at := min(bytes.Index(bytes.ToLower(line), want), len(line))
	from, to := max(at-lineLength/4, 0), min(at+len(want)+lineLength/4, len(line))
	return "… " + shortLine(line[min(from, to):to]) + " …"
}

func (s *assistant) explainRun(ctx context.Context, in oneRun) (any, error) {
	run, err := s.get(ctx, runPath(in.ID), nil)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"run": bounded(run, maxText/4)}
	ending, err := s.tail(ctx, in.ID, 30, tailBytes)
	switch {
	case err != nil: // a run that no executor has, or one that is away
		out["output_unread"] = shorten(err.Error(), maxText)
	default:
		out["output_end"] = ending
	}
	return out, nil
}

// The causes for which a job does not run, as explain_job calls them.
const (
	causeStopped    = "stopped"     // its schedule is not started
	causePaused     = "paused"      // a pause holds it still
	causeNoSchedule = "no_schedule" // it has none
	causeNotYet     = "not_yet"     // its time has not begun
	causeOver       = "over"        // its time has ended
	causeNoTime     = "no_next_time"
	causeAlone      = "no_executor" // none of its group can be sent to
	causeLate       = "late"        // it is due and was not sent
	causeAdmin      = "admin"       // the admin that answers does not work
)

var causes = map[string]string{
	causeStopped: "The schedule is stopped: the job runs by hand alone until somebody starts it.", causePaused: "A pause holds its schedule still; paused says what is paused, until when, by whom and why.",
	causeNoSchedule: "The job has no schedule: it runs by hand, by programs, or after its parent.",
	causeNotYet:     "not_before is still to come.", causeOver: "not_after is over.", causeNoTime: "The schedule is started and has no next time.",
	causeAlone: "No executor of its group can be sent to: none is registered and alive, or all are out of rotation.", causeLate: "It is due and was not sent.",
	causeAdmin: "The admin that was asked does not schedule at the moment; get_health says why.",
}

type reason struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

func (s *assistant) explainJob(ctx context.Context, in oneJob) (any, error) {
	raw, header, err := s.api.call(ctx, http.MethodGet, jobPath(in.ID), nil, nil)
	if err != nil {
		return nil, err
	}
	job, err := thing(raw)
	if err != nil {
		return nil, err
	}
	now, err := http.ParseTime(header.Get("Date")) // the admin's clock
	if err != nil {
		now = time.Now()
	}
	group, err := job.number("group_id")
	if err != nil {
		return nil, err
	}
	path := "/groups/" + strconv.FormatInt(group, 10)
	of, err := s.get(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	addresses, err := s.page(ctx, path+"/addresses", nil)
	if err != nil {
		return nil, err
	}
	late, err := s.isLate(ctx, in.ID, job, now)
	if err != nil {
		return nil, err
	}
	health, err := s.get(ctx, "/health", nil)
	if err != nil {
		return nil, err
	}
	runs, err := s.page(ctx, "/runs", url.Values{"job_id": {strconv.FormatInt(in.ID, 10)}, "limit": {"10"}}, runCells...)
	if err != nil {
		return nil, err
	}
	out := map[string]any{
		"job": bounded(job.only(append([]string{"not_before", "not_after", "misfire", "block", "max_concurrent", "concurrency", "route", "parameter_form"}, jobCells...)), maxText), "executors": addresses.Items, "last_runs": runs.Items,
	}
	found := []reason{}
	for _, code := range whyNot(job, of, addresses.Items, late, health, now) {
		found = append(found, reason{code, causes[code]})
	}
	out["causes"] = found
	if next, err := s.get(ctx, jobPath(in.ID)+"/next", nil); err == nil { // refused for a schedule that is not understood
		out["next_times"] = next["times"]
		if held, _ := next["held"].([]any); len(held) > 0 {
			out["next_times_in_pauses"] = bounded(held, maxText)
		}
	} else {
		out["next_times_unknown"] = shorten(err.Error(), maxText)
	}
	return out, nil
}

// lateAfter is when what was not sent is late, as the admin counts.
const lateAfter = 10 * time.Second

// isLate says whether a job has been due for a while and nothing is made of it, or a run of it waits that should have been sent. The admin's
// list of late jobs is not asked, which tells of so many alone.
func (s *assistant) isLate(ctx context.Context, id int64, job item, now time.Time) (bool, error) {
	before := now.Add(-lateAfter)
	if due := job.time("next_due_at"); !due.IsZero() && due.Before(before) && job["paused"] == nil {
		return true, nil
	}
	// The newest first: those that wait for a later time are left out by until.
	waiting, err := s.page(ctx, "/runs", url.Values{"job_id": {strconv.FormatInt(id, 10)}, "state": {"waiting"}, "until": {before.UTC().Format(time.RFC3339)}, "limit": {"50"}}, "planned_at")
	return slices.ContainsFunc(waiting.Items, func(r item) bool {
		planned := r.time("planned_at")
		return !planned.IsZero() && planned.Before(before)
	}), err
}

// whyNot are the causes that hold for a job.
func whyNot(job, group item, addresses []item, late bool, health item, now time.Time) (found []string) {
	say := func(code string, holds bool) {
		if holds {
			found = append(found, code)
		}
	}
	started := job["state"] == "running"
	scheduled := job["schedule"] != "NONE"
	before, after := job.time("not_before"), job.time("not_after")
	say(causeNoSchedule, !scheduled)
	say(causeStopped, scheduled && !started)
	say(causePaused, job["paused"] != nil)
	say(causeNotYet, !before.IsZero() && now.Before(before))
	say(causeOver, !after.IsZero() && now.After(after))
	// A pause without an end, and a fixed delay while its run goes on, leave the next time open.
	say(causeNoTime, started && scheduled && job["paused"] == nil && job["schedule"] != "FIX_DELAY" && job["next_due_at"] == nil)
	// No executor is called for a flow: its steps are jobs of their own.
	say(causeAlone, job["kind"] != "FLOW" && !slices.ContainsFunc(addresses, func(a item) bool {
		return a["gone"] != true && a["disabled"] != true && a["too_old"] != true && (a["live"] == true || group["type"] == "manual")
	}))
	say(causeLate, late)
	say(causeAdmin, health["ready"] == false)
	return found
}

// time is a moment of an item; the zero one if it has none.
func (i item) time(name string) time.Time {
	text, _ := i[name].(string)
	at, _ := time.Parse(time.RFC3339, text)
	return at
}

// number is a whole number of an item.
func (i item) number(name string) (int64, error) {
	n, _ := i[name].(json.Number)
	id, err := n.Int64()
	if err != nil {
		return 0, fmt.Errorf("read what the admin said: %s is no number", name)
	}
	return id, nil
}

// foreseenJob is when a job is due within a span.
type foreseenJob struct {
	ID      int64    `json:"job_id"`
	Group   int64    `json:"group_id"`
	Name    string   `json:"description"`
	Count   int      `json:"count"`
	AtLeast bool     `json:"at_least,omitempty"`
	Times   []string `json:"times"`
	Held    int      `json:"times_in_pauses,omitempty"`
	first   time.Time
}

// foreseenJobs are those of a span.
type foreseenJobs struct {
	From    time.Time     `json:"from"`
	Until   time.Time     `json:"until"`
	Jobs    []foreseenJob `json:"jobs"`
	LeftOut int           `json:"jobs_left_out,omitempty"`
	Partial string        `json:"partial,omitempty"`
}

func (s *assistant) forecast(ctx context.Context, in forecastWanted) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, searchFor)
	defer cancel()
	now := time.Now()
	out := foreseenJobs{From: now, Until: now.Add(12 * time.Hour), Jobs: []foreseenJob{}}
	for _, at := range []struct {
		name, text string
		into       *time.Time
	}{{"from", in.From, &out.From}, {"until", in.Until, &out.Until}} {
		if at.text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, at.text)
		if err != nil {
			return nil, fmt.Errorf("%s: write a time such as 2026-12-31T23:30:00+08:00", at.name)
		}
		*at.into = t
	}
	if !out.Until.After(out.From) || out.Until.Sub(now) > foreseen {
		return nil, fmt.Errorf("until: it is after from, and at most %d hours from now", int(foreseen.Hours()))
	}
	// What falls into a pause is not due: behind the jobs that are, others are looked at for that.
	var jobs []item
	listed := make(map[int64]bool)
	for _, list := range []struct {
		query   url.Values
		partial string
	}{
		{url.Values{"show": {"due"}, "at": {out.From.Format(time.RFC3339)}, "until": {out.Until.Format(time.RFC3339)}},
			"More than %d jobs are due: only the newest were followed. Ask group by group."},
		{url.Values{"state": {"running"}},
			"More than %d jobs are started. All that are due are here; of the others, whose times fall into pauses, only some were looked at."},
	} {
		setNumber(list.query, "group_id", in.Group)
		items, err := s.api.list(ctx, "/jobs", list.query, maxFollowed+1)
		if err != nil {
			return nil, err
		}
		for _, raw := range items {
			job, err := thing(raw)
			if err != nil {
				return nil, err
			}
			id, err := job.number("id")
			if err != nil {
				return nil, err
			}
			if !listed[id] {
				listed[id] = true
				jobs = append(jobs, job)
			}
		}
		if len(jobs) > maxFollowed {
			jobs, out.Partial = jobs[:maxFollowed], fmt.Sprintf(list.partial, maxFollowed)
			break
		}
	}
	followed := make([]*foreseenJob, len(jobs))
	asking, asked := errgroup.WithContext(ctx)
	asking.SetLimit(askAtOnce)
	for n, job := range jobs {
		asking.Go(func() (err error) {
			followed[n], err = s.foresee(asked, job, out.From, out.Until)
			return err
		})
	}
	if err := asking.Wait(); err != nil {
		return nil, err
	}
	for _, f := range followed {
		if f != nil {
			out.Jobs = append(out.Jobs, *f)
		}
	}
	slices.SortStableFunc(out.Jobs, func(x, y foreseenJob) int { return x.first.Compare(y.first) })
	if n := len(out.Jobs) - 2*maxItems; n > 0 {
		out.Jobs, out.LeftOut = out.Jobs[:2*maxItems], n
	}
	return out, nil
}

// foresee is when a job is due within a span; nil if it is not.
func (s *assistant) foresee(ctx context.Context, job item, from, until time.Time) (*foreseenJob, error) {
	f := &foreseenJob{Name: shorten(job.text("description"), maxCell), Times: []string{}}
	var err error
	if f.ID, err = job.number("id"); err != nil {
		return nil, err
	}
	if f.Group, err = job.number("group_id"); err != nil {
		return nil, err
	}
	raw, err := s.api.do(ctx, http.MethodGet, jobPath(f.ID)+"/next", url.Values{"count": {strconv.Itoa(maxTimes)}}, nil)
	if refused, is := errors.AsType[*RefusedError](err); is && refused.Status < 500 && refused.Status != http.StatusTooManyRequests {
		return nil, nil // deleted or changed since it was listed
	} else if err != nil {
		return nil, err
	}
	var next struct {
		Times []time.Time `json:"times"`
		Held  []struct {
			At time.Time `json:"at"`
		} `json:"held"`
	}
	if err := json.Unmarshal(raw, &next); err != nil {
		return nil, fmt.Errorf("read what the admin said: %w", err)
	}
	held := make(map[int64]bool)
	for _, h := range next.Held {
		held[h.At.UnixNano()] = true
	}
	for _, at := range next.Times {
		if at.Before(from) || at.After(until) {
			continue
		}
		if f.first.IsZero() {
			f.first = at
		}
		if held[at.UnixNano()] {
			f.Held++
			continue
		}
		if f.Count++; len(f.Times) < timesTold {
			f.Times = append(f.Times, at.Format(time.RFC3339))
		}
	}
	f.AtLeast = len(next.Times) == maxTimes && next.Times[maxTimes-1].Before(until)
	if f.Count+f.Held == 0 && !f.AtLeast {
		return nil, nil
	}
	if f.first.IsZero() {
		f.first = next.Times[maxTimes-1]
	}
	return f, nil
}
