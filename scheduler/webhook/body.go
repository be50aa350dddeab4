package webhook

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/event"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
)

// envelope is an event as CloudEvents 1.0 have it, in the structured mode.
type envelope struct {
	SpecVersion     string `json:"specversion"`
	ID              string `json:"id"`
	Source          string `json:"source"`
	Type            string `json:"type"`
	Time            string `json:"time"`
	Subject         string `json:"subject,omitempty"`
	DataContentType string `json:"datacontenttype"`
	Data            data   `json:"data"`
}

// data is what an event tells. Each part is there when the event is about one.
type data struct {
	Run      *runData      `json:"run,omitempty"`
	Job      *jobData      `json:"job,omitempty"`
	Group    *groupData    `json:"group,omitempty"`
	Executor *executorData `json:"executor,omitempty"`
	Alarm    *alarmData    `json:"alarm,omitempty"`
	Dropped  *droppedData  `json:"dropped,omitempty"`
	By       string        `json:"by,omitempty"`
}

type runData struct {
	ID         int64               `json:"id"`
	State      runstate.State      `json:"state"`
	Code       int64               `json:"code,omitempty"`
	Again      bool                `json:"retry_follows"`
	RetryOf    int64               `json:"retry_of,omitempty"`
	Trigger    jobspec.TriggerType `json:"trigger,omitempty"`
	Planned    *time.Time          `json:"planned_at,omitempty"`
	PlannedFor *time.Time          `json:"planned_for,omitempty"`
	Sent       *time.Time          `json:"sent_at,omitempty"`
	Finished   *time.Time          `json:"finished_at,omitempty"`
	Executor   string              `json:"executor,omitempty"`
	URL        string              `json:"url,omitempty"`
}

type jobData struct {
	ID   int64  `json:"id"`
	Name string `json:"name,omitempty"`
}

type groupData struct {
	ID  int64  `json:"id"`
	App string `json:"app_name,omitempty"`
}

type executorData struct {
	Address string `json:"address"`
}

type alarmData struct {
	Cause string `json:"cause"`
	Count int64  `json:"count"`
}

type droppedData struct {
	Count int64      `json:"count"`
	Since *time.Time `json:"since,omitempty"`
}

// about are the rows that a page of deliveries is about.
type about struct {
	runs   map[int64]db.ListRunsToTellRow
	jobs   map[int64]db.ListJobsToTellRow
	groups map[int64]db.ListGroupsToTellRow
}

func (s *Service) readAbout(ctx context.Context, page []db.WebhookDelivery) (about, error) {
	var runs, jobs, groups []int64
	for i := range page {
		runs, jobs, groups = append(runs, page[i].LogID), append(jobs, page[i].JobID), append(groups, page[i].JobGroup)
	}
	a := about{runs: make(map[int64]db.ListRunsToTellRow), jobs: make(map[int64]db.ListJobsToTellRow), groups: make(map[int64]db.ListGroupsToTellRow)}
	r, err := s.queries.ListRunsToTell(ctx, s.cfg.Pool, distinct(runs))
	if err != nil {
		return a, err
	}
	for i := range r {
		a.runs[r[i].ID] = r[i]
	}
	j, err := s.queries.ListJobsToTell(ctx, s.cfg.Pool, distinct(jobs))
	if err != nil {
		return a, err
	}
	for i := range j {
		a.jobs[j[i].ID] = j[i]
	}
	g, err := s.queries.ListGroupsToTell(ctx, s.cfg.Pool, distinct(groups))
	for i := range g {
		a.groups[g[i].ID] = g[i]
	}
	return a, err
}

func distinct(ids []int64) []int64 {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// EventID is what receivers know an event by, the same for every try of a delivery. It says when the event happened too, because a database
// that was restored, or has failed over to a replica that was behind, gives the number alone once more, and the receiver would take what
// comes then for what it has had.
func EventID(id, happenedAt int64) string {
	return "evt_" + strconv.FormatInt(id, 10) + "_" + strconv.FormatInt(happenedAt, 36)
}

// factsOf are the facts of a delivery.
func factsOf(d *db.WebhookDelivery) (facts Facts, err error) {
	if d.Facts != "" {
		err = json.Unmarshal([]byte(d.Facts), &facts)
	}
	return facts, err
}

// body is a delivery as it is sent.
func (s *Service) body(d *db.WebhookDelivery, a *about) ([]byte, error) {
	facts, err := factsOf(d)
	if err != nil {
		return nil, err
	}
	e := envelope{
		SpecVersion: "1.0", ID: EventID(d.ID, d.HappenedAt), Source: s.cfg.Source(), Type: d.Type, Time: time.UnixMilli(d.HappenedAt).UTC().Format(time.RFC3339Nano),
		DataContentType: "application/json", Data: data{By: facts.By},
	}
	if d.JobGroup != 0 {
		g := a.groups[d.JobGroup]
		e.Data.Group, e.Subject = &groupData{ID: d.JobGroup, App: cmpOr(g.AppName, facts.App)}, "groups/"+strconv.FormatInt(d.JobGroup, 10)
	}
	if d.JobID != 0 {
		j := a.jobs[d.JobID]
		e.Data.Job, e.Subject = &jobData{ID: d.JobID, Name: cmpOr(facts.Name, j.JobDesc)}, "jobs/"+strconv.FormatInt(d.JobID, 10)
	}
	if d.LogID != 0 {
		e.Data.Run, e.Subject = s.runData(d, a), "runs/"+strconv.FormatInt(d.LogID, 10)
	}
	switch Type(d.Type) {
	case ExecutorRegistered, ExecutorSilent, ExecutorRemoved:
		e.Data.Executor = &executorData{Address: facts.Address}
	case AlarmRaised, AlarmRecovered:
		e.Data.Alarm = &alarmData{Cause: facts.Cause, Count: facts.Count}
	case WebhookDropped:
		e.Data.Dropped = &droppedData{Count: facts.Count, Since: facts.Since}
	case RunSent, RunFinished, JobCreated, JobUpdated, JobDeleted, JobStarted, JobStopped, WebhookTest:
	}
	return json.Marshal(e)
}

// runData tells of a run: what is in the delivery as it was then, the rest as its row has it, if it is still there.
func (s *Service) runData(d *db.WebhookDelivery, a *about) *runData {
	run := &runData{ID: d.LogID, URL: s.cfg.RunLink(d.LogID)}
	r := a.runs[d.LogID]
	run.Trigger, run.Executor = r.TriggerType, r.Address
	run.Planned, run.PlannedFor, run.Sent = moment(r.PlannedAt), moment(r.PlannedFor), moment(r.SentAt)
	if r.TriggerType == jobspec.TriggerRetry {
		run.RetryOf = r.OriginLogID
	}
	switch Type(d.Type) {
	case RunSent:
		run.State = runstate.Sent
	case RunFinished:
		run.Code, run.Again, run.Finished = d.Code, d.Again == 1, moment(d.HappenedAt)
		run.State = runstate.Of(event.Outcome(d.Outcome), r.TriggerCode, d.Code, "")
	default:
		run.State = runstate.Of(event.Open, r.TriggerCode, r.HandleCode, "")
	}
	return run
}

func moment(ms int64) *time.Time {
	if ms == 0 {
		return nil
	}
	t := time.UnixMilli(ms).UTC()
	return &t
}

func cmpOr[T ~string](a string, b T) string {
	if a != "" {
		return a
	}
	return string(b)
}
