package manage

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
)

// Notes are what people, and the programs that deploy, write down at a run, at a job, or at all jobs of an executor group: that a release
// went out, that somebody knows why it failed. Whoever sees the job reads them, and who may run it writes them and strikes them out.
type Notes struct {
	cfg     Config
	queries *db.Queries
	audit   *Audit
}

// The names of the fields of a note, and how long its text may be.
const (
	FieldNote   = "remark"
	FieldNoteAt = "at"
	MaxNote     = 500
)

// maxNotes is how many notes are read at once, of each kind.
const maxNotes = 50

// noteAhead is how far ahead of now a note may stand: clocks differ.
const noteAhead = 24 * time.Hour

// Note is one of them.
type Note struct {
	ID         int64
	Group      int64
	Job        int64 // 0: of all jobs of the group
	Run        int64 // 0: of no run
	At, MadeAt time.Time
	By, Text   string
	May        bool // the principal may strike it out
}

// NoteInput is what somebody writes: at a run, at a job, or at all jobs of a group, of which exactly one is named.
type NoteInput struct {
	Run, Job, Group int64
	At              time.Time // zero: now; of a run, its own time
	Text            string
}

// OfRun are the notes of a run, the oldest first. The run must be one the principal may see.
func (s *Notes) OfRun(ctx context.Context, p auth.Principal, runID int64) ([]Note, error) {
	rows, err := s.queries.ListNotesOfRun(ctx, s.cfg.Pool, db.ListNotesOfRunParams{RunID: runID, Limit: maxNotes})
	return notesFor(p, rows), during("read the notes of a run", err)
}

// OfJob are the notes of a job, of its runs and of all jobs of its group since a moment, the newest moment first. The job must be one the
// principal may see; notes from before it was moved to its group belong to the former one.
func (s *Notes) OfJob(ctx context.Context, p auth.Principal, j db.Job, since time.Time) ([]Note, error) {
	from := max(0, since.UnixMilli())
	rows, err := s.queries.ListNotesOfJob(ctx, s.cfg.Pool, db.ListNotesOfJobParams{JobID: j.ID, Since: from, Limit: maxNotes})
	if err != nil {
		return nil, fmt.Errorf("read the notes of a job: %w", db.Error(err))
	}
	all, err := s.queries.ListNotesOfGroup(ctx, s.cfg.Pool, db.ListNotesOfGroupParams{JobGroup: j.JobGroup, Since: from, Limit: maxNotes})
	if err != nil {
		return nil, fmt.Errorf("read the notes of a group: %w", db.Error(err))
	}
	notes := notesFor(p, append(rows, all...))
	slices.SortStableFunc(notes, func(a, b Note) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.ID, a.ID)) })
	return notes[:min(len(notes), maxNotes)], nil
}

// OfGroup are the notes about all jobs of a group, the newest moment first.
func (s *Notes) OfGroup(ctx context.Context, p auth.Principal, groupID int64) ([]Note, error) {
	if !p.CanUseGroup(groupID) {
		return nil, &problem.Error{Kind: problem.NotFound}
	}
	rows, err := s.queries.ListNotesOfGroup(ctx, s.cfg.Pool, db.ListNotesOfGroupParams{JobGroup: groupID, Limit: maxNotes})
	return notesFor(p, rows), during("read the notes of a group", err)
}

// maxDrawn is how many notes a picture shows.
const maxDrawn = 200

// Between are the notes about all jobs of groups, and those of some jobs and of their runs, from one moment to before another, the newest
// moment first.
func (s *Notes) Between(ctx context.Context, p auth.Principal, from, until time.Time, jobIDs []int64) ([]Note, error) {
	all, groups := scope(p, 0)
	if all == 0 && len(groups) == 0 {
		return nil, nil
	}
	rows, err := s.queries.ListNotesBetween(ctx, s.cfg.Pool, db.ListNotesBetweenParams{
		JobIds: append([]int64{0}, jobIDs...), Since: from.UnixMilli(), UntilMs: until.UnixMilli(), AllGroups: all, GroupIds: groups, Limit: maxDrawn,
	})
	return notesFor(p, rows), during("read notes", err)
}

// notesFor are those of some rows that a principal may see.
func notesFor(p auth.Principal, rows []db.Note) []Note {
	var notes []Note
	for _, r := range rows {
		if p.CanUseGroup(r.JobGroup) {
			notes = append(notes, readNote(p, r))
		}
	}
	return notes
}

func readNote(p auth.Principal, r db.Note) Note {
	return Note{ID: r.ID, Group: r.JobGroup, Job: r.JobID, Run: r.RunID, At: time.UnixMilli(r.At), MadeAt: time.UnixMilli(r.MadeAt), By: r.MadeBy, Text: r.Note, May: p.Can(r.JobGroup, auth.RightRun)}
}

// Get is one note that the principal may see.
func (s *Notes) Get(ctx context.Context, p auth.Principal, id int64) (Note, error) {
	r, err := s.queries.GetNote(ctx, s.cfg.Pool, id)
	switch err = db.Error(err); {
	case errors.Is(err, db.ErrNotFound), err == nil && !p.CanUseGroup(r.JobGroup):
		return Note{}, problem.New(problem.NotFound, "problem.note.gone")
	case err != nil:
		return Note{}, fmt.Errorf("read note: %w", err)
	}
	return readNote(p, r), nil
}

// Add writes a note.
func (s *Notes) Add(ctx context.Context, p auth.Principal, in NoteInput) (id int64, err error) {
	now := s.cfg.Now()
	row := db.InsertNoteParams{JobGroup: in.Group, JobID: in.Job, RunID: in.Run, At: in.At.UnixMilli(), MadeAt: now.UnixMilli(), MadeBy: p.Name, Note: strings.TrimSpace(in.Text)}
	if in.At.IsZero() {
		row.At = now.UnixMilli()
	}
	name, err := s.place(ctx, p, &row, in.At.IsZero())
	if err != nil {
		return 0, err
	}
	if !p.Can(row.JobGroup, auth.RightRun) {
		return 0, forbidden()
	}
	if err := validNote(row.Note, time.UnixMilli(row.At), now); err != nil {
		return 0, err
	}
	err = s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		if id, err = s.queries.InsertNote(ctx, tx, row); err != nil {
			return fmt.Errorf("write note: %w", err)
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionCreate, Kind: ObjectNote, ID: id, Group: row.JobGroup, Name: name, After: noteSnapshot(row.RunID, row.Note)})
	})
	return id, db.Error(err)
}

// place fills in where a note stands, and says the name of that.
func (s *Notes) place(ctx context.Context, p auth.Principal, row *db.InsertNoteParams, ownTime bool) (name string, err error) {
	if row.RunID > 0 {
		r, err := s.queries.GetRun(ctx, s.cfg.Pool, row.RunID)
		switch err = db.Error(err); {
		case errors.Is(err, db.ErrNotFound), err == nil && !p.CanUseGroup(r.JobGroup):
			return "", problem.New(problem.NotFound, "problem.run.gone")
		case err != nil:
			return "", fmt.Errorf("read run: %w", err)
		}
		row.JobGroup, row.JobID = r.JobGroup, r.JobID
		if ownTime && r.PlannedAt > 0 {
			row.At = r.PlannedAt
		}
	}
	if row.JobID > 0 {
		j, err := s.queries.GetJob(ctx, s.cfg.Pool, row.JobID)
		switch err = db.Error(err); {
		case errors.Is(err, db.ErrNotFound) && row.RunID > 0:
			return "", nil // the run is still there to be written at
		case errors.Is(err, db.ErrNotFound), err == nil && row.RunID == 0 && !p.CanUseGroup(j.JobGroup):
			return "", jobGone()
		case err != nil:
			return "", fmt.Errorf("read job: %w", err)
		}
		if row.RunID == 0 {
			row.JobGroup = j.JobGroup
		}
		return j.JobDesc, nil
	}
	g, err := s.queries.GetGroup(ctx, s.cfg.Pool, row.JobGroup)
	switch err = db.Error(err); {
	case errors.Is(err, db.ErrNotFound), err == nil && !p.CanUseGroup(g.ID):
		return "", &problem.Error{Kind: problem.NotFound}
	case err != nil:
		return "", fmt.Errorf("read group: %w", err)
	}
	return g.AppName, nil
}

// validNote says what is wrong with a note.
func validNote(text string, at, now time.Time) error {
	var faults []problem.Field
	switch n := len([]rune(text)); {
	case n == 0:
		faults = append(faults, problem.Field{Name: FieldNote, Key: "problem.note.empty"})
	case n > MaxNote:
		faults = append(faults, problem.Field{Name: FieldNote, Key: "alarm.error.too_long", Args: []any{"Max", MaxNote}})
	}
	if at.UnixMilli() <= 0 || at.After(now.Add(noteAhead)) {
		faults = append(faults, problem.Field{Name: FieldNoteAt, Key: "problem.note.ahead"})
	}
	if len(faults) > 0 {
		return problem.InvalidFields(faults...)
	}
	return nil
}

// Delete strikes a note out; the audit log keeps what it said.
func (s *Notes) Delete(ctx context.Context, p auth.Principal, id int64) (Note, error) {
	n, err := s.Get(ctx, p, id)
	if err != nil {
		return n, err
	}
	if !n.May {
		return n, forbidden()
	}
	return n, db.Error(s.cfg.Pool.Tx(ctx, func(tx *sql.Tx) error {
		gone, err := s.queries.DeleteNote(ctx, tx, id)
		if err != nil || gone == 0 { // somebody was faster
			return err
		}
		return s.audit.Record(ctx, tx, p, Entry{Action: ActionDelete, Kind: ObjectNote, ID: id, Group: n.Group, Before: noteSnapshot(n.Run, n.Text)})
	}))
}

func noteSnapshot(runID int64, text string) Snapshot {
	if runID > 0 {
		return Snapshot{"note": text, "run": runID}
	}
	return Snapshot{"note": text}
}
