package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// PausesCmd holds schedules still for a time.
type PausesCmd struct {
	List   pausesList   `cmd:"" default:"withargs" help:"List pauses, the newest first."`
	Show   pausesShow   `cmd:"" help:"Show a pause."`
	Create pausesCreate `cmd:"" help:"Pause a job, a group, a tag or everything, now or from a moment on."`
	End    pausesEnd    `cmd:"" help:"End pauses now, or take back planned ones."`
}

var pauseColumns = []column{
	field("ID", "id"), field("STATE", "state"), field("SCOPE", "scope"), {title: "OF", value: pauseTarget}, field("FROM", "from"), field("UNTIL", "until"), field("MISSED", "strategy"), field("REASON", "reason"),
	wideField("BY", "made_by"), wideField("WINDOW ENDS", "window_ends_at"), wideField("NEXT WINDOW", "next_window_at"), wideField("CRON", "cron"), wideField("SECONDS", "length_seconds"), wideField("ENDED BY", "ended_by"),
}

// pauseTarget is what a pause is about, in a word.
func pauseTarget(i item) string {
	switch i["scope"] {
	case "tag":
		return i.text("tag")
	case "all":
		return "-"
	}
	return i.text("target")
}

type pausesList struct {
	Target
	State string `enum:"active,planned,between,over,any" default:"any" help:"active, planned, between (windows), over or any."`
	Limit limit  `default:"100" help:"How many at most; 0 for all."`
}

func (c pausesList) Run(ctx context.Context, s Streams) error {
	query := make(url.Values)
	if c.State != "any" {
		query.Set("state", c.State)
	}
	return c.get(ctx, s, "/pauses", query, int(c.Limit), pauseColumns)
}

type pausesShow struct {
	Target
	ID int64 `arg:"" help:"Its number."`
}

func (c pausesShow) Run(ctx context.Context, s Streams) error {
	return c.show(ctx, s, fmt.Sprintf("/pauses/%d", c.ID), pauseColumns)
}

type pausesCreate struct {
	Target
	Job      jobRef        `xor:"scope" required:"" placeholder:"JOB" complete:"jobs" help:"Pause this job: its number, or its whole description."`
	Group    groupRef      `xor:"scope" required:"" placeholder:"GROUP" complete:"groups" help:"Pause all jobs of this group of executors: its number, or its app name."`
	Tag      string        `xor:"scope" required:"" help:"Pause all jobs with this tag."`
	All      bool          `xor:"scope" required:"" help:"Pause everything."`
	Reason   string        `required:"" help:"Why."`
	From     time.Time     `placeholder:"TIME" help:"When it begins, as in 2026-12-31T23:30:00+08:00; default now."`
	Until    time.Time     `xor:"end" placeholder:"TIME" help:"When it ends; default when somebody ends it."`
	For      time.Duration `xor:"end" placeholder:"2h" help:"How long it is, in place of --until."`
	Strategy string        `enum:"skip,once,all" default:"skip" help:"What becomes of what falls in: skip, once (one run at the end) or all (each has its run at the end)."`
	Cron     string        `help:"When windows begin, of a pause that is repeated."`
	Length   time.Duration `placeholder:"2h" help:"How long a window is."`
	Zone     string        `placeholder:"ZONE" help:"The zone of --cron; default that of the installation."`
}

func (c pausesCreate) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	job := int64(0)
	if c.Job != "" {
		if job, err = c.Job.find(ctx, a); err != nil {
			return err
		}
	}
	group, err := c.Group.find(ctx, a)
	if err != nil {
		return err
	}
	raw, err := a.do(ctx, http.MethodPost, "/pauses", nil, c.body(job, group, time.Now()))
	if err != nil {
		return err
	}
	return (printer{s.Out, c.Output}).one(raw, pauseColumns)
}

// body is what the admin is asked for.
func (c pausesCreate) body(job, group int64, now time.Time) map[string]any {
	body := map[string]any{"reason": c.Reason, "strategy": c.Strategy}
	switch {
	case job != 0:
		body["scope"], body["target"] = "job", job
	case group != 0:
		body["scope"], body["target"] = "group", group
	case c.Tag != "":
		body["scope"], body["tag"] = "tag", c.Tag
	default:
		body["scope"] = "all"
	}
	until := c.Until
	if c.For != 0 { // what ends before it begins, the admin refuses
		if until = now.Add(c.For); !c.From.IsZero() {
			until = c.From.Add(c.For)
		}
	}
	if !c.From.IsZero() {
		body["from"] = c.From
	}
	if !until.IsZero() {
		body["until"] = until
	}
	if c.Cron != "" {
		body["cron"] = c.Cron
	}
	if c.Length != 0 {
		body["length_seconds"] = int64(c.Length / time.Second)
	}
	if c.Zone != "" {
		body["time_zone"] = c.Zone
	}
	return body
}

type pausesEnd struct {
	Target
	IDs []int64 `arg:"" name:"id" help:"The numbers of the pauses."`
}

func (c pausesEnd) Run(ctx context.Context, s Streams) error {
	return c.each(ctx, s, c.IDs, "pause", http.MethodPost, "/pauses/%d/end", nil, "ended")
}
