package console

import (
	"context"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/views/jobs"
)

// addStrips gives the rows of a page the strips of their runs.
func (c *Console) addStrips(ctx context.Context, rows []jobs.Row) error {
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	outcomes, err := c.cfg.Manage.Jobs.Outcomes(ctx, ids)
	if err != nil {
		return err
	}
	for i := range rows {
		rows[i].Strip = stripOf(outcomes[rows[i].ID])
	}
	return nil
}

// stripOf turns runs, newest first, into bars, oldest first.
func stripOf(outcomes []db.Outcome) jobs.Strip {
	s := make(jobs.Strip, len(outcomes))
	for i, o := range outcomes {
		s[len(outcomes)-1-i] = markOf(o)
	}
	return s
}

func markOf(o db.Outcome) jobs.Mark {
	switch {
	case o.HandleCode == wire.CodeSuccess:
		return jobs.MarkGood
	case o.HandleCode != 0:
		return jobs.MarkBad
	case o.TriggerCode == 0, o.TriggerCode == wire.CodeSuccess:
		return jobs.MarkOpen
	case o.TriggerType == "MISFIRE" && o.SentAt == 0:
		return jobs.MarkSkipped
	default:
		return jobs.MarkBad
	}
}
