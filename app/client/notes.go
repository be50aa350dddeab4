package client

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// NotesCmd looks after what people and deployments wrote down at runs, at jobs and at all jobs of a group.
type NotesCmd struct {
	List   notesList   `cmd:"" default:"withargs" help:"List the notes at a run, a job or a group, at most 50; those at a job stand with those at its runs and its group."`
	Create notesCreate `cmd:"" help:"Write a note, such as that a release went out."`
	Delete notesDelete `cmd:"" help:"Strike notes out; the audit log keeps what they said."`
}

var noteColumns = []column{
	field("ID", "id"), field("AT", "at"), {title: "OF", value: noteTarget}, field("BY", "made_by"), field("TEXT", "text"), wideField("GROUP", "group_id"), wideField("WRITTEN", "made_at"),
}

// noteTarget is what a note is about.
func noteTarget(i item) string {
	for _, of := range []string{"run", "job"} {
		if i[of+"_id"] != nil {
			return of + " " + i.text(of+"_id")
		}
	}
	return "group " + i.text("group_id")
}

// noted is what notes are at.
type noted struct {
	Run   int64    `xor:"scope" required:"" placeholder:"ID" help:"The run with this number."`
	Job   jobRef   `xor:"scope" required:"" placeholder:"JOB" complete:"jobs" help:"This job: its number, or its whole description."`
	Group groupRef `xor:"scope" required:"" placeholder:"GROUP" complete:"groups" help:"All jobs of this group of executors: its number, or its app name."`
}

// path is that of its notes.
func (n noted) path(ctx context.Context, a *api) (string, error) {
	switch {
	case n.Run != 0:
		return fmt.Sprintf("/runs/%d/notes", n.Run), nil
	case n.Group != "":
		group, err := n.Group.find(ctx, a)
		return fmt.Sprintf("/groups/%d/notes", group), err
	}
	job, err := n.Job.find(ctx, a)
	return fmt.Sprintf("/jobs/%d/notes", job), err
}

type notesList struct {
	Target
	noted
}

func (c notesList) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	path, err := c.path(ctx, a)
	if err != nil {
		return err
	}
	return c.get(ctx, s, path, nil, unpaged, noteColumns)
}

type notesCreate struct {
	Target
	noted
	Text string    `arg:"" help:"What it says."`
	At   time.Time `placeholder:"TIME" help:"When it happened, as in 2026-12-31T23:30:00+08:00; default now, and of a run its planned time."`
}

func (c notesCreate) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	path, err := c.path(ctx, a)
	if err != nil {
		return err
	}
	body := map[string]any{"text": c.Text}
	if !c.At.IsZero() {
		body["at"] = c.At
	}
	raw, err := a.do(ctx, http.MethodPost, path, nil, body)
	if err != nil {
		return err
	}
	return (printer{s.Out, c.Output}).one(raw, noteColumns)
}

type notesDelete struct {
	Target
	IDs []int64 `arg:"" name:"id" help:"The numbers of the notes."`
}

func (c notesDelete) Run(ctx context.Context, s Streams) error {
	return c.each(ctx, s, c.IDs, "note", http.MethodDelete, "/notes/%d", nil, "struck out")
}
