package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/app/client"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/app/manage/transfer"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/locales"
)

type exportCmd struct {
	database
	Group  string `placeholder:"APP-NAME" help:"Only the jobs of this group of executors."`
	Format string `default:"yaml" enum:"yaml,json" help:"yaml or json."`
	Dir    string `placeholder:"DIR" help:"Write a file for each group of executors into this folder, or several of one with more jobs than a file takes."`
}

type importCmd struct {
	database
	Files        []string `arg:"" name:"file" help:"A file, as docs/jobfile.md describes it, or a folder with such files."`
	Apply        bool     `help:"Import it; otherwise only what would be done is printed."`
	ByID         bool     `help:"Find jobs by their ids: for the installation that the file came from."`
	States       bool     `help:"Start and stop jobs as the file says."`
	CreateGroups bool     `help:"Create groups of executors that do not exist."`
}

func (c *exportCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	return app.ExportJobs(context.Background(), o, c.Group, func(groups []db.Group, only int64, texts app.JobTexts) error {
		if c.Dir != "" {
			return c.intoDir(s, groups, only, texts)
		}
		out, text, _, err := texts(manage.JobFilter{Status: manage.AnyStatus, Group: only}, jobfile.Format(c.Format))
		if p, ok := errors.AsType[*problem.Error](err); ok && p.Key == "problem.export.many" {
			return fmt.Errorf("a file has no more than %d jobs: --dir FOLDER writes as many files as it takes", jobfile.MaxJobs)
		}
		if err != nil {
			return inWords(err)
		}
		if out.Orphans > 0 {
			fmt.Fprintf(s.err, "punctual: left out %s whose executor does not exist\n", app.Counted("%d {job|jobs}", out.Orphans))
		}
		_, err = s.out.Write(text)
		return err
	})
}

func (c *exportCmd) intoDir(s streams, groups []db.Group, only int64, texts app.JobTexts) error {
	named := make([]client.ExportedGroup, len(groups))
	for i, g := range groups {
		named[i] = client.ExportedGroup{ID: g.ID, AppName: g.AppName}
	}
	return client.IntoDir(client.Streams{Out: s.out, Err: s.err}, c.Dir, c.Format, named, func(group int64, cursor string) (page client.ExportedJobs, err error) {
		if only != 0 && only != group {
			return page, client.ErrNoJobs
		}
		f := manage.JobFilter{Status: manage.AnyStatus, Group: group, Limit: jobfile.MaxJobs}
		if group == 0 {
			f.Limit = 1
		}
		if cursor != "" {
			if f.Below, err = strconv.ParseInt(cursor, 10, 64); err != nil {
				return page, err
			}
		}
		out, text, next, err := texts(f, jobfile.Format(c.Format))
		if err != nil {
			return page, inWords(err)
		}
		if next > 0 {
			page.Next = strconv.FormatInt(next, 10)
		}
		page.Text, page.Jobs, page.Scripts, page.Orphans = string(text), out.Jobs, out.Scripts, out.Orphans
		return page, nil
	})
}

func (c *importCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	texts, err := client.ReadFiles(c.Files, s.in)
	if err != nil {
		return setting("file", err)
	}
	words := locales.New().Printer(locales.English)
	raws := make([][]byte, len(texts))
	for i, t := range texts {
		raws[i] = []byte(t.Text)
	}
	var file jobfile.File
	parts, wrong := jobfile.ParseTogether(raws...)
	faults := 0
	for i, part := range parts {
		file.Add(part, texts[i].Name)
		for _, f := range wrong[i] {
			fmt.Fprintf(s.out, "%s:%d: %s\n", texts[i].Name, f.Line, f.Text(words))
			faults++
		}
	}
	if faults > 0 {
		return fmt.Errorf("%s cannot be used; nothing was imported", strings.Join(c.Files, ", "))
	}
	plan, err := app.ImportJobs(context.Background(), o, file, transfer.Options{ByID: c.ByID, FileStates: c.States, CreateGroups: c.CreateGroups}, c.Apply)
	if err != nil {
		return inWords(err)
	}
	return printPlan(s, words, plan, c.Apply)
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
				where := fmt.Sprintf("%s:%d", item.From, f.Line)
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
