package api

import (
	"cmp"
	"context"
	"database/sql"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
)

// run is a run as a list has it.
type run = RunFields

// RunFields are what lists and single runs have in common.
type RunFields struct {
	ID          int64               `json:"id" minimum:"1"`
	JobID       int64               `json:"job_id"`
	Job         string              `json:"job" doc:"What its job is called now; empty: the job is deleted, or one that the token may not see."`
	GroupID     int64               `json:"group_id"`
	State       runstate.State      `json:"state" enum:"waiting,sent,success,failed,timeout,sendfailed,unconfirmed,killed,lost,skipped,discarded,cancelled,stopped" doc:"Where it stands. It has ended unless it is waiting or sent."`
	Ended       bool                `json:"ended" doc:"Whether it has ended."`
	Trigger     jobspec.TriggerType `json:"trigger" doc:"What caused it."`
	Handler     string              `json:"handler"`
	Parameter   string              `json:"parameter"`
	Address     string              `json:"address" doc:"The executor that has it; empty as long as there is none."`
	Shard       string              `json:"shard" doc:"Of a broadcast: its number and how many there are, as in 0/3."`
	RetriesLeft int64               `json:"retries_left"`
	Again       bool                `json:"again_after_loss" doc:"Whether it repeats a lost run beyond the retries of its job, because the job wants that (when_lost)."`
	PlannedAt   *time.Time          `json:"planned_at"`
	PlannedFor  *time.Time          `json:"planned_for" doc:"The time of the schedule that it is for: that of the first attempt of a retry, the parent's of a child, the last missed one of a run that makes up for some."`
	TriggeredAt *time.Time          `json:"triggered_at"`
	SentAt      *time.Time          `json:"sent_at"`
	FinishedAt  *time.Time          `json:"finished_at"`
	EndedAfter  *time.Time          `json:"ended_after" doc:"Where it is not known exactly when the run ended, because its result may have waited until an admin could take it: it ended between this and finished_at, and took no longer than from sent_at to finished_at. Otherwise null: it ended at finished_at."`
	KillAskedAt *time.Time          `json:"kill_asked_at" doc:"When somebody wanted it ended."`
	Origin      int64               `json:"origin_run_id" doc:"The run that this one repeats after a failure; 0: none."`
	Message     string              `json:"message" doc:"The first line of what there is to say about it, in the language of Accept-Language."`
}

// runEvent is one thing that happened to a run.
type runEvent struct {
	At   *time.Time `json:"at"`
	Key  event.Key  `json:"key" doc:"What happened, for programs."`
	Args []string   `json:"args" doc:"The values of text, in an order that belongs to the key."`
	Text string     `json:"text" doc:"The same in the language of Accept-Language."`
}

// shard is another run of the same broadcast.
type shard struct {
	ID    int64          `json:"id"`
	Shard string         `json:"shard"`
	State runstate.State `json:"state"`
}

// wholeRun is a run with its history.
type wholeRun struct {
	RunFields
	Said      []string   `json:"said" doc:"What the executor said of its result, line by line."`
	Events    []runEvent `json:"events" doc:"What happened to it, in order."`
	Followers []int64    `json:"follower_ids" doc:"The runs that came of it: a retry, or runs of child jobs."`
	Errors    *int64     `json:"error_lines" doc:"How many lines of its output have ERROR or the name of an exception; null where no copy of the output is kept."`
	Shards    []shard    `json:"shards" doc:"All runs of the broadcast that it belongs to."`
	Steps     []runStep  `json:"steps,omitempty" doc:"Of a run of a flow: its steps, as they are defined."`
	Unread    string     `json:"steps_unread,omitempty" doc:"Of a run of a flow whose definition this version cannot read: why. It has no steps then, and can be ended."`
	StepOf    *stepOf    `json:"step_of,omitempty" doc:"Of a run that is a step of a run of a flow: which."`
}

// recorded is what is on record of a run.
func (a *API) recorded(r db.RunRow) *runstate.Run {
	return &runstate.Run{
		Outcome: r.Outcome, Events: event.Parse(r.Events), TriggerCode: r.TriggerCode, HandleCode: r.HandleCode, TriggerNote: r.TriggerNote, HandleNote: r.HandleNote,
		Address: string(r.ExecutorAddress), Triggered: a.wallTime(r.TriggerTime), Handled: a.wallTime(r.HandleTime), Planned: r.PlannedAt, Sent: r.SentAt, Finished: r.FinishedAt,
	}
}

func (a *API) wallTime(at sql.NullTime) time.Time {
	if !at.Valid {
		return time.Time{}
	}
	return a.Pool.FromWall(at.Time)
}

func (a *API) teller(r *request) event.Teller {
	return event.Teller{Printer: r.printer, Zone: a.Pool.Zone()}
}

// readRuns are runs as a list has them, with the names of those of their jobs that the principal may see.
func (a *API) readRuns(ctx context.Context, p auth.Principal, teller event.Teller, rows []db.RunRow) ([]run, error) {
	names, err := a.Manage.Jobs.NamesOf(ctx, p, db.IDs(rows, func(r *db.RunRow) int64 { return r.JobID }))
	if err != nil {
		return nil, err
	}
	runs := make([]run, len(rows))
	for i, r := range rows {
		runs[i] = a.readRun(teller, r)
		runs[i].Job = names[r.JobID]
	}
	return runs, nil
}

func (a *API) readRun(teller event.Teller, r db.RunRow) run {
	record := a.recorded(r)
	state := record.State()
	return run{
		ID: r.ID, JobID: r.JobID, GroupID: r.JobGroup, State: state, Ended: !state.Open(), Trigger: r.TriggerType, Handler: string(r.ExecutorHandler),
		Parameter: string(r.ExecutorParam), Address: string(r.ExecutorAddress), Shard: string(r.ExecutorShardingParam), RetriesLeft: max(0, r.ExecutorFailRetryCount), Again: r.ExecutorFailRetryCount < 0,
		PlannedAt: momentOf(r.PlannedAt), PlannedFor: momentOf(cmp.Or(r.PlannedFor, r.PlannedAt)), TriggeredAt: a.wall(r.TriggerTime), SentAt: momentOf(r.SentAt), FinishedAt: momentOf(r.FinishedAt), EndedAfter: moment(record.EndsFrom()),
		KillAskedAt: momentOf(r.KillAskedAt), Origin: r.OriginLogID, Message: record.Message(teller),
	}
}

// rowOf is a whole run as lists have one.
func rowOf(r db.Run) db.RunRow {
	return db.RunRow{
		ID: r.ID, JobGroup: r.JobGroup, JobID: r.JobID, ExecutorAddress: r.ExecutorAddress, ExecutorHandler: r.ExecutorHandler, ExecutorParam: r.ExecutorParam,
		ExecutorShardingParam: r.ExecutorShardingParam, ExecutorFailRetryCount: r.ExecutorFailRetryCount, TriggerTime: r.TriggerTime, TriggerCode: r.TriggerCode,
		HandleTime: r.HandleTime, HandleCode: r.HandleCode, PlannedAt: r.PlannedAt, PlannedFor: r.PlannedFor, OwnerNode: r.OwnerNode, TriggerType: r.TriggerType, OriginLogID: r.OriginLogID,
		SentAt: r.SentAt, FinishedAt: r.FinishedAt, Outcome: r.Outcome, KillAskedAt: r.KillAskedAt, Events: string(r.Events), TriggerNote: string(r.TriggerMsg), HandleNote: string(r.HandleMsg),
	}
}

func (a *API) readWholeRun(ctx context.Context, p auth.Principal, teller event.Teller, r db.Run, shards []db.ListShardsRow) (wholeRun, error) {
	row := rowOf(r)
	read, err := a.readRuns(ctx, p, teller, []db.RunRow{row})
	if err != nil {
		return wholeRun{}, err
	}
	record := a.recorded(row)
	out := wholeRun{RunFields: read[0], Said: append([]string{}, record.Words()...), Events: []runEvent{}, Followers: append([]int64{}, record.Followers()...), Shards: []shard{}}
	for _, e := range record.Events {
		out.Events = append(out.Events, runEvent{At: momentOf(e.At), Key: e.Key, Args: e.PlainArgs(), Text: teller.Tell(e)})
	}
	for _, s := range shards {
		out.Shards = append(out.Shards, shard{ID: s.ID, Shard: string(s.ExecutorShardingParam), State: runstate.Of(s.Outcome, s.TriggerCode, s.HandleCode, s.HandleNote)})
	}
	return out, nil
}
