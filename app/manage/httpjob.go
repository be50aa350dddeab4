package manage

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/document"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// HTTPAppName is the group of the executors inside the admins, which make HTTP calls and nothing else.
const HTTPAppName = "punctual-http"

// callFaults are what is said of the parts of a call.
var callFaults = map[string]string{
	httpcall.FieldURL: "job.error.http.url", httpcall.FieldMethod: "job.error.http.method", httpcall.FieldHeaders: "job.error.http.header",
	httpcall.FieldTimeout: "job.error.http.timeout", httpcall.FieldExpected: "job.error.http.expected", httpcall.FieldUnknown: "job.error.http.field",
}

// CallFault is what is wrong with a parameter that is no call.
func CallFault(f *httpcall.Fault) problem.Field {
	if key, ok := callFaults[f.Field]; ok {
		return problem.Field{Name: jobspec.FieldParam, Key: key, Args: []any{"Value", f.Value, "Fields", strings.Join(httpcall.Fields(), ", ")}}
	}
	return problem.Field{Name: jobspec.FieldParam, Key: "job.error.http.call", Args: []any{"Reason", f.Error()}}
}

// unreadableCall is where and why a parameter is not the JSON of a call.
func unreadableCall(param string) problem.Field {
	fault := document.JSONFault([]byte(param), json.Unmarshal([]byte(param), new(httpcall.Call)), 0)
	return problem.Field{Name: jobspec.FieldParam, Key: "job.error.http.json", Args: []any{"Line", fault.Line, "Text", fault.Said()}}
}

// checkHTTPJob judges a job of that group: its parameter is a call, unless it is a flow, for which no executor is called. public says that the
// installation has a public address.
func checkHTTPJob(j jobspec.Job, public bool) []problem.Field {
	if j.Glue == jobspec.GlueFlow {
		return nil
	}
	if j.Glue != wire.GlueBean {
		return []problem.Field{{Name: jobspec.FieldGlue, Key: "job.error.http.glue"}}
	}
	if j.Handler != httpcall.Handler {
		return []problem.Field{{Name: jobspec.FieldHandler, Key: "job.error.http.handler", Args: []any{"Handler", httpcall.Handler}}}
	}
	call, err := httpcall.Check(j.Param)
	if f, ok := errors.AsType[*httpcall.Fault](err); ok && f.Field == "" {
		return []problem.Field{unreadableCall(j.Param)}
	} else if ok {
		return []problem.Field{CallFault(f)}
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

// PlainCall reads a call of which the fields of a form can hold everything.
func PlainCall(param string) (httpcall.Call, bool) {
	call, err := httpcall.Parse(param)
	if err != nil || len(call.Cookies)+len(call.Form) > 0 || strings.Contains(string(call.Data), "\r") { // a browser makes one line end of all
		return call, false
	}
	if strings.HasPrefix(strings.TrimSpace(param), "{") {
		known := json.NewDecoder(strings.NewReader(param))
		known.DisallowUnknownFields()
		if known.Decode(&httpcall.Call{}) != nil || known.Decode(new(any)) != io.EOF {
			return call, false
		}
	}
	for name, value := range call.Headers {
		if strings.ContainsAny(name+value, "\r\n") {
			return call, false
		}
	}
	return call, true
}
