package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/live"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/dashboard"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/scheduler"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/runstate"
	"github.com/punctual-job/punctual/scheduler/upkeep"
)

// RunID names the run of an operation.
type RunID struct {
	ID int64 `path:"id" minimum:"1" doc:"The number of the run."`
}

// RunsWanted is the filter of the console's list.
type RunsWanted struct {
	Group    int64     `query:"group_id" minimum:"1" doc:"Only runs of jobs of this group."`
	Job      int64     `query:"job_id" minimum:"1" doc:"Only runs of this job."`
	Result   string    `query:"result" enum:"success,failed,final,open,skipped" doc:"Only runs that succeeded, that failed, that failed with no other attempt to come, that have not ended, or that were left out on purpose."`
	State    string    `query:"state" enum:"waiting,sent,success,failed,timeout,sendfailed,unconfirmed,killed,lost,skipped,discarded,cancelled,stopped" doc:"Only runs in this state."`
	Since    time.Time `query:"since" doc:"Only runs triggered at this moment or later."`
	Until    time.Time `query:"until" doc:"Only runs triggered at this moment or before."`
	Text     string    `query:"text" maxLength:"255" doc:"Only runs with this in their address, their parameter or a message, or with this number."`
	Trigger  string    `query:"trigger" enum:"MANUAL,CRON,RETRY,PARENT,API,MISFIRE,TRIAL,FLOW" doc:"Only runs with this cause."`
	Executor string    `query:"executor" maxLength:"255" doc:"Only runs with this in the address of their executor."`
	Longer   int       `query:"longer_seconds" minimum:"1" maximum:"31536000" doc:"Only runs that took so many seconds or more."`
}

type runQuery struct {
	Page
	Looking
	RunsWanted
	Show string `query:"show" enum:"late,long" doc:"Only runs that a number of the dashboard counts: late ones, or those that take long. They come on one page."`
}

func (w RunsWanted) filter() manage.RunFilter {
	return manage.RunFilter{
		Group: w.Group, Job: w.Job, Result: results[w.Result], State: runstate.State(w.State), Since: w.Since, Until: w.Until, Text: w.Text, Trigger: jobspec.TriggerType(w.Trigger), Executor: w.Executor,
		Longer: time.Duration(w.Longer) * time.Second,
	}
}

var results = map[string]manage.Result{"": manage.AnyResult, "success": manage.Succeeded, "failed": manage.Failed, "final": manage.FailedForGood, "open": manage.Open, "skipped": manage.Skipped}

const (
	// maxWait bounds how long a request may ask to wait for a run to end.
	maxWait = time.Minute
	// answersWithin is how long it waits at most: proxies, nginx among them, commonly give up after a minute, and would be as quick as the answer.
	answersWithin = 55 * time.Second
)

// waitOf reads how long a request waits.
func waitOf(wait string) (time.Duration, error) {
	if wait == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(wait)
	if err != nil || d > maxWait {
		return 0, newParameterError("wait", "api.error.wait")
	}
	return min(d, answersWithin), nil
}

// clearKeeps are the ways to clear runs, in the order of upkeep.ClearType.
var clearKeeps = []string{"month", "3months", "6months", "year", "1000", "10000", "30000", "100000", "nothing"}

var clearNames = map[string]string{manage.FieldClearGroup: fieldGroup, manage.FieldClearJob: "job_id", manage.FieldClearType: "keep"}

type clearBody struct {
	Group int64  `json:"group_id,omitempty" minimum:"1" doc:"Of this group; without it of all, which takes an administrator."`
	Job   int64  `json:"job_id,omitempty" minimum:"1" doc:"Of this job; without it of all jobs of the group."`
	Keep  string `json:"keep" enum:"month,3months,6months,year,1000,10000,30000,100000,nothing" doc:"Which runs stay: those of the last time, or the newest so many of each job. Runs without a result always stay."`
}

// cleared is what a clearing comes to.
type cleared struct {
	Runs  int64 `json:"runs" doc:"How many runs are deleted, as far as that is known."`
	Exact bool  `json:"exact" doc:"Whether runs is counted; else it is an estimate."`
	Open  int64 `json:"open" doc:"How many stay because they have no result."`
	Done  bool  `json:"done" doc:"False for a dry run, and when there is nothing to delete. The deleting goes on by itself."`
}

// outputAnswer is a run's output as it is.
type outputAnswer struct {
	Type   string `header:"Content-Type"`
	Next   int    `header:"Next-Line" doc:"The line from which to ask for what comes after this."`
	Source string `header:"Output-Source" enum:"executor,copy" doc:"Whether it comes from the executor, or from the copy that is kept of it."`
	More   bool   `header:"Output-More" doc:"Whether there may be more of it by now."`
	End    bool   `header:"Output-End" doc:"Whether there will be no more."`
	Body   []byte
}

func (a *API) runs() {
	const tag = "runs"
	gateway := []int{http.StatusBadGateway}
	add(a, op{method: http.MethodGet, path: "/runs", id: "listRuns", tag: tag, summary: "List runs, the newest first"},
		a.listRuns)
	add(a, op{
		method: http.MethodGet, path: "/runs/search", id: "searchOutput", tag: tag, names: searchNames, summary: "Search what is kept of the output of a job or of a group's jobs, the newest runs first",
		text: "A request looks for up to 2s and answers with what it found, which may be nothing, and with next as long as there are older runs to be looked at: ask again with it as the cursor.",
	}, func(ctx context.Context, p auth.Principal, in *searchQuery) (*struct{ Body searched }, error) {
		out, err := a.searchOutput(ctx, p, in)
		return &struct{ Body searched }{out}, err
	})
	add(a, op{method: http.MethodGet, path: "/runs/{id}", id: "getRun", tag: tag, summary: "Get a run with its history"},
		func(ctx context.Context, p auth.Principal, in *struct {
			RunID
			Wait string `query:"wait" pattern:"^(([0-9]|[1-5][0-9]|60)s)?$" example:"60s" doc:"Wait so many seconds at most, up to 60s, for the run to end. The answer comes after 55s at the latest, before a proxy that allows a minute gives up."`
		}) (*struct{ Body wholeRun }, error) {
			r, err := a.waitForRun(ctx, p, in.ID, in.Wait)
			return &struct{ Body wholeRun }{r}, err
		})
	add(a, op{method: http.MethodGet, path: "/runs/{id}/output", id: "getRunOutput", tag: tag, summary: "Get the output of a run as text", also: gateway, media: "text/plain"},
		func(ctx context.Context, p auth.Principal, in *struct {
			RunID
			From int `query:"from_line" minimum:"1" default:"1" doc:"The first line that is wanted."`
		}) (*outputAnswer, error) {
			return a.runOutput(ctx, p, in.ID, in.From)
		})
	add(a, op{method: http.MethodPost, path: "/runs/{id}/kill", id: "killRun", tag: tag, summary: "End a run", also: gateway},
		func(ctx context.Context, p auth.Principal, in *RunID) (*struct{ Body wholeRun }, error) {
			if err := a.Manage.Runs.Kill(ctx, p, in.ID); err != nil {
				return nil, err
			}
			r, err := a.waitForRun(ctx, p, in.ID, "")
			return &struct{ Body wholeRun }{r}, err
		})
	add(a, op{method: http.MethodPost, path: "/runs/{id}/rerun", id: "rerunRun", tag: tag, summary: "Run the job of a run again, with the run's parameter", status: http.StatusCreated, names: jobNames},
		func(ctx context.Context, p auth.Principal, in *struct {
			RunID
			Once
		}) (*triggerAnswer, error) {
			return a.rerun(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodPost, path: "/runs/rerun", id: "rerunRuns", tag: tag, summary: "Run the jobs of many runs again, each with the run's parameter"},
		func(ctx context.Context, p auth.Principal, in *struct {
			Once
			DryRun
			Body rerunBody
		}) (*struct{ Body rerunAnswer }, error) {
			out, err := a.rerunMany(ctx, p, in.Body, in.Dry)
			return &struct{ Body rerunAnswer }{out}, err
		})
	add(a, op{method: http.MethodPost, path: "/runs/kill", id: "killRuns", tag: tag, summary: "End many runs, each for itself", text: "What cannot be ended at once is said of its run; each run that is ended is in the audit log. 16 executors are asked at a time: where they do not answer, each 16 runs take as long as one call may (the setting call_timeout_ms)."},
		func(ctx context.Context, p auth.Principal, in *struct {
			DryRun
			Body killBody
		}) (*struct{ Body killAnswer }, error) {
			out, err := a.killMany(ctx, p, in.Body.Runs, in.Dry)
			return &struct{ Body killAnswer }{out}, err
		})
	add(a, op{method: http.MethodGet, path: "/runs/{id}/script", id: "getTriedScript", tag: tag, also: []int{http.StatusConflict}, summary: "Get the script that a trial ran"},
		func(ctx context.Context, p auth.Principal, in *RunID) (*struct{ Body triedScript }, error) {
			return a.triedScript(ctx, p, in.ID)
		})
	add(a, op{method: http.MethodPost, path: "/runs/clear", id: "clearRuns", tag: tag, summary: "Delete runs of the past", names: clearNames},
		func(ctx context.Context, p auth.Principal, in *struct {
			DryRun
			Body clearBody
		}) (*struct{ Body cleared }, error) {
			out, err := a.clearRuns(ctx, p, in.Body, in.Dry)
			return &struct{ Body cleared }{out}, err
		})
}

// listRun is a page of runs, as a [list].
type listRun struct {
	Items []run  `json:"items"`
	Next  string `json:"next,omitempty" doc:"The cursor of the page that follows. There is none after the last."`
	SearchedTo
}

func (a *API) listRuns(ctx context.Context, p auth.Principal, in *runQuery) (*struct{ Body listRun }, error) {
	before, err := in.after()
	if err != nil {
		return nil, err
	}
	wanted := in.filter()
	wanted.Before, wanted.Show, wanted.Limit = before, dashboard.Show(in.Show), in.Limit
	if wanted.Look, err = in.time(); err != nil {
		return nil, err
	}
	found, err := a.Manage.Runs.List(ctx, p, wanted)
	if err != nil {
		return nil, err
	}
	runs, err := a.readRuns(ctx, p, a.teller(requestOf(ctx)), found.Runs)
	if err != nil {
		return nil, err
	}
	return &struct{ Body listRun }{listRun{Items: runs, Next: nextBelow(found.Older), SearchedTo: searchedTo(found.Searched, found.Reached)}}, nil
}

// waitForRun reads a run, when it has ended or the time is over, or the admin stops.
func (a *API) waitForRun(ctx context.Context, p auth.Principal, id int64, wait string) (wholeRun, error) {
	most, err := waitOf(wait)
	if err != nil {
		return wholeRun{}, err
	}
	if most > 0 {
		// A recorder in a test has no deadline.
		_ = http.NewResponseController(requestOf(ctx).echo.Response()).SetWriteDeadline(time.Now().Add(most + maxWait))
	}
	end := time.NewTimer(most)
	defer end.Stop()
	checked := time.Now()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		r, err := a.Manage.Runs.Get(ctx, p, id)
		if err != nil {
			return wholeRun{}, err
		}
		over := !a.recorded(rowOf(r)).State().Open()
		if !over && most > 0 {
			select {
			case <-ctx.Done():
				return wholeRun{}, ctx.Err()
			case <-a.Closing:
			case <-end.C:
			case <-time.After(pause):
				if time.Since(checked) >= live.Recheck { // who may not see it any more does not wait for it
					if p, err = a.bearer(requestOf(ctx).echo); err != nil {
						return wholeRun{}, err
					}
					checked = time.Now()
				}
				continue
			}
		}
		shards, err := a.Manage.Runs.Shards(ctx, p, r)
		if err != nil {
			return wholeRun{}, err
		}
		faults, err := a.Manage.Runs.Faults(ctx, []int64{r.ID})
		if err != nil {
			return wholeRun{}, err
		}
		out, err := a.readWholeRun(ctx, p, a.teller(requestOf(ctx)), r, shards)
		if err != nil {
			return wholeRun{}, err
		}
		if n, kept := faults[r.ID]; kept {
			out.Errors = &n
		}
		return out, a.addSteps(ctx, p, r, &out)
	}
}

// Where an output comes from.
const (
	sourceExecutor = "executor"
	sourceCopy     = "copy"
)

// maxOutput bounds what is read of a run's output for one answer; the rest is asked for with from_line. An answer is in memory several times over
// while it is made, and many programs ask at once.
const maxOutput = 1 << 20

// outputTime bounds how long it is read for one answer: an executor may give it in pieces that are small or slow, and proxies give up.
const outputTime = 10 * time.Second

func (a *API) runOutput(ctx context.Context, p auth.Principal, id int64, from int) (*outputAnswer, error) {
	r, err := a.Manage.Runs.Get(ctx, p, id)
	if err != nil {
		return nil, err
	}
	out := &outputAnswer{Type: "text/plain; charset=utf-8", Source: sourceExecutor, Next: from, End: !a.recorded(rowOf(r)).State().Open(), Body: []byte{}}
	return out, out.read(time.Now, func(line int) (scheduler.Piece, error) { return a.Manage.Runs.LogOf(ctx, &r, line) })
}

// read takes what there is of the output from its next line on, within bounds.
func (out *outputAnswer) read(now func() time.Time, from func(line int) (scheduler.Piece, error)) error {
	for began := now(); len(out.Body) < maxOutput && (len(out.Body) == 0 || now().Sub(began) < outputTime); {
		piece, err := from(out.Next)
		if err != nil {
			return err
		}
		if piece.ToLineNum < out.Next {
			return nil
		}
		if piece.Kept != nil {
			out.Source = sourceCopy
		}
		out.Body = append(out.Body, strings.TrimSuffix(piece.LogContent, "\n")...)
		out.Body = append(out.Body, '\n')
		out.Next = piece.ToLineNum + 1
	}
	out.More, out.End = true, false
	return nil
}

func (a *API) rerun(ctx context.Context, p auth.Principal, id int64) (*triggerAnswer, error) {
	ids, err := a.Manage.Jobs.RunAgain(ctx, p, id, jobspec.TriggerAPI)
	if err != nil {
		return nil, err
	}
	return triggeredRuns(ids), nil
}

type rerunBody struct {
	Runs []int64 `json:"runs" minItems:"1" maxItems:"200" doc:"The numbers of the runs."`
}

// rerunAnswer says of each run what became of it.
type rerunAnswer struct {
	Done  bool        `json:"done" doc:"False for a dry run."`
	Items []rerunItem `json:"items"`
}

type rerunItem struct {
	Run    int64  `json:"run"`
	Again  bool   `json:"again" doc:"It is run again, or would be."`
	NewRun int64  `json:"new_run,omitempty" doc:"The run that came of it; of a broadcast the first."`
	Code   string `json:"code,omitempty" doc:"Why it is not run again, for programs: it has not ended, another attempt followed, its job is gone, …"`
	Detail string `json:"detail,omitempty" doc:"The same in the language of Accept-Language."`
}

func (a *API) rerunMany(ctx context.Context, p auth.Principal, body rerunBody, dry bool) (rerunAnswer, error) {
	in := manage.Rerun{IDs: body.Runs, Type: jobspec.TriggerAPI}
	do := a.Manage.Jobs.Rerun
	if dry {
		do = a.Manage.Jobs.PreviewRerun
	}
	items, err := do(ctx, p, in)
	out := rerunAnswer{Done: !dry, Items: make([]rerunItem, 0, len(items))}
	for _, item := range items {
		told := rerunItem{Run: item.ID, Again: item.Changes}
		if item.Err != nil {
			doc := newProblem(requestOf(ctx).printer, item.Err, nil)
			told.Code, told.Detail = doc.Code, doc.Detail
		} else if item.Was != "" {
			told.NewRun, _ = strconv.ParseInt(item.Was, 10, 64) // a use case wrote it
		}
		out.Items = append(out.Items, told)
	}
	return out, err
}

type killBody struct {
	Runs []int64 `json:"runs" minItems:"1" maxItems:"100" doc:"The numbers of the runs."`
}

// killAnswer says of each run what became of it.
type killAnswer struct {
	Done  bool       `json:"done" doc:"False for a dry run."`
	Items []killItem `json:"items"`
}

type killItem struct {
	Run    int64  `json:"run"`
	Ended  bool   `json:"ended" doc:"It is ended, or would be."`
	Later  bool   `json:"later,omitempty" doc:"It is not ended yet, and will be as soon as its executor answers: the request is on record, and nothing more is needed."`
	Code   string `json:"code,omitempty" doc:"Why it is not ended, for programs: it has ended by itself, its executor refuses, …"`
	Detail string `json:"detail,omitempty" doc:"The same in the language of Accept-Language."`
}

func (a *API) killMany(ctx context.Context, p auth.Principal, ids []int64, dry bool) (killAnswer, error) {
	do := a.Manage.Runs.KillMany
	if dry {
		do = a.Manage.Runs.PreviewKill
	}
	items, err := do(ctx, p, ids)
	out := killAnswer{Done: !dry, Items: make([]killItem, 0, len(items))}
	for _, item := range items {
		told := killItem{Run: item.ID, Ended: item.Changes, Later: item.Later}
		if item.Err != nil {
			doc := newProblem(requestOf(ctx).printer, item.Err, nil)
			told.Code, told.Detail = doc.Code, doc.Detail
		}
		out.Items = append(out.Items, told)
	}
	return out, err
}

// triedScript is the text that a trial ran.
type triedScript struct {
	Script string `json:"script"`
}

func (a *API) triedScript(ctx context.Context, p auth.Principal, id int64) (*struct{ Body triedScript }, error) {
	r, err := a.Manage.Runs.Need(ctx, p, id, auth.RightGlue)
	if err != nil {
		return nil, err
	}
	text, ok, err := a.Manage.Jobs.Tried(ctx, p, r)
	if err == nil && !ok {
		err = problem.New(problem.Conflict, "problem.run.notrial")
	}
	return &struct{ Body triedScript }{triedScript{text}}, err
}

func (a *API) clearRuns(ctx context.Context, p auth.Principal, body clearBody, dry bool) (cleared, error) {
	in := manage.ClearInput{Group: body.Group, Job: body.Job, Type: upkeep.ClearType(slices.Index(clearKeeps, body.Keep) + 1)}
	preview, err := a.Manage.Runs.PreviewClear(ctx, p, in)
	out := cleared{Runs: preview.Runs, Exact: preview.Exact, Open: preview.Open}
	if err != nil || dry {
		return out, err
	}
	out.Done, err = a.Manage.Runs.Clear(ctx, p, in)
	return out, err
}
