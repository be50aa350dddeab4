package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/db"
)

type backupCmd struct {
	database
	File string `arg:"" help:"Where to, which must not be there yet."`
}

type restoreCmd struct {
	database
	File      string `arg:"" help:"A file that punctual backup wrote."`
	OverNewer bool   `help:"Also in the place of a database that has more than the backup."`
	Hold      bool   `help:"Hold what is restored, as punctual hold does."`
}

// Run backs the embedded database up, also beside an admin that runs.
func (c *backupCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	size, err := app.Backup(context.Background(), o, c.File)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s: %d bytes, checked\n", c.File, size)
	return err
}

// Run puts a backup in place.
func (c *restoreCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	var hold string
	if c.Hold {
		hold = "restored from " + c.File
	}
	kept, err := app.Restore(context.Background(), o, c.File, c.OverNewer, hold)
	if errors.Is(err, db.ErrNewer) || errors.Is(err, db.ErrUnread) {
		return fmt.Errorf("%w; with --over-newer it is replaced all the same, and kept beside it", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "restored into %s\n", c.DataDir)
	if kept != "" {
		fmt.Fprintf(s.out, "what was there is kept as %s\n", kept)
	}
	return nil
}
