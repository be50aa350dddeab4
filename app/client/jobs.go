package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// JobsCmd looks after jobs.
type JobsCmd struct {
	List    jobsList    `cmd:"" default:"withargs" help:"List jobs."`
	Show    jobsShow    `cmd:"" help:"Show a job."`
	Start   jobsStart   `cmd:"" help:"Start the schedules of jobs."`
	Stop    jobsStop    `cmd:"" help:"Stop the schedules of jobs; runs that are under way go on."`
	Delete  jobsDelete  `cmd:"" help:"Delete jobs with their runs."`
	Release jobsRelease `cmd:"" help:"Keep jobs in no files any more: they may be changed by hand, and belong to another source."`
	Export  jobsExport  `cmd:"" help:"Print jobs as a file, for apply."`
	Change  jobsChange  `cmd:"" help:"Show, approve and reject the change of a job's script that waits for a second person."`
}

// schedule is when a job is due, in one cell.
func schedule(i item) string {
	switch kind := i.text("schedule"); kind {
	case "CRON":
		return i.text("cron")
	case "FIX_RATE":
		return "every " + i.text("every_seconds") + " s"
	case "FIX_DELAY":
		return i.text("every_seconds") + " s after each run"
	case "ONCE":
		return "at " + i.text("at")
	default:
		return "-"
	}
}

// standing is how a job stands for its deadline, in one cell.
func standing(i item) string {
	deadline, ok := i["deadline"].(map[string]any)
	if !ok {
		return "-"
	}
	d := item(deadline)
	state := d.text("state")
	if tight, _ := deadline["too_tight"].(bool); tight {
		state = "too tight"
	}
	if by := d.text("by"); by != "-" {
		state += " for " + by
	}
	return state
}

var jobColumns = jobColumnsWith(nil)

// jobColumnsWith shows a group by its app name, where that is among the names, by number.
func jobColumnsWith(groups map[string]string) []column {
	group := func(i item) string { return cmp.Or(groups[i.text("group_id")], i.text("group_id")) }
	return []column{
		field("ID", "id"), field("STATE", "state"), field("JOB", "description"), {title: "SCHEDULE", value: schedule}, field("NEXT", "next_due_at"),
		wideField("LAST", "last_due_at"), wideField("ZONE", "time_zone"), {title: "GROUP", value: group, wide: true}, wideField("KIND", "kind"), wideField("HANDLER", "handler"), {title: "DEADLINE", value: standing, wide: true}, wideField("AUTHOR", "author"), wideField("TAGS", "tags"),
	}
}

// jobDetails are shown of one job beside what lists show.
var jobDetails = []column{
	field("PARAMETER", "parameter"), field("ROUTE", "route"), field("BLOCK", "block"), {title: "TIMEOUT", value: seconds("timeout_seconds")}, {title: "RETRIES", value: retries}, field("MISFIRE", "misfire"),
	field("CALENDAR", "calendar"), field("RUNBOOK", "runbook"), {title: "KEPT IN", value: keptIn},
}

// seconds is a number of them; a dash for none.
func seconds(name string) func(i item) string {
	return func(i item) string {
		if text := i.text(name); text != "0" && text != "-" {
			return text + " s"
		}
		return "-"
	}
}

// retries are how many a job has, and how long they wait.
func retries(i item) string {
	if wait := i.text("retry_backoff"); wait != "-" {
		return i.text("retries") + " after " + wait
	}
	return i.text("retries")
}

// keptIn names the files that keep a job.
func keptIn(i item) string {
	if kept, ok := i["kept_in"].(map[string]any); ok {
		return strings.TrimSuffix(item(kept).text("source")+" at "+item(kept).text("revision"), " at -")
	}
	return "-"
}

// jobFilter is the console's.
type jobFilter struct {
	Group   groupRef `placeholder:"GROUP" complete:"groups" help:"Only jobs of this group of executors: its number, or its app name."`
	State   string   `enum:"running,stopped,paused,review,any" default:"any" help:"running, stopped, paused (started, and held still by a pause now), review (a change of its script waits for a second person) or any."`
	Text    string   `help:"Only jobs with this in their description, or with this number."`
	Handler string   `help:"Only jobs with this in the name of their handler."`
	Author  string   `help:"Only jobs with this in the name of their owner (author)."`
	Tag     string   `help:"Only jobs with this tag."`
	Show    string   `enum:"failing,late,all" default:"all" help:"failing, late or all."`
}

func (f jobFilter) query() url.Values {
	q := make(url.Values)
	set := func(name, value, none string) {
		if value != none {
			q.Set(name, value)
		}
	}
	set("state", f.State, "any")
	set("text", f.Text, "")
	set("handler", f.Handler, "")
	set("author", f.Author, "")
	set("tag", f.Tag, "")
	set("show", f.Show, "all")
	return q
}

type jobsList struct {
	Target
	jobFilter
	Sort  string `enum:"newest,name,-name,next,-next,last,-last" default:"newest" help:"By newest, name, next (time) or last (run); --sort=-name, -next and -last from the other end."`
	Limit limit  `default:"100" help:"How many at most; 0 for all."`
}

func (c jobsList) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	q := c.query()
	if err := c.Group.narrow(ctx, a, q); err != nil {
		return err
	}
	if c.Sort != "newest" {
		q.Set("sort", c.Sort)
	}
	columns := jobColumns
	if c.Output == "wide" {
		names, err := groupNames(ctx, a)
		if err != nil {
			return err
		}
		columns = jobColumnsWith(names)
	}
	return c.get(ctx, s, "/jobs", q, int(c.Limit), columns)
}

// jobRef is what commands take for a job: its number, or its whole description.
type jobRef string

// find is the job that is meant.
func (r jobRef) find(ctx context.Context, a *api) (id int64, err error) {
	if id, err := strconv.ParseInt(string(r), 10, 64); err == nil {
		_, err := a.do(ctx, http.MethodGet, "/jobs/"+strconv.FormatInt(id, 10), nil, nil)
		return id, err
	}
	items, err := a.list(ctx, "/jobs", url.Values{"description": {string(r)}}, 0)
	if err != nil {
		return 0, err
	}
	var ids []string
	for _, i := range items {
		var job struct {
			ID   int64  `json:"id"`
			Name string `json:"description"`
		}
		if err := json.Unmarshal(i, &job); err != nil {
			return 0, fmt.Errorf("read what the admin said: %w", err)
		}
		if job.Name == string(r) {
			id = job.ID
			ids = append(ids, strconv.FormatInt(id, 10))
		}
	}
	switch len(ids) {
	case 0:
		return 0, fmt.Errorf("there is no job %q; punctual jobs --text finds parts of names", r)
	case 1:
		return id, nil
	}
	return 0, fmt.Errorf("several jobs are called %q: name one by its number, %s", r, strings.Join(ids, " or "))
}

type jobsShow struct {
	Target
	Job jobRef `arg:"" complete:"jobs" help:"Its number, or its whole description."`
}

func (c jobsShow) Run(ctx context.Context, s Streams) error {
	a, id, err := c.find(ctx, c.Job)
	if err != nil {
		return err
	}
	columns := jobColumns
	if c.Output == "table" || c.Output == "wide" {
		names, err := groupNames(ctx, a)
		if err != nil {
			return err
		}
		columns = append(jobColumnsWith(names), jobDetails...)
	}
	return c.show(ctx, s, fmt.Sprintf("/jobs/%d", id), columns) // lists leave some of it out
}

// jobsNamed are jobs to which the same is done.
type jobsNamed struct {
	Target
	Jobs []jobRef `arg:"" name:"job" complete:"jobs" help:"Numbers, or whole descriptions."`
}

// each does a deed to the jobs. One that is refused keeps no other from it; the errors come together.
func (c jobsNamed) each(ctx context.Context, s Streams, said string, do func(a *api, id int64) error) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	var errs []error
	for _, j := range c.Jobs {
		id, err := j.find(ctx, a)
		if err == nil {
			err = do(a, id)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", j, err))
			continue
		}
		fmt.Fprintf(s.Err, "%s %s\n", j, said)
	}
	return errors.Join(errs...)
}

func (c jobsNamed) post(ctx context.Context, s Streams, verb, said string) error {
	return c.each(ctx, s, said, func(a *api, id int64) error {
		_, err := a.do(ctx, http.MethodPost, fmt.Sprintf("/jobs/%d/%s", id, verb), nil, nil)
		return err
	})
}

type jobsStart struct{ jobsNamed }

func (c jobsStart) Run(ctx context.Context, s Streams) error {
	return c.post(ctx, s, "start", "started")
}

type jobsStop struct{ jobsNamed }

func (c jobsStop) Run(ctx context.Context, s Streams) error { return c.post(ctx, s, "stop", "stopped") }

type jobsRelease struct{ jobsNamed }

func (c jobsRelease) Run(ctx context.Context, s Streams) error {
	return c.post(ctx, s, "release", "released")
}

type jobsDelete struct {
	jobsNamed
	DryRun bool `help:"Only say what would be deleted."`
}

func (c jobsDelete) Run(ctx context.Context, s Streams) error {
	said, query := "deleted", url.Values{}
	if c.DryRun {
		said = "would be deleted"
		query.Set("dry_run", "true")
	}
	return c.each(ctx, s, said, func(a *api, id int64) error {
		var lost lostUses
		if err := a.ask(ctx, &lost, http.MethodDelete, fmt.Sprintf("/jobs/%d", id), query, nil); err != nil {
			return err
		}
		for _, use := range lost.said() {
			fmt.Fprintf(s.Err, "%d: %s\n", id, use)
		}
		return nil
	})
}

// RunCmd runs a job now.
type RunCmd struct {
	Target
	waiting
	Job     jobRef    `arg:"" complete:"jobs" help:"Its number, or its whole description."`
	Param   *string   `help:"The parameter of this run; without it the job's."`
	Planned time.Time `placeholder:"TIME" help:"The time that the run is for, as in 2026-12-31T23:30:00+08:00; without it, now. What the parameter says of planned follows it."`
	Address []string  `placeholder:"URL" help:"Run it at this address of the group; may be repeated. Without it the job's route decides."`
}

func (c RunCmd) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	id, err := c.Job.find(ctx, a)
	switch {
	case isAway(err):
		return unanswered(err)
	case err != nil:
		return &ExitError{codeRefused, err}
	}
	body := map[string]any{}
	if c.Param != nil {
		body["parameter"] = *c.Param
	}
	if len(c.Address) > 0 {
		body["addresses"] = c.Address
	}
	if !c.Planned.IsZero() {
		body["planned"] = c.Planned.Format(time.RFC3339)
	}
	return c.trigger(ctx, a, s, c.Output, fmt.Sprintf("/jobs/%d/trigger", id), body)
}
