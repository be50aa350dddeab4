package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/app/manage/transfer"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/locales"
)

type exportCmd struct {
	database
	Executor string `placeholder:"APP-NAME" help:"Only the jobs of this executor."`
	Format   string `default:"yaml" enum:"yaml,json" help:"yaml or json."`
}

type importCmd struct {
	database
	File            string `arg:"" help:"The file, as docs/jobfile.md describes it."`
	Apply           bool   `help:"Import it; otherwise only what would be done is printed."`
	ByID            bool   `help:"Find jobs by their ids: for the installation that the file came from."`
	States          bool   `help:"Start and stop jobs as the file says."`
	CreateExecutors bool   `help:"Create executors that do not exist."`
}

func (c *exportCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	out, err := app.ExportJobs(context.Background(), o, c.Executor)
	if err != nil {
		return inWords(err)
	}
	raw, err := jobfile.Write(out.File, jobfile.Format(c.Format))
	if err != nil {
		return err
	}
	if out.Orphans > 0 {
		fmt.Fprintf(s.err, "punctual: left out %s whose executor does not exist\n", app.Counted("%d {job|jobs}", out.Orphans))
	}
	_, err = s.out.Write(raw)
	return err
}

func (c *importCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	raw, err := readJobFile(c.File)
	if err != nil {
		return err
	}
	words := locales.New().Printer(locales.English)
	file, err := jobfile.Parse(raw)
	if faults, ok := errors.AsType[jobfile.Faults](err); ok {
		for _, f := range faults {
			fmt.Fprintf(s.out, "line %d: %s\n", f.Line, f.Text(words))
		}
		return fmt.Errorf("%s cannot be used; nothing was imported", c.File)
	}
	if err != nil {
		return err
	}
	plan, err := app.ImportJobs(context.Background(), o, file, transfer.Options{ByID: c.ByID, FileStates: c.States, CreateGroups: c.CreateExecutors}, c.Apply)
	if err != nil {
		return inWords(err)
	}
	return printPlan(s, words, plan, c.Apply)
}

// readJobFile reads as much of a file as can be one of jobs; more is refused by its size.
func readJobFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, setting("file", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, jobfile.MaxBytes+1))
	if err != nil {
		return nil, setting("file", err)
	}
	return []byte(strings.ReplaceAll(string(raw), "\r\n", "\n")), nil
}

// printPlan prints a line for each job that does not stay as it is, and the counts. What was refused is an error.
func printPlan(s streams, words *locales.Printer, plan transfer.Plan, applied bool) error {
	for _, app := range plan.NewGroups {
		fmt.Fprintf(s.out, "create executor %s\n", app)
	}
	for _, item := range plan.Items {
		name := fmt.Sprintf("%s: %q", item.AppName, item.Name)
		if item.ID != 0 {
			name += fmt.Sprintf(" #%d", item.ID)
		}
		switch {
		case item.Outcome == transfer.Refuse:
			for _, f := range item.Faults {
				where := fmt.Sprintf("line %d", f.Line)
				if strings.HasPrefix(f.Key, "job.error.") { // these leave it to the form to say of which field
					where += ", " + f.Name
				}
				fmt.Fprintf(s.out, "refuse %s, %s: %s\n", name, where, f.Text(words))
			}
		case item.Outcome == transfer.Change:
			fmt.Fprintf(s.out, "change %s\n", name)
			for _, c := range item.Changes {
				if strings.Contains(c.Was+c.Now, "\n") {
					fmt.Fprintf(s.out, "  %s: another text\n", c.Field)
				} else {
					fmt.Fprintf(s.out, "  %s: %q -> %q\n", c.Field, c.Was, c.Now)
				}
			}
		case item.Outcome == transfer.Create:
			fmt.Fprintf(s.out, "create %s\n", name)
		}
	}
	refused := plan.Count(transfer.Refuse)
	what := "would be done; --apply does it"
	if applied {
		what = "done"
	}
	_, err := fmt.Fprintf(s.out, "%d created, %d changed, %d as they are, %d refused: %s\n", plan.Count(transfer.Create), plan.Count(transfer.Change),
		plan.Count(transfer.Same), refused, what)
	if err == nil && refused > 0 {
		err = fmt.Errorf("%d of %s cannot be imported", refused, app.Counted("%d {job|jobs}", len(plan.Items)))
	}
	return err
}

// inWords is a refusal as the console would say it, in English.
func inWords(err error) error {
	if failed, ok := errors.AsType[*transfer.FailedError](err); ok {
		return fmt.Errorf("%s: %q: %w; nothing was imported", failed.AppName, failed.Name, inWords(failed.Unwrap()))
	}
	if p, ok := errors.AsType[*problem.Error](err); ok {
		if text := p.Text(locales.New().Printer(locales.English)); text != "" {
			return errors.New(text)
		}
	}
	return err
}
