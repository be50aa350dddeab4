package manage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// A version's remark says what changed; upstream's editor asks for as much (docs/compat.md §5.5).
const (
	MinGlueRemark = 4
	MaxGlueRemark = 100
)

// GlueInput is a script as its editor saves it.
type GlueInput struct {
	Source string
	Remark string
	// Version is what [GlueVersion] said when the editor was opened; empty asks for no check.
	Version string
	Job     string // what [JobVersion] said, for who goes by the whole job; empty asks for no check
}

// GlueVersion changes with every change of a script's text.
func GlueVersion(j db.Job) string {
	return digest(fmt.Sprintf("%d|%q", j.GlueUpdateTime.Time.Unix(), j.GlueSource))
}

// mayScript says whether somebody may read and change the scripts of a group.
func mayScript(p auth.Principal, groupID int64) bool { return p.Can(groupID, auth.RightGlue) }

// Script is a job whose script the principal may read and change. A job that runs a handler has none.
func (s *Jobs) Script(ctx context.Context, p auth.Principal, id int64) (db.Job, error) {
	return s.script(ctx, s.cfg.Pool, p, id)
}

func (s *Jobs) script(ctx context.Context, tx db.DBTX, p auth.Principal, id int64) (db.Job, error) {
	j, err := s.queries.GetJob(ctx, tx, id)
	switch err = db.Error(err); {
	case errors.Is(err, db.ErrNotFound):
		return db.Job{}, jobGone()
	case err != nil:
		return db.Job{}, fmt.Errorf("read job: %w", err)
	case !p.CanUseGroup(j.JobGroup):
		return db.Job{}, jobGone()
	case j.GlueType == jobspec.GlueFlow && p.Can(j.JobGroup, auth.RightEdit): // its definition is edited in the same ways
		return j, nil
	case !mayScript(p, j.JobGroup):
		return db.Job{}, problem.New(problem.Forbidden, "problem.scripts.right")
	case j.GlueType == wire.GlueBean:
		return db.Job{}, problem.New(problem.Conflict, "problem.glue.bean")
	case !s.cfg.Settings.Glue():
		return db.Job{}, scriptsRefused()
	}
	return j, nil
}

// CanScript says whether the principal gets anywhere with the editor of a group's jobs of a kind, as Script does.
func (s *Jobs) CanScript(p auth.Principal, kind wire.Glue, groupID int64) bool {
	if kind == jobspec.GlueFlow && p.Can(groupID, auth.RightEdit) {
		return true
	}
	return kind != wire.GlueBean && s.cfg.Settings.Glue() && mayScript(p, groupID)
}

// ScriptTimes are when the kept versions of a script were saved, the newest first. The job must be one the principal may see.
func (s *Jobs) ScriptTimes(ctx context.Context, id int64) ([]time.Time, error) {
	rows, err := s.queries.ListGlueVersions(ctx, s.cfg.Pool, db.ListGlueVersionsParams{JobID: id, Limit: keptVersions})
	if err != nil {
		return nil, fmt.Errorf("list versions: %w", db.Error(err))
	}
	var times []time.Time
	for _, r := range rows {
		if r.AddTime.Valid {
			times = append(times, s.cfg.Pool.FromWall(r.AddTime.Time))
		}
	}
	return times, nil
}

// GlueVersions are the kept versions of a script, newest first, without their texts.
func (s *Jobs) GlueVersions(ctx context.Context, p auth.Principal, id int64) ([]db.ListGlueVersionsRow, error) {
	if _, err := s.Script(ctx, p, id); err != nil {
		return nil, err
	}
	rows, err := s.queries.ListGlueVersions(ctx, s.cfg.Pool, db.ListGlueVersionsParams{JobID: id, Limit: keptVersions})
	return rows, during("list versions", err)
}

// GlueVersion is one kept version of a script.
func (s *Jobs) GlueVersion(ctx context.Context, p auth.Principal, id, versionID int64) (db.GlueVersion, error) {
	if _, err := s.Script(ctx, p, id); err != nil {
		return db.GlueVersion{}, err
	}
	return s.glueVersion(ctx, s.cfg.Pool, id, versionID)
}

func (s *Jobs) glueVersion(ctx context.Context, tx db.DBTX, id, versionID int64) (db.GlueVersion, error) {
	v, err := s.queries.GetGlueVersion(ctx, tx, db.GetGlueVersionParams{ID: versionID, JobID: id})
	switch err = db.Error(err); {
	case errors.Is(err, db.ErrNotFound):
		return v, problem.New(problem.NotFound, "problem.glue.gone")
	case err != nil:
		return v, fmt.Errorf("read version: %w", err)
	}
	return v, nil
}

// SaveGlue stores a script as a new version.
func (s *Jobs) SaveGlue(ctx context.Context, p auth.Principal, id int64, in GlueInput) error {
	in.Remark = strings.TrimSpace(in.Remark)
	return s.writeGlue(ctx, p, id, func(*sql.Tx, db.Job) (GlueInput, error) { return in, checkGlue(in) })
}

// RestoreGlue makes the text of a kept version the newest one again.
func (s *Jobs) RestoreGlue(ctx context.Context, p auth.Principal, id, versionID int64) error {
	return s.writeGlue(ctx, p, id, func(tx *sql.Tx, _ db.Job) (GlueInput, error) {
		v, err := s.glueVersion(ctx, tx, id, versionID)
		return GlueInput{Source: string(v.GlueSource), Remark: v.GlueRemark}, err
	})
}

func checkGlue(in GlueInput) error {
	var fields []problem.Field
	if strings.TrimSpace(in.Source) == "" {
		fields = append(fields, problem.Field{Name: jobspec.FieldSource, Key: jobspec.CodeRequired})
	}
	if len(in.Source) > jobspec.MaxSourceBytes {
		fields = append(fields, problem.Field{Name: jobspec.FieldSource, Key: jobspec.CodeTooLong, Args: []any{"Max", jobspec.MaxSourceBytes}})
	}
	if n := utf8.RuneCountInString(in.Remark); n < MinGlueRemark || n > MaxGlueRemark {
		fields = append(fields, problem.Field{Name: jobspec.FieldRemark, Key: "glue.error.remark", Args: []any{"Min", MinGlueRemark, "Max", MaxGlueRemark}})
	}
	if len(fields) > 0 {
		return problem.InvalidFields(fields...)
	}
	return nil
}

// writeGlue stores what make says as the newest version. make is called with the job as it is now.
func (s *Jobs) writeGlue(ctx context.Context, p auth.Principal, id int64, make func(*sql.Tx, db.Job) (GlueInput, error)) error {
	was, err := s.Script(ctx, p, id)
	if err != nil {
		return err
	}
	err = s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		if was.GlueType == jobspec.GlueFlow {
			if err := s.startsTurn(ctx, tx); err != nil {
				return err
			}
		}
		j, err := s.script(ctx, tx, p, id)
		if err != nil {
			return err
		}
		in, err := make(tx, j)
		if err != nil {
			return err
		}
		if in.Version != "" && in.Version != GlueVersion(j) || in.Job != "" && in.Job != JobVersion(j) {
			return problem.New(problem.Conflict, "problem.changed")
		}
		if err := s.mayEdit(ctx, tx, id); err != nil {
			return err
		}
		if in.Source == string(j.GlueSource) {
			return problem.New(problem.Conflict, "problem.glue.same")
		}
		if j.GlueType == jobspec.GlueFlow {
			err = s.checkDefinition(ctx, tx, p, j, in.Source)
		} else {
			err = checkScriptSecrets(p, j, in.Source)
		}
		if err != nil {
			return err
		}
		waits := false
		if jobspec.IsScript(j.GlueType) {
			if waits, err = s.reviewed(ctx, tx, j.JobGroup); err != nil {
				return err
			}
		}
		if waits {
			return s.propose(ctx, tx, p, j, in.Source, in.Remark)
		}
		if err := s.storeScript(ctx, tx, j, in.Source, in.Remark); err != nil {
			return err
		}
		return s.recordJob(ctx, tx, p, ActionGlue, j, id)
	})
	if err != nil {
		return fmt.Errorf("save script: %w", err)
	}
	s.cfg.Engine.JobsChanged()
	return nil
}

// versionTime is the time of a new version. The executor recognises a version by it, so two must not share a second.
func versionTime(now, last sql.NullTime) sql.NullTime {
	if last.Valid && !now.Time.After(last.Time) {
		now.Time = last.Time.Add(time.Second)
	}
	return now
}
