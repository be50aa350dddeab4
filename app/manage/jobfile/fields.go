package jobfile

import (
	"slices"

	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// The names of fields that this package or others speak of.
const (
	FieldDescription = "description"
	FieldState       = "state"
	FieldID          = "id"
	fieldEvery       = "every_seconds"
	fieldTags        = "tags"
	fieldChildren    = "children"
	fieldAlarmEmail  = "alarm_email"
	fieldScript      = "script"
	fieldRemark      = "script_remark"
	fieldOmitted     = "script_omitted"
	fieldSchedule    = "schedule"
	fieldAppName     = "app_name"
	fieldTitle       = "title"
	fieldJobs        = "jobs"
	fieldGroups      = "executors"
	fieldVersion     = "punctual_jobs"
	fieldDefaults    = "defaults"
)

// The fields of a job are written in the order of the form, but for some: what a job is comes first, and what is long last.
var (
	firstFields = []string{FieldDescription, FieldID, "author", fieldTags, FieldState}
	lastFields  = []string{fieldAlarmEmail, fieldChildren, fieldRemark, fieldOmitted, fieldScript}
)

// fieldNames are in the order in which they are written.
var fieldNames = func() []string {
	names := slices.Clone(firstFields)
	for _, f := range jobspec.Fields {
		if !slices.Contains(firstFields, f.File) && !slices.Contains(lastFields, f.File) {
			names = append(names, f.File)
		}
	}
	return append(names, lastFields...)
}()

// kinds say what a field of a definition holds.
var kinds = func() map[string]jobspec.Kind {
	kinds := make(map[string]jobspec.Kind)
	for _, f := range jobspec.Fields {
		kinds[f.File] = f.Kind
	}
	return kinds
}()

// fieldKinds are the kinds of fieldNames, and ofValues says which of them are written only where [Values] has them: every job is asked for
// every field.
var fieldKinds, ofValues = func() (list []jobspec.Kind, only []bool) {
	for _, name := range fieldNames {
		_, ok := kinds[name]
		list, only = append(list, kinds[name]), append(only, ok && name != fieldChildren && !slices.Contains(required, name))
	}
	return list, only
}()

// required are the fields that every job has. They are written also when they are empty, as in a database that others wrote.
var required = []string{FieldDescription, fieldSchedule}
