package manage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Pauses are the use cases of times in which schedules hold still. Who may start and stop a job may pause it, and with that right in a group
// the group; tags and everything cross groups, and are the administrators' alone.
type Pauses struct {
	cfg     Config
	queries *db.Queries
	audit   *Audit
}

// The names of a pause's fields that can be wrong.
const (
	PauseScope    = "scope"
	PauseTarget   = "target"
	PauseTag      = "tag"
	PauseFrom     = "from"
	PauseUntil    = "until"
	PauseStrategy = "strategy"
	PauseCron     = "cron"
	PauseLength   = "length"
	PauseZone     = "zone"
	PauseReason   = "reason"
)

const (
	maxReason   = 255
	pausesShown = 90 * 24 * time.Hour // for how long pauses that are over are listed
)

// PauseState says where a pause stands.
type PauseState string

const (
	PausePlanned PauseState = "planned"
	PauseActive  PauseState = "active"  // it holds jobs back now
	PauseBetween PauseState = "between" // a repeated one, between its windows
	PauseOver    PauseState = "over"
)

// Pause is a pause as people see it.
type Pause struct {
	jobspec.Pause
	State   PauseState
	Ends    time.Time // of the window that it is in; zero: nobody knows, or it is in none
	Next    time.Time // when its next window begins; zero: none
	Group   int64     // that it is about, or whose job; 0: more than one
	Name    string    // of the job, or of the group; empty when it is gone
	ZoneID  string    // as it was typed
	MadeAt  time.Time
	EndedBy string // who ended it early
	EndedAt time.Time
	CanEnd  bool
	seen    bool // the caller may know of it
}

// PauseInput is a pause as somebody wants it.
type PauseInput struct {
	Scope       jobspec.PauseScope
	Target      int64
	Tag         string
	From, Until time.Time // zero: now, and until somebody ends it
	Strategy    jobspec.Pausing
	Cron        string
	Length      time.Duration
	Zone        string
	Reason      string
}

// List is the pauses that p may know of: what is going on or planned, and what was over lately, the newest first. A pause of a tag names
// something of other people's jobs, so only administrators see it here; on the page of a job it is seen by whoever sees the job.
func (s *Pauses) List(ctx context.Context, p auth.Principal) ([]Pause, error) {
	all, err := s.all(ctx, p)
	if err != nil {
		return nil, err
	}
	slices.Reverse(all)
	return slices.DeleteFunc(all, func(pause Pause) bool { return !pause.seen }), nil
}

// Tags are those that the newest jobs have, for whoever may pause a tag, sorted.
func (s *Pauses) Tags(ctx context.Context, p auth.Principal) ([]string, error) {
	if !p.Admin {
		return nil, nil
	}
	lists, err := s.queries.ListTagsInUse(ctx, s.cfg.Pool)
	if err != nil {
		return nil, fmt.Errorf("list tags: %w", err)
	}
	var tags []string
	for _, list := range lists {
		tags = append(tags, strings.FieldsFunc(list, func(r rune) bool { return r == ',' })...)
	}
	slices.Sort(tags)
	return slices.Compact(tags), nil
}

// Get is a pause that p may know of.
func (s *Pauses) Get(ctx context.Context, p auth.Principal, id int64) (Pause, error) {
	r, err := s.queries.GetPause(ctx, s.cfg.Pool, id)
	if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
		return Pause{}, pauseGone()
	} else if err != nil {
		return Pause{}, fmt.Errorf("read pause: %w", err)
	}
	pause, err := s.one(ctx, s.cfg.Pool, p, r)
	if err == nil && !pause.seen {
		err = pauseGone()
	}
	return pause, err
}

// Of is the pauses that concern a job which the caller may see, and are not over: those that hold it back now come first.
func (s *Pauses) Of(ctx context.Context, p auth.Principal, j db.Job) ([]Pause, error) {
	list, err := s.all(ctx, p)
	if err != nil {
		return nil, err
	}
	specs := make(jobspec.Pauses, len(list))
	for i := range list {
		specs[i] = &list[i].Pause
	}
	book := jobspec.NewPauseBook(specs)
	of := book.Of(j.ID, j.JobGroup, j.Tags)
	list = slices.DeleteFunc(slices.Clone(list), func(pause Pause) bool {
		return pause.State == PauseOver || !slices.ContainsFunc(of, func(o *jobspec.Pause) bool { return o.ID == pause.ID })
	})
	slices.SortStableFunc(list, func(a, b Pause) int { return activeFirst(a) - activeFirst(b) })
	return list, nil
}

func activeFirst(p Pause) int {
	if p.State == PauseActive {
		return 0
	}
	return 1
}

// Wide are the pauses that hold back now everything, or a group that p may see; those of everything come first.
func (s *Pauses) Wide(ctx context.Context, p auth.Principal) ([]Pause, error) {
	list, err := s.List(ctx, p)
	list = slices.DeleteFunc(list, func(pause Pause) bool {
		return pause.State != PauseActive || pause.Scope != jobspec.PauseAll && (pause.Scope != jobspec.PauseGroup || pause.Group == 0)
	})
	slices.SortStableFunc(list, func(a, b Pause) int { return strings.Compare(string(a.Scope), string(b.Scope)) })
	return list, err
}

// Book is the pauses that hold jobs still, read once for all jobs of a page.
func (s *Pauses) Book(ctx context.Context) (Held, error) {
	book, err := db.ReadPauses(ctx, s.cfg.Pool, s.cfg.Now())
	return Held{book: book, now: s.cfg.Now()}, err
}

// Held says what holds jobs still. Whoever may see a job may know what pauses it, by whom and why.
type Held struct {
	book jobspec.PauseBook
	now  time.Time
}

// Now is what holds the schedule of a job still now. One that is stopped, or has no schedule, is held by nothing.
func (h *Held) Now(j *db.ListJobsRow) (jobspec.Stretch, bool) {
	if !jobspec.Started(j.TriggerStatus) || j.ScheduleType == jobspec.ScheduleNone {
		return jobspec.Stretch{}, false
	}
	return h.At(j.ID, j.JobGroup, j.Tags, h.now)
}

// At is what will hold the schedule of a job still at a moment.
func (h *Held) At(job, group int64, tags string, at time.Time) (jobspec.Stretch, bool) {
	return h.book.Holding(job, group, tags, at)
}

// filter narrows a list to the jobs that are held still; false: there are none.
func (h *Held) filter(q *db.JobFilter) bool {
	held := new(db.HeldJobs)
	for _, pause := range h.book.Active(h.now) {
		switch pause.Scope {
		case jobspec.PauseAll:
			held.All = true
		case jobspec.PauseGroup:
			held.Groups = append(held.Groups, pause.Target)
		case jobspec.PauseJob:
			held.IDs = append(held.IDs, pause.Target)
		case jobspec.PauseTag:
			held.Tags = append(held.Tags, contains(","+pause.Tag+","))
		}
	}
	q.Held = held
	return held.Any()
}

// all are the pauses as p sees them, also those that p may not know of, the oldest first. How many queries it takes does not depend on what
// the pauses are about.
func (s *Pauses) all(ctx context.Context, p auth.Principal) ([]Pause, error) {
	rows, err := s.read(ctx, s.cfg.Pool)
	if err != nil {
		return nil, err
	}
	return s.view(ctx, s.cfg.Pool, p, rows)
}

func (s *Pauses) read(ctx context.Context, tx db.DBTX) ([]db.Pause, error) {
	rows, err := s.queries.ListPauses(ctx, tx, db.ListPausesParams{Since: s.cfg.Now().Add(-pausesShown).UnixMilli(), Limit: db.MaxPauses})
	return rows, during("list pauses", err)
}

// view are rows as p sees them.
func (s *Pauses) view(ctx context.Context, tx db.DBTX, p auth.Principal, rows []db.Pause) ([]Pause, error) {
	var ids []int64
	groups := false
	for i := range rows {
		switch jobspec.PauseScope(rows[i].Scope) {
		case jobspec.PauseJob:
			ids = append(ids, rows[i].Target)
		case jobspec.PauseGroup:
			groups = true
		case jobspec.PauseTag, jobspec.PauseAll:
		}
	}
	jobs := make(map[int64]db.ListJobTitlesRow)
	slices.Sort(ids)
	for part := range slices.Chunk(slices.Compact(ids), db.MaxBatch) {
		titles, err := s.queries.ListJobTitles(ctx, tx, part)
		if err != nil {
			return nil, fmt.Errorf("read the jobs of pauses: %w", db.Error(err))
		}
		for _, j := range titles {
			jobs[j.ID] = j
		}
	}
	titles := make(map[int64]string)
	if groups {
		all, err := s.queries.ListGroups(ctx, tx)
		if err != nil {
			return nil, fmt.Errorf("read the groups of pauses: %w", db.Error(err))
		}
		for _, g := range all {
			titles[g.ID] = string(g.Title)
		}
	}
	list := make([]Pause, len(rows))
	for i := range rows {
		pause := s.stateOf(&rows[i])
		switch pause.Scope {
		case jobspec.PauseJob:
			pause.Group, pause.Name = jobs[pause.Target].JobGroup, jobs[pause.Target].JobDesc
		case jobspec.PauseGroup:
			if title, is := titles[pause.Target]; is {
				pause.Group, pause.Name = pause.Target, title
			}
		case jobspec.PauseTag, jobspec.PauseAll:
		}
		list[i] = rightsTo(pause, p)
	}
	return list, nil
}

// one is [Pauses.view] of one row.
func (s *Pauses) one(ctx context.Context, tx db.DBTX, p auth.Principal, r db.Pause) (Pause, error) {
	list, err := s.view(ctx, tx, p, []db.Pause{r})
	if err != nil {
		return Pause{}, err
	}
	return list[0], nil
}

// stateOf is a row with where it stands now.
func (s *Pauses) stateOf(r *db.Pause) Pause {
	pause := Pause{Pause: *r.Spec(s.cfg.Pool.Zone()), ZoneID: r.Zone, MadeAt: time.UnixMilli(r.MadeAt), EndedBy: r.EndedBy}
	if r.EndedAt > 0 {
		pause.EndedAt = time.UnixMilli(r.EndedAt)
	}
	now := s.cfg.Now()
	until, active := pause.Active(now)
	switch {
	case active:
		pause.State, pause.Ends = PauseActive, until
	case !pause.Until.IsZero() && (!pause.Until.After(now) || !pause.Until.After(pause.From)): // also one that was taken back before it began
		pause.State = PauseOver
	case pause.From.After(now):
		pause.State, pause.Next = PausePlanned, pause.Begins(now)
	default:
		if pause.Next = pause.Begins(now); !pause.Next.IsZero() {
			pause.State = PauseBetween
		} else {
			pause.State = PauseOver // its last window was
		}
	}
	return pause
}

// rightsTo is a pause with what p may do with it.
func rightsTo(pause Pause, p auth.Principal) Pause {
	if pause.Scope == jobspec.PauseAll || pause.Scope == jobspec.PauseTag {
		pause.CanEnd = p.Admin && pause.State != PauseOver
		pause.seen = p.Admin || pause.Scope == jobspec.PauseAll
		return pause
	}
	pause.CanEnd = pause.State != PauseOver && pause.mayEnd(p)
	pause.seen = p.Admin || pause.Group != 0 && p.CanUseGroup(pause.Group)
	return pause
}

func (pause *Pause) mayEnd(p auth.Principal) bool {
	return p.Admin || pause.Group != 0 && p.Can(pause.Group, auth.RightSchedule)
}

// target is the group and the name of what a pause is about; no group: it is gone.
func (s *Pauses) target(ctx context.Context, tx db.DBTX, scope jobspec.PauseScope, id int64) (group int64, name string, err error) {
	if scope == jobspec.PauseGroup {
		g, err := s.queries.GetGroup(ctx, tx, id)
		if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
			return 0, "", nil
		}
		return g.ID, string(g.Title), err
	}
	jobs, err := s.queries.ListJobTitles(ctx, tx, []int64{id})
	if err != nil || len(jobs) == 0 {
		return 0, "", db.Error(err)
	}
	return jobs[0].JobGroup, jobs[0].JobDesc, nil
}

// Create pauses something from a moment on. It holds at once on this admin, and on each other with its next claim.
func (s *Pauses) Create(ctx context.Context, p auth.Principal, in PauseInput) (id int64, err error) {
	if id, err = s.create(ctx, p, in, nil); err != nil {
		return 0, err
	}
	s.cfg.pausesChanged(ctx)
	return id, nil
}

// CreateOnce is Create for a wish that may come again because its answer was lost: the pause that was made for it before is returned then.
func (s *Pauses) CreateOnce(ctx context.Context, p auth.Principal, in PauseInput, batch string) (id int64, before bool, err error) {
	what := fmt.Sprintf("pause:%d:%s:%d:%q:%d:%d:%s:%q:%d:%q:%q", p.UserID, in.Scope, in.Target, in.Tag, in.From.UnixMilli(), in.Until.UnixMilli(), in.Strategy, in.Cron,
		in.Length, in.Zone, in.Reason)
	id, before, err = s.cfg.onceOne(ctx, batch, what, func(ctx context.Context, remember within) (int64, error) {
		return s.create(ctx, p, in, remember)
	})
	if err == nil {
		s.cfg.pausesChanged(ctx)
	}
	return id, before, err
}

// pausesChanged has this admin go by pauses that were changed. That it could not is no reason to do again what is done.
func (c *Config) pausesChanged(ctx context.Context) {
	if err := c.Engine.PausesChanged(ctx); err != nil {
		c.Logger.Warn("go by pauses that were changed", "error", err) // each claim looks
	}
}

// Faults are what is wrong with a pause whatever it is about.
func (s *Pauses) Faults(p auth.Principal, in PauseInput) []problem.Field {
	now := s.cfg.Now().Truncate(time.Millisecond)
	if in.From.Before(now) {
		in.From = now
	}
	in.Reason = strings.TrimSpace(in.Reason)
	_, fields := s.row(p, in, now)
	return fields
}

// create is Create for a caller who tells the engine of it.
func (s *Pauses) create(ctx context.Context, p auth.Principal, in PauseInput, remember within) (id int64, err error) {
	if now := s.cfg.Now().Truncate(time.Millisecond); in.From.Before(now) {
		in.From = now // what has been sent already was not paused
	}
	return s.keep(ctx, p, in, remember)
}

// keep is create for a pause that may have begun: a window that goes on is known by when it began.
func (s *Pauses) keep(ctx context.Context, p auth.Principal, in PauseInput, remember within) (id int64, err error) {
	now := s.cfg.Now().Truncate(time.Millisecond)
	in.Tag, in.Reason, in.Cron, in.Zone = strings.TrimSpace(in.Tag), strings.TrimSpace(in.Reason), strings.TrimSpace(in.Cron), strings.TrimSpace(in.Zone)
	if in.Scope == jobspec.PauseTag || in.Scope == jobspec.PauseAll {
		if err := requireAdmin(p); err != nil {
			return 0, err
		}
	}
	row, fields := s.row(p, in, now)
	if len(fields) == 0 {
		if err := s.checkTag(ctx, in); err != nil {
			return 0, fmt.Errorf("pause: %w", err)
		}
	}
	err = s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		if _, err := s.queries.HoldPauses(ctx, tx); err != nil {
			return err
		}
		entry := Entry{Action: ActionCreate, Kind: ObjectPause, Name: in.Tag, After: pauseSnapshot(&row)}
		if in.Scope == jobspec.PauseJob || in.Scope == jobspec.PauseGroup {
			group, name, err := s.target(ctx, tx, in.Scope, in.Target)
			switch {
			case err != nil:
				return err
			case group == 0 && p.Admin:
				return problem.InvalidFields(append(fields, problem.Field{Name: PauseTarget, Key: "pauses.error.target"})...)
			case !p.Can(group, auth.RightSchedule): // or it is gone: which of the two, nobody learns
				return forbidden()
			}
			entry.Group, entry.Name = group, name
		}
		if len(fields) > 0 {
			return problem.InvalidFields(fields...)
		}
		rows, err := s.read(ctx, tx)
		if err != nil {
			return err
		}
		if len(rows) >= db.MaxPauses {
			return problem.New(problem.Conflict, "problem.pauses.many", "Max", db.MaxPauses)
		}
		if id, err = s.queries.InsertPause(ctx, tx, row); err != nil {
			return err
		}
		entry.ID = id
		if err := s.queries.RaisePauseRevision(ctx, tx); err != nil {
			return err
		}
		if remember != nil {
			if err := remember(ctx, tx, []int64{id}); err != nil {
				return err
			}
		}
		return s.audit.Record(ctx, tx, p, entry)
	})
	return id, during("pause", err)
}

// checkTag refuses to pause a tag that no job has: it would hold nothing still, and whoever mistyped it would count on that. It reads what
// tags all jobs have, which with 100,000 takes a while, so not in the transaction: on the embedded database claims would wait for it.
func (s *Pauses) checkTag(ctx context.Context, in PauseInput) error {
	if in.Scope != jobspec.PauseTag {
		return nil
	}
	lists, err := s.queries.ListTagsWith(ctx, s.cfg.Pool, db.ListTagsWithParams{Pattern: contains("," + in.Tag + ","), Limit: 200})
	if err != nil {
		return db.Error(err)
	}
	for _, list := range lists {
		if slices.Contains(strings.Split(list, ","), in.Tag) {
			return nil
		}
	}
	return problem.InvalidFields(problem.Field{Name: PauseTag, Key: "pauses.error.unknownTag", Args: []any{"Tag", in.Tag}})
}

// row is the row of a pause, and what is wrong with it.
func (s *Pauses) row(p auth.Principal, in PauseInput, now time.Time) (row db.InsertPauseParams, fields []problem.Field) {
	wrong := func(name, key string, args ...any) {
		fields = append(fields, problem.Field{Name: name, Key: key, Args: args})
	}
	if !slices.Contains(jobspec.AllPauseScopes(), in.Scope) {
		wrong(PauseScope, "pauses.error.choice")
	}
	if !slices.Contains(jobspec.AllPausings(), in.Strategy) {
		wrong(PauseStrategy, "pauses.error.choice")
	}
	// A wish that says more than is done is one that would surprise: of everything in place of one job, for good in place of two hours.
	if in.Target != 0 && in.Scope != jobspec.PauseJob && in.Scope != jobspec.PauseGroup {
		wrong(PauseTarget, "pauses.error.no_target")
	}
	if in.Tag != "" && in.Scope != jobspec.PauseTag {
		wrong(PauseTag, "pauses.error.no_tag")
	}
	if in.Length != 0 && in.Cron == "" {
		wrong(PauseLength, "pauses.error.no_cron")
	}
	if in.Scope == jobspec.PauseTag && (in.Tag == "" || strings.Contains(in.Tag, ",") || utf8.RuneCountInString(in.Tag) > maxReason) {
		wrong(PauseTag, "pauses.error.tag")
	}
	switch {
	case in.Reason == "":
		wrong(PauseReason, "job.error.required")
	case utf8.RuneCountInString(in.Reason) > maxReason:
		wrong(PauseReason, "job.error.too_long", "Max", maxReason)
	}
	if !in.Until.IsZero() && !in.Until.After(in.From) {
		wrong(PauseUntil, "pauses.error.until")
	}
	zone, err := jobspec.Location(in.Zone)
	if err != nil {
		wrong(PauseZone, "pauses.error.zone")
	}
	if zone == nil {
		zone = s.cfg.Pool.Zone()
	}
	if in.Cron != "" {
		pause := jobspec.Pause{From: in.From, Cron: in.Cron, Length: in.Length, Zone: zone}
		next, err := jobspec.Next(jobspec.ScheduleCron, in.Cron, in.From.Add(-time.Nanosecond), zone)
		switch {
		case err != nil || next.IsZero():
			wrong(PauseCron, "pauses.error.cron")
		case in.Length < time.Minute || in.Length > 366*24*time.Hour:
			wrong(PauseLength, "pauses.error.length")
		default:
			if until, active := pause.Active(next); active && until.IsZero() {
				wrong(PauseLength, "pauses.error.gap")
			}
		}
	}
	row = db.InsertPauseParams{
		Scope: string(in.Scope), Target: in.Target, Tag: in.Tag, FromAt: in.From.UnixMilli(), Strategy: string(in.Strategy), Cron: in.Cron, Zone: in.Zone,
		Reason: in.Reason, MadeBy: cut(p.Name, 64), MadeAt: now.UnixMilli(),
	}
	if in.Cron != "" {
		row.LengthS = int64(in.Length / time.Second)
	}
	if !in.Until.IsZero() {
		row.UntilAt = in.Until.UnixMilli()
	}
	return row, fields
}

func pauseSnapshot(r *db.InsertPauseParams) Snapshot {
	return Snapshot{"scope": r.Scope, "target": r.Target, "tag": r.Tag, "from_at": pauseTime(r.FromAt), "until_at": pauseTime(r.UntilAt), "strategy": r.Strategy, "cron": r.Cron, "length": r.LengthS, "zone": r.Zone, "reason": r.Reason}
}

// pauseTime is a moment for the audit log; empty for none.
func pauseTime(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(time.RFC3339)
}

// End ends a pause now, or takes back one that is planned. What fell in until now goes by its strategy.
func (s *Pauses) End(ctx context.Context, p auth.Principal, id int64) error {
	if err := s.end(ctx, p, id, 0); err != nil {
		return err
	}
	s.cfg.pausesChanged(ctx)
	return nil
}

// end is End for a caller who tells the engine of it; with a job only if the pause is of that one.
func (s *Pauses) end(ctx context.Context, p auth.Principal, id, job int64) error {
	now := s.cfg.Now()
	err := s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		r, err := s.queries.GetPause(ctx, tx, id)
		if err = db.Error(err); errors.Is(err, db.ErrNotFound) {
			return pauseGone()
		} else if err != nil {
			return err
		}
		pause, err := s.one(ctx, tx, p, r)
		switch {
		case err != nil:
			return err
		case !pause.seen, job != 0 && (pause.Scope != jobspec.PauseJob || pause.Target != job):
			return pauseGone()
		case pause.State == PauseOver:
			return problem.New(problem.Conflict, "problem.pause.over")
		case !pause.CanEnd:
			return forbidden()
		}
		end := max(now.UnixMilli(), r.FromAt)
		n, err := s.queries.EndPause(ctx, tx, db.EndPauseParams{ID: id, UntilAt: end, EndedBy: cut(p.Name, 64), EndedAt: now.UnixMilli()})
		if err != nil {
			return err
		}
		if n == 0 {
			return problem.New(problem.Conflict, "problem.pause.over")
		}
		if err := s.queries.RaisePauseRevision(ctx, tx); err != nil {
			return err
		}
		name := pause.Name
		if pause.Tag != "" {
			name = pause.Tag
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionUpdate, Kind: ObjectPause, ID: id, Name: name, Group: pause.Group,
			Before: Snapshot{"until_at": pauseTime(r.UntilAt)}, After: Snapshot{"until_at": pauseTime(end)}})
	})
	return during("end pause", err)
}

// Again takes back that a pause was ended: another one like it holds until then, or until somebody ends it. An end is taken back once: of two
// pauses alike somebody would end one, and not see why nothing starts.
func (s *Pauses) Again(ctx context.Context, p auth.Principal, id int64, until time.Time) (again int64, before bool, err error) {
	was, err := s.Get(ctx, p, id)
	if err != nil {
		return 0, false, err
	}
	now := s.cfg.Now()
	if !was.mayEnd(p) {
		return 0, false, forbidden()
	}
	if was.EndedAt.IsZero() || !until.IsZero() && !until.After(now) {
		return 0, false, problem.New(problem.Conflict, "problem.pause.over")
	}
	in := PauseInput{Scope: was.Scope, Target: was.Target, Tag: was.Tag, From: was.From, Until: until, Strategy: was.Strategy, Cron: was.Cron, Length: was.Length, Zone: was.ZoneID, Reason: was.Reason}
	if in.Cron == "" && in.From.Before(now) { // a window that goes on is known by when it began
		in.From = now
	}
	again, before, err = s.cfg.onceOne(ctx, strconv.FormatInt(id, 10), "pause again", func(ctx context.Context, remember within) (int64, error) {
		return s.keep(ctx, p, in, remember)
	})
	if err == nil {
		s.cfg.pausesChanged(ctx)
	}
	return again, before, err
}

// endPausesOf ends the pauses of a job or a group in the transaction that deletes it: nobody else could, and a list would have them for ever.
func endPausesOf(ctx context.Context, tx *sql.Tx, p auth.Principal, now time.Time, scope jobspec.PauseScope, id int64) error {
	if _, err := db.New().HoldPauses(ctx, tx); err != nil { // one that is being made is seen then
		return err
	}
	_, err := db.New().EndPausesOf(ctx, tx, db.EndPausesOfParams{Scope: string(scope), Target: id, NowMs: now.UnixMilli(), EndedBy: cut(p.Name, 64)})
	return err
}

func pauseGone() error { return problem.New(problem.NotFound, "problem.pause.gone") }
