package api

import (
	"context"
	"strconv"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
)

// searchQuery says what is looked for in kept outputs.
type searchQuery struct {
	Page
	Text  string    `query:"text" required:"true" minLength:"1" maxLength:"255" doc:"What is looked for, as it stands in a line; the letters A to Z may be small or capital."`
	Group int64     `query:"group_id" minimum:"1" doc:"In the outputs of jobs of this group. This or job_id is required."`
	Job   int64     `query:"job_id" minimum:"1" doc:"In the outputs of this job."`
	Since time.Time `query:"since" doc:"Only of runs triggered at this moment or later."`
	Until time.Time `query:"until" doc:"Only of runs triggered at this moment or before."`
}

var searchNames = map[string]string{manage.FieldSearchGroup: fieldGroup}

// searchTime is how long one request searches.
const searchTime = 2 * time.Second

// outputLine is a line of an output.
type outputLine struct {
	Number int    `json:"number" doc:"Which line of the output it is, from 1."`
	Text   string `json:"text"`
	Cut    bool   `json:"cut" doc:"Whether text is only the part of a long line around what was looked for."`
}

// outputMatch is a run with what was looked for in its output.
type outputMatch struct {
	Run   run          `json:"run"`
	Lines []outputLine `json:"lines" doc:"The first lines that have it."`
	More  int          `json:"more_lines" doc:"How many other lines have it."`
}

// searched is what a request found.
type searched struct {
	Items      []outputMatch `json:"items"`
	Next       string        `json:"next,omitempty" doc:"The cursor with which the search goes on. There is none when it is through."`
	Runs       int           `json:"searched_runs" doc:"The outputs of how many runs this request looked through."`
	Bytes      int64         `json:"searched_bytes" doc:"How many bytes those have."`
	Reached    *time.Time    `json:"reached" doc:"When the run was triggered that was looked at last; null when the search is through."`
	Unreadable int           `json:"unreadable_runs" doc:"Of how many runs the copy could not be read: the store is away, or the secret key that sealed it is not set."`
}

func (a *API) searchOutput(ctx context.Context, p auth.Principal, in *searchQuery) (searched, error) {
	if in.Group == 0 && in.Job == 0 {
		return searched{}, newParameterError(fieldGroup, "search.error.group")
	}
	before, err := in.after()
	if err != nil {
		return searched{}, err
	}
	found, err := a.Manage.Runs.SearchOutput(ctx, p, manage.OutputSearch{
		Group: in.Group, Job: in.Job, Text: in.Text, Since: in.Since, Until: in.Until, Before: before, Runs: in.Limit, Time: searchTime,
	})
	if err != nil {
		return searched{}, err
	}
	out := searched{Items: []outputMatch{}, Runs: found.Looked, Bytes: found.Bytes, Reached: moment(found.Reached), Unreadable: found.Unreadable}
	if found.Next > 0 {
		out.Next = strconv.FormatInt(found.Next, 10)
	}
	runs, err := a.readRuns(ctx, p, a.teller(requestOf(ctx)), madeOf(found.Hits, func(h manage.OutputHit) db.RunRow { return h.Run }))
	if err != nil {
		return searched{}, err
	}
	for i, h := range found.Hits {
		match := outputMatch{Run: runs[i], Lines: []outputLine{}, More: h.More}
		for _, l := range h.Lines {
			match.Lines = append(match.Lines, outputLine{Number: l.Number, Text: string(l.Text), Cut: l.Cut})
		}
		out.Items = append(out.Items, match)
	}
	return out, nil
}
