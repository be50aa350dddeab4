package client

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// groupRef is what commands take for a group of executors: its number, or its app name.
type groupRef string

// find is the number of the group that is meant; 0 where none is named.
func (r groupRef) find(ctx context.Context, a *api) (int64, error) {
	if r == "" {
		return 0, nil
	}
	if id, err := strconv.ParseInt(string(r), 10, 64); err == nil {
		return id, nil
	}
	names, err := groupNames(ctx, a)
	if err != nil {
		return 0, err
	}
	var ids []int64
	for number, name := range names {
		if id, err := strconv.ParseInt(number, 10, 64); err == nil && name == string(r) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	switch len(ids) {
	case 0:
		for _, name := range slices.Sorted(maps.Values(names)) {
			if strings.Contains(strings.ToLower(name), strings.ToLower(string(r))) {
				return 0, fmt.Errorf("there is no group of executors %q; did you mean %q?", string(r), name)
			}
		}
		return 0, fmt.Errorf("there is no group of executors %q; punctual executors lists them", string(r))
	case 1:
		return ids[0], nil
	}
	return 0, fmt.Errorf("%d groups of executors are called %q, as a database of XXL-JOB may have it: name one by its number, %s", len(ids), string(r), strings.Trim(fmt.Sprint(ids), "[]"))
}

// groupNames are the app names of the groups that may be seen, by their numbers.
func groupNames(ctx context.Context, a *api) (map[string]string, error) {
	items, err := a.list(ctx, "/groups", make(url.Values), 0)
	if err != nil {
		return nil, err
	}
	names := make(map[string]string, len(items))
	for _, raw := range items {
		var g struct {
			ID      json.Number `json:"id"`
			AppName string      `json:"app_name"`
		}
		if err := json.Unmarshal(raw, &g); err != nil {
			return nil, fmt.Errorf("read what the admin said: %w", err)
		}
		names[g.ID.String()] = g.AppName
	}
	return names, nil
}

// narrow has a list of jobs or runs hold those of the group alone.
func (r groupRef) narrow(ctx context.Context, a *api, query url.Values) error {
	id, err := r.find(ctx, a)
	if id != 0 {
		query.Set("group_id", strconv.FormatInt(id, 10))
	}
	return err
}

// findGroups are the numbers of groups.
func findGroups(ctx context.Context, a *api, refs []groupRef) ([]int64, error) {
	var ids []int64
	for _, r := range refs {
		id, err := r.find(ctx, a)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// ExecutorsCmd looks at the groups of executors.
type ExecutorsCmd struct {
	List executorsList `cmd:"" default:"withargs" help:"List the groups of executors."`
	Show executorsShow `cmd:"" help:"Show a group."`

	Addresses executorsAddresses `cmd:"" help:"List the addresses of a group and how each stands: online, late, offline, refusing, manual (typed by hand and not watched), suspect, tooold or disabled."`
	Token     executorsToken     `cmd:"" help:"Show, rotate and drop the access token that the admin and executors show each other."`
}

var executorColumns = []column{
	field("ID", "id"), field("APP NAME", "app_name"), field("TITLE", "title"), field("TYPE", "type"), field("ADDRESSES", "addresses"), wideField("TOKEN MANAGES", "token_manages"), wideField("SCRIPT REVIEW", "script_review"),
}

type executorsList struct {
	Target
	Limit limit `default:"0" help:"How many at most; 0 for all."`
}

func (c executorsList) Run(ctx context.Context, s Streams) error {
	return c.get(ctx, s, "/groups", make(url.Values), int(c.Limit), executorColumns)
}

type executorsShow struct {
	Target
	Group groupRef `arg:"" complete:"groups" help:"Its number, or its app name."`
}

func (c executorsShow) Run(ctx context.Context, s Streams) error {
	_, id, err := c.find(ctx, c.Group)
	if err != nil {
		return err
	}
	return c.show(ctx, s, fmt.Sprintf("/groups/%d", id), executorColumns)
}

type executorsAddresses struct {
	Target
	Group groupRef `arg:"" complete:"groups" help:"Its number, or its app name."`
}

var addressColumns = []column{
	field("ADDRESS", "address"), field("STATE", "state"), field("LAST BEAT", "last_beat_at"), field("ASKED", "asked_at"), field("SILENT SINCE", "silent_since"), field("WHY", "fault"),
	wideField("IN FLIGHT", "in_flight"), wideField("QUEUED", "queued"),
}

func (c executorsAddresses) Run(ctx context.Context, s Streams) error {
	_, id, err := c.find(ctx, c.Group)
	if err != nil {
		return err
	}
	return c.get(ctx, s, fmt.Sprintf("/groups/%d/addresses", id), make(url.Values), unpaged, addressColumns)
}
