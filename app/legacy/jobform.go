package legacy

import (
	"math"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// jobNames are upstream's names of a job's fields.
var jobNames = map[string]string{
	manage.FieldGroup: "jobGroup", jobspec.FieldName: "jobDesc", jobspec.FieldAlarmEmail: "alarmEmail", jobspec.FieldScheduleType: "scheduleType",
	jobspec.FieldCron: "scheduleConf", jobspec.FieldSeconds: "scheduleConf", jobspec.FieldMoment: "scheduleConf", jobspec.FieldMisfire: "misfireStrategy",
	jobspec.FieldRoute: "executorRouteStrategy", jobspec.FieldBlock: "executorBlockStrategy", jobspec.FieldGlue: "glueType",
	jobspec.FieldHandler: "executorHandler", jobspec.FieldParam: "executorParam", jobspec.FieldSource: "glueSource", jobspec.FieldRemark: "glueRemark",
	jobspec.FieldChildren: "childJobId", jobspec.FieldTimeout: "executorTimeout", jobspec.FieldRetries: "executorFailRetryCount",
	manage.FieldRunAddresses: "addressList",
}

// storedJob is a job as it is, to be changed by what was sent.
func storedJob(j db.Job) manage.JobInput {
	return manage.JobInput{Group: j.JobGroup, Version: manage.JobVersion(j), KeepOptions: true, Job: j.Spec()}
}

// jobInput changes a job by what was sent. The type of its code and a script are those of a new job only: upstream's form
// sends them with every change and its server does not look.
func (c *call) jobInput(in manage.JobInput) manage.JobInput {
	isNew := in.Version == ""
	set := func(name string, to *string) {
		if c.has(name) {
			*to = c.text(name)
		}
	}
	count := func(name string, to *int) {
		if c.has(name) {
			*to = int(min(max(c.number(name, 0), math.MinInt32), math.MaxInt32)) // its range is the use case's matter
		}
	}
	set(c.either("jobDesc", "name"), &in.Name)
	set("author", &in.Author)
	set("alarmEmail", &in.AlarmEmail)
	set("scheduleType", (*string)(&in.ScheduleType))
	set("scheduleConf", &in.ScheduleConf)
	set("misfireStrategy", (*string)(&in.Misfire))
	set("executorRouteStrategy", (*string)(&in.Route))
	set("executorBlockStrategy", (*string)(&in.Block))
	set("executorHandler", &in.Handler)
	set("executorParam", &in.Param)
	set("childJobId", &in.ChildJobIDs)
	count("executorTimeout", &in.TimeoutSeconds)
	count("executorFailRetryCount", &in.Retries)
	if c.has("jobGroup") {
		in.Group = c.number("jobGroup", 0) // 0 is no group, which the use case says
	}
	if isNew {
		set("glueType", (*string)(&in.Glue))
		set("glueSource", &in.GlueSource)
		set("glueRemark", &in.GlueRemark)
	}
	return in
}
