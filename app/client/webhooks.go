package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// WebhooksCmd looks after the addresses that are told of events.
type WebhooksCmd struct {
	List       webhooksList       `cmd:"" default:"withargs" help:"List webhooks."`
	Create     webhooksCreate     `cmd:"" help:"Make a webhook. Its secret is printed once."`
	Deliveries webhooksDeliveries `cmd:"" help:"List what is, was or could not be sent, the newest first."`
	Test       webhooksTest       `cmd:"" help:"Send a test event."`
	Again      webhooksAgain      `cmd:"" help:"Send deliveries again: some, or all that were given up."`
	Delete     webhooksDelete     `cmd:"" help:"Delete webhooks, with what waits for them."`
}

type webhooksList struct{ Target }

func (c webhooksList) Run(ctx context.Context, s Streams) error {
	return c.get(ctx, s, "/webhooks", make(url.Values), unpaged, []column{
		field("ID", "id"), field("NAME", "name"), field("STATE", "state"), field("TO", "place"), {title: "WAITING", value: waitingOf}, field("GIVEN UP", "given_up"), field("DROPPED", "dropped"), field("LAST TAKEN", "last_ok_at"),
		wideField("FAILING SINCE", "failing_since"), wideField("STATUS", "last_status"), wideField("REASON", "last_reason"), wideField("TYPES", "types"), wideField("GROUPS", "group_ids"), wideField("TAGS", "tags"),
	})
}

// runOf is the run that an event is of; a test is of none.
func runOf(i item) string {
	if run := i.text("run_id"); run != "0" {
		return run
	}
	return ""
}

// waitingOf is how many events wait, which the admin counts up to a bound.
func waitingOf(i item) string {
	const most = "10000"
	if n := i.text("waiting"); n != most {
		return n
	}
	return most + "+"
}

type webhooksCreate struct {
	Target
	Name  string     `arg:"" help:"What it is called."`
	To    string     `arg:"" name:"address" help:"Where events are sent to."`
	Type  []string   `help:"Only events of this type; may be given more than once. Default all."`
	Group []groupRef `placeholder:"GROUP" complete:"groups" help:"Only events of this group of executors, by its number or its app name; may be given more than once."`
	Tag   []string   `help:"Only events of jobs with this tag; may be given more than once."`
}

func (c webhooksCreate) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	body := map[string]any{"name": c.Name, "url": c.To}
	if len(c.Type) > 0 {
		body["types"] = c.Type
	}
	groups, err := findGroups(ctx, a, c.Group)
	if err != nil {
		return err
	}
	if len(groups) > 0 {
		body["group_ids"] = groups
	}
	if len(c.Tag) > 0 {
		body["tags"] = c.Tag
	}
	var made struct {
		Secret string `json:"secret"`
	}
	if err := a.ask(ctx, &made, http.MethodPost, "/webhooks", nil, body); err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "webhook %s: its secret is told this once\n", c.Name)
	_, err = fmt.Fprintln(s.Out, made.Secret)
	return err
}

type webhooksDeliveries struct {
	Target
	ID    int64  `arg:"" help:"The number of the webhook."`
	State string `enum:"waiting,taken,given_up" default:"waiting" help:"waiting, taken or given_up."`
	Limit limit  `default:"50" help:"How many at most; 0 for all."`
}

func (c webhooksDeliveries) Run(ctx context.Context, s Streams) error {
	return c.get(ctx, s, fmt.Sprintf("/webhooks/%d/deliveries", c.ID), url.Values{"state": {c.State}}, int(c.Limit), []column{
		field("ID", "id"), field("TYPE", "type"), field("JOB", "job"), {title: "RUN", value: runOf}, field("HAPPENED", "happened_at"), field("TRIES", "tries"), field("STATUS", "status"), field("REASON", "reason"),
		wideField("TRIED", "tried_at"), wideField("NEXT", "next_at"), wideField("ANSWER", "answer"),
	})
}

type webhooksTest struct {
	Target
	ID int64 `arg:"" help:"The number of the webhook."`
}

func (c webhooksTest) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	if _, err := a.do(ctx, http.MethodPost, fmt.Sprintf("/webhooks/%d/test", c.ID), nil, nil); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Err, "webhook %d: a test event waits to be sent; see its deliveries\n", c.ID)
	return err
}

type webhooksAgain struct {
	Target
	ID         int64   `arg:"" help:"The number of the webhook."`
	Deliveries []int64 `arg:"" optional:"" name:"delivery" xor:"which" help:"The numbers of the deliveries."`
	GivenUp    bool    `xor:"which" help:"All that were given up."`
}

func (c webhooksAgain) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	path := fmt.Sprintf("/webhooks/%d/deliveries", c.ID)
	if c.GivenUp {
		if _, err := a.do(ctx, http.MethodPost, path+"/again", nil, nil); err != nil {
			return err
		}
		_, err = fmt.Fprintln(s.Err, "what was given up is being sent")
		return err
	}
	if len(c.Deliveries) == 0 {
		return errors.New("name deliveries, or say --given-up")
	}
	return c.each(ctx, s, c.Deliveries, "delivery", http.MethodPost, path+"/%d/again", nil, "is being sent")
}

type webhooksDelete struct {
	Target
	IDs []int64 `arg:"" name:"id" help:"The numbers of the webhooks."`
}

func (c webhooksDelete) Run(ctx context.Context, s Streams) error {
	return c.each(ctx, s, c.IDs, "webhook", http.MethodDelete, "/webhooks/%d", nil, "deleted")
}
