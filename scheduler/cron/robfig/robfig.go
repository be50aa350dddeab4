// Package robfig lets whatever speaks github.com/robfig/cron use XXL-JOB's dialect: its runner, and libraries that take its Schedule.
//
//	c := cron.New(cron.WithParser(robfig.Parser{}))
//	c.AddFunc("0 30 9 ? * 2#1", …) // half past nine on the first Monday of the month
//
// Why its own parser cannot read these texts, with figures, is in docs/decisions.md.
package robfig

import (
	"time"

	"github.com/robfig/cron/v3"

	dialect "github.com/punctual-job/punctual/scheduler/cron"
)

// Parser reads XXL-JOB's dialect for a runner. It takes no "TZ=" and no "@every": neither is of the dialect.
type Parser struct {
	// Zone is where the texts are read; nil is the runner's zone.
	Zone *time.Location
}

var (
	_ cron.ScheduleParser = Parser{}
	_ cron.Schedule       = dialect.Schedule{}
)

// Parse reads a cron text. The error is a [*dialect.ParseError] or a [*dialect.EvalError].
func (p Parser) Parse(text string) (cron.Schedule, error) {
	expression, err := dialect.Parse(text)
	if err != nil {
		return nil, err
	}
	schedule, err := expression.In(p.Zone)
	if err != nil {
		return nil, err
	}
	return schedule, nil
}
