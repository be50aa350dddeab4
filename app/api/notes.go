package api

import (
	"context"
	"net/http"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
)

// noteJSON is a note as it is read.
type noteJSON struct {
	ID     int64     `json:"id" minimum:"1"`
	Group  int64     `json:"group_id"`
	Job    int64     `json:"job_id,omitempty" doc:"Left out: it is about all jobs of the group."`
	Run    int64     `json:"run_id,omitempty" doc:"Left out: it is about no run."`
	At     time.Time `json:"at" doc:"Where it stands among the runs."`
	Text   string    `json:"text"`
	By     string    `json:"made_by"`
	MadeAt time.Time `json:"made_at"`
}

// newNote is a note as somebody writes it.
type newNote struct {
	Text string     `json:"text" minLength:"1" maxLength:"500" doc:"Whoever sees the job reads it."`
	At   *time.Time `json:"at,omitempty" doc:"When what it says happened; without it now, and of a run its planned time."`
}

type noteCreated struct {
	Body noteJSON
}

// noteNames are what the fields of a note are called in JSON.
var noteNames = map[string]string{manage.FieldNote: "text"}

func readNote(n manage.Note) noteJSON {
	return noteJSON{ID: n.ID, Group: n.Group, Job: n.Job, Run: n.Run, At: *moment(n.At), Text: n.Text, By: n.By, MadeAt: *moment(n.MadeAt)}
}

func (a *API) notes() {
	for _, of := range []struct {
		path, id, what string
		list           func(ctx context.Context, p auth.Principal, id int64) ([]manage.Note, error)
		in             func(id int64) manage.NoteInput
	}{
		{"/groups/{id}/notes", "Group", "all jobs of a group", func(ctx context.Context, p auth.Principal, id int64) ([]manage.Note, error) {
			return a.Manage.Notes.OfGroup(ctx, p, id)
		}, func(id int64) manage.NoteInput { return manage.NoteInput{Group: id} }},
		{"/jobs/{id}/notes", "Job", "a job", func(ctx context.Context, p auth.Principal, id int64) ([]manage.Note, error) {
			j, err := a.Manage.Jobs.Get(ctx, p, id)
			if err != nil {
				return nil, err
			}
			return a.Manage.Notes.OfJob(ctx, p, j, time.Time{})
		}, func(id int64) manage.NoteInput { return manage.NoteInput{Job: id} }},
		{"/runs/{id}/notes", "Run", "a run", func(ctx context.Context, p auth.Principal, id int64) ([]manage.Note, error) {
			if _, err := a.Manage.Runs.Get(ctx, p, id); err != nil {
				return nil, err
			}
			return a.Manage.Notes.OfRun(ctx, p, id)
		}, func(id int64) manage.NoteInput { return manage.NoteInput{Run: id} }},
	} {
		const tag = "notes"
		add(a, op{method: http.MethodGet, path: of.path, id: "list" + of.id + "Notes", tag: tag, summary: "List the notes at " + of.what,
			text: "At most 50, the newest moment first; of a run the oldest first. With those at a job stand those at its runs, and at all jobs of its group."},
			func(ctx context.Context, p auth.Principal, in *NoteOf) (*listOf[noteJSON], error) {
				list, err := of.list(ctx, p, in.ID)
				return listed(list, err, readNote)
			})
		add(a, op{method: http.MethodPost, path: of.path, id: "create" + of.id + "Note", tag: tag, summary: "Write a note at " + of.what, status: http.StatusCreated, names: noteNames,
			text: "Such as that a release went out, or why it failed. It stands on the pages of the job and its runs, and among the bars of the runs."},
			func(ctx context.Context, p auth.Principal, in *struct {
				NoteOf
				Once
				Body newNote
			}) (*noteCreated, error) {
				want := of.in(in.ID)
				want.Text = in.Body.Text
				if in.Body.At != nil {
					want.At = *in.Body.At
				}
				id, err := a.Manage.Notes.Add(ctx, p, want)
				if err != nil {
					return nil, err
				}
				did(ctx)
				n, err := a.Manage.Notes.Get(ctx, p, id)
				if err != nil {
					return nil, err
				}
				return &noteCreated{Body: readNote(n)}, nil
			})
	}
	add(a, op{method: http.MethodDelete, path: "/notes/{id}", id: "deleteNote", tag: "notes", summary: "Strike a note out", text: "The audit log keeps what it said.", status: http.StatusNoContent},
		func(ctx context.Context, p auth.Principal, in *NoteOf) (*struct{}, error) {
			_, err := a.Manage.Notes.Delete(ctx, p, in.ID)
			return nil, err
		})
}

// NoteOf names what a note is at, or a note.
type NoteOf struct {
	ID int64 `path:"id" minimum:"1" doc:"The number in the path."`
}
