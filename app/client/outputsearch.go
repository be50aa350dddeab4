package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

type runsSearch struct {
	Target
	Text  string        `arg:"" help:"What is looked for, as it stands in a line; the letters A to Z may be small or capital."`
	Job   jobRef        `placeholder:"JOB" complete:"jobs" help:"In the output of this job: its number, or its whole description."`
	Group groupRef      `placeholder:"GROUP" complete:"groups" help:"In the output of all jobs of this group of executors: its number, or its app name."`
	Since time.Time     `placeholder:"TIME" help:"Only of runs triggered at this moment or later, as in 2026-12-31T23:30:00+08:00."`
	Until time.Time     `placeholder:"TIME" help:"Only of runs triggered at this moment or before."`
	Limit limit         `default:"20" help:"End after so many runs that have it; 0 for all."`
	Time  time.Duration `default:"1m" help:"End after this time with what there is; 0: when all is looked through."`
}

// found is what commands read of an answer.
type found struct {
	Items   []json.RawMessage `json:"items"`
	Next    string            `json:"next"`
	Runs    int64             `json:"searched_runs"`
	Bytes   int64             `json:"searched_bytes"`
	Reached time.Time         `json:"reached"`
	Unread  int64             `json:"unreadable_runs"`
}

func (c runsSearch) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	query := url.Values{"text": {c.Text}}
	if c.Job != "" {
		id, err := c.Job.find(ctx, a)
		if err != nil {
			return err
		}
		query.Set("job_id", strconv.FormatInt(id, 10))
	}
	if err := c.Group.narrow(ctx, a, query); err != nil {
		return err
	}
	for name, at := range map[string]time.Time{"since": c.Since, "until": c.Until} {
		if !at.IsZero() {
			query.Set(name, at.Format(time.RFC3339))
		}
	}
	return c.search(ctx, a, s, query)
}

// search shows what is found as it comes, and in the end how much was looked through.
func (c runsSearch) search(ctx context.Context, a *api, s Streams, query url.Values) error {
	began := time.Now()
	var all []json.RawMessage
	var whole found
	for hits := 0; ; {
		most := 500
		if c.Limit > 0 {
			most = min(most, int(c.Limit)-hits)
		}
		query.Set("limit", strconv.Itoa(most))
		var f found
		if err := a.ask(ctx, &f, http.MethodGet, "/runs/search", query, nil); err != nil {
			return err
		}
		whole.Runs, whole.Bytes, whole.Unread, whole.Reached = whole.Runs+f.Runs, whole.Bytes+f.Bytes, whole.Unread+f.Unread, f.Reached
		hits += len(f.Items)
		all = append(all, f.Items...)
		if c.Output != "json" && c.Output != "yaml" {
			if err := printHits(s, c.Output, f.Items); err != nil {
				return err
			}
		}
		if query.Set("cursor", f.Next); f.Next == "" {
			break
		}
		if c.Limit > 0 && hits >= int(c.Limit) || c.Time > 0 && time.Since(began) >= c.Time {
			fmt.Fprintf(s.Err, "It ended at runs of %s: older ones were not looked at. --limit and --time let it go on.\n", whole.Reached.Local().Format(time.DateTime))
			break
		}
	}
	fmt.Fprintf(s.Err, "Found in %d of %s (%.1f MB were looked through).\n", len(all), counted(int(whole.Runs), "kept output", "kept outputs"), float64(whole.Bytes)/1e6)
	if whole.Unread > 0 {
		fmt.Fprintf(s.Err, "%d could not be read: their store is away, or the secret key that sealed them is not set.\n", whole.Unread)
	}
	if c.Output == "json" || c.Output == "yaml" {
		if err := (printer{s.Out, c.Output}).items(all, nil); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return &ExitError{codeFailed, errors.New("nothing was found")}
	}
	return nil
}

// printHits writes lines as grep does: the run, the number of the line, and the line; as names only the runs.
func printHits(s Streams, format string, items []json.RawMessage) error {
	for _, raw := range items {
		var m struct {
			Run struct {
				ID int64 `json:"id"`
			} `json:"run"`
			Lines []struct {
				Number int    `json:"number"`
				Text   string `json:"text"`
			} `json:"lines"`
			More int `json:"more_lines"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return fmt.Errorf("read what the admin said: %w", err)
		}
		if format == "name" {
			if _, err := fmt.Fprintln(s.Out, m.Run.ID); err != nil {
				return err
			}
			continue
		}
		for _, l := range m.Lines {
			if _, err := fmt.Fprintf(s.Out, "%d:%d: %s\n", m.Run.ID, l.Number, plain(l.Text)); err != nil {
				return err
			}
		}
		if m.More > 0 {
			if _, err := fmt.Fprintf(s.Out, "%d: and %s\n", m.Run.ID, counted(m.More, "more line", "more lines")); err != nil {
				return err
			}
		}
	}
	return nil
}
