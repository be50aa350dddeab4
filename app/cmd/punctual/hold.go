package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/app/problem"
)

// Run holds the database.
func (c *holdCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	if err := app.Hold(context.Background(), o, c.Reason); err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, "held: admins that start on this database wait for punctual hold end, or for an administrator on the page of nodes")
	return err
}

// Run ends the hold.
func (c *holdEndCmd) Run(s streams) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	err = app.EndHold(context.Background(), o, c.OwnStore)
	if p, refused := errors.AsType[*problem.Error](err); refused && p.Kind == problem.Conflict {
		return errors.New("the database is not held")
	}
	if err == nil {
		_, err = fmt.Fprintln(s.out, "the hold has ended: the admins on this database begin within a few seconds")
	}
	return err
}
