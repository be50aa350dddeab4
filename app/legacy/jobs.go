package legacy

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// maxJobs is how many jobs come at once.
const maxJobs = 5000

// jobRow is a job as XXL-JOB's lists have it.
type jobRow struct {
	ID              int64   `json:"id"`
	Group           int64   `json:"jobGroup"`
	Desc            *string `json:"jobDesc,omitempty"`
	Name            *string `json:"name,omitempty"`
	AddTime         any     `json:"addTime"`
	UpdateTime      any     `json:"updateTime"`
	Author          string  `json:"author"`
	AlarmEmail      string  `json:"alarmEmail"`
	ScheduleType    string  `json:"scheduleType"`
	ScheduleConf    string  `json:"scheduleConf"`
	Misfire         string  `json:"misfireStrategy"`
	Route           string  `json:"executorRouteStrategy"`
	Handler         string  `json:"executorHandler"`
	Param           string  `json:"executorParam"`
	Block           string  `json:"executorBlockStrategy"`
	Timeout         int64   `json:"executorTimeout"`
	Retries         int64   `json:"executorFailRetryCount"`
	GlueType        string  `json:"glueType"`
	GlueSource      string  `json:"glueSource"`
	GlueRemark      string  `json:"glueRemark"`
	GlueUpdateTime  any     `json:"glueUpdatetime"`
	Children        string  `json:"childJobId"`
	TriggerStatus   int64   `json:"triggerStatus"`
	TriggerLastTime int64   `json:"triggerLastTime"`
	TriggerNextTime int64   `json:"triggerNextTime"`
}

func (l *Legacy) jobRow(c *call, j db.Job) jobRow {
	before, since := c.naming("jobDesc")
	row := jobRow{
		ID: j.ID, Group: j.JobGroup, Desc: when(before, j.JobDesc), Name: when(since, j.JobDesc), AddTime: l.wall(c, j.AddTime),
		UpdateTime: l.wall(c, j.UpdateTime), Author: str(j.Author), AlarmEmail: str(j.AlarmEmail), ScheduleType: string(j.ScheduleType),
		ScheduleConf: str(j.ScheduleConf), Misfire: string(j.MisfireStrategy), Route: string(j.ExecutorRouteStrategy),
		Handler: str(j.ExecutorHandler), Param: str(j.ExecutorParam), Block: str(j.ExecutorBlockStrategy), Timeout: j.ExecutorTimeout,
		Retries: j.ExecutorFailRetryCount, GlueType: string(j.GlueType), GlueUpdateTime: l.wall(c, j.GlueUpdateTime),
		Children: str(j.ChildJobIDs), TriggerStatus: min(j.TriggerStatus, int64(jobspec.StatusRunning)), TriggerLastTime: j.TriggerLastTime, TriggerNextTime: j.TriggerNextTime,
	}
	// Scripts may hold what only those may read who may write them.
	if c.who.Can(j.JobGroup, auth.RightGlue) {
		row.GlueSource, row.GlueRemark = str(j.GlueSource), str(j.GlueRemark)
	}
	return row
}

func (l *Legacy) jobRows(c *call, jobs []db.Job) []jobRow {
	list := make([]jobRow, len(jobs))
	for i, j := range jobs {
		list[i] = l.jobRow(c, j)
	}
	return list
}

func (l *Legacy) jobList(c *call) (any, error) {
	group := c.number("jobGroup", 0)
	f := manage.JobFilter{
		Group: max(group, 0), Status: c.oneOf("triggerStatus", manage.AnyStatus, int64(jobspec.StatusStopped), int64(jobspec.StatusRunning)),
		Text: c.text(c.orName("jobDesc")), NoID: true, Handler: c.text("executorHandler"), Author: c.text("author"),
	}
	p, err := c.page()
	if err != nil {
		return nil, err
	}
	if err := inGroup(c.who, group); err != nil {
		return nil, err
	}
	f.Limit, f.Offset = p.limited(maxJobs), p.offset
	jobs, total, err := l.cfg.Manage.Jobs.Whole(c.ctx, c.who, f)
	if err != nil {
		return nil, err
	}
	return rows{list: l.jobRows(c, jobs), total: total, page: p}, p.complete(total, maxJobs)
}

// jobsOfGroup are all jobs of a group, from which the page of runs used to fill its pick list.
func (l *Legacy) jobsOfGroup(c *call) (any, error) {
	group := c.number("jobGroup", 0)
	if err := c.err(); err != nil {
		return nil, err
	}
	if err := inGroup(c.who, group); err != nil {
		return nil, err
	}
	p := page{size: maxJobs + 1}
	jobs, total, err := l.cfg.Manage.Jobs.Whole(c.ctx, c.who, manage.JobFilter{Group: group, Status: manage.AnyStatus, Limit: maxJobs})
	if err != nil {
		return nil, err
	}
	return l.jobRows(c, jobs), p.complete(total, maxJobs)
}

// jobAdd makes a job. Upstream stores the trigger status that is sent along, and starters rely on it to start what they add.
func (l *Legacy) jobAdd(c *call) (any, error) {
	in := c.jobInput(manage.JobInput{})
	started := c.oneOf("triggerStatus", int64(jobspec.StatusStopped), manage.AnyStatus, int64(jobspec.StatusRunning)) == int64(jobspec.StatusRunning)
	if err := c.err(); err != nil {
		return nil, err
	}
	id, err := l.cfg.Manage.Jobs.Create(c.ctx, c.who, in)
	if err != nil {
		return nil, named(err, jobNames)
	}
	if started && in.ScheduleType.Schedules() {
		if err := l.cfg.Manage.Jobs.Start(c.ctx, c.who, id); err != nil {
			reason := text(l.printer(c.ec), problem.From(named(err, jobNames)))
			return nil, problem.New(problem.Conflict, "legacy.error.notstarted", "ID", id, "Reason", reason).Because(err)
		}
	}
	return strconv.FormatInt(id, 10), nil
}

// jobUpdate changes a job. What is not sent stays as it is, above all what only our jobs have.
func (l *Legacy) jobUpdate(c *call) (any, error) {
	id := c.id()
	if err := c.err(); err != nil {
		return nil, err
	}
	var err error
	for range tries {
		var j db.Job
		if j, err = l.cfg.Manage.Jobs.Need(c.ctx, c.who, id, auth.RightEdit); err != nil {
			return nil, err
		}
		in := c.jobInput(storedJob(j))
		if err := c.err(); err != nil {
			return nil, err
		}
		if err = l.cfg.Manage.Jobs.Update(c.ctx, c.who, id, in); !isChanged(err) {
			break
		}
	}
	return nil, named(err, jobNames)
}

// jobDo is an endpoint that takes a job and nothing else.
func (l *Legacy) jobDo(do func(context.Context, auth.Principal, int64) error) func(*call) (any, error) {
	return func(c *call) (any, error) {
		id := c.id()
		if err := c.err(); err != nil {
			return nil, err
		}
		return nil, do(c.ctx, c.who, id)
	}
}

// jobTrigger runs a job. The parameter takes the place of the job's also when none is sent, as upstream has it,
// unless the job can be run with its own only.
func (l *Legacy) jobTrigger(c *call) (any, error) {
	id := c.id()
	in := manage.RunInput{NoParam: true, Addresses: c.text("addressList"), Type: jobspec.TriggerManual}
	if c.has("executorParam") {
		param := c.text("executorParam")
		in.Param = &param
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	_, err := l.cfg.Manage.Jobs.Trigger(c.ctx, c.who, id, in)
	return nil, named(err, jobNames)
}

// nextTimes are the next five times of a schedule.
func (l *Legacy) nextTimes(c *call) (any, error) {
	j := jobspec.Job{ScheduleType: jobspec.ScheduleType(c.text("scheduleType")), ScheduleConf: c.text("scheduleConf")}.Normalize()
	if !j.ScheduleType.Valid() {
		c.fault("scheduleType", jobspec.CodeUnknown, "Value", string(j.ScheduleType), "Values", strings.Trim(fmt.Sprint(jobspec.AllScheduleTypes), "[]"))
		return nil, c.err()
	}
	const shown = 5
	times, err := l.cfg.Manage.Jobs.Upcoming(j, shown)
	if e, bad := jobspec.ScheduleError(err); bad {
		return nil, named(problem.InvalidFields(e), jobNames)
	} else if err != nil {
		return nil, err
	}
	list := make([]string, len(times))
	for i, t := range times {
		list[i] = t.Format(time.DateTime)
	}
	return list, nil
}

// codeSave stores a script. Scripts that deploy scripts post the same one again and again, which upstream takes.
func (l *Legacy) codeSave(c *call) (any, error) {
	id := c.id()
	if err := c.err(); err != nil {
		return nil, err
	}
	err := l.cfg.Manage.Jobs.SaveGlue(c.ctx, c.who, id, manage.GlueInput{Source: c.text("glueSource"), Remark: c.text("glueRemark")})
	if p := problem.From(err); p != nil && p.Key == "problem.glue.same" {
		return nil, nil
	}
	return nil, named(err, jobNames)
}
