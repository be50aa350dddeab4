package jobspec

import (
	"strings"

	"github.com/punctual-job/punctual/executor/wire"
)

// Job is a definition as somebody wants to save it. What its fields are called elsewhere, and what fits into them, says [Fields].
type Job struct {
	ID             int64 // 0 for a new job
	Name           string
	Author         string
	AlarmEmail     string // addresses, separated by commas
	ScheduleType   ScheduleType
	ScheduleConf   string
	Misfire        Misfire
	Route          Route
	Block          wire.Block
	Glue           wire.Glue
	Handler        string
	Param          string
	GlueSource     string
	GlueRemark     string
	ChildJobIDs    string // separated by commas
	TimeoutSeconds int    // 0 for no limit
	Retries        int

	Zone          string // IANA name; "" for the installation's
	Start, End    int64  // epoch ms between which the job is due; 0 for no bound
	Backoff       string // see package backoff
	MaxConcurrent int    // runs of the job at a time in the whole cluster; 0 for no limit
	Concurrency   Concurrency
	RetentionDays int // 0 for the installation's
	WarnAfter     int // seconds a run may take before somebody is told; 0 for never
	ExpectEvery   int // seconds within which a success is expected; 0 for no expectation
	Tags          string
	Calendar      string // whose days it keeps to; "" for none
	CalendarRule  CalendarRule
	MisfireLast   int    // how many missed fires have a run, of MisfireFireLast
	MisfireWithin int    // how many seconds ago the oldest of them was due, of MisfireFireWithin
	DoneBy        string // the time of day, HH:MM, by which the run before it has to be done; "" for none
	Runbook       string // the address of what to do when it fails; "" for none
	KeepOutput    Keep   // of which runs the output is kept
	WhenLost      WhenLost
	Priority      Priority
	ParamFixed    bool   // a run by hand goes with Param, and with no other
	ParamForm     string // what Param consists of, see [ReadParamForm]; "" for any text
}

// The names of the parts of a definition, by which a form has them and an [invalid.Field] finds its place.
const (
	FieldName         = "name"
	FieldAuthor       = "author"
	FieldAlarmEmail   = "alarm_email"
	FieldScheduleType = "schedule_type"
	FieldCron         = "cron"
	FieldSeconds      = "seconds"
	FieldMoment       = "moment"
	FieldMisfire      = "misfire"
	FieldRoute        = "route"
	FieldBlock        = "block"
	FieldGlue         = "glue"
	FieldHandler      = "handler"
	FieldParam        = "param"
	FieldParamFixed   = "param_fixed"
	FieldParamForm    = "param_form"
	FieldSource       = "source"
	FieldRemark       = "remark"
	FieldChildren     = "children"
	FieldTimeout      = "timeout"
	FieldRetries      = "retries"
	FieldZone         = "time_zone"
	FieldCalendar     = "calendar"
	FieldRule         = "calendar_rule"
	FieldStart        = "start_at"
	FieldEnd          = "end_at"
	FieldBackoff      = "retry_backoff"
	FieldConcurrent   = "max_concurrent"
	FieldConcurrency  = "concurrency_policy"
	FieldTags         = "tags"
	FieldDoneBy       = "done_by"
	FieldRunbook      = "runbook"
	FieldKeepOutput   = "keep_output"
	FieldWhenLost     = "when_lost"
	FieldPriority     = "priority"
	FieldMisfireLast  = "misfire_last"
	FieldMisfireSpan  = "misfire_within"
)

// What fits into the columns, in characters unless the name says bytes, where others have to know.
const (
	MaxParamBytes  = 65_535
	MaxSourceBytes = 16_777_215
	MaxDays        = 3_650
	maxConf        = 128
	maxSeconds     = 31_536_000 // a year
)

// Fields are the parts of a definition, in the order of the form. The type of a schedule and the zone stand before what is read by them.
var Fields = []*Field{
	{Name: FieldName, Column: "job_desc", File: "description", Wire: "jobDesc", API: "name", Label: "jobs.field.name",
		Kind: Text, Max: 255, Required: true, check: line, part: text(func(j *Job) *string { return &j.Name })},
	{Name: FieldAuthor, Column: "author", File: "author", Wire: "author", API: "author", Label: "jobs.field.author",
		Kind: Text, Max: 64, Required: true, check: line, part: text(func(j *Job) *string { return &j.Author })},
	{Name: FieldScheduleType, Column: "schedule_type", File: "schedule", Wire: "scheduleType", API: "scheduleType", Label: "jobs.field.type", Words: "schedule.",
		Kind: Choice, Options: texts(AllScheduleTypes), part: text(func(j *Job) *ScheduleType { return &j.ScheduleType })},
	{Name: FieldCron, Of: FieldScheduleType, Column: columnConf, File: "cron", Wire: "scheduleConf", API: "scheduleConf", Label: "jobs.field.cron", Help: "jobs.field.cron.help",
		Kind: Text, Max: maxConf, check: cronText, part: text(func(j *Job) *string { return &j.ScheduleConf })},
	{Name: FieldSeconds, Of: FieldScheduleType, Column: columnConf, File: "every_seconds", Wire: "scheduleConf", API: "scheduleConf", Label: "jobs.field.seconds", Help: "jobs.field.seconds.help", Unit: "unit.seconds",
		Kind: Text, Max: 10, check: interval, part: text(func(j *Job) *string { return &j.ScheduleConf })},
	{Name: FieldMoment, Of: FieldScheduleType, Column: columnConf, File: "at", Wire: "scheduleConf", API: "scheduleConf", Label: "jobs.field.moment", Help: "jobs.field.moment.help",
		Kind: Text, check: moment, part: text(func(j *Job) *string { return &j.ScheduleConf })},
	{Name: FieldZone, Column: "time_zone", File: "time_zone", API: "timeZone", Label: "jobs.field.zone", Help: "jobs.field.zone.help", Since: 7,
		Kind: Text, Max: 64, check: zone, part: text(func(j *Job) *string { return &j.Zone })},
	{Name: FieldStart, Column: "start_at", File: "not_before", API: "notBefore", Label: "jobs.field.from", Since: 7,
		Kind: Moments, check: start, part: number(func(j *Job) *int64 { return &j.Start })},
	{Name: FieldEnd, Column: "end_at", File: "not_after", API: "notAfter", Label: "jobs.field.until", Help: "jobs.field.until.help", Since: 7,
		Kind: Moments, check: end, part: number(func(j *Job) *int64 { return &j.End })},
	{Name: FieldCalendar, Column: "calendar", File: "calendar", API: "calendar", Label: "jobs.field.calendar", Help: "jobs.field.calendar.help", Since: 216,
		Kind: Text, Max: 64, check: line, part: text(func(j *Job) *string { return &j.Calendar })},
	{Name: FieldRule, Of: FieldCalendar, Column: "calendar_rule", File: "calendar_rule", API: "calendarRule", Label: "jobs.field.calendarrule", Help: "jobs.field.calendarrule.help", Words: "calendarrule.", Since: 216,
		Kind: Choice, Options: texts(AllCalendarRules), Explained: true, check: calendarRule, part: text(func(j *Job) *CalendarRule { return &j.CalendarRule })},
	{Name: FieldMisfire, Column: "misfire_strategy", File: "misfire", Wire: "misfireStrategy", API: "misfireStrategy", Label: "jobs.field.misfire", Help: "jobs.field.misfire.help", Words: "misfire.",
		Kind: Choice, Options: texts(AllMisfires), Explained: true, Default: string(MisfireDoNothing), part: text(func(j *Job) *Misfire { return &j.Misfire })},
	{Name: FieldMisfireLast, Of: FieldMisfire, Column: "misfire_last", File: "misfire_last", API: "misfireLast", Label: "jobs.field.misfirelast", Help: "jobs.field.misfirelast.help", Since: 227,
		Kind: Number, Max: MaxMissed, check: misfireLast, part: number(func(j *Job) *int { return &j.MisfireLast })},
	{Name: FieldMisfireSpan, Of: FieldMisfire, Column: "misfire_within", File: "misfire_within_seconds", API: "misfireWithinSeconds", Label: "jobs.field.misfirewithin", Help: "jobs.field.misfirewithin.help", Unit: "unit.seconds", Since: 227,
		Kind: Number, Max: maxSeconds, check: misfireWithin, part: number(func(j *Job) *int { return &j.MisfireWithin })},
	{Name: FieldGlue, Column: "glue_type", File: "kind", Wire: "glueType", API: "glueType", Label: "jobs.field.glue", Help: "jobs.field.glue.help", Words: "glue.",
		Kind: Choice, Options: texts(AllGlues), Default: string(wire.GlueBean), part: text(func(j *Job) *wire.Glue { return &j.Glue })},
	{Name: FieldHandler, Column: "executor_handler", File: "handler", Wire: "executorHandler", API: "executorHandler", Label: "jobs.field.handler", Help: "jobs.field.handler.help",
		Kind: Text, Max: 255, check: handler, part: text(func(j *Job) *string { return &j.Handler })},
	{Name: FieldParam, Column: "executor_param", File: "parameter", Wire: "executorParam", API: "executorParam", Label: "jobs.field.param", Help: "jobs.field.param.help",
		Kind: Text, Max: MaxParamBytes, check: param, part: text(func(j *Job) *string { return &j.Param })},
	{Name: FieldParamFixed, Column: "param_fixed", File: "parameter_fixed", Label: "jobs.field.paramfixed", Since: 91,
		Kind: Flag, part: flag(func(j *Job) *bool { return &j.ParamFixed })},
	{Name: FieldParamForm, Column: "param_form", File: "parameter_form", API: "executorParamForm", Label: "jobs.field.paramform", Help: "jobs.field.paramform.help", Since: 349,
		Kind: Text, Max: maxParamForm, check: paramForm, part: text(func(j *Job) *string { return &j.ParamForm })},
	{Name: FieldSource, Column: "glue_source", File: "script", Wire: "glueSource", API: "glueSource", Label: "jobs.field.source", Help: "jobs.field.source.help",
		Kind: Text, Max: MaxSourceBytes, check: bytes, part: text(func(j *Job) *string { return &j.GlueSource })},
	{Name: FieldRemark, Column: "glue_remark", File: "script_remark", Wire: "glueRemark", API: "glueRemark", Label: "jobs.field.remark", Help: "jobs.field.remark.help",
		Kind: Text, Max: 128, part: text(func(j *Job) *string { return &j.GlueRemark })},
	{Name: FieldRoute, Column: "executor_route_strategy", File: "route", Wire: "executorRouteStrategy", API: "executorRouteStrategy", Label: "jobs.field.route", Help: "jobs.field.route.help", Words: "route.",
		Kind: Choice, Options: texts(AllRoutes), Explained: true, Default: string(RouteFirst), part: text(func(j *Job) *Route { return &j.Route })},
	{Name: FieldBlock, Column: "executor_block_strategy", File: "block", Wire: "executorBlockStrategy", API: "executorBlockStrategy", Label: "jobs.field.block", Help: "jobs.field.block.help", Words: "block.",
		Kind: Choice, Options: texts(AllBlocks), Explained: true, Default: string(wire.BlockSerial), part: text(func(j *Job) *wire.Block { return &j.Block })},
	{Name: FieldTimeout, Column: "executor_timeout", File: "timeout_seconds", Wire: "executorTimeout", API: "executorTimeout", Label: "jobs.field.timeout", Help: "jobs.field.timeout.help", Unit: "unit.seconds",
		Kind: Number, Max: 999_999, part: number(func(j *Job) *int { return &j.TimeoutSeconds })},
	{Name: FieldRetries, Column: "executor_fail_retry_count", File: "retries", Wire: "executorFailRetryCount", API: "executorFailRetryCount", Label: "jobs.field.retries", Help: "jobs.field.retries.help", Unit: "unit.times",
		Kind: Number, Max: 9_999, part: number(func(j *Job) *int { return &j.Retries })},
	{Name: FieldBackoff, Column: "retry_backoff", File: "retry_backoff", API: "retryBackoff", Label: "jobs.field.backoff", Help: "jobs.field.backoff.help", Since: 7, Advanced: true,
		Kind: Text, Max: 128, check: waits, part: text(func(j *Job) *string { return &j.Backoff })},
	{Name: FieldWhenLost, Column: "when_lost", File: "when_lost", API: "whenLost", Label: "jobs.field.whenlost", Help: "jobs.field.whenlost.help", Words: "whenlost.", Since: 318, Advanced: true,
		Kind: Choice, Options: texts(AllWhenLost), Explained: true, Default: string(WhenLostFail), check: choiceOrNone, part: text(func(j *Job) *WhenLost { return &j.WhenLost })},
	{Name: FieldConcurrent, Column: "max_concurrent", File: "max_concurrent", API: "maxConcurrent", Label: "jobs.field.concurrent", Help: "jobs.field.concurrent.help", Unit: "unit.runs", Since: 7, Advanced: true,
		Kind: Number, Max: 9_999, part: number(func(j *Job) *int { return &j.MaxConcurrent })},
	{Name: FieldConcurrency, Column: "concurrency_policy", File: "concurrency", API: "concurrency", Label: "jobs.field.concurrency", Words: "concurrency.", Since: 7, Advanced: true,
		Kind: Choice, Options: texts(AllConcurrencies), Explained: true, Default: string(ConcurrencyQueue), check: choiceOrNone, part: text(func(j *Job) *Concurrency { return &j.Concurrency })},
	{Name: FieldPriority, Column: "priority", File: "priority", API: "priority", Label: "jobs.field.priority", Help: "jobs.field.priority.help", Words: "priority.", Since: 360, Advanced: true,
		Kind: Choice, Options: texts(AllPriorities), Default: string(PriorityNormal), check: choiceOrNone, part: text(func(j *Job) *Priority { return &j.Priority })},
	{Name: "warn_after", Column: "warn_after_seconds", File: "warn_after_seconds", API: "warnAfterSeconds", Label: "jobs.field.warnafter", Help: "jobs.field.warnafter.help", Unit: "unit.seconds", Since: 7, Advanced: true,
		Kind: Number, Max: maxSeconds, part: number(func(j *Job) *int { return &j.WarnAfter })},
	{Name: "expect_every", Column: "expect_every_seconds", File: "expect_success_seconds", API: "expectSuccessSeconds", Label: "jobs.field.expectevery", Help: "jobs.field.expectevery.help", Unit: "unit.seconds", Since: 7, Advanced: true,
		Kind: Number, Max: maxSeconds, part: number(func(j *Job) *int { return &j.ExpectEvery })},
	{Name: FieldDoneBy, Column: "done_by", File: "done_by", API: "doneBy", Label: "jobs.field.doneby", Help: "jobs.field.doneby.help", Since: 226, Advanced: true,
		Kind: Text, Max: 5, check: doneBy, part: text(func(j *Job) *string { return &j.DoneBy })},
	{Name: "retention_days", Column: "retention_days", File: "retention_days", API: "retentionDays", Label: "jobs.field.retention", Help: "jobs.field.retention.help", Unit: "unit.days", Since: 7, Advanced: true,
		Kind: Number, Max: MaxDays, part: number(func(j *Job) *int { return &j.RetentionDays })},
	{Name: FieldKeepOutput, Column: "keep_output", File: "keep_output", API: "keepOutput", Label: "jobs.field.keepoutput", Help: "jobs.field.keepoutput.help", Words: "keep.", Since: 276, Advanced: true,
		Kind: Choice, Options: texts(AllKeeps), Explained: true, Default: string(KeepInherit), check: choiceOrNone, part: text(func(j *Job) *Keep { return &j.KeepOutput })},
	{Name: FieldAlarmEmail, Column: "alarm_email", File: "alarm_email", Wire: "alarmEmail", API: "alarmEmail", Label: "jobs.field.email", Help: "jobs.field.email.help",
		Kind: List, Max: 255, check: emails, part: text(func(j *Job) *string { return &j.AlarmEmail })},
	{Name: FieldRunbook, Column: "runbook", File: "runbook", API: "runbook", Label: "jobs.field.runbook", Help: "jobs.field.runbook.help", Since: 340, Advanced: true,
		Kind: Text, Max: 512, check: runbook, part: text(func(j *Job) *string { return &j.Runbook })},
	{Name: FieldTags, Column: "tags", File: "tags", API: "tags", Label: "jobs.field.tags", Help: "jobs.field.tags.help", Since: 7, Advanced: true,
		Kind: List, Max: 255, check: line, part: text(func(j *Job) *string { return &j.Tags })},
	{Name: FieldChildren, Column: "child_jobid", File: "children", Wire: "childJobId", Label: "jobs.field.children", Help: "jobs.field.children.help",
		Kind: Text, Max: 255, check: children, part: text(func(j *Job) *string { return &j.ChildJobIDs })},
}

// Normalize trims what people paste with blanks around it, and takes the carriage returns out of shell sources, where
// bash would stumble over them. It comes before [Validate], and what it returns is what to store.
func (j Job) Normalize() Job {
	for _, s := range []*string{&j.Name, &j.Author, &j.Handler, &j.ScheduleConf, &j.GlueRemark, &j.Zone, &j.Calendar, &j.Backoff, &j.Runbook, &j.ParamForm} {
		*s = strings.TrimSpace(*s)
	}
	if j.Misfire != MisfireFireLast && j.MisfireLast > 0 {
		j.MisfireLast = 0 // it says nothing then
	}
	if j.Misfire != MisfireFireWithin && j.MisfireWithin > 0 {
		j.MisfireWithin = 0
	}
	j.DoneBy = normalClock(j.DoneBy)
	if j.KeepOutput.Inherits() {
		j.KeepOutput = ""
	}
	if j.WhenLost == WhenLostFail {
		j.WhenLost = ""
	}
	if j.Priority == PriorityNormal {
		j.Priority = ""
	}
	j.AlarmEmail = strings.Join(splitList(j.AlarmEmail), ",")
	j.ChildJobIDs = strings.Join(splitList(j.ChildJobIDs), ",")
	j.Tags = strings.Join(splitList(j.Tags), ",")
	switch {
	case j.Calendar == "":
		j.CalendarRule = "" // it says nothing then
	case j.CalendarRule == "":
		j.CalendarRule = AllCalendarRules[0]
	}
	if j.Glue == wire.GlueShell {
		j.GlueSource = strings.ReplaceAll(j.GlueSource, "\r", "")
	}
	return j
}
