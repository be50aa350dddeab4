package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/jobfile"
	"github.com/punctual-job/punctual/app/manage/transfer"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/locales"
)

// jobFile is a file of jobs, as docs/jobfile.md describes it.
type jobFile struct {
	Name string `json:"name,omitempty" maxLength:"255" doc:"What it is called in what is said about it."`
	Text string `json:"text" doc:"Its content, YAML or JSON."`
}

// applyBody is what is to be applied.
type applyBody struct {
	Files        []jobFile `json:"files" minItems:"1" maxItems:"500" doc:"They are read as one."`
	Source       string    `json:"source" minLength:"1" maxLength:"255" doc:"Where they are kept, such as the name of a repository. The jobs belong to it from then on; those of another source are refused."`
	Revision     string    `json:"revision,omitempty" maxLength:"255" doc:"Its state, such as a commit."`
	Prune        bool      `json:"prune,omitempty" doc:"Delete the jobs of the source that are not in the files any more."`
	KeepStates   bool      `json:"keep_states,omitempty" doc:"Leave schedules started or stopped as they are, whatever the files say."`
	CreateGroups bool      `json:"create_groups,omitempty" doc:"Make groups of executors that do not exist, which takes an administrator."`
	ByID         bool      `json:"by_id,omitempty" doc:"Find a job again by the id that the files give it, so that its group and description may be other ones. That is for files of one installation: in another the same id is another job."`
	Digest       string    `json:"digest,omitempty" maxLength:"64" doc:"Of the plan that is meant, as a dry run answered it. If it would be another one now, nothing is done, and the answer is 412."`
}

// applied is what was done with files of jobs, or would be.
type applied struct {
	Done      bool         `json:"done" doc:"It was done; false of a dry run."`
	Digest    string       `json:"digest" doc:"Of this plan."`
	Looked    bool         `json:"looked" doc:"The token may see jobs and change none: this is what would be done with one that may, whose rights are judged then."`
	NewGroups []string     `json:"new_groups" doc:"Groups of executors that are made."`
	Jobs      []appliedJob `json:"jobs" doc:"In the order of the files; what is deleted comes last."`
}

type appliedJob struct {
	ID       int64         `json:"id" doc:"0 of one that is still to be created."`
	File     string        `json:"file"`
	Line     int           `json:"line" doc:"0 of one that is deleted."`
	AppName  string        `json:"app_name"`
	Name     string        `json:"description"`
	Outcome  string        `json:"outcome" enum:"create,change,same,refuse,delete"`
	Changes  []jobChange   `json:"changes" doc:"Of one that is changed."`
	Problems []lineProblem `json:"problems" doc:"Of one that is refused."`
	Adopted  bool          `json:"adopted" doc:"It was kept in no files, and belongs to the source from then on."`
	Unread   bool          `json:"script_unread" doc:"Its script was not compared, since the token may not read it."`
	Waits    bool          `json:"script_waits" doc:"Its script waits for a second person to approve it, or will. That it waits already is no change."`
	Lost     *LostUses     `json:"lost,omitempty" doc:"Of one that is deleted: the jobs and flows outside of what is deleted that use it."`
}

type jobChange struct {
	Field string `json:"field" doc:"Its name in a file."`
	Was   string `json:"was"`
	Now   string `json:"now"`
}

type lineProblem struct {
	Line   int    `json:"line"`
	Field  string `json:"field" doc:"Its name in a file; empty where it is about the whole."`
	Detail string `json:"detail"`
	Code   string `json:"code"`
	InFlow
}

// exported are jobs as a file.
type exported struct {
	Text    string `json:"text" doc:"A file as docs/jobfile.md describes it."`
	Jobs    int    `json:"jobs" doc:"How many are in it."`
	Scripts int    `json:"scripts_omitted" doc:"Jobs whose script is not in it, since the token may not read it."`
	Orphans int    `json:"left_out" doc:"Jobs that are not in it, since their group does not exist; of several files the first says it of all."`
	Next    string `json:"next,omitempty" doc:"The cursor of the file that follows, where jobs are asked for in several. There is none after the last."`
}

type exportQuery struct {
	Group  int64  `query:"group_id" minimum:"1" doc:"Only jobs of this group."`
	State  string `query:"state" enum:"running,stopped" doc:"Only jobs whose schedule is started, or is not."`
	Text   string `query:"text" maxLength:"255" doc:"Only jobs with this in their description, or with this number."`
	Tag    string `query:"tag" maxLength:"255" doc:"Only jobs with this tag."`
	Format string `query:"format" enum:"yaml,json" default:"yaml" doc:"How the file is written."`
	Limit  int    `query:"limit" minimum:"1" maximum:"2000" doc:"Ask for the jobs in several files, each of so many at most and of no more than apply takes: the newest first. Without it all are in one file, or none."`
	Cursor string `query:"cursor" pattern:"^([1-9][0-9]{0,17})?$" doc:"What the file before said as next."`
}

// filter is which jobs are asked for.
func (q *exportQuery) filter() (f manage.JobFilter, err error) {
	f = manage.JobFilter{Group: q.Group, Status: jobStatus(q.State), Text: q.Text, Tag: q.Tag, Limit: q.Limit}
	if f.Below, err = (Page{Cursor: q.Cursor}).after(); err == nil && f.Below != 0 && f.Limit == 0 {
		f.Limit = jobfile.MaxJobs
	}
	return f, err
}

func (a *API) export(ctx context.Context, p auth.Principal, in *exportQuery) (*struct{ Body exported }, error) {
	f, err := in.filter()
	if err != nil {
		return nil, err
	}
	out, text, next, err := a.Files.Text(ctx, p, f, jobfile.Format(in.Format))
	if err != nil {
		return nil, err
	}
	a.Manage.Audit.Exported(ctx, p, out.Jobs)
	return &struct{ Body exported }{exported{Text: string(text), Jobs: out.Jobs, Scripts: out.Scripts, Orphans: out.Orphans, Next: nextBelow(next)}}, nil
}

func (a *API) jobFiles() {
	const tag = "jobs"
	add(a, op{method: http.MethodGet, path: "/jobs/export", id: "exportJobs", tag: tag, summary: "Get jobs as a file", text: "At most 2000 in one file: more are asked for in several, with limit.", also: []int{http.StatusNotFound, http.StatusConflict}},
		a.export)
	add(a, op{method: http.MethodPost, path: "/jobs/apply", id: "applyJobs", tag: tag, summary: "Make jobs be what files say", body: 16 << 20, also: []int{http.StatusConflict, http.StatusPreconditionFailed},
		text: "At most 10,000 jobs and 12 MB at once, 2,000 and 3 MB of them in one file. Done as a whole or not at all: when a job is refused, nothing is done. A dry run answers what would be done, with what is refused and why; a token that may only view is answered too, such as that of a merge request. Jobs are found by their group and description, or with by_id by their ids."},
		func(ctx context.Context, p auth.Principal, in *struct {
			DryRun
			Body applyBody
		}) (*struct{ Body applied }, error) {
			return a.apply(ctx, p, in.Body, in.Dry)
		})
}

func (a *API) apply(ctx context.Context, p auth.Principal, in applyBody, dry bool) (*struct{ Body applied }, error) {
	file, err := oneFile(in.Files)
	if err != nil {
		return nil, err
	}
	opts := transfer.Options{ByID: in.ByID, FileStates: !in.KeepStates, CreateGroups: in.CreateGroups, Source: in.Source, Revision: in.Revision, Prune: in.Prune}
	opts.Look = dry && !p.CanAnywhere(auth.RightEdit)
	plan, err := a.Files.Plan(ctx, p, file, opts)
	if err != nil {
		return nil, err
	}
	if in.Digest != "" && in.Digest != plan.Digest {
		return nil, newStale()
	}
	if !dry {
		plan, err = a.Files.Import(ctx, p, file, opts, plan.Digest)
		if f := problem.From(err); f != nil && f.Key == "problem.import.changed" { // which speaks of a page
			return nil, newStale()
		}
		if failed, ok := errors.AsType[*transfer.FailedError](err); ok && failed.Refused() {
			return nil, &problem.Error{Kind: problem.Conflict, Key: "import.failed", Args: []any{"Name", failed.Name, "Why", problem.From(err).Text(requestOf(ctx).printer)}}
		}
		if err != nil {
			return nil, err
		}
	}
	out := readPlan(requestOf(ctx).printer, plan, !dry)
	out.Looked = opts.Look
	return &struct{ Body applied }{out}, nil
}

// oneFile reads files as one. What is wrong with them is told by file and line.
func oneFile(files []jobFile) (jobfile.File, error) {
	var all jobfile.File
	var faults []problem.Field
	jobs, size := 0, 0
	texts := make([][]byte, len(files))
	for i, f := range files {
		size += len(f.Text)
		texts[i] = []byte(f.Text)
	}
	if size > jobfile.MaxBytesTogether {
		return all, problem.InvalidFields(problem.Field{Name: "files", Key: jobfile.CodeTogether, Args: []any{"Max", jobfile.MaxBytesTogether >> 20}})
	}
	parts, wrong := jobfile.ParseTogether(texts...)
	for i, one := range parts {
		for _, fault := range wrong[i] {
			faults = append(faults, problem.Field{Name: fmt.Sprintf("files.%d:%d", i, fault.Line), Key: fault.Key, Args: fault.Args})
		}
		jobs += all.Add(one, files[i].Name)
	}
	switch {
	case len(faults) > 0:
		return all, problem.InvalidFields(faults...)
	case jobs > jobfile.MaxJobsTogether:
		return all, problem.InvalidFields(problem.Field{Name: "files", Key: jobfile.CodeManyTogether, Args: []any{"Max", jobfile.MaxJobsTogether}})
	}
	return all, nil
}

func readPlan(printer *locales.Printer, plan transfer.Plan, done bool) applied {
	out := applied{Done: done, Digest: plan.Digest, NewGroups: append([]string{}, plan.NewGroups...), Jobs: []appliedJob{}}
	for _, item := range plan.Items {
		job := appliedJob{ID: item.ID, File: item.From, Line: item.Line, AppName: item.AppName, Name: item.Name, Outcome: string(item.Outcome), Adopted: item.Adopted, Waits: item.Waits, Unread: item.Unread, Changes: []jobChange{}, Problems: []lineProblem{}}
		for _, c := range item.Changes {
			job.Changes = append(job.Changes, jobChange{Field: transfer.FileField(c.Field), Was: c.Was, Now: c.Now})
		}
		for _, f := range item.Faults {
			code, at := faultOf(f.Field)
			job.Problems = append(job.Problems, lineProblem{Line: cmp.Or(f.Line, item.Line), Field: transfer.FileField(f.Name), Code: code, Detail: f.Text(printer), InFlow: at})
		}
		if item.Used.Any() {
			lost := readLostUses(item.Used)
			job.Lost = &lost
		}
		out.Jobs = append(out.Jobs, job)
	}
	return out
}
