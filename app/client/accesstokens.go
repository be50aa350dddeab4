package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// executorsToken looks after the access tokens of executors.
type executorsToken struct {
	Show   tokenShow   `cmd:"" default:"withargs" help:"Show how an access token stands."`
	Rotate tokenRotate `cmd:"" help:"Replace an access token, or give a group its first one, and print it."`
	Drop   tokenDrop   `cmd:"" help:"Take a group's own access token away: the installation's counts for it again, at once."`
}

// tokenOf names whose access token is meant.
type tokenOf struct {
	Target
	Group groupRef `arg:"" optional:"" complete:"groups" help:"The group, by its number or its app name; without it the installation's."`
}

// token is how the admin is called, and the path of the token.
func (o tokenOf) token(ctx context.Context) (*api, string, error) {
	a, err := o.api()
	if err != nil || o.Group == "" {
		return a, "/access-token", err
	}
	id, err := o.Group.find(ctx, a)
	return a, fmt.Sprintf("/groups/%d/access-token", id), err
}

var accessTokenColumns = []column{
	field("OWN", "own"), field("SET BY THE PROCESS", "fixed"), field("BEFORE WORKS UNTIL", "previous_until"), field("FROM THE INSTALLATION'S", "handover"),
}

type tokenShow struct {
	tokenOf
	Reveal bool `help:"Print the token itself, which stands in the audit log."`
}

func (c tokenShow) Run(ctx context.Context, s Streams) error {
	a, path, err := c.token(ctx)
	if err != nil {
		return err
	}
	query := make(url.Values)
	if c.Reveal {
		query.Set("show", "true")
	}
	raw, err := a.do(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return err
	}
	return c.print(s, raw, c.Reveal)
}

// print prints the token alone where it is asked for, for a script to take.
func (o tokenOf) print(s Streams, raw json.RawMessage, token bool) error {
	if !token || o.Output != "table" && o.Output != "wide" {
		return (printer{s.Out, o.Output}).one(raw, accessTokenColumns)
	}
	var has struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal(raw, &has); err != nil {
		return fmt.Errorf("read what the admin said: %w", err)
	}
	_, err := fmt.Fprintln(s.Out, has.Token)
	return err
}

type tokenRotate struct {
	tokenOf
	Hours int `name:"grace-hours" default:"24" help:"How many hours the one before works too, so that executors can be given the new one; 0 to 720."`
}

func (c tokenRotate) Run(ctx context.Context, s Streams) error {
	a, path, err := c.token(ctx)
	if err != nil {
		return err
	}
	raw, err := a.do(ctx, http.MethodPost, path+"/rotate", nil, map[string]int{"grace_hours": c.Hours})
	if err != nil {
		return err
	}
	return c.print(s, raw, true)
}

type tokenDrop struct {
	Target
	Group groupRef `arg:"" complete:"groups" help:"The group, by its number or its app name."`
}

func (c tokenDrop) Run(ctx context.Context, s Streams) error {
	a, path, err := tokenOf(c).token(ctx)
	if err != nil {
		return err
	}
	if _, err := a.do(ctx, http.MethodDelete, path, nil, nil); err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "%s: dropped\n", string(c.Group))
	return nil
}
