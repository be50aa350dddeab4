package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/punctual-job/punctual/app"
)

type migrateCmd struct {
	Up     migrateUpCmd     `cmd:"" default:"withargs" help:"Bring the database up to date (the default)."`
	Check  migrateCheckCmd  `cmd:"" help:"Say what an adoption of an XXL-JOB database would mean; only reads. Exit code 4: there is something to look at, 5: a start would refuse it."`
	Shadow migrateShadowCmd `cmd:"" help:"Plan every fire beside XXL-JOB admins that work, send nothing, and report what they kept; only reads."`
	Beside migrateBesideCmd `cmd:"" help:"Adopt the database of XXL-JOB admins that go on working: Punctual then schedules the groups that are moved to it. Punctual is stopped for it."`
	Groups migrateGroupsCmd `cmd:"" help:"List the groups and whose they are, beside XXL-JOB."`
	Move   migrateMoveCmd   `cmd:"" help:"Move the started jobs of groups to Punctual, beside XXL-JOB."`
	Return migrateReturnCmd `cmd:"" help:"Return them to XXL-JOB; Punctual must run."`
	Alone  migrateAloneCmd  `cmd:"" help:"End the work beside XXL-JOB: from its next start on Punctual schedules every job. The XXL-JOB admins and Punctual are stopped for it."`
	Back   migrateBackCmd   `cmd:"" help:"Make an adopted database ready for the XXL-JOB admin that is put back; Punctual is stopped then."`
	Finish migrateFinishCmd `cmd:"" help:"Say that there is no way back to XXL-JOB any more: passwords are kept as strong hashes from then on."`
}

type migrateUpCmd struct{ database }

func (c *migrateUpCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	where, err := app.Migrate(context.Background(), o)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, "up to date:", where)
	return err
}

type migrateBackCmd struct {
	database
	AfterCrash bool `help:"Hand over also what an admin may have sent before it crashed: some of that may be run twice."`
}

func (c *migrateBackCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	h, err := app.HandBack(context.Background(), o, c.AfterCrash)
	if err != nil {
		return err
	}
	lines := []string{fmt.Sprintf("ready for the XXL-JOB admin of %s; %s handed over", h.Release.Span(), app.Counted("%d {run that was not sent is|runs that were not sent are}", int(h.Runs)))}
	if h.Renamed {
		lines = append(lines, "its columns have their names of 3.5 again; Punctual adopts the database anew at its next start")
	}
	if len(h.Unread) > 0 {
		lines = append(lines, "users who need a new password there: "+strings.Join(h.Unread, ", "))
	}
	for _, j := range h.Strange {
		lines = append(lines, fmt.Sprintf("job %d %q will not run there as it does here: %s", j.ID, j.Name, j.Why))
	}
	for _, j := range h.Stopped {
		lines = append(lines, fmt.Sprintf("job %d %q was stopped here, because its schedule was not understood; start it there if it is to run: %s", j.ID, j.Name, j.Why))
	}
	_, err = fmt.Fprintln(s.out, strings.Join(lines, "\n"))
	return err
}

type migrateFinishCmd struct{ database }

func (c *migrateFinishCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	if err := app.FinishAdoption(context.Background(), o); err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, "finished: passwords are kept as strong hashes, each from its user's next login on")
	return err
}
