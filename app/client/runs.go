package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The codes with which a command that waits for a run ends, beside 0 for a success.
const (
	codeFailed  = 1
	codeRefused = 2   // it was not run, or left out on purpose
	codeTimeout = 124 // it took longer than its job, or --timeout, allows

	codeUnknown = 125 // no admin has said it: whether it was run, or how it ended, is not known

	codeInterrupted = 130 // nobody waits any more; it goes on
)

// errInterrupted is the error of a command that somebody has interrupted.
var errInterrupted = &ExitError{codeInterrupted, errors.New("interrupted")}

// interrupted is the error of somebody whose context has ended while they waited.
func interrupted(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return errInterrupted
	}
	return ctx.Err()
}

// ExitError ends the program with a code of its own.
type ExitError struct {
	Code int
	err  error
}

func (e *ExitError) Error() string { return e.err.Error() }

// Unwrap is what is behind it.
func (e *ExitError) Unwrap() error { return e.err }

// run is what commands read of one.
type run struct {
	ID        int64   `json:"id"`
	State     string  `json:"state"`
	Ended     bool    `json:"ended"`
	Trigger   string  `json:"trigger"`
	Origin    int64   `json:"origin_run_id"`
	Message   string  `json:"message"`
	Followers []int64 `json:"follower_ids"`
	Events    []struct {
		Key  string `json:"key"`
		Text string `json:"text"`
	} `json:"events"`
	Shards []struct {
		ID int64 `json:"id"`
	} `json:"shards"`
	raw json.RawMessage
}

// told is how it is, in a line.
func (r run) told() string {
	return strings.TrimSuffix(fmt.Sprintf("run %d: %s: %s", r.ID, r.State, plain(r.Message)), ": ")
}

// code is that of the run's end.
func (r run) code() int {
	switch r.State {
	case "success":
		return 0
	case "timeout":
		return codeTimeout
	case "skipped", "discarded", "cancelled", "stopped":
		return codeRefused
	case "sendfailed": // by its executor, as for a run of the job that goes on; that it could not be reached is a failure
		for _, e := range r.Events {
			if e.Key == "refused" && e.Text == r.Message {
				return codeRefused
			}
		}
	}
	return codeFailed
}

// run reads a run; with wait it is answered when the run has ended, or after that time.
func (a *api) run(ctx context.Context, id int64, wait time.Duration) (r run, err error) {
	query := make(url.Values)
	if wait > 0 {
		query.Set("wait", strconv.Itoa(int(wait.Seconds()))+"s")
	}
	r.raw, err = a.do(ctx, http.MethodGet, fmt.Sprintf("/runs/%d", id), query, nil)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(r.raw, &r); err != nil {
		return r, fmt.Errorf("read what the admin said: %w", err)
	}
	return r, nil
}

// ended waits until a run has ended, for a patient api. Where something between it and the admin does not wait as long as the admin is asked
// to, it asks for less from then on.
func (a *api) ended(ctx context.Context, id int64) (r run, err error) {
	once := *a
	once.away = nil
	for {
		err = a.away.reach(ctx, func() error {
			for {
				if r, err = once.run(ctx, id, a.away.wait); !isCut(err) || a.away.wait < 2*time.Second || ctx.Err() != nil {
					return err
				}
				a.away.wait /= 2
			}
		})
		if err != nil || r.Ended {
			return r, err
		}
	}
}

// retried is the run that repeats one after its failure; 0: none. What else came of it may be gone, or of a group that the token may not see.
func (a *api) retried(ctx context.Context, r run) (int64, error) {
	for _, id := range r.Followers {
		next, err := a.run(ctx, id, 0)
		if refused, is := errors.AsType[*RefusedError](err); is && (refused.Status == http.StatusNotFound || refused.Status == http.StatusForbidden) {
			continue
		}
		if err != nil || next.Trigger == "RETRY" && next.Origin == r.ID {
			return id, err
		}
	}
	return 0, nil
}

// output reads what a run has put out from a line on: the text, the line after it, and whether there will be no more.
func (a *api) output(ctx context.Context, id int64, from int) (text json.RawMessage, next int, end bool, err error) {
	o, err := a.outputFrom(ctx, id, from)
	return o.text, o.next, o.end, err
}

// outputPart is what an answer has of a run's output.
type outputPart struct {
	text json.RawMessage
	next int  // the line after it
	more bool // there is more by now
	end  bool // there will be no more
	kept bool // it is that of the copy that is kept
}

// partBytes is how long a part is at least if there was more of it, from admins that do not say.
const partBytes = 1 << 20

func (a *api) outputFrom(ctx context.Context, id int64, from int) (outputPart, error) {
	text, header, err := a.call(ctx, http.MethodGet, fmt.Sprintf("/runs/%d/output", id), url.Values{"from_line": {strconv.Itoa(from)}}, nil)
	if err != nil {
		return outputPart{next: from}, err
	}
	next, err := strconv.Atoi(header.Get("Next-Line"))
	if err != nil {
		return outputPart{next: from}, fmt.Errorf("the answer of %s does not say which line is next", a.base)
	}
	more := header.Get("Output-More") == "true" || header.Get("Output-More") == "" && len(text) >= partBytes
	return outputPart{text, next, more, header.Get("Output-End") == "true", header.Get("Output-Source") == "copy"}, nil
}

// follow copies a run's output as it comes, until the run has ended. As long as no executor has the run there is none; what cannot be
// read of a run that has ended is an error.
func (a *api) follow(ctx context.Context, out io.Writer, id int64) error {
	for from := 1; ; {
		text, next, end, err := a.output(ctx, id, from)
		if _, refused := errors.AsType[*RefusedError](err); refused {
			if r, failed := a.run(ctx, id, 0); failed != nil || r.Ended {
				return errors.Join(err, failed)
			}
			text, next, end = nil, from, false
		} else if err != nil {
			return err
		}
		if _, err := out.Write(text); err != nil || end {
			return err
		}
		if from = next; len(text) == 0 {
			select {
			case <-ctx.Done():
				return interrupted(ctx)
			case <-time.After(pollEvery):
			}
		}
	}
}

// pollEvery is how long output is left alone that has nothing new.
const pollEvery = 500 * time.Millisecond

// waiting is how a command waits for runs.
type waiting struct {
	Wait    bool          `help:"Wait until the run has ended, its retries included, and end with a code that says how: 0 success, 1 failure, 2 not run, 124 timed out, 125 no admin said how, 130 interrupted."`
	Follow  bool          `short:"f" help:"Show the output as it comes, and wait."`
	Timeout time.Duration `placeholder:"DURATION" help:"Wait no longer than this, as in 10m; the run goes on. The code is then 124."`
}

// Validate refuses to wait for no time.
func (w waiting) Validate() error {
	if w.Timeout < 0 {
		return errors.New("--timeout must be longer than 0, such as 10m")
	}
	return nil
}

// on waits for runs one after the other, their retries and the other runs of their broadcast included, and says what became of them.
func (w waiting) on(ctx context.Context, a *api, s Streams, format string, ids []int64) error {
	if w.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.Timeout)
		defer cancel()
	}
	a = a.patient(s.Err, true)
	var raw []json.RawMessage
	var worst error
	for at := 0; at < len(ids); at++ {
		if w.Follow {
			if err := a.follow(ctx, s.Out, ids[at]); err != nil && ctx.Err() == nil && !isAway(err) {
				fmt.Fprintf(s.Err, "run %d: no output: %v\n", ids[at], err)
			}
		}
		r, err := a.ended(ctx, ids[at])
		var retry int64
		if err == nil {
			retry, err = a.retried(ctx, r)
		}
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded) && err != nil:
			return &ExitError{codeTimeout, fmt.Errorf("run %d has not ended after %s", ids[at], w.Timeout)}
		case errors.Is(err, errInterrupted):
			return &ExitError{codeInterrupted, fmt.Errorf("interrupted; run %d goes on", ids[at])}
		case err != nil: // no answer, or a token that counts no longer: that says nothing of the run
			return untold(err, fmt.Sprintf("run %d", ids[at]), fmt.Sprintf("punctual runs show %d", ids[at]))
		}
		for _, shard := range r.Shards {
			if !slices.Contains(ids, shard.ID) {
				ids = append(ids, shard.ID)
			}
		}
		fmt.Fprintln(s.Err, r.told())
		raw = append(raw, r.raw)
		switch {
		case retry != 0:
			if !slices.Contains(ids, retry) {
				ids = append(ids, retry)
			}
		case r.code() != 0 && worst == nil:
			worst = &ExitError{r.code(), fmt.Errorf("run %d ended as %s", r.ID, r.State)}
		}
	}
	if !w.Follow && (format == "json" || format == "yaml") {
		if err := (printer{s.Out, format}).items(raw, runColumns); err != nil {
			return err
		}
	}
	return worst
}

// RunsCmd looks after runs.
type RunsCmd struct {
	List  runsList  `cmd:"" default:"withargs" help:"List runs, the newest first."`
	Show  runsShow  `cmd:"" help:"Show a run."`
	Why   runsWhy   `cmd:"" help:"Say what happened to a run, in order, and what its executor said."`
	Logs  runsLogs  `cmd:"" help:"Show the output of a run."`
	Kill  runsKill  `cmd:"" help:"End runs."`
	Rerun runsRerun `cmd:"" help:"Run the job of a run again, with the run's parameter; or of a run of a flow, some of its steps."`

	Steps   runsSteps `cmd:"" help:"List the steps of a run of a flow."`
	Approve stepDeed  `cmd:"" help:"Approve a step that waits for a person."`
	Reject  stepDeed  `cmd:"" help:"Reject a step that waits for a person."`
	Skip    stepDeed  `cmd:"" help:"Leave out a step that waits or did not succeed."`
	Succeed stepDeed  `cmd:"" help:"Take a step that waits or did not succeed for a success."`

	Search runsSearch `cmd:"" help:"Search what is kept of the output of a job or of a group's jobs, the newest runs first."`
}

var runColumns = []column{
	field("ID", "id"), field("STATE", "state"), {title: "JOB", value: jobOf}, wideField("JOB ID", "job_id"), field("TRIGGER", "trigger"), field("TRIGGERED", "triggered_at"), wideField("FINISHED", "finished_at"),
	wideField("EXECUTOR", "address"), wideField("SHARD", "shard"), wideField("PARAMETER", "parameter"), field("MESSAGE", "message"),
}

// jobOf names the job of a run; one that is deleted, or that the token may not see, by its number.
func jobOf(i item) string {
	if name, _ := i["job"].(string); name != "" {
		return i.text("job")
	}
	return i.text("job_id")
}

// runsNarrowed narrows to some runs.
type runsNarrowed struct {
	Job   jobRef    `placeholder:"JOB" complete:"jobs" help:"Only runs of this job: its number, or its whole description."`
	Group groupRef  `placeholder:"GROUP" complete:"groups" help:"Only runs of jobs of this group of executors: its number, or its app name."`
	Text  string    `help:"Only runs with this in their address, their parameter or a message, or with this number."`
	Since time.Time `placeholder:"TIME" help:"Only runs triggered at this moment or later, as in 2026-12-31T23:30:00+08:00."`
	Until time.Time `placeholder:"TIME" help:"Only runs triggered at this moment or before."`
}

func (c runsNarrowed) query(ctx context.Context, a *api) (url.Values, error) {
	query := make(url.Values)
	if c.Job != "" {
		id, err := c.Job.find(ctx, a)
		if err != nil {
			return nil, err
		}
		query.Set("job_id", strconv.FormatInt(id, 10))
	}
	if err := c.Group.narrow(ctx, a, query); err != nil {
		return nil, err
	}
	if c.Text != "" {
		query.Set("text", c.Text)
	}
	for name, at := range map[string]time.Time{"since": c.Since, "until": c.Until} {
		if !at.IsZero() {
			query.Set(name, at.Format(time.RFC3339))
		}
	}
	return query, nil
}

type runsList struct {
	Target
	runsNarrowed
	Result string `enum:"success,failed,final,open,skipped,any" default:"any" help:"success, failed, final (failed, and not tried again), open, skipped or any."`
	State  string `enum:"waiting,sent,success,failed,timeout,sendfailed,unconfirmed,killed,lost,skipped,discarded,cancelled,stopped,any" default:"any" help:"Only runs in this state, such as lost, timeout or sendfailed."`
	Limit  limit  `default:"50" help:"How many at most; 0 for all."`
}

func (c runsList) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	query, err := c.query(ctx, a)
	if err != nil {
		return err
	}
	if c.Result != "any" {
		query.Set("result", c.Result)
	}
	if c.State != "any" {
		query.Set("state", c.State)
	}
	items, err := a.list(ctx, "/runs", query, int(c.Limit))
	if err != nil {
		return err
	}
	if err := (printer{s.Out, c.Output}).items(items, runColumns); err != nil {
		return err
	}
	if c.Limit > 0 && len(items) == int(c.Limit) {
		fmt.Fprintf(s.Err, "There may be more: --limit %d was reached.\n", int(c.Limit))
	}
	return nil
}

type runsShow struct {
	Target
	ID int64 `arg:"" help:"The number of the run."`
}

func (c runsShow) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	r, err := a.run(ctx, c.ID, 0)
	if err != nil {
		return err
	}
	return (printer{s.Out, c.Output}).one(r.raw, runColumns)
}

type runsWhy struct {
	Target
	ID int64 `arg:"" help:"The number of the run."`
}

func (c runsWhy) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	r, err := a.run(ctx, c.ID, 0)
	if err != nil {
		return err
	}
	if c.Output == "json" || c.Output == "yaml" {
		return (printer{s.Out, c.Output}).whole(r.raw)
	}
	var whole struct {
		Events []struct {
			At   time.Time `json:"at"`
			Text string    `json:"text"`
		} `json:"events"`
		Said []string `json:"said"`
	}
	if err := json.Unmarshal(r.raw, &whole); err != nil {
		return fmt.Errorf("read what the admin said: %w", err)
	}
	fmt.Fprintln(s.Out, r.told())
	for _, e := range whole.Events {
		at := "-"
		if !e.At.IsZero() {
			at = e.At.Local().Format(time.DateTime)
		}
		fmt.Fprintf(s.Out, "%-19s  %s\n", at, plain(e.Text))
	}
	for _, line := range whole.Said {
		fmt.Fprintf(s.Out, "%-19s  %s\n", "", plain(line))
	}
	return nil
}

type runsLogs struct {
	Target
	ID     int64 `arg:"" help:"The number of the run."`
	Follow bool  `short:"f" help:"Go on with what comes, until the run has ended."`
}

func (c runsLogs) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	if c.Follow {
		return a.patient(s.Err, false).follow(ctx, s.Out, c.ID)
	}
	said := false
	for from := 1; ; {
		part, err := a.outputFrom(ctx, c.ID, from)
		if err != nil {
			return err
		}
		if part.kept && !said {
			said = true
			fmt.Fprintf(s.Err, "run %d: this is the copy that is kept; the executor does not have the output any more, or does not answer\n", c.ID)
		}
		if _, err := s.Out.Write(part.text); err != nil || !part.more {
			return err // also of a run that goes on: what it has written since is for who follows it
		}
		from = part.next
	}
}

type runsKill struct {
	Target
	runsNarrowed
	IDs    []int64 `arg:"" optional:"" name:"id" help:"The numbers of the runs."`
	State  string  `enum:"waiting,sent,open,none" default:"none" help:"In place of numbers: all runs that wait, that are sent, or both (open), as far as the other flags allow."`
	All    bool    `help:"With --state and nothing that narrows it: of all jobs that the token may end runs of."`
	DryRun bool    `help:"Only say which runs would be ended."`
}

// killsAtOnce is how many runs one request ends: as many as the admin asks executors for at a time, so that those that do not answer keep it no
// longer than one does.
const killsAtOnce = 16

// killFor is longer than an admin keeps somebody waiting for the end of a run: a call and the question after it, each with the longest time limit
// that calls may have, 60 s.
const killFor = 150 * time.Second

func (c runsKill) Run(ctx context.Context, s Streams) error {
	byNumber := len(c.IDs) > 0
	if wanted := c.runsNarrowed != (runsNarrowed{}); byNumber == (c.State != "none") || byNumber && wanted {
		return errors.New("name the runs, or say with --state which to end: waiting, sent or open")
	} else if !byNumber && !wanted && !c.All && !c.DryRun {
		return errors.New("this ends such runs of all jobs: narrow it, with --job or --group for example, look with --dry-run, or say --all")
	}
	a, err := c.api()
	if err != nil {
		return err
	}
	a.within = killFor
	if !byNumber {
		if c.IDs, err = c.matching(ctx, a); err != nil {
			return err
		}
		fmt.Fprintf(s.Err, "%s\n", counted(len(c.IDs), "run matches", "runs match"))
	}
	query := make(url.Values)
	what := "is being ended"
	if c.DryRun {
		query.Set("dry_run", "true")
		what = "would be ended"
	}
	var errs []error
	for part := range slices.Chunk(c.IDs, killsAtOnce) {
		raw, err := a.do(ctx, http.MethodPost, "/runs/kill", query, map[string]any{"runs": part})
		if refused, is := errors.AsType[*RefusedError](err); is && refused.Status == http.StatusMethodNotAllowed && !c.DryRun {
			errs = append(errs, killOneByOne(ctx, a, s, part)) // an admin of an earlier version
			continue
		}
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		var answer struct {
			Items []struct {
				Run          int64
				Ended, Later bool
				Code, Detail string
			}
		}
		if err := json.Unmarshal(raw, &answer); err != nil {
			return err
		}
		for _, i := range answer.Items {
			switch {
			case i.Ended:
				fmt.Fprintf(s.Err, "run %d: %s\n", i.Run, what)
			case i.Later:
				fmt.Fprintf(s.Err, "run %d: %s\n", i.Run, plain(i.Detail))
			default:
				errs = append(errs, fmt.Errorf("run %d: %w", i.Run, &RefusedError{Title: i.Detail, Code: i.Code}))
			}
		}
	}
	return errors.Join(errs...)
}

func killOneByOne(ctx context.Context, a *api, s Streams, ids []int64) error {
	var errs []error
	for _, id := range ids {
		if _, err := a.do(ctx, http.MethodPost, fmt.Sprintf("/runs/%d/kill", id), nil, nil); err != nil {
			errs = append(errs, fmt.Errorf("run %d: %w", id, err))
			continue
		}
		fmt.Fprintf(s.Err, "run %d: is being ended\n", id)
	}
	return errors.Join(errs...)
}

// matching are the runs in a state that the flags allow.
func (c runsKill) matching(ctx context.Context, a *api) ([]int64, error) {
	query, err := c.query(ctx, a)
	if err != nil {
		return nil, err
	}
	if c.State == "open" {
		query.Set("result", "open")
	} else {
		query.Set("state", c.State)
	}
	rows, err := a.list(ctx, "/runs", query, 0)
	ids := make([]int64, len(rows))
	for i := 0; err == nil && i < len(rows); i++ {
		var r struct{ ID int64 }
		err = json.Unmarshal(rows[i], &r)
		ids[i] = r.ID
	}
	return ids, err
}

type runsRerun struct {
	Target
	waiting
	ID     int64  `arg:"" help:"The number of the run."`
	Failed bool   `xor:"part" help:"Of a run of a flow: only the steps that failed or were cancelled, and what comes after them."`
	From   string `xor:"part" placeholder:"STEP" help:"Of a run of a flow: only this step, and what comes after it."`
}

func (c runsRerun) Run(ctx context.Context, s Streams) error {
	a, err := c.api()
	if err != nil {
		return err
	}
	if c.Failed || c.From != "" {
		return c.trigger(ctx, a, s, c.Output, fmt.Sprintf("/runs/%d/repeat", c.ID), map[string]string{"from_step": c.From})
	}
	return c.trigger(ctx, a, s, c.Output, fmt.Sprintf("/runs/%d/rerun", c.ID), nil)
}

// What an admin says of a key that it knows, beside its answer: that the request is still worked on, or, with the rest, that nobody can say
// what became of it. Neither is a refusal.
const (
	onceKnown   = "once."
	onceRunning = onceKnown + "running"
)

// trigger makes runs, says which, and waits for them if that is wanted. The request has a key of its own, so that it is sent again when its
// answer is lost, and nothing runs twice for that.
func (w waiting) trigger(ctx context.Context, a *api, s Streams, format, path string, body any) error {
	keyed := a.patient(s.Err, false)
	keyed.once = rand.Text()
	raw, err := keyed.do(ctx, http.MethodPost, path, nil, body)
	if err != nil {
		if refused, is := errors.AsType[*RefusedError](err); is && refused.Status != http.StatusServiceUnavailable && !strings.HasPrefix(refused.Code, onceKnown) {
			return &ExitError{codeRefused, err}
		}
		if errors.Is(err, errInterrupted) {
			return err
		}
		return &ExitError{codeUnknown, err}
	}
	var made struct {
		Runs []int64 `json:"runs"`
	}
	if err := json.Unmarshal(raw, &made); err != nil {
		return fmt.Errorf("read what the admin said: %w", err)
	}
	if !w.Wait && !w.Follow && (format == "json" || format == "yaml") {
		return (printer{s.Out, format}).whole(raw)
	}
	numbers := s.Out // where the run's output or its JSON does not stand
	if w.Follow || format == "json" || format == "yaml" {
		numbers = s.Err
	}
	for _, id := range made.Runs {
		if _, err := fmt.Fprintln(numbers, id); err != nil {
			return err
		}
	}
	if !w.Wait && !w.Follow {
		return nil
	}
	return w.on(ctx, a, s, format, made.Runs)
}
