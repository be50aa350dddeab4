package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/db"
)

type logCmd struct {
	Partitions logPartitionsCmd `cmd:"" help:"List the partitions of the log."`
	Partition  logPartitionCmd  `cmd:"" help:"Keep the log in partitions, so that old runs go a day at a time and not row by row; without --apply only say what that would do. Every admin is stopped for it. Of a log in partitions it adds what is missing ahead."`
	Join       logJoinCmd       `cmd:"" help:"Make the log one table again: all of it is written anew. Every admin is stopped for it."`
}

type logPartitionsCmd struct{ database }

func (c *logPartitionsCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	list, err := app.LogPartitions(context.Background(), o)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		_, err = fmt.Fprintln(s.out, "The log is one table.")
		return err
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PARTITION\tRUNS FROM\tBELOW\tMB")
	for _, l := range list {
		below := fmt.Sprint(l.Below)
		if l.Below == 0 {
			below = "-"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\n", l.Name, l.From, below, l.Bytes>>20)
	}
	return w.Flush()
}

type logPartitionCmd struct {
	database
	Runs  int64 `placeholder:"N" help:"Runs in a partition, at least a million; default those of a day."`
	Apply bool  `help:"Do it."`
	Copy  bool  `help:"Write the whole log anew, where the server cannot make the table a partition as it is."`
}

func (c *logPartitionCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	ctx := context.Background()
	plan, err := app.PlanLog(ctx, o, c.Runs)
	if errors.Is(err, db.ErrPartitioned) && c.Apply {
		added, err := app.ExtendLog(ctx, o)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(s.out, app.Counted("%d {partition was|partitions were} added ahead of the newest run", added))
		return err
	}
	if err != nil {
		return err
	}
	how := "the table becomes the first of them as it is, and is read once"
	if c.Copy {
		how = "all of it is written anew, which needs as much space again"
	}
	fmt.Fprintf(s.out, "The log has some %d runs in %d MB, and %d a day. Partitions of %d runs: %s.\n", plan.Runs, plan.Bytes>>20, plan.PerDay, plan.Width, how)
	if !c.Apply {
		_, err = fmt.Fprintln(s.out, "Nothing was changed. Stop every admin, XXL-JOB's too, and add --apply.")
		return err
	}
	err = app.PartitionLog(ctx, o, plan, c.Copy)
	if errors.Is(err, db.ErrMustCopy) {
		return fmt.Errorf("%w: add --copy", err)
	} else if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, "Done. The admins can be started; they add partitions, and drop those whose runs are all too old.")
	return err
}

type logJoinCmd struct {
	database
	Apply bool `help:"Do it."`
}

func (c *logJoinCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	if !c.Apply {
		return errors.New("all of the log is written anew, which needs as much space again: stop every admin, XXL-JOB's too, and add --apply")
	}
	if err := app.JoinLog(context.Background(), o); err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, "The log is one table again.")
	return err
}
