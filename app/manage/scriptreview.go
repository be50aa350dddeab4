package manage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Where a group has it so, a change of a script waits for a second person with the right to scripts. What ran before runs on until then;
// a new job's script is empty, and its runs are not sent. However a script is changed (the editor, a form, a program, an import), it goes
// through [Jobs.propose].

// reviewed says whether changes of scripts wait in a group.
func (s *Jobs) reviewed(ctx context.Context, tx db.DBTX, groupID int64) (bool, error) {
	g, err := s.queries.GetGroup(ctx, tx, groupID)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("read group: %w", err)
	}
	o, err := s.groups.options(ctx, tx, g.AppName)
	return o.ScriptReview, err
}

// propose lets a script wait. One that waits already is replaced by its own author only. The same text once more, as a file brings it each time
// that it is applied, is no other change: who is looking at it may go on.
func (s *Jobs) propose(ctx context.Context, tx *sql.Tx, p auth.Principal, j db.Job, source, remark string) error {
	waiting, err := s.queries.GetScriptChange(ctx, tx, j.ID)
	if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
		return err
	}
	base := GlueVersion(j)
	switch same, mine := waiting.Source == source && waiting.Base == base, isAuthor(p, waiting); {
	case err != nil:
	case same && (!mine || waiting.Remark == cut(remark, 128)):
		return nil
	case !mine:
		return problem.New(problem.Conflict, "problem.script.waiting", "Name", waiting.Author)
	}
	c := db.InsertScriptChangeParams{
		JobID: j.ID, AuthorID: p.UserID, Author: cut(p.Name, 64), Base: base, Source: source, Remark: cut(remark, 128), MadeAt: max(s.cfg.Now().UnixMilli(), waiting.MadeAt+1),
	}
	if err := s.keepScriptChange(ctx, tx, c, waiting.MadeAt); err != nil {
		return err
	}
	return s.audit.Record(ctx, tx, p, Entry{Action: ActionPropose, Kind: ObjectJob, ID: j.ID, Name: j.JobDesc, Group: j.JobGroup, After: Snapshot{"glue_source": source, "glue_remark": remark}})
}

// keepScriptChange writes a text that waits, in the place of the one of a moment; 0: there was none. Of two that come at once one is refused.
func (s *Jobs) keepScriptChange(ctx context.Context, tx *sql.Tx, c db.InsertScriptChangeParams, was int64) error {
	var err error
	n := int64(1)
	if was == 0 {
		err = db.Error(s.queries.InsertScriptChange(ctx, tx, c))
	} else {
		n, err = s.queries.ReplaceScriptChange(ctx, tx, db.ReplaceScriptChangeParams{
			JobID: c.JobID, AuthorID: c.AuthorID, Author: c.Author, Base: c.Base, Source: c.Source, Remark: c.Remark, MadeAt: c.MadeAt, OldMadeAt: was,
		})
	}
	if errors.Is(err, db.ErrDuplicate) || err == nil && n == 0 {
		err = problem.New(problem.Conflict, "problem.changed")
	}
	return err
}

// ScriptReview says whether a new script of a job waits for a second person in a group, and whether the same one waits already, so that there
// is nothing to propose.
func (s *Jobs) ScriptReview(ctx context.Context, groupID int64, j db.Job, source string) (waits, already bool, err error) {
	if waits, err = s.reviewed(ctx, s.cfg.Pool, groupID); err != nil || !waits {
		return false, false, err
	}
	c, err := s.queries.GetScriptChange(ctx, s.cfg.Pool, j.ID)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return true, false, nil
	} else if err != nil {
		return true, false, fmt.Errorf("read the script that waits: %w", err)
	}
	return true, c.Source == source && c.Base == GlueVersion(j), nil
}

// ScriptChangeVersion changes with every text that is proposed.
func ScriptChangeVersion(c db.ScriptChange) string {
	return digest(fmt.Sprintf("%d|%s|%d|%q", c.JobID, c.Author, c.MadeAt, c.Source))
}

// ScriptChange is the change of a job's script that waits; ok is false if none does.
func (s *Jobs) ScriptChange(ctx context.Context, p auth.Principal, id int64) (j db.Job, c db.ScriptChange, ok bool, err error) {
	if j, err = s.Script(ctx, p, id); err != nil {
		return j, c, false, err
	}
	c, err = s.queries.GetScriptChange(ctx, s.cfg.Pool, id)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return j, c, false, nil
	}
	return j, c, err == nil, err
}

// reviews are the jobs of whose scripts a change waits that somebody may look at, and how many of those they may approve.
func (s *Jobs) reviews(ctx context.Context, p auth.Principal) (ids []int64, approves int64, err error) {
	rows, err := s.queries.ListScriptChanges(ctx, s.cfg.Pool)
	if err != nil {
		return nil, 0, fmt.Errorf("list the scripts that wait: %w", db.Error(err))
	}
	for _, r := range rows {
		if !p.CanUseGroup(r.JobGroup) || !s.CanScript(p, r.GlueType, r.JobGroup) {
			continue
		}
		ids = append(ids, r.JobID)
		if mayScript(p, r.JobGroup) && isSecond(p, db.ScriptChange{AuthorID: r.AuthorID, Author: r.Author}) {
			approves++
		}
	}
	return ids, approves, nil
}

// Approvals is how many changes of scripts wait that somebody may approve.
func (s *Jobs) Approvals(ctx context.Context, p auth.Principal) (int64, error) {
	if !p.CanAnywhere(auth.RightGlue) {
		return 0, nil
	}
	_, n, err := s.reviews(ctx, p)
	return n, err
}

// isAuthor says whether somebody made a change, also with one of their API tokens.
func isAuthor(p auth.Principal, c db.ScriptChange) bool {
	return p.UserID != 0 && p.UserID == c.AuthorID || cut(p.Name, 64) == c.Author
}

// isSecond says whether somebody is a second person to a change. A service account is none: its author may have the token.
func isSecond(p auth.Principal, c db.ScriptChange) bool { return !isAuthor(p, c) && !p.Service }

// MayApprove says whether somebody may let a waiting change run.
func (s *Jobs) MayApprove(p auth.Principal, j db.Job, c db.ScriptChange) bool {
	return mayScript(p, j.JobGroup) && isSecond(p, c)
}

// ApproveScript makes a waiting change the script that runs. version is what [ScriptChangeVersion] said of the text that was looked at.
func (s *Jobs) ApproveScript(ctx context.Context, p auth.Principal, id int64, version string) error {
	return s.decideScript(ctx, p, id, version, func(tx *sql.Tx, j db.Job, c db.ScriptChange) error {
		if isAuthor(p, c) {
			return problem.New(problem.Forbidden, "problem.script.author")
		}
		if !isSecond(p, c) {
			return problem.New(problem.Forbidden, "problem.script.service")
		}
		if c.Base != GlueVersion(j) {
			return problem.New(problem.Conflict, "problem.script.base")
		}
		if err := s.storeScript(ctx, tx, j, c.Source, c.Remark); err != nil {
			return err
		}
		now, err := s.queries.GetJob(ctx, tx, id)
		if err != nil {
			return err
		}
		before, after := jobSnapshot(j), jobSnapshot(now)
		after["author"] = c.Author // of the script: the one who did not approve it
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionApprove, Kind: ObjectJob, ID: id, Name: j.JobDesc, Group: j.JobGroup, Before: before, After: after})
	})
}

// RejectScript forgets a waiting change. Its author does so to take it back.
func (s *Jobs) RejectScript(ctx context.Context, p auth.Principal, id int64, version string) error {
	return s.decideScript(ctx, p, id, version, func(tx *sql.Tx, j db.Job, c db.ScriptChange) error {
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionReject, Kind: ObjectJob, ID: id, Name: j.JobDesc, Group: j.JobGroup, Before: Snapshot{"glue_source": c.Source, "author": c.Author}})
	})
}

// LastDecision is what became of the change of a job's script that was decided last, and by whom; "" if none was.
func (s *Jobs) LastDecision(ctx context.Context, p auth.Principal, id int64) (last Action, by string, err error) {
	if _, err := s.Script(ctx, p, id); err != nil {
		return "", "", err
	}
	newest := int64(0)
	for _, action := range []Action{ActionApprove, ActionReject} {
		found, err := db.FindAudit(ctx, s.cfg.Pool, db.AuditFilter{Kind: ObjectJob, ObjectID: id, Action: string(action)}, newest, math.MaxInt64, 1)
		if err != nil {
			return "", "", db.Error(err)
		}
		for _, e := range found {
			newest, last, by = e.ID, action, e.UserName
		}
	}
	return last, by, nil
}

func (s *Jobs) decideScript(ctx context.Context, p auth.Principal, id int64, version string, do func(*sql.Tx, db.Job, db.ScriptChange) error) error {
	err := s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		j, err := s.script(ctx, tx, p, id)
		if err != nil {
			return err
		}
		c, err := s.queries.GetScriptChange(ctx, tx, id)
		if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
			return problem.New(problem.NotFound, "problem.script.none")
		} else if err != nil {
			return err
		}
		if version != ScriptChangeVersion(c) {
			return problem.New(problem.Conflict, "problem.changed")
		}
		if err := do(tx, j, c); err != nil {
			return err
		}
		n, err := s.queries.TakeScriptChange(ctx, tx, db.TakeScriptChangeParams{JobID: id, MadeAt: c.MadeAt})
		if err == nil && n == 0 {
			return problem.New(problem.Conflict, "problem.changed")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("decide about a script: %w", err)
	}
	s.cfg.Engine.JobsChanged()
	return nil
}

// storeScript makes a text the newest version of a job's script.
func (s *Jobs) storeScript(ctx context.Context, tx *sql.Tx, j db.Job, source, remark string) error {
	now := s.wall()
	at := versionTime(now, j.GlueUpdateTime)
	n, err := s.queries.SaveJobSource(ctx, tx, db.SaveJobSourceParams{
		ID: j.ID, OldRevision: j.Revision, GlueSource: db.Text(source), GlueRemark: db.Text(remark), GlueUpdateTime: at, UpdateTime: now,
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return problem.New(problem.Conflict, "problem.changed")
	}
	return s.keepVersion(ctx, tx, j.ID, JobInput{Job: jobspec.Job{Glue: j.GlueType, GlueSource: source, GlueRemark: remark}}, at)
}
