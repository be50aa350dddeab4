package console

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/executor/httpcall"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/views/jobs"
)

// The form has a field for each part of the call of an HTTP job. What is stored is the call as one parameter; a parameter that says more
// than the fields can, such as one with cookies, is shown as the text that it is.

// callFields are the fields of the parts that a fault may be about.
var callFields = map[string]string{
	httpcall.FieldURL: jobs.FieldCallURL, httpcall.FieldMethod: jobs.FieldCallMethod, httpcall.FieldHeaders: jobs.FieldCallHeaders,
	httpcall.FieldTimeout: jobs.FieldCallTimeout, httpcall.FieldExpected: jobs.FieldCallExpected,
}

// callTexts are the fields that may be of any length. All of them together are one parameter: where that is too long, the longest is.
var callTexts = []string{jobs.FieldCallBody, jobs.FieldCallHeaders, jobs.FieldCallURL, jobs.FieldCallAuth, jobs.FieldCallType, jobs.FieldCallText}

// drawCall fills the fields of the call of a form that does not have them from a browser.
func drawCall(v jobs.FormValues) {
	if v[jobs.FieldCallAs] != "" {
		return
	}
	v[jobs.FieldCallAs], v[jobs.FieldCallMethod] = jobs.CallAsFields, "POST"
	if v[jobs.FieldHandler] != httpcall.Handler || strings.TrimSpace(v[jobs.FieldParam]) == "" {
		return
	}
	call, ok := manage.PlainCall(v[jobs.FieldParam])
	if !ok {
		v[jobs.FieldCallAs] = jobs.CallAsText
		return
	}
	var headers []string
	for _, name := range slices.Sorted(maps.Keys(call.Headers)) {
		headers = append(headers, name+": "+call.Headers[name])
	}
	v[jobs.FieldCallURL], v[jobs.FieldCallMethod], v[jobs.FieldCallHeaders] = call.URL, call.Method, strings.Join(headers, "\n")
	v[jobs.FieldCallAuth], v[jobs.FieldCallType], v[jobs.FieldCallBody] = call.Auth, call.ContentType, string(call.Data)
	v[jobs.FieldCallText] = call.Text
	if len(call.Expected) > 0 {
		v[jobs.FieldCallExpected] = call.Expected.String()
	}
	if call.Timeout > 0 {
		v[jobs.FieldCallTimeout] = strconv.Itoa(call.Timeout)
	}
	if call.Async {
		v[jobs.FieldCallAsync] = "1"
	}
}

// readCall makes the parameter of what was typed into the fields of a call, if the job is a call of the group of HTTP jobs.
func (c *jobPages) readCall(ctx context.Context, p auth.Principal, v jobs.FormValues) ([]problem.Field, error) {
	if v[jobs.FieldCallAs] == "" || v[jobs.FieldGlue] != string(wire.GlueBean) {
		return nil, nil // a flow, or a script that posts what XXL-JOB's form had
	}
	groups, err := c.groupTitlesOf(ctx, p)
	if err != nil {
		return nil, err
	}
	if group := groups.http(); group == 0 || v[jobs.FieldGroup] != strconv.FormatInt(group, 10) {
		return nil, nil
	}
	v[jobs.FieldHandler] = httpcall.Handler
	if v[jobs.FieldCallAs] != jobs.CallAsFields {
		return nil, nil
	}
	call, faults := typedCall(v)
	if len(faults) > 0 {
		return faults, nil
	}
	v[jobs.FieldParam] = call.String()
	if over := len(v[jobs.FieldParam]) - jobspec.MaxParamBytes; over > 0 {
		name := slices.MaxFunc(callTexts, func(a, b string) int { return cmp.Compare(len(v[a]), len(v[b])) })
		return []problem.Field{{Name: name, Key: jobspec.CodeTooLong, Args: []any{"Max", max(0, len(v[name])-over)}}}, nil
	}
	if _, err := httpcall.Check(v[jobs.FieldParam]); err != nil {
		if f, ok := errors.AsType[*httpcall.Fault](err); ok && callFields[f.Field] != "" {
			return []problem.Field{named(manage.CallFault(f), callFields[f.Field])}, nil
		}
	}
	return nil, nil // or the use case says what is wrong with the whole
}

// secretNames are those of the secrets that a job of a group may use.
func (c *jobPages) secretNames(ctx context.Context, p auth.Principal, group int64) ([]string, error) {
	rows, err := c.keys.List(ctx, p, group)
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Name
	}
	return names, err
}

// typedCall reads the fields of a call; the faults are what cannot be one.
func typedCall(v jobs.FormValues) (call httpcall.Call, faults []problem.Field) {
	fault := func(part, value string) {
		faults = append(faults, named(manage.CallFault(&httpcall.Fault{Field: part, Value: value}), callFields[part]))
	}
	call = httpcall.Call{
		URL: strings.TrimSpace(v[jobs.FieldCallURL]), Method: v[jobs.FieldCallMethod], Auth: strings.TrimSpace(v[jobs.FieldCallAuth]),
		ContentType: strings.TrimSpace(v[jobs.FieldCallType]), Data: httpcall.Body(strings.ReplaceAll(v[jobs.FieldCallBody], "\r\n", "\n")),
		Text: v[jobs.FieldCallText], Async: v[jobs.FieldCallAsync] != "",
	}
	for line := range strings.Lines(v[jobs.FieldCallHeaders]) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			fault(httpcall.FieldHeaders, line)
			continue
		}
		if call.Headers == nil {
			call.Headers = make(map[string]string)
		}
		call.Headers[name] = strings.TrimSpace(value)
	}
	if text := strings.TrimSpace(v[jobs.FieldCallTimeout]); text != "" {
		var err error
		if call.Timeout, err = strconv.Atoi(text); err != nil {
			fault(httpcall.FieldTimeout, text)
		}
	}
	var err error
	if call.Expected, err = httpcall.ParseStatuses(v[jobs.FieldCallExpected]); err != nil {
		fault(httpcall.FieldExpected, v[jobs.FieldCallExpected])
	}
	return call, faults
}

func named(f problem.Field, name string) problem.Field {
	f.Name = name
	return f
}
