package console

import (
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/runstate"
)

// record is what a row of a list has on record of its run.
func (c *frame) record(r db.RunRow) *runstate.Run {
	return &runstate.Run{
		Outcome: r.Outcome, Events: event.Parse(r.Events),
		TriggerCode: r.TriggerCode, HandleCode: r.HandleCode, TriggerNote: r.TriggerNote, HandleNote: r.HandleNote,
		Address: string(r.ExecutorAddress), Triggered: c.wall.InstantOf(r.TriggerTime), Handled: c.wall.InstantOf(r.HandleTime), Planned: r.PlannedAt, Sent: r.SentAt,
		Finished: r.FinishedAt,
	}
}

func (c *frame) wholeRecord(r db.Run) *runstate.Run {
	return c.record(db.RunRow{
		Outcome: r.Outcome, Events: string(r.Events),
		TriggerCode: r.TriggerCode, HandleCode: r.HandleCode, TriggerNote: string(r.TriggerMsg), HandleNote: string(r.HandleMsg),
		ExecutorAddress: r.ExecutorAddress, TriggerTime: r.TriggerTime, HandleTime: r.HandleTime, PlannedAt: r.PlannedAt, PlannedFor: r.PlannedFor, SentAt: r.SentAt,
		FinishedAt: r.FinishedAt,
	})
}
