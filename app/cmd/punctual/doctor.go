package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/punctual-job/punctual/app"
)

type doctorCmd struct {
	database
	Output string `default:"text" enum:"text,json" help:"text or json."`
}

// Run looks the installation over. Something to look at is exit code 4.
func (c *doctorCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	r, err := app.Doctor(context.Background(), o)
	if err != nil {
		return err
	}
	if c.Output == "json" {
		e := json.NewEncoder(s.out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		err = e.Encode(r)
	} else {
		err = doctorText(s.out, r)
	}
	if err == nil && r.Verdict == app.CheckLook {
		return codeLook
	}
	return err
}

func doctorText(w io.Writer, r app.DoctorReport) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("Database   %s (%s)", r.Database, r.Server)
	line("Time zone  %s", r.Zone)
	line("Version    %s", r.Version)
	line("Admins     %d", len(r.Nodes))
	line("Jobs       %d started", r.Jobs)
	if r.Unwatched > 0 {
		line("Addresses  %d typed by hand are not watched", r.Unwatched)
	}
	line("Verdict    %s", r.Verdict)
	points(&b, r.Points)
	_, err := io.WriteString(w, b.String())
	return err
}
