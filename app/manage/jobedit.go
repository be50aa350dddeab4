package manage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// JobInput is a job as somebody wants to save it.
type JobInput struct {
	jobspec.Job
	Group int64
	// Version is what [JobVersion] said when the form was drawn; empty asks for no check.
	Version string
	// KeepOptions leaves what XXL-JOB's jobs do not have (zone, bounds, limits …) as it is, for a form that does not show it.
	KeepOptions bool
	// FixParam overrules KeepOptions for the one option that programs may set.
	FixParam *bool
	// Declared is of a new job that a program brings with it; nil for all others.
	Declared *Declared
}

// Declared is what is noted of a job that a program brings with it.
type Declared struct {
	Name   string   // by which the program finds it again, unique in its group: a second one is refused with [db.ErrDuplicate]
	Fields []string // what the program decides, in the words of a job file
	Due    bool     // its schedule is to be started
}

// FieldGroup is the name of JobInput.Group in a problem.Field; the others are jobspec's.
const FieldGroup = "group"

// DeclaredBy is what a program has said of a job that it brought with it, ok if one did.
func (s *Jobs) DeclaredBy(ctx context.Context, id int64) (row db.DeclaredJob, ok bool, err error) {
	row, err = s.queries.GetDeclaredJob(ctx, s.cfg.Pool, id)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return row, false, nil
	} else if err != nil {
		return row, false, fmt.Errorf("read declared job: %w", err)
	}
	return row, true, nil
}

// InFiles is where a job is kept in files, without a source if nowhere, and whether it was changed since it was applied. The job must be
// one the principal may see.
func (s *Jobs) InFiles(ctx context.Context, id int64) (row db.FileJob, changed bool, err error) {
	row, err = s.queries.GetFileJob(ctx, s.cfg.Pool, id)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return db.FileJob{}, false, nil
	} else if err != nil {
		return row, false, fmt.Errorf("read where a job is kept: %w", err)
	}
	jobs, err := s.Stored(ctx, []int64{id})
	if err != nil {
		return row, false, err
	}
	if changed = JobVersion(jobs[id]) != row.Version; changed {
		applied, err := s.AppliedVersion(ctx, jobs[id], nil)
		return row, err == nil && applied != row.Version, err
	}
	return row, changed, nil
}

// AppliedVersion is the version of a job that has just been made what a file says: where its script waits for a second person, the one that it
// will have then, so that this is no change of it. file is the script that the file has; nil: the one that waits.
func (s *Jobs) AppliedVersion(ctx context.Context, j db.Job, file *string) (string, error) {
	if !jobspec.IsScript(j.GlueType) {
		return JobVersion(j), nil
	}
	waiting, err := s.queries.GetScriptChange(ctx, s.cfg.Pool, j.ID)
	if err = db.Error(err); err != nil && !errors.Is(err, db.ErrNotFound) {
		return "", fmt.Errorf("read the script that waits: %w", err)
	}
	if err == nil && (file == nil || waiting.Source == *file) { // as [Jobs.storeScript] will have it
		j.GlueSource, j.GlueRemark, j.Revision = db.Text(waiting.Source), db.Text(waiting.Remark), j.Revision+1
	}
	return JobVersion(j), nil
}

// NameInFiles says whether a job of a group with a name is kept in files, and in which.
func (s *Jobs) NameInFiles(ctx context.Context, group int64, name string) (row db.FileJob, found bool, err error) {
	rows, err := s.queries.FindFileJobs(ctx, s.cfg.Pool, db.FindFileJobsParams{JobGroup: group, Name: name})
	if err != nil {
		return row, false, fmt.Errorf("look for a job in files: %w", db.Error(err))
	}
	for _, r := range rows {
		if r.JobDesc == name {
			return db.FileJob{JobID: r.JobID, Source: r.Source, Revision: r.Revision, Version: r.Version, AppliedAt: r.AppliedAt}, true, nil
		}
	}
	return row, false, nil
}

// Release makes a job one that is kept in no files: it may be changed here, and belong to another source from then on.
func (s *Jobs) Release(ctx context.Context, p auth.Principal, id int64) error {
	return s.change(ctx, "release job", func(tx *sql.Tx) error {
		j, err := s.need(ctx, tx, p, id, auth.RightEdit)
		if err != nil {
			return err
		}
		row, err := s.queries.GetFileJob(ctx, tx, id)
		if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
			return problem.New(problem.Conflict, "problem.job.notinfiles")
		} else if err != nil {
			return fmt.Errorf("read where a job is kept: %w", err)
		}
		if _, err := s.queries.DeleteFileJob(ctx, tx, id); err != nil {
			return err
		}
		before, after := Snapshot{"kept_in": row.Source}, Snapshot{"kept_in": ""}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionUpdate, Kind: ObjectJob, ID: id, Name: j.JobDesc, Group: j.JobGroup, Before: before, After: after})
	})
}

// Of are the use cases while a file is imported, or the files of a source are applied: its jobs are changed as the files say, and whatever the
// order in which they are, each is judged by what becomes of all.
func (s *Jobs) Of(source string, in Incoming) *Jobs {
	of := *s
	of.source, of.incoming, of.around = source, in, &around{groups: make(map[int64]db.Group)}
	return &of
}

// around is what jobs of one transaction are judged by that is not theirs, read once. It is for one goroutine.
type around struct {
	code   CodeHandlers
	groups map[int64]db.Group
}

// groupOf is a group that a job is to be in; one without an id is not there.
func (s *Jobs) groupOf(ctx context.Context, tx db.DBTX, id int64) (db.Group, error) {
	if s.around != nil && s.around.groups[id].ID != 0 {
		return s.around.groups[id], nil
	}
	g, err := s.queries.GetGroup(ctx, tx, id)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return db.Group{}, nil
	} else if err != nil {
		return g, fmt.Errorf("read group: %w", err)
	}
	if s.around != nil {
		s.around.groups[id] = g
	}
	return g, nil
}

// heldBy is the source of the files that alone decide what a job is; empty if it may be changed by hand, or by those being applied.
func (s *Jobs) heldBy(ctx context.Context, tx db.DBTX, id int64) (string, error) {
	if !s.cfg.Settings.FilesHold() {
		return "", nil
	}
	row, err := s.queries.GetFileJob(ctx, tx, id)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) || err == nil && row.Source == s.source {
		return "", nil
	} else if err != nil {
		return "", fmt.Errorf("read where a job is kept: %w", err)
	}
	return row.Source, nil
}

// HeldByFiles says whether a job can be changed in files only.
func (s *Jobs) HeldByFiles(ctx context.Context, id int64) (bool, error) {
	source, err := s.heldBy(ctx, s.cfg.Pool, id)
	return source != "", err
}

// mayEdit refuses to change a job that is held by files, or to delete it. It may still be started, stopped and run: that cannot wait.
func (s *Jobs) mayEdit(ctx context.Context, tx db.DBTX, id int64) error {
	source, err := s.heldBy(ctx, tx, id)
	if err == nil && source != "" {
		err = problem.New(problem.Conflict, "problem.job.held", "Source", source)
	}
	return err
}

// JobVersion changes with every change of a definition by a person, and not with its runs.
func JobVersion(j db.Job) string {
	// An XXL-JOB admin on the same database does not count revisions, so what it can edit is part of the version too.
	return digest(fmt.Sprintf("%d|%d|%s", j.Revision, j.JobGroup, j.Spec().Fingerprint()))
}

// keptVersions is how many versions of a script are kept, as upstream does (docs/compat.md §5.5).
const keptVersions = 30

// Create makes a job, stopped, and returns its id.
func (s *Jobs) Create(ctx context.Context, p auth.Principal, in JobInput) (int64, error) {
	return s.create(ctx, p, in, nil)
}

// CreateOnce is Create for a wish that may come again because its answer was lost: the job that was made for it before is returned then.
func (s *Jobs) CreateOnce(ctx context.Context, p auth.Principal, in JobInput, batch string) (id int64, before bool, err error) {
	what := fmt.Sprintf("job:%d:%d", p.UserID, in.Group)
	for _, f := range jobspec.Fields {
		what += fmt.Sprintf(":%q", f.Text(&in.Job, jobspec.Notation{Zone: time.UTC, Layout: time.RFC3339Nano, Yes: "yes"}))
	}
	return s.cfg.onceOne(ctx, batch, what, func(ctx context.Context, remember within) (int64, error) {
		return s.create(ctx, p, in, remember)
	})
}

func (s *Jobs) create(ctx context.Context, p auth.Principal, in JobInput, remember within) (int64, error) {
	in.Job = in.Job.Normalize()
	in.ID = 0
	if err := s.check(ctx, s.cfg.Pool, p, in, nil); err != nil {
		return 0, err
	}
	if in.FixParam != nil {
		in.ParamFixed = *in.FixParam
	}
	if err := s.checkCode(ctx, s.cfg.Pool, p, in, nil); err != nil {
		return 0, err
	}
	if err := s.mayChange(ctx, int64(jobspec.StatusStopped), in.Group); err != nil {
		return 0, err
	}
	isScript, hasSource := jobspec.IsScript(in.Glue), jobspec.HasSource(in.Glue)
	if isScript {
		if !s.cfg.Settings.Glue() {
			return 0, scriptsRefused()
		}
		if err := needGlue(p, in.Group); err != nil {
			return 0, err
		}
	}
	now := s.wall()
	var id int64
	err := s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		if err := s.holdGroup(ctx, tx, in.Group); err != nil {
			return err
		}
		if err := s.holdCalendar(ctx, tx, in.Calendar); err != nil {
			return err
		}
		waits, err := false, error(nil)
		if isScript {
			if waits, err = s.reviewed(ctx, tx, in.Group); err != nil {
				return err
			}
		}
		row := db.JobRow(in.Job)
		row.JobGroup, row.AddTime, row.UpdateTime, row.GlueUpdateTime = in.Group, now, now, now
		if waits {
			row.GlueSource, row.GlueRemark = "", ""
		}
		id, err = s.schedules.Create(ctx, tx, row)
		if err != nil {
			return err
		}
		if d := in.Declared; d != nil {
			err := s.queries.InsertDeclaredJob(ctx, tx, db.InsertDeclaredJobParams{
				JobID: id, GroupID: in.Group, Name: d.Name, Fields: strings.Join(d.Fields, ","), Due: flag(d.Due), DeclaredAt: s.cfg.Now().UnixMilli(),
			})
			if err != nil {
				return db.Error(err)
			}
		}
		if hasSource && !waits {
			if err := s.keepVersion(ctx, tx, id, in, now); err != nil {
				return err
			}
		}
		if waits {
			j, err := s.queries.GetJob(ctx, tx, id)
			if err != nil {
				return err
			}
			if err := s.propose(ctx, tx, p, j, in.GlueSource, in.GlueRemark); err != nil {
				return err
			}
		}
		if remember != nil {
			if err := remember(ctx, tx, []int64{id}); err != nil {
				return err
			}
		}
		return s.recordJob(ctx, tx, p, ActionCreate, db.Job{}, id)
	})
	return id, during("create job", err)
}

// holdGroup keeps the group that a job comes to from being deleted until the job is in it.
func (s *Jobs) holdGroup(ctx context.Context, tx *sql.Tx, id int64) error {
	n, err := s.queries.HoldGroup(ctx, tx, id)
	if err == nil && n == 0 {
		err = problem.InvalidFields(problem.Field{Name: FieldGroup, Key: "job.error.group"})
	}
	return err
}

// holdCalendar keeps the calendar that a job comes to from being deleted until the job keeps to it. One that the program ships is always there.
func (s *Jobs) holdCalendar(ctx context.Context, tx *sql.Tx, name string) error {
	if name == "" || db.ShippedCalendar(name) != nil {
		return nil
	}
	n, err := s.queries.HoldCalendar(ctx, tx, name)
	if err == nil && n == 0 {
		err = problem.InvalidFields(problem.Field{Name: jobspec.FieldCalendar, Key: jobspec.CodeCalendar, Args: []any{"Value", name}})
	}
	return err
}

// Update changes a job. When it runs and its schedule changed, its next time is computed from now; otherwise the schedule
// goes on undisturbed, unless a pause holds it back that concerns it no more. The GLUE type never changes; a script's source does, as a new version.
func (s *Jobs) Update(ctx context.Context, p auth.Principal, id int64, in JobInput) error {
	in.Job = in.Job.Normalize()
	in.ID = id
	was, err := s.Need(ctx, p, id, auth.RightEdit)
	if err != nil {
		return err
	}
	starts := in.ChildJobIDs != string(was.ChildJobIDs) || was.GlueType == jobspec.GlueFlow && in.GlueSource != string(was.GlueSource)
	err = s.change(ctx, "update job", func(tx *sql.Tx) error {
		if starts {
			if err := s.startsTurn(ctx, tx); err != nil {
				return err
			}
		}
		return s.update(ctx, tx, p, in)
	})
	if err != nil {
		return err
	}
	s.jobsChanged(ctx)
	if in.Group != was.JobGroup || in.MaxConcurrent != int(was.MaxConcurrent) || in.Block != wire.Block(was.ExecutorBlockStrategy) { // what waits may have room
		s.cfg.Pool.AfterCommit(ctx, func(context.Context) { s.cfg.Engine.StartWaiting(scheduler.SlotGroup(was.GlueType, in.Group)) })
	}
	return nil
}

// startsTurn comes before anything is read of what starts what: of two who each save a half of a ring neither would see that of the other.
func (s *Jobs) startsTurn(ctx context.Context, tx *sql.Tx) error {
	return s.queries.TakeTurn(ctx, tx, "starts")
}

// change runs do in a transaction, again when a claim came between its reading of the job and its writing: that happens at most
// once a due time.
func (s *Jobs) change(ctx context.Context, what string, do func(*sql.Tx) error) error {
	for range 10 {
		err := s.cfg.Pool.Tx(ctx, do)
		if errors.Is(err, db.ErrMoved) && !s.cfg.Pool.Joined(ctx) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
	return problem.New(problem.Conflict, "problem.changed")
}

// is says whether a job is what it is to become. A remark is about a new source.
func (in JobInput) is(old jobspec.Job) bool {
	now := in.Job
	now.GlueRemark, now.ID = old.GlueRemark, old.ID
	return now == old
}

func (s *Jobs) update(ctx context.Context, tx *sql.Tx, p auth.Principal, in JobInput) error {
	old, err := s.editable(ctx, tx, p, in)
	if err != nil {
		return err
	}
	in = in.over(old)
	if err := s.checkEdit(ctx, tx, p, in, &old); err != nil {
		return err
	}
	if in.Group == old.JobGroup && in.is(old.Spec()) {
		return nil // who saves it as it is tells nobody that it was changed: whoever has read it before may still change it
	}
	waits, err := s.checkScript(ctx, tx, p, in, old)
	if err != nil {
		return err
	}
	rest := in
	if rest.GlueSource = string(old.GlueSource); waits && in.Group == old.JobGroup && rest.is(old.Spec()) {
		return s.propose(ctx, tx, p, old, in.GlueSource, in.GlueRemark) // the job stays as it is until then
	}
	next, err := s.nextAfter(in, old)
	if err != nil {
		return err
	}
	row := db.JobChange(in.Job)
	row.JobGroup, row.OldNextTime, row.OldStatus, row.OldRevision, row.NewNextTime, row.UpdateTime = in.Group, old.TriggerNextTime, old.TriggerStatus, old.Revision, next, s.wall()
	if err := s.schedules.Edit(ctx, tx, row); err != nil {
		return err
	}
	if in.Group != old.JobGroup { // where the program that brought it is not
		if err := s.holdGroup(ctx, tx, in.Group); err != nil {
			return err
		}
		if _, err := s.queries.DeleteDeclaredJob(ctx, tx, in.ID); err != nil {
			return err
		}
	}
	if in.Group != old.JobGroup || in.Priority != jobspec.Priority(old.Priority) {
		if err := s.queries.MoveSlots(ctx, tx, db.MoveSlotsParams{JobID: in.ID, GroupID: scheduler.SlotGroup(in.Glue, in.Group), Line: in.Priority.Line()}); err != nil {
			return err
		}
	}
	if in.Calendar != old.Calendar {
		if err := s.holdCalendar(ctx, tx, in.Calendar); err != nil {
			return err
		}
	}
	switch {
	case in.Glue == wire.GlueBean || in.GlueSource == string(old.GlueSource):
	case waits:
		old.JobGroup, old.JobDesc = in.Group, in.Name // what waits is of the job as it is now
		err = s.propose(ctx, tx, p, old, in.GlueSource, in.GlueRemark)
	default:
		err = s.saveSource(ctx, tx, in, old)
	}
	if err != nil {
		return err
	}
	return s.recordJob(ctx, tx, p, ActionUpdate, old, in.ID)
}

// editable is the job as it is, if p may edit it and it is still what p has seen.
func (s *Jobs) editable(ctx context.Context, tx *sql.Tx, p auth.Principal, in JobInput) (db.Job, error) {
	old, err := s.queries.GetJob(ctx, tx, in.ID)
	switch err = db.Error(err); {
	case errors.Is(err, db.ErrNotFound):
		return old, problem.New(problem.NotFound, "problem.job.gone")
	case err != nil:
		return old, err
	case !p.CanUseGroup(old.JobGroup):
		return old, jobGone()
	case !p.Can(old.JobGroup, auth.RightEdit): // upstream asks only about the group the job moves to
		return old, forbidden()
	case in.Version != "" && in.Version != JobVersion(old):
		return old, problem.New(problem.Conflict, "problem.changed")
	}
	if err := s.mayChange(ctx, old.TriggerStatus, old.JobGroup, in.Group); err != nil {
		return old, err
	}
	return old, s.mayEdit(ctx, tx, in.ID)
}

// over is what a job becomes: what an edit cannot say stays.
func (in JobInput) over(old db.Job) JobInput {
	in.Glue = old.GlueType
	if in.KeepOptions {
		in.Job = in.Job.WithOptionsOf(old.Spec())
	}
	if in.FixParam != nil {
		in.ParamFixed = *in.FixParam
	}
	in.Job = in.Job.Normalize() // whose rules depend on the type
	if in.Glue == wire.GlueBean {
		in.GlueSource = string(old.GlueSource)
	}
	return in
}

func (s *Jobs) checkEdit(ctx context.Context, tx *sql.Tx, p auth.Principal, in JobInput, old *db.Job) error {
	if err := s.check(ctx, tx, p, in, old); err != nil {
		return err
	}
	if err := s.checkCode(ctx, tx, p, in, old); err != nil {
		return err
	}
	if !jobspec.IsScript(in.Glue) || in.Group == old.JobGroup {
		return nil
	}
	if err := needGlue(p, in.Group); err != nil { // the script would run on other machines
		return err
	}
	from, err := s.reviewed(ctx, tx, old.JobGroup)
	if err != nil {
		return err
	}
	to, err := s.reviewed(ctx, tx, in.Group)
	if err == nil && to && !from { // nobody has looked at it
		err = problem.New(problem.Conflict, "problem.script.move")
	}
	return err
}

// checkScript says whether a new script waits for a second person.
func (s *Jobs) checkScript(ctx context.Context, tx *sql.Tx, p auth.Principal, in JobInput, old db.Job) (waits bool, err error) {
	if !jobspec.IsScript(in.Glue) || in.GlueSource == string(old.GlueSource) {
		return false, nil
	}
	if !s.cfg.Settings.Glue() {
		return false, scriptsRefused()
	}
	if err := needGlue(p, old.JobGroup, in.Group); err != nil {
		return false, err
	}
	return s.reviewed(ctx, tx, in.Group)
}

// nextAfter is the next time of a job after an edit.
func (s *Jobs) nextAfter(in JobInput, old db.Job) (int64, error) {
	switch running := jobspec.Started(old.TriggerStatus); {
	case running && ChangedSchedule(in.Job, old):
		at, err := s.NextTime(in.Job, old.ClaimedUntil)
		return at.UnixMilli(), err
	case running && (in.Group != old.JobGroup || in.Tags != old.Tags): // other pauses may hold it from now on, and the one that does may no more
		return db.Undecided(old.TriggerNextTime, old.PausedAt, old.PausedNext).UnixMilli(), nil
	}
	return old.TriggerNextTime, nil
}

// saveSource writes a new source, and keeps it as a version.
func (s *Jobs) saveSource(ctx context.Context, tx *sql.Tx, in JobInput, old db.Job) error {
	at := versionTime(s.wall(), old.GlueUpdateTime)
	_, err := s.queries.UpdateJobSource(ctx, tx, db.UpdateJobSourceParams{
		ID: in.ID, GlueSource: db.Text(in.GlueSource), GlueRemark: db.Text(in.GlueRemark), GlueUpdateTime: at, UpdateTime: s.wall(),
	})
	if err != nil {
		return err
	}
	return s.keepVersion(ctx, tx, in.ID, in, at)
}

// recordJob writes to the audit log what became of a job, read back so that it is what is stored. A new job has no old one.
func (s *Jobs) recordJob(ctx context.Context, tx *sql.Tx, p auth.Principal, action Action, old db.Job, id int64) error {
	now, err := s.queries.GetJob(ctx, tx, id)
	if err != nil {
		return err
	}
	e := Entry{Action: action, Kind: ObjectJob, ID: id, Name: now.JobDesc, Group: now.JobGroup, After: jobSnapshot(now)}
	if old.ID != 0 {
		e.Before, e.After = changeSnapshots(old, now)
	}
	return s.audit.Record(ctx, tx, p, e)
}

// needGlue asks for the right to write scripts in groups. Who may write one runs programs on their executors.
func needGlue(p auth.Principal, groups ...int64) error {
	for _, id := range groups {
		if !p.Can(id, auth.RightGlue) {
			return problem.New(problem.Forbidden, "problem.scripts.right")
		}
	}
	return nil
}

// keepVersion adds a script's source to its history and forgets the oldest beyond what is kept.
func (s *Jobs) keepVersion(ctx context.Context, tx *sql.Tx, id int64, in JobInput, now sql.NullTime) error {
	err := s.queries.InsertGlueVersion(ctx, tx, db.InsertGlueVersionParams{
		JobID: id, GlueType: db.Text(in.Glue), GlueSource: db.Text(in.GlueSource), GlueRemark: in.GlueRemark, AddTime: now, UpdateTime: now,
	})
	if err != nil {
		return err
	}
	old, err := s.queries.ListGlueVersionIDs(ctx, tx, db.ListGlueVersionIDsParams{JobID: id, Limit: 1, Offset: keptVersions})
	if err != nil || len(old) == 0 {
		return err
	}
	return s.queries.DeleteGlueVersionsUpTo(ctx, tx, db.DeleteGlueVersionsUpToParams{JobID: id, ID: old[0]})
}

func (s *Jobs) wall() sql.NullTime { return nullTime(s.cfg.Pool.Wall(s.cfg.Now())) }

func scriptsRefused() error { return problem.New(problem.Forbidden, "problem.scripts.off") }
