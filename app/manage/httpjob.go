package manage

import (
	"errors"

	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// HTTPAppName is the group of the executors inside the admins, which make HTTP calls and nothing else.
const HTTPAppName = "punctual-http"

// checkHTTPJob judges a job of that group: its parameter is a call. public says that the installation has a public address.
func checkHTTPJob(j jobspec.Job, public bool) []problem.Field {
	if j.Glue != wire.GlueBean {
		return []problem.Field{{Name: jobspec.FieldGlue, Key: "job.error.http.glue"}}
	}
	if j.Handler != httpcall.Handler {
		return []problem.Field{{Name: jobspec.FieldHandler, Key: "job.error.http.handler", Args: []any{"Handler", httpcall.Handler}}}
	}
	call, err := httpcall.Check(j.Param)
	if f, ok := errors.AsType[*httpcall.Fault](err); ok {
		return []problem.Field{{Name: jobspec.FieldParam, Key: "job.error.http.call", Args: []any{"Reason", f.Error()}}}
	}
	var fields []problem.Field
	if call.Async && j.TimeoutSeconds <= 0 {
		fields = append(fields, problem.Field{Name: jobspec.FieldTimeout, Key: "job.error.http.async.limit"})
	}
	if call.Async && !public {
		fields = append(fields, problem.Field{Name: jobspec.FieldParam, Key: "job.error.http.async.public"})
	}
	return fields
}
