package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// APICmd calls an operation of API v1, for what has no command of its own.
type APICmd struct {
	Admin
	Path   string  `arg:"" help:"Of the operation, with its query, such as /groups or '/alarms/messages?state=given_up'. It is none of a stream."`
	Method string  `short:"X" enum:"GET,POST,PUT,PATCH,DELETE," default:"" help:"GET, POST, PUT, PATCH or DELETE; default GET, and with a body POST."`
	Data   *string `short:"d" placeholder:"JSON" help:"The body; @FILE is that of a file, @- what is on standard input."`
	Match  string  `name:"if-match" placeholder:"ETAG" help:"What it has to be still, by its ETag; * is whatever there is."`
	Key    string  `placeholder:"TEXT" help:"Its Idempotency-Key: the same request with the same key is done once."`
	All    bool    `help:"Read all pages of a list, and print the items of them."`
	Output string  `short:"o" enum:"json,yaml" default:"json" help:"json or yaml."`
}

// Run calls it and prints the answer.
func (c APICmd) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	path, asked, _ := strings.Cut(c.Path, "?")
	query, err := url.ParseQuery(asked)
	if err != nil {
		return fmt.Errorf("the query of %s: %w", c.Path, err)
	}
	path = "/" + strings.TrimPrefix(strings.TrimPrefix(path, prefix), "/")
	body, err := c.body(s.In)
	if err != nil {
		return err
	}
	method := cmp.Or(c.Method, http.MethodGet)
	if body != nil {
		method = cmp.Or(c.Method, http.MethodPost)
	}
	if c.All {
		if method != http.MethodGet {
			return errors.New("--all reads a list, which takes no body and no method but GET")
		}
		items, err := a.list(ctx, path, query, 0)
		if err != nil {
			return err
		}
		return printer{s.Out, c.Output}.items(items, nil)
	}
	a.match, a.once = c.Match, c.Key
	raw, _, err := a.call(ctx, method, path, query, body)
	if err != nil || len(raw) == 0 {
		return err
	}
	if !json.Valid(raw) { // as the output of a run
		_, err := s.Out.Write(raw)
		return err
	}
	return printer{s.Out, c.Output}.whole(raw)
}

// body is what is sent, nil for nothing. One that was named and is empty, as when what was to write it failed, is no call without a body:
// that would be another one.
func (c APICmd) body(in io.Reader) (any, error) {
	if c.Data == nil {
		return nil, nil
	}
	raw := []byte(*c.Data)
	if from, is := strings.CutPrefix(*c.Data, "@"); is {
		var err error
		if from == "-" {
			raw, err = io.ReadAll(in)
		} else {
			raw, err = os.ReadFile(from)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, errors.New("the body is empty; a call without one has no -d")
	}
	if !json.Valid(raw) {
		return nil, errors.New("the body is no JSON")
	}
	return json.RawMessage(raw), nil
}
