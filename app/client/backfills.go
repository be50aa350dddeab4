package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// BackfillsCmd runs jobs for planned times that are over.
type BackfillsCmd struct {
	List   backfillsList   `cmd:"" default:"withargs" help:"List the newest backfills of a job."`
	Run    backfillsRun    `cmd:"" help:"Run a job for the planned times of a range."`
	Pause  backfillsPause  `cmd:"" help:"Send nothing more of a backfill until it is resumed."`
	Resume backfillsResume `cmd:"" help:"Let a paused backfill go on."`
	Stop   backfillsStop   `cmd:"" help:"End a backfill for good; runs that are under way go on."`
}

var backfillColumns = []column{
	field("ID", "id"), field("STATE", "state"), field("FROM", "from"), field("UNTIL", "until"), field("TOTAL", "total"), field("SENT", "sent"), field("GOOD", "succeeded"), field("BAD", "failed"),
	wideField("PARALLEL", "at_once"), wideField("CREATED", "created_at"), wideField("BY", "created_by"), wideField("ENDED", "ended_at"),
}

// planColumns are those of a dry run.
var planColumns = []column{field("TOTAL", "total"), field("FIRST", "first_planned"), field("LAST", "last_planned"), field("PARALLEL", "at_once"), field("PARAM", "first_parameter"), field("DIGEST", "digest")}

type backfillsList struct {
	Target
	Job jobRef `arg:"" complete:"jobs" help:"Its number, or its whole description."`
}

func (c backfillsList) Run(ctx context.Context, s Streams) error {
	_, id, err := c.find(ctx, c.Job)
	if err != nil {
		return err
	}
	return c.get(ctx, s, fmt.Sprintf("/jobs/%d/backfills", id), nil, unpaged, backfillColumns)
}

type backfillsRun struct {
	Target
	Job    jobRef    `arg:"" complete:"jobs" help:"Its number, or its whole description."`
	From   time.Time `required:"" placeholder:"TIME" help:"The first moment of the range, as 2026-01-02T00:00:00+08:00."`
	Until  time.Time `required:"" placeholder:"TIME" help:"The moment before which it ends."`
	Failed bool      `help:"The runs of the range that failed for good, with their parameters, and not every planned time."`
	Newest bool      `help:"Begin with the newest."`
	AtOnce int       `default:"1" placeholder:"N" help:"How many planned times are under way at a time."`
	Digest string    `placeholder:"TEXT" help:"What a dry run printed as DIGEST: run it only if its times and parameters are still these."`
	DryRun bool      `help:"Say what would run."`
	Wait   bool      `help:"Wait for the end. Exit code 0: all succeeded, 1: not all, 125: no admin said how."`
}

// whenBusy says what a job does, as a dry run tells it, that would lose planned times if nothing heeded it.
var whenBusy = map[string]string{"discard": "leaves runs out", "cover": "ends the oldest of its runs"}

// backfillLook is how often a backfill that somebody waits for is asked about.
const backfillLook = 2 * time.Second

func (c backfillsRun) Run(ctx context.Context, s Streams) error {
	a, id, err := c.find(ctx, c.Job)
	if err != nil {
		return err
	}
	return c.on(ctx, a, id, s)
}

// on runs those of the job with a number.
func (c backfillsRun) on(ctx context.Context, a *api, id int64, s Streams) error {
	path, query, columns := fmt.Sprintf("/jobs/%d/backfills", id), url.Values(nil), backfillColumns
	if c.DryRun {
		query, columns = url.Values{"dry_run": {"true"}}, planColumns
	}
	raw, err := a.do(ctx, http.MethodPost, path, query, map[string]any{
		"from": c.From.Format(time.RFC3339), "until": c.Until.Format(time.RFC3339), "failed": c.Failed, "newest_first": c.Newest, "at_once": c.AtOnce, "digest": c.Digest,
	})
	var b struct {
		ID        int64  `json:"id"`
		Ended     bool   `json:"ended"`
		Total     int64  `json:"total"`
		Succeeded int64  `json:"succeeded"`
		AtOnce    int64  `json:"at_once"`
		WhenBusy  string `json:"when_busy"`
	}
	waiting := a.patient(s.Err, true)
	made := err == nil && !c.DryRun
	for err == nil {
		if err = json.Unmarshal(raw, &b); err != nil {
			err = fmt.Errorf("read what the admin said: %w", err)
			break
		}
		if !c.Wait || c.DryRun || b.Ended {
			break
		}
		select {
		case <-ctx.Done():
			return interrupted(ctx)
		case <-time.After(backfillLook):
		}
		raw, err = waiting.do(ctx, http.MethodGet, fmt.Sprintf("%s/%d", path, b.ID), nil, nil)
	}
	switch {
	case errors.Is(err, errInterrupted):
		return err
	case made && err != nil:
		return untold(err, fmt.Sprintf("backfill %d", b.ID), "punctual backfills")
	case err != nil:
		return unanswered(err)
	}
	if does := whenBusy[b.WhenBusy]; does != "" {
		fmt.Fprintf(s.Err, "the job %s when more of them come than may go on: planned times wait for room, with at most %d under way\n", does, b.AtOnce)
	}
	if err := (printer{s.Out, c.Output}).one(raw, columns); err != nil {
		return err
	}
	if c.Wait && b.Ended && b.Succeeded < b.Total {
		return &ExitError{1, fmt.Errorf("%d of %d planned times succeeded", b.Succeeded, b.Total)}
	}
	return nil
}

// backfillRef names a backfill of a job.
type backfillRef struct {
	Target
	Job jobRef `arg:"" complete:"jobs" help:"The job's number, or its whole description."`
	ID  int64  `arg:"" help:"The number of the backfill."`
}

func (r backfillRef) do(ctx context.Context, s Streams, verb string) error {
	a, job, err := r.find(ctx, r.Job)
	if err != nil {
		return err
	}
	raw, err := a.do(ctx, http.MethodPost, fmt.Sprintf("/jobs/%d/backfills/%d/%s", job, r.ID, verb), nil, nil)
	if err != nil {
		return err
	}
	return (printer{s.Out, r.Output}).one(raw, backfillColumns)
}

type backfillsPause struct{ backfillRef }

func (c backfillsPause) Run(ctx context.Context, s Streams) error { return c.do(ctx, s, "pause") }

type backfillsResume struct{ backfillRef }

func (c backfillsResume) Run(ctx context.Context, s Streams) error { return c.do(ctx, s, "resume") }

type backfillsStop struct{ backfillRef }

func (c backfillsStop) Run(ctx context.Context, s Streams) error { return c.do(ctx, s, "stop") }
