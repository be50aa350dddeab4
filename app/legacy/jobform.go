package legacy

import (
	"strings"

	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// jobNames are upstream's names of a job's fields.
var jobNames = func() map[string]string {
	names := map[string]string{manage.FieldGroup: "jobGroup", manage.FieldRunAddresses: "addressList"}
	for _, f := range jobspec.Fields {
		if f.Wire != "" {
			names[f.Name] = f.Wire
		}
	}
	return names
}()

// storedJob is a job as it is, to be changed by what was sent.
func storedJob(j db.Job) manage.JobInput {
	return manage.JobInput{Group: j.JobGroup, Version: manage.JobVersion(j), KeepOptions: true, Job: j.Spec()}
}

// jobInput changes a job by what was sent. The type of its code and a script are those of a new job only: upstream's form
// sends them with every change and its server does not look.
func (c *call) jobInput(in manage.JobInput) manage.JobInput {
	isNew := in.Version == ""
	for _, f := range jobspec.Fields {
		name := f.Wire
		switch f.Name {
		case jobspec.FieldName:
			name = c.orName(name)
		case jobspec.FieldGlue, jobspec.FieldSource, jobspec.FieldRemark:
			if !isNew {
				continue
			}
		}
		switch {
		case name == "" || !c.has(name):
		case f.Kind == jobspec.Number:
			f.Set(&in.Job, c.number(name, 0)) // its range is the use case's matter
		case f.Kind == jobspec.Text && c.text(name) == strings.ReplaceAll(f.Text(&in.Job, jobspec.Notation{}), "\r\n", "\n"):
			// as it is: of the line ends of a form one is made
		default:
			f.Put(&in.Job, c.text(name), nil)
		}
	}
	if c.has("jobGroup") {
		in.Group = c.number("jobGroup", 0) // 0 is no group, which the use case says
	}
	return in
}
