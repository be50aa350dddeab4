package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/app/auditlog"
)

type auditVerifyCmd struct {
	database
	Known  string `placeholder:"SEQ:HASH" help:"A place that must be in the chain: the last line of an earlier check, or seq and hash of a shipped entry."`
	Output string `default:"text" enum:"text,json" help:"text or json."`
}

// errBroken makes the exit code 1.
var errBroken = errors.New("the audit log is not what was written")

// unchecked is why nothing can be said about the audit log; it makes the exit code 3, so that nobody takes it for a broken one.
type unchecked struct{ error }

func (e unchecked) Unwrap() error { return e.error }

var knownPlace = regexp.MustCompile(`^([1-9][0-9]{0,17}):([0-9a-f]{64})$`)

// Run checks the chain, beside admins that run too.
func (c *auditVerifyCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	var known auditlog.Place
	if c.Known != "" {
		parts := knownPlace.FindStringSubmatch(c.Known)
		if parts == nil {
			return setting("--known", fmt.Errorf("%q is not a number, a colon and a hash of 64 digits", c.Known))
		}
		known.Seq, _ = strconv.ParseInt(parts[1], 10, 64) // has 18 digits at most
		known.Hash = parts[2]
	}
	r, err := app.VerifyAudit(context.Background(), o, known)
	if _, setting := errors.AsType[*app.OptionsError](err); setting {
		return err
	} else if err != nil {
		return unchecked{inWords(err)}
	}
	if c.Output == "json" {
		err = writeVerdictJSON(s, r)
	} else {
		err = writeVerdict(s, r, known)
	}
	if err == nil && r.Fault != nil {
		err = errBroken
	}
	return err
}

// faultWords say what is wrong at a place.
var faultWords = map[auditlog.FaultKind]string{
	auditlog.Changed:  "is not as it was written",
	auditlog.Missing:  "is missing",
	auditlog.Added:    "is there a second time, or beyond the end",
	auditlog.Cut:      "and what followed are missing",
	auditlog.Replaced: "has another hash than the one that is known: the log was written anew",
}

func writeVerdict(s streams, r *auditlog.Report, known auditlog.Place) error {
	_, err := fmt.Fprintf(s.out, "entries checked: %d\nforgotten by retention: up to place %d\nwithout a place yet: %d\n", r.Entries, r.Gone, r.Waiting)
	if err == nil && known.Seq != 0 && !r.Known && r.Fault == nil {
		_, err = fmt.Fprintf(s.out, "place %d was forgotten by retention, so nothing can be said about it\n", known.Seq)
	}
	if f := r.Fault; err == nil && f != nil {
		entry := ""
		if f.ID != 0 {
			entry = fmt.Sprintf(" (/audit/%d)", f.ID)
		}
		_, err = fmt.Fprintf(s.out, "BROKEN: the entry at place %d%s %s\n", f.Seq, entry, faultWords[f.Why])
		return err
	}
	if err == nil {
		_, err = fmt.Fprintf(s.out, "whole, up to %d:%s\n", r.Head.Seq, r.Head.Hash)
	}
	return err
}

func writeVerdictJSON(s streams, r *auditlog.Report) error {
	type fault struct {
		Seq int64  `json:"seq"`
		ID  int64  `json:"id,omitempty"`
		Why string `json:"why"`
	}
	j := struct {
		OK      bool   `json:"ok"`
		Entries int64  `json:"entries"`
		Gone    int64  `json:"forgottenUpTo"`
		Waiting int64  `json:"waiting"`
		Seq     int64  `json:"seq"`
		Hash    string `json:"hash"`
		Fault   *fault `json:"fault,omitempty"`
	}{OK: r.Fault == nil, Entries: r.Entries, Gone: r.Gone, Waiting: r.Waiting, Seq: r.Head.Seq, Hash: r.Head.Hash}
	if r.Fault != nil {
		j.Fault = &fault{r.Fault.Seq, r.Fault.ID, string(r.Fault.Why)}
	}
	return json.NewEncoder(s.out).Encode(j)
}
