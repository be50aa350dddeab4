// Package declare keeps the jobs that programs bring with them: what an executor declares when it starts is made, brought up to date,
// or stopped when it is declared no more. It saves nothing itself but what is noted of a declaration; jobs go through the use cases of
// manage, which check what a person's would be checked for.
//
// A program decides the fields it names and no others, and only when it says something new: two declarations with the same content are
// one. So what people change in the console outlives a restart, and ten replicas that start at once do the work of one. Programs of two
// versions that restart by turns bring their jobs back and forth; the last one that started decides.
package declare

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Bounds of a declaration.
const (
	MaxJobs = 500
	maxName = 128 // characters
	tries   = 5   // when somebody else changes a job at the same time
)

// What may be wrong with a declaration: the keys of the messages, with the arguments that these use.
const (
	errName    = "declare.error.name"  // Max
	errField   = "declare.error.field" // Field
	errNext    = "declare.error.next"  // Name
	errTwice   = "declare.error.twice"
	errTooMany = "declare.error.many" // Max
	errRemoved = "declare.error.removed"
	errFiles   = "declare.error.files" // Source
)

// programs cannot decide these: scripts are written by people, and whose children a job has is said by names.
var notDeclared = []string{jobspec.FieldGlue, jobspec.FieldSource, jobspec.FieldRemark, jobspec.FieldChildren}

// Config is what the use case needs. Everything is required but Zone.
type Config struct {
	Pool *db.Pool
	Jobs *manage.Jobs
	Now  func() time.Time
	Zone *time.Location // of moments without one; default the pool's
}

// Service takes declarations.
type Service struct {
	cfg     Config
	queries *db.Queries
}

// New makes the use case.
func New(cfg Config) *Service {
	cfg.Zone = cmp.Or(cfg.Zone, cfg.Pool.Zone())
	return &Service{cfg: cfg, queries: db.New()}
}

// Result is what became of a job.
type Result struct {
	Name    string
	ID      int64
	Outcome string // one of wire's
	Err     error  // why it is refused
	// Unheeded are the fields that say nothing beside what else the program says, such as the rule of a calendar without one. They are left out.
	Unheeded []string
}

// Declare does what a declaration of a group's program says, each job for itself. The error is for the declaration as a whole; nothing
// was done then. The principal must have the rights in the group.
func (s *Service) Declare(ctx context.Context, p auth.Principal, group int64, d wire.Declaration) ([]Result, error) {
	if len(d.Jobs) > MaxJobs {
		return nil, problem.New(problem.Invalid, errTooMany, "Max", MaxJobs)
	}
	if !slices.Contains([]string{wire.RemovedStop, wire.RemovedKeep, wire.RemovedDelete}, d.Removed) {
		return nil, problem.New(problem.Invalid, errRemoved)
	}
	c := &change{s: s, p: p, group: group, ids: make(map[string]int64), unheeded: make(map[string][]string)}
	if err := c.read(ctx); err != nil {
		return nil, err
	}
	results := make([]Result, 0, len(d.Jobs))
	for _, j := range d.Jobs { // first all that are new, since others may name them as children
		r := Result{Name: j.Name, Outcome: wire.DeclaredRefused}
		if r.Err = c.name(j); r.Err == nil {
			r.Outcome, r.Err = c.ensure(ctx, j)
		}
		results = append(results, r)
	}
	for i, j := range d.Jobs {
		r := &results[i]
		if r.Err == nil {
			r.ID = c.ids[j.Name]
			if changed, err := c.settle(ctx, j); err != nil {
				r.Outcome, r.Err = wire.DeclaredRefused, err
			} else if changed && r.Outcome == wire.DeclaredUnchanged {
				r.Outcome = wire.DeclaredChanged
			}
		}
		r.Unheeded = c.unheeded[j.Name]
	}
	return append(results, c.drop(ctx, d)...), nil
}

// change is one declaration being done.
type change struct {
	s      *Service
	p      auth.Principal
	group  int64
	ids    map[string]int64 // of the jobs that are there
	stored map[string]db.DeclaredJob
	seen   []string

	unheeded map[string][]string // fields, by job, of what is new
}

func (c *change) read(ctx context.Context) error {
	rows, err := c.s.queries.ListDeclaredJobs(ctx, c.s.cfg.Pool, c.group)
	if err != nil {
		return fmt.Errorf("read declared jobs: %w", db.Error(err))
	}
	jobs, err := c.s.cfg.Jobs.Stored(ctx, db.IDs(rows, func(r *db.DeclaredJob) int64 { return r.JobID }))
	if err != nil {
		return err
	}
	c.stored = make(map[string]db.DeclaredJob, len(rows))
	for _, r := range rows {
		if _, there := jobs[r.JobID]; !there { // an XXL-JOB admin on the same database has deleted it
			if _, err := c.s.queries.DeleteDeclaredJob(ctx, c.s.cfg.Pool, r.JobID); err != nil {
				return fmt.Errorf("forget declared job: %w", db.Error(err))
			}
			continue
		}
		c.stored[r.Name] = r
		c.ids[r.Name] = r.JobID
	}
	return nil
}

func (c *change) name(j wire.DeclaredJob) error {
	switch {
	case j.Name == "" || j.Name != strings.TrimSpace(j.Name) || // MySQL takes a name with a space after it for the same
		len([]rune(j.Name)) > maxName || strings.ContainsFunc(j.Name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return problem.New(problem.Invalid, errName, "Max", maxName)
	case slices.Contains(c.seen, j.Name):
		return problem.New(problem.Invalid, errTwice)
	}
	c.seen = append(c.seen, j.Name)
	return nil
}

// ensureTries is how often a job is to be made that the database undoes: many replicas that start at once hinder each other.
const ensureTries = 5

func (c *change) ensure(ctx context.Context, j wire.DeclaredJob) (outcome string, err error) {
	for range ensureTries {
		if outcome, err = c.tryEnsure(ctx, j); !db.IsTransient(err) {
			break
		}
		if err := c.read(ctx); err != nil {
			return wire.DeclaredRefused, err
		}
	}
	return outcome, err
}

func (c *change) tryEnsure(ctx context.Context, j wire.DeclaredJob) (outcome string, err error) {
	if _, there := c.stored[j.Name]; there {
		return wire.DeclaredUnchanged, nil
	}
	spec, err := c.over(jobspec.Job{}.WithDefaults(), j)
	if err != nil {
		return wire.DeclaredRefused, err
	}
	if err := c.inNoFiles(ctx, spec.Name); err != nil {
		return wire.DeclaredRefused, err
	}
	id, err := c.s.cfg.Jobs.Create(ctx, c.p, manage.JobInput{Group: c.group, Job: spec, Declared: &manage.Declared{
		Name: j.Name, Fields: decides(j), Due: !j.Stopped && spec.ScheduleType.Schedules(),
	}})
	if errors.Is(err, db.ErrDuplicate) { // another replica was faster
		if err := c.read(ctx); err != nil {
			return wire.DeclaredRefused, err
		}
		return wire.DeclaredUnchanged, nil
	}
	if err != nil {
		return wire.DeclaredRefused, err
	}
	c.ids[j.Name] = id
	return wire.DeclaredCreated, nil
}

// inNoFiles refuses a job that files keep: the program and the files would change it by turns, or there would be two that do the same.
func (c *change) inNoFiles(ctx context.Context, name string) error {
	row, found, err := c.s.cfg.Jobs.NameInFiles(ctx, c.group, name)
	if err == nil && found {
		err = problem.New(problem.Invalid, errFiles, "Source", row.Source)
	}
	return err
}

// over writes what the program decides over a definition.
func (c *change) over(spec jobspec.Job, j wire.DeclaredJob) (jobspec.Job, error) {
	known := make(map[string]*jobspec.Field)
	for _, f := range jobspec.Fields {
		if !slices.Contains(notDeclared, f.Name) {
			known[f.File] = f
		}
	}
	var faults []problem.Field
	zone := c.s.cfg.Zone
	// The schedule's type says which of the fields that share a column counts, and the zone how moments are read.
	if f := known["schedule"]; f != nil && j.Fields["schedule"] != "" {
		f.Put(&spec, j.Fields["schedule"], zone)
	}
	if name := cmp.Or(j.Fields["time_zone"], spec.Zone); name != "" {
		if named, err := jobspec.Location(name); err == nil {
			zone = named
		}
	}
	for _, name := range slices.Sorted(maps.Keys(j.Fields)) {
		f := known[name]
		if f == nil {
			faults = append(faults, problem.Field{Name: name, Key: errField, Args: []any{"Field", clip(name)}})
			continue
		}
		if !f.In(&spec) {
			continue
		}
		if fault := f.Put(&spec, j.Fields[name], zone); fault != nil {
			faults = append(faults, *fault)
		}
	}
	if len(faults) > 0 {
		return spec, problem.InvalidFields(faults...)
	}
	c.unheeded[j.Name] = nil
	for _, f := range jobspec.Unheeded(spec, func(f *jobspec.Field) bool { return j.Fields[f.File] != "" }) {
		c.unheeded[j.Name] = append(c.unheeded[j.Name], jobspec.Named(f.Name).File)
	}
	return spec, nil
}

// clip keeps a foreign name short in a message.
func clip(name string) string {
	if r := []rune(strings.ToValidUTF8(name, "?")); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return name
}

// settle brings a job up to date with what the program says, if that is new, and starts it if that was put off.
func (c *change) settle(ctx context.Context, j wire.DeclaredJob) (changed bool, err error) {
	row := c.stored[j.Name]
	digest := digestOf(j)
	if row.JobID != 0 && row.Digest == digest && row.DroppedAt == 0 && row.Due == 0 {
		return false, nil
	}
	id := c.ids[j.Name]
	for range tries {
		if changed, err = c.update(ctx, id, j); err == nil || problem.From(err).Kind != problem.Conflict {
			break
		}
	}
	if err != nil {
		return false, err
	}
	due := row.Due != 0 || row.JobID == 0 && !j.Stopped
	job, err := c.s.cfg.Jobs.Get(ctx, c.p, id)
	if err != nil {
		return false, err
	}
	if due && job.ScheduleType.Schedules() && !jobspec.Started(job.TriggerStatus) {
		if err := c.s.cfg.Jobs.Start(ctx, c.p, id); err != nil {
			return false, err
		}
		changed = true
	}
	err = c.s.queries.UpdateDeclaredJob(ctx, c.s.cfg.Pool, db.UpdateDeclaredJobParams{
		Fields: strings.Join(decides(j), ","), Digest: digest, DeclaredAt: c.s.cfg.Now().UnixMilli(), JobID: id,
	})
	return changed, db.Error(err)
}

// update changes the definition if it is not what the program says.
func (c *change) update(ctx context.Context, id int64, j wire.DeclaredJob) (bool, error) {
	job, err := c.s.cfg.Jobs.Get(ctx, c.p, id)
	if err != nil {
		return false, err
	}
	spec, err := c.over(job.Spec(), j)
	if err != nil {
		return false, err
	}
	if len(j.Next) > 0 || slices.Contains(strings.Split(c.stored[j.Name].Fields, ","), fieldChildren) { // or it starts none any more
		if spec.ChildJobIDs, err = c.children(j); err != nil {
			return false, err
		}
	}
	if err := c.inNoFiles(ctx, spec.Name); err != nil {
		return false, err
	}
	if spec.Normalize() == job.Spec().Normalize() {
		return false, nil
	}
	return true, c.s.cfg.Jobs.Update(ctx, c.p, id, manage.JobInput{Group: c.group, Job: spec, Version: manage.JobVersion(job)})
}

var fieldChildren = jobspec.Named(jobspec.FieldChildren).File

// decides are the fields that the program decides.
func decides(j wire.DeclaredJob) []string {
	fields := slices.Collect(maps.Keys(j.Fields))
	if len(j.Next) > 0 {
		fields = append(fields, fieldChildren)
	}
	slices.Sort(fields)
	return fields
}

func (c *change) children(j wire.DeclaredJob) (string, error) {
	var ids []string
	for _, name := range j.Next {
		id := c.ids[name]
		if id == 0 || !slices.Contains(c.seen, name) {
			return "", problem.New(problem.Invalid, errNext, "Name", clip(name))
		}
		ids = append(ids, strconv.FormatInt(id, 10))
	}
	return strings.Join(ids, ","), nil
}

// drop does with jobs that the program declares no more what it says.
func (c *change) drop(ctx context.Context, d wire.Declaration) (results []Result) {
	for _, name := range slices.Sorted(maps.Keys(c.stored)) {
		row := c.stored[name]
		if row.DroppedAt != 0 || slices.ContainsFunc(d.Jobs, func(j wire.DeclaredJob) bool { return j.Name == name }) {
			continue
		}
		r := Result{Name: name, ID: row.JobID, Outcome: wire.DeclaredRemoved}
		if r.Err = c.remove(ctx, row, d.Removed); r.Err != nil {
			r.Outcome = wire.DeclaredRefused
		}
		results = append(results, r)
	}
	return results
}

func (c *change) remove(ctx context.Context, row db.DeclaredJob, how string) error {
	switch how {
	case wire.RemovedKeep:
		_, err := c.s.queries.DeleteDeclaredJob(ctx, c.s.cfg.Pool, row.JobID)
		return db.Error(err)
	case wire.RemovedDelete:
		return c.s.cfg.Jobs.Delete(ctx, c.p, row.JobID)
	}
	job, err := c.s.cfg.Jobs.Get(ctx, c.p, row.JobID)
	if err != nil {
		return err
	}
	drop := db.DropDeclaredJobParams{Due: row.Due, JobID: row.JobID}
	if jobspec.Started(job.TriggerStatus) {
		drop.Due = 1 // it goes on when it is declared again, also where this is cut short
		if err := c.s.queries.DropDeclaredJob(ctx, c.s.cfg.Pool, drop); err != nil {
			return db.Error(err)
		}
		if err := c.s.cfg.Jobs.Stop(ctx, c.p, row.JobID); err != nil {
			return err
		}
	}
	drop.DroppedAt = c.s.cfg.Now().UnixMilli()
	return db.Error(c.s.queries.DropDeclaredJob(ctx, c.s.cfg.Pool, drop))
}

// digestOf changes with whatever a program says of a job that is to be done when it is new.
func digestOf(j wire.DeclaredJob) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(j.Fields)) {
		fmt.Fprintf(h, "%q=%q\n", name, j.Fields[name])
	}
	fmt.Fprintf(h, "%q", j.Next)
	return hex.EncodeToString(h.Sum(nil))
}
