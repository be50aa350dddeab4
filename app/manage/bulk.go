package manage

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// BulkDo is what is done to many jobs at once.
type BulkDo string

const (
	BulkStart  BulkDo = "start"
	BulkStop   BulkDo = "stop"
	BulkPause  BulkDo = "pause"  // each by a pause of its own
	BulkResume BulkDo = "resume" // takes that back
	BulkMove   BulkDo = "move"   // to another executor group
	BulkTag    BulkDo = "tag"    // adds some tags and takes others away
	BulkEdit   BulkDo = "edit"   // gives one field a value
	BulkSpread BulkDo = "spread" // moves the times of cron texts apart
	BulkDelete BulkDo = "delete"
)

// BulkFields are the fields that BulkEdit changes.
func BulkFields() []string {
	return []string{jobspec.FieldTimeout, jobspec.FieldRetries, jobspec.FieldAuthor, jobspec.FieldAlarmEmail, jobspec.FieldCalendar, jobspec.FieldPriority}
}

// MaxBulk bounds the jobs that one call of [Jobs.Bulk] changes, MaxMatching those of a deed that is done in several.
const (
	MaxBulk     = 200
	MaxMatching = 10_000
)

// Bulk is a deed and the jobs it is meant for.
type Bulk struct {
	Do    BulkDo
	IDs   []int64
	Group int64      // of BulkMove; below 0 while none is chosen, in a preview
	Add   []string   // of BulkTag
	Drop  []string   // of BulkTag
	Field string     // of BulkEdit; "" while none is chosen, in a preview
	To    string     // of BulkEdit, as in the form of a job
	Pause PauseInput // of BulkPause: when, why and how; the zero value while nothing is chosen, in a preview
	// Window is that of BulkSpread; one of BulkWindows.
	Window time.Duration
	// Was is what an undo goes back to, by job: a group's id for BulkMove, the tags for BulkTag, the value for BulkEdit, the cron text for
	// BulkSpread, each behind the version that the deed left ([Bulk.was]); of BulkResume it is the pause that is to be ended.
	Was map[int64]string
	// Versions are those of the preview, by job: what was changed since is left alone. A job without one is not compared.
	Versions map[int64]string
}

// BulkItem is what a deed means for one job, or what became of it.
type BulkItem struct {
	ID      int64
	Name    string
	Changes bool   // there is something to do, or it has been done
	Was     string // what an undo of it goes back to, as in Bulk.Was
	Version string // see [Bulk.version]
	Used    UsedBy // what does without it, of the preview of a BulkDelete; jobs that go with it left out
	becomes string // the cron text of a BulkSpread
	Err     error  // why it cannot be done
	Later   bool   // of a BulkKill: it is on record and done as soon as it can be, which Err says; nothing more is needed
}

// Matching are the jobs under a filter, the newest first, for a deed that is meant for all of them.
func (s *Jobs) Matching(ctx context.Context, p auth.Principal, f JobFilter) ([]int64, error) {
	f.Limit, f.Offset = MaxMatching+1, 0
	ids, err := s.IDs(ctx, p, f)
	if err == nil && len(ids) > MaxMatching {
		err = problem.New(problem.Malformed, "problem.bulk.matching", "Max", MaxMatching)
	}
	return ids, err
}

// Preview says what a deed means for each of at most MaxMatching jobs. Jobs that are not the principal's to see are refused by
// number only.
func (s *Jobs) Preview(ctx context.Context, p auth.Principal, b Bulk) ([]BulkItem, error) {
	items, _, err := s.bulk(ctx, p, b, MaxMatching, s.byID)
	if err != nil || b.Do != BulkDelete {
		return items, err
	}
	gone := make(map[int64]bool)
	for _, item := range items {
		if item.Changes {
			gone[item.ID] = true
		}
	}
	used, err := s.UsedByRest(ctx, p, gone)
	for i := range items {
		items[i].Used = used[items[i].ID]
	}
	return items, err
}

// Bulk does a deed to each job for itself: one that fails keeps no other from it.
func (s *Jobs) Bulk(ctx context.Context, p auth.Principal, b Bulk) ([]BulkItem, error) {
	items, stored, err := s.bulk(ctx, p, b, MaxBulk, s.byID)
	if err != nil {
		return nil, err
	}
	for i := range items {
		item := &items[i]
		if item.Err != nil || !item.Changes {
			continue
		}
		if item.Was, item.Err = s.bulkOne(ctx, p, b, stored[item.ID], item.Was); item.Err != nil {
			item.Changes = false
		}
		if ctx.Err() != nil {
			return items[:i+1], ctx.Err()
		}
	}
	if b.Do == BulkPause || b.Do == BulkResume {
		s.cfg.pausesChanged(ctx) // once for all
	}
	return items, nil
}

// jobReader reads jobs by id, or what of them a deed needs to know.
type jobReader func(ctx context.Context, tx db.DBTX, ids []int64) (map[int64]db.Job, error)

func (s *Jobs) bulk(ctx context.Context, p auth.Principal, b Bulk, most int, read jobReader) ([]BulkItem, map[int64]db.Job, error) {
	if !slices.Contains([]BulkDo{BulkStart, BulkStop, BulkPause, BulkResume, BulkMove, BulkTag, BulkEdit, BulkSpread, BulkDelete}, b.Do) || len(b.IDs) == 0 {
		return nil, nil, problem.New(problem.Malformed, "problem.bulk.none")
	}
	if b.Do == BulkEdit && b.Field != "" && !slices.Contains(BulkFields(), b.Field) {
		return nil, nil, problem.New(problem.Malformed, "problem.bulk.none")
	}
	if b.Do == BulkSpread && b.Was == nil && !slices.Contains(BulkWindows(), b.Window) {
		return nil, nil, problem.New(problem.Malformed, "problem.bulk.none")
	}
	if len(b.IDs) > most {
		return nil, nil, problem.New(problem.Malformed, "problem.bulk.many", "Max", most)
	}
	stored, err := read(ctx, s.cfg.Pool, b.IDs)
	if err != nil {
		return nil, nil, err
	}
	held, err := s.heldAmong(ctx, b)
	if err != nil {
		return nil, nil, err
	}
	var items []BulkItem
	seen := make(map[int64]bool)
	for _, id := range b.IDs {
		if seen[id] {
			continue
		}
		seen[id] = true
		j, ok := stored[id]
		switch {
		case !ok, !p.CanUseGroup(j.JobGroup):
			items = append(items, BulkItem{ID: id, Err: jobGone()})
		default:
			item := bulkItem(p, b, j)
			if source, ok := held[id]; ok && item.Err == nil {
				item.Changes, item.Err = false, problem.New(problem.Conflict, "problem.job.held", "Source", source)
			}
			items = append(items, item)
		}
	}
	return items, stored, nil
}

// heldAmong are the sources of those jobs of a deed that are changed in files only. They may be started, stopped and paused.
func (s *Jobs) heldAmong(ctx context.Context, b Bulk) (map[int64]string, error) {
	if b.Do == BulkStart || b.Do == BulkStop || b.Do == BulkPause || b.Do == BulkResume || !s.cfg.Settings.FilesHold() {
		return nil, nil
	}
	held := make(map[int64]string)
	for part := range slices.Chunk(b.IDs, readAtOnce) {
		rows, err := s.queries.ListFileJobsByID(ctx, s.cfg.Pool, part)
		if err != nil {
			return nil, fmt.Errorf("read where jobs are kept: %w", db.Error(err))
		}
		for _, row := range rows {
			if row.Source != s.source {
				held[row.JobID] = row.Source
			}
		}
	}
	return held, nil
}

// bulkItem says what a deed means for a job. What only the deed itself can find out (a schedule without a time to come) is
// left to it.
func bulkItem(p auth.Principal, b Bulk, j db.Job) BulkItem {
	item := BulkItem{ID: j.ID, Name: j.JobDesc, Version: b.version(j)}
	running := jobspec.Started(j.TriggerStatus)
	right := auth.RightEdit
	switch b.Do {
	case BulkStart:
		right, item.Changes = auth.RightSchedule, !running
		if !running && !j.ScheduleType.Schedules() {
			item.Changes, item.Err = false, problem.New(problem.Conflict, "problem.job.noschedule")
		}
	case BulkStop:
		right, item.Changes = auth.RightSchedule, running
	case BulkPause:
		right, item.Changes = auth.RightSchedule, running
		if !running {
			item.Err = problem.New(problem.Conflict, "problem.bulk.stopped")
		}
	case BulkResume:
		right, item.Was, item.Changes = auth.RightSchedule, b.Was[j.ID], b.Was[j.ID] != ""
	case BulkMove:
		to := b.groupFor(j.ID)
		item.Was, item.Changes = strconv.FormatInt(j.JobGroup, 10), to != j.JobGroup
		if to >= 0 && !p.Can(to, auth.RightEdit) {
			item.Err = forbidden()
		}
	case BulkTag:
		item.Was, item.Changes = j.Tags, b.tagsFor(j) != j.Tags
	case BulkEdit:
		if item.Changes = b.Field == ""; !item.Changes {
			in, fault := b.edited(j)
			item.Was = fieldText(j.Spec(), b.Field)
			item.Changes = fieldText(in.Job, b.Field) != item.Was
			if fault != nil {
				item.Err = problem.InvalidFields(*fault)
			}
		}
	case BulkSpread:
		conf, err := b.spread(j)
		item.Was, item.becomes, item.Err, item.Changes = string(j.ScheduleConf), conf, err, conf != string(j.ScheduleConf)
	case BulkDelete:
		item.Changes = true
	}
	if was, ok := b.Versions[j.ID]; ok && was != item.Version {
		item.Err = problem.New(problem.Conflict, "problem.bulk.changed")
	}
	if _, left, _ := b.was(j.ID); left != "" && left != item.Version {
		item.Err = problem.New(problem.Conflict, "problem.bulk.since")
	}
	if !p.Can(j.JobGroup, right) {
		item.Err = forbidden()
	}
	if item.Err != nil {
		item.Changes = false
	}
	return item
}

// version changes with whatever of a job a deed depends on. That is all of it, but for a spread, which is about when jobs are due.
func (b Bulk) version(j db.Job) string {
	if b.Do != BulkSpread {
		return JobVersion(j)
	}
	return spreadVersion(j)
}

// was is what an undo goes back to for a job, and the version that the deed left: what was changed since is left alone.
func (b Bulk) was(id int64) (was, left string, ok bool) {
	text, ok := b.Was[id]
	if left, was, found := strings.Cut(text, "|"); found && len(left) == digestLength {
		return was, left, ok
	}
	return text, "", ok
}

func (b Bulk) groupFor(id int64) int64 {
	if was, _, ok := b.was(id); ok {
		group, _ := strconv.ParseInt(was, 10, 64) // 0 is no group, which nobody may use
		return group
	}
	return b.Group
}

func (b Bulk) tagsFor(j db.Job) string {
	if was, _, ok := b.was(j.ID); ok {
		return was
	}
	var tags []string
	for tag := range strings.SplitSeq(j.Tags, ",") {
		if tag != "" && !slices.Contains(b.Drop, tag) {
			tags = append(tags, tag)
		}
	}
	for _, tag := range b.Add {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return strings.Join(tags, ",")
}

// Fault is what is wrong with the value of a BulkEdit for every job; nil for nothing.
func (b Bulk) Fault() *problem.Field {
	if !slices.Contains(BulkFields(), b.Field) {
		return nil
	}
	j := jobspec.Job{}.WithDefaults()
	return b.put(&j, b.To)
}

// put gives the field of a BulkEdit its value. Calendars come with their rule, behind a bar, when an undo brings them back.
func (b Bulk) put(j *jobspec.Job, value string) *problem.Field {
	if b.Field == jobspec.FieldCalendar {
		name, rule, ok := strings.Cut(value, "|")
		if value = name; ok {
			j.CalendarRule = jobspec.CalendarRule(rule)
		}
	}
	if fault := jobspec.Named(b.Field).Put(j, value, nil); fault != nil {
		return fault
	}
	*j = j.Normalize()
	for _, fault := range jobspec.Validate(*j) {
		if fault.Name == b.Field || fault.Name == jobspec.FieldRule && b.Field == jobspec.FieldCalendar {
			return &fault
		}
	}
	return nil
}

// edited is a job with the value that a BulkEdit gives it.
func (b Bulk) edited(j db.Job) (in JobInput, fault *problem.Field) {
	in = inputOf(j)
	value, _, ok := b.was(j.ID)
	if !ok {
		value = b.To
	}
	fault = b.put(&in.Job, value)
	return in, fault
}

// fieldText is the value of a field of a BulkEdit, as put reads it.
func fieldText(j jobspec.Job, field string) string {
	text := jobspec.Named(field).Text(&j, jobspec.Notation{})
	if field == jobspec.FieldCalendar && text != "" {
		text += "|" + string(j.CalendarRule)
	}
	return text
}

// bulkOne does a deed to a job. what is what an undo goes back to, which the deed may only know when it is done.
func (s *Jobs) bulkOne(ctx context.Context, p auth.Principal, b Bulk, j db.Job, was string) (what string, err error) {
	in := inputOf(j)
	switch b.Do {
	case BulkStart:
		return was, s.Start(ctx, p, j.ID)
	case BulkStop:
		return was, s.Stop(ctx, p, j.ID)
	case BulkPause:
		pause := b.Pause
		pause.Scope, pause.Target = jobspec.PauseJob, j.ID
		id, err := s.pauses.create(ctx, p, pause, nil)
		return strconv.FormatInt(id, 10), err
	case BulkResume:
		id, _ := strconv.ParseInt(was, 10, 64) // 0 is no pause, which the use case says
		return was, s.pauses.end(ctx, p, id, j.ID)
	case BulkDelete:
		return was, s.DeleteVersion(ctx, p, j.ID, JobVersion(j)) // others may take a while
	case BulkMove:
		in.Group = b.groupFor(j.ID)
	case BulkTag:
		in.Tags = b.tagsFor(j)
	case BulkEdit:
		if b.Field == "" {
			return was, problem.New(problem.Malformed, "problem.bulk.none")
		}
		in, _ = b.edited(j) // a fault has been found before
	case BulkSpread:
		conf, err := b.spread(j)
		if err != nil {
			return was, err
		}
		in.ScheduleConf = conf
	}
	if err := s.Update(ctx, p, j.ID, in); err != nil {
		return was, err
	}
	now, err := s.queries.GetJob(ctx, s.cfg.Pool, j.ID)
	if err != nil {
		return was, nil //nolint:nilerr // it is done; an undo of it asks for no version
	}
	return b.version(now) + "|" + was, nil
}

// inputOf is a stored job as it would be saved unchanged.
func inputOf(j db.Job) JobInput {
	return JobInput{Job: j.Spec(), Group: j.JobGroup, Version: JobVersion(j)}
}

// Undo is the deed that takes another back. ok is false for what cannot be taken back.
func (b Bulk) Undo(done []BulkItem) (undo Bulk, ok bool) {
	undo.Was = make(map[int64]string)
	for _, item := range done {
		if item.Changes {
			undo.IDs = append(undo.IDs, item.ID)
			undo.Was[item.ID] = item.Was
		}
	}
	switch b.Do {
	case BulkStart:
		undo.Do = BulkStop
	case BulkStop:
		undo.Do = BulkStart
	case BulkPause:
		undo.Do = BulkResume
	case BulkMove, BulkTag, BulkEdit, BulkSpread:
		undo.Do, undo.Field = b.Do, b.Field
	case BulkDelete, BulkResume:
		return Bulk{}, false
	}
	return undo, len(undo.IDs) > 0
}
