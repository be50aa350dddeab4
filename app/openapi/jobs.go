package openapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/punctual-job/punctual/app/auth"
	"github.com/punctual-job/punctual/app/manage"
	"github.com/punctual-job/punctual/app/manage/declare"
	"github.com/punctual-job/punctual/app/problem"
	"github.com/punctual-job/punctual/db"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/jobspec"
)

// Jobs are the use cases behind the job methods, [manage.Jobs].
type Jobs interface {
	Get(ctx context.Context, p auth.Principal, id int64) (db.Job, error)
	Create(ctx context.Context, p auth.Principal, in manage.JobInput) (int64, error)
	Update(ctx context.Context, p auth.Principal, id int64, in manage.JobInput) error
	Delete(ctx context.Context, p auth.Principal, id int64) error
	Start(ctx context.Context, p auth.Principal, id int64) error
	Stop(ctx context.Context, p auth.Principal, id int64) error
	Trigger(ctx context.Context, p auth.Principal, id int64, in manage.RunInput) ([]int64, error)
}

// Groups find the groups of an app name: one, or several in a database that XXL-JOB filled.
type Groups interface {
	ByAppName(ctx context.Context, appName string) ([]db.Group, error)
	Options(ctx context.Context, appName string) (manage.GroupOptions, error)
}

// Declarations are the use cases of jobs that programs bring with them, [declare.Service].
type Declarations interface {
	Declare(ctx context.Context, p auth.Principal, group int64, d wire.Declaration) ([]declare.Result, error)
}

// APITokens find out for whom a token acts, [auth.APITokens].
type APITokens interface {
	Find(ctx context.Context, token, address string) (auth.Principal, error)
}

// programName is who the audit log and the runs say has done what a program asked for.
const programName = "openapi"

// The job methods may be called so often with each group's token (docs/compat.md §1.8); a call waits for its turn that long.
const (
	jobCalls     = 100
	jobCallsPer  = 30 * time.Second
	jobCallWaits = time.Second
)

const (
	msgTooMany  = "Too many requests, please try again later."
	msgOwnToken = "The job methods take an API token (Authorization: Bearer pnc_...), or a group's own access token where that is switched on; the common token is for executors."
	msgNoManage = "The access token of this executor group does not manage its jobs. Use an API token (Authorization: Bearer pnc_...), or let an administrator switch it on for the group."
	msgExecutor = "An API token is for the job methods; executors show the access token of their group."
	msgNoGroup  = "jobGroup: say for which executor group, by its id."
)

// codeTooMany says that a caller asks too often.
const codeTooMany = 502

// jobRequest is the body of all job methods. A field that is absent or null stays as it is, or as the console's form has
// it at first. Numbers may be texts.
type jobRequest struct {
	ID          number                    `json:"id"`
	JobGroup    number                    `json:"jobGroup"`
	Param       *string                   `json:"executorParam"`
	ParamFixed  *bool                     `json:"executorParamFixed"`
	AddressList *string                   `json:"addressList"`
	texts       map[*jobspec.Field]string // what it says of the definition
	numbers     map[*jobspec.Field]int64
}

// UnmarshalJSON implements [json.Unmarshaler]. The fields of a definition have the names that the table gives them.
func (r *jobRequest) UnmarshalJSON(raw []byte) error {
	type plain jobRequest
	if err := json.Unmarshal(raw, (*plain)(r)); err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return err
	}
	r.texts, r.numbers = make(map[*jobspec.Field]string), make(map[*jobspec.Field]int64)
	var unknown []string
	for name, raw := range members {
		known := slices.ContainsFunc(otherMembers, func(other string) bool { return strings.EqualFold(other, name) })
		for _, f := range jobspec.Fields {
			// A definition has one of the fields that share a name, and which one its schedule says.
			if f.API == "" || !strings.EqualFold(f.API, name) {
				continue
			}
			if known = true; string(raw) == "null" {
				continue
			}
			if err := r.read(f, raw); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		if !known {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return fmt.Errorf("%s: a job has no such field; leave it out; the manual has the names (Programs that look after jobs)", strings.Join(unknown, ", "))
	}
	return nil
}

// otherMembers are what a body may have beside a definition's fields: what the methods read themselves, and what a job of XXL-JOB shows
// of its state, which programs send back as they have read it and no method has ever taken.
var otherMembers = []string{
	"id", "jobGroup", "executorParamFixed", "addressList", "addTime", "updateTime", "glueUpdatetime", "triggerStatus", "triggerLastTime", "triggerNextTime",
}

func (r *jobRequest) read(f *jobspec.Field, raw json.RawMessage) error {
	if f.Kind == jobspec.Number {
		var n number
		if err := json.Unmarshal(raw, &n); err != nil {
			return err
		}
		if n.set {
			r.numbers[f] = n.value
		}
		return nil
	}
	var text string
	err := json.Unmarshal(raw, &text)
	if err != nil && f.Kind == jobspec.List {
		var texts []string
		err = json.Unmarshal(raw, &texts)
		text = strings.Join(texts, ",")
	}
	if err == nil && f.Kind == jobspec.Moments && text != "" {
		_, err = time.Parse(time.RFC3339, text)
	}
	r.texts[f] = text
	return err
}

// number is an integer of JSON, or a text that is one; absent or null leaves set false.
type number struct {
	value int64
	set   bool
}

func (n *number) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	if text == "null" || text == "" {
		return nil
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return errors.New(printable(text) + " is not an integer")
	}
	n.value, n.set = v, true
	return nil
}

// jobMethods are the methods of XXL-JOB 3.5 by which programs look after jobs (docs/compat.md §1.8). Upstream lets every group's
// token manage all jobs; here it manages those of its group, and updateJob leaves alone what a request does not name.
var jobMethods = map[string]func(a *API, ctx context.Context, p auth.Principal, req jobRequest) (data any, err error){
	"addJob":     (*API).addJob,
	"updateJob":  (*API).updateJob,
	"removeJob":  (*API).removeJob,
	"startJob":   (*API).startJob,
	"stopJob":    (*API).stopJob,
	"triggerJob": (*API).triggerJob,
}

// job does one of the job methods, and returns the JSON of its answer's data.
func (a *API) job(ctx context.Context, name, remote string, body []byte, who caller) ([]byte, error) {
	p, groups, err := a.groupProgram(ctx, remote, who)
	if err != nil {
		return nil, err
	}
	var req jobRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, refusal(msgInvoke + "the body is not the JSON of a job: " + printable(err.Error()))
	}
	if !req.JobGroup.set {
		req.JobGroup = number{value: groups[0].ID, set: true}
	}
	return a.do(ctx, name, p, req)
}

// groupProgram is who acts with a group's own token, if that manages the group's jobs.
func (a *API) groupProgram(ctx context.Context, remote string, who caller) (p auth.Principal, groups []db.Group, err error) {
	if who.scope == "" {
		return p, nil, refusal(msgOwnToken)
	}
	if !a.turn(ctx, who.scope) {
		return p, nil, errTooMany
	}
	groups, err = a.Groups.ByAppName(ctx, who.scope)
	if err != nil {
		return p, nil, err
	}
	if len(groups) == 0 {
		return p, nil, refusal(msgToken)
	}
	options, err := a.Groups.Options(ctx, who.scope)
	if err != nil {
		return p, nil, err
	}
	if !options.TokenManages {
		return p, nil, refusal(msgNoManage)
	}
	p = auth.NewPrincipal(0, programName, auth.RoleUser, "")
	for _, g := range groups {
		p = p.Grant(g.ID, auth.AllRights)
	}
	p.Address = remote
	return p, groups, nil
}

func (a *API) do(ctx context.Context, name string, p auth.Principal, req jobRequest) ([]byte, error) {
	if a.Settle != nil {
		a.Settle(ctx)
	}
	data, err := jobMethods[name](a, ctx, p, req)
	if err != nil {
		return nil, a.said(err)
	}
	return json.Marshal(data)
}

// bearerToken is the API token of a request, ok if it has one.
func bearerToken(r *http.Request) (token string, ok bool) {
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.TrimSpace(token), strings.EqualFold(kind, "Bearer")
}

// unauthorized is an API token that does not count: no executor has one, so the status may say so too.
type unauthorized struct {
	status int
	err    error
}

func (u *unauthorized) Error() string { return u.err.Error() }
func (u *unauthorized) Unwrap() error { return u.err }

// bearer does one of the job methods for the owner of an API token.
func (a *API) bearer(w http.ResponseWriter, r *http.Request, name, token string) ([]byte, error) {
	ctx := r.Context()
	p, err := a.APITokens.Find(ctx, token, host(r))
	switch {
	case errors.Is(err, auth.ErrTooManyTokens):
		return nil, &unauthorized{http.StatusTooManyRequests, err}
	case auth.IsTokenRefusal(err):
		return nil, &unauthorized{http.StatusUnauthorized, err}
	case err != nil:
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if _, big := errors.AsType[*http.MaxBytesError](err); big {
		return nil, refusal(msgTooLarge)
	} else if err != nil {
		return nil, refusal(msgInvoke + "the request body broke off.")
	}
	if jobMethods[name] == nil {
		return nil, refusal(msgExecutor)
	}
	if !a.turn(ctx, "user "+strconv.FormatInt(p.UserID, 10)) { // no app name has a space
		return nil, errTooMany
	}
	var req jobRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, refusal(msgInvoke + "the body is not the JSON of a job: " + printable(err.Error()))
	}
	if !req.JobGroup.set {
		ids, _ := p.Groups()
		if len(ids) != 1 && name == "addJob" {
			return nil, refusal(msgNoGroup)
		} else if len(ids) == 1 {
			req.JobGroup = number{value: ids[0], set: true}
		}
	}
	return a.do(ctx, name, p, req)
}

var errTooMany = errors.New("too many calls of job methods")

// turn waits for the caller's turn.
func (a *API) turn(ctx context.Context, scope string) bool {
	a.mu.Lock()
	bucket := a.buckets[scope]
	if bucket == nil { // there are as many as groups with a token, and users
		bucket = rate.NewLimiter(rate.Every(jobCallsPer/jobCalls), jobCalls)
		a.buckets[scope] = bucket
	}
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, jobCallWaits)
	defer cancel()
	return bucket.Wait(ctx) == nil
}

// printer is not kept: its words are read when somebody asks for them first.
func (a *API) printer() *locales.Printer { return a.Catalogue.Printer(locales.English) }

// said is an error of a use case in words for the caller; our own faults and outages stay as they are.
func (a *API) said(err error) error {
	p := problem.From(err)
	if p.Kind == problem.Internal || p.Kind == problem.Unavailable {
		return err
	}
	if len(p.Fields) == 0 {
		if text := p.Text(a.printer()); text != "" {
			return refusal(text)
		}
		return refusal(msgIllegal)
	}
	var texts []string
	for _, f := range p.Fields {
		texts = append(texts, cmp.Or(fieldNames[f.Name], f.Name)+": "+f.Text(a.printer()))
	}
	return refusal(strings.Join(texts, " "))
}

// fieldNames are the names of a definition's parts in requests.
var fieldNames = func() map[string]string {
	names := map[string]string{manage.FieldGroup: "jobGroup", manage.FieldRunAddresses: "addressList"}
	for _, f := range jobspec.Fields {
		names[f.Name] = cmp.Or(f.API, f.Name)
	}
	return names
}()

// over writes what a request names over a definition. What it names and says nothing beside the rest is refused, as by API v1.
func (r jobRequest) over(j jobspec.Job) (jobspec.Job, error) {
	for _, f := range jobspec.Fields {
		if text, ok := r.texts[f]; ok {
			f.Put(&j, text, nil) // which refuses numbers and moments only, and read has
		}
		if n, ok := r.numbers[f]; ok {
			f.Set(&j, n)
		}
	}
	unheeded := jobspec.Unheeded(j, func(f *jobspec.Field) bool {
		_, text := r.texts[f]
		_, number := r.numbers[f]
		return text || number
	})
	if len(unheeded) > 0 {
		return j, problem.InvalidFields(unheeded...)
	}
	return j, nil
}

// newJob is what an added job is where the request does not say.
var newJob = func() jobspec.Job {
	j := jobspec.Job{ScheduleType: jobspec.ScheduleNone}.WithDefaults()
	j.Concurrency = "" // as in what an XXL-JOB admin adds
	return j
}()

func (a *API) addJob(ctx context.Context, p auth.Principal, req jobRequest) (any, error) {
	job, err := req.over(newJob)
	if err != nil {
		return nil, err
	}
	id, err := a.Jobs.Create(ctx, p, manage.JobInput{Group: req.JobGroup.value, FixParam: req.ParamFixed, Job: job})
	return strconv.FormatInt(id, 10), err
}

// changeTries is how often a change is tried that is made of what is stored and of what was sent, where somebody else is faster.
const changeTries = 3

func (a *API) updateJob(ctx context.Context, p auth.Principal, req jobRequest) (any, error) {
	for try := 1; ; try++ {
		err := a.updateOnce(ctx, p, req)
		if f := problem.From(err); f == nil || f.Key != "problem.changed" || try == changeTries {
			return nil, err
		}
	}
}

func (a *API) updateOnce(ctx context.Context, p auth.Principal, req jobRequest) error {
	old, err := a.Jobs.Get(ctx, p, req.ID.value)
	if err != nil {
		return err
	}
	job, err := req.over(old.Spec())
	if err != nil {
		return err
	}
	in := manage.JobInput{Group: old.JobGroup, Version: manage.JobVersion(old), FixParam: req.ParamFixed, Job: job}
	return a.Jobs.Update(ctx, p, old.ID, in)
}

// removeJob succeeds for a job that is not there, as upstream's does.
func (a *API) removeJob(ctx context.Context, p auth.Principal, req jobRequest) (any, error) {
	err := a.Jobs.Delete(ctx, p, req.ID.value)
	if err != nil && problem.From(err).Kind == problem.NotFound {
		err = nil
	}
	return nil, err
}

func (a *API) startJob(ctx context.Context, p auth.Principal, req jobRequest) (any, error) {
	return nil, a.Jobs.Start(ctx, p, req.ID.value)
}

func (a *API) stopJob(ctx context.Context, p auth.Principal, req jobRequest) (any, error) {
	return nil, a.Jobs.Stop(ctx, p, req.ID.value)
}

// triggerJob runs a job now. Without a parameter in the request it runs with an empty one, as upstream does, unless the job can
// be run with its own only. Its data, which upstream leaves empty, are the numbers of the runs.
func (a *API) triggerJob(ctx context.Context, p auth.Principal, req jobRequest) (any, error) {
	in := manage.RunInput{Type: jobspec.TriggerAPI, Param: req.Param, NoParam: true}
	if req.AddressList != nil {
		in.Addresses = *req.AddressList
	}
	runs, err := a.Jobs.Trigger(ctx, p, req.ID.value, in)
	if err != nil {
		return nil, err
	}
	return db.IDList(runs), nil
}
