package jobfile

// The names of fields that other packages speak of.
const (
	FieldDescription = "description"
	FieldAuthor      = "author"
	FieldState       = "state"
	FieldID          = "id"
	FieldSchedule    = "schedule"
	FieldCron        = "cron"
	FieldEvery       = "every_seconds"
	FieldAt          = "at"
	FieldTimeZone    = "time_zone"
	FieldNotBefore   = "not_before"
	FieldNotAfter    = "not_after"
	FieldMisfire     = "misfire"
	FieldKind        = "kind"
	FieldHandler     = "handler"
	FieldParameter   = "parameter"
	FieldFixed       = "parameter_fixed"
	FieldScript      = "script"
	FieldRemark      = "script_remark"
	FieldOmitted     = "script_omitted"
	FieldRoute       = "route"
	FieldBlock       = "block"
	FieldTimeout     = "timeout_seconds"
	FieldRetries     = "retries"
	FieldBackoff     = "retry_backoff"
	FieldConcurrent  = "max_concurrent"
	FieldConcurrency = "concurrency"
	FieldWarnAfter   = "warn_after_seconds"
	FieldExpectEvery = "expect_success_seconds"
	FieldRetention   = "retention_days"
	FieldAlarmEmail  = "alarm_email"
	FieldTags        = "tags"
	FieldChildren    = "children"
	fieldAppName     = "app_name"
	fieldTitle       = "title"
	fieldJobs        = "jobs"
	fieldGroups      = "executors"
	fieldVersion     = "punctual_jobs"
)

// field is one field of a job; exactly one of its functions is set.
type field struct {
	name   string
	text   func(*Job) *string
	number func(*Job) *int64
	flag   func(*Job) *bool
	list   func(*Job) *[]string
	refs   func(*Job) *[]Ref
}

// jobFields are in the order in which they are written.
var jobFields = []field{
	{name: FieldDescription, text: func(j *Job) *string { return &j.Description }},
	{name: FieldID, number: func(j *Job) *int64 { return &j.ID }},
	{name: FieldAuthor, text: func(j *Job) *string { return &j.Author }},
	{name: FieldTags, list: func(j *Job) *[]string { return &j.Tags }},
	{name: FieldState, text: func(j *Job) *string { return &j.State }},
	{name: FieldSchedule, text: func(j *Job) *string { return &j.Schedule }},
	{name: FieldCron, text: func(j *Job) *string { return &j.Cron }},
	{name: FieldEvery, text: func(j *Job) *string { return &j.Every }},
	{name: FieldAt, text: func(j *Job) *string { return &j.At }},
	{name: FieldTimeZone, text: func(j *Job) *string { return &j.TimeZone }},
	{name: FieldNotBefore, text: func(j *Job) *string { return &j.NotBefore }},
	{name: FieldNotAfter, text: func(j *Job) *string { return &j.NotAfter }},
	{name: FieldMisfire, text: func(j *Job) *string { return &j.Misfire }},
	{name: FieldKind, text: func(j *Job) *string { return &j.Kind }},
	{name: FieldHandler, text: func(j *Job) *string { return &j.Handler }},
	{name: FieldParameter, text: func(j *Job) *string { return &j.Parameter }},
	{name: FieldFixed, flag: func(j *Job) *bool { return &j.ParameterFixed }},
	{name: FieldRoute, text: func(j *Job) *string { return &j.Route }},
	{name: FieldBlock, text: func(j *Job) *string { return &j.Block }},
	{name: FieldTimeout, number: func(j *Job) *int64 { return &j.TimeoutSeconds }},
	{name: FieldRetries, number: func(j *Job) *int64 { return &j.Retries }},
	{name: FieldBackoff, text: func(j *Job) *string { return &j.RetryBackoff }},
	{name: FieldConcurrent, number: func(j *Job) *int64 { return &j.MaxConcurrent }},
	{name: FieldConcurrency, text: func(j *Job) *string { return &j.Concurrency }},
	{name: FieldWarnAfter, number: func(j *Job) *int64 { return &j.WarnAfterSeconds }},
	{name: FieldExpectEvery, number: func(j *Job) *int64 { return &j.ExpectEverySeconds }},
	{name: FieldRetention, number: func(j *Job) *int64 { return &j.RetentionDays }},
	{name: FieldAlarmEmail, list: func(j *Job) *[]string { return &j.AlarmEmail }},
	{name: FieldChildren, refs: func(j *Job) *[]Ref { return &j.Children }},
	{name: FieldRemark, text: func(j *Job) *string { return &j.ScriptRemark }},
	{name: FieldOmitted, flag: func(j *Job) *bool { return &j.ScriptOmitted }},
	{name: FieldScript, text: func(j *Job) *string { return &j.Script }},
}

// required are the fields that every job has. They are written also when they are empty, as in a database that others wrote.
var required = []string{FieldDescription, FieldSchedule}
