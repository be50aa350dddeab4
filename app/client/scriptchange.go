package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// jobsChange looks after changes of scripts that wait for a second person.
type jobsChange struct {
	Show    changeShow    `cmd:"" default:"withargs" help:"Show the change that waits: its text, and by which version it is approved."`
	Approve changeApprove `cmd:"" help:"Let the change run. Whoever made it does not."`
	Reject  changeReject  `cmd:"" help:"Reject the change; its author takes it back so."`
}

// changeOf names the job whose script waits.
type changeOf struct {
	Target
	Job jobRef `arg:"" complete:"jobs" help:"The job: its number, or its whole description."`
}

// path is how the admin is called, and where the change is.
func (o changeOf) path(ctx context.Context) (*api, string, error) {
	a, id, err := o.find(ctx, o.Job)
	return a, fmt.Sprintf("/jobs/%d/script/change", id), err
}

type changeShow struct{ changeOf }

func (c changeShow) Run(ctx context.Context, s Streams) error {
	a, path, err := c.path(ctx)
	if err != nil {
		return err
	}
	raw, err := a.do(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return err
	}
	if c.Output != "table" && c.Output != "wide" {
		return (printer{s.Out, c.Output}).one(raw, nil)
	}
	var waits struct{ Version, Author, Script string }
	if err := json.Unmarshal(raw, &waits); err != nil {
		return fmt.Errorf("read what the admin said: %w", err)
	}
	fmt.Fprintf(s.Err, "by %s; to approve or reject this text: --version %s\n", plain(waits.Author), waits.Version)
	_, err = fmt.Fprintln(s.Out, waits.Script)
	return err
}

// decision is what is done with the text that was looked at.
type decision struct {
	changeOf
	Version string `required:"" help:"Of the text that was looked at, as show says."`
}

func (d decision) decide(ctx context.Context, s Streams, way, said string) error {
	a, path, err := d.path(ctx)
	if err != nil {
		return err
	}
	if _, err := a.do(ctx, http.MethodPost, path+"/"+way, nil, map[string]string{"version": d.Version}); err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "%s: %s\n", string(d.Job), said)
	return nil
}

type changeApprove struct{ decision }

func (c changeApprove) Run(ctx context.Context, s Streams) error {
	return c.decide(ctx, s, "approve", "approved")
}

type changeReject struct{ decision }

func (c changeReject) Run(ctx context.Context, s Streams) error {
	return c.decide(ctx, s, "reject", "rejected")
}
