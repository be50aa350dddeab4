package openapi

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/punctual-job/punctual/executor/wire"
)

// declare takes the jobs that a program brings with it. It takes the group's own token, and that this manages the group's jobs.
func (a *API) declare(ctx context.Context, remote string, body []byte, who caller) ([]byte, error) {
	p, groups, err := a.groupProgram(ctx, remote, who)
	if err != nil {
		return nil, err
	}
	var d wire.Declaration
	if err := json.Unmarshal(body, &d); err != nil {
		return nil, refusal(msgInvoke + "the body is not the JSON of a declaration: " + printable(err.Error()))
	}
	if d.RegistryKey != who.scope {
		return nil, refusal(msgToken)
	}
	if a.Settle != nil {
		a.Settle(ctx)
	}
	results, err := a.Declared.Declare(ctx, p, groups[0].ID, d)
	if err != nil {
		return nil, a.said(err)
	}
	out := make([]wire.DeclareResult, len(results))
	for i, r := range results {
		out[i] = wire.DeclareResult{Name: r.Name, ID: r.ID, Outcome: r.Outcome}
		if len(r.Unheeded) > 0 { // its program comes up all the same
			a.Logger.Warn("a program says of a job what says nothing beside the rest of it", "group", who.scope, "job", r.Name, "fields", strings.Join(r.Unheeded, ", "))
		}
		if r.Err == nil {
			continue
		}
		text, known := a.said(r.Err).(refusal)
		if !known {
			return nil, r.Err // our own fault or an outage: the program comes again
		}
		out[i].Error = string(text)
	}
	return json.Marshal(out)
}
