package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// mcpItems is how many things a tool lists at most, mcpBytes how much text it returns: what an assistant reads is dear.
	mcpItems = 50
	mcpBytes = 48 << 10
	// mcpLines is how many lines of output a tool returns at most, mcpLooked how many it looks through for a text, mcpSearch for how long.
	mcpLines  = 300
	mcpLooked = 200_000
	mcpSearch = 20 * time.Second
	// mcpStarted is how many started jobs are looked at for what is due, mcpDueJobs how many of them are asked for their times, mcpTimes how
	// many times of each are named, mostTimes how many the API gives.
	mcpStarted = 2000
	mcpDueJobs = 100
	mcpTimes   = 10
	mostTimes  = 100
)

// tool is something that an assistant can do, and the right it takes.
type tool struct {
	right string
	add   func(*mcp.Server, *api)
}

// reads makes a tool that changes nothing.
func reads[In any](name, title, description string, do func(context.Context, *api, In) (any, error)) tool {
	return newTool("view", name, description, &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true, OpenWorldHint: new(false)}, do)
}

// changes makes a tool that does something for real.
func changes[In any](right, name, title, description string, do func(context.Context, *api, In) (any, error)) tool {
	return newTool(right, name, description, &mcp.ToolAnnotations{Title: title, DestructiveHint: new(true), OpenWorldHint: new(true)}, do)
}

// newTool makes a tool whose result is JSON. What the admin refuses is a result too, which says why: the assistant may do better then.
func newTool[In any](right, name, description string, hints *mcp.ToolAnnotations, do func(context.Context, *api, In) (any, error)) tool {
	return tool{right, func(server *mcp.Server, a *api) {
		mcp.AddTool(server, &mcp.Tool{Name: name, Description: description, Annotations: hints}, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			result, err := do(ctx, a, in)
			if err != nil {
				return nil, nil, err
			}
			text, err := json.Marshal(result)
			if err != nil {
				return nil, nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: cutText(string(text), mcpBytes)}}}, nil, nil
		})
	}}
}

// cutText bounds a text, and says that it did.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + fmt.Sprintf(" … (%d bytes more; ask for less)", len(text)-most)
}

type (
	nothing struct{}
	byJob   struct {
		Job int64 `json:"job_id" jsonschema:"the number of the job"`
	}
	byRun struct {
		Run int64 `json:"run_id" jsonschema:"the number of the run"`
	}
	findJobs struct {
		Text  string `json:"text,omitempty" jsonschema:"only jobs with this in their description, or with this number"`
		Group int64  `json:"group_id,omitempty" jsonschema:"only jobs of this group of executors"`
		State string `json:"state,omitempty" jsonschema:"only jobs whose schedule is running, or is stopped: running or stopped"`
		Tag   string `json:"tag,omitempty" jsonschema:"only jobs with this tag"`
		Show  string `json:"show,omitempty" jsonschema:"only jobs that fail, or that are late: failing or late"`
	}
	findRuns struct {
		Job    int64  `json:"job_id,omitempty" jsonschema:"only runs of this job"`
		Group  int64  `json:"group_id,omitempty" jsonschema:"only runs of jobs of this group"`
		Result string `json:"result,omitempty" jsonschema:"only runs that ended so: success, failed, open (not ended) or skipped"`
		Text   string `json:"text,omitempty" jsonschema:"only runs with this in their address, parameter or message"`
		Since  string `json:"since,omitempty" jsonschema:"only runs triggered at this time or later, RFC 3339"`
		Until  string `json:"until,omitempty" jsonschema:"only runs triggered at this time or before, RFC 3339"`
	}
	readOutput struct {
		Run    int64  `json:"run_id" jsonschema:"the number of the run"`
		From   int    `json:"from_line,omitempty" jsonschema:"the first line to return or to look at, from 1 on"`
		Search string `json:"search,omitempty" jsonschema:"return only lines with this text, in whatever case, each with its number"`
	}
	dueBetween struct {
		From  time.Time `json:"from" jsonschema:"the beginning of the time, RFC 3339"`
		Until time.Time `json:"until" jsonschema:"its end, at most 48 hours later"`
		Group int64     `json:"group_id,omitempty" jsonschema:"only jobs of this group"`
	}
	days struct {
		Days int `json:"days,omitempty" jsonschema:"how many days, today included; 7 without it"`
	}
	triggerJob struct {
		Job       int64   `json:"job_id" jsonschema:"the number of the job"`
		Parameter *string `json:"parameter,omitempty" jsonschema:"instead of the job's own parameter"`
	}
)

// tools are all there are.
func tools() []tool {
	return []tool{
		reads("find_jobs", "Find jobs", "List jobs: description, schedule, state, when they are due next. At most 50.", func(ctx context.Context, a *api, in findJobs) (any, error) {
			return a.found(ctx, "/jobs", filled("text", in.Text, "group_id", number(in.Group), "state", in.State, "tag", in.Tag, "show", in.Show))
		}),
		reads("get_job", "Look at a job", "All that is set of a job, and when it is due next.", func(ctx context.Context, a *api, in byJob) (any, error) {
			return a.parts(ctx, "job", fmt.Sprintf("/jobs/%d", in.Job), "next", fmt.Sprintf("/jobs/%d/next", in.Job))
		}),
		reads("find_runs", "Find runs", "List runs, the newest first: state, times, executor, message. At most 50.", func(ctx context.Context, a *api, in findRuns) (any, error) {
			return a.found(ctx, "/runs", filled("job_id", number(in.Job), "group_id", number(in.Group), "result", in.Result, "text", in.Text, "since", in.Since, "until", in.Until))
		}),
		reads("explain_run", "Why a run ended so", "What happened to a run, in order, and what its executor said. For what the job itself wrote, see read_output.", func(ctx context.Context, a *api, in byRun) (any, error) {
			return a.do(ctx, http.MethodGet, fmt.Sprintf("/runs/%d", in.Run), nil, nil)
		}),
		reads("why_not_run", "Why a job did not run", "What decides whether a job runs: its schedule and state, its newest runs with those left out on purpose, the executors of its group, and what keeps the admin from its work.", whyNotRun),
		reads("read_output", "Read a run's output", "Lines of what a run has put out, from a line on, or those with a text. At most 300.", outputLines),
		reads("due_between", "What runs in a time", "Which started jobs are due between two moments, such as tonight, and when.", whatIsDue),
		reads("statistics", "Statistics", "How many fires succeeded and failed each day, how many jobs fail, are late or take long.", func(ctx context.Context, a *api, in days) (any, error) {
			if in.Days == 0 {
				in.Days = 7
			}
			return a.do(ctx, http.MethodGet, "/statistics", filled("days", number(int64(in.Days))), nil)
		}),
		reads("health", "Health", "What keeps the admin from its work, or somebody should look at.", func(ctx context.Context, a *api, _ nothing) (any, error) {
			return a.do(ctx, http.MethodGet, "/health", nil, nil)
		}),
		changes("run", "trigger_job", "Run a job now", "Run a job now, for real.", func(ctx context.Context, a *api, in triggerJob) (any, error) {
			return a.do(ctx, http.MethodPost, fmt.Sprintf("/jobs/%d/trigger", in.Job), nil, map[string]any{"parameter": in.Parameter})
		}),
		changes("run", "rerun", "Run again", "Run the job of a run again, with the run's parameter.", func(ctx context.Context, a *api, in byRun) (any, error) {
			return a.do(ctx, http.MethodPost, fmt.Sprintf("/runs/%d/rerun", in.Run), nil, nil)
		}),
		changes("run", "kill_run", "End a run", "End a run that is under way.", func(ctx context.Context, a *api, in byRun) (any, error) {
			return a.do(ctx, http.MethodPost, fmt.Sprintf("/runs/%d/kill", in.Run), nil, nil)
		}),
		changes("schedule", "start_job", "Start a schedule", "Start the schedule of a job.", func(ctx context.Context, a *api, in byJob) (any, error) {
			return a.do(ctx, http.MethodPost, fmt.Sprintf("/jobs/%d/start", in.Job), nil, nil)
		}),
		changes("schedule", "stop_job", "Stop a schedule", "Stop the schedule of a job: it does not run until it is started again.", func(ctx context.Context, a *api, in byJob) (any, error) {
			return a.do(ctx, http.MethodPost, fmt.Sprintf("/jobs/%d/stop", in.Job), nil, nil)
		}),
	}
}

// filled is a query of names and values, without those that are empty.
func filled(namesAndValues ...string) url.Values {
	q := make(url.Values)
	for i := 0; i < len(namesAndValues); i += 2 {
		if namesAndValues[i+1] != "" {
			q.Set(namesAndValues[i], namesAndValues[i+1])
		}
	}
	return q
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// found is a page of a list, and whether there is more.
func (a *api) found(ctx context.Context, path string, query url.Values) (any, error) {
	query.Set("limit", strconv.Itoa(mcpItems))
	raw, err := a.do(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return nil, err
	}
	var page struct {
		Items []json.RawMessage `json:"items"`
		Next  string            `json:"next"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, err
	}
	return map[string]any{"items": page.Items, "more": page.Next != ""}, nil
}

// parts are several answers under names.
func (a *api) parts(ctx context.Context, namesAndPaths ...string) (map[string]any, error) {
	out := make(map[string]any)
	for i := 0; i < len(namesAndPaths); i += 2 {
		path, query, _ := strings.Cut(namesAndPaths[i+1], "?")
		values, err := url.ParseQuery(query)
		if err != nil {
			return nil, err
		}
		raw, err := a.do(ctx, http.MethodGet, path, values, nil)
		if err != nil {
			return nil, err
		}
		out[namesAndPaths[i]] = raw
	}
	return out, nil
}

func whyNotRun(ctx context.Context, a *api, in byJob) (any, error) {
	raw, err := a.do(ctx, http.MethodGet, fmt.Sprintf("/jobs/%d", in.Job), nil, nil)
	if err != nil {
		return nil, err
	}
	var job struct {
		Group int64 `json:"group_id"`
	}
	if err := json.Unmarshal(raw, &job); err != nil {
		return nil, err
	}
	out, err := a.parts(ctx, "next", fmt.Sprintf("/jobs/%d/next", in.Job), "newest_runs", fmt.Sprintf("/runs?job_id=%d&limit=10", in.Job),
		"executors", fmt.Sprintf("/groups/%d/addresses", job.Group), "health", "/health")
	if err == nil {
		out["job"] = raw
	}
	return out, err
}

// outputLine is a line of a run's output.
type outputLine struct {
	Number int    `json:"line"`
	Text   string `json:"text"`
}

// lineBytes bounds one line.
const lineBytes = 2000

func outputLines(ctx context.Context, a *api, in readOutput) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, mcpSearch)
	defer cancel()
	first := max(1, in.From)
	lines, total := []outputLine{}, 0
	wanted := strings.ToLower(in.Search)
	for from := first; ; {
		text, next, end, err := a.output(ctx, in.Run, from)
		if err != nil && (ctx.Err() == nil || from == first) {
			return nil, err
		}
		if err != nil {
			return map[string]any{"lines": lines, "next_line": from, "complete": false}, nil
		}
		at := from
		for line := range bytes.Lines(text) {
			line := strings.TrimRight(string(line), "\r\n")
			if wanted == "" || strings.Contains(strings.ToLower(line), wanted) {
				line = cutText(line, lineBytes)
				lines, total = append(lines, outputLine{at, line}), total+len(line)
			}
			at++
			if len(lines) >= mcpLines || total >= mcpBytes/2 || at-first >= mcpLooked {
				return map[string]any{"lines": lines, "next_line": at, "complete": false}, nil
			}
		}
		if end || len(text) == 0 {
			return map[string]any{"lines": lines, "next_line": next, "complete": end}, nil
		}
		from = next
	}
}

// longestDue is how far apart the ends of the time may be.
const longestDue = 48 * time.Hour

func whatIsDue(ctx context.Context, a *api, in dueBetween) (any, error) {
	if !in.Until.After(in.From) || in.Until.Sub(in.From) > longestDue {
		return nil, fmt.Errorf("until must be later than from, by at most %s", longestDue)
	}
	items, err := a.list(ctx, "/jobs", filled("state", "running", "group_id", number(in.Group)), mcpStarted)
	if err != nil {
		return nil, err
	}
	list, asked := []dueJob{}, 0
	for _, raw := range items {
		var job struct {
			ID          int64      `json:"id"`
			Description string     `json:"description"`
			Next        *time.Time `json:"next_due_at"`
		}
		if err := json.Unmarshal(raw, &job); err != nil {
			return nil, err
		}
		if job.Next == nil || job.Next.After(in.Until) {
			continue
		}
		if asked++; asked > mcpDueJobs {
			break
		}
		d := dueJob{Job: job.ID, Description: job.Description}
		if err := d.ask(ctx, a, in); err != nil {
			return nil, err
		}
		if len(d.Times) > 0 || d.More {
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list, func(x, y dueJob) int {
		if len(x.Times) == 0 || len(y.Times) == 0 {
			return len(y.Times) - len(x.Times)
		}
		return x.Times[0].Compare(y.Times[0])
	})
	return map[string]any{"jobs": list, "complete": asked <= mcpDueJobs && len(items) < mcpStarted}, nil
}

// dueJob is a job with the times at which it is due.
type dueJob struct {
	Job         int64       `json:"job_id"`
	Description string      `json:"description"`
	Times       []time.Time `json:"times"`
	More        bool        `json:"more"` // than are named here
}

// ask finds the first of a job's times between two moments.
func (d *dueJob) ask(ctx context.Context, a *api, between dueBetween) error {
	raw, err := a.do(ctx, http.MethodGet, fmt.Sprintf("/jobs/%d/next", d.Job), url.Values{"count": {strconv.Itoa(mostTimes)}}, nil)
	if err != nil {
		return err
	}
	var next struct {
		Times []time.Time `json:"times"`
	}
	if err := json.Unmarshal(raw, &next); err != nil {
		return err
	}
	for _, at := range next.Times {
		switch {
		case at.Before(between.From) || at.After(between.Until):
		case len(d.Times) == mcpTimes:
			d.More = true
		default:
			d.Times = append(d.Times, at)
		}
	}
	if n := len(next.Times); n == mostTimes && !next.Times[n-1].After(between.Until) {
		d.More = true
	}
	return nil
}
