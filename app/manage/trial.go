package manage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// TrialInput is a script that is run once before it is saved.
type TrialInput struct {
	Source  string
	Param   *string // nil: the job's
	Address string  // that runs it
}

// TryScript runs a text once in the place of a job's script, at one address, and returns the id of its run. Who does so may change the
// script and run the job. Where changes of scripts wait for a second person, so do trials: only the text that waits may be tried, and
// not by its author.
func (s *Jobs) TryScript(ctx context.Context, p auth.Principal, id int64, in TrialInput) (run int64, err error) {
	if _, err := s.Need(ctx, p, id, auth.RightRun); err != nil {
		return 0, err
	}
	j, err := s.Script(ctx, p, id)
	if err != nil {
		return 0, err
	}
	if !jobspec.IsScript(j.GlueType) {
		return 0, problem.New(problem.Conflict, "problem.glue.bean")
	}
	var fields []problem.Field
	if strings.TrimSpace(in.Source) == "" {
		fields = append(fields, problem.Field{Name: jobspec.FieldSource, Key: jobspec.CodeRequired})
	}
	if len(in.Source) > jobspec.MaxSourceBytes {
		fields = append(fields, problem.Field{Name: jobspec.FieldSource, Key: jobspec.CodeTooLong, Args: []any{"Max", jobspec.MaxSourceBytes}})
	}
	addresses, err := s.chosen(ctx, j.JobGroup, in.Address)
	if err != nil {
		return 0, err
	}
	if len(addresses) != 1 {
		fields = append(fields, problem.Field{Name: FieldRunAddresses, Key: "glue.error.address"})
	}
	if len(fields) > 0 {
		return 0, problem.InvalidFields(fields...)
	}
	if err := s.checkParam(ctx, p, j, in.Param); err != nil {
		return 0, err
	}
	if in.Param == nil {
		param := string(j.ExecutorParam)
		in.Param = &param
	}
	if err := checkScriptSecrets(p, j, in.Source); err != nil {
		return 0, err
	}
	runs, err := s.cfg.Engine.Trigger(ctx, scheduler.TriggerRequest{
		JobID: id, Type: jobspec.TriggerTrial, Param: in.Param, Addresses: addresses, User: p.Name,
		Within: func(ctx context.Context, tx *sql.Tx, ids []int64) error {
			if err := s.mayTry(ctx, tx, p, j, in.Source); err != nil {
				return err
			}
			if err := s.queries.InsertTrial(ctx, tx, db.InsertTrialParams{LogID: ids[0], JobID: id, MadeAt: s.cfg.Now().UnixMilli(), Source: in.Source}); err != nil {
				return fmt.Errorf("keep the text of a trial: %w", err)
			}
			return s.audit.Record(ctx, tx, p, Entry{
				Action: ActionTry, Kind: ObjectJob, ID: id, Name: j.JobDesc, Group: j.JobGroup,
				After: Snapshot{"runs": joinIDs(ids), "executor_address": addresses[0], "executor_param": *in.Param, "glue_source": in.Source},
			})
		},
	})
	if err != nil {
		return 0, fmt.Errorf("try a script: %w", err)
	}
	return runs[0], nil
}

// mayTry looks, in the transaction that makes the run, whether a text may run as things are. Of a job that was moved since it was read neither the
// right to run it nor the address counts any more.
func (s *Jobs) mayTry(ctx context.Context, tx *sql.Tx, p auth.Principal, read db.Job, source string) error {
	j, err := s.script(ctx, tx, p, read.ID)
	if err != nil {
		return err
	}
	if j.JobGroup != read.JobGroup {
		return problem.New(problem.Conflict, "problem.changed")
	}
	waits, err := s.reviewed(ctx, tx, j.JobGroup)
	if err != nil || !waits || source == string(j.GlueSource) {
		return err
	}
	c, err := s.queries.GetScriptChange(ctx, tx, j.ID)
	if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
		return err
	}
	if err != nil || c.Source != source || !isSecond(p, c) {
		return problem.New(problem.Forbidden, "problem.script.trial")
	}
	return nil
}

// MayTry says whether somebody may try texts of their own in the place of a job's script. The job must be one whose script they may change.
func (s *Jobs) MayTry(ctx context.Context, p auth.Principal, j db.Job) (bool, error) {
	if !p.Can(j.JobGroup, auth.RightRun) {
		return false, nil
	}
	waits, err := s.reviewed(ctx, s.cfg.Pool, j.JobGroup)
	return !waits, err
}

// Tried is the text that a trial ran; ok is false where the run is none, or the principal may not see its job's script.
func (s *Jobs) Tried(ctx context.Context, p auth.Principal, r db.Run) (text string, ok bool, err error) {
	if r.TriggerType != jobspec.TriggerTrial || !mayScript(p, r.JobGroup) {
		return "", false, nil
	}
	t, err := s.queries.GetTrial(ctx, s.cfg.Pool, r.ID)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return "", false, nil
	} else if err != nil {
		return "", false, fmt.Errorf("read the text of a trial: %w", err)
	}
	return t.Source, true, nil
}
