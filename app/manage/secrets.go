package manage

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/secret"
)

// Secrets are the use cases of what jobs use without knowing it. Who may edit the jobs of a group sees which there are and names them
// in jobs. Who may also write its scripts, and so could read every one of them on an executor, sets them. Nobody is ever shown one.
type Secrets struct {
	cfg     Config
	queries *db.Queries
	audit   *Audit
}

// The names of a secret's fields, by which a problem.Field finds its place in a form.
const (
	SecretName  = "name"
	SecretValue = "value"
)

// maxSecrets bounds those of one group: all are read for a run that names one.
const maxSecrets = 200

// RightSecrets is what setting secrets takes.
const RightSecrets = auth.RightEdit | auth.RightGlue

// List is the secrets of a group, without their values.
func (s *Secrets) List(ctx context.Context, p auth.Principal, groupID int64) ([]db.ListSecretsRow, error) {
	if err := s.may(ctx, p, groupID, auth.RightEdit); err != nil {
		return nil, err
	}
	rows, err := s.queries.ListSecrets(ctx, s.cfg.Pool, groupID)
	return rows, during("list secrets", err)
}

// Ready says whether this installation can keep secrets: it has a secret key.
func (s *Secrets) Ready() bool { return s.cfg.Secrets.Ready() }

func (s *Secrets) may(ctx context.Context, p auth.Principal, groupID int64, right auth.Rights) error {
	if !p.CanUseGroup(groupID) {
		return problem.New(problem.NotFound, "problem.group.gone")
	}
	if !p.Can(groupID, right) {
		return forbidden()
	}
	_, err := s.queries.GetGroup(ctx, s.cfg.Pool, groupID)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return problem.New(problem.NotFound, "problem.group.gone")
	}
	return err
}

// MaySet says whether p may set and delete the secrets of a group.
func (s *Secrets) MaySet(ctx context.Context, p auth.Principal, groupID int64) error {
	return s.may(ctx, p, groupID, RightSecrets)
}

// Set keeps a secret, in place of the one of that name if there is one.
func (s *Secrets) Set(ctx context.Context, p auth.Principal, groupID int64, name, value string) error {
	if err := s.may(ctx, p, groupID, RightSecrets); err != nil {
		return err
	}
	if !s.Ready() {
		return problem.New(problem.Conflict, "problem.secret.nokey")
	}
	name = strings.ToUpper(strings.TrimSpace(name))
	var fields []problem.Field
	switch {
	case name == "":
		fields = append(fields, problem.Field{Name: SecretName, Key: "job.error.required"})
	case !secret.IsName(name):
		fields = append(fields, problem.Field{Name: SecretName, Key: "secret.error.name", Args: []any{"Max", secret.MaxName}})
	}
	switch {
	case len(value) < secret.MinValue:
		fields = append(fields, problem.Field{Name: SecretValue, Key: "secret.error.short", Args: []any{"Min", secret.MinValue}})
	case len(value) > secret.MaxValue:
		fields = append(fields, problem.Field{Name: SecretValue, Key: "job.error.too_long", Args: []any{"Max", secret.MaxValue}})
	}
	if len(fields) > 0 {
		return problem.InvalidFields(fields...)
	}
	err := s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		// First, so that neither the group goes nor another secret comes meanwhile.
		if n, err := s.queries.HoldGroup(ctx, tx, groupID); err != nil {
			return err
		} else if n == 0 {
			return problem.New(problem.NotFound, "problem.group.gone")
		}
		rows, err := s.queries.ListSecrets(ctx, tx, groupID)
		if err != nil {
			return err
		}
		action := ActionCreate
		if slices.ContainsFunc(rows, func(r db.ListSecretsRow) bool { return strings.EqualFold(r.Name, name) }) {
			action = ActionRotate
		} else if len(rows) >= maxSecrets {
			return problem.New(problem.Conflict, "problem.secret.many", "Max", maxSecrets)
		}
		if err := s.cfg.Secrets.Set(ctx, tx, groupID, name, value, cut(p.Name, 64), s.cfg.Now().UnixMilli()); err != nil {
			return err
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: action, Kind: ObjectSecret, ID: groupID, Name: name})
	})
	return during("set secret", err)
}

// Delete forgets a secret. Runs that name it are not sent from then on.
func (s *Secrets) Delete(ctx context.Context, p auth.Principal, groupID int64, name string) error {
	if err := s.may(ctx, p, groupID, RightSecrets); err != nil {
		return err
	}
	err := s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		n, err := s.queries.DeleteSecret(ctx, tx, db.DeleteSecretParams{GroupID: groupID, Name: name})
		if err != nil {
			return err
		}
		if n == 0 {
			return problem.New(problem.NotFound, "problem.secret.gone")
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionDelete, Kind: ObjectSecret, ID: groupID, Name: strings.ToUpper(name)})
	})
	return during("delete secret", err)
}

// checkRunSecrets refuses a parameter that names a secret to whom may only run the job: they could have it printed.
func checkRunSecrets(p auth.Principal, j db.Job, param string) error {
	if param == string(j.ExecutorParam) || p.Can(j.JobGroup, auth.RightEdit) || len(secret.Names(param)) == 0 {
		return nil
	}
	return problem.InvalidFields(problem.Field{Name: jobspec.FieldParam, Key: "job.error.param_secret"})
}

// checkScriptSecrets refuses a script whose environment names a secret that it did not name before to whom may not edit jobs.
func checkScriptSecrets(p auth.Principal, j db.Job, source string) error {
	if p.Can(j.JobGroup, auth.RightEdit) {
		return nil
	}
	was := secret.InSource(string(j.GlueSource))
	for _, name := range secret.InSource(source) {
		if !slices.Contains(was, name) {
			return problem.InvalidFields(problem.Field{Name: jobspec.FieldSource, Key: "job.error.source_secret", Args: []any{"Name", name}})
		}
	}
	return nil
}
