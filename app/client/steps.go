package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/alecthomas/kong"
)

var stepColumns = []column{
	field("STEP", "id"), field("STATE", "state"), field("KIND", "kind"), field("RUN", "run_id"), field("STARTED", "started_at"), field("ENDED", "ended_at"),
	wideField("ALLOWED", "allowed"), wideField("JOB", "job_id"), wideField("ATTEMPT", "attempt"), wideField("PARAMETER", "parameter"), wideField("BY", "decided_by"), wideField("REMARK", "remark"), field("MESSAGE", "message"),
}

var itemColumns = []column{
	field("ITEM", "item"), field("STATE", "state"), field("RUN", "run_id"), field("STARTED", "started_at"), field("ENDED", "ended_at"),
	wideField("JOB", "job_id"), wideField("ATTEMPT", "attempt"), wideField("PARAMETER", "parameter"), field("MESSAGE", "message"),
}

type runsSteps struct {
	Target
	ID    int64  `arg:"" help:"The number of the run."`
	Step  string `arg:"" optional:"" help:"A step that runs once for each item of a list: list its items."`
	Limit limit  `default:"500" help:"How many items at most; 0 for all."`
}

func (c runsSteps) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	if c.Step != "" {
		items, err := a.list(ctx, fmt.Sprintf("/runs/%d/steps/%s/items", c.ID, url.PathEscape(c.Step)), url.Values{}, int(c.Limit))
		if err != nil {
			return err
		}
		return (printer{s.Out, c.Output}).items(items, itemColumns)
	}
	r, err := a.run(ctx, c.ID, 0)
	if err != nil {
		return err
	}
	var whole struct {
		Steps []json.RawMessage `json:"steps"`
	}
	if err := json.Unmarshal(r.raw, &whole); err != nil {
		return fmt.Errorf("read what the admin said: %w", err)
	}
	if len(whole.Steps) == 0 {
		return fmt.Errorf("run %d has no steps: it is none of a flow, or has not begun", c.ID)
	}
	return (printer{s.Out, c.Output}).items(whole.Steps, stepColumns)
}

// stepDeed does to a step what the command is called.
type stepDeed struct {
	Target
	ID     int64  `arg:"" help:"The number of the run."`
	Step   string `arg:"" help:"The id of the step."`
	Remark string `short:"m" help:"Why, for whoever looks at the run later."`
}

func (c stepDeed) Run(ctx context.Context, command *kong.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	deed := command.Selected().Name
	if _, err := a.do(ctx, http.MethodPost, fmt.Sprintf("/runs/%d/steps/%s/%s", c.ID, url.PathEscape(c.Step), deed), nil, map[string]string{"remark": c.Remark}); err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "run %d: %s: done: %s\n", c.ID, c.Step, deed)
	return nil
}
