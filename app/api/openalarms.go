package api

import (
	"context"
	"net/http"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/scheduler"
)

// openAlarm is an alarm that has not recovered.
type openAlarm struct {
	Cause   scheduler.AlarmCause `json:"cause"`
	Since   time.Time            `json:"since"`
	Count   int                  `json:"count" doc:"How often it happened."`
	Run     int64                `json:"run_id" doc:"The newest; 0: it is about no run."`
	AckedBy string               `json:"acknowledged_by" doc:"Who looks after it; empty: nobody."`
	AckedAt *time.Time           `json:"acknowledged_at"`
	Remark  string               `json:"remark" doc:"What they said."`
}

// openAlarms are those of a job.
type openAlarms struct {
	Job     int64       `json:"job_id" minimum:"1"`
	JobName string      `json:"job"`
	Group   int64       `json:"group_id"`
	Alarms  []openAlarm `json:"alarms" doc:"By cause; none: the job does well, or fails while no channel is set."`
}

func readOpen(j manage.OpenAlarm) openAlarms {
	out := openAlarms{Job: j.ID, JobName: j.Name, Group: j.Group, Alarms: []openAlarm{}}
	for _, o := range j.Alarms {
		out.Alarms = append(out.Alarms, openAlarm{Cause: o.Cause, Since: o.Since, Count: o.Count, Run: o.Run, AckedBy: o.AckedBy, AckedAt: moment(o.AckedAt), Remark: o.Remark})
	}
	return out
}

func (a *API) openAlarmsOf(ctx context.Context, p auth.Principal, jobID int64) (*struct{ Body openAlarms }, error) {
	j, err := a.Manage.OpenAlarms.Get(ctx, p, jobID)
	if err != nil {
		return nil, err
	}
	return &struct{ Body openAlarms }{readOpen(j)}, nil
}

func (a *API) openAlarms() {
	const tag = "alarms"
	add(a, op{method: http.MethodGet, path: "/alarms/open", id: "listOpenAlarms", tag: tag, summary: "List the jobs with open alarms, the newest job first",
		text: "An alarm is open from its first failure to the job's next success."},
		func(ctx context.Context, p auth.Principal, in *Page) (*listOf[openAlarms], error) {
			below, err := in.after()
			if err != nil {
				return nil, err
			}
			rows, _, err := a.Manage.OpenAlarms.List(ctx, p, below, in.Limit+1)
			if err != nil {
				return nil, err
			}
			return cut(madeOf(rows, readOpen), in.Limit, func(j openAlarms) int64 { return j.Job }), nil
		})
	add(a, op{method: http.MethodGet, path: "/alarms/open/{id}", id: "getOpenAlarms", tag: tag, summary: "Get the open alarms of a job"},
		func(ctx context.Context, p auth.Principal, in *JobID) (*struct{ Body openAlarms }, error) {
			return a.openAlarmsOf(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodPost, path: "/alarms/open/{id}/acknowledge", id: "acknowledgeAlarms", tag: tag, summary: "Say that you look after the open alarms of a job",
		text: "They are told no more until the job recovers. It is a conflict when somebody looks after all of them, and when nothing is open and the job's newest run did not fail."},
		func(ctx context.Context, p auth.Principal, in *struct {
			JobID
			Body *struct {
				Remark string `json:"remark,omitempty" maxLength:"255" doc:"Whoever sees the job reads it."`
			}
		}) (*struct{ Body openAlarms }, error) {
			remark := ""
			if in.Body != nil {
				remark = in.Body.Remark
			}
			if err := a.Manage.OpenAlarms.Acknowledge(ctx, p, in.ID, remark); err != nil {
				return nil, err
			}
			did(ctx)
			return a.openAlarmsOf(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodPost, path: "/alarms/open/{id}/unacknowledge", id: "unacknowledgeAlarms", tag: tag, summary: "Take back that somebody looks after the open alarms of a job",
		text: "They are told again."},
		func(ctx context.Context, p auth.Principal, in *JobID) (*struct{ Body openAlarms }, error) {
			if err := a.Manage.OpenAlarms.Unacknowledge(ctx, p, in.ID); err != nil {
				return nil, err
			}
			did(ctx)
			return a.openAlarmsOf(ctx, p, in.ID)
		})
}
