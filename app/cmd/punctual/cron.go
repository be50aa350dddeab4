package main

import (
	"fmt"
	"time"

	"github.com/punctual-job/punctual/app"
	"github.com/punctual-job/punctual/scheduler/cron"
)

type cronNextCmd struct {
	Expression string `arg:"" name:"expr" help:"Six or seven fields: second minute hour day-of-month month day-of-week [year]."`
	Zone       string `help:"Time zone, such as Asia/Shanghai; default the machine's."`
	After      string `help:"Times after this one, as 2026-01-02T15:04:05+08:00; default now."`
	Count      int    `short:"n" default:"5" help:"How many."`
}

// maxTimes bounds the times printed.
const maxTimes = 10_000

// Run prints one time a line. Fewer than asked for mean that the schedule ends; a text that is no expression is a failure.
func (c *cronNextCmd) Run(s streams) error {
	zone := time.Local
	if c.Zone != "" {
		var err error
		if zone, err = time.LoadLocation(c.Zone); err != nil {
			return setting("--zone", fmt.Errorf("%q is not a time zone", c.Zone))
		}
	}
	at := time.Now()
	if c.After != "" {
		var err error
		if at, err = time.Parse(time.RFC3339, c.After); err != nil {
			return setting("--after", fmt.Errorf("%q is not a time of the form 2026-01-02T15:04:05+08:00", c.After))
		}
	}
	if c.Count < 1 || c.Count > maxTimes {
		return &app.OptionsError{Err: fmt.Errorf("-n %d must lie between 1 and %d", c.Count, maxTimes)}
	}
	e, err := cron.Parse(c.Expression)
	if err != nil {
		return err
	}
	schedule, err := e.In(zone)
	if err != nil {
		return err
	}
	for range c.Count {
		next := schedule.Next(at)
		if next.IsZero() {
			return nil
		}
		if _, err := fmt.Fprintln(s.out, next.In(zone).Format(time.RFC3339)); err != nil {
			return err
		}
		at = next
	}
	return nil
}
