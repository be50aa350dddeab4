package manage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// RunInput is a run by hand.
type RunInput struct {
	Param     *string   // nil: the job's
	NoParam   bool      // nil stands for an empty one where another than the job's is possible, as programs have it
	Addresses string    // in any layout; empty: the group's
	Planned   time.Time // what the runs mean by their planned time; zero: now
	Type      jobspec.TriggerType

	within  within // [scheduler.TriggerRequest.Within]
	repeats bool   // Param is that of a run, from whatever time: the job may ask for other fields since
}

// FieldRunAddresses is the name of RunInput.Addresses in a problem.Field.
const FieldRunAddresses = "addresses"

// FieldRunPlanned is the name of RunInput.Planned in a problem.Field.
const FieldRunPlanned = "planned"

// The planned times that a run by hand may have.
var (
	earliestPlanned = time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC)
	latestPlanned   = time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)
)

// notPlanned refuses a time that no planned time is at; last is the last day of those that are.
func notPlanned(field string, last time.Time) problem.Field {
	return problem.Field{Name: field, Key: jobspec.CodeNotThen, Args: []any{"Min", earliestPlanned.Format(time.DateOnly), "Max", last.Format(time.DateOnly)}}
}

// TriggerOnce is Trigger for a wish that may come again because its answer was lost: batch is any text that is new for each wish, and what was
// run for the same before is returned in place of running it again.
func (s *Jobs) TriggerOnce(ctx context.Context, p auth.Principal, id int64, in RunInput, batch string) (runs []int64, before bool, err error) {
	what := fmt.Sprintf("run:%d:%d:%q:%d", p.UserID, id, in.Addresses, in.Planned.UnixMilli())
	if in.Param != nil {
		what += ":" + *in.Param
	}
	return s.cfg.once(ctx, batch, what, func(ctx context.Context, remember within) ([]int64, error) {
		in.within = remember
		return s.Trigger(ctx, p, id, in)
	})
}

// Trigger runs a job now, whether it is started or not, and returns the ids of its runs.
func (s *Jobs) Trigger(ctx context.Context, p auth.Principal, id int64, in RunInput) ([]int64, error) {
	j, err := s.Need(ctx, p, id, auth.RightRun)
	if err != nil {
		return nil, err
	}
	if in.Param == nil && in.NoParam {
		own, err := s.OwnParam(ctx, p, j)
		if err != nil {
			return nil, err
		}
		if !own {
			in.Param = new(string)
		}
	}
	if err := s.checkParam(ctx, p, j, in.Param); err != nil {
		return nil, err
	}
	if err := checkForm(j, in); err != nil {
		return nil, err
	}
	if !in.Planned.IsZero() && (in.Planned.Before(earliestPlanned) || !in.Planned.Before(latestPlanned)) {
		return nil, problem.InvalidFields(notPlanned(FieldRunPlanned, latestPlanned.AddDate(0, 0, -1)))
	}
	addresses, err := s.chosen(ctx, j.JobGroup, in.Addresses)
	if err != nil {
		return nil, err
	}
	if j.GlueType == jobspec.GlueFlow && len(addresses) > 0 {
		return nil, problem.InvalidFields(problem.Field{Name: FieldRunAddresses, Key: "flow.error.addresses"})
	}
	with := Snapshot{"executor_address": strings.Join(addresses, "\n")}
	if in.Param != nil {
		with["executor_param"] = *in.Param
	}
	if !in.Planned.IsZero() {
		with["planned_for"] = in.Planned.In(s.cfg.Zone).Format(time.RFC3339)
	}
	return s.cfg.Engine.Trigger(ctx, scheduler.TriggerRequest{
		JobID: id, Type: in.Type, Param: in.Param, Addresses: addresses, Planned: in.Planned, User: p.Name,
		Within: func(ctx context.Context, tx *sql.Tx, ids []int64) error {
			if in.within != nil {
				if err := in.within(ctx, tx, ids); err != nil {
					return err
				}
			}
			with["runs"] = joinIDs(ids)
			return s.audit.Record(ctx, tx, p, Entry{Action: ActionRun, Kind: ObjectJob, ID: id, Name: j.JobDesc, Group: j.JobGroup, After: with})
		},
	})
}

// checkParam says whether a run by hand may have a parameter; nil stands for the job's own.
func (s *Jobs) checkParam(ctx context.Context, p auth.Principal, j db.Job, param *string) error {
	if param == nil {
		return nil
	}
	if len(*param) > jobspec.MaxParamBytes {
		return problem.InvalidFields(problem.Field{Name: jobspec.FieldParam, Key: "job.error.too_long", Args: []any{"Max", jobspec.MaxParamBytes}})
	}
	if chars, fits := s.cfg.Pool.FitsParam(*param); !fits {
		return problem.InvalidFields(problem.Field{Name: jobspec.FieldParam, Key: "job.error.too_long", Args: []any{"Max", chars}})
	}
	return s.checkRunParam(ctx, p, j, *param)
}

// checkForm says whether a run by hand has the parameter that its job asks for. A field of it is named behind that of the whole and a point.
func checkForm(j db.Job, in RunInput) error {
	form, fault := jobspec.ReadParamForm(string(j.ParamForm))
	if fault != nil || in.repeats {
		return nil //nolint:nilerr // an older program may have written it
	}
	param := string(j.ExecutorParam)
	if in.Param != nil {
		param = *in.Param
	}
	faults := form.Check(param)
	for i := range faults {
		faults[i].Name = strings.TrimSuffix(jobspec.FieldParam+"."+faults[i].Name, ".")
	}
	if len(faults) == 0 {
		return nil
	}
	return problem.InvalidFields(faults...)
}

// joinIDs writes the first of a list of run ids.
func joinIDs(ids []int64) string {
	const most = 20
	texts := make([]string, 0, most)
	for _, id := range ids[:min(len(ids), most)] {
		texts = append(texts, strconv.FormatInt(id, 10))
	}
	if len(ids) > most {
		texts = append(texts, "…")
	}
	return strings.Join(texts, ", ")
}

// maxChosen bounds the addresses of one run by hand.
const maxChosen = 100

// chosen checks addresses typed for one run: they are the group's own, or the allow rule names them.
func (s *Jobs) chosen(ctx context.Context, groupID int64, list string) ([]string, error) {
	typed, bad := normalAddresses(list)
	if bad != "" {
		return nil, problem.InvalidFields(problem.Field{Name: FieldRunAddresses, Key: "group.error.address", Args: []any{"Value", bad}})
	}
	if len(typed) == 0 {
		return nil, nil
	}
	if len(typed) > maxChosen {
		return nil, problem.InvalidFields(problem.Field{Name: FieldRunAddresses, Key: "job.error.too_long", Args: []any{"Max", maxChosen}})
	}
	// The group's own spelling is what is called, so that its later registrations are recognised.
	known := make(map[string]string)
	remember := func(address string) {
		if normal, err := NormalAddress(address); err == nil {
			known[normal] = address
		}
	}
	g, err := s.queries.GetGroup(ctx, s.cfg.Pool, groupID)
	if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
		return nil, fmt.Errorf("read group: %w", err)
	}
	if g.AddressType == AddressManual {
		for _, address := range GroupAddressList(g) {
			remember(address)
		}
	}
	for _, state := range s.cfg.Engine.Addresses(groupID) {
		if state.Live { // where an executor was, somebody else may be now
			remember(state.Address)
		}
	}
	for i, address := range typed {
		switch spelled, ok := known[address]; {
		case ok && s.cfg.Settings.isInside(spelled): // behind the admin's own port, but it is not called there
			typed[i] = spelled
		case s.cfg.Settings.refuses(address):
			return nil, problem.InvalidFields(problem.Field{Name: FieldRunAddresses, Key: "group.error.denied"})
		case ok:
			typed[i] = spelled
		case !s.cfg.Settings.Allow().Permits(address):
			return nil, problem.InvalidFields(problem.Field{Name: FieldRunAddresses, Key: "job.error.address_not_allowed", Args: []any{"Value", address}})
		}
	}
	return typed, nil
}
