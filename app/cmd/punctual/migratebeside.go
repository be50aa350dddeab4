package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/punctual-job/punctual/app"
)

type migrateBesideCmd struct{ database }

func (c *migrateBesideCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	where, err := app.BeginBeside(context.Background(), o)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "beside XXL-JOB: %s; every group is XXL-JOB's until it is moved. Start Punctual, then: punctual migrate move GROUP\n", where)
	return err
}

type migrateAloneCmd struct {
	database
	XXLJobStopped bool `name:"xxl-job-stopped" help:"Say that every XXL-JOB admin is stopped: what one of them would still schedule would be run twice."`
}

func (c *migrateAloneCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	if !c.XXLJobStopped {
		return errors.New("stop every XXL-JOB admin first, and say so with --xxl-job-stopped: what one of them still scheduled would be run twice")
	}
	theirs, err := app.EndBeside(context.Background(), o)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, "Punctual schedules every started job from its next start on, "+app.Counted("%d of which {was|were} XXL-JOB's until now", int(theirs)))
	return err
}

type migrateGroupsCmd struct{ database }

func (c *migrateGroupsCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	list, err := app.BesideGroups(context.Background(), o)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "APP NAME\tSCHEDULED BY\tSTARTED JOBS\tOPEN RUNS OF PUNCTUAL\tREMARK")
	for _, g := range list {
		by, remark := "XXL-JOB", ""
		if g.Ours {
			by = "Punctual"
		}
		if g.Strays > 0 {
			remark = app.Counted("%d more {was|were} started in XXL-JOB, which schedules {it|them}; move the group again", int(g.Strays))
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\n", g.AppName, by, g.Jobs, g.Open, remark)
	}
	return w.Flush()
}

// handed are the groups of a command.
type handed struct {
	Groups []string `arg:"" optional:"" name:"app-name" help:"The groups, by their app names."`
	All    bool     `help:"All that are not there yet."`
}

func (h *handed) run(s streams, db database, back bool, to string) error {
	o, err := db.options(s)
	if err != nil {
		return err
	}
	if h.All == (len(h.Groups) > 0) {
		return errors.New("name the groups by their app names, or all of them with --all; punctual migrate groups lists them")
	}
	groups, jobs, err := app.HandOver(context.Background(), o, h.Groups, h.All, back)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s schedules %s with %s\n", to, app.Counted("%d more {group|groups}", groups), app.Counted("%d started {job|jobs}", int(jobs)))
	return err
}

type migrateMoveCmd struct {
	database
	handed
}

func (c *migrateMoveCmd) Run(s streams) error { return c.run(s, c.database, false, "Punctual") }

type migrateReturnCmd struct {
	database
	handed
}

func (c *migrateReturnCmd) Run(s streams) error { return c.run(s, c.database, true, "XXL-JOB") }
