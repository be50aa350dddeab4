package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/scheduler/account"
)

type auditCmd struct {
	database
	From   string `required:"" placeholder:"TIME" help:"From this moment on: 2026-01-02, 2026-01-02 15:04:05, 2026-01-02T15:04:05+08:00, or so long ago, as 24h."`
	To     string `placeholder:"TIME" help:"Up to, not including, this one; default now."`
	Job    string `placeholder:"ID|NAME" help:"Only this job, which may be deleted by now."`
	Output string `default:"text" enum:"text,json" help:"text or json."`
	Limit  int    `default:"200" help:"How many stretches of fires are listed of each class."`
}

// errUnaccounted makes the exit code 1.
var errUnaccounted = errors.New("not every fire is accounted for, or one was done twice")

// Run prints what became of every fire. Fires that are missing or doubled are a failure.
func (c *auditCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	if c.Limit < 1 {
		return setting("--limit", errors.New("must be 1 or more"))
	}
	zone := cmp.Or(o.Zone, time.Local)
	now := time.Now()
	r := manage.AccountRequest{To: now, Limit: c.Limit}
	if r.From, err = moment(c.From, now, zone); err != nil {
		return setting("--from", err)
	}
	if c.To != "" {
		if r.To, err = moment(c.To, now, zone); err != nil {
			return setting("--to", err)
		}
	}
	if r.To.After(now) {
		r.To = now
	}
	if !r.From.Before(r.To) {
		return setting("--from", fmt.Errorf("%s is not before %s", r.From.In(zone).Format(time.RFC3339), r.To.In(zone).Format(time.RFC3339)))
	}
	report, err := app.AccountFires(context.Background(), o, r, c.Job)
	if err != nil {
		return inWords(err)
	}
	if c.Output == "json" {
		err = writeReportJSON(s.out, report)
	} else {
		err = writeReport(s.out, report, zone)
	}
	if err == nil && report.Faulty() {
		err = errUnaccounted
	}
	return err
}

// moment reads a time, or how long ago it is.
func moment(text string, now time.Time, zone *time.Location) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	for _, layout := range []string{time.DateOnly, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04"} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is neither a time, such as 2026-01-02 15:04:05, nor a length of time, such as 24h", text)
}

// classWords are the classes as they are printed.
var classWords = map[account.Class]string{
	account.OnTime: "on time", account.Late: "late", account.Skipped: "skipped", account.Stands: "stands in a run", account.NotSent: "not sent",
	account.Lost: "lost", account.Pending: "pending", account.Deleted: "record deleted", account.Unknown: "unknown", account.Unplanned: "unplanned run",
	account.Doubled: "doubled", account.Missing: "UNACCOUNTED",
}

func writeReport(out io.Writer, r *account.Report, zone *time.Location) error {
	clock := func(ms int64) string { return time.UnixMilli(ms).In(zone).Format("2006-01-02 15:04:05 -0700") }
	was := "were"
	if r.Fires == 1 {
		was = "was"
	}
	fmt.Fprintf(out, "%s of %s %s planned from %s to %s\n\n", app.Counted("%d {fire|fires}", int(r.Fires)), app.Counted("%d {job|jobs}", int(r.Jobs)), was, clock(r.From), clock(r.To))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, c := range account.Classes() {
		if n := r.Counts[c]; n > 0 || c == account.OnTime || c.Faulty() {
			fmt.Fprintf(table, "%s\t%d\t\n", classWords[c], n)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(r.Entries) > 0 {
		fmt.Fprintln(out)
	}
	for _, e := range r.Entries {
		line := fmt.Sprintf("%s: job %d %q, %s", classWords[e.Class], e.Job.ID, e.Job.Name, clock(e.From))
		if e.Fires > 1 {
			line += fmt.Sprintf(" to %s (%d fires)", clock(e.To), e.Fires)
		}
		if e.Run != 0 {
			line += fmt.Sprintf(", run %d", e.Run)
		}
		if because := account.Say(e.Why, zone); because != "" {
			line += ": " + because
		}
		fmt.Fprintln(out, strings.ReplaceAll(line, "\n", " "))
	}
	if r.Left > 0 {
		fmt.Fprintf(out, "… and %s; --limit lists more\n", app.Counted("%d more {fire|fires}", int(r.Left)))
	}
	if len(r.Notes) > 0 {
		fmt.Fprintln(out)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(out, "note: job %d %q: %s\n", n.Job.ID, n.Job.Name, noteWords(n, clock(n.At)))
	}
	if r.LeftOut > 0 {
		fmt.Fprintf(out, "… and %s\n", app.Counted("%d more {note|notes}", int(r.LeftOut)))
	}
	return nil
}

func noteWords(n account.Note, at string) string {
	switch n.Kind {
	case account.KnownSince:
		return "its definition is known from " + at + " on"
	case account.Unreadable:
		return "its schedule of " + at + " cannot be read"
	case account.Delay:
		return "it is due when its runs end, so the runs on record are its fires and none can be found missing"
	case account.Stuck:
		return "STUCK: it waits for a run to end, and none is open"
	default:
		return string(n.Kind)
	}
}

// The account as programs read it. Times are RFC 3339 with milliseconds, in UTC.
type (
	reportJSON struct {
		From    string           `json:"from"`
		To      string           `json:"to"`
		Jobs    int64            `json:"jobs"`
		Fires   int64            `json:"fires"`
		OK      bool             `json:"ok"`
		Counts  map[string]int64 `json:"counts"`
		Entries []entryJSON      `json:"entries"`
		Left    int64            `json:"firesNotListed"`
		Notes   []noteJSON       `json:"notes"`
		LeftOut int64            `json:"notesNotListed"`
	}
	entryJSON struct {
		Job    int64    `json:"job"`
		Name   string   `json:"name"`
		Class  string   `json:"class"`
		From   string   `json:"from"`
		To     string   `json:"to"`
		Fires  int64    `json:"fires"`
		Run    int64    `json:"run,omitempty"`
		Reason string   `json:"reason,omitempty"`
		Args   []string `json:"reasonArgs,omitempty"`
		Text   string   `json:"text,omitempty"`
	}
	noteJSON struct {
		Job  int64  `json:"job"`
		Name string `json:"name"`
		Kind string `json:"kind"`
		At   string `json:"at"`
	}
)

func writeReportJSON(out io.Writer, r *account.Report) error {
	clock := func(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00") }
	j := reportJSON{
		From: clock(r.From), To: clock(r.To), Jobs: r.Jobs, Fires: r.Fires, OK: !r.Faulty(), Counts: make(map[string]int64), Left: r.Left, LeftOut: r.LeftOut,
		Entries: []entryJSON{}, Notes: []noteJSON{},
	}
	for _, c := range account.Classes() {
		j.Counts[c.String()] = r.Counts[c]
	}
	for _, e := range r.Entries {
		j.Entries = append(j.Entries, entryJSON{
			Job: e.Job.ID, Name: e.Job.Name, Class: e.Class.String(), From: clock(e.From), To: clock(e.To), Fires: e.Fires, Run: e.Run,
			Reason: string(e.Why.Key), Args: e.Why.Args, Text: account.Say(e.Why, time.UTC),
		})
	}
	for _, n := range r.Notes {
		j.Notes = append(j.Notes, noteJSON{Job: n.Job.ID, Name: n.Job.Name, Kind: string(n.Kind), At: clock(n.At)})
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(j)
}
