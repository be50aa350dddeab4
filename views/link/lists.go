package link

import (
	"maps"
	"net/url"
)

// The palette and the list of keys.
const (
	PalettePath = "/palette"
	KeysPath    = "/keys"
)

// JobsBulk asks (GET) and does something to many jobs (POST).
const JobsBulk = JobsPath + "/bulk"

// RunsRerun asks (GET) and runs many runs again (POST).
const RunsRerun = RunsPath + "/rerun"

// RunsKill asks (GET) and ends many runs (POST).
const RunsKill = RunsPath + "/kill"

// SchedulePreviewOf is the preview for a job's form; the job itself does not count among those that fire at the same time.
func SchedulePreviewOf(jobID int64) string {
	q := url.Values{}
	setNumber(q, "job", jobID)
	return withQuery(SchedulePreview, q)
}

// JobChildrenPath is where the jobs are looked for that may become a job's children.
const JobChildrenPath = JobsPath + "/children"

// JobChildren is that search for a job, 0 for a new one.
func JobChildren(jobID int64) string {
	q := url.Values{}
	setNumber(q, "job", jobID)
	return withQuery(JobChildrenPath, q)
}

// FlowJobs is the search for the job, or the flow, that a step of a flow runs.
func FlowJobs(flowID int64, kind string) string {
	q := url.Values{"step": {kind}}
	setNumber(q, "job", flowID)
	return withQuery(JobChildrenPath, q)
}

// JobsBulkOf is the question before something is done to all jobs of a group.
func JobsBulkOf(do string, groupID int64) string {
	q := url.Values{"all": {"1"}, "do": {do}}
	setNumber(q, "group", groupID)
	return withQuery(JobsBulk, q)
}

// JobsBulkOver is the question before jobs are spread, asked anew with another window.
func JobsBulkOver(question url.Values, minutes int64) string {
	q := maps.Clone(question)
	setNumber(q, "window", minutes)
	return withQuery(JobsBulk, q)
}
