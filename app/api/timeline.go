package api

import (
	"context"
	"net/http"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/scheduler/event"
)

// timelineQuery is the filter of the console's timeline.
type timelineQuery struct {
	From  time.Time `query:"from" doc:"When the time begins; without it an hour before its end."`
	Until time.Time `query:"until" doc:"When it ends: up to 14 days later, and after now where what is due is wanted; without it now."`
	By    string    `query:"by" enum:"jobs,executors" default:"jobs" doc:"What the rows are."`
	Group int64     `query:"group_id" minimum:"1" doc:"Only jobs of this group."`
	Job   int64     `query:"job_id" minimum:"1" doc:"Only this job."`
	Tag   string    `query:"tag" maxLength:"255" doc:"Only jobs with this tag."`
	Text  string    `query:"text" maxLength:"255" doc:"Only jobs with this in their description, or with this number."`
	Step  int       `query:"step_seconds" minimum:"1" maximum:"3600" default:"60" doc:"What is due is told by steps of so many seconds, which divide an hour."`
}

// runsInTime are runs against time.
type runsInTime struct {
	Rows []timelineRow `json:"rows" doc:"Jobs by name, or executors by address. Without a job, a tag or a text those of jobs that ran lately or are due soon."`
	More bool          `json:"more" doc:"There are more jobs or executors than rows."`
}

// timelineRow is a job or an executor.
type timelineRow struct {
	Job     int64      `json:"job_id" doc:"0 in rows of executors."`
	Group   int64      `json:"group_id" doc:"0 in rows of executors."`
	Name    string     `json:"name" doc:"Of the job; empty in rows of executors."`
	Address string     `json:"address" doc:"Of the executor; empty in rows of jobs."`
	Since   *time.Time `json:"complete_from" doc:"Runs planned before this moment are left out, because there are too many; null: none is."`
	Runs    []run      `json:"runs" doc:"Those that were planned or took place in the time, the oldest first."`
	Due     []dueStep  `json:"due" doc:"What is to come, by calendars and pauses."`
	DueTo   *time.Time `json:"due_complete_until" doc:"From this moment on more is due than is said; null: all is."`
}

// dueStep is what is due in a step of time.
type dueStep struct {
	From time.Time `json:"from"`
	Runs int       `json:"runs"`
}

func (a *API) timeline() {
	add(a, op{method: http.MethodGet, path: "/timeline", id: "getTimeline", tag: "runs", also: []int{http.StatusNotFound}, summary: "Get what ran when, and what is due, by jobs or executors",
		text: "What is bounded says so: up to 20 rows, and of each the newest runs. GET /runs has all of them."},
		func(ctx context.Context, p auth.Principal, in *timelineQuery) (*struct{ Body runsInTime }, error) {
			if in.Until.IsZero() {
				in.Until = a.Now()
			}
			if in.From.IsZero() {
				in.From = in.Until.Add(-time.Hour)
			}
			list, err := a.Manage.Timelines.Look(ctx, p, manage.TimelineFilter{
				From: in.From, Until: in.Until, Executors: in.By == "executors", Group: in.Group, Job: in.Job, Tag: in.Tag, Text: in.Text, Step: wholeStep(in.Step),
			})
			if err != nil {
				return nil, err
			}
			out := runsInTime{Rows: []timelineRow{}, More: list.More}
			teller := a.teller(requestOf(ctx))
			for i := range list.Rows {
				row, err := a.timelineRow(ctx, p, teller, &list.Rows[i])
				if err != nil {
					return nil, err
				}
				out.Rows = append(out.Rows, row)
			}
			return &struct{ Body runsInTime }{out}, nil
		})
}

// wholeStep is the shortest step from the given one on that divides an hour.
func wholeStep(seconds int) time.Duration {
	for 3600%seconds != 0 {
		seconds++
	}
	return time.Duration(seconds) * time.Second
}

func (a *API) timelineRow(ctx context.Context, p auth.Principal, teller event.Teller, r *manage.TimelineRow) (timelineRow, error) {
	runs, err := a.readRuns(ctx, p, teller, r.Runs)
	if err != nil {
		return timelineRow{}, err
	}
	row := timelineRow{
		Job: r.Job.ID, Group: r.Job.JobGroup, Name: r.Job.JobDesc, Address: r.Address, Since: moment(r.Since), Runs: runs, Due: []dueStep{}, DueTo: moment(r.Fires.Ends),
	}
	for _, fire := range r.Fires.List {
		row.Due = append(row.Due, dueStep{From: *moment(fire.At), Runs: fire.N})
	}
	return row, nil
}
