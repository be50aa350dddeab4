package manage

import (
	"context"
	"fmt"
	"slices"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// A handler that runs its parameter is a script by another name: who writes the parameter runs programs on the executor's
// machine. Only who may write scripts makes or changes such a job, or runs it with another parameter.

// wellKnownCode are the handlers of XXL-JOB's sample executors that do what their parameter says: the one starts a program, the
// other instructs an agent that does. Their executors do not declare them.
var wellKnownCode = []string{"commandJobHandler", "openClawJobHandler"}

// CodeHandlers are the handlers whose parameter is code: by group, as its executors declare, and the well-known ones.
type CodeHandlers map[int64][]string

func (c CodeHandlers) is(groupID int64, glue wire.Glue, handler string) bool {
	return glue == wire.GlueBean && (slices.Contains(wellKnownCode, handler) || slices.Contains(c[groupID], handler))
}

func (c CodeHandlers) stored(j db.Job) bool {
	return c.is(j.JobGroup, j.GlueType, string(j.ExecutorHandler))
}

// CodeHandlers are those of all groups.
func (s *Jobs) CodeHandlers(ctx context.Context) (CodeHandlers, error) {
	return s.codeHandlers(ctx, s.cfg.Pool)
}

func (s *Jobs) codeHandlers(ctx context.Context, tx db.DBTX) (CodeHandlers, error) {
	if s.around != nil && s.around.code != nil {
		return s.around.code, nil
	}
	rows, err := s.queries.ListCodeHandlers(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("read handlers: %w", db.Error(err))
	}
	code := make(CodeHandlers)
	for _, r := range rows {
		code[r.GroupID] = append(code[r.GroupID], r.Handler)
	}
	if s.around != nil {
		s.around.code = code
	}
	return code, nil
}

// CodeRefused is the key of why somebody may not save a job because of a handler, "" if that is no reason. An old job is one that
// exists. With scripts switched off a job's other parts can still be changed, as those of a script can.
func (s *Jobs) CodeRefused(code CodeHandlers, p auth.Principal, in JobInput, old *db.Job) string {
	was := old != nil && code.stored(*old)
	if !was && !code.is(in.Group, in.Glue, in.Handler) {
		return ""
	}
	if !mayScript(p, in.Group) || old != nil && !mayScript(p, old.JobGroup) {
		return "problem.code.right"
	}
	same := was && in.Group == old.JobGroup && in.Handler == string(old.ExecutorHandler) && in.Param == string(old.ExecutorParam)
	if !same && !s.cfg.Settings.Glue() {
		return "problem.scripts.off"
	}
	return ""
}

// checkCode refuses a job whose parameter is code to whom may not write scripts.
func (s *Jobs) checkCode(ctx context.Context, tx db.DBTX, p auth.Principal, in JobInput, old *db.Job) error {
	code, err := s.codeHandlers(ctx, tx)
	if err != nil {
		return err
	}
	if key := s.CodeRefused(code, p, in, old); key != "" {
		return problem.New(problem.Forbidden, key)
	}
	return nil
}

// checkRunParam says whether somebody may run a job with a parameter in place of its own.
func (s *Jobs) checkRunParam(ctx context.Context, p auth.Principal, j db.Job, param string) error {
	if param == string(j.ExecutorParam) {
		return nil
	}
	if err := checkRunSecrets(p, j, param); err != nil {
		return err
	}
	if fault := jobspec.ParamFault(param); fault != nil {
		return problem.InvalidFields(*fault)
	}
	key, err := s.paramHeld(ctx, p, j)
	if err != nil {
		return err
	}
	if key != "" {
		return problem.InvalidFields(problem.Field{Name: jobspec.FieldParam, Key: key})
	}
	return nil
}

// OwnParam says whether a job can be run by somebody with its own parameter only.
func (s *Jobs) OwnParam(ctx context.Context, p auth.Principal, j db.Job) (bool, error) {
	key, err := s.paramHeld(ctx, p, j)
	return key != "", err
}

// paramHeld is the key of why a job's parameter cannot be replaced for a run by hand, "" if it can.
func (s *Jobs) paramHeld(ctx context.Context, p auth.Principal, j db.Job) (string, error) {
	if j.ParamFixed != 0 {
		return "job.error.param_fixed", nil
	}
	code, err := s.CodeHandlers(ctx)
	switch {
	case err != nil:
		return "", err
	case !code.stored(j):
		return "", nil
	case !mayScript(p, j.JobGroup):
		return "job.error.param_code", nil
	case !s.cfg.Settings.Glue():
		return "problem.scripts.off", nil
	}
	return "", nil
}
