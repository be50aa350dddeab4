package webhook

import (
	"time"

	"github.com/punctual-job/punctual/scheduler/event"
)

// Type is what an event is about, as CloudEvents have it.
type Type string

const (
	RunSent            Type = "punctual.run.sent"
	RunFinished        Type = "punctual.run.finished"
	JobCreated         Type = "punctual.job.created"
	JobUpdated         Type = "punctual.job.updated"
	JobDeleted         Type = "punctual.job.deleted"
	JobStarted         Type = "punctual.job.started"
	JobStopped         Type = "punctual.job.stopped"
	ExecutorRegistered Type = "punctual.executor.registered"
	ExecutorSilent     Type = "punctual.executor.silent"  // its beats stopped
	ExecutorRemoved    Type = "punctual.executor.removed" // it took its leave
	AlarmRaised        Type = "punctual.alarm.raised"
	AlarmRecovered     Type = "punctual.alarm.recovered"

	// WebhookTest is sent when somebody asks for it, and WebhookDropped where events were not kept. Every webhook gets them.
	WebhookTest    Type = "punctual.webhook.test"
	WebhookDropped Type = "punctual.webhook.dropped"
)

// Types are those that a webhook can ask for.
func Types() []Type {
	return []Type{RunSent, RunFinished, JobCreated, JobUpdated, JobDeleted, JobStarted, JobStopped, ExecutorRegistered, ExecutorSilent, ExecutorRemoved, AlarmRaised, AlarmRecovered}
}

// Event is something that happened.
type Event struct {
	Type            Type
	Group, Job, Run int64 // 0: not about one
	From            int64 // the group that the job was in before; 0: the same
	At              time.Time
	Outcome         event.Outcome // of a run that finished
	Code            int64         // of a run that finished: its result, as executors report it
	Again           bool          // of a run that finished: another attempt follows
	Facts           Facts
}

// Facts are what an event tells beside the rows that it is about, because they are gone or changed when it is sent.
type Facts struct {
	Address string     `json:"address,omitempty"` // of an executor
	App     string     `json:"app,omitempty"`     // the name under which an executor registered
	Name    string     `json:"name,omitempty"`    // of a job
	Tags    string     `json:"tags,omitempty"`    // of a job: those that it had, where its row does not tell; of what is kept, those by which a webhook wants it
	By      string     `json:"by,omitempty"`      // who did it
	Cause   string     `json:"cause,omitempty"`   // of an alarm
	Count   int64      `json:"count,omitempty"`   // of failures in an alarm, and of events that were dropped
	Since   *time.Time `json:"since,omitempty"`   // from when on events were dropped
}
